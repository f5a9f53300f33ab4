/* Numbers of the gather_rows kernel. */
#include "gather_rows/gather_rows.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { WIDEST = 4, AUTO_PIECES = 4 }; /* log2 of 16 bytes */

/* Everything that an access's address is made of: the bases, the steps that are taken, the row's
 * length. */
void pg_gather_rows_bind(const pg_problem *p, void *key)
{
    uint64_t all = 1u << WIDEST;
    for (int i = PG_GATHER_OUT; i <= PG_GATHER_SRC; i++) {
        const pg_view *v = &p->operand[i];
        const uint64_t bytes = v->bits / 8;
        all |= (uintptr_t)v->data | (uint64_t)v->shape[1] * bytes;
        if (v->shape[0] > 1)
            all |= (uint64_t)v->stride[0] * bytes;
    }
    int64_t log2 = 0;
    while (!(all >> log2 & 1))
        log2++;
    ((pg_gather_rows_key *)key)->vector = log2;
}

ptxgen_status pg_gather_rows_resolve(void *key, const pg_arch *arch, ptxgen_error *err)
{
    pg_gather_rows_key *k = key;
    if (arch->sm < 90)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "gather_rows needs sm_90 or later, not %s",
                       arch->name);
    if (!k->pieces)
        k->pieces = AUTO_PIECES;
    return PTXGEN_OK;
}

void pg_gather_rows_plan_from(const void *key, const pg_arch *arch, void *plan)
{
    const pg_gather_rows_key *k = key;
    pg_gather_rows_plan *p = plan;
    memset(p, 0, sizeof *p);
    p->arch = arch;
    p->vector = 1 << k->vector;
    p->index_bytes = k->index ? 4 : 8;
    p->oob = (ptxgen_oob)k->oob;
    p->pieces = (int)k->pieces;
    snprintf(p->head.entry, sizeof p->head.entry, "gather_rows_v%d_%s", p->vector,
             k->index ? "i32" : "i64");
}
