/* The emulator's clock on kernels whose time follows from one rate: dependent instructions, issue
 * slots, banks, DRAM, waves, one hot line, barriers; and what it refuses. The rates themselves are
 * held to measured times by bench_clock. */
#include "test.h"

#include "ptxgen/emulator.h"

#include <string.h>

enum { MOST_BUFFER = 96 << 20 };

static const char head[] = ".version 8.6\n.target sm_90a\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
                           "    .reg .u64 %rd<9>;\n    .reg .u32 %r<99>;\n    .reg .f32 %f<99>;\n"
                           "    .reg .pred %p<4>;\n    .shared .align 128 .b8 tile[8192];\n"
                           "    ld.param.u64 %rd1, [p];\n    ld.param.u64 %rd2, [q];\n"
                           "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %ctaid.x;\n"
                           "    mov.u32 %r3, %ntid.x;\n    mov.u32 %r9, tile;\n"
                           "    mad.lo.u32 %r4, %r2, %r3, %r1;\n    mul.wide.u32 %rd3, %r4, 16;\n"
                           "    add.u64 %rd4, %rd1, %rd3;\n    add.u64 %rd5, %rd2, %rd3;\n";

static void append(char *text, const char *line)
{
    strcat(text, line);
}

/* The kernel whose body is `body`, `times` over. */
static void make_kernel(char *text, const char *body, int times)
{
    strcpy(text, head);
    for (int i = 0; i < times; i++)
        append(text, body);
    append(text, "    ret;\n}\n");
}

static ptxgen_emulator_time time_of(const char *arch, const char *text, uint32_t grid,
                                    uint32_t block)
{
    const ptxgen_emulator_config config = {.size = sizeof config, .clock = arch};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    ptxgen_error err = {0};
    static uint8_t *memory;
    if (!memory)
        memory = calloc(2, MOST_BUFFER);
    void *p = memory, *q = memory + MOST_BUFFER, *args[] = {&p, &q};
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {grid, 1, 1},
                                           .block = {block, 1, 1},
                                           .args = args,
                                           .arg_count = 2};
    ptxgen_emulator_time t = {.size = sizeof t};
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    ptxgen_emulator_add_buffer(emu, "p", p, MOST_BUFFER, PTXGEN_EMULATOR_WRITABLE, &err);
    ptxgen_emulator_add_buffer(emu, "q", q, MOST_BUFFER, PTXGEN_EMULATOR_WRITABLE, &err);
    assert_int_equal(ptxgen_emulator_load(emu, text, strlen(text), "k.ptx", &module, &err),
                     PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_find(module, NULL, &entry, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_run(entry, &launch, &err), PTXGEN_OK);
    assert_true(ptxgen_emulator_time_at(emu, 0, &t));
    assert_true(!ptxgen_emulator_time_at(emu, 1, &t));
    t.limit = NULL; /* the emulator's */
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
    return t;
}

static double run_ns(const char *body, int times, uint32_t grid, uint32_t block)
{
    static char text[1 << 20];
    make_kernel(text, body, times);
    const ptxgen_emulator_time t = time_of("sm_90", text, grid, block);
    return t.ns - t.launch_ns;
}

static bool is_about(double value, double wanted, double percent)
{
    return value > wanted * (1 - percent / 100) && value < wanted * (1 + percent / 100);
}

/* 4.5 clocks of 1/1.98 ns for a dependent addition, one for an independent one. */
static void dependent_instructions_wait(void **state)
{
    (void)state;
    const double one = run_ns("    add.f32 %f1, %f1, 0f3F800000;\n", 1000, 1, 32);
    const double chain = run_ns("    add.f32 %f1, %f1, 0f3F800000;\n", 2000, 1, 32);
    assert_true(is_about(chain - one, 1000 * 4.5 / 1.98, 2));
    const char four[] = "    add.f32 %f1, %f1, 0f3F800000;\n    add.f32 %f2, %f2, 0f3F800000;\n"
                        "    add.f32 %f3, %f3, 0f3F800000;\n    add.f32 %f4, %f4, 0f3F800000;\n"
                        "    add.f32 %f5, %f5, 0f3F800000;\n";
    assert_true(is_about(run_ns(four, 400, 1, 32) - run_ns(four, 200, 1, 32), 1000 / 1.98, 2));
}

/* Four sub-partitions issue one instruction a clock each: 16 warps take as long as four. */
static void warps_share_issue_slots(void **state)
{
    (void)state;
    const char body[] = "    add.f32 %f1, %f2, %f3;\n";
    const double four = run_ns(body, 2000, 1, 128), sixteen = run_ns(body, 2000, 1, 512);
    assert_true(is_about(four, 2000 / 1.98, 12));
    assert_true(is_about(sixteen / four, 4, 8));
}

/* 32 lanes on one bank: 32 passes. */
static void bank_conflicts_take_passes(void **state)
{
    (void)state;
    const char straight[] = "    shl.b32 %r5, %r1, 2;\n    and.b32 %r5, %r5, 8188;\n"
                            "    add.u32 %r5, %r5, %r9;\n    st.shared.u32 [%r5], %r1;\n";
    const char conflict[] = "    shl.b32 %r5, %r1, 7;\n    and.b32 %r5, %r5, 8188;\n"
                            "    add.u32 %r5, %r5, %r9;\n    st.shared.u32 [%r5], %r1;\n";
    const double apart = run_ns(straight, 200, 1, 256), together = run_ns(conflict, 200, 1, 256);
    assert_true(is_about(together, 8 * 200 * 32 / 1.98, 10));
    assert_true(together > 4 * apart);
}

/* 2 x 64 MB through DRAM at the copy's bandwidth; what stays in L2 is faster. */
static void copies_run_at_the_copys_bandwidth(void **state)
{
    (void)state;
    const char body[] = "    ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd4];\n"
                        "    st.global.v4.u32 [%rd5], {%r10, %r11, %r12, %r13};\n";
    const double bytes = 64 << 20, ns = run_ns(body, 1, (64 << 20) / 16 / 256, 256);
    assert_true(is_about(ns, 2 * bytes / 4260, 15));
    const double small = run_ns(body, 1, (8 << 20) / 16 / 256, 256);
    assert_true(small < 2.0 * (8 << 20) / 4260);
}

/* A grid of ten waves takes ten times as long as one of a wave, whatever was followed of it. */
static void waves_add_up(void **state)
{
    (void)state;
    const char body[] = "    add.f32 %f1, %f1, 0f3F800000;\n";
    const double one = run_ns(body, 4000, 132, 1024), ten = run_ns(body, 4000, 1320, 1024);
    assert_true(is_about(ten / one, 10, 8));
}

/* All warps add to one line: its place in L2 serves them one after the other. */
static void one_hot_line_serializes(void **state)
{
    (void)state;
    const char apart[] = "    red.global.add.u32 [%rd4], 1;\n";
    const char together[] = "    red.global.add.u32 [%rd1], 1;\n";
    assert_true(run_ns(together, 8, 1320, 256) > 5 * run_ns(apart, 1, 1320, 256));
}

/* A warp that waits at a barrier goes on when the slowest has arrived. */
static void a_barrier_waits_for_the_slowest(void **state)
{
    (void)state;
    static char text[1 << 20];
    strcpy(text, head);
    append(text, "    setp.gt.u32 %p1, %r1, 31;\n    @%p1 bra ARRIVE;\n");
    for (int i = 0; i < 3000; i++)
        append(text, "    add.f32 %f1, %f1, 0f3F800000;\n");
    append(text, "ARRIVE:\n    bar.sync 0;\n");
    for (int i = 0; i < 1000; i++)
        append(text, "    add.f32 %f1, %f1, 0f3F800000;\n");
    append(text, "    ret;\n}\n");
    const ptxgen_emulator_time t = time_of("sm_90", text, 1, 64);
    assert_true(is_about(t.ns - t.launch_ns, 4000 * 4.5 / 1.98, 3));
}

/* A bulk copy: a warp waits for its mbarrier as long as L2 or DRAM needs. */
static void a_bulk_copy_takes_its_latency(void **state)
{
    (void)state;
    const char body[] =
        "    mov.u32 %r5, tile;\n    add.u32 %r6, %r5, 4096;\n    setp.eq.u32 %p1, %r1, 0;\n"
        "    @%p1 mbarrier.init.shared.b64 [%r6], 1;\n"
        "    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 4096;\n"
        "    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1], "
        "4096, [%r6];\n"
        "    bar.sync 0;\n"
        "WAIT:\n    mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0;\n    @!%p2 bra WAIT;\n";
    const double ns = run_ns(body, 1, 1, 32);
    assert_true(ns > 400 && ns < 1500);
}

/* CTAs that take tile after tile: the first, which are followed, have one more than the last. */
static void operations_of_an_uneven_grid_are_counted(void **state)
{
    (void)state;
    enum { CTAS = 132, ONE = 2 * 64 * 8 * 16 };
    static const uint32_t tiles[] = {132, 133, 300, 395, 396, 397};
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        char text[4096], loop[1024];
        snprintf(loop, sizeof loop,
                 "    shr.u32 %%r9, %%r9, 4;\n    cvt.u64.u32 %%rd6, %%r9;\n"
                 "    or.b64 %%rd6, %%rd6, 0x1000080000;\n    mov.u32 %%r5, %%nctaid.x;\n"
                 "NEXT:\n    wgmma.fence.sync.aligned;\n"
                 "    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%f1, %%f2, %%f3, %%f4}, "
                 "%%rd6, %%rd6, 1, 1, 1, 0, 0;\n"
                 "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n"
                 "    add.u32 %%r2, %%r2, %%r5;\n    setp.lt.u32 %%p1, %%r2, %u;\n"
                 "    @%%p1 bra NEXT;\n",
                 tiles[i]);
        make_kernel(text, loop, 1);
        const ptxgen_emulator_time t = time_of("sm_90", text, CTAS, 128);
        assert_float_equal(t.flop, (double)tiles[i] * ONE, 1);
    }
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    ptxgen_emulator_config config = {.size = sizeof config, .clock = "sm_70"};
    ptxgen_emulator *emu;
    ptxgen_error err = {0};
    assert_true(ptxgen_emulator_create(&config, &emu, &err) == PTXGEN_EINVAL);
    assert_true(strstr(err.message, "sm_70"));
    config.clock = "sm_100a";
    config.check = true;
    assert_true(ptxgen_emulator_create(&config, &emu, &err) == PTXGEN_EINVAL);
    config.check = false;
    config.order = PTXGEN_EMULATOR_ORDER_ISA;
    assert_true(ptxgen_emulator_create(&config, &emu, &err) == PTXGEN_EINVAL);
}

/* Every allocation may fail: the launch then does, and nothing leaks. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    static char text[1 << 16];
    make_kernel(text, "    ld.global.u32 %r5, [%rd4];\n    bar.sync 0;\n", 3);
    for (size_t fail = 1; fail < 4000; fail++) {
        failing_alloc f = {.fail_at = fail};
        const pg_alloc hook = failing_alloc_hook(&f);
        const ptxgen_emulator_config config = {
            .size = sizeof config, .clock = "sm_90", .realloc = hook.realloc, .user = hook.user};
        ptxgen_emulator *emu;
        ptxgen_emulator_module *module = NULL;
        ptxgen_emulator_entry *entry;
        ptxgen_error err = {0};
        static uint8_t memory[1 << 14];
        void *p = memory, *args[] = {&p, &p};
        const ptxgen_emulator_launch launch = {
            .size = sizeof launch, .grid = {4}, .block = {64}, .args = args, .arg_count = 2};
        ptxgen_status status = ptxgen_emulator_create(&config, &emu, &err);
        if (status != PTXGEN_OK)
            continue;
        status = ptxgen_emulator_add_buffer(emu, "p", p, sizeof memory, 0, &err);
        if (status == PTXGEN_OK)
            status = ptxgen_emulator_load(emu, text, strlen(text), "k.ptx", &module, &err);
        if (status == PTXGEN_OK)
            status = ptxgen_emulator_find(module, NULL, &entry, &err);
        if (status == PTXGEN_OK)
            status = ptxgen_emulator_run(entry, &launch, &err);
        ptxgen_emulator_unload(module);
        ptxgen_emulator_destroy(emu);
        assert_int_equal(f.live, 0);
        if (status == PTXGEN_OK)
            return;
        assert_true(status == PTXGEN_ENOMEM);
    }
    fail_msg("4000 allocations were not enough");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependent_instructions_wait),
        cmocka_unit_test(warps_share_issue_slots),
        cmocka_unit_test(bank_conflicts_take_passes),
        cmocka_unit_test(copies_run_at_the_copys_bandwidth),
        cmocka_unit_test(waves_add_up),
        cmocka_unit_test(one_hot_line_serializes),
        cmocka_unit_test(a_barrier_waits_for_the_slowest),
        cmocka_unit_test(a_bulk_copy_takes_its_latency),
        cmocka_unit_test(operations_of_an_uneven_grid_are_counted),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
