/* `run --check`: is a scatter_add's result within what rounding allows of the sum in double? */
#ifndef PTXGEN_SCATTER_CHECK_H
#define PTXGEN_SCATTER_CHECK_H

#include "ptxgen/ptxgen.h"

typedef struct scatter_check {
    uint64_t elements, wrong;
    double worst_error, worst_bound; /* of the element with the largest error / bound */
    int64_t worst_row, worst_column;
} scatter_check;

/* `args` has host pointers: out as it was before (it is not changed), src, index. `result` is what the
 * device made of out. Elements whose partial sums may pass the largest finite number are not judged. */
ptxgen_status scatter_check_run(const ptxgen_scatter_add_args *args, const void *result,
                                scatter_check *out, ptxgen_error *err);

#endif
