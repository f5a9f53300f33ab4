/* The Hopper kernels that problems of any shape resolve to, assembled by ptxas: no spills, no
 * local memory, no calls, no C75xx line (serialised wgmma, setmaxnreg ignored). Skipped without
 * ptxas. PTXGEN_DRAWS=N draws N problems, PTXGEN_SEED=N others. */
#include "test.h"

#include "draw.h"
#include "families.h"
#include "ptx_text.h"
#include "ptxgen/call.h"
#include "ptxgen/inspect.h"
#include "ptxgen/kernel.h"

#include <math.h>

static const char family[] = "matmul_accumulate";

static ptxgen *ctx;

static uint64_t below(uint64_t *state, uint64_t limit)
{
    return draw_random(state) % limit;
}

/* Log-uniform from 16 to 16384, of every second problem a multiple of 8. */
static int64_t draw_extent(uint64_t *state, bool eights)
{
    const double exponent = 4 + (double)below(state, 10000) / 1000;
    const int64_t extent = (int64_t)exp2(exponent);
    return eights ? extent / 8 * 8 : extent;
}

/* The operands that are drawn, by their place in the family's table. */
enum { A, B, C, D, RESIDUAL = 9, BIAS, OPERANDS };

typedef struct drawn_call {
    ptxgen_tensor tensors[OPERANDS];
    int64_t shapes[OPERANDS][3], strides[OPERANDS][3];
    int64_t batch; /* 0: one matrix */
    char params[128], text[512];
} drawn_call;

/* A matrix of every batch, rows or, transposed, columns adjacent. */
static void set_operand(drawn_call *d, int i, ptxgen_dtype dtype, int64_t rows, int64_t columns,
                        bool transposed)
{
    const int64_t shape[] = {d->batch, rows, columns},
                  strides[] = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
    const bool batched = d->batch && i <= D;
    memcpy(d->shapes[i], shape + !batched, (2 + batched) * sizeof *shape);
    memcpy(d->strides[i], strides + !batched, (2 + batched) * sizeof *strides);
    d->tensors[i] = (ptxgen_tensor){
        .dtype = dtype, .rank = 2 + batched, .shape = d->shapes[i], .strides = d->strides[i]};
    const size_t used = strlen(d->text);
    snprintf(d->text + used, sizeof d->text - used, " %s[%lld, %lld]%s",
             (const char *const[]){"a", "b", "c", "d", "", "", "", "", "", "residual", "bias"}[i],
             (long long)rows, (long long)columns, transposed ? "^T" : "");
}

/* Steps, C, batches and types of D, as often as callers may ask for them. */
static void draw_call(uint64_t seed, drawn_call *d)
{
    static const ptxgen_dtype types[] = {PTXGEN_F16, PTXGEN_BF16, PTXGEN_BF16, PTXGEN_E4M3,
                                         PTXGEN_F32};
    static const char *const activations[] = {"none", "none", "none", "silu", "gelu_erf", "tanh"};
    uint64_t state = seed;
    const bool even = seed % 2;
    const int64_t m = draw_extent(&state, even), n = draw_extent(&state, even),
                  k = draw_extent(&state, even);
    const ptxgen_dtype type = types[below(&state, 5)];
    const bool half = type == PTXGEN_F16 || type == PTXGEN_BF16,
               gate = n % 2 == 0 && below(&state, 6) == 0;
    memset(d, 0, sizeof *d);
    if (below(&state, 5) == 0)
        d->batch = 2 + (int64_t)below(&state, 15);
    snprintf(d->params, sizeof d->params, "epilogue=%s gate=%s", activations[below(&state, 6)],
             gate ? "yes" : "no");
    snprintf(d->text, sizeof d->text, "%s of %lld:", ptxgen_dtype_name(type), (long long)d->batch);
    set_operand(d, A, type, m, k, half && below(&state, 4) == 0);
    set_operand(d, B, type, k, n, !half || below(&state, 2));
    if (below(&state, 3))
        set_operand(d, C, PTXGEN_F32, m, n, false);
    set_operand(d, D, below(&state, 2) ? PTXGEN_BF16 : PTXGEN_F32, m, gate ? n / 2 : n, false);
    if (below(&state, 4) == 0)
        set_operand(d, RESIDUAL, below(&state, 2) ? PTXGEN_BF16 : PTXGEN_F32, m, n, false);
    if (below(&state, 3) == 0)
        set_operand(d, BIAS, PTXGEN_F32, 1, n, false);
}

static int calls_of(const ptxgen_kernel_info *info)
{
    ptxgen_cubin_kernel k = {.size = sizeof k};
    int calls = 0;
    for (size_t i = 0; ptxgen_cubin_kernel_at(info->cubin, info->cubin_size, i, &k); i++)
        calls += k.calls;
    return calls;
}

/* Says what ptxas had to say against a kernel; false: nothing. */
static bool is_bad(const char *text, const char *params)
{
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error err;
    if (ptxgen_compile(ctx, family, params, &k, &err) != PTXGEN_OK)
        fail_msg("%s (%s): %s", text, params, err.message);
    ptxgen_kernel_describe(k, &info);
    const int calls = calls_of(&info);
    const bool bad = info.spill_bytes || info.local_bytes || calls > 0 || strstr(info.log, "C75");
    if (bad)
        print_error("%s: %d bytes spilled, %d local, %d calls: %s\n%s\n", text, info.spill_bytes,
                    info.local_bytes, calls, params, strstr(info.log, "C75") ? info.log : "");
    ptxgen_kernel_unref(k);
    return bad;
}

static bool is_new(char (*seen)[1024], size_t *count, const char *params)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(seen[i], params) == 0)
            return false;
    snprintf(seen[(*count)++], sizeof *seen, "%s", params);
    return true;
}

static void chosen_kernels_assemble(void **state)
{
    (void)state;
    const char *text = getenv("PTXGEN_SEED");
    const uint64_t first = text ? strtoull(text, NULL, 10) : 1;
    const size_t wanted = draws_wanted(24);
    char(*seen)[1024] = calloc(wanted, sizeof *seen);
    size_t count = 0, bad = 0, refused = 0;
    assert_non_null(seen);
    for (uint64_t seed = first; seed < first + wanted; seed++) {
        drawn_call d;
        char params[1024];
        ptxgen_error err;
        draw_call(seed, &d);
        const ptxgen_status status = ptxgen_call_params(ctx, family, d.params, d.tensors, OPERANDS,
                                                        params, sizeof params, &err);
        if (status == PTXGEN_EUNSUPPORTED)
            refused++;
        else if (status != PTXGEN_OK)
            fail_msg("%s %s: %s", d.text, d.params, err.message);
        else if (is_new(seen, &count, params))
            bad += is_bad(d.text, params);
    }
    free(seen);
    print_message("%zu problems, %zu refused, %zu kernels, %zu bad\n", wanted, refused, count, bad);
    assert_int_equal(bad, 0);
}

int main(void)
{
    ctx = assembling_context();
    if (!ctx)
        return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(chosen_kernels_assemble)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
