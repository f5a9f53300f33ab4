/* The approximate f32 and f64 instructions: the function in double, rounded once. Special values
 * follow the tables of the ISA; the last bits of a GPU's own results are not documented and not
 * reproduced. */
#include "emulator/number/float_ops.h"

#include <math.h>

static uint32_t finish(double x, bool ftz)
{
    if (isnan(x))
        return 0x7fffffffu;
    const uint32_t r = pg_bits_of_f32((float)x);
    return ftz ? pg_f32_flush(r) : r;
}

static double operand(uint32_t a, bool ftz)
{
    return (double)pg_f32_of(ftz ? pg_f32_flush(a) : a);
}

uint32_t pg_f32_ex2_approx(uint32_t a, bool ftz)
{
    return finish(exp2(operand(a, ftz)), ftz);
}

uint32_t pg_f32_lg2_approx(uint32_t a, bool ftz)
{
    return finish(log2(operand(a, ftz)), ftz);
}

uint32_t pg_f32_sin_approx(uint32_t a, bool ftz)
{
    return finish(sin(operand(a, ftz)), ftz);
}

uint32_t pg_f32_cos_approx(uint32_t a, bool ftz)
{
    return finish(cos(operand(a, ftz)), ftz);
}

uint32_t pg_f32_tanh_approx(uint32_t a)
{
    return finish(tanh(operand(a, false)), false);
}

uint32_t pg_f32_rcp_approx(uint32_t a, bool ftz)
{
    return finish(1.0 / operand(a, ftz), ftz);
}

uint32_t pg_f32_rsqrt_approx(uint32_t a, bool ftz)
{
    return finish(1.0 / sqrt(operand(a, ftz)), ftz);
}

uint32_t pg_f32_sqrt_approx(uint32_t a, bool ftz)
{
    return finish(sqrt(operand(a, ftz)), ftz);
}

/* For 2^126 < |b| < 2^128 div.approx gives 0 (NaN when a is infinite), as the ISA documents. */
uint32_t pg_f32_div_approx(uint32_t a, uint32_t b, bool ftz)
{
    const double x = operand(a, ftz), y = operand(b, ftz);
    if (fabs(y) > 0x1p126 && !isinf(y))
        return isinf(x) || isnan(x) ? 0x7fffffffu : (a ^ b) & 0x80000000u;
    return finish(x / y, ftz);
}

/* The f64 approximations work on the top 32 bits: the operand's and the result's low halves are
 * zero. */
static uint64_t high_half(double x)
{
    if (isnan(x))
        return 0x7fffffff00000000u;
    uint64_t bits = pg_bits_of_f64(x);
    if ((bits & 0x7ff0000000000000u) == 0)
        bits &= 1ull << 63;
    return bits & 0xffffffff00000000u;
}

static double high_operand(uint64_t a)
{
    return pg_f64_of((a & 0x7ff0000000000000u) == 0 ? a & 1ull << 63 : a & 0xffffffff00000000u);
}

uint64_t pg_f64_rcp_approx_ftz(uint64_t a)
{
    return high_half(1.0 / high_operand(a));
}

uint64_t pg_f64_rsqrt_approx_ftz(uint64_t a)
{
    return high_half(1.0 / sqrt(high_operand(a)));
}

uint64_t pg_f64_rsqrt_approx(uint64_t a)
{
    return pg_f64_div(pg_bits_of_f64(1.0), pg_f64_sqrt(a, PG_ROUND_RN), PG_ROUND_RN);
}
