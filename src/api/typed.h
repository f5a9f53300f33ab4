/* The structs of the typed calls as operands and parameters, one function each. */
#ifndef PG_TYPED_H
#define PG_TYPED_H

#include "api/call.h"

#include "ptxgen/matmul.h"

/* Fill *c from a struct that is not checked yet. EINVAL when its `size` was not set. */
ptxgen_status pg_fill_scatter_add(const ptxgen_scatter_add_args *, pg_call *c, ptxgen_error *);
ptxgen_status pg_fill_tcgen05_copy(const ptxgen_tcgen05_copy_args *, pg_call *c, ptxgen_error *);
ptxgen_status pg_fill_matmul_accumulate(const ptxgen_matmul_accumulate_args *, pg_call *c,
                                        ptxgen_error *);
ptxgen_status pg_fill_matmul_scaled(const ptxgen_matmul_scaled_args *, pg_call *c, ptxgen_error *);

#endif
