/* Checking mode takes a short way when the lanes of a warp are side by side in memory. Random
 * programs of three warps, with and without barriers, with bulk copies, run twice: lane l at
 * element l (the short way), and lane l at element 31 - l (lane by lane). Both touch the same
 * memory, so both must lead to the same reports. */
#include "test.h"

#include "ptxgen/emulator.h"

#include <string.h>

enum { WARPS = 3, STEPS = 12, PROGRAMS = 400, REPORTS = 64, MEMORY = 4096 };

typedef struct outcome {
    size_t count;
    struct {
        int kind, line, other;
    } reports[REPORTS];
} outcome;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A step: a barrier of all, or a load or store by one warp of 32 elements somewhere in one of
 * three buffers. */
static size_t put_step(char *out, size_t size, uint32_t *random)
{
    static const char *const stores[] = {"st.%s.u32 [%s+%u], %%r4;\n",
                                         "st.%s.v2.u32 [%s+%u], {%%r4, %%r5};\n",
                                         "st.%s.v4.u32 [%s+%u], {%%r4, %%r5, %%r6, %%r7};\n"};
    static const char *const loads[] = {"ld.%s.u32 %%r4, [%s+%u];\n",
                                        "ld.%s.v2.u32 {%%r4, %%r5}, [%s+%u];\n",
                                        "ld.%s.v4.u32 {%%r4, %%r5, %%r6, %%r7}, [%s+%u];\n"};
    if (next_random(random) % 3 == 0)
        return (size_t)snprintf(out, size, "    bar.sync 0;\n");
    if (next_random(random) % 5 == 0) { /* a thread of the fourth warp copies a buffer out */
        const char *fence = next_random(random) % 3 ? "    fence.proxy.async;\n" : "";
        return (size_t)snprintf(out, size,
                                "%s    @%%q cp.async.bulk.global.shared::cta.bulk_group "
                                "[%%d0+2048], [%%r3+%u], 768;\n"
                                "    @%%q cp.async.bulk.commit_group;\n"
                                "    @%%q cp.async.bulk.wait_group 0;\n",
                                fence, 1024 * (next_random(random) % 2));
    }
    const uint32_t width = next_random(random) % 3, warp = next_random(random) % WARPS;
    const uint32_t buffer = next_random(random) % 3, place = 128 * (next_random(random) % 3);
    const char *const names[][3] = {{"%s4", "%s8", "%s16"}, {"%d4", "%d8", "%d16"}};
    const bool global = buffer == 2;
    char address[16], text[96];
    snprintf(address, sizeof address, "%s", names[global][width]);
    snprintf(text, sizeof text, (next_random(random) % 2 ? stores : loads)[width],
             global ? "global" : "shared", address, place + (global ? 0 : 1024 * buffer));
    return (size_t)snprintf(out, size, "    @%%p%u %s", warp, text);
}

static void write_program(char *out, size_t size, uint32_t seed, bool backwards)
{
    size_t n = (size_t)snprintf(
        out, size,
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry kernel(.param .u64 memory)\n{\n"
        "    .reg .b32 %%r<12>;\n    .reg .b32 %%s<17>;\n    .reg .b64 %%d<17>;\n    .reg .pred "
        "%%p<4>, %%q;\n"
        "    .shared .align 128 .b8 buffers[2048];\n"
        "    mov.u32 %%r0, %%tid.x;\n    and.b32 %%r1, %%r0, 31;\n    xor.b32 %%r1, %%r1, %d;\n"
        "    shr.u32 %%r2, %%r0, 5;\n    ld.param.u64 %%d0, [memory];\n    mov.u32 %%r3, "
        "buffers;\n",
        backwards ? 31 : 0);
    for (int i = 0; i < WARPS; i++)
        n += (size_t)snprintf(out + n, size - n, "    setp.eq.u32 %%p%d, %%r2, %d;\n", i, i);
    n += (size_t)snprintf(out + n, size - n, "    setp.eq.u32 %%q, %%r0, %d;\n", 32 * WARPS);
    for (int width = 4; width <= 16; width *= 2)
        n += (size_t)snprintf(
            out + n, size - n,
            "    mad.lo.u32 %%s%d, %%r1, %d, %%r3;\n    mul.wide.u32 %%d1, %%r1, %d;\n"
            "    add.u64 %%d%d, %%d0, %%d1;\n",
            width, width, width, width);
    const int steps =
        2 + (int)(next_random(&seed) % STEPS); /* short ones are often without a defect */
    if (next_random(&seed) % 2)
        n += (size_t)snprintf(out + n, size - n,
                              "    @%%p0 st.shared.v4.u32 [%%s16], {%%r0, %%r0, %%r0, %%r0};\n"
                              "    @%%p1 st.shared.v4.u32 [%%s16+512], {%%r0, %%r0, %%r0, %%r0};\n"
                              "    @%%p2 st.shared.v4.u32 [%%s16+1024], {%%r0, %%r0, %%r0, %%r0};\n"
                              "    @%%p1 st.shared.v4.u32 [%%s16+1536], {%%r0, %%r0, %%r0, %%r0};\n"
                              "    bar.sync 0;\n");
    for (int i = 0; i < steps; i++)
        n += put_step(out + n, size - n, &seed);
    snprintf(out + n, size - n, "    ret;\n}\n");
}

static int by_value(const void *a, const void *b)
{
    return memcmp(a, b, sizeof((outcome *)0)->reports[0]);
}

static void run(const char *ptx, outcome *out)
{
    static uint8_t bytes[MEMORY] __attribute__((aligned(1024)));
    const ptxgen_emulator_config config = {.size = sizeof config, .threads = 1, .check = true};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    ptxgen_error err = {0};
    void *memory = bytes;
    void *args[] = {&memory};
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {1, 1, 1},
                                           .block = {32 * (WARPS + 1), 1, 1},
                                           .args = args,
                                           .arg_count = 1};
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_add_buffer(emu, "memory", bytes, sizeof bytes,
                                                PTXGEN_EMULATOR_WRITABLE, &err),
                     PTXGEN_OK);
    if (ptxgen_emulator_load(emu, ptx, strlen(ptx), "rows", &module, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ptxgen_emulator_find(module, NULL, &entry, &err), PTXGEN_OK);
    if (ptxgen_emulator_run(entry, &launch, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    memset(out, 0, sizeof *out);
    ptxgen_emulator_report r;
    while (out->count < REPORTS && ptxgen_emulator_get_report(emu, out->count, &r)) {
        out->reports[out->count].kind = (int)r.kind;
        out->reports[out->count].line = r.line;
        out->reports[out->count++].other = r.other_line;
    }
    qsort(out->reports, out->count, sizeof out->reports[0], by_value);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

static void rows_are_judged_like_lanes(void **state)
{
    (void)state;
    int silent = 0, loud = 0;
    for (uint32_t seed = 1; seed <= PROGRAMS; seed++) {
        char rows[8192], lanes[8192];
        outcome by_row, by_lane;
        write_program(rows, sizeof rows, seed * 2654435761u, false);
        write_program(lanes, sizeof lanes, seed * 2654435761u, true);
        run(rows, &by_row);
        run(lanes, &by_lane);
        if (memcmp(&by_row, &by_lane, sizeof by_row)) {
            print_error("program %u: %zu reports by row, %zu by lane\n%s", seed, by_row.count,
                        by_lane.count, rows);
            for (size_t i = 0; i < by_row.count || i < by_lane.count; i++)
                print_error("%d %d %d   %d %d %d\n", by_row.reports[i].kind, by_row.reports[i].line,
                            by_row.reports[i].other, by_lane.reports[i].kind,
                            by_lane.reports[i].line, by_lane.reports[i].other);
            fail();
        }
        *(by_row.count ? &loud : &silent) += 1;
    }
    assert_true(loud > PROGRAMS / 10);
    assert_true(silent > PROGRAMS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_judged_like_lanes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
