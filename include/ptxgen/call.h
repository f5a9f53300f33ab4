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
 * A family's operands (names, order, shapes, element types) are those of ptxgen_family_operand,
 * which `ptxgen run FAMILY --help` prints. The conventions of ptxgen.h hold. */
#ifndef PTXGEN_CALL_H
#define PTXGEN_CALL_H

#include "ptxgen/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strides of elements that follow each other without a gap, the last dimension fastest. */
#define PTXGEN_DENSE NULL

/* An array of the caller; only read during the call. All zero: an operand that is left out. Its
 * layout never changes, since calls take arrays of it (so it has no `size`). */
typedef struct ptxgen_tensor {
    void *data; /* device memory; of a scalar, and for the plain C answer: host memory */
    ptxgen_dtype dtype;
    int32_t rank;
    const int64_t *shape; /* elements, outermost dimension first; rank 0: not read */
    /* Elements from one to the next along each dimension, or PTXGEN_DENSE. They are believed: 0
     * is the same element again (a broadcast), negative ones go backwards; either is served or
     * refused by name. */
    const int64_t *strides;
} ptxgen_tensor;

/* Runs `family` on the operands, in the order of its table. `params` ("schedule=bulk oob=trap",
 * may be NULL) are those of ptxgen_get; what follows from the operands (element types, extents,
 * layout) is best left out, and refused when it says something else. Every refusal comes before
 * anything is touched: EINVAL (a wrong argument), EUNSUPPORTED (no kernel for such operands; the
 * sentence says what to do). Asynchronous in `stream`. */
PTXGEN_API ptxgen_status ptxgen_call(ptxgen *ctx, const char *family, const char *params,
                                     const ptxgen_tensor *tensors, size_t count,
                                     ptxgen_stream stream, ptxgen_error *err);
/* The same with a kernel from ptxgen_get: EINVAL when it was not built for these operands. */
PTXGEN_API ptxgen_status ptxgen_call_kernel(ptxgen_kernel *kernel, const ptxgen_tensor *tensors,
                                            size_t count, ptxgen_stream stream, ptxgen_error *err);
/* The parameters, for ptxgen_get, of the kernel that ptxgen_call would take for these operands
 * on the context's device, into out (NUL-terminated, cut to size): to compile it before it is
 * needed. No data is read, and pointers may be NULL. */
PTXGEN_API ptxgen_status ptxgen_call_params(ptxgen *ctx, const char *family, const char *params,
                                            const ptxgen_tensor *tensors, size_t count, char *out,
                                            size_t size, ptxgen_error *err);
/* How many bytes of device memory the call wants as its operand `workspace`; 0: none. Left out, the
 * library brings its own. As ptxgen_call_params, no data is read; the alignment of pointers that
 * are not NULL counts. */
PTXGEN_API ptxgen_status ptxgen_call_workspace(ptxgen *ctx, const char *family, const char *params,
                                               const ptxgen_tensor *tensors, size_t count,
                                               size_t *bytes, ptxgen_error *err);
/* What a call with stall=never (ptxgen/types.h) takes while its own kernel is made. */
typedef struct ptxgen_generic_info {
    size_t size;     /* set by the caller */
    bool exists;     /* false: such a call gives EPENDING meanwhile */
    bool other_bits; /* the call's own kernel may give other bits: floats added in another order */
    char params[1024]; /* of the generic kernel, for ptxgen_get */
} ptxgen_generic_info;
/* No data is read. */
PTXGEN_API ptxgen_status ptxgen_call_generic(ptxgen *ctx, const char *family, const char *params,
                                             const ptxgen_tensor *tensors, size_t count,
                                             ptxgen_generic_info *out, ptxgen_error *err);
/* The plain C answer, on host memory: any alignment that the elements have, rows of any length.
 * ENOMEM, EINDEX (nothing is written then), and what ptxgen_call refuses. */
PTXGEN_API ptxgen_status ptxgen_call_oracle(const char *family, const char *params,
                                            const ptxgen_tensor *tensors, size_t count,
                                            ptxgen_error *err);

/* ---- is a result right? ---------------------------------------------------------------------- */

/* How the results of a call compare with the plain C answer. */
typedef struct ptxgen_call_verdict {
    size_t size; /* set by the caller */
    int64_t elements, wrong;
    bool by_element;                 /* each has a bound of its own; false: equal bits */
    double worst_error, worst_bound; /* of the element that is farthest out */
    int64_t worst_row, worst_column; /* counted over all leading dimensions, and in the last one */
    /* Set by the caller, NULL else: the context of the user function that `params` name
     * (matmul_accumulate, matmul_scaled). It runs on the emulator, in a kernel of its own, where
     * the plain C answer has it. */
    ptxgen *functions;
    double worst_got, worst_want; /* the element that is farthest out, and the plain C answer */
} ptxgen_call_verdict;

/* Computes the plain C answer from `before` (the operands as they were before the call; a result
 * that is only written may be NULL) and compares `after` with it: data of the results as they
 * are now, in the same shapes. All host memory; only read. `params` as in ptxgen_call. ENOMEM,
 * and what ptxgen_call_oracle refuses. */
PTXGEN_API ptxgen_status ptxgen_call_check(const char *family, const char *params,
                                           const ptxgen_tensor *before, const ptxgen_tensor *after,
                                           size_t count, ptxgen_call_verdict *verdict,
                                           ptxgen_error *err);

/* What a call does at least: floating-point operations (0: not what it is about), and bytes to
 * and from memory. For rates. No data is read. */
PTXGEN_API ptxgen_status ptxgen_call_work(const char *family, const char *params,
                                          const ptxgen_tensor *tensors, size_t count, double *flop,
                                          double *bytes, ptxgen_error *err);

/* ---- what is launched ------------------------------------------------------------------------ */

typedef enum ptxgen_arg_kind {
    PTXGEN_ARG_U32,
    PTXGEN_ARG_U64,
    PTXGEN_ARG_POINTER,
    PTXGEN_ARG_TENSOR_MAP, /* 128 bytes by value, 64-byte aligned */
    PTXGEN_ARG_RECORD      /* a pointer to 16 bytes, 16-byte aligned: the first bad index */
} ptxgen_arg_kind;

/* What cuTensorMapEncodeTiled takes; numbers are the driver's. Elements and innermost first,
 * strides in bytes. */
typedef struct ptxgen_launch_map {
    int data_type, swizzle, l2_promotion, oob_fill;
    uint32_t rank;
    const void *address;
    uint64_t dims[5], strides[4];
    uint32_t box[5];
} ptxgen_launch_map;

typedef struct ptxgen_launch_arg {
    const char *name; /* of the parameter in the PTX */
    ptxgen_arg_kind kind;
    const char *operand;    /* whose data `value` or the map's address is; "" when it is none's */
    uint32_t offset, bytes; /* in the kernel's parameter space */
    uint64_t value;         /* of a tensor map and a record: 0 */
    ptxgen_launch_map map;
} ptxgen_launch_arg;

typedef struct ptxgen_launch {
    size_t size; /* set by the library */
    const char *entry;
    uint32_t grid[3], block[3], cluster[3]; /* cluster all 0: none */
    uint32_t dynamic_shared_bytes;
    size_t arg_count;
    const ptxgen_launch_arg *args;
    const char *family; /* whose kernel it is: the call's, or one that does a part of its work */
    const char *params; /* all of that kernel's, for ptxgen_get and ptxgen_emit */
} ptxgen_launch;
/* Return false to stop. All is borrowed during the visit. */
typedef bool (*ptxgen_launch_visit)(void *user, const ptxgen_launch *launch);
/* What ptxgen_call_kernel would launch for these operands, in order, so that somebody else can
 * launch the kernel's cubin; nothing is launched. The kernel may come from ptxgen_emit,
 * ptxgen_compile or ptxgen_get; sizes of grids are for the context's device. */
PTXGEN_API ptxgen_status ptxgen_call_describe(ptxgen_kernel *kernel, const ptxgen_tensor *tensors,
                                              size_t count, ptxgen_launch_visit visit, void *user,
                                              ptxgen_error *err);

/* Parameter i of the kernel's first entry, without a value: name, kind, offset, bytes. false
 * past the last. */
PTXGEN_API bool ptxgen_kernel_param(const ptxgen_kernel *kernel, size_t i, ptxgen_launch_arg *out);
/* The same of entry n of a module with several; ptxgen_kernel_entry names it. */
PTXGEN_API bool ptxgen_kernel_entry_param(const ptxgen_kernel *kernel, size_t n, size_t i,
                                          ptxgen_launch_arg *out);
/* The name of entry n of the kernel's module, cut to `size` bytes; false past the last. Any
 * thread. */
PTXGEN_API bool ptxgen_kernel_entry(const ptxgen_kernel *kernel, size_t n, char *name, size_t size);

/* ---- what a family takes --------------------------------------------------------------------- */

typedef enum ptxgen_role {
    PTXGEN_ROLE_IN,
    PTXGEN_ROLE_OUT,      /* written only */
    PTXGEN_ROLE_INOUT,    /* read and written */
    PTXGEN_ROLE_INDEX,    /* whole numbers that name rows of another operand */
    PTXGEN_ROLE_SCALAR,   /* one number in host memory */
    PTXGEN_ROLE_WORKSPACE /* bytes that mean nothing before and after */
} ptxgen_role;

enum { PTXGEN_OPERAND_MAX_RANK = 4 };

typedef struct ptxgen_operand_info {
    size_t size; /* set by the caller */
    const char *name, *doc;
    ptxgen_role role;
    bool optional;
    int rank;
    int leading; /* so many leading dimensions may be left out */
    /* Names of the extents, outermost first; operands that share a name share the extent. */
    const char *extents[PTXGEN_OPERAND_MAX_RANK];
    const ptxgen_dtype *dtypes; /* ends with PTXGEN_DTYPE_NONE */
    const char *indexes;     /* of an index: the extent that its values are below; "" otherwise */
    int like;                /* the operand whose element type it has, -1: its own */
    const char *dtype_param; /* the parameter that is its element type; "" when there is none */
    int alignment;           /* bytes, of the base and of strides; 0: the element's */
    bool transposable;       /* either of the last two dimensions may be the adjacent one */
    bool zero_if_absent;     /* `ptxgen run` makes zeros of it when no file is named */
    /* An input of any shape that spreads over the extents: leading dimensions left out, extents
     * of 1, strides of 0. */
    bool spread;
    /* the parameter that halves the last extent when it is not its first word; "": none */
    const char *halved_by;
    /* Of each extent the one that it is when nothing else is said (src_rows: "rows"); "": none. */
    const char *usual[PTXGEN_OPERAND_MAX_RANK];
    /* The operand that says which rows of this one count, -1: none. While it is there a result may
     * lack its leading dimensions where the inputs do. */
    int rows_by;
} ptxgen_operand_info;
/* Operand `operand` of family i, in the order of ptxgen_call; false when there is none. */
PTXGEN_API bool ptxgen_family_operand(size_t i, size_t operand, ptxgen_operand_info *out);

#ifdef __cplusplus
}
#endif

#endif
