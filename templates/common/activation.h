/* Activations of an element.
 *
 * Activations are arithmetic without subroutine calls: ex2.approx and rcp.approx (PTX ISA 9.7.3:
 * 2^-22 and 1 unit in the last place) in formulas that keep their accuracy. Errors against the
 * exact function, |x| <= 100, on the emulator, which rounds the approximations correctly:
 *
 *     relu, squared_relu   max(x, 0) and its square; a NaN stays one       exact, one rounding
 *     clamp                max(low, min(x, high)); a NaN stays one        exact
 *     sigmoid              1 / (1 + e^-x)                                  3e-7 absolute
 *     silu                 x sigmoid(x)                                    1e-6 absolute, relative
 *     tanh                 2 sigmoid(2x) - 1                               6e-7 absolute
 *     gelu_tanh            x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))      as silu
 *     gelu_erf             x (1 + erf(x / sqrt(2))) / 2, as max(x, 0) -     6e-7 absolute, 1e-6
 *                          |x| 2^P(|x|) with a P fitted here                relative */
#ifndef PG_TEMPLATES_ACTIVATION_H
#define PG_TEMPLATES_ACTIVATION_H

#include "generate/emit.h"

typedef enum pg_activation {
    PG_ACTIVATION_NONE,
    PG_ACTIVATION_RELU,
    PG_ACTIVATION_SQUARED_RELU,
    PG_ACTIVATION_GELU_TANH,
    PG_ACTIVATION_GELU_ERF,
    PG_ACTIVATION_SILU,
    PG_ACTIVATION_SIGMOID,
    PG_ACTIVATION_TANH,
    PG_ACTIVATION_CLAMP, /* between two scalars of the call */
    PG_ACTIVATIONS
} pg_activation;

/* "none", "relu", ...; NULL-terminated. */
extern const char *const pg_activation_words[];
/* In double; low and high are clamp's. */
double pg_activate(pg_activation activation, double x, double low, double high);

/* The registers of an activation, in a scope of the caller's. */
void pg_activation_registers(pg_emit *E);
/* %x (.f32) becomes its activation; clamp reads %low_bound and %high_bound. */
void pg_emit_activation(pg_emit *E, pg_activation activation);

#endif
