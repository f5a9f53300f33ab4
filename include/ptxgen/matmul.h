/* Tensor-core families of Blackwell (sm_100a, sm_100f, sm_103a, sm_103f), matmul_accumulate also of
 * Hopper (sm_90a): one call per operation, their plain C answers, and host helpers. Part of
 * ptxgen/ptxgen.h's world: its conventions hold (size first, zero is default, refusals leave the
 * output untouched and say what to do).
 *
 * All pointers are device memory except in the _oracle functions and the packing helpers.
 * Strides are elements from row to row, 0 for the dense one. Calls are asynchronous in `stream`;
 * any thread. */
#ifndef PTXGEN_MATMUL_H
#define PTXGEN_MATMUL_H

#include "ptxgen/ptxgen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- out = in, through shared memory and tensor memory ----------------------------------- */

/* One CTA copies an m x n matrix of 32-bit elements from global memory into swizzled shared
 * memory, from there with tcgen05.cp into tensor memory, and back out: the tensor-memory copy by
 * itself, to test and to learn from.
 *
 * m is 128 or a larger power of two, n a power of two from 16, and m / 128 * n at most 512
 * columns; all of it must fit in shared memory at once. Tensor memory holds the matrix in tiles
 * of 128 x block, tiles ordered by rows first. */
typedef struct ptxgen_tcgen05_copy_args {
    size_t size;
    ptxgen_dtype dtype; /* PTXGEN_F32, PTXGEN_S32 or PTXGEN_U32 */
    int64_t m, n;
    void *out;                     /* [m, n], 16-byte aligned, no overlap with in */
    const void *in;                /* [m, n], 16-byte aligned */
    int64_t out_stride, in_stride; /* multiples of 4 elements */
    int64_t block;   /* columns of a tensor-memory tile, a power of two up to n; 0: n */
    int64_t swizzle; /* bytes, 32, 64 or 128; 0: the widest that fits */
} ptxgen_tcgen05_copy_args;

PTXGEN_API ptxgen_status ptxgen_tcgen05_copy(ptxgen *ctx, const ptxgen_tcgen05_copy_args *args,
                                             ptxgen_stream stream, ptxgen_error *err);
/* With a kernel from ptxgen_get(ctx, "tcgen05_copy", ...): EINVAL when it does not serve the
 * arguments. */
PTXGEN_API ptxgen_status ptxgen_tcgen05_copy_launch(ptxgen_kernel *kernel,
                                                    const ptxgen_tcgen05_copy_args *args,
                                                    ptxgen_stream stream, ptxgen_error *err);
/* The same on host memory, in plain C. */
PTXGEN_API ptxgen_status ptxgen_tcgen05_copy_oracle(const ptxgen_tcgen05_copy_args *args,
                                                    ptxgen_error *err);

/* ---- D = A @ B + C ----------------------------------------------------------------------- */

/* All zero: chosen by the library. What does not fit together is refused with the numbers. */
typedef struct ptxgen_matmul_tiling {
    int64_t block_n; /* columns of a tile: 64, 128 or 256 */
    int64_t block_k; /* K of a stage */
    int64_t stages;  /* stages of A and B in shared memory */
    int64_t group_m; /* rows of tiles that are worked on together */
    int64_t swizzle; /* bytes: 32, 64 or 128 */
    int64_t ctas;    /* 2: a pair of CTAs shares a tile */
} ptxgen_matmul_tiling;

/* What is done to each element of the sum before it is stored, in float and without subroutine
 * calls: relu(x) = max(x, 0), its square, x Phi(x) by tanh and by erf, x sigmoid(x), 1 / (1 +
 * e^-x), tanh(x). Errors against the exact functions: 3e-7 (sigmoid), 6e-7 (tanh), else 2e-6 +
 * 1e-6 |result|. Hopper and Blackwell. The other steps (docs/epilogues.md: scales, residual,
 * bias, auxiliary result, gate, inputs of a function, amax, clamp) are operands and parameters
 * of ptxgen_call. */
typedef enum ptxgen_epilogue {
    PTXGEN_EPILOGUE_NONE,
    PTXGEN_EPILOGUE_RELU,
    PTXGEN_EPILOGUE_SQUARED_RELU,
    PTXGEN_EPILOGUE_GELU_TANH,
    PTXGEN_EPILOGUE_GELU_ERF,
    PTXGEN_EPILOGUE_SILU,
    PTXGEN_EPILOGUE_SIGMOID,
    PTXGEN_EPILOGUE_TANH
} ptxgen_epilogue;

/* A [m, k] (a_transposed: stored as [k, m]), B [k, n] (b_transposed: stored as [n, k]), C and D
 * [m, n]; A and B in `dtype`, D in `d_dtype`, C in f32 or in D's type; sums are f32, rounded
 * once. On Blackwell A, B and C are 16-byte aligned with row strides of multiples of 16 bytes
 * (pad the rows of odd shapes). On Hopper every alignment and row stride is served: rows of A
 * and B that begin off multiples of 16 bytes are copied first (a workspace), whole 128-byte
 * lines are fastest. D may be C itself, in its type; no other overlap. */
typedef struct ptxgen_matmul_accumulate_args {
    size_t size;
    /* PTXGEN_F16 or PTXGEN_BF16; tensor cores of Hopper and Blackwell also take PTXGEN_E4M3,
     * PTXGEN_E5M2 and PTXGEN_F32, which is multiplied as tf32 (10 bits of fraction), with A
     * row-major, B transposed and rows of multiples of 16 bytes. */
    ptxgen_dtype dtype;
    bool b_transposed;
    int64_t m, n, k; /* m or n 0: nothing happens; k 0: D = C */
    const void *a, *b;
    const void *c; /* NULL: D = alpha A @ B */
    void *d;
    int64_t a_stride, b_stride, c_stride, d_stride;
    ptxgen_matmul_tiling tiling;
    ptxgen_epilogue epilogue;
    int64_t function; /* of each element, after that (ptxgen/function.h); 0: none */
    bool a_transposed;
    /* Parameters of the family as text ("schedule=pingpong ctas=2"), beside tiling; what they
     * leave open is chosen by the problem. NULL: all of it. */
    const char *params;
    /* device, 256-byte aligned, of ptxgen_matmul_accumulate_workspace bytes or more; NULL: taken
     * from and given back to a pool in stream order where it is needed */
    void *workspace;
    size_t workspace_bytes;
    /* D = alpha A @ B + beta C. Host memory, read during the call; NULL: 1. What 0 multiplies is
     * not read. On Hopper C is multiplied by beta / alpha first, where that lies within 2^-40
     * and 2^40: the product must stay finite. */
    const float *alpha, *beta;
    ptxgen_dtype c_dtype, d_dtype; /* PTXGEN_F32 (0 stands for it), PTXGEN_F16 or PTXGEN_BF16 */
    ptxgen_stall stall;            /* when its kernel is not ready; 0: as the context says */
    /* Strided batches: so many problems of these extents; 0: one, and the strides below mean
     * nothing. Elements from one matrix to the next; 0: the same matrix for all (not for D).
     * Any order of strides is served ([m, batch, k] as well), and alignment as that of rows. */
    int64_t batch;
    int64_t a_batch_stride, b_batch_stride, c_batch_stride, d_batch_stride;
} ptxgen_matmul_accumulate_args;

/* Products are exact, sums are those of the tensor core: C is the accumulator's first value, and
 * K is added in order, each instruction's K of 16 at once. */
PTXGEN_API ptxgen_status ptxgen_matmul_accumulate(ptxgen *ctx,
                                                  const ptxgen_matmul_accumulate_args *args,
                                                  ptxgen_stream stream, ptxgen_error *err);
/* The parameters, for ptxgen_get, of the kernel that the call above would take for these
 * arguments on the context's device, into out (NUL-terminated, cut to size): to compile it
 * before it is needed. No pointer of args is read. */
PTXGEN_API ptxgen_status ptxgen_matmul_accumulate_params(ptxgen *ctx,
                                                         const ptxgen_matmul_accumulate_args *args,
                                                         char *out, size_t size, ptxgen_error *err);
/* How much device memory the call takes as its workspace, 0 for none (most calls). Compiles the
 * kernel. */
PTXGEN_API ptxgen_status ptxgen_matmul_accumulate_workspace(
    ptxgen *ctx, const ptxgen_matmul_accumulate_args *args, size_t *bytes, ptxgen_error *err);
/* With a kernel from ptxgen_get(ctx, "matmul_accumulate", ...): EINVAL when it does not serve
 * the arguments; tiling is ignored: the kernel decides. */
PTXGEN_API ptxgen_status ptxgen_matmul_accumulate_launch(ptxgen_kernel *kernel,
                                                         const ptxgen_matmul_accumulate_args *args,
                                                         ptxgen_stream stream, ptxgen_error *err);
/* The plain C answer on host memory: summed in double, rounded once. tiling is ignored,
 * alignment does not matter. */
PTXGEN_API ptxgen_status ptxgen_matmul_accumulate_oracle(const ptxgen_matmul_accumulate_args *args,
                                                         ptxgen_error *err);

/* ---- D = A @ B^T, both block-scaled ------------------------------------------------------ */

/* Elements and the scales of groups of them along K. 4-bit elements are packed two to a byte,
 * the one with the even index in the low half. */
typedef enum ptxgen_scaled_format {
    PTXGEN_MXFP8, /* e4m3, a ue8m0 scale per 32 */
    PTXGEN_MXFP4, /* e2m1, a ue8m0 scale per 32 */
    PTXGEN_NVFP4  /* e2m1, a ue4m3 scale per 16; only together with itself */
} ptxgen_scaled_format;

/* A [m, k] and B [n, k] in their formats, D [m, n] in `out`: D = sum over k of A * scale(A) * B
 * * scale(B), summed in f32. Base addresses of A and B: 16-byte aligned, row strides multiples
 * of 16 bytes. 4-bit: k and the strides are even. MXFP8 with MXFP4: k is a multiple of 128, and
 * the 4-bit operand's base and row stride of 32 bytes. */
typedef struct ptxgen_matmul_scaled_args {
    size_t size;
    ptxgen_scaled_format a_format, b_format;
    ptxgen_dtype out; /* PTXGEN_F32, PTXGEN_F16 or PTXGEN_BF16 */
    int64_t m, n, k;  /* m or n 0: nothing happens; k: 1 or more */
    const void *a, *b;
    const uint8_t *a_scales, *b_scales; /* packed (ptxgen_pack_scales), 16-byte aligned */
    void *d; /* aligned to its type; 32-byte aligned rows are stored fastest; no overlap */
    int64_t a_stride, b_stride, d_stride;
    ptxgen_matmul_tiling tiling; /* swizzle: 0 */
    /* D = epilogue(row_scale[i] * col_scale[j] * product + bias[j]); each vector may be NULL: 1,
     * 1, 0. */
    const float *row_scale, *col_scale, *bias; /* [m], [n], [n] */
    ptxgen_epilogue epilogue;
    int64_t function;   /* of each element, after that (ptxgen/function.h); 0: none */
    ptxgen_stall stall; /* when its kernel is not ready; 0: as the context says */
} ptxgen_matmul_scaled_args;

PTXGEN_API ptxgen_status ptxgen_matmul_scaled(ptxgen *ctx, const ptxgen_matmul_scaled_args *args,
                                              ptxgen_stream stream, ptxgen_error *err);
/* With a kernel from ptxgen_get(ctx, "matmul_scaled", ...): EINVAL when it does not serve the
 * arguments; tiling is ignored. */
PTXGEN_API ptxgen_status ptxgen_matmul_scaled_launch(ptxgen_kernel *kernel,
                                                     const ptxgen_matmul_scaled_args *args,
                                                     ptxgen_stream stream, ptxgen_error *err);
/* The plain C answer on host memory: summed in double, rounded once. */
PTXGEN_API ptxgen_status ptxgen_matmul_scaled_oracle(const ptxgen_matmul_scaled_args *args,
                                                     ptxgen_error *err);

/* Elements that share a scale: 32 or 16; 0 for a format that is none. */
PTXGEN_API int64_t ptxgen_scale_group(ptxgen_scaled_format format);
/* Bytes of the packed scales of `rows` rows of `groups` groups each (groups = k / group, rounded
 * up). */
PTXGEN_API int64_t ptxgen_packed_scales_bytes(int64_t rows, int64_t groups);
/* Packs scales[row * stride + group] (host memory; stride 0: groups) the way the tensor core
 * takes them: [rows / 128, groups / 4, 32, 4, 4] bytes, both divisions rounded up: the scale of
 * (row, group) is at
 *     ((row / 128 * (groups / 4) + group / 4) * 32 + row % 32) * 16
 *         + row % 128 / 32 * 4 + group % 4
 * What lies outside is 0. `packed`: ptxgen_packed_scales_bytes(rows, groups) bytes.
 * Who packs otherwise writes 0 there too: the tensor core multiplies the scales of groups beyond k
 * with zeros, and a NaN byte (0xff of ue8m0, 0x7f of ue4m3) among them makes the result NaN. */
PTXGEN_API void ptxgen_pack_scales(const uint8_t *scales, int64_t rows, int64_t groups,
                                   int64_t stride, uint8_t *packed);

#ifdef __cplusplus
}
#endif

#endif
