/* The scalar conversions behind cvt: integers of 8 to 64 bits, f16, bf16, f32, f64 in every pair,
 * with integer and floating rounding, .ftz and .sat; packed narrow formats go through pg_encode
 * directly.
 *
 * Float to integer always saturates to the destination's range; NaN gives 0, except that from f64,
 * or to a 64-bit integer, it gives the value with only the top bit set. Pure; any thread. Source:
 * PTX ISA 9.0, section 9.7.9.21. */
#ifndef PG_EMULATOR_CONVERT_H
#define PG_EMULATOR_CONVERT_H

#include "emulator/number/formats.h"

/* A scalar type: an integer of `bits` (8, 16, 32, 64), or a float format when `is_float`. */
typedef struct pg_scalar {
    bool is_float;
    bool is_signed;      /* integers */
    uint8_t bits;        /* integers */
    pg_format_id format; /* floats: F16, BF16, F32, F64 */
} pg_scalar;

typedef struct pg_convert_mode {
    pg_round round;
    bool to_integral; /* .rni .rzi .rmi .rpi: round to an integer, also when the result stays a
                         float */
    bool ftz, sat;
    bool satfinite, relu; /* float destinations */
} pg_convert_mode;

/* Converts the low bits of `value`. An integer result is sign- or zero-extended to 64 bits. */
uint64_t pg_convert(pg_scalar to, pg_scalar from, uint64_t value, pg_convert_mode m);

/* x rounded to an integer of `bits` bits under `round` (RN, RZ, RM, RP), saturated; NaN gives
 * nan_result. The result is extended to 64 bits. */
typedef struct pg_int_target {
    bool is_signed;
    int bits;
    uint64_t nan_result;
} pg_int_target;
uint64_t pg_int_of_double(double x, pg_round round, pg_int_target target);

#endif
