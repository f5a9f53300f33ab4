/* Calls on DLPack's tensors: what PyTorch, JAX, CuPy, NumPy, TVM and others exchange.
 *
 *     const ptxgen_dlpack operands[] = {{out}, {src}, {index}};   // const DLTensor *
 *     ptxgen_dlpack_call(ctx, "scatter_add", operands, 3, &(ptxgen_dlpack_options){
 *         .size = sizeof(ptxgen_dlpack_options), .params = "oob=trap", .stream = stream}, &err);
 *
 * Include DLPack's own header (any version) before this one, and its types are these; without
 * it, they are declared here under names of ptxgen's, which clash with nothing.
 *
 * Tensors are borrowed for the call and taken as they are: shape and strides as given (NULL
 * strides: dense), byte_offset added, element types by code, bits and lanes. Nothing
 * synchronizes: data must be ready in `stream`. What does not fit is refused before anything is
 * touched, with the name of the argument: EINVAL (read-only and written to, another device than
 * the context's), EUNSUPPORTED (an element type that ptxgen has not, 4-bit elements that are
 * padded to bytes), and what ptxgen_call refuses. Any thread. The conventions of ptxgen.h hold. */
#ifndef PTXGEN_DLPACK_H
#define PTXGEN_DLPACK_H

#include "ptxgen/matmul.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef DLPACK_DLPACK_H_
typedef DLTensor ptxgen_dl_tensor;
typedef DLManagedTensor ptxgen_dl_managed;
#else
typedef struct ptxgen_dl_device {
    int32_t device_type; /* 1 CPU, 2 CUDA, 3 CUDA host memory, 13 CUDA managed memory */
    int32_t device_id;
} ptxgen_dl_device;
typedef struct ptxgen_dl_type {
    /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 10 e4m3fn, 12 e5m2, 14 e8m0fnu, 17 e2m1fn */
    uint8_t code;
    uint8_t bits;
    uint16_t lanes; /* 1, and 2 for pairs of 4-bit elements */
} ptxgen_dl_type;
typedef struct ptxgen_dl_tensor {
    void *data;
    ptxgen_dl_device device;
    int32_t ndim;
    ptxgen_dl_type dtype;
    int64_t *shape, *strides; /* elements; strides NULL: dense */
    uint64_t byte_offset;
} ptxgen_dl_tensor;
typedef struct ptxgen_dl_managed {
    ptxgen_dl_tensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct ptxgen_dl_managed *self);
} ptxgen_dl_managed;
#endif

#ifdef DLPACK_MAJOR_VERSION /* from 1.0 on */
typedef DLManagedTensorVersioned ptxgen_dl_versioned;
#else
typedef struct ptxgen_dl_version {
    uint32_t major, minor;
} ptxgen_dl_version;
typedef struct ptxgen_dl_versioned {
    ptxgen_dl_version version;
    void *manager_ctx;
    void (*deleter)(struct ptxgen_dl_versioned *self);
    uint64_t flags;
    ptxgen_dl_tensor dl_tensor;
} ptxgen_dl_versioned;
#endif

enum {
    PTXGEN_DLPACK_MAJOR = 1, /* of the structs above */
    PTXGEN_DLPACK_READ_ONLY = 1,
    PTXGEN_DLPACK_PADDED = 4 /* 4-bit elements, one to a byte */
};

/* An argument. */
typedef struct ptxgen_dlpack {
    const ptxgen_dl_tensor *tensor; /* NULL: left out */
    uint64_t flags;                 /* DLManagedTensorVersioned's; 0 where there are none */
} ptxgen_dlpack;

/* The argument that a managed tensor is. It stays the caller's; its deleter is not called.
 * EINVAL: NULL, or a struct of another major version (then only its deleter may be used). */
PTXGEN_API ptxgen_status ptxgen_dlpack_from_versioned(const ptxgen_dl_versioned *managed,
                                                      ptxgen_dlpack *out, ptxgen_error *err);

/* As an operand of the functions of ptxgen/call.h: to describe a launch, for the plain C answer.
 * `out` points into the DLTensor and into `room`. `name` is what a refusal calls it. Where it
 * lies and whether it may be written is not looked at. */
typedef struct ptxgen_dlpack_room {
    int64_t shape[PTXGEN_OPERAND_MAX_RANK], strides[PTXGEN_OPERAND_MAX_RANK];
} ptxgen_dlpack_room;
PTXGEN_API ptxgen_status ptxgen_dlpack_tensor(const ptxgen_dlpack *from, const char *name,
                                              ptxgen_dlpack_room *room, ptxgen_tensor *out,
                                              ptxgen_error *err);

/* ---- any family ------------------------------------------------------------------------------ */

typedef struct ptxgen_dlpack_options {
    size_t size;
    const char *params; /* as in ptxgen_call; may be NULL */
    ptxgen_stream stream;
    /* EPENDING, and nothing happens, when the kernel would have to be compiled or loaded first:
     * for callers that give up a lock (Python's) only then. */
    bool ready_only;
} ptxgen_dlpack_options;

/* ptxgen_call on these tensors, in the order of the family's table. `options` may be NULL. */
PTXGEN_API ptxgen_status ptxgen_dlpack_call(ptxgen *ctx, const char *family,
                                            const ptxgen_dlpack *operands, size_t count,
                                            const ptxgen_dlpack_options *options,
                                            ptxgen_error *err);
/* ptxgen_call_params on them: what ptxgen_prefetch takes to have the kernel before the call. */
PTXGEN_API ptxgen_status ptxgen_dlpack_params(ptxgen *ctx, const char *family,
                                              const ptxgen_dlpack *operands, size_t count,
                                              const char *params, char *out, size_t size,
                                              ptxgen_error *err);

/* ---- typed calls ----------------------------------------------------------------------------- */

/* Tensors stand for the pointers, extents, strides and element types of the typed struct.
 * `options` is that struct for whatever else it says (may be NULL); what a tensor says is not
 * read in it. */

typedef struct ptxgen_dlpack_scatter_add_args {
    size_t size;
    ptxgen_dlpack out, src, index;   /* index may be left out with options->plan */
    ptxgen_dlpack weight, src_index; /* may be left out */
    const ptxgen_scatter_add_args *options;
    ptxgen_stream stream;
    bool ready_only; /* as above */
} ptxgen_dlpack_scatter_add_args;
PTXGEN_API ptxgen_status ptxgen_dlpack_scatter_add(ptxgen *ctx,
                                                   const ptxgen_dlpack_scatter_add_args *args,
                                                   ptxgen_error *err);

/* D = A @ B + C. Strides say what is transposed. */
typedef struct ptxgen_dlpack_matmul_args {
    size_t size;
    ptxgen_dlpack a, b, c, d; /* [m, k], [k, n], [m, n] or left out, [m, n] */
    const ptxgen_matmul_accumulate_args *options;
    ptxgen_stream stream;
    bool ready_only;
} ptxgen_dlpack_matmul_args;
PTXGEN_API ptxgen_status ptxgen_dlpack_matmul_accumulate(ptxgen *ctx,
                                                         const ptxgen_dlpack_matmul_args *args,
                                                         ptxgen_error *err);

/* D = A @ B^T, block-scaled. Element types say the formats: e4m3 is mxfp8; e2m1 with e8m0 scales
 * mxfp4, with e4m3 scales nvfp4. Operands and scales may also be plain bytes (uint8): then
 * options->a_format and b_format say what they are, and the rows of a 4-bit operand are of k / 2
 * bytes. Scales are packed and dense; their shape is not looked at. */
typedef struct ptxgen_dlpack_scaled_args {
    size_t size;
    ptxgen_dlpack a, b, a_scales, b_scales, d; /* [m, k], [n, k], bytes, bytes, [m, n] */
    ptxgen_dlpack row_scale, col_scale, bias;  /* [m], [n], [n], may be left out */
    const ptxgen_matmul_scaled_args *options;
    ptxgen_stream stream;
    bool ready_only;
} ptxgen_dlpack_scaled_args;
PTXGEN_API ptxgen_status ptxgen_dlpack_matmul_scaled(ptxgen *ctx,
                                                     const ptxgen_dlpack_scaled_args *args,
                                                     ptxgen_error *err);

#ifdef __cplusplus
}
#endif

#endif
