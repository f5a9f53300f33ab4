/* Our own scatter_add kernels in checking mode: right sums and not one report, whatever order=isa
 * does with them; every schedule, element type, fixed and dynamic n, dense and padded rows. Values
 * are small integers, so that every order of adding gives the same bits.
 *
 *     test_emulator_scatter [SEEDS (2)] */
#include "test.h"
#include "typed_launch.h"

#include "api/context.h"
#include "device/record.h"
#include "base/half.h"
#include "ptxgen/emulator.h"
#include "scatter_add/scatter_add.h"

enum { ROWS = 75, OUT_ROWS = 20, PAD = 24, BLOCK_BYTES = 1 << 18, BAD = 33 };

static unsigned seeds = 2;

/* The parameters of a kernel, the device that its grid is made for, and row lengths. */
typedef struct schedule {
    const char *params;
    int multiprocessors;
    int64_t lengths[2]; /* 0: many rows a tile; several chunks a row */
    int64_t off;        /* halves that begin so many bytes off 16, out without gaps */
} schedule;
/* 75 rows of 5 or 3 chunks: two CTAs share a row's chunks, not evenly. */
static const schedule seed = {.params = "seed", .multiprocessors = 5};
/* Two warps in all, with tiles of 512 bytes: each goes round its two stages several times, with
 * short rows many lanes at once. */
static const schedule bulk = {.params = "bulk tile=512 stages=2 warps=2 ctas=1",
                              .multiprocessors = 1};
static const schedule vector = {.params = "vector warps=2 ctas=1 pieces=2 panel=256",
                                .multiprocessors = 3};
/* Reductions of a word each, and compare-and-swap for bf16. */
static const schedule ampere = {.params = "vector arch=sm_80 warps=2 ctas=1 pieces=2 panel=256",
                                .multiprocessors = 3};
static const schedule narrow = {.params = "vector access=8 warps=2 ctas=1 pieces=4 panel=128",
                                .multiprocessors = 3};
/* 8 of the 20 rows are kept by threads; of one piece, and of 46 or 23. */
static const schedule hot = {
    .params = "vector hot=yes warps=2 ctas=1 pieces=2", .multiprocessors = 3, .lengths = {8, 184}};
static const schedule halves = {
    .params = "vector access=2 warps=1 ctas=2", .multiprocessors = 3, .lengths = {1, 7}, .off = 2};
static const schedule even_halves = {
    .params = "vector access=2 warps=2 ctas=1", .multiprocessors = 3, .lengths = {2, 6}, .off = 2};
static const schedule words = {.params = "vector access=4 shift=yes warps=2 ctas=1",
                               .multiprocessors = 3,
                               .lengths = {6, 14},
                               .off = 4};
static const schedule hot_pairs = {.params = "vector access=8 shift=yes hot=yes warps=2 ctas=1",
                                   .multiprocessors = 3,
                                   .lengths = {12, 20},
                                   .off = 8};
static const schedule hot_halves = {.params = "vector access=2 hot=yes warps=2 ctas=1",
                                    .multiprocessors = 3,
                                    .lengths = {1, 10},
                                    .off = 2};

typedef struct problem {
    char params[160];
    ptxgen_scatter_add_args a;
    size_t out_bytes, src_bytes;
    void *out, *src, *expected;
    int64_t index[ROWS];
    int multiprocessors;
    bool has_bad; /* index[BAD] is out of range: skipped and recorded */
    _Alignas(16) pg_bad_index record;
} problem;

static void put(const problem *p, void *at, int64_t i, int value)
{
    if (p->a.dtype == PTXGEN_F32)
        ((float *)at)[i] = (float)value;
    else
        ((uint16_t *)at)[i] =
            p->a.dtype == PTXGEN_F16 ? pg_f16_from_double(value) : pg_bf16_from_double(value);
}

static int value_of_src(int64_t row, int64_t column)
{
    return (int)((row * 7 + column) % 5) - 2;
}

/* Inputs, and what must come out of them. */
static void fill(problem *p)
{
    const ptxgen_scatter_add_args *a = &p->a;
    memset(p->out, 0x5a, p->out_bytes);
    memset(p->src, 0x5a, p->src_bytes);
    memset(p->expected, 0x5a, p->out_bytes);
    for (int i = 0; i < ROWS; i++)
        p->index[i] = i * 7 % OUT_ROWS;
    if (p->has_bad)
        p->index[BAD] = OUT_ROWS;
    for (int64_t c = 0; c < a->n; c++) {
        int sum[OUT_ROWS];
        for (int64_t r = 0; r < OUT_ROWS; r++) {
            sum[r] = (int)((r + c) % 7);
            put(p, p->out, r * a->out_stride + c, sum[r]);
        }
        for (int64_t r = 0; r < ROWS; r++) {
            put(p, p->src, r * a->src_stride + c, value_of_src(r, c));
            if (p->index[r] < OUT_ROWS)
                sum[p->index[r]] += value_of_src(r, c);
        }
        for (int64_t r = 0; r < OUT_ROWS; r++)
            put(p, p->expected, r * a->out_stride + c, sum[r]);
    }
    p->record = PG_BAD_INDEX_EMPTY;
}

/* The kernel's arguments from a launch record. */
typedef struct arguments {
    _Alignas(128) uint8_t map[128];
    uint64_t record;
    void *pointers[PG_LAUNCH_MAX_ARGS];
} arguments;

static void make_arguments(problem *p, pg_launch *l, arguments *out)
{
    out->record = (uintptr_t)&p->record;
    for (uint32_t i = 0; i < l->nargs; i++) {
        pg_arg *arg = &l->args[i];
        out->pointers[i] = arg->kind == PG_ARG_RECORD   ? (void *)&out->record
                           : arg->kind == PG_ARG_TENSOR ? (void *)out->map
                                                        : (void *)&arg->u64;
        if (arg->kind != PG_ARG_TENSOR)
            continue;
        const pg_tensor_spec *t = &arg->tensor;
        const ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                                .data_type = (int)t->type,
                                                .rank = 2,
                                                .address = t->address,
                                                .dims = {t->dims[0], t->dims[1]},
                                                .strides = {t->strides[0]},
                                                .box = {t->box[0], t->box[1]}};
        assert_int_equal(ptxgen_emulator_encode_tensor_map(&map, out->map, NULL), PTXGEN_OK);
    }
}

static void add_buffers(ptxgen_emulator *emu, problem *p)
{
    const struct {
        const char *name;
        void *at;
        size_t bytes;
        unsigned flags;
    } buffers[] = {{"out", p->out, p->out_bytes, PTXGEN_EMULATOR_WRITABLE},
                   {"src", p->src, p->src_bytes, 0},
                   {"index", p->index, sizeof p->index, 0},
                   {"record", &p->record, sizeof p->record, PTXGEN_EMULATOR_WRITABLE}};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        assert_int_equal(ptxgen_emulator_add_buffer(emu, buffers[i].name, buffers[i].at,
                                                    buffers[i].bytes, buffers[i].flags, NULL),
                         PTXGEN_OK);
}

static void check_outcome(const problem *p, const ptxgen_emulator *emu, uint64_t order_seed)
{
    ptxgen_emulator_report r;
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++)
        if (ptxgen_emulator_report_class_of(r.kind) == PTXGEN_EMULATOR_UNDEFINED)
            fail_msg("%s seed=%d: line %d (and %d): %s: %s %s", p->params, (int)order_seed, r.line,
                     r.other_line, ptxgen_emulator_report_name(r.kind), r.text, r.where);
    if (memcmp(p->out, p->expected, p->out_bytes))
        fail_msg("%s seed=%d: wrong sums", p->params, (int)order_seed);
    assert_int_equal(p->record.position, p->has_bad ? (uint64_t)BAD : UINT64_MAX);
}

/* order_seed 0: order=hw, several host threads, unchecked. */
static void run_kernel(problem *p, const ptxgen_kernel *kernel, uint64_t order_seed)
{
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 3,
                                           .seed = order_seed,
                                           .check = order_seed != 0,
                                           .order = order_seed ? PTXGEN_EMULATOR_ORDER_ISA
                                                               : PTXGEN_EMULATOR_ORDER_HW};
    const ptxgen_device_info device = {.sm_count = p->multiprocessors, .l2_bytes = 4096};
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    ptxgen_error err = {0};
    arguments args;
    pg_launch l;
    fill(p);
    ptxgen_kernel_describe(kernel, &info);
    typed_launch("scatter_add", &p->a, kernel->plan, &device, &l);
    make_arguments(p, &l, &args);
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {l.grid[0], l.grid[1], l.grid[2]},
                                           .block = {l.block[0], l.block[1], l.block[2]},
                                           .dynamic_shared = l.shared_bytes,
                                           .args = args.pointers,
                                           .arg_count = l.nargs};
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    add_buffers(emu, p);
    if (ptxgen_emulator_load(emu, info.ptx, strlen(info.ptx), NULL, &module, &err) != PTXGEN_OK ||
        ptxgen_emulator_find(module, NULL, &entry, &err) != PTXGEN_OK ||
        ptxgen_emulator_run(entry, &launch, &err) != PTXGEN_OK)
        fail_msg("%s seed=%d: %s", p->params, (int)order_seed, err.message);
    check_outcome(p, emu, order_seed);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

static void run_seeds(ptxgen *ctx, problem *p)
{
    const size_t elem = p->a.dtype == PTXGEN_F32 ? 4 : 2;
    ptxgen_kernel *kernel;
    ptxgen_error err = {0};
    p->out_bytes = (size_t)(OUT_ROWS * p->a.out_stride) * elem;
    p->src_bytes = (size_t)(ROWS * p->a.src_stride) * elem;
    p->a.size = sizeof p->a;
    p->a.rows = ROWS;
    p->a.out_rows = OUT_ROWS;
    p->a.out = p->out;
    p->a.src = p->src;
    p->a.index = p->index;
    assert_true(p->out_bytes <= BLOCK_BYTES && p->src_bytes <= BLOCK_BYTES);
    if (ptxgen_emit(ctx, "scatter_add", p->params, &kernel, &err) != PTXGEN_OK)
        fail_msg("%s: %s", p->params, err.message);
    for (uint64_t s = 0; s <= seeds; s++)
        run_kernel(p, kernel, s);
    ptxgen_kernel_unref(kernel);
}

static void each_shape(ptxgen *ctx, problem *p, const char *dtype, const schedule *s)
{
    static const int64_t lengths[] = {8, 528};
    for (int i = 0; i < 8; i++) {
        const bool dynamic = i & 1, contig = i & 2;
        char n[24] = "dynamic";
        p->a.n = s->lengths[i / 4] ? s->lengths[i / 4] : lengths[i / 4];
        p->has_bad = i / 4;
        p->a.out_stride = p->a.n + (contig || s->off ? 0 : PAD);
        p->a.src_stride = p->a.n + (contig ? 0 : 2 * PAD);
        if (!dynamic)
            snprintf(n, sizeof n, "%d", (int)p->a.n);
        snprintf(p->params, sizeof p->params, "dtype=%s n=%s contig=%s schedule=%s", dtype, n,
                 contig ? "yes" : "no", s->params);
        run_seeds(ctx, p);
    }
}

static void run_schedule(const schedule *s)
{
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    ptxgen *ctx;
    problem p = {.out = aligned_alloc(128, BLOCK_BYTES),
                 .src = aligned_alloc(128, BLOCK_BYTES),
                 .expected = malloc(BLOCK_BYTES),
                 .multiprocessors = s->multiprocessors};
    assert_int_equal(ptxgen_create(&config, &ctx, NULL), PTXGEN_OK);
    char *const out = p.out, *const src = p.src;
    if (s->off) {
        p.out = out + s->off;
        p.src = src + s->off;
    }
    for (int d = s->off != 0; d < 3; d++) {
        p.a.dtype = (ptxgen_dtype)(PTXGEN_F32 + d);
        each_shape(ctx, &p, dtypes[d], s);
    }
    ptxgen_destroy(ctx);
    free(out);
    free(src);
    free(p.expected);
}

static void seed_schedule(void **state)
{
    (void)state;
    run_schedule(&seed);
}

static void bulk_schedule(void **state)
{
    (void)state;
    run_schedule(&bulk);
}

static void vector_schedule(void **state)
{
    (void)state;
    run_schedule(&vector);
}

static void before_sm_90(void **state)
{
    (void)state;
    run_schedule(&ampere);
}

static void narrow_reductions(void **state)
{
    (void)state;
    run_schedule(&narrow);
}

static void hot_rows(void **state)
{
    (void)state;
    run_schedule(&hot);
}

/* Blocks of out that hold units of two rows, or one that is not the call's. */
static void rows_at_any_unit(void **state)
{
    (void)state;
    run_schedule(&halves);
    run_schedule(&even_halves);
    run_schedule(&hot_halves);
    run_schedule(&words);
    run_schedule(&hot_pairs);
}

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        seeds = (unsigned)atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_schedule),     cmocka_unit_test(bulk_schedule),
        cmocka_unit_test(vector_schedule),   cmocka_unit_test(before_sm_90),
        cmocka_unit_test(narrow_reductions), cmocka_unit_test(hot_rows),
        cmocka_unit_test(rows_at_any_unit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
