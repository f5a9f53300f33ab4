#include "command/diff/counts.h"

#include "command/function.h"
#include "command/problem.h"
#include "command/run/emulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS_BYTES = 2048, ALIGNMENT = 1024 };

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

typedef struct counting {
    diff_side *side;
    const ptxgen_emulator *emu;
} counting;

static ptxgen_status take_counts(void *user, const ptxgen_emulator_module *module,
                                 ptxgen_error *err)
{
    const counting *c = user;
    (void)err;
    add_totals(c->side, c->emu);
    add_lines(c->side, module);
    add_units(c->side, c->emu);
    return PTXGEN_OK;
}

static ptxgen_status count_kernel(diff_side *s, const cli_problem *p, ptxgen_kernel *kernel,
                                  ptxgen_error *err)
{
    const ptxgen_emulator_config config = {
        .size = sizeof config, .profile = true, .arithmetic = PTXGEN_EMULATOR_FAST};
    ptxgen_emulator *emu;
    run_bad_index bad;
    ptxgen_status status = ptxgen_emulator_create(&config, &emu, err);
    if (status != PTXGEN_OK)
        return status;
    counting c = {s, emu};
    const run_emulation e = {p->place, kernel, p->tensors, p->count, &bad, take_counts, &c};
    status = run_emulate(emu, &e, err);
    ptxgen_emulator_destroy(emu);
    return status;
}

static ptxgen_status fill_memory(cli_problem *p, void **memory, ptxgen_error *err)
{
    for (size_t i = 0; i < p->count; i++) {
        const size_t bytes = cli_problem_bytes(p, i);
        if (!p->tensors[i].rank)
            continue;
        if (posix_memalign(&memory[i], ALIGNMENT, bytes ? bytes : 1) != 0)
            return cli_fail(err, PTXGEN_ENOMEM, "no memory for an operand of %zu bytes", bytes);
        cli_problem_values(p, i, memory[i]);
        p->tensors[i].data = memory[i];
    }
    return PTXGEN_OK;
}

ptxgen_status diff_count_problem(diff_side *s, ptxgen *ctx, size_t family, char *const *words,
                                 size_t count, char **params, ptxgen_error *err)
{
    cli_problem p;
    void *memory[PROBLEM_MAX_OPERANDS] = {NULL};
    ptxgen_kernel *kernel = NULL;
    ptxgen_error unrun = {0};
    *params = cli_calloc(PARAMS_BYTES, 1);
    ptxgen_status status = cli_problem_read(&p, family, words, count, err);
    if (status == PTXGEN_OK)
        status = cli_functions(ctx, &p.words, err);
    if (status == PTXGEN_OK)
        status = fill_memory(&p, memory, err);
    if (status == PTXGEN_OK)
        status = ptxgen_call_params(ctx, p.family, p.words, p.tensors, p.count, *params,
                                    PARAMS_BYTES, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emit(ctx, p.family, *params, &kernel, err);
    if (status == PTXGEN_OK && count_kernel(s, &p, kernel, &unrun) != PTXGEN_OK)
        s->no_counts = cli_format("%s", unrun.message);
    ptxgen_kernel_unref(kernel);
    for (size_t i = 0; i < PROBLEM_MAX_OPERANDS; i++)
        free(memory[i]);
    cli_problem_free(&p);
    return status;
}
