/* From one call's operands, which were checked, to a launch record. */
#include "tcgen05_copy/tcgen05_copy.h"

#include <string.h>

enum { ELEMENT_BYTES = 4, THREADS = 128 };

void pg_tcgen05_copy_launch(const pg_problem *problem, pg_launch *l)
{
    const pg_tcgen05_copy_plan *p = problem->plan;
    const pg_view *out = &problem->operand[PG_COPY_OUT], *in = &problem->operand[PG_COPY_IN];
    l->nargs = 0;
    l->grid[0] = l->grid[1] = l->grid[2] = 1;
    l->block[0] = THREADS;
    l->block[1] = l->block[2] = 1;
    memset(l->cluster, 0, sizeof l->cluster);
    l->shared_bytes = p->head.shared_bytes;
    pg_arg_pointer(l, out->data);
    pg_arg_pointer(l, in->data);
    pg_arg_u64(l, (uint64_t)(out->stride[0] * ELEMENT_BYTES));
    pg_arg_u64(l, (uint64_t)(in->stride[0] * ELEMENT_BYTES));
}
