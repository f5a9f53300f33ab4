/* The steps that the one-call functions of the tensor-core families share: taking the caller's
 * struct, checking a matrix argument, and from a key to a launch. Every check happens before
 * anything is touched. */
#ifndef PG_FAMILY_CALL_H
#define PG_FAMILY_CALL_H

#include "api/context.h"

/* Copies the caller's struct (its first field is `size`) over a zeroed one of `size` bytes.
 * EINVAL when size was not set. `name` is the struct's. */
ptxgen_status pg_take_args(const void *args, void *out, size_t size, const char *name,
                           ptxgen_error *err);

/* A row-major matrix of the caller. `element_bits` may be 4: then row lengths and strides are
 * even. */
typedef struct pg_matrix_arg {
    const char *name;
    const void *base;
    int64_t rows, columns, stride; /* stride not 0 */
    int element_bits;
    int alignment;         /* bytes, of the base and, with more than one row, of the row stride */
    const char *needed_by; /* "tensor-map loads": what needs the alignment */
} pg_matrix_arg;
/* EINVAL: NULL, rows that overlap, an extent that cannot be addressed. EUNSUPPORTED: alignment. */
ptxgen_status pg_check_matrix(const pg_matrix_arg *m, ptxgen_error *err);
/* true when the two may share bytes; different columns of one wider buffer do not. */
bool pg_matrices_meet(const pg_matrix_arg *a, const pg_matrix_arg *b);

/* EINVAL unless lowest <= value <= highest. */
ptxgen_status pg_check_range(const char *name, int64_t value, int64_t lowest, int64_t highest,
                             ptxgen_error *err);

/* A call in progress. */
typedef struct pg_call {
    pg_device *device;
    const ptxgen_device_info *info;
    pg_kernel_id id; /* key: the architecture is set, all else is zero */
} pg_call;
ptxgen_status pg_call_begin(pg_engine *, const pg_family *family, pg_call *call, ptxgen_error *err);
/* Resolves call->id, gets the kernel and launches it with the family's (checked) argument
 * struct. */
ptxgen_status pg_call_run(ptxgen *ctx, pg_call *call, const void *args, ptxgen_stream stream, ptxgen_error *err);
/* Launches a kernel of the caller. */
ptxgen_status pg_call_kernel(ptxgen_kernel *kernel, const void *args, ptxgen_stream stream,
                             ptxgen_error *err);
/* EINVAL unless the kernel is of this family. */
ptxgen_status pg_check_kernel_family(const ptxgen_kernel *kernel, const pg_family *family,
                                     ptxgen_error *err);

#endif
