/* matmul_accumulate run on the emulator: odd shapes, both layouts of B, row strides, K = 0, D in place, against the
 * plain C answer; guards around D; and in checking mode over seeds of order=isa without a report. */
#include "emulated_call.h"

#include "base/half.h"
#include "ptxgen/matmul.h"

#include <math.h>

static ptxgen *context;

static int open_context(void **state)
{
    (void)state;
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    return ptxgen_create(&config, &context, NULL) == PTXGEN_OK ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    ptxgen_destroy(context);
    return 0;
}

typedef struct problem {
    int64_t m, n, k;
    const char *tiling; /* parameters but dtype and b */
    bool b_transposed, bf16, in_place;
    int d_pad; /* extra elements in a row of D */
} problem;

static uint64_t random_state;

/* In [-1, 1], a multiple of 1/64: exact in f16 and bf16. */
static double random_value(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)((int64_t)(random_state >> 33) % 129 - 64) / 64;
}

static int64_t padded(int64_t elements, int64_t unit)
{
    return (elements + unit - 1) / unit * unit;
}

static void *aligned(size_t bytes)
{
    void *p = aligned_alloc(256, (size_t)padded((int64_t)bytes + 1, 256));
    assert_non_null(p);
    return p;
}

static uint16_t *random_operand(bool bf16, int64_t rows, int64_t stride)
{
    uint16_t *p = aligned((size_t)(rows * stride) * 2);
    for (int64_t i = 0; i < rows * stride; i++)
        p[i] = bf16 ? pg_bf16_from_double(random_value()) : pg_f16_from_double(random_value());
    return p;
}

enum { GUARD = 0x7F };

/* Sums of |k| + 1 terms below 1 in magnitude, one rounding (toward zero) each 16 of K. */
static void compare(const problem *p, const float *got, const float *want, int64_t stride)
{
    const double bound = (double)(p->k / 16 + 2) * ((double)p->k + 1) * 0x1p-23;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < stride; j++) {
            uint32_t bits;
            memcpy(&bits, &got[i * stride + j], 4);
            if (j >= p->n ? bits != 0x7F7F7F7F : !(fabs((double)got[i * stride + j] - (double)want[i * stride + j]) <= bound))
                fail_msg("%s: m=%lld n=%lld k=%lld: D[%lld, %lld] is %g, not %g", p->tiling, (long long)p->m,
                         (long long)p->n, (long long)p->k, (long long)i, (long long)j,
                         (double)got[i * stride + j], (double)want[i * stride + j]);
        }
}

static void run_problem(const problem *p, const char *arch, bool check, uint64_t seed)
{
    const int64_t a_stride = padded(p->k ? p->k : 8, 8), c_stride = padded(p->n, 4);
    const int64_t b_rows = p->b_transposed ? p->n : p->k, b_stride = padded(p->b_transposed ? p->k : p->n, 8);
    const int64_t d_stride = p->in_place ? c_stride : p->n + p->d_pad;
    const size_t a_bytes = (size_t)(p->m * a_stride) * 2, b_bytes = (size_t)(b_rows * b_stride) * 2;
    const size_t c_bytes = (size_t)(p->m * c_stride) * 4, d_bytes = (size_t)(p->m * d_stride) * 4;
    uint16_t *a = random_operand(p->bf16, p->m, a_stride), *b = random_operand(p->bf16, b_rows, b_stride);
    float *c = aligned(c_bytes), *d = aligned(d_bytes), *want = aligned(d_bytes);
    char params[200];
    memset(c, GUARD, c_bytes);
    memset(d, GUARD, d_bytes);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            c[i * c_stride + j] = (float)random_value();
    ptxgen_matmul_accumulate_args args = {.size = sizeof args, .dtype = p->bf16 ? PTXGEN_BF16 : PTXGEN_F16,
                                          .b_transposed = p->b_transposed, .m = p->m, .n = p->n, .k = p->k,
                                          .a = a, .b = b, .c = c, .d = want, .a_stride = a_stride,
                                          .b_stride = b_stride, .c_stride = c_stride, .d_stride = d_stride};
    assert_int_equal(ptxgen_matmul_accumulate_oracle(&args, NULL), PTXGEN_OK);
    args.d = p->in_place ? c : d;
    const emulated_buffer buffers[] = {{"a", a, a_bytes, false}, {"b", b, b_bytes, false},
                                       {"c", c, c_bytes, p->in_place}, {"d", d, d_bytes, true}};
    snprintf(params, sizeof params, "arch=%s dtype=%s b=%s %s", arch, p->bf16 ? "bf16" : "f16",
             p->b_transposed ? "transposed" : "row_major", p->tiling);
    const emulated_call call = {"matmul_accumulate", params, &args, buffers, 4, 4, check, seed, false};
    emulate_call(context, &call);
    compare(p, args.d, want, d_stride);
    free(a), free(b), free(c), free(d), free(want);
}

static const problem problems[] = {
    {128, 128, 64, "block_n=128", .d_pad = 0},
    {1, 1, 1, "block_n=64", .d_pad = 3},
    {17, 129, 127, "block_n=64 block_k=32", .b_transposed = true, .d_pad = 1},
    {129, 17, 129, "block_n=128 stages=2", .bf16 = true},
    {200, 300, 100, "block_n=128 group_m=1", .in_place = true},
    {300, 70, 0, "block_n=64", .d_pad = 2},
    {256, 256, 96, "block_n=256 block_k=32", .b_transposed = true, .bf16 = true, .in_place = true},
    {130, 260, 80, "block_n=128 swizzle=32", .d_pad = 4},
    {127, 128, 130, "block_n=128 block_k=128 swizzle=64", .b_transposed = true},
    {300, 200, 70, "ctas=2 block_n=128", .d_pad = 5},
    {257, 64, 200, "ctas=2 block_n=64 block_k=32", .b_transposed = true},
    {512, 300, 64, "ctas=2 block_n=256 group_m=2", .in_place = true},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static void hopper_kernels_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++)
        run_problem(&problems[i], "sm_90a", false, 0);
}

static void hopper_kernels_have_no_race(void **state)
{
    (void)state;
    static const problem small[] = {
        {150, 70, 200, "block_n=64 block_k=32 stages=2", .d_pad = 1},
        {260, 70, 200, "ctas=2 block_n=64 block_k=32 stages=2", .in_place = true},
    };
    for (int i = 0; i < 2; i++)
        for (uint64_t seed = 0; seed <= 10; seed++)
            run_problem(&small[i], "sm_90a", true, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hopper_kernels_are_right),
        cmocka_unit_test(hopper_kernels_have_no_race),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
