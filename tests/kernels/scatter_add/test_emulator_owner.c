/* The kernels of index_sort and of schedule=owner and private in checking mode: right sums and
 * not one report, whatever order=isa does with them. Several tiles and panels, runs that are cut
 * between groups and CTAs, partial sums of several levels.
 *
 *     test_emulator_owner [SEEDS (2)] */
#include "base/half.h"
#include "test.h"

#include "api/typed.h"
#include "ptxgen/emulator.h"
#include "scatter_add/scatter_add.h"

enum { ROWS = 1500, OUT_ROWS = 300, MAX_N = 160, WORKSPACE = 1 << 21 };

static unsigned seeds = 2;
static ptxgen *ctx;

typedef struct problem {
    const char *params;
    ptxgen_scatter_add_args a; /* rows: ROWS, unless it says fewer */
    int hot;                   /* of 8 entries, how many go to row 7 + `above` */
    int above;
    bool rough; /* values whose sums depend on the order */
    uint64_t seed;
    _Alignas(16) float out[OUT_ROWS * MAX_N];
    _Alignas(16) float src[ROWS * MAX_N];
    float want[OUT_ROWS * MAX_N];
    int64_t index[ROWS], src_index[ROWS];
    float weight[ROWS];
    _Alignas(256) char workspace[WORKSPACE];
    _Alignas(16) pg_bad_index record;
} problem;

static problem p;
static ptxgen_device_info device = {.sm_count = 3, .l2_bytes = 4096};

/* Past what the array holds, which is floats: nothing. */
static void put(float *array, int i, float v)
{
    void *const at = array;
    const bool wide = p.a.dtype == PTXGEN_F64 || p.a.dtype == PTXGEN_S64;
    const int most = (array == p.src ? ROWS : OUT_ROWS) * MAX_N;
    if (wide && i >= most / 2)
        return;
    if (p.a.dtype == PTXGEN_BF16)
        ((uint16_t *)at)[i] = pg_bf16_from_double((double)v);
    else if (p.a.dtype == PTXGEN_F64)
        ((double *)at)[i] = (double)v;
    else if (p.a.dtype == PTXGEN_S64)
        ((int64_t *)at)[i] = (int64_t)v;
    else
        array[i] = v;
}

static void fill(void)
{
    ptxgen_scatter_add_args *a = &p.a;
    for (int i = 0; i < ROWS; i++) {
        p.index[i] = i % 8 < p.hot ? 7 + p.above : i * 11 % OUT_ROWS;
        p.src_index[i] = i * 7 % ROWS;
        p.weight[i] = (float)(i % 3 - 1);
    }
    for (int i = 0; i < ROWS * MAX_N; i++)
        put(p.src, i, p.rough ? 1.0F / (float)(i % 1009 + 1) : (float)(i * 5 % 7 - 3));
    for (int i = 0; i < OUT_ROWS * MAX_N; i++) {
        put(p.out, i, (float)(i % 5));
        put(p.want, i, (float)(i % 5));
    }
    memset(p.workspace, 0x5a, sizeof p.workspace);
    p.record = PG_BAD_INDEX_EMPTY;
    a->size = sizeof *a;
    a->dtype = a->dtype ? a->dtype : PTXGEN_F32;
    a->rows = a->rows ? a->rows : ROWS;
    a->out_rows = OUT_ROWS;
    a->out = p.out;
    a->src = p.src;
    a->index = p.index;
    if (a->src_index)
        a->src_rows = ROWS;
}

static void add_buffers(ptxgen_emulator *emu)
{
    const struct {
        const char *name;
        void *at;
        size_t bytes;
        unsigned flags;
    } buffers[] = {{"out", p.out, sizeof p.out, PTXGEN_EMULATOR_WRITABLE},
                   {"src", p.src, sizeof p.src, 0},
                   {"index", p.index, sizeof p.index, 0},
                   {"src_index", p.src_index, sizeof p.src_index, 0},
                   {"weight", p.weight, sizeof p.weight, 0},
                   {"workspace", p.workspace, sizeof p.workspace, PTXGEN_EMULATOR_WRITABLE},
                   {"record", &p.record, sizeof p.record, PTXGEN_EMULATOR_WRITABLE}};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        assert_int_equal(ptxgen_emulator_add_buffer(emu, buffers[i].name, buffers[i].at,
                                                    buffers[i].bytes, buffers[i].flags, NULL),
                         PTXGEN_OK);
}

static void run_launch(ptxgen_emulator_module *module, const pg_plan_head *head, pg_launch *l)
{
    ptxgen_emulator_entry *entry;
    void *pointers[PG_LAUNCH_MAX_ARGS], *record = &p.record;
    char name[2048];
    ptxgen_error err = {0};
    for (uint32_t i = 0; i < l->nargs; i++)
        pointers[i] = l->args[i].kind == PG_ARG_RECORD ? (void *)&record : (void *)&l->args[i].u64;
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                           .block = {l->block[0], l->block[1], l->block[2]},
                                           .dynamic_shared = l->shared_bytes,
                                           .args = pointers,
                                           .arg_count = l->nargs};
    snprintf(name, sizeof name, "%s%s%s", head->entry, head->parts ? "_" : "",
             head->parts ? head->parts[l->part] : "");
    if (ptxgen_emulator_find(module, name, &entry, &err) != PTXGEN_OK ||
        ptxgen_emulator_run(entry, &launch, &err) != PTXGEN_OK)
        fail_msg("%s, %s, seed %d: %s", p.params, name, (int)p.seed, err.message);
}

static ptxgen_kernel *load(ptxgen_emulator *emu, const char *family, const char *params,
                           ptxgen_emulator_module **module)
{
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error err = {0};
    if (ptxgen_emit(ctx, family, params, &k, &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    ptxgen_kernel_describe(k, &info);
    assert_int_equal(ptxgen_emulator_load(emu, info.ptx, info.ptx_size, NULL, module, &err),
                     PTXGEN_OK);
    return k;
}

/* All launches of a call; the emulator keeps its reports. */
static void run_call(ptxgen_emulator *emu)
{
    pg_call c;
    ptxgen_emulator_module *modules[2];
    ptxgen_kernel *kernels[2] = {load(emu, "scatter_add", p.params, &modules[0]),
                                 load(emu, "index_sort", "", &modules[1])};
    const pg_family *family = &pg_family_scatter_add;
    assert_int_equal(pg_fill_scatter_add(&p.a, &c, NULL), PTXGEN_OK);
    assert_int_equal(pg_problem_check_shapes(&c.problem, NULL), PTXGEN_OK);
    c.problem.key = kernels[0]->id.key;
    c.problem.plan = kernels[0]->plan;
    c.problem.helper_plan = kernels[1]->plan;
    c.problem.device = &device;
    const pg_sequence sequence = family->sequence(&c.problem);
    assert_true(sequence.workspace_bytes <= sizeof p.workspace);
    pg_step step = {.workspace = p.workspace};
    for (; step.number < sequence.launches; step.number++) {
        pg_launch l;
        l.part = 0;
        family->launch_step(&c.problem, &step, &l);
        run_launch(modules[l.helper], (const pg_plan_head *)kernels[l.helper]->plan, &l);
    }
    for (int i = 0; i < 2; i++) {
        ptxgen_emulator_unload(modules[i]);
        ptxgen_kernel_unref(kernels[i]);
    }
}

static void expect_no_reports(const ptxgen_emulator *emu)
{
    ptxgen_emulator_report r;
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++)
        if (r.kind != PTXGEN_EMULATOR_REPORT_UNNEEDED_FENCE)
            fail_msg("%s, seed %d: line %d (and %d): %s: %s %s", p.params, (int)p.seed, r.line,
                     r.other_line, ptxgen_emulator_report_name(r.kind), r.text, r.where);
}

/* seed 0: order=hw, several host threads, unchecked. */
static void run_seed(uint64_t seed)
{
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 3,
                                           .seed = seed,
                                           .check = seed != 0,
                                           .order = seed ? PTXGEN_EMULATOR_ORDER_ISA
                                                         : PTXGEN_EMULATOR_ORDER_HW};
    ptxgen_emulator *emu;
    p.seed = seed;
    fill();
    assert_int_equal(ptxgen_emulator_create(&config, &emu, NULL), PTXGEN_OK);
    add_buffers(emu);
    run_call(emu);
    expect_no_reports(emu);
    ptxgen_emulator_destroy(emu);
    if (p.rough)
        return;
    ptxgen_scatter_add_args want = p.a;
    want.out = p.want;
    assert_int_equal(ptxgen_scatter_add_oracle(&want, NULL), PTXGEN_OK);
    if (memcmp(p.out, p.want, sizeof p.out))
        fail_msg("%s, seed %d: wrong sums", p.params, (int)seed);
}

static void run(const char *params, int64_t n, int hot)
{
    p.params = params;
    p.hot = hot;
    p.a.n = n;
    for (uint64_t seed = 0; seed <= seeds; seed++)
        run_seed(seed);
}

static void vector_reductions(void **state)
{
    (void)state;
    p.a = (ptxgen_scatter_add_args){0};
    run("schedule=owner share=8 pieces=2", 16, 4);
    run("schedule=owner share=16 pieces=4", 160, 8);
    run("schedule=owner arch=sm_80 share=8 pieces=4", 36, 2);
}

static void rows_ahead(void **state)
{
    (void)state;
    p.a = (ptxgen_scatter_add_args){0};
    run("schedule=owner share=8 pieces=2 ahead=yes", 16, 1);
    run("schedule=owner share=16 pieces=4 ahead=yes", 160, 4);
    p.a = (ptxgen_scatter_add_args){.deterministic = true};
    run("schedule=owner exact=yes share=8 pieces=4 access=4 ahead=yes", 33, 2);
}

static void rows_of_any_alignment(void **state)
{
    (void)state;
    p.a = (ptxgen_scatter_add_args){0};
    run("schedule=owner shift=yes share=8 pieces=2", 33, 1);
    p.a = (ptxgen_scatter_add_args){.weight = p.weight, .src_index = p.src_index};
    run("schedule=owner shift=yes gather=yes weight=element share=8 pieces=4", 17, 3);
    p.a = (ptxgen_scatter_add_args){.deterministic = true};
    run("schedule=owner exact=yes shift=yes share=8 pieces=4", 45, 4);
    /* halves with gaps between rows: some by their only writer, some by several */
    p.a = (ptxgen_scatter_add_args){.dtype = PTXGEN_BF16, .out_stride = 45, .src_stride = 47};
    run("dtype=bf16 contig=no schedule=owner shift=yes share=8 pieces=4", 43, 0);
    run("dtype=bf16 contig=no schedule=owner shift=yes share=16 pieces=2", 38, 4);
}

/* Lanes whose block of out is not all of the row have columns that nothing loads: they are left as
 * partial sums with the others. */
static void absent_columns(void **state)
{
    static const struct {
        const char *params;
        ptxgen_dtype dtype;
        bool exact;
        int64_t n;
    } kinds[] = {
        {"dtype=f64 schedule=owner shift=yes", PTXGEN_F64, true, 5},
        {"dtype=f64 schedule=owner shift=yes reduce=max", PTXGEN_F64, true, 33},
        {"dtype=s64 schedule=owner shift=yes pieces=2", PTXGEN_S64, true, 35},
        {"dtype=f32 schedule=owner shift=yes exact=yes", PTXGEN_F32, true, 65},
        {"dtype=f32 schedule=owner shift=yes pieces=8", PTXGEN_F32, false, 131},
        {"dtype=bf16 schedule=owner shift=yes exact=yes", PTXGEN_BF16, true, 129},
        {"dtype=bf16 schedule=owner shift=yes pieces=8", PTXGEN_BF16, false, 43},
    };
    static const int64_t rows[] = {1028, 1380, 1500};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (p.above = 0; p.above < 4; p.above++) {
            p.a = (ptxgen_scatter_add_args){.dtype = kinds[i].dtype,
                                            .deterministic = kinds[i].exact,
                                            .rows = rows[p.above % 3]};
            if (strstr(kinds[i].params, "max"))
                p.a.reduce = PTXGEN_SCATTER_MAX;
            run(kinds[i].params, kinds[i].n, 8);
        }
    p.above = 0;
}

static void private_tables(void **state)
{
    (void)state;
    p.a = (ptxgen_scatter_add_args){0};
    run("schedule=private n=4 copies=thread", 4, 1);
    run("schedule=private n=3 copies=thread access=4", 3, 8);
    run("schedule=private n=4 copies=cta warps=1", 4, 0);
    run("schedule=private n=4 copies=cta warps=2 ctas=2", 4, 4);
    run("schedule=private n=1 copies=cta warps=2 access=4", 1, 4);
    run("schedule=private n=8 copies=cta warps=2", 8, 8);
    run("schedule=private n=5 copies=cta warps=3 access=4", 5, 1);
    run("schedule=private n=12 copies=cta warps=2", 12, 4);
    run("schedule=private n=16 copies=cta warps=1", 16, 8);
    run("schedule=private n=4 copies=cta warps=2 slices=2", 4, 4);
    run("schedule=private n=3 access=4 warps=1 ctas=2 slices=3", 3, 1);
    run("schedule=private n=16 warps=2 slices=16", 16, 0);
    p.a = (ptxgen_scatter_add_args){.dtype = PTXGEN_BF16};
    run("dtype=bf16 schedule=private n=3 copies=cta warps=2 access=2", 3, 4);
    run("dtype=bf16 schedule=private n=32 copies=cta warps=2", 32, 4);
    run("dtype=bf16 schedule=private n=1 warps=2 slices=3 access=2", 1, 1);
    run("dtype=bf16 schedule=private n=5 warps=2 slices=2 access=2", 5, 8);
    run("dtype=bf16 schedule=private n=18 copies=cta warps=2 access=4", 18, 0);
}

static void partial_sums(void **state)
{
    (void)state;
    p.a = (ptxgen_scatter_add_args){.deterministic = true};
    run("schedule=owner exact=yes share=8 pieces=4", 132, 4);
    run("schedule=owner exact=yes share=8 pieces=2", 8, 8);
    run("schedule=owner exact=yes share=8 pieces=4 access=4", 33, 1);
}

/* Whatever GPU the launches are made for, and in whatever order its threads run. */
static void the_same_bits_on_every_gpu(void **state)
{
    static float first[OUT_ROWS * MAX_N];
    static const int sms[] = {3, 1, 20, 132};
    (void)state;
    p.rough = true;
    for (int hot = 0; hot <= 8; hot += 4)
        for (size_t i = 0; i < sizeof sms / sizeof *sms; i++) {
            device.sm_count = sms[i];
            p.a = (ptxgen_scatter_add_args){.deterministic = true};
            run("schedule=owner exact=yes pieces=4", 132, hot);
            if (i == 0)
                memcpy(first, p.out, sizeof first);
            assert_memory_equal(first, p.out, sizeof first);
        }
    p.rough = false;
    device.sm_count = sms[0];
}

static void weights_and_gathering(void **state)
{
    (void)state;
    p.a = (ptxgen_scatter_add_args){.weight = p.weight, .src_index = p.src_index};
    run("schedule=owner share=8 pieces=4 gather=yes weight=element", 24, 3);
    run("schedule=owner share=8 pieces=4 gather=yes weight=element exact=yes access=8", 6, 3);
}

static void minimum(void **state)
{
    (void)state;
    p.a = (ptxgen_scatter_add_args){.reduce = PTXGEN_SCATTER_MIN};
    run("schedule=owner share=8 reduce=min access=4", 5, 4);
}

int main(int argc, char **argv)
{
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    if (argc > 1 && atoi(argv[1]) > 0)
        seeds = (unsigned)atoi(argv[1]);
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_reductions),
        cmocka_unit_test(rows_ahead),
        cmocka_unit_test(rows_of_any_alignment),
        cmocka_unit_test(absent_columns),
        cmocka_unit_test(private_tables),
        cmocka_unit_test(partial_sums),
        cmocka_unit_test(the_same_bits_on_every_gpu),
        cmocka_unit_test(weights_and_gathering),
        cmocka_unit_test(minimum),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
