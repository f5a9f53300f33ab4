/* What issuing and completing a tcgen05.cp or tcgen05.shift have in common. */
#ifndef PG_TCGEN05_COPY_H
#define PG_TCGEN05_COPY_H

#include "emulator/matrix/matrix_descriptor.h"
#include "emulator/tensor/tcgen05.h"

/* A shape: rows of `bytes` bytes; row r goes to lane r % fold + r / fold * stride, `copies`
 * times `copy_step` lanes apart. */
typedef struct pg_tcgen05_copy_shape {
    uint8_t rows, bytes, fold, stride, copies, copy_step;
} pg_tcgen05_copy_shape;
extern const pg_tcgen05_copy_shape pg_tcgen05_copy_shapes[]; /* by PG_COPY_ */

/* The rows in shared memory. */
static inline pg_matrix_shape pg_tcgen05_copy_source(const pg_tcgen05_copy_shape *s)
{
    return (pg_matrix_shape){.rows = s->rows, .depth = s->bytes, .elem_bits = 8};
}

/* Their layout; false: the launch has been stopped. */
bool pg_tcgen05_copy_layout(pg_async *a, pg_matrix_layout *layout);

enum { PG_SHIFT_LANES = 32, PG_SHIFT_COLUMNS = 8 };

#endif
