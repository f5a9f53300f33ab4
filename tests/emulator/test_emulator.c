/* The emulator through its public header: what a program may do, how it is stopped, and that
 * runs repeat. */
#include "test.h"

#include "ptxgen/emulator.h"

#define HEAD ".version 8.4\n.target sm_90a\n.address_size 64\n"

/* An emulator with one module and one buffer. */
typedef struct machine {
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    uint32_t data[1024] __attribute__((aligned(128)));
    ptxgen_error err;
    char log[4096];
} machine;

static void keep_log(void *user, ptxgen_log_level level, const char *line)
{
    machine *m = user;
    (void)level;
    strncat(m->log, line, sizeof m->log - strlen(m->log) - 2);
    strcat(m->log, "\n");
}

static ptxgen_status open_machine(machine *m, ptxgen_emulator_config config, const char *text)
{
    memset(m, 0, sizeof *m);
    config.size = sizeof config;
    config.log = keep_log;
    config.user = m;
    config.log_level = PTXGEN_LOG_DEBUG;
    assert_int_equal(ptxgen_emulator_create(&config, &m->emu, &m->err), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_add_buffer(m->emu, "data", m->data, sizeof m->data,
                                                PTXGEN_EMULATOR_WRITABLE, &m->err),
                     PTXGEN_OK);
    const ptxgen_status status =
        ptxgen_emulator_load(m->emu, text, strlen(text), NULL, &m->module, &m->err);
    return status == PTXGEN_OK ? ptxgen_emulator_find(m->module, NULL, &m->entry, &m->err) : status;
}

/* Runs the entry, whose only parameter is a pointer to the buffer. */
static ptxgen_status run(machine *m, uint32_t grid, uint32_t block)
{
    uint32_t *pointer = m->data;
    void *args[] = {&pointer};
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {grid, 1, 1},
                                           .block = {block, 1, 1},
                                           .args = args,
                                           .arg_count = 1};
    return ptxgen_emulator_run(m->entry, &launch, &m->err);
}

static void close_machine(machine *m)
{
    ptxgen_emulator_unload(m->module);
    ptxgen_emulator_destroy(m->emu);
}

static const char spin[] = HEAD ".visible .entry k(.param .u64 p)\n{\nL:\n    bra L;\n}\n";

static void a_runaway_kernel_is_stopped(void **state)
{
    (void)state;
    machine m;
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){.instruction_budget = 100000}, spin),
                     PTXGEN_OK);
    assert_int_equal(run(&m, 4, 64), PTXGEN_EBUDGET);
    assert_non_null(strstr(m.err.message, "instruction_budget"));
    close_machine(&m);
}

static void memory_beyond_the_budget_is_refused(void **state)
{
    (void)state;
    machine m;
    assert_int_equal(
        open_machine(
            &m, (ptxgen_emulator_config){.memory_budget = 4096},
            HEAD ".visible .entry k(.param .u64 p)\n{\n    .local .b8 big[100000];\n    ret;\n}\n"),
        PTXGEN_OK);
    assert_int_equal(run(&m, 1, 32), PTXGEN_EBUDGET);
    assert_non_null(strstr(m.err.message, "memory_budget"));
    close_machine(&m);
}

static void a_bad_address_is_named(void **state)
{
    (void)state;
    machine m;
    const char text[] =
        HEAD ".visible .entry k(.param .u64 p)\n{\n    .reg .b64 %d;\n    ld.param.u64 %d, [p];\n"
             "    st.global.u32 [%d+4096], 1;\n    ret;\n}\n";
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, text), PTXGEN_OK);
    assert_int_equal(run(&m, 1, 1), PTXGEN_EEMULATOR);
    assert_non_null(strstr(m.err.message, "data + 4096"));
    assert_non_null(strstr(m.err.message, "write of 4 bytes"));
    assert_int_equal(m.err.line, 8);
    close_machine(&m);
}

static void a_deadlock_names_the_barrier(void **state)
{
    (void)state;
    machine m;
    const char text[] =
        HEAD ".visible .entry k(.param .u64 p)\n{\n    .reg .pred %p;\n    .shared .b64 bar;\n"
             "    mbarrier.init.shared::cta.b64 [bar], 3;\n"
             "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 48;\n"
             "L:\n    mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0;\n    @!%p bra L;\n"
             "    ret;\n}\n";
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, text), PTXGEN_OK);
    assert_int_equal(run(&m, 1, 1), PTXGEN_EEMULATOR);
    assert_non_null(strstr(m.err.message, "deadlock"));
    assert_non_null(strstr(m.err.message, "2 of 3 arrivals and 48 bytes pending"));
    assert_non_null(strstr(m.err.message, "at line 11 (mbarrier.try_wait"));
    close_machine(&m);
}

/* A lane that a branch leads past a .sync.aligned instruction is the cause that the message
 * begins with. */
static void a_deadlock_begins_with_the_lanes_gone_past(void **state)
{
    (void)state;
    machine m;
    const char *text =
        ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        "    .reg .b32 %x;\n    .reg .pred %q;\n    .shared .b32 slot;\n"
        "    mov.u32 %x, %tid.x;\n    setp.eq.u32 %q, %x, 5;\n    @%q bra PAST;\n"
        "    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\n"
        "PAST:\n    bar.sync 0;\n    ret;\n}\n";
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, text), PTXGEN_OK);
    assert_int_equal(run(&m, 1, 32), PTXGEN_EEMULATOR);
    assert_non_null(strstr(m.err.message,
                           "deadlock in cluster 0: line 12 (tcgen05.alloc), CTA (0,0,0) warp 0: "
                           "lanes 0xffffffdf wait here for lanes 0x00000020"));
    assert_int_equal(m.err.line, 12);
    close_machine(&m);
}

/* The other side of a race is a thread that the user can find. */
static void a_race_names_both_threads(void **state)
{
    (void)state;
    machine m;
    ptxgen_emulator_report r;
    const char *text =
        HEAD ".visible .entry k(.param .u64 p)\n{\n"
             "    .reg .b32 %x, %w, %c;\n    .reg .b64 %a;\n    .reg .pred %q;\n"
             "    ld.param.u64 %a, [p];\n    mov.u32 %x, %tid.x;\n    mov.u32 %c, %ctaid.x;\n"
             "    setp.ne.u32 %q, %x, 37;\n    @%q bra DONE;\n"
             "    setp.eq.u32 %q, %c, 0;\n    @%q bra DONE;\n"
             "    st.global.u32 [%a], %c;\nDONE:\n    ret;\n}\n";
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){.check = true}, text), PTXGEN_OK);
    assert_int_equal(run(&m, 3, 64), PTXGEN_OK);
    assert_true(ptxgen_emulator_get_report(m.emu, 0, &r));
    assert_int_equal(r.kind, PTXGEN_EMULATOR_REPORT_RACE_GLOBAL);
    assert_non_null(strstr(r.text, "warp 1 lane 5 of CTA (1,0,0)"));
    assert_int_equal(r.cta[0], 2);
    close_machine(&m);
}

static void calls_recurse(void **state)
{
    (void)state;
    machine m;
    const char text[] = HEAD
        ".func (.param .b32 r) fact(.param .b32 n)\n{\n    .reg .b32 %n, %m, %v;\n    .reg .pred "
        "%p;\n"
        "    ld.param.u32 %n, [n];\n    mov.u32 %v, 1;\n    setp.lt.u32 %p, %n, 2;\n    @%p bra "
        "DONE;\n"
        "    sub.u32 %m, %n, 1;\n    {\n    .param .b32 a;\n    .param .b32 b;\n    st.param.b32 "
        "[a], %m;\n"
        "    call (b), fact, (a);\n    ld.param.b32 %v, [b];\n    }\n    mul.lo.u32 %v, %v, %n;\n"
        "DONE:\n    st.param.b32 [r], %v;\n    ret;\n}\n"
        ".visible .entry k(.param .u64 p)\n{\n    .reg .b32 %t, %v;\n    .reg .b64 %d;\n"
        "    ld.param.u64 %d, [p];\n    mov.u32 %t, %tid.x;\n    {\n    .param .b32 a;\n    .param "
        ".b32 b;\n"
        "    st.param.b32 [a], %t;\n    call (b), fact, (a);\n    ld.param.b32 %v, [b];\n    }\n"
        "    mad.wide.u32 %d, %t, 4, %d;\n    st.global.u32 [%d], %v;\n    ret;\n}\n";
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, text), PTXGEN_OK);
    assert_int_equal(run(&m, 1, 13), PTXGEN_OK);
    uint32_t expected = 1;
    for (uint32_t i = 0; i < 13; i++) {
        expected *= i ? i : 1;
        assert_int_equal(m.data[i], expected);
    }
    close_machine(&m);
}

static void a_lane_that_spins_lets_others_go_on(void **state)
{
    (void)state;
    machine m;
    /* Every lane takes the same lock, adds without atomics, releases: on one warp. */
    const char text[] = HEAD ".visible .entry k(.param .u64 p)\n{\n    .reg .b32 %o, %v;\n    .reg "
                             ".b64 %d;\n    .reg .pred %p;\n"
                             "    ld.param.u64 %d, [p];\n"
                             "L:\n    atom.acquire.gpu.global.cas.b32 %o, [%d], 0, 1;\n    "
                             "setp.ne.u32 %p, %o, 0;\n    @%p bra L;\n"
                             "    ld.volatile.global.u32 %v, [%d+4];\n    add.u32 %v, %v, 1;\n    "
                             "st.volatile.global.u32 [%d+4], %v;\n"
                             "    atom.release.gpu.global.exch.b32 %o, [%d], 0;\n    ret;\n}\n";
    for (unsigned threads = 1; threads <= 2; threads++) {
        const ptxgen_emulator_config config = {.threads = threads, .instruction_budget = 50000000};
        assert_int_equal(open_machine(&m, config, text), PTXGEN_OK);
        assert_int_equal(run(&m, 6, 64), PTXGEN_OK);
        assert_int_equal(m.data[1], 6 * 64);
        close_machine(&m);
    }
}

static void threads_reduce_without_losing_updates(void **state)
{
    (void)state;
    machine m;
    const char text[] = HEAD
        ".visible .entry k(.param .u64 p)\n{\n    .reg .b32 %t, %a;\n    .reg .b64 %d;\n    .reg "
        ".pred %p;\n"
        "    .shared .align 16 .b8 buf[128];\n    ld.param.u64 %d, [p];\n    mov.u32 %t, %tid.x;\n"
        "    mov.u32 %a, buf;\n    mad.lo.u32 %a, %t, 4, %a;\n    st.shared.f32 [%a], 0f3F800000;\n"
        "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    setp.ne.u32 %p, %t, 0;\n    @%p "
        "ret;\n"
        "    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d], [buf], 128;\n"
        "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n    ret;\n}\n";
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){.threads = 4}, text), PTXGEN_OK);
    assert_int_equal(run(&m, 3000, 32), PTXGEN_OK);
    for (int i = 0; i < 32; i++) {
        float x;
        memcpy(&x, &m.data[i], sizeof x);
        assert_true(x == 3000.0f);
    }
    close_machine(&m);
}

static void printf_and_assert_reach_the_host(void **state)
{
    (void)state;
    machine m;
    const char text[] =
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 "
             "n, .param .b64 c);\n"
             ".global .align 1 .b8 format[8] = {120, 61, 37, 100, 32, 37, 115, 0};\n"
             ".global .align 1 .b8 word[3] = {104, 105, 0};\n"
             ".visible .entry k(.param .u64 p)\n{\n    .local .align 8 .b8 args[16];\n    .reg "
             ".b64 %a, %f, %l, %w;\n"
             "    mov.u64 %l, args;\n    cvta.local.u64 %a, %l;\n    st.local.u32 [args], 42;\n"
             "    mov.u64 %w, word;\n    cvta.global.u64 %w, %w;\n    st.local.u64 [args+8], %w;\n"
             "    mov.u64 %f, format;\n    cvta.global.u64 %f, %f;\n"
             "    {\n    .param .b64 q0;\n    .param .b64 q1;\n    .param .b32 r;\n    "
             "st.param.b64 [q0], %f;\n"
             "    st.param.b64 [q1], %a;\n    call.uni (r), vprintf, (q0, q1);\n    }\n"
             "    {\n    .param .b64 q0;\n    .param .b64 q1;\n    .param .b32 q2;\n    .param "
             ".b64 q3;\n    .param .b64 q4;\n"
             "    st.param.b64 [q0], %w;\n    st.param.b64 [q1], %f;\n    st.param.b32 [q2], 77;\n "
             "   st.param.b64 [q3], %f;\n"
             "    st.param.b64 [q4], 1;\n    call.uni __assertfail, (q0, q1, q2, q3, q4);\n    }\n "
             "   ret;\n}\n";
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, text), PTXGEN_OK);
    assert_int_equal(run(&m, 1, 1), PTXGEN_EEMULATOR);
    assert_non_null(strstr(m.log, "x=42 hi"));
    assert_non_null(strstr(m.err.message, "assertion `hi` failed"));
    assert_non_null(strstr(m.err.message, ":77"));
    close_machine(&m);
}

/* Each warp takes a ticket a few times: the order of the tickets is the schedule. */
static const char tickets[] =
    HEAD ".visible .entry k(.param .u64 p)\n{\n    .reg .b32 %t, %v, %i, %w;\n    .reg .b64 %d, "
         "%e;\n    .reg .pred %p, %q;\n"
         "    ld.param.u64 %d, [p];\n    mov.u32 %t, %tid.x;\n    and.b32 %v, %t, 31;\n    "
         "setp.ne.u32 %q, %v, 0;\n"
         "    @%q ret;\n    shr.u32 %w, %t, 5;\n    mov.u32 %i, 0;\n"
         "L:\n    atom.global.add.u32 %v, [%d], 1;\n    mad.wide.u32 %e, %v, 4, %d;\n    "
         "st.global.u32 [%e+4], %w;\n"
         "    add.u32 %i, %i, 1;\n    setp.lt.u32 %p, %i, 20;\n    @%p bra L;\n    ret;\n}\n";

static void the_same_seed_is_the_same_run(void **state)
{
    (void)state;
    machine m;
    uint32_t first[1024];
    bool any_different = false;
    for (uint64_t i = 0; i < 8; i++) {
        const ptxgen_emulator_config config = {.order = PTXGEN_EMULATOR_ORDER_ISA,
                                               .seed = i < 2 ? 7 : i};
        assert_int_equal(open_machine(&m, config, tickets), PTXGEN_OK);
        assert_int_equal(run(&m, 1, 256), PTXGEN_OK);
        if (i == 0)
            memcpy(first, m.data, sizeof first);
        else if (i == 1)
            assert_memory_equal(first, m.data, sizeof first);
        else
            any_different |= memcmp(first, m.data, sizeof first) != 0;
        close_machine(&m);
    }
    assert_true(any_different);
}

static void a_launch_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    machine m;
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, spin), PTXGEN_OK);
    assert_int_equal(run(&m, 1, 2000), PTXGEN_EINVAL);
    const ptxgen_emulator_launch none = {
        .size = sizeof none, .grid = {1, 1, 1}, .block = {1, 1, 1}};
    assert_int_equal(ptxgen_emulator_run(m.entry, &none, &m.err), PTXGEN_EINVAL);
    assert_non_null(strstr(m.err.message, "1 parameters"));
    const char one[4] = {0};
    assert_int_equal(
        ptxgen_emulator_add_buffer(m.emu, "twice", (char *)m.data + 8, sizeof one, 0, &m.err),
        PTXGEN_EINVAL);
    close_machine(&m);
}

/* Whatever fails names the file that the text was loaded as. */
static void errors_name_the_loaded_file(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        ptxgen_status status;
    } cases[] = {{"    mov.u32 %nothing, 1;\n", PTXGEN_EPARSE},
                 {"    .reg .b32 %a;\n    .shared .b8 big[300000];\n    mov.u32 %a, big;\n",
                  PTXGEN_EUNSUPPORTED},
                 {"    trap;\n", PTXGEN_EEMULATOR}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        machine m;
        char text[400], name[] = "mine.ptx";
        assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, spin), PTXGEN_OK);
        ptxgen_emulator_unload(m.module);
        m.module = NULL;
        snprintf(text, sizeof text, HEAD ".visible .entry k(.param .u64 p)\n{\n%s    ret;\n}\n",
                 cases[i].body);
        ptxgen_status status =
            ptxgen_emulator_load(m.emu, text, strlen(text), name, &m.module, &m.err);
        memset(name, 'x', sizeof name - 1);
        if (status == PTXGEN_OK)
            status = ptxgen_emulator_find(m.module, NULL, &m.entry, &m.err);
        if (status == PTXGEN_OK)
            status = run(&m, 1, 1);
        assert_int_equal(status, cases[i].status);
        assert_string_equal(m.err.file, "mine.ptx");
        close_machine(&m);
    }
}

/* Queries without an object, a name or a place for the answer find nothing. */
static void missing_arguments_find_nothing(void **state)
{
    (void)state;
    machine m;
    void *address;
    size_t bytes;
    const char *name;
    uint64_t count;
    ptxgen_emulator_param param;
    ptxgen_emulator_report report;
    ptxgen_emulator_stats stats;
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, spin), PTXGEN_OK);
    assert_false(ptxgen_emulator_variable(m.module, NULL, &address, &bytes));
    assert_false(ptxgen_emulator_variable(NULL, "v", &address, &bytes));
    assert_false(ptxgen_emulator_variable(m.module, "v", NULL, &bytes));
    assert_false(ptxgen_emulator_variable(m.module, "v", &address, NULL));
    assert_null(ptxgen_emulator_entry_name(NULL, 0));
    assert_false(ptxgen_emulator_entry_param(NULL, 0, &param));
    assert_false(ptxgen_emulator_entry_param(m.entry, 0, NULL));
    assert_false(ptxgen_emulator_remove_buffer(NULL, m.data));
    assert_false(ptxgen_emulator_opcode_count(NULL, 0, &name, &count));
    assert_false(ptxgen_emulator_opcode_count(m.emu, 0, NULL, &count));
    assert_false(ptxgen_emulator_get_report(NULL, 0, &report));
    assert_false(ptxgen_emulator_get_report(m.emu, 0, NULL));
    ptxgen_emulator_get_stats(NULL, &stats);
    ptxgen_emulator_get_stats(m.emu, NULL);
    ptxgen_emulator_reset_stats(NULL);
    ptxgen_emulator_clear_reports(NULL);
    assert_int_equal(ptxgen_emulator_create(NULL, NULL, &m.err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_emulator_find(NULL, NULL, &m.entry, &m.err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_emulator_run(NULL, NULL, &m.err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_emulator_encode_tensor_map(NULL, m.data, &m.err), PTXGEN_EINVAL);
    close_machine(&m);
}

/* Structs say their size: what lies beyond it is not read, and no size at all is refused. */
static void sizes_of_structs_are_looked_at(void **state)
{
    (void)state;
    machine m;
    assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, spin), PTXGEN_OK);
    ptxgen_emulator *other = m.emu;
    ptxgen_emulator_config config = {.order = (ptxgen_emulator_order)77};
    assert_int_equal(ptxgen_emulator_create(&config, &other, &m.err), PTXGEN_EINVAL);
    assert_non_null(strstr(m.err.message, "sizeof(ptxgen_emulator_config)"));
    assert_null(other);
    config.size = offsetof(ptxgen_emulator_config, order);
    assert_int_equal(ptxgen_emulator_create(&config, &other, &m.err), PTXGEN_OK);
    ptxgen_emulator_destroy(other);

    ptxgen_emulator_launch launch = {.args = NULL, .arg_count = 9};
    assert_int_equal(ptxgen_emulator_run(m.entry, &launch, &m.err), PTXGEN_EINVAL);
    assert_non_null(strstr(m.err.message, "sizeof(ptxgen_emulator_launch)"));
    launch.size = offsetof(ptxgen_emulator_launch, args);
    assert_int_equal(ptxgen_emulator_run(m.entry, &launch, &m.err), PTXGEN_EINVAL);
    assert_non_null(strstr(m.err.message, "the launch 0 arguments"));

    char encoded[128];
    ptxgen_emulator_tensor_map map = {.data_type = 7, .rank = 1, .address = m.data, .dims = {64}};
    map.box[0] = 64;
    map.swizzle = 77;
    assert_int_equal(ptxgen_emulator_encode_tensor_map(&map, encoded, &m.err), PTXGEN_EINVAL);
    assert_non_null(strstr(m.err.message, "sizeof(ptxgen_emulator_tensor_map)"));
    map.size = sizeof map;
    assert_int_equal(ptxgen_emulator_encode_tensor_map(&map, encoded, &m.err), PTXGEN_EINVAL);
    assert_non_null(strstr(m.err.message, "swizzle 77 does not exist: 0 (none) to 6"));
    map.data_type = -1;
    assert_int_equal(ptxgen_emulator_encode_tensor_map(&map, encoded, &m.err), PTXGEN_EINVAL);
    assert_non_null(strstr(m.err.message, "data type -1 does not exist: 0 (u8) to 15"));
    map.data_type = 7;
    map.size = offsetof(ptxgen_emulator_tensor_map, swizzle);
    assert_int_equal(ptxgen_emulator_encode_tensor_map(&map, encoded, &m.err), PTXGEN_OK);
    close_machine(&m);
}

/* 227 KB of shared variables are taken, a byte more is not. */
static void static_shared_memory_has_a_limit(void **state)
{
    (void)state;
    static const struct {
        unsigned long long bytes;
        ptxgen_status status;
    } cases[] = {{227 * 1024, PTXGEN_OK},
                 {227 * 1024 + 1, PTXGEN_EUNSUPPORTED},
                 {0x100000100, PTXGEN_EUNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        machine m;
        char text[400];
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 p)\n{\n    .shared .b8 big[%llu];\n"
                      "    .reg .b32 %%a;\n    mov.u32 %%a, big;\n    ret;\n}\n",
                 cases[i].bytes);
        assert_int_equal(open_machine(&m, (ptxgen_emulator_config){0}, text), cases[i].status);
        if (cases[i].status == PTXGEN_OK)
            assert_int_equal(run(&m, 1, 1), PTXGEN_OK);
        else
            assert_non_null(strstr(m.err.message, "a CTA has at most 232448"));
        close_machine(&m);
    }
}

/* Tensor memory, and each kind of operation that is queued for it. */
static const char tensor_memory[] =
    ".version 8.6\n.target sm_100a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n    .reg .b32 %t, %x;\n    .reg .b64 %d;\n    .reg .pred "
    "%q;\n"
    "    .shared .align 1024 .b8 data[4096];\n    .shared .b32 slot;\n    .shared .b64 bar;\n"
    "    mov.u32 %x, %tid.x;\n    setp.ne.u32 %q, %x, 0;\n"
    "    @!%q mbarrier.init.shared::cta.b64 [bar], 1;\n    bar.sync 0;\n"
    "    setp.ge.u32 %q, %x, 32;\n    @%q bra DONE;\n"
    "    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\n"
    "    bar.warp.sync 0xffffffff;\n    ld.shared.b32 %t, [slot];\n    elect.sync _|%q, "
    "0xffffffff;\n"
    "    mov.u32 %x, data;\n    shr.u32 %x, %x, 4;\n    add.u32 %x, %x, 65536;\n"
    "    mov.b64 %d, {%x, 16392};\n    @%q tcgen05.cp.cta_group::1.128x128b [%t], %d;\n"
    "    @%q tcgen05.shift.cta_group::1.down [%t];\n"
    "    @%q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
    "L:\n    mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n    @!%q bra L;\n"
    "    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x}, [%t];\n    tcgen05.wait::ld.sync.aligned;\n"
    "    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;\nDONE:\n    ret;\n}\n";

/* Everything that allocates, in one go. */
static ptxgen_status whole_life(const pg_alloc *alloc, bool check, const char *text)
{
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 1,
                                           .check = check,
                                           .realloc = alloc->realloc,
                                           .user = alloc->user};
    ptxgen_emulator *emu = NULL;
    ptxgen_emulator_module *module = NULL;
    ptxgen_emulator_entry *entry;
    static uint32_t data[1024];
    memset(data, 0, sizeof data);
    ptxgen_status status = ptxgen_emulator_create(&config, &emu, NULL);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_add_buffer(emu, "data", data, sizeof data,
                                            PTXGEN_EMULATOR_WRITABLE, NULL);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_load(emu, text, strlen(text), NULL, &module, NULL);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_find(module, NULL, &entry, NULL);
    if (status == PTXGEN_OK) {
        uint32_t *pointer = data;
        void *args[] = {&pointer};
        const ptxgen_emulator_launch launch = {
            .size = sizeof launch, .block = {64, 1, 1}, .args = args, .arg_count = 1};
        status = ptxgen_emulator_run(entry, &launch, NULL);
    }
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
    return status;
}

static void out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool check = i % 2;
        const char *text = i / 2 ? tensor_memory : tickets;
        failing_alloc f = {.fail_at = 0};
        pg_alloc hook = failing_alloc_hook(&f);
        assert_int_equal(whole_life(&hook, check, text), PTXGEN_OK);
        assert_int_equal(f.live, 0);
        const size_t calls = f.calls;
        for (size_t n = 1; n <= calls; n++) {
            f = (failing_alloc){.fail_at = n, .forever = n % 2 != 0};
            hook = failing_alloc_hook(&f);
            const ptxgen_status status = whole_life(&hook, check, text);
            /* Checking mode may lose knowledge instead: then the launch goes on. */
            if (status != PTXGEN_ENOMEM && !(check && status == PTXGEN_OK))
                fail_msg("allocation %zu of %zu: %s", n, calls, ptxgen_status_name(status));
            assert_int_equal(f.live, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runaway_kernel_is_stopped),
        cmocka_unit_test(memory_beyond_the_budget_is_refused),
        cmocka_unit_test(a_bad_address_is_named),
        cmocka_unit_test(a_deadlock_names_the_barrier),
        cmocka_unit_test(a_deadlock_begins_with_the_lanes_gone_past),
        cmocka_unit_test(a_race_names_both_threads),
        cmocka_unit_test(calls_recurse),
        cmocka_unit_test(a_lane_that_spins_lets_others_go_on),
        cmocka_unit_test(threads_reduce_without_losing_updates),
        cmocka_unit_test(printf_and_assert_reach_the_host),
        cmocka_unit_test(the_same_seed_is_the_same_run),
        cmocka_unit_test(a_launch_that_does_not_fit_is_refused),
        cmocka_unit_test(errors_name_the_loaded_file),
        cmocka_unit_test(missing_arguments_find_nothing),
        cmocka_unit_test(sizes_of_structs_are_looked_at),
        cmocka_unit_test(static_shared_memory_has_a_limit),
        cmocka_unit_test(out_of_memory_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
