/* The plain C answer of tcgen05_copy: rows of 32-bit elements, copied. */
#include "tcgen05_copy/tcgen05_copy.h"

#include <string.h>

ptxgen_status pg_tcgen05_copy_oracle(const ptxgen_tcgen05_copy_args *a, ptxgen_error *err)
{
    enum { ELEMENT_BYTES = 4 };
    const int64_t in_stride = a->in_stride ? a->in_stride : a->n;
    const int64_t out_stride = a->out_stride ? a->out_stride : a->n;
    (void)err;
    for (int64_t r = 0; r < a->m; r++)
        memcpy((char *)a->out + r * out_stride * ELEMENT_BYTES,
               (const char *)a->in + r * in_stride * ELEMENT_BYTES, (size_t)a->n * ELEMENT_BYTES);
    return PTXGEN_OK;
}
