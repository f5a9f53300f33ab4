#include "matmul_case.h"

#include "base/half.h"
#include "common/elements.h"
#include "generate/dtype.h"

#include <math.h>

enum { GUARD = 0x7F };

const matmul_case matmul_cases[] = {
    {.m = 128, .n = 128, .k = 64, .tiling = {.block_n = 128}},
    {.m = 1, .n = 1, .k = 1, .tiling = {.block_n = 64}, .d_pad = 3},
    {.m = 17,
     .n = 129,
     .k = 127,
     .tiling = {.block_n = 64, .block_k = 32},
     .b_transposed = true,
     .d_pad = 1},
    {.m = 129, .n = 17, .k = 129, .tiling = {.block_n = 128, .stages = 2}, .bf16 = true},
    {.m = 200, .n = 300, .k = 100, .tiling = {.block_n = 128, .group_m = 1}, .in_place = true},
    {.m = 300, .n = 70, .k = 0, .tiling = {.block_n = 64}, .d_pad = 2},
    {.m = 256,
     .n = 256,
     .k = 96,
     .tiling = {.block_n = 256, .block_k = 32},
     .b_transposed = true,
     .bf16 = true,
     .in_place = true},
    {.m = 130, .n = 260, .k = 80, .tiling = {.block_n = 128, .swizzle = 32}, .d_pad = 4},
    {.m = 127,
     .n = 128,
     .k = 130,
     .tiling = {.block_n = 128, .block_k = 128, .swizzle = 64},
     .b_transposed = true},
    {.m = 300, .n = 200, .k = 70, .tiling = {.block_n = 128, .ctas = 2}, .d_pad = 5},
    {.m = 257,
     .n = 64,
     .k = 200,
     .tiling = {.block_n = 64, .block_k = 32, .ctas = 2},
     .b_transposed = true},
    {.m = 512,
     .n = 300,
     .k = 64,
     .tiling = {.block_n = 256, .ctas = 2, .group_m = 2},
     .in_place = true},
};
const size_t matmul_case_count = sizeof matmul_cases / sizeof *matmul_cases;

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

/* In [-1, 1], a multiple of 1/64: exact in f16 and bf16. */
static double random_value(void)
{
    return (double)((int64_t)(random_bits() % 129) - 64) / 64;
}

/* 0 stands for f32. */
static ptxgen_dtype type_of(ptxgen_dtype dtype)
{
    return dtype ? dtype : PTXGEN_F32;
}

static int bytes_of(ptxgen_dtype dtype)
{
    return ptxgen_dtype_bits(type_of(dtype)) / 8;
}

static double element(const void *p, ptxgen_dtype dtype, int64_t i)
{
    return pg_element(&(pg_view){.data = (void *)(uintptr_t)p, .dtype = type_of(dtype)}, i);
}

static void set_element(void *p, ptxgen_dtype dtype, int64_t i, double v)
{
    pg_element_set(&(pg_view){.data = p, .dtype = type_of(dtype)}, i, v);
}

static int64_t padded(int64_t elements, int64_t unit)
{
    return (elements + unit - 1) / unit * unit;
}

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(256, (size_t)padded((int64_t)bytes + 1, 256));
    assert_non_null(p);
    return memset(p, GUARD, bytes);
}

static uint16_t *random_operand(bool bf16, size_t bytes)
{
    uint16_t *p = allocate(bytes);
    for (size_t i = 0; i < bytes / 2; i++)
        p[i] = bf16 ? pg_bf16_from_double(random_value()) : pg_f16_from_double(random_value());
    return p;
}

void matmul_case_params(const matmul_case *problem, const char *arch, char *text, size_t size)
{
    const bool scales = problem->alpha != 0 || problem->beta != 0;
    snprintf(text, size, "arch=%s dtype=%s a=%s b=%s c=%s c_dtype=%s d_dtype=%s scale=%s %s", arch,
             problem->bf16 ? "bf16" : "f16", problem->a_transposed ? "transposed" : "row_major",
             problem->b_transposed ? "transposed" : "row_major", problem->no_c ? "none" : "add",
             ptxgen_dtype_name(type_of(problem->c_dtype)),
             ptxgen_dtype_name(type_of(problem->d_dtype)), scales ? "alpha_beta" : "none",
             problem->params);
}

void matmul_case_make(const matmul_case *p, matmul_data *x)
{
    const int64_t b_rows = p->b_transposed ? p->n : p->k, b_columns = p->b_transposed ? p->k : p->n;
    const int64_t a_rows = p->a_transposed ? p->k : p->m, a_columns = p->a_transposed ? p->m : p->k;
    const int64_t a_stride = padded(a_columns ? a_columns : 1, 8) + p->ab_pad,
                  b_stride = padded(b_columns ? b_columns : 1, 8) + p->ab_pad;
    const int late = p->ab_pad;
    const int64_t c_stride = padded(p->n, 4) + p->c_pad,
                  d_stride = p->in_place ? c_stride : p->n + p->d_pad;
    *x = (matmul_data){.problem = p,
                       .a_bytes = (size_t)(a_rows * a_stride + late) * 2,
                       .b_bytes = (size_t)(b_rows * b_stride + late) * 2,
                       .c_bytes = (size_t)(p->m * c_stride * bytes_of(p->c_dtype)),
                       .d_bytes = (size_t)(p->m * d_stride * bytes_of(p->d_dtype))};
    x->a = random_operand(p->bf16, x->a_bytes);
    x->b = random_operand(p->bf16, x->b_bytes);
    x->c = allocate(x->c_bytes);
    x->d = allocate(x->d_bytes);
    x->want = allocate(x->d_bytes);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            set_element(x->c, p->c_dtype, i * c_stride + j, random_value());
    x->args = (ptxgen_matmul_accumulate_args){.size = sizeof x->args,
                                              .dtype = p->bf16 ? PTXGEN_BF16 : PTXGEN_F16,
                                              .a_transposed = p->a_transposed,
                                              .b_transposed = p->b_transposed,
                                              .params = p->params,
                                              .m = p->m,
                                              .n = p->n,
                                              .k = p->k,
                                              .a = x->a + late,
                                              .b = x->b + late,
                                              .c = p->no_c ? NULL : x->c,
                                              .d = x->want,
                                              .a_stride = a_stride,
                                              .b_stride = b_stride,
                                              .c_stride = c_stride,
                                              .d_stride = d_stride,
                                              .tiling = p->tiling,
                                              .c_dtype = p->c_dtype,
                                              .d_dtype = p->d_dtype};
    if (p->alpha != 0 || p->beta != 0)
        x->args.alpha = &p->alpha, x->args.beta = &p->beta;
    if (p->sample) {
        x->c_before = allocate(x->c_bytes);
        memcpy(x->c_before, x->c, x->c_bytes);
    } else {
        assert_int_equal(ptxgen_matmul_accumulate_oracle(&x->args, NULL), PTXGEN_OK);
    }
    x->args.d = p->in_place ? x->c : x->d;
}

static bool is_guard(const matmul_data *x, int64_t i)
{
    return i % x->args.d_stride >= x->problem->n;
}

static double product(const matmul_data *x, int64_t row, int64_t column)
{
    const matmul_case *p = x->problem;
    double (*const value)(uint16_t) = p->bf16 ? pg_bf16_to_double : pg_f16_to_double;
    const int64_t along_k = p->b_transposed ? 1 : x->args.b_stride,
                  along_n = p->b_transposed ? x->args.b_stride : 1;
    const int64_t a_along_k = p->a_transposed ? x->args.a_stride : 1,
                  along_m = p->a_transposed ? 1 : x->args.a_stride;
    const uint16_t *a = x->a + p->ab_pad, *b = x->b + p->ab_pad;
    double sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum += value(a[row * along_m + k * a_along_k]) * value(b[k * along_k + column * along_n]);
    return sum;
}

static double alpha(const matmul_case *p)
{
    return p->alpha != 0 || p->beta != 0 ? (double)p->alpha : 1;
}

static double beta(const matmul_case *p)
{
    return p->alpha != 0 || p->beta != 0 ? (double)p->beta : 1;
}

/* What element i of D should be. */
static double wanted(const matmul_data *x, int64_t i)
{
    const int64_t row = i / x->args.d_stride, column = i % x->args.d_stride;
    if (!x->c_before)
        return element(x->want, x->problem->d_dtype, i);
    const matmul_case *p = x->problem;
    const double c =
        p->no_c ? 0 : element(x->c_before, p->c_dtype, row * x->args.c_stride + column);
    return beta(p) * c + alpha(p) * product(x, row, column);
}

/* Sums of K + 1 terms below 1 in magnitude (the first one below beta / alpha), rounded (toward
 * zero) once for each 16 of K, then twice by the factors, then to D's type. */
static double bound_of(const matmul_case *p, double want)
{
    const double a = fabs(alpha(p)), b = fabs(beta(p));
    const double sums = (double)(p->k / 16 + 2) * (double)(p->k + 1) * 0x1p-23;
    /* both are rounded */
    const double rounding = type_of(p->d_dtype) == PTXGEN_F32 ? 0 : pg_dtype_step(p->d_dtype);
    return a * sums + b * (double)(p->k / 16 + 4) * 0x1p-23 + fabs(want) * rounding;
}

static void compare_one(const matmul_data *x, const void *got, int64_t i)
{
    const matmul_case *p = x->problem;
    const int bytes = bytes_of(p->d_dtype);
    unsigned char untouched[4];
    memset(untouched, GUARD, sizeof untouched);
    const double value = element(got, p->d_dtype, i);
    const double want = is_guard(x, i) ? (double)NAN : wanted(x, i);
    const bool right = is_guard(x, i)
                           ? memcmp((const char *)got + i * bytes, untouched, (size_t)bytes) == 0
                           : fabs(value - want) <= bound_of(p, want);
    if (!right)
        fail_msg("m=%lld n=%lld k=%lld %s: D[%lld, %lld] is %g, not %g", (long long)p->m,
                 (long long)p->n, (long long)p->k, p->params ? p->params : "",
                 (long long)(i / x->args.d_stride), (long long)(i % x->args.d_stride), value, want);
}

void matmul_case_compare(const matmul_data *x, const void *got)
{
    const matmul_case *p = x->problem;
    const int64_t stride = x->args.d_stride, count = p->m * stride;
    if (!p->sample || p->sample >= count) {
        for (int64_t i = 0; i < count; i++)
            compare_one(x, got, i);
        return;
    }
    for (int64_t i = 0; i < p->sample; i++)
        compare_one(x, got, (int64_t)(random_bits() % (uint64_t)count));
    for (int64_t i = count - stride; i < count; i++) /* the last row in full */
        compare_one(x, got, i);
}

void matmul_case_free(matmul_data *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->d);
    free(x->want);
    free(x->c_before);
}

static void must(ptxgen_status status, const ptxgen_error *err)
{
    if (status != PTXGEN_OK)
        fail_msg("%s", err->message);
}

static void *to_device(ptxgen *ctx, const void *host, size_t bytes)
{
    void *p;
    ptxgen_error err;
    must(ptxgen_device_alloc(ctx, bytes ? bytes : 16, &p, &err), &err);
    must(ptxgen_device_upload(ctx, p, host, bytes, &err), &err);
    return p;
}

/* A problem's arrays on the device, as arguments of a call. */
static ptxgen_matmul_accumulate_args upload(ptxgen *ctx, const matmul_data *x, void *memory[4])
{
    ptxgen_matmul_accumulate_args args = x->args;
    memory[0] = to_device(ctx, x->a, x->a_bytes);
    memory[1] = to_device(ctx, x->b, x->b_bytes);
    memory[2] = to_device(ctx, x->c, x->c_bytes);
    memory[3] = to_device(ctx, x->d, x->d_bytes);
    args.a = (uint16_t *)memory[0] + x->problem->ab_pad;
    args.b = (uint16_t *)memory[1] + x->problem->ab_pad;
    args.c = x->problem->no_c ? NULL : memory[2];
    args.d = x->problem->in_place ? memory[2] : memory[3];
    return args;
}

static void run_once(ptxgen *ctx, const ptxgen_matmul_accumulate_args *args, void *got,
                     size_t bytes)
{
    ptxgen_error err;
    must(ptxgen_matmul_accumulate(ctx, args, NULL, &err), &err);
    must(ptxgen_synchronize(ctx, NULL, &err), &err);
    must(ptxgen_device_download(ctx, got, args->d, bytes, &err), &err);
}

void matmul_case_run(ptxgen *ctx, const matmul_case *problem)
{
    matmul_case_repeat(ctx, problem, 1);
}

void matmul_case_repeat(ptxgen *ctx, const matmul_case *problem, int runs)
{
    matmul_data x;
    void *memory[4];
    matmul_case_make(problem, &x);
    const ptxgen_matmul_accumulate_args args = upload(ctx, &x, memory);
    run_once(ctx, &args, x.args.d, x.d_bytes);
    matmul_case_compare(&x, x.args.d);
    void *again = allocate(x.d_bytes);
    for (int i = 1; i < runs; i++) {
        run_once(ctx, &args, again, x.d_bytes);
        assert_memory_equal(x.args.d, again, x.d_bytes);
    }
    free(again);
    for (int i = 0; i < 4; i++)
        ptxgen_device_free(ctx, memory[i]);
    matmul_case_free(&x);
}
