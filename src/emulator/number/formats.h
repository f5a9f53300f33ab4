/* Number formats of PTX: what every bit pattern is worth, and rounding of exact values into a
 * format.
 *
 * One table row describes a format; decoding and rounding are the same code for all of them, so
 * f16, the fp8 pair, fp6, fp4 and f64 cannot disagree about a rule. The arithmetic of float_ops.h
 * and half_ops.h and the conversions of convert.h end in pg_pack, except for fast paths that give
 * the same bits.
 *
 * All functions here are pure: any thread, no state. They assume the default floating-point
 * environment (round to nearest, no flush to zero) on paths that use the processor's arithmetic;
 * whoever runs emulated code calls pg_float_env_enter first. Source: PTX ISA 9.0, section 9.7.9.21
 * (cvt) and 5.2.3. */
#ifndef PG_EMULATOR_FORMATS_H
#define PG_EMULATOR_FORMATS_H

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum pg_format_id {
    PG_FMT_F16,
    PG_FMT_BF16,
    PG_FMT_TF32, /* 32-bit container, the low 13 bits are zero */
    PG_FMT_E4M3,
    PG_FMT_E5M2,
    PG_FMT_E2M3, /* fp6 in the low 6 bits of a byte */
    PG_FMT_E3M2,
    PG_FMT_E2M1,  /* fp4 in the low 4 bits */
    PG_FMT_UE8M0, /* unsigned power of two; 0xff is NaN; no zero */
    PG_FMT_F32,
    PG_FMT_F64,
    PG_FMT_COUNT
} pg_format_id;

typedef enum pg_round {
    PG_ROUND_RN,  /* to nearest, ties to even */
    PG_ROUND_RZ,  /* towards zero */
    PG_ROUND_RM,  /* towards minus infinity */
    PG_ROUND_RP,  /* towards plus infinity */
    PG_ROUND_RNA, /* to nearest, ties away from zero */
    PG_ROUND_RS   /* stochastic: see pg_encode */
} pg_round;

typedef struct pg_format {
    const char *name; /* as PTX spells it, without the dot */
    int bits;         /* of the container that carries the value (tf32: 32, e2m1: 4) */
    int exp_bits, man_bits, bias;
    int low_pad;            /* zero bits below the mantissa (tf32: 13) */
    bool has_sign, has_inf; /* without infinity the top exponent holds numbers */
    bool has_nan;
    uint64_t canonical_nan; /* 0 when has_nan is false */
    uint64_t max_finite;    /* bit pattern of the largest finite value */
} pg_format;

extern const pg_format pg_formats[PG_FMT_COUNT];

/* How a value is put into a format. */
typedef struct pg_encode_mode {
    pg_round round;
    bool satfinite;  /* overflow and infinity give the largest finite value */
    bool relu;       /* negative (and -0) gives +0; NaN stays NaN */
    uint32_t random; /* PG_ROUND_RS: random_bits bits, compared with the first discarded bits */
    uint8_t random_bits;
} pg_encode_mode;

typedef unsigned __int128 pg_u128;

/* The bits of (-1)^negative * sig * 2^exp in format f; sig may be 0. Where the exact value has more
 * bits than sig can hold, its lowest bit is the sticky bit. Not for ue8m0. */
uint64_t pg_pack(const pg_format *f, bool negative, pg_u128 sig, int exp, pg_encode_mode mode);

/* The value of the low f->bits bits, exactly; NaN for NaN. Every format's values fit a double. */
double pg_decode(pg_format_id id, uint64_t bits);
/* x rounded once into the format. NaN gives the canonical NaN, or the largest finite value in
 * formats that have none. Overflow without satfinite: infinity (or the largest finite value, as the
 * rounding mode says); NaN in e4m3. For ue8m0 the sign is ignored and zero gives 0x00. */
uint64_t pg_encode(pg_format_id id, double x, pg_encode_mode mode);

/* Stops the host program's rounding mode, flush-to-zero or denormals-are-zero setting from reaching
 * emulated arithmetic on this thread; leave puts the host's settings back. */
static inline void pg_float_env_enter(fenv_t *saved)
{
    fegetenv(saved);
    fesetenv(FE_DFL_ENV);
}

static inline void pg_float_env_leave(const fenv_t *saved)
{
    fesetenv(saved);
}

static inline float pg_f32_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t pg_bits_of_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline double pg_f64_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static inline uint64_t pg_bits_of_f64(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* Exact, branch-free widening; a NaN keeps its payload in the high bits. */
static inline float pg_f32_of_f16(uint16_t h)
{
    const uint32_t magnitude = h & 0x7fffu;
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    /* Exponent re-biased by one exact multiplication; infinity and NaN set the exponent by hand. */
    const float scaled = pg_f32_of(magnitude << 13) * 0x1p112f;
    const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return pg_f32_of(pg_bits_of_f32(scaled) | special | sign);
}

static inline float pg_f32_of_bf16(uint16_t b)
{
    return pg_f32_of((uint32_t)b << 16);
}

/* Round to nearest even; NaN gives 0x7fff. The same bits as pg_encode. */
static inline uint16_t pg_f16_of_f32(float f)
{
    const uint32_t bits = pg_bits_of_f32(f);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return 0x7fff;
    if (magnitude >= 0x477ff000u) /* rounds past 65504 */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { /* below the smallest normal: the adder does the shift */
        const float shifted = pg_f32_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (pg_bits_of_f32(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u);
    return (uint16_t)(sign | rounded >> 13);
}

static inline uint16_t pg_bf16_of_f32(float f)
{
    const uint32_t bits = pg_bits_of_f32(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
