/* f32 and f64 arithmetic as PTX defines it, on bit patterns: one rounding in any of the four modes,
 * .ftz, .sat, and NVIDIA's NaN rules.
 *
 * NaN rules: every f32 NaN result is 0x7fffffff. An f64 operation with NaN operands returns one of
 * them, quieted: the second before the third before the first, of a division the first; an invalid
 * one (inf - inf, 0 * inf, sqrt(-1)) returns 0xfff8000000000000. .ftz flushes subnormal inputs and
 * results to zero of the same sign; .sat clamps to [0, 1], NaN to +0. Round-to-nearest uses the
 * processor (same bits), the other modes integers. Pure; any thread; see the environment note in
 * formats.h. Source: PTX ISA 9.0, section 9.7.3; NaN: an H200. */
#ifndef PG_EMULATOR_FLOAT_OPS_H
#define PG_EMULATOR_FLOAT_OPS_H

#include "emulator/number/formats.h"

#include <stddef.h>

typedef struct pg_float_mode {
    pg_round round; /* RN, RZ, RM or RP */
    bool ftz;       /* f32 only */
    bool sat;       /* f32 only */
} pg_float_mode;

uint32_t pg_f32_add(uint32_t a, uint32_t b, pg_float_mode m);
uint32_t pg_f32_sub(uint32_t a, uint32_t b, pg_float_mode m);
uint32_t pg_f32_mul(uint32_t a, uint32_t b, pg_float_mode m);
uint32_t pg_f32_fma(uint32_t a, uint32_t b, uint32_t c, pg_float_mode m);
uint32_t pg_f32_div(uint32_t a, uint32_t b, pg_float_mode m);
uint32_t pg_f32_rcp(uint32_t a, pg_float_mode m);
uint32_t pg_f32_sqrt(uint32_t a, pg_float_mode m);

uint64_t pg_f64_add(uint64_t a, uint64_t b, pg_round round);
uint64_t pg_f64_sub(uint64_t a, uint64_t b, pg_round round);
uint64_t pg_f64_mul(uint64_t a, uint64_t b, pg_round round);
uint64_t pg_f64_fma(uint64_t a, uint64_t b, uint64_t c, pg_round round);
uint64_t pg_f64_div(uint64_t a, uint64_t b, pg_round round);
uint64_t pg_f64_rcp(uint64_t a, pg_round round);
uint64_t pg_f64_sqrt(uint64_t a, pg_round round);

/* min/max. -0 is less than +0. One NaN operand: the other operand, or with `nan` (.NaN) the
 * canonical NaN. xorsign_abs: the smaller (larger) magnitude with the exclusive-or of the signs. */
typedef struct pg_minmax_mode {
    bool max, ftz, nan, xorsign_abs;
} pg_minmax_mode;

uint32_t pg_f32_minmax(uint32_t a, uint32_t b, pg_minmax_mode m);
uint64_t pg_f64_minmax(uint64_t a, uint64_t b, bool max);

static inline uint32_t pg_f32_flush(uint32_t a)
{
    return (a & 0x7f800000u) ? a : a & 0x80000000u;
}

/* neg and abs change the sign bit and flush with ftz; of a NaN they give the NaN of an
 * operation. */
static inline uint32_t pg_f32_neg(uint32_t a, bool ftz)
{
    return (a & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu
                                           : (ftz ? pg_f32_flush(a) : a) ^ 0x80000000u;
}

static inline uint32_t pg_f32_abs(uint32_t a, bool ftz)
{
    return (a & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu
                                           : (ftz ? pg_f32_flush(a) : a) & 0x7fffffffu;
}

static inline bool pg_f64_is_nan(uint64_t a)
{
    return (a & ~(1ull << 63)) > 0x7ff0000000000000u;
}

static inline uint64_t pg_f64_neg(uint64_t a)
{
    return pg_f64_is_nan(a) ? a | 1ull << 51 : a ^ 1ull << 63;
}

static inline uint64_t pg_f64_abs(uint64_t a)
{
    return pg_f64_is_nan(a) ? a | 1ull << 51 : a & ~(1ull << 63);
}

/* The approximate instructions. Each returns the correctly rounded (to nearest, within 1 ulp in
 * rare double rounding cases) value of the function; a GPU's table-driven result may differ in the
 * last bits, so these are not bit-exact and no test compares them bitwise with hardware. Special
 * values are exact. */
uint32_t pg_f32_ex2_approx(uint32_t a, bool ftz);
uint32_t pg_f32_lg2_approx(uint32_t a, bool ftz);
uint32_t pg_f32_sin_approx(uint32_t a, bool ftz);
uint32_t pg_f32_cos_approx(uint32_t a, bool ftz);
uint32_t pg_f32_tanh_approx(uint32_t a);
uint32_t pg_f32_rcp_approx(uint32_t a, bool ftz);
uint32_t pg_f32_rsqrt_approx(uint32_t a, bool ftz);
uint32_t pg_f32_sqrt_approx(uint32_t a, bool ftz);
uint32_t pg_f32_div_approx(uint32_t a, uint32_t b, bool ftz);
uint64_t pg_f64_rcp_approx_ftz(uint64_t a);
uint64_t pg_f64_rsqrt_approx_ftz(uint64_t a);
/* Without .ftz: of full precision, within 1 ulp. */
uint64_t pg_f64_rsqrt_approx(uint64_t a);

/* The common case for a whole warp: d[i] = a[i] op b[i] for n lanes, round to nearest, no .sat; the
 * same bits as above. Arrays may be the same, not partly overlapping. */
void pg_f32_add_lanes(uint32_t *d, const uint32_t *a, const uint32_t *b, size_t n, bool ftz);
void pg_f32_mul_lanes(uint32_t *d, const uint32_t *a, const uint32_t *b, size_t n, bool ftz);
typedef struct pg_fma_operands {
    const uint32_t *a, *b, *c;
} pg_fma_operands;
void pg_f32_fma_lanes(uint32_t *d, pg_fma_operands x, size_t n, bool ftz);

#endif
