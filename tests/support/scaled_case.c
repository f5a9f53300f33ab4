#include "scaled_case.h"

#include "common/elements.h"

#include <math.h>

enum { GUARD = 0x7F };

static uint64_t random_state = 1;

static uint32_t below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
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

static const float magnitudes[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6}; /* of e2m1 */
static const uint8_t as_e4m3[8] = {0x00, 0x30, 0x38, 0x3C, 0x40, 0x44, 0x48, 0x4C};

/* One operand. */
typedef struct operand {
    ptxgen_scaled_format format;
    int64_t rows, k, stride;
    uint8_t *elements;
    float *values;
} operand;

static void draw_elements(const operand *o)
{
    for (int64_t row = 0; row < o->rows; row++)
        for (int64_t k = 0; k < o->k; k++) {
            const uint32_t code = below(16);
            const int64_t at = row * o->stride + k;
            if (o->format == PTXGEN_MXFP8)
                o->elements[at] = (uint8_t)(as_e4m3[code & 7] | (code & 8) << 4);
            else
                o->elements[at / 2] = (uint8_t)(at % 2 ? (o->elements[at / 2] & 15) | code << 4
                                                       : (o->elements[at / 2] & 0xF0) | code);
            o->values[row * o->k + k] = code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
        }
}

/* Scales of [groups of a row], multiplied into the values and packed. */
static uint8_t *draw_scales(const operand *o, size_t *bytes, uint8_t **kept, size_t *kept_bytes)
{
    const int64_t group = ptxgen_scale_group(o->format), groups = (o->k + group - 1) / group;
    uint8_t *plain = allocate((size_t)(o->rows * groups));
    *kept = plain;
    *kept_bytes = (size_t)(o->rows * groups);
    for (int64_t i = 0; i < o->rows * groups; i++) {
        const uint32_t e = below(8), man = below(8);
        const bool ue4m3 = o->format == PTXGEN_NVFP4;
        plain[i] = (uint8_t)(ue4m3 ? e << 3 | man : 120 + e);
        const float scale = !ue4m3 ? ldexpf(1, (int)e - 7)
                            : e    ? ldexpf((float)(8 + man), (int)e - 10)
                                   : ldexpf((float)man, -9);
        const int64_t row = i / groups, first = i % groups * group;
        for (int64_t k = first; k < first + group && k < o->k; k++)
            o->values[row * o->k + k] *= scale;
    }
    *bytes = (size_t)ptxgen_packed_scales_bytes(o->rows, groups);
    uint8_t *packed = allocate(*bytes);
    ptxgen_pack_scales(plain, o->rows, groups, 0, packed);
    return packed;
}

void scaled_case_make(const scaled_case *p, scaled_data *x)
{
    enum { UNIT = 64 }; /* elements: 32 bytes of 4 bits */
    const int64_t stride = padded(p->k, UNIT), d_stride = p->n + p->d_pad;
    const int a_bits = p->a_format == PTXGEN_MXFP8 ? 8 : 4,
              b_bits = p->b_format == PTXGEN_MXFP8 ? 8 : 4;
    *x =
        (scaled_data){.problem = p,
                      .a_bytes = (size_t)(p->m * stride * a_bits / 8),
                      .b_bytes = (size_t)(p->n * stride * b_bits / 8),
                      .d_bytes = (size_t)(p->m * d_stride) * (size_t)ptxgen_dtype_bits(p->out) / 8};
    x->a = allocate(x->a_bytes);
    x->b = allocate(x->b_bytes);
    x->d = allocate(x->d_bytes);
    x->a_values = allocate((size_t)(p->m * p->k) * sizeof(float));
    x->b_values = allocate((size_t)(p->n * p->k) * sizeof(float));
    const operand a = {p->a_format, p->m, p->k, stride, x->a, x->a_values},
                  b = {p->b_format, p->n, p->k, stride, x->b, x->b_values};
    draw_elements(&a);
    draw_elements(&b);
    x->a_scales = draw_scales(&a, &x->a_scale_bytes, &x->a_plain, &x->a_plain_bytes);
    x->b_scales = draw_scales(&b, &x->b_scale_bytes, &x->b_plain, &x->b_plain_bytes);
    x->args = (ptxgen_matmul_scaled_args){.size = sizeof x->args,
                                          .a_format = p->a_format,
                                          .b_format = p->b_format,
                                          .out = p->out,
                                          .m = p->m,
                                          .n = p->n,
                                          .k = p->k,
                                          .a = x->a,
                                          .b = x->b,
                                          .a_scales = x->a_scales,
                                          .b_scales = x->b_scales,
                                          .d = x->d,
                                          .a_stride = stride,
                                          .b_stride = stride,
                                          .d_stride = d_stride,
                                          .tiling = p->tiling};
}

static double element_of(const scaled_data *x, int64_t i)
{
    return pg_element(&(pg_view){.data = x->d, .dtype = x->problem->out}, i);
}

static void compare_one(const scaled_data *x, int64_t row, int64_t column)
{
    const scaled_case *p = x->problem;
    const int64_t i = row * x->args.d_stride + column;
    if (column >= p->n) {
        const size_t bytes = (size_t)ptxgen_dtype_bits(p->out) / 8;
        for (size_t b = 0; b < bytes; b++)
            assert_int_equal(((const uint8_t *)x->d)[(size_t)i * bytes + b], GUARD);
        return;
    }
    double want = 0;
    for (int64_t k = 0; k < p->k; k++)
        want += (double)x->a_values[row * p->k + k] * (double)x->b_values[column * p->k + k];
    /* bf16 itself is only good for 1/256 */
    const double relative = p->out == PTXGEN_BF16 ? 5e-3 : 1e-3;
    const double got = element_of(x, i);
    if (!(fabs(got - want) <= 1e-3 + relative * fabs(want)))
        fail_msg("m=%lld n=%lld k=%lld formats %d %d: D[%lld, %lld] is %g, not %g", (long long)p->m,
                 (long long)p->n, (long long)p->k, (int)p->a_format, (int)p->b_format,
                 (long long)row, (long long)column, got, want);
}

void scaled_case_compare(const scaled_data *x, int64_t most)
{
    const scaled_case *p = x->problem;
    const int64_t columns = x->args.d_stride;
    if (p->m * columns <= most) {
        for (int64_t i = 0; i < p->m * columns; i++)
            compare_one(x, i / columns, i % columns);
        return;
    }
    for (int64_t i = 0; i < most; i++)
        compare_one(x, below((uint32_t)p->m), below((uint32_t)columns));
    for (int64_t i = 0; i < columns; i++) /* the last row in full */
        compare_one(x, p->m - 1, i);
}

void scaled_case_free(scaled_data *x)
{
    free(x->a);
    free(x->b);
    free(x->d);
    free(x->a_scales);
    free(x->b_scales);
    free(x->a_plain);
    free(x->b_plain);
    free(x->a_values);
    free(x->b_values);
}
