/* The plain C answer of tcgen05_copy: rows of 32-bit elements, copied. */
#include "tcgen05_copy/tcgen05_copy.h"

#include <string.h>

ptxgen_status pg_tcgen05_copy_oracle(const pg_problem *p, ptxgen_error *err)
{
    enum { ELEMENT_BYTES = 4 };
    const pg_view *out = &p->operand[PG_COPY_OUT], *in = &p->operand[PG_COPY_IN];
    (void)err;
    for (int64_t r = 0; r < p->symbol[PG_COPY_M]; r++)
        memcpy((char *)out->data + r * out->stride[0] * ELEMENT_BYTES,
               (const char *)in->data + r * in->stride[0] * ELEMENT_BYTES,
               (size_t)p->symbol[PG_COPY_N] * ELEMENT_BYTES);
    return PTXGEN_OK;
}
