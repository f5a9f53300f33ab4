#include "command/diff/counts.h"

#include <stdio.h>

static void add(diff_side *s, const char *name, const char *what, uint64_t value)
{
    if (s->count_count == DIFF_MOST_COUNTS)
        return;
    snprintf(s->counts[s->count_count].name, DIFF_COUNT_NAME, "%s%s", name, what);
    s->counts[s->count_count++].value = value;
}

static void add_lines(diff_side *s, const ptxgen_emulator_module *module)
{
    ptxgen_emulator_line sum = {0}, l = {.size = sizeof l};
    for (size_t i = 0; ptxgen_emulator_line_at(module, i, &l); i++) {
        sum.active_lanes += l.active_lanes;
        sum.global_requests += l.global_requests;
        sum.global_sectors += l.global_sectors;
        sum.shared_requests += l.shared_requests;
        sum.shared_wavefronts += l.shared_wavefronts;
        sum.shared_ideal += l.shared_ideal;
    }
    add(s, "thread instructions", "", sum.active_lanes);
    add(s, "global requests", "", sum.global_requests);
    add(s, "global sectors", "", sum.global_sectors);
    add(s, "shared requests", "", sum.shared_requests);
    add(s, "shared wavefronts", "", sum.shared_wavefronts);
    add(s, "shared wavefronts ideal", "", sum.shared_ideal);
}

static void add_totals(diff_side *s, const ptxgen_emulator *emu)
{
    ptxgen_emulator_stats t;
    ptxgen_emulator_get_stats(emu, &t);
    add(s, "launches", "", t.launches);
    add(s, "warp instructions", "", t.warp_instructions);
    add(s, "global bytes read", "", t.global_read);
    add(s, "global bytes written", "", t.global_written);
    add(s, "shared bytes read", "", t.shared_read);
    add(s, "shared bytes written", "", t.shared_written);
    add(s, "local bytes read", "", t.local_read);
    add(s, "local bytes written", "", t.local_written);
}

static void add_units(diff_side *s, const ptxgen_emulator *emu)
{
    ptxgen_emulator_engine e = {.size = sizeof e};
    for (size_t i = 0; ptxgen_emulator_engine_at(emu, i, &e); i++) {
        add(s, e.name, " operations", e.operations);
        add(s, e.name, " global bytes", e.global_read + e.global_written);
        add(s, e.name, " shared bytes", e.shared_read + e.shared_written);
        add(s, e.name, " tensor bytes", e.tensor_read + e.tensor_written);
    }
}

static void take_counts(void *user, const ptxgen_emulator *emu,
                        const ptxgen_emulator_module *module)
{
    diff_side *s = user;
    add_totals(s, emu);
    add_lines(s, module);
    add_units(s, emu);
}

void diff_count_problem(diff_side *s, run_problem *r)
{
    ptxgen_error err = {0};
    const run_problem_seen seen = {take_counts, s};
    if (run_problem_emulate(r, NULL, &seen, &err) != PTXGEN_OK)
        s->no_counts = cli_format("%s", err.message);
}
