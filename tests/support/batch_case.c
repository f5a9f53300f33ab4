#include "batch_case.h"

#include "common/elements.h"
#include "draw.h"
#include "emulated_call.h"
#include "generate/dtype.h"

#include <math.h>

enum { GUARD = 0x7F, OPERANDS = 4 };

/* A batch of matrices in one buffer, `shift` bytes behind its beginning. */
typedef struct matrices {
    ptxgen_dtype dtype;
    int64_t rows, columns, stride, batch_stride;
    size_t bytes, shift;
    char *data;
} matrices;

static char *memory_of(const matrices *x)
{
    return x->data - x->shift;
}

typedef struct batch_data {
    const batch_case *c;
    matrices of[OPERANDS]; /* A, B, C, D as they are stored */
    ptxgen_matmul_accumulate_args args;
} batch_data;

static int64_t padded(int64_t n, const batch_case *c, ptxgen_dtype dtype)
{
    const int64_t unit = c->pad ? 1 : 128 / pg_dtype_bits(dtype);
    return (n + unit - 1) / unit * unit + c->pad;
}

static matrices make(const batch_case *c, int i, ptxgen_dtype dtype, int64_t rows, int64_t columns)
{
    matrices x = {.dtype = dtype, .rows = rows, .columns = columns};
    const int64_t row = padded(columns ? columns : 1, c, dtype);
    const bool same = c->same >> i & 1, inside = c->inside >> i & 1;
    x.stride = inside && !same ? row * c->batch : row;
    const int64_t gap = c->folds ? 0 : c->pad ? 3 : 128 / pg_dtype_bits(dtype);
    x.batch_stride = same ? 0 : inside ? row : row * (rows ? rows : 1) + gap;
    x.bytes = (size_t)(((same ? 1 : c->batch) * (rows ? rows : 1) + 2) * (row + 8)) *
              (size_t)pg_dtype_bits(dtype) / 8;
    x.shift = (size_t)(c->shift * pg_dtype_bits(dtype) / 8);
    char *const memory = malloc(x.bytes + x.shift);
    assert_non_null(memory);
    memset(memory, GUARD, x.bytes + x.shift);
    x.data = memory + x.shift;
    return x;
}

static pg_view view_of(const matrices *x, const void *data)
{
    return (pg_view){.data = (void *)(uintptr_t)data, .dtype = x->dtype};
}

static void fill(const matrices *x, int64_t batch, uint64_t *state)
{
    const pg_view v = view_of(x, x->data);
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->columns; j++)
                pg_element_set(&v, b * x->batch_stride + i * x->stride + j,
                               (double)((int64_t)(draw_random(state) % 129) - 64) / 64);
}

static void make_data(const batch_case *c, batch_data *x)
{
    const ptxgen_dtype input = c->bf16 ? PTXGEN_BF16 : PTXGEN_F16;
    const ptxgen_dtype c_dtype = c->c_dtype ? c->c_dtype : PTXGEN_F32,
                       d_dtype = c->d_dtype ? c->d_dtype : PTXGEN_F32;
    uint64_t state = 7;
    x->c = c;
    x->of[0] = make(c, 0, input, c->a_transposed ? c->k : c->m, c->a_transposed ? c->m : c->k);
    x->of[1] = make(c, 1, input, c->b_transposed ? c->n : c->k, c->b_transposed ? c->k : c->n);
    x->of[2] = make(c, 2, c_dtype, c->m, c->n);
    x->of[3] = make(c, 3, d_dtype, c->m, c->n);
    for (int i = 0; i < OPERANDS - 1; i++)
        fill(&x->of[i], c->same >> i & 1 ? 1 : c->batch, &state);
    if (c->in_place) {
        free(memory_of(&x->of[3]));
        x->of[3] = x->of[2];
    }
    const matrices *o = x->of;
    x->args = (ptxgen_matmul_accumulate_args){.size = sizeof x->args,
                                              .dtype = input,
                                              .m = c->m,
                                              .n = c->n,
                                              .k = c->k,
                                              .batch = c->batch,
                                              .a_transposed = c->a_transposed,
                                              .b_transposed = c->b_transposed,
                                              .a = o[0].data,
                                              .b = o[1].data,
                                              .c = c->no_c ? NULL : o[2].data,
                                              .d = o[3].data,
                                              .a_stride = o[0].stride,
                                              .b_stride = o[1].stride,
                                              .c_stride = o[2].stride,
                                              .d_stride = o[3].stride,
                                              .a_batch_stride = o[0].batch_stride,
                                              .b_batch_stride = o[1].batch_stride,
                                              .c_batch_stride = o[2].batch_stride,
                                              .d_batch_stride = o[3].batch_stride,
                                              .c_dtype = c_dtype,
                                              .d_dtype = d_dtype,
                                              .epilogue = c->epilogue,
                                              .params = c->params};
    if (c->alpha != 0 || c->beta != 0)
        x->args.alpha = &c->alpha, x->args.beta = &c->beta;
}

static void free_data(batch_data *x)
{
    for (int i = 0; i < OPERANDS; i++)
        if (i < 3 || !x->c->in_place)
            free(memory_of(&x->of[i]));
}

static const char *text_of(const batch_case *c)
{
    static char text[300];
    snprintf(text, sizeof text,
             "batch=%lld m=%lld n=%lld k=%lld a=%d b=%d no_c=%d in_place=%d same=%d inside=%d "
             "pad=%d shift=%d alpha=%g beta=%g %s",
             (long long)c->batch, (long long)c->m, (long long)c->n, (long long)c->k,
             c->a_transposed, c->b_transposed, c->no_c, c->in_place, c->same, c->inside, c->pad,
             c->shift, (double)c->alpha, (double)c->beta, c->params ? c->params : "");
    return text;
}

/* D's buffer as it should be: each matrix by a call of its own. */
static char *answer(const batch_data *x)
{
    const matrices *o = x->of;
    char *const want = malloc(o[3].bytes);
    assert_non_null(want);
    memcpy(want, o[3].data, o[3].bytes);
    for (int64_t b = 0; b < x->c->batch; b++) {
        const void *at[OPERANDS];
        for (int i = 0; i < OPERANDS; i++)
            at[i] = (i == 3 ? want : o[i].data) +
                    b * o[i].batch_stride * (pg_dtype_bits(o[i].dtype) / 8);
        ptxgen_matmul_accumulate_args one = x->args;
        ptxgen_error err;
        one.batch = 0;
        one.a = at[0];
        one.b = at[1];
        one.c = x->c->no_c ? NULL : at[2];
        one.d = (void *)(uintptr_t)at[3];
        if (ptxgen_matmul_accumulate_oracle(&one, &err) != PTXGEN_OK)
            fail_msg("%s: %s", text_of(x->c), err.message);
    }
    return want;
}

/* Sums of K + 1 terms up to 1, times the factors, rounded to D's type. */
static double bound_of(const batch_case *c, double want, ptxgen_dtype d)
{
    const double a = c->alpha != 0 || c->beta != 0 ? fabs((double)c->alpha) : 1,
                 b = c->alpha != 0 || c->beta != 0 ? fabs((double)c->beta) : 1;
    const double sums = (double)(c->k / 16 + 4) * (double)(c->k + 4) * 0x1p-23;
    return (a + b) * sums + 4e-6 + fabs(want) * (4e-6 + (d == PTXGEN_F32 ? 0 : pg_dtype_step(d)));
}

static void compare(const batch_data *x, const char *want, const char *got)
{
    const matrices *d = &x->of[3];
    const size_t element = (size_t)pg_dtype_bits(d->dtype) / 8;
    const pg_view wanted = view_of(d, want), found = view_of(d, got);
    char *const is_result = calloc(d->bytes / element, 1);
    for (int64_t b = 0; b < x->c->batch; b++)
        for (int64_t i = 0; i < d->rows; i++)
            for (int64_t j = 0; j < d->columns; j++) {
                const int64_t at = b * d->batch_stride + i * d->stride + j;
                const double w = pg_element(&wanted, at), g = pg_element(&found, at);
                is_result[at] = 1;
                if (!(fabs(w - g) <= bound_of(x->c, w, d->dtype)))
                    fail_msg("%s: D[%lld, %lld, %lld] is %g, not %g", text_of(x->c), (long long)b,
                             (long long)i, (long long)j, g, w);
            }
    for (size_t at = 0; at < d->bytes / element; at++)
        if (!is_result[at] && memcmp(got + at * element, want + at * element, element) != 0)
            fail_msg("%s: element %zu of D's buffer is outside, and was written", text_of(x->c),
                     at);
    free(is_result);
}

static void must(const batch_case *c, ptxgen_status status, const ptxgen_error *err)
{
    if (status != PTXGEN_OK)
        fail_msg("%s: %s", text_of(c), err->message);
}

void batch_case_run(ptxgen *ctx, const batch_case *c)
{
    batch_data x;
    void *device[OPERANDS];
    ptxgen_error err;
    make_data(c, &x);
    char *const want = answer(&x), *const got = malloc(x.of[3].bytes);
    for (int i = 0; i < OPERANDS; i++) {
        const size_t bytes = x.of[i].shift + x.of[i].bytes;
        must(c, ptxgen_device_alloc(ctx, bytes, &device[i], &err), &err);
        must(c, ptxgen_device_upload(ctx, device[i], memory_of(&x.of[i]), bytes, &err), &err);
        device[i] = (char *)device[i] + x.of[i].shift;
    }
    void *const d = c->in_place ? device[2] : device[3];
    x.args.a = device[0];
    x.args.b = device[1];
    x.args.c = c->no_c ? NULL : device[2];
    x.args.d = d;
    must(c, ptxgen_matmul_accumulate(ctx, &x.args, NULL, &err), &err);
    must(c, ptxgen_synchronize(ctx, NULL, &err), &err);
    must(c, ptxgen_device_download(ctx, got, d, x.of[3].bytes, &err), &err);
    compare(&x, want, got);
    for (int i = 0; i < OPERANDS; i++)
        ptxgen_device_free(ctx, (char *)device[i] - x.of[i].shift);
    free(want);
    free(got);
    free_data(&x);
}

void batch_case_check(ptxgen *ctx, const batch_case *c, const char *arch, uint64_t seed)
{
    static const char *const names[OPERANDS] = {"a", "b", "c", "d"};
    batch_data x;
    char params[300];
    make_data(c, &x);
    char *const want = answer(&x);
    emulated_buffer buffers[OPERANDS];
    for (int i = 0; i < OPERANDS; i++)
        buffers[i] = (emulated_buffer){names[i], memory_of(&x.of[i]), x.of[i].shift + x.of[i].bytes,
                                       i == 3 || (i == 2 && c->in_place)};
    snprintf(params, sizeof params,
             "arch=%s dtype=%s a=%s b=%s c=%s c_dtype=%s d_dtype=%s scale=%s batched=%s "
             "epilogue=%s %s",
             arch, c->bf16 ? "bf16" : "f16", c->a_transposed ? "transposed" : "row_major",
             c->b_transposed ? "transposed" : "row_major", c->no_c ? "none" : "add",
             ptxgen_dtype_name(c->no_c ? PTXGEN_F32 : x.of[2].dtype),
             ptxgen_dtype_name(x.of[3].dtype),
             c->alpha != 0 || c->beta != 0 ? "alpha_beta" : "none", c->batch > 1 ? "yes" : "no",
             c->epilogue ? "relu" : "none", c->params ? c->params : "");
    emulate_call(ctx, &(emulated_call){.family = "matmul_accumulate",
                                       .params = params,
                                       .args = &x.args,
                                       .buffers = buffers,
                                       .buffer_count = c->in_place ? 3 : 4,
                                       .sm_count = 4,
                                       .check = true,
                                       .isa_seed = seed});
    compare(&x, want, x.of[3].data);
    free(want);
    free_data(&x);
}

static int64_t below(uint64_t *state, int64_t n)
{
    return (int64_t)(draw_random(state) % (uint64_t)n);
}

batch_case batch_case_draw(uint64_t *state, bool aligned)
{
    static const int64_t sizes[] = {1, 8, 17, 40, 64, 100, 130, 200};
    static const ptxgen_dtype results[] = {0, 0, PTXGEN_F16, PTXGEN_BF16};
    batch_case c = {.batch = 2 + below(state, 6)};
    c.m = sizes[below(state, 8)];
    c.n = sizes[below(state, 8)];
    c.k = below(state, 12) ? sizes[below(state, 8)] : 0;
    c.a_transposed = below(state, 2);
    c.b_transposed = below(state, 2);
    c.bf16 = below(state, 2);
    c.no_c = !below(state, 4);
    c.same = (int)below(state, 8) & (int)below(state, 8);
    if (c.m == 1) /* or it is one product */
        c.same &= ~BATCH_B;
    c.inside = (int)below(state, 16);
    c.d_dtype = results[below(state, 4)];
    c.c_dtype = below(state, 2) ? c.d_dtype : PTXGEN_F32;
    c.in_place = !c.no_c && !c.d_dtype && !below(state, 4);
    if (c.in_place) {
        c.same &= ~BATCH_C;
        c.inside = c.inside & BATCH_C ? c.inside | BATCH_D : c.inside & ~BATCH_D;
    }
    c.pad = aligned ? 0 : (int)below(state, 3);
    if (!below(state, 3)) {
        c.alpha = 0.5F;
        c.beta = -1.25F;
    }
    c.epilogue = below(state, 4) ? PTXGEN_EPILOGUE_NONE : PTXGEN_EPILOGUE_RELU;
    return c;
}
