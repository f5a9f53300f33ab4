/* Execution of tcgen05.mma. */
#include "emulator/async.h"
#include "emulator/report.h"

bool pg_tcgen05_mma_prepare(pg_async *a)
{
    a->u.tcgen05_mma.d_columns = 0;
    return true;
}

bool pg_tcgen05_mma_execute(pg_async *a)
{
    pg_stop(a->warp, a->op, PTXGEN_EUNSUPPORTED, "tcgen05.mma is not executed");
    return false;
}
