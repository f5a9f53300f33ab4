/* PTX that Triton writes for sm_100a (tests/emulator/triton/kernels.py, compiled at test time)
 * runs right on the emulator: in order, over seeds of order=isa, and in checking mode without a
 * report but two, in which the checker is right: Triton (3.9) writes no tcgen05.fence, and may
 * use registers of a tcgen05.ld before its tcgen05.wait::ld. Skipped where python3 has no triton
 * package; PTXGEN_TRITON_PYTHON names another interpreter. */
#include "matmul_case.h"
#include "scaled_case.h"

#include "base/half.h"
#include "ptxgen/emulator.h"

#include <math.h>

enum { MAX_TEXT = 1 << 20, MAX_ARGS = 24, COMMAND = 4096, TILE = 128 };

typedef struct compiled {
    char text[MAX_TEXT];
    size_t length;
    size_t shared;
} compiled;

static const char *python(void)
{
    const char *named = getenv("PTXGEN_TRITON_PYTHON");
    return named ? named : "python3";
}

static bool has_triton(void)
{
    char command[COMMAND];
    snprintf(command, sizeof command, "%s -c 'import triton.experimental.gluon' 2>/dev/null",
             python());
    return system(command) == 0;
}

/* Static: a megabyte. Skips the test when Triton is too old for the kernel. */
static const compiled *compile(const char *name)
{
    static compiled c;
    char command[COMMAND];
    snprintf(command, sizeof command,
             "%s " PTXGEN_SOURCE_DIR "/tests/emulator/triton/kernels.py %s", python(), name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    const int fields = fscanf(pipe, "%zu", &c.shared);
    c.length = fread(c.text, 1, sizeof c.text, pipe);
    const int status = pclose(pipe);
    if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED)
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(fields, 1);
    assert_true(c.length > 1000 && c.length < sizeof c.text);
    return &c;
}

/* Arguments in the order of the parameters. Triton adds two pointers to scratch memory that
 * these do not use. */
typedef struct arguments {
    _Alignas(64) uint8_t maps[3][128];
    uint64_t value[MAX_ARGS];
    void *at[MAX_ARGS];
    size_t count, map_count;
} arguments;

static void add(arguments *a, uint64_t value)
{
    a->value[a->count] = value;
    a->at[a->count] = &a->value[a->count];
    a->count++;
}

static void add_pointer(arguments *a, const void *p)
{
    add(a, (uintptr_t)p);
}

/* A tensor descriptor: the map, then sizes and strides, outermost first. */
static void add_descriptor(arguments *a, const ptxgen_emulator_tensor_map *map)
{
    ptxgen_error err = {0};
    uint8_t *bytes = a->maps[a->map_count++];
    if (ptxgen_emulator_encode_tensor_map(map, bytes, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    a->at[a->count++] = bytes;
    add(a, map->dims[1]);
    add(a, map->dims[0]);
    add(a, map->strides[0]);
    add(a, 1);
}

typedef struct range {
    void *address;
    size_t bytes;
} range;

/* One run. */
typedef struct job {
    const compiled *kernel;
    arguments *args;
    const range *buffers;
    size_t buffer_count;
    uint32_t grid[2];
} job;

static uint32_t tiles(int64_t extent, int64_t tile)
{
    return (uint32_t)((extent + tile - 1) / tile);
}

static void run(const job *j, uint64_t seed, bool check)
{
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 1,
                                           .order = seed ? PTXGEN_EMULATOR_ORDER_ISA
                                                         : PTXGEN_EMULATOR_ORDER_HW,
                                           .seed = seed,
                                           .check = check};
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {j->grid[0], j->grid[1], 1},
                                           .block = {128, 1, 1},
                                           .dynamic_shared = j->kernel->shared,
                                           .args = j->args->at,
                                           .arg_count = j->args->count};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module = NULL;
    ptxgen_emulator_entry *entry;
    ptxgen_emulator_report r;
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    for (size_t i = 0; i < j->buffer_count; i++)
        ptxgen_emulator_add_buffer(emu, "buffer", j->buffers[i].address, j->buffers[i].bytes,
                                   PTXGEN_EMULATOR_WRITABLE, &err);
    if (ptxgen_emulator_load(emu, j->kernel->text, j->kernel->length, NULL, &module, &err) !=
            PTXGEN_OK ||
        ptxgen_emulator_find(module, NULL, &entry, &err) != PTXGEN_OK ||
        ptxgen_emulator_run(entry, &launch, &err) != PTXGEN_OK)
        fail_msg("seed %d: %s", (int)seed, err.message);
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++)
        if (ptxgen_emulator_report_class_of(r.kind) == PTXGEN_EMULATOR_UNDEFINED)
            fail_msg("line %d: %s", r.line, r.text);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

/* In order, in two other orders, checked in a third. */
enum { RUNS = 4 };
static void run_once(const job *j, int i)
{
    run(j, (uint64_t)i, i == RUNS - 1);
}

/* ---- D = A @ B (+ C) ---- */

static void run_matmul(job *j, matmul_data *x, int64_t block_m)
{
    const range buffers[] = {
        {x->a, x->a_bytes}, {x->b, x->b_bytes}, {x->c, x->c_bytes}, {x->d, x->d_bytes}};
    j->buffers = buffers;
    j->buffer_count = 4;
    j->grid[0] = tiles(x->args.m, block_m);
    j->grid[1] = tiles(x->args.n, TILE);
    add_pointer(j->args, NULL);
    add_pointer(j->args, NULL);
    for (int i = 0; i < RUNS; i++) {
        memset(x->d, 0, x->d_bytes);
        run_once(j, i);
        matmul_case_compare(x, x->d);
    }
    matmul_case_free(x);
}

static const matmul_case problem = {.m = 256, .n = 128, .k = 320};

static void run_through_pointers(const char *name, int64_t block_m)
{
    matmul_data x;
    arguments args = {.count = 0};
    matmul_case_make(&problem, &x);
    memset(x.c, 0, x.c_bytes); /* the kernel adds nothing */
    x.args.d = x.want;
    assert_int_equal(ptxgen_matmul_accumulate_oracle(&x.args, NULL), PTXGEN_OK);
    add_pointer(&args, x.a);
    add_pointer(&args, x.b);
    add_pointer(&args, x.d);
    add(&args, (uint64_t)x.args.k);
    add(&args, (uint64_t)x.args.a_stride);
    add(&args, (uint64_t)x.args.b_stride);
    add(&args, (uint64_t)x.args.d_stride);
    job j = {.kernel = compile(name), .args = &args};
    run_matmul(&j, &x, block_m);
}

static void matmul_through_pointers(void **state)
{
    (void)state;
    run_through_pointers("matmul", TILE);
    run_through_pointers("matmul64", TILE / 2); /* D in half of the lanes */
}

/* A box is as wide as the 128-byte swizzle. */
static ptxgen_emulator_tensor_map map_of(void *address, int64_t rows, int64_t columns,
                                         uint32_t box_rows, bool f32)
{
    enum { F16 = 6, F32 = 7, SWIZZLE_128B = 3, SPAN = 128 };
    const uint32_t bytes = f32 ? 4 : 2;
    return (ptxgen_emulator_tensor_map){.size = sizeof(ptxgen_emulator_tensor_map),
                                        .data_type = f32 ? F32 : F16,
                                        .rank = 2,
                                        .address = address,
                                        .dims = {(uint64_t)columns, (uint64_t)rows},
                                        .strides = {(uint64_t)columns * bytes},
                                        .box = {SPAN / bytes, box_rows},
                                        .swizzle = SWIZZLE_128B};
}

static void run_gluon(const char *name)
{
    matmul_data x;
    arguments args = {.count = 0};
    matmul_case_make(&problem, &x);
    const ptxgen_emulator_tensor_map a = map_of(x.a, problem.m, problem.k, TILE, false),
                                     b = map_of(x.b, problem.k, problem.n, 64, false),
                                     c = map_of(x.c, problem.m, problem.n, TILE, true);
    add_descriptor(&args, &a);
    add_descriptor(&args, &b);
    add_descriptor(&args, &c);
    add_pointer(&args, x.d);
    add(&args, (uint64_t)x.args.k);
    add(&args, (uint64_t)x.args.d_stride);
    job j = {.kernel = compile(name), .args = &args};
    run_matmul(&j, &x, TILE);
}

static void gluon_accumulates_on_a_copy_of_c(void **state)
{
    (void)state;
    run_gluon("accumulate");
}

static void gluon_accumulates_in_a_pair_of_ctas(void **state)
{
    (void)state;
    run_gluon("pair");
}

/* ---- D = f16(A @ B) @ W ---- */

static void compare_chain(const matmul_data *x, const uint16_t *w, const float *got)
{
    const matmul_case *p = x->problem;
    for (int64_t row = 0; row < p->m; row++) {
        double half[TILE];
        for (int64_t i = 0; i < TILE; i++) /* exact in f32, then rounded */
            half[i] = pg_f16_to_double(
                pg_f16_from_double((double)((const float *)x->want)[row * x->args.d_stride + i]));
        for (int64_t column = 0; column < TILE; column++) {
            double want = 0;
            for (int64_t i = 0; i < TILE; i++)
                want += half[i] * pg_f16_to_double(w[i * TILE + column]);
            assert_true(fabs(want - (double)got[row * x->args.d_stride + column]) < 1e-3);
        }
    }
}

static void a_from_tensor_memory(void **state)
{
    (void)state;
    static const matmul_case first = {.m = 2 * TILE, .n = TILE, .k = 64};
    static uint16_t weights[TILE * TILE];
    matmul_data x;
    arguments args = {.count = 0};
    matmul_case_make(&first, &x);
    memset(x.c, 0, x.c_bytes);
    x.args.d = x.want;
    assert_int_equal(ptxgen_matmul_accumulate_oracle(&x.args, NULL), PTXGEN_OK);
    for (int i = 0; i < TILE * TILE; i++)
        weights[i] = pg_f16_from_double((double)(i * 37 % 129 - 64) / 64);
    add_pointer(&args, x.a);
    add_pointer(&args, x.b);
    add_pointer(&args, weights);
    add_pointer(&args, x.d);
    add(&args, (uint64_t)x.args.a_stride);
    add(&args, (uint64_t)x.args.b_stride);
    add(&args, TILE);
    add(&args, (uint64_t)x.args.d_stride);
    add_pointer(&args, NULL);
    add_pointer(&args, NULL);
    const range buffers[] = {
        {x.a, x.a_bytes}, {x.b, x.b_bytes}, {weights, sizeof weights}, {x.d, x.d_bytes}};
    const job j = {compile("chain"), &args, buffers, 4, {2, 1}};
    for (int i = 0; i < RUNS; i++) {
        memset(x.d, 0, x.d_bytes);
        run_once(&j, i);
        compare_chain(&x, weights, x.d);
    }
    matmul_case_free(&x);
}

/* ---- block-scaled ---- */

static void run_scaled(const char *name, ptxgen_scaled_format format)
{
    const scaled_case c = {
        .a_format = format, .b_format = format, .out = PTXGEN_F32, .m = 256, .n = 128, .k = 384};
    const int64_t pack = format == PTXGEN_MXFP8 ? 1 : 2;
    scaled_data x;
    arguments args = {.count = 0};
    scaled_case_make(&c, &x);
    add_pointer(&args, x.a);
    add_pointer(&args, x.b);
    add_pointer(&args, x.a_plain);
    add_pointer(&args, x.b_plain);
    add_pointer(&args, x.d);
    add(&args, (uint64_t)c.k);
    add(&args, (uint64_t)(x.args.a_stride / pack));
    add(&args, (uint64_t)(x.args.b_stride / pack));
    add(&args, (uint64_t)x.args.d_stride);
    add(&args, (uint64_t)(c.k / ptxgen_scale_group(format)));
    add_pointer(&args, NULL);
    add_pointer(&args, NULL);
    const range buffers[] = {{x.a, x.a_bytes},
                             {x.b, x.b_bytes},
                             {x.a_plain, x.a_plain_bytes},
                             {x.b_plain, x.b_plain_bytes},
                             {x.d, x.d_bytes}};
    const job j = {compile(name), &args, buffers, 5, {2, 1}};
    for (int i = 0; i < RUNS; i++) {
        memset(x.d, 0, x.d_bytes);
        run_once(&j, i);
        scaled_case_compare(&x, x.args.m * x.args.d_stride);
    }
    scaled_case_free(&x);
}

static void block_scaled_kernels(void **state)
{
    (void)state;
    run_scaled("mxfp8", PTXGEN_MXFP8);
    run_scaled("mxfp4", PTXGEN_MXFP4);
    run_scaled("nvfp4", PTXGEN_NVFP4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_through_pointers),
        cmocka_unit_test(gluon_accumulates_on_a_copy_of_c),
        cmocka_unit_test(gluon_accumulates_in_a_pair_of_ctas),
        cmocka_unit_test(a_from_tensor_memory),
        cmocka_unit_test(block_scaled_kernels),
    };
    if (!has_triton()) {
        printf("skipped: %s has no triton package\n", python());
        return 77;
    }
    char cache[] = "/tmp/ptxgen-triton-XXXXXX", command[COMMAND];
    assert_non_null(mkdtemp(cache));
    setenv("TRITON_CACHE_DIR", cache, 1); /* nothing of what it writes is kept */
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return system(command) != 0 || failed;
}
