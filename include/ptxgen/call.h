/* Calling any family: operands as tensors, one call for all kernels.
 *
 *     int64_t shape[] = {m, 512}, index_shape[] = {m}, out_shape[] = {k, 512};
 *     ptxgen_tensor operands[] = {
 *         {.data = out, .dtype = PTXGEN_BF16, .rank = 2, .shape = out_shape},
 *         {.data = src, .dtype = PTXGEN_BF16, .rank = 2, .shape = shape},
 *         {.data = index, .dtype = PTXGEN_S64, .rank = 1, .shape = index_shape},
 *     };
 *     ptxgen_call(ctx, "scatter_add", "oob=trap", operands, 3, stream, &err);
 *
 * A family's operands (names, order, shapes, element types) are those of ptxgen_family_operand, which
 * `ptxgen list -v FAMILY` prints. The conventions of ptxgen.h hold. */
#ifndef PTXGEN_CALL_H
#define PTXGEN_CALL_H

#include "ptxgen/ptxgen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strides of elements that follow each other without a gap, the last dimension fastest. */
#define PTXGEN_DENSE NULL

/* An array of the caller; only read during the call. All zero: an operand that is left out. Its layout never
 * changes, since calls take arrays of it (so it has no `size`). */
typedef struct ptxgen_tensor {
    void *data; /* device memory; of a scalar, and for the plain C answer: host memory */
    ptxgen_dtype dtype;
    int32_t rank;
    const int64_t *shape; /* elements, outermost dimension first; rank 0: not read */
    /* Elements from one to the next along each dimension, or PTXGEN_DENSE. They are believed: 0 is the same
     * element again (a broadcast), negative ones go backwards; either is served or refused by name. */
    const int64_t *strides;
} ptxgen_tensor;

/* Runs `family` on the operands, in the order of its table. `params` ("schedule=bulk oob=trap", may be NULL)
 * are those of ptxgen_get; what follows from the operands (element types, extents, layout) is best left out,
 * and refused when it says something else. Every refusal comes before anything is touched: EINVAL (a wrong
 * argument), EUNSUPPORTED (no kernel for such operands; the sentence says what to do). Asynchronous in
 * `stream`. */
PTXGEN_API ptxgen_status ptxgen_call(ptxgen *ctx, const char *family, const char *params,
                                     const ptxgen_tensor *tensors, size_t count,
                                     ptxgen_stream stream, ptxgen_error *err);
/* The same with a kernel from ptxgen_get: EINVAL when it was not built for these operands. */
PTXGEN_API ptxgen_status ptxgen_call_kernel(ptxgen_kernel *kernel, const ptxgen_tensor *tensors,
                                            size_t count, ptxgen_stream stream, ptxgen_error *err);
/* The parameters, for ptxgen_get, of the kernel that ptxgen_call would take for these operands on the
 * context's device, into out (NUL-terminated, cut to size): to compile it before it is needed. No data is
 * read, and pointers may be NULL. */
PTXGEN_API ptxgen_status ptxgen_call_params(ptxgen *ctx, const char *family, const char *params,
                                            const ptxgen_tensor *tensors, size_t count, char *out,
                                            size_t size, ptxgen_error *err);
/* The plain C answer, on host memory: any alignment that the elements have, rows of any length. ENOMEM,
 * EINDEX (nothing is written then), and what ptxgen_call refuses. */
PTXGEN_API ptxgen_status ptxgen_call_oracle(const char *family, const char *params,
                                            const ptxgen_tensor *tensors, size_t count,
                                            ptxgen_error *err);

#ifdef __cplusplus
}
#endif

#endif
