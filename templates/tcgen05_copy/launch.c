/* From one call's arguments to a launch record. The arguments were checked
 * (src/api/tcgen05_copy.c). */
#include "tcgen05_copy/tcgen05_copy.h"

#include <string.h>

enum { ELEMENT_BYTES = 4, THREADS = 128 };

static void add_u64(pg_launch *l, uint64_t v)
{
    l->args[l->nargs].kind = PG_ARG_U64;
    l->args[l->nargs++].u64 = v;
}

void pg_tcgen05_copy_launch(const void *plan, const void *args, const ptxgen_device_info *device,
                            pg_launch *l)
{
    const pg_tcgen05_copy_plan *p = plan;
    const ptxgen_tcgen05_copy_args *a = args;
    (void)device;
    l->nargs = 0;
    l->grid[0] = l->grid[1] = l->grid[2] = 1;
    l->block[0] = THREADS;
    l->block[1] = l->block[2] = 1;
    memset(l->cluster, 0, sizeof l->cluster);
    l->shared_bytes = p->head.shared_bytes;
    add_u64(l, (uintptr_t)a->out);
    add_u64(l, (uintptr_t)a->in);
    add_u64(l, (uint64_t)(a->out_stride * ELEMENT_BYTES));
    add_u64(l, (uint64_t)(a->in_stride * ELEMENT_BYTES));
}
