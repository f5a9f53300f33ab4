/* Block-scaled results on the emulator, judged by the formats' own definition: every element times
 * its block's scale is the sum rounded to the element's type, the scale is the least that fits, all
 * padding is 0; and what one kernel stored is what matmul_scaled reads. */
#include "test.h"

#include "common/small_floats.h"
#include "ptxgen/matmul.h"
#include "ptxgen/ptxgen.h"

#include <math.h>

enum { MAX_OPERANDS = 32 };

static ptxgen *ctx;

typedef struct format {
    const char *name;
    ptxgen_dtype elements, scales;
    int block;
    double most;
} format;

static const format formats[] = {{"mxfp8", PTXGEN_E4M3, PTXGEN_UE8M0, 32, 448},
                                 {"mxfp4", PTXGEN_E2M1, PTXGEN_UE8M0, 32, 6},
                                 {"nvfp4", PTXGEN_E2M1, PTXGEN_E4M3, 16, 6}};

/* ---- calls ---- */

typedef struct call {
    const char *family;
    ptxgen_tensor tensors[MAX_OPERANDS];
    int64_t shapes[MAX_OPERANDS][2];
    size_t count;
} call;

static size_t place_of(const call *c, const char *name)
{
    ptxgen_operand_info info = {.size = sizeof info};
    size_t family = 0;
    while (strcmp(ptxgen_family_name(family), c->family) != 0)
        family++;
    for (size_t i = 0; ptxgen_family_operand(family, i, &info); i++)
        if (strcmp(info.name, name) == 0)
            return i;
    fail_msg("%s has no operand %s", c->family, name);
    return 0;
}

/* Adds an operand on the device (the host's memory), all bytes 0xA5. */
static uint8_t *add(call *c, const char *name, ptxgen_dtype dtype, int64_t rows, int64_t columns)
{
    ptxgen_error err = {0};
    const size_t i = place_of(c, name),
                 bytes = (size_t)(rows * columns) * (size_t)ptxgen_dtype_bits(dtype) / 8;
    void *p;
    assert_int_equal(ptxgen_device_alloc(ctx, bytes, &p, &err), PTXGEN_OK);
    memset(p, 0xA5, bytes);
    c->shapes[i][0] = rows > 0 && strstr(name, "scales") ? columns : rows;
    c->shapes[i][1] = columns;
    c->tensors[i] = (ptxgen_tensor){p, dtype, strstr(name, "scales") ? 1 : 2, c->shapes[i], NULL};
    c->count = i >= c->count ? i + 1 : c->count;
    return p;
}

static void run(call *c, const char *params)
{
    ptxgen_error err = {0};
    if (ptxgen_call(ctx, c->family, params, c->tensors, c->count, NULL, &err) != PTXGEN_OK)
        fail_msg("%s %s: %s", c->family, params, err.message);
}

static void release(call *c)
{
    for (size_t i = 0; i < c->count; i++)
        ptxgen_device_free(ctx, c->tensors[i].data);
}

/* ---- what it must be ---- */

static int64_t packed_place(int64_t row, int64_t block, int64_t blocks)
{
    return ((row / 128 * ((blocks + 3) / 4) + block / 4) * 32 + row % 32) * 16 +
           row % 128 / 32 * 4 + block % 4;
}

static double element(const format *f, const uint8_t *d, int64_t i)
{
    return f->elements == PTXGEN_E4M3 ? pg_e4m3_to_double(d[i])
                                      : pg_e2m1_to_double((uint8_t)(d[i / 2] >> (i % 2 * 4)));
}

static double scale(const format *f, uint8_t byte)
{
    return f->scales == PTXGEN_UE8M0 ? pg_e8m0_to_double(byte) : pg_e4m3_to_double(byte);
}

/* Half the distance of the element's type at v. */
static double half_step(const format *f, double v)
{
    const double size = fabs(v);
    if (f->elements == PTXGEN_E4M3)
        return size < 0x1p-6 ? 0x1p-10 : ldexp(1, ilogb(size) - 4);
    return size < 2 ? 0.25 : size < 4 ? 0.5 : 1;
}

static void check_block(const format *f, const double *want, const uint8_t *d, int64_t first,
                        double s)
{
    double largest = 0;
    for (int k = 0; k < f->block; k++)
        largest = fmax(largest, fabs(want[k]));
    if (f->scales == PTXGEN_UE8M0 && largest > 0)
        assert_true(largest / s <= f->most && largest / (s / 2) > f->most);
    if (f->scales == PTXGEN_E4M3) { /* rounded; 448 is the largest */
        const double exact = fmin(largest / 6, 448);
        assert_true(fabs(s - exact) <= fmax(0x1p-10, exact / 16));
    }
    for (int k = 0; k < f->block && s > 0; k++) {
        const double v = want[k] / s, got = element(f, d, first + k);
        if (fabs(got - fmax(-f->most, fmin(f->most, v))) > half_step(f, v) * (1 + 1e-5))
            fail_msg("%s: element %lld is %g, not %g", f->name, (long long)(first + k), got, v);
    }
}

/* `want` [m, n] before rounding. */
static void check(const format *f, const double *want, int64_t m, int64_t n, const uint8_t *d,
                  const uint8_t *scales)
{
    const int64_t blocks = n / f->block, rows = (m + 127) / 128 * 128, words = (blocks + 3) / 4;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t b = 0; b < 4 * words; b++) {
            const uint8_t byte = scales[packed_place(i, b, blocks)];
            if (i >= m || b >= blocks)
                assert_int_equal(byte, 0);
            else
                check_block(f, want + i * n + b * f->block, d, i * n + b * f->block,
                            scale(f, byte));
        }
}

/* ---- matmul_accumulate ---- */

static uint16_t bf16(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static uint32_t next(void)
{
    static uint32_t state = 77;
    state = state * 1664525u + 1013904223u;
    return state >> 16;
}

/* Whole numbers from -3 to 3, times a power of two for each row. */
static void fill(uint16_t *p, double *values, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows * columns; i++) {
        values[i] = ldexp((double)(next() % 7) - 3, (int)(i / columns % 9) - 4);
        p[i] = bf16((float)values[i]);
    }
}

typedef struct sizes {
    int64_t m, n, k;
    const char *params;
    bool gate;
} sizes;

static void run_accumulate(const format *f, const sizes *z)
{
    call c = {.family = "matmul_accumulate"};
    const int64_t columns = z->gate ? z->n / 2 : z->n;
    double *a = malloc((size_t)(z->m * z->k) * 8), *b = malloc((size_t)(z->k * z->n) * 8),
           *want = calloc((size_t)(z->m * z->n), 8);
    fill((uint16_t *)(void *)add(&c, "a", PTXGEN_BF16, z->m, z->k), a, z->m, z->k);
    fill((uint16_t *)(void *)add(&c, "b", PTXGEN_BF16, z->k, z->n), b, z->k, z->n);
    const uint8_t *d = add(&c, "d", f->elements, z->m, columns);
    const uint8_t *scales =
        add(&c, "d_scales", f->scales, 1,
            ptxgen_packed_scales_bytes(z->m, (columns + f->block - 1) / f->block));
    run(&c, z->params);
    for (int64_t i = 0; i < z->m; i++)
        for (int64_t j = 0; j < z->n; j++)
            for (int64_t k = 0; k < z->k; k++)
                want[i * z->n + j] += a[i * z->k + k] * b[k * z->n + j];
    for (int64_t i = 0; z->gate && i < z->m * columns; i++)
        want[i] = fmax(want[2 * i], 0) * want[2 * i + 1];
    check(f, want, z->m, columns, d, scales);
    release(&c);
    free(a);
    free(b);
    free(want);
}

static void of_matmul_accumulate(void **state)
{
    (void)state;
    static const sizes all[] = {
        {130, 96, 40, "arch=sm_100a", false},
        {77, 32, 24, "arch=sm_100a block_n=64", false},
        {200, 224, 64, "arch=sm_100a block_n=128 ctas=2", false},
        {33, 160, 512, "arch=sm_100a block_n=256", false},
        {129, 64, 24, "arch=sm_100a epilogue=relu gate=yes", true},
        {40, 192, 40, "arch=sm_100a block_n=256 epilogue=relu gate=yes", true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
            run_accumulate(&formats[k], &all[i]);
}

/* ---- one kernel's result as the next one's operand ---- */

static void feeds_matmul_scaled(void **state)
{
    (void)state;
    enum { M = 100, N = 128, K = 48, COLUMNS = 128 };
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const format *f = &formats[k];
        call first = {.family = "matmul_accumulate"}, second = {.family = "matmul_scaled"};
        double a[M * K], b[K * N];
        const int64_t bytes = ptxgen_packed_scales_bytes(M, N / f->block),
                      b_bytes = ptxgen_packed_scales_bytes(COLUMNS, N / f->block);
        fill((uint16_t *)(void *)add(&first, "a", PTXGEN_BF16, M, K), a, M, K);
        fill((uint16_t *)(void *)add(&first, "b", PTXGEN_BF16, K, N), b, K, N);
        uint8_t *d = add(&first, "d", f->elements, M, N);
        uint8_t *scales = add(&first, "d_scales", f->scales, 1, bytes);
        run(&first, "arch=sm_100a");
        memcpy(add(&second, "a", f->elements, M, N), d,
               (size_t)(M * N * f->block) / (size_t)f->block *
                   (size_t)ptxgen_dtype_bits(f->elements) / 8);
        memcpy(add(&second, "a_scales", f->scales, 1, bytes), scales, (size_t)bytes);
        uint8_t *identity = add(&second, "b", f->elements, COLUMNS, N);
        uint8_t *ones = add(&second, "b_scales", f->scales, 1, b_bytes);
        memset(identity, 0, (size_t)(COLUMNS * N) * (size_t)ptxgen_dtype_bits(f->elements) / 8);
        memset(ones, f->scales == PTXGEN_UE8M0 ? 127 : 0x38, (size_t)b_bytes);
        for (int64_t i = 0; i < N; i++) /* 1 on the diagonal */
            if (f->elements == PTXGEN_E4M3)
                identity[i * N + i] = 0x38;
            else
                identity[(i * N + i) / 2] = (uint8_t)(2 << (i % 2 * 4));
        const float *out = (const float *)(const void *)add(&second, "d", PTXGEN_F32, M, COLUMNS);
        run(&second, "arch=sm_100a");
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                const double s = scale(f, scales[packed_place(i, j / f->block, N / f->block)]);
                assert_true((double)out[i * COLUMNS + j] == s * element(f, d, i * N + j));
            }
        release(&first);
        release(&second);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"arch=sm_100a d_dtype=e2m1", "give d_scales"},
        {"arch=sm_100a d_dtype=f16 with_d_scales=ue8m0", "mxfp8 is e4m3 with ue8m0"},
        {"arch=sm_100a d_dtype=e4m3 with_d_scales=e4m3", "nvfp4 e2m1 with e4m3"},
        {"arch=sm_90a d_dtype=e4m3 with_d_scales=ue8m0", "kernels of sm_100a"},
        {"arch=sm_120a d_dtype=e2m1 with_d_scales=e4m3", "kernels of sm_100a"}};
    ptxgen_error err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[1024];
        assert_int_equal(
            ptxgen_canonical("matmul_accumulate", wrong[i][0], text, sizeof text, &err),
            PTXGEN_EUNSUPPORTED);
        if (!strstr(err.message, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.message);
    }
    call c = {.family = "matmul_accumulate"};
    add(&c, "a", PTXGEN_BF16, 16, 16);
    add(&c, "b", PTXGEN_BF16, 16, 48);
    add(&c, "d", PTXGEN_E4M3, 16, 48);
    add(&c, "d_scales", PTXGEN_UE8M0, 1, 512);
    assert_int_equal(ptxgen_call(ctx, c.family, "arch=sm_100a", c.tensors, c.count, NULL, &err),
                     PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "use a multiple of 32"));
    release(&c);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_matmul_accumulate),
                                       cmocka_unit_test(feeds_matmul_scaled),
                                       cmocka_unit_test(what_does_not_fit_is_refused)};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
