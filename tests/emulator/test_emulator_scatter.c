/* Our own scatter_add kernels on the emulator: right sums in both orders, with one and several host threads, and
 * not one report in checking mode. Values are small integers, so that every order of adding gives the same bits. */
#include "test.h"

#include "ptxgen/emulator.h"
#include "ptxgen/ptxgen.h"
#include "scatter_add/scatter_add.h"

enum { ROWS = 75, OUT_ROWS = 20, BLOCK_BYTES = 1 << 20 };

typedef struct problem {
    int64_t n;
    const char *schedule, *extra; /* as text; extra: further parameters */
    int64_t tile_bytes;           /* bulk */
    uint32_t block;
    float *out, *src;
    int64_t index[ROWS];
    uint64_t record[16];
    uint8_t map[128] __attribute__((aligned(128)));
} problem;

/* The value of a parameter by its name in the PTX; pointers stay valid as long as the problem. */
static uint64_t parameter(problem *p, const char *name)
{
    const pg_tile_shape tile =
        pg_scatter_add_tile_shape(p->n * 4, p->tile_bytes ? p->tile_bytes : p->n * 4);
    const ptxgen_grid grid =
        ptxgen_plan_grid(ROWS, p->n, ptxgen_chunk_elems_for(PTXGEN_F32, p->n), 4);
    const int64_t chunk = ptxgen_chunk_elems_for(PTXGEN_F32, p->n);
    const struct {
        const char *name;
        uint64_t value;
    } values[] = {
        {"out_", (uintptr_t)p->out},
        {"src_", (uintptr_t)p->src},
        {"index_", (uintptr_t)p->index},
        {"record_", (uintptr_t)p->record},
        {"rows_", ROWS},
        {"out_rows_", OUT_ROWS},
        {"out_stride_", (uint64_t)p->n * 4},
        {"src_stride_", (uint64_t)p->n * 4},
        {"row_bytes_", (uint64_t)p->n * 4},
        {"tile_rows_", (uint64_t)tile.rows},
        {"chunk_bytes_", (uint64_t)tile.chunk_bytes},
        {"chunks_per_cta_", (uint64_t)grid.chunks_per_cta},
        {"chunks_", (uint64_t)(p->tile_bytes ? tile.chunks : (p->n - 1) / chunk + 1)},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, name))
            return values[i].value;
    fail_msg("the kernel has a parameter that this test does not know: %s", name);
    return 0;
}

static void encode_map(problem *p)
{
    const ptxgen_emulator_tensor_map map = {
        .size = sizeof map,
        .data_type = 7,
        .rank = 2,
        .address = p->src,
        .dims = {(uint64_t)p->n, ROWS},
        .strides = {(uint64_t)p->n * 4},
        .box = {(uint32_t)ptxgen_chunk_elems_for(PTXGEN_F32, p->n), 1}};
    assert_int_equal(ptxgen_emulator_encode_tensor_map(&map, p->map, NULL), PTXGEN_OK);
}

static void fill(problem *p)
{
    for (int64_t i = 0; i < OUT_ROWS * p->n; i++)
        p->out[i] = (float)(i % 7);
    for (int64_t i = 0; i < ROWS * p->n; i++)
        p->src[i] = (float)(i % 13) - 6;
    for (int i = 0; i < ROWS; i++)
        p->index[i] = i * 7 % OUT_ROWS;
    memset(p->record, 0, sizeof p->record);
}

static void check_out(const problem *p)
{
    float *expected = malloc((size_t)(OUT_ROWS * p->n) * sizeof *expected);
    for (int64_t i = 0; i < OUT_ROWS * p->n; i++)
        expected[i] = (float)(i % 7);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < p->n; c++)
            expected[p->index[r] * p->n + c] += (float)((r * p->n + c) % 13) - 6;
    assert_memory_equal(expected, p->out, (size_t)(OUT_ROWS * p->n) * sizeof *expected);
    free(expected);
}

static void run_kernel(problem *p, const char *ptx, const ptxgen_emulator_config *config)
{
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    ptxgen_error err = {0};
    uint64_t values[32];
    void *args[32];
    size_t n = 0;
    ptxgen_emulator_param param;
    assert_int_equal(ptxgen_emulator_create(config, &emu, &err), PTXGEN_OK);
    const struct {
        const char *name;
        void *at;
        size_t bytes;
    } buffers[] = {{"out", p->out, (size_t)(OUT_ROWS * p->n) * 4},
                   {"src", p->src, (size_t)(ROWS * p->n) * 4},
                   {"index", p->index, sizeof p->index},
                   {"record", p->record, sizeof p->record}};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(ptxgen_emulator_add_buffer(emu, buffers[i].name, buffers[i].at,
                                                    buffers[i].bytes, PTXGEN_EMULATOR_WRITABLE,
                                                    &err),
                         PTXGEN_OK);
    if (ptxgen_emulator_load(emu, ptx, strlen(ptx), NULL, &module, &err) != PTXGEN_OK ||
        ptxgen_emulator_find(module, NULL, &entry, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    for (; ptxgen_emulator_entry_param(entry, n, &param); n++) {
        args[n] = param.is_array ? (void *)p->map : &values[n];
        if (!param.is_array)
            values[n] = parameter(p, param.name);
    }
    const ptxgen_grid grid =
        ptxgen_plan_grid(ROWS, p->n, ptxgen_chunk_elems_for(PTXGEN_F32, p->n), 4);
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {p->tile_bytes ? 3 : (uint32_t)grid.grid_x,
                                                    p->tile_bytes ? 1 : (uint32_t)grid.grid_y, 1},
                                           .block = {p->block, 1, 1},
                                           .args = args,
                                           .arg_count = n};
    fill(p);
    if (ptxgen_emulator_run(entry, &launch, &err) != PTXGEN_OK)
        fail_msg("%s n=%d: %s", p->schedule, (int)p->n, err.message);
    check_out(p);
    ptxgen_emulator_report r;
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++)
        if (r.kind != PTXGEN_EMULATOR_REPORT_UNNEEDED_FENCE)
            fail_msg("%s n=%d seed=%d: line %d: %s: %s %s", p->schedule, (int)p->n,
                     (int)config->seed, r.line, ptxgen_emulator_report_name(r.kind), r.text,
                     r.where);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

static void run_all(problem *p)
{
    ptxgen *ctx;
    ptxgen_kernel *kernel;
    ptxgen_error err = {0};
    char params[200];
    assert_int_equal(
        ptxgen_create(&(ptxgen_config){.size = sizeof(ptxgen_config), .cache_dir = ""}, &ctx, &err),
        PTXGEN_OK);
    snprintf(params, sizeof params, "dtype=f32 n=%d schedule=%s %s", (int)p->n, p->schedule,
             p->extra);
    if (ptxgen_emit(ctx, "scatter_add", params, &kernel, &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(kernel, &info);
    encode_map(p);
    for (unsigned threads = 1; threads <= 3; threads += 2)
        run_kernel(
            p, info.ptx,
            &(ptxgen_emulator_config){.size = sizeof(ptxgen_emulator_config), .threads = threads});
    for (uint64_t seed = 1; seed <= 10; seed++)
        run_kernel(p, info.ptx,
                   &(ptxgen_emulator_config){.size = sizeof(ptxgen_emulator_config),
                                             .seed = seed,
                                             .check = true,
                                             .order = PTXGEN_EMULATOR_ORDER_ISA});
    ptxgen_kernel_unref(kernel);
    ptxgen_destroy(ctx);
}

static void each_length(const char *schedule, const char *extra, int64_t tile, uint32_t block)
{
    static const int64_t lengths[] = {4, 36, 128, 300};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        problem *p = aligned_alloc(128, (sizeof *p + 127) / 128 * 128);
        memset(p, 0, sizeof *p);
        p->n = lengths[i];
        p->schedule = schedule;
        p->extra = extra;
        p->tile_bytes = tile;
        p->block = block;
        p->out = aligned_alloc(128, BLOCK_BYTES);
        p->src = aligned_alloc(128, BLOCK_BYTES);
        run_all(p);
        free(p->out);
        free(p->src);
        free(p);
    }
}

static void seed_schedule(void **state)
{
    (void)state;
    each_length("seed", "", 0, 32);
}

static void bulk_schedule(void **state)
{
    (void)state;
    each_length("bulk", "tile=1024 stages=4 warps=4 ctas=2", 1024, 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seed_schedule),
                                       cmocka_unit_test(bulk_schedule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
