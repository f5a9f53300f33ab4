/* The plain C answer of gather_rows: rows of bytes, copied. */
#include "gather_rows/gather_rows.h"

#include "base/error.h"
#include "common/elements.h"

#include <string.h>

ptxgen_status pg_gather_rows_oracle(const pg_problem *p, ptxgen_error *err)
{
    const pg_view *out = &p->operand[PG_GATHER_OUT], *src = &p->operand[PG_GATHER_SRC];
    const pg_view *index = &p->operand[PG_GATHER_INDEX];
    const int64_t rows = p->symbol[PG_GATHER_ROWS], src_rows = p->symbol[PG_GATHER_SRC_ROWS];
    const int64_t bytes = out->bits / 8;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t r = pg_element_integer(index, i);
        if (r < 0 || r >= src_rows)
            return pg_fail(err, PTXGEN_EINDEX,
                           "index[%lld] = %lld is outside 0..%lld (rows of src)", (long long)i,
                           (long long)r, (long long)src_rows - 1);
    }
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)out->data + i * out->stride[0] * bytes,
               (const char *)src->data + pg_element_integer(index, i) * src->stride[0] * bytes,
               (size_t)(p->symbol[PG_GATHER_N] * bytes));
    return PTXGEN_OK;
}
