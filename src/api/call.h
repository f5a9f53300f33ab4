/* One call of any family: from operands and parameters to a launch. Typed calls fill a pg_call
 * from their struct, ptxgen_call from tensors; the rest is the same. Every check comes before
 * anything is touched. */
#ifndef PG_CALL_H
#define PG_CALL_H

#include "api/context.h"
#include "generate/operands/problem.h"

typedef struct pg_call {
    pg_problem problem; /* views filled by the caller */
    pg_kernel_id id;    /* parameters that the caller gave, 0 elsewhere */
    pg_given given; /* which parameters the operands must agree with, and the arch if it is given */
    /* Operands that say where they are (DLPack's): the name of the first and its device; NULL:
     * none does. */
    const char *placed;
    int32_t ordinal;
    ptxgen_stall stall; /* AUTO: the context's */
    bool ready_only;    /* EPENDING instead of compiling or loading */
} pg_call;

void pg_call_init(pg_call *c, const pg_family *family);
/* Parameters as text, and the word stall=, which is of the call and no kernel's. */
ptxgen_status pg_call_parse(pg_call *c, const char *params, ptxgen_error *err);
/* Marks the parameter at an offset of the key as given. */
void pg_call_give(pg_call *c, size_t offset);
/* Copies the caller's struct (its first field is `size`) over a zeroed one of `size` bytes.
 * EINVAL when size was not set. `name` is the struct's. */
ptxgen_status pg_take_args(const void *args, void *out, size_t size, const char *name,
                           ptxgen_error *err);

/* What ptxgen_call takes. */
typedef struct pg_request {
    const char *params;
    const ptxgen_tensor *tensors;
    size_t count;
} pg_request;
ptxgen_status pg_call_take(pg_call *c, const pg_family *family, const pg_request *,
                           ptxgen_error *err);

/* The checks, in their order: what can be judged without memory and without a device (and the
 * parameters that follow from the operands), then memory. The latter of host memory only: a
 * device's limits follow its kernel. */
ptxgen_status pg_call_check_shapes(pg_call *c, ptxgen_error *err);
ptxgen_status pg_call_check_memory(pg_call *c, ptxgen_error *err);
/* Every check of a call of `kernel`; on its engine's device, which is in the problem then. */
ptxgen_status pg_call_prepare(pg_call *c, ptxgen_kernel *kernel, ptxgen_error *err);

ptxgen_status pg_call_run(pg_call *c, ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err);
ptxgen_status pg_call_kernel(pg_call *c, ptxgen_kernel *kernel, ptxgen_stream stream,
                             ptxgen_error *err);
/* The resolved parameters, as text, of the kernel that pg_call_run would take; no pointer is
 * looked at. */
ptxgen_status pg_call_params(pg_call *c, ptxgen *ctx, char *out, size_t size, ptxgen_error *err);
/* The generic kernel of stall=never. */
ptxgen_status pg_call_generic(pg_call *c, ptxgen *ctx, ptxgen_generic_info *out, ptxgen_error *err);
/* How much workspace pg_call_run would take; no pointer is looked at, but the alignment of those
 * that are there. */
ptxgen_status pg_call_workspace(pg_call *c, ptxgen *ctx, size_t *bytes, ptxgen_error *err);
/* The plain C answer; the views are host memory. */
ptxgen_status pg_call_oracle(pg_call *c, ptxgen_error *err);

#endif
