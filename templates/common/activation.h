/* What a matrix multiplication does to an element of its result before it is stored: factors of its
 * row and column, a bias of its column, an activation, then a user function (ptxgen/function.h).
 * Absent steps cost nothing.
 *
 * Activations are arithmetic without subroutine calls: ex2.approx and rcp.approx (PTX ISA 9.7.3:
 * 2^-22 and 1 unit in the last place) in formulas that keep their accuracy. Errors against the
 * exact function, |x| <= 100, on the emulator, which rounds the approximations correctly:
 *
 *     relu, squared_relu   max(x, 0) and its square; a NaN stays one       exact, one rounding
 *     sigmoid              1 / (1 + e^-x)                                  3e-7 absolute
 *     silu                 x sigmoid(x)                                    1e-6 absolute, relative
 *     tanh                 2 sigmoid(2x) - 1                               6e-7 absolute
 *     gelu_tanh            x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))      as silu
 *     gelu_erf             x (1 + erf(x / sqrt(2))) / 2, erf by            2e-6, 1e-6 relative
 *                          Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26 */
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
    PG_ACTIVATIONS
} pg_activation;

/* "none", "relu", ...; NULL-terminated. */
extern const char *const pg_activation_words[];
/* In double. */
double pg_activate(pg_activation activation, double x);

/* What is done to each element. */
typedef struct pg_element_steps {
    bool row_scale, col_scale,
        bias; /* f32 vectors: parameters row_scale_, col_scale_, bias_ of the kernel */
    pg_activation activation;
    bool function;
} pg_element_steps;
bool pg_has_element_steps(const pg_element_steps *s);
/* With vectors, in the kernel's order: at the start; where %row, %row_ok are known (before the
 * first column); where %column is. They set %row_factor, %col_factors and %biases, which they
 * declare, and which pg_element_step reads, with %left: the columns that exist from %column on. */
void pg_element_vectors(pg_emit *E, const pg_element_steps *s);
void pg_element_row(pg_emit *E, const pg_element_steps *s);
void pg_element_columns(pg_emit *E, const pg_element_steps *s);
/* Before the entry: the declaration that the steps need. */
void pg_declare_element_steps(pg_emit *E, const pg_element_steps *s);
/* In a scope of the caller's: registers that pg_element_step uses. */
void pg_element_registers(pg_emit *E, const pg_element_steps *s);
/* Applies the steps to a register (.b32 or .f32) that holds the element of the result at row
 * `row` (a register) and column %column + `offset`. */
typedef struct pg_step_element {
    const char *value, *row;
    int offset;
} pg_step_element;
void pg_element_step(pg_emit *E, const pg_element_steps *s, const pg_step_element *e);

/* C's spelling of the user function, as messages and NVRTC take it. */
#define PG_ELEMENT_SIGNATURE "float f(float value, int row, int column)"
#define PG_ELEMENT_TYPES     "float, float, int, int"

#endif
