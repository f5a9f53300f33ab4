#include "draw_values.h"

#include "common/elements.h"
#include "generate/dtype.h"

#include <float.h>
#include <math.h>

typedef struct format {
    ptxgen_dtype dtype;
    int precision, least; /* bits with the leading one; exponent of the least normal number */
} format;

static const format formats[] = {
    {PTXGEN_BF16, 8, -126}, {PTXGEN_F16, 11, -14}, {PTXGEN_F32, 24, -126}, {PTXGEN_F64, 53, -1022}};
enum { FORMATS = sizeof formats / sizeof *formats };

static const format *format_of(ptxgen_dtype dtype)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].dtype == dtype)
            return &formats[i];
    return NULL;
}

static int64_t below(draw_values *v, int64_t n)
{
    return (int64_t)(draw_random(&v->state) % (uint64_t)n);
}

/* In [1, 2), with so many bits after the leading one. */
static double in_binade(draw_values *v, int bits)
{
    return 1 + ldexp((double)(draw_random(&v->state) >> (64 - bits)), -bits);
}

void draw_values_begin(draw_values *v, const drawn *d, uint64_t seed)
{
    const format *narrow = NULL;
    for (size_t i = 0; i < d->count; i++) {
        const format *f = format_of(d->tensors[i].dtype);
        if (f && (!narrow || f->precision < narrow->precision))
            narrow = f;
    }
    *v = (draw_values){.state = seed ^ UINT64_C(0x9E6D62D06F6A9A9B)};
    if (!narrow)
        return;
    v->precision = narrow->precision;
    v->least = narrow->least;
    for (int i = 0; i < DRAW_POOL; i++)
        v->pool[i] = in_binade(v, v->precision - 1);
}

/* The middle between two neighbours of the narrowest type. */
static double middle(draw_values *v)
{
    return in_binade(v, v->precision - 1) + ldexp(1, -v->precision);
}

static double special(draw_values *v, const format *f)
{
    const double list[] = {0,
                           -0.0,
                           1,
                           (double)INFINITY,
                           -(double)INFINITY,
                           (double)NAN,
                           ldexp(1, f->least),                    /* the least normal number, */
                           ldexp(1, f->least - f->precision + 1), /* the least of all */
                           ldexp(3, f->least - f->precision + 1)};
    return list[below(v, sizeof list / sizeof *list)];
}

/* Most about 1, some about where the narrowest type's numbers become subnormal. */
static int exponent(draw_values *v)
{
    enum { NEAR = 4, SMALL = 12 };
    if (below(v, 4))
        return (int)below(v, 2 * NEAR + 1) - NEAR;
    return v->least + 2 - (int)below(v, SMALL);
}

static double number(draw_values *v)
{
    const double common = v->pool[below(v, DRAW_POOL)];
    switch (below(v, 5)) {
    case 0:
        return middle(v);
    case 1:
        return middle(v) / common;
    case 2:
        return middle(v) - common;
    default:
        return common;
    }
}

void draw_hard_value(draw_values *v, void *at, ptxgen_dtype dtype)
{
    enum { KINDS = 12, ANY_BITS = 0, SPECIAL = 1 };
    const format *f = format_of(dtype);
    const int64_t kind = below(v, KINDS);
    if (kind == ANY_BITS || !f) {
        const uint64_t bits[] = {draw_random(&v->state), draw_random(&v->state)};
        memcpy(at, bits, (size_t)pg_dtype_bits(dtype) / 8);
        return;
    }
    const double x = kind == SPECIAL ? special(v, f) : ldexp(number(v), exponent(v));
    pg_element_set(&(pg_view){.data = at, .dtype = dtype}, 0, below(v, 2) ? x : -x);
}
