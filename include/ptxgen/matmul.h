/* Tensor-core families of Blackwell (sm_100a, sm_100f, sm_103a): one call per operation, their plain C answers,
 * and host helpers. Part of ptxgen/ptxgen.h's world: its conventions hold (size first, zero is default,
 * refusals leave the output untouched and say what to do).
 *
 * All pointers are device memory except in the _oracle functions and the packing helpers. Strides are elements
 * from row to row, 0 for the dense one. Calls are asynchronous in `stream`; any thread.
 */
#ifndef PTXGEN_MATMUL_H
#define PTXGEN_MATMUL_H

#include "ptxgen/ptxgen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- out = in, through shared memory and tensor memory -------------------------------------------- */

/* One CTA copies an m x n matrix of 32-bit elements from global memory into swizzled shared memory, from there
 * with tcgen05.cp into tensor memory, and back out: the tensor-memory copy by itself, to test and to learn from.
 *
 * m is 128 or a larger power of two, n a power of two from 16, and m / 128 * n at most 512 columns; all of it
 * must fit in shared memory at once. Tensor memory holds the matrix in tiles of 128 x block, tiles ordered by
 * rows first. */
typedef struct ptxgen_tcgen05_copy_args {
    size_t size;
    ptxgen_dtype dtype; /* PTXGEN_F32, PTXGEN_S32 or PTXGEN_U32 */
    int64_t m, n;
    void *out;      /* [m, n], 16-byte aligned, no overlap with in */
    const void *in; /* [m, n], 16-byte aligned */
    int64_t out_stride, in_stride; /* multiples of 4 elements */
    int64_t block;   /* columns of a tensor-memory tile, a power of two up to n; 0: n */
    int64_t swizzle; /* bytes, 32, 64 or 128; 0: the widest that fits */
} ptxgen_tcgen05_copy_args;

PTXGEN_API ptxgen_status ptxgen_tcgen05_copy(ptxgen *ctx, const ptxgen_tcgen05_copy_args *args,
                                             ptxgen_stream stream, ptxgen_error *err);
/* With a kernel from ptxgen_get(ctx, "tcgen05_copy", ...): EINVAL when it does not serve the arguments. */
PTXGEN_API ptxgen_status ptxgen_tcgen05_copy_launch(ptxgen_kernel *kernel,
                                                    const ptxgen_tcgen05_copy_args *args,
                                                    ptxgen_stream stream, ptxgen_error *err);
/* The same on host memory, in plain C. */
PTXGEN_API ptxgen_status ptxgen_tcgen05_copy_oracle(const ptxgen_tcgen05_copy_args *args, ptxgen_error *err);

/* ---- D = A @ B + C --------------------------------------------------------------------------------- */

/* All zero: chosen by the library. What does not fit together is refused with the numbers. */
typedef struct ptxgen_matmul_tiling {
    int64_t block_n; /* columns of a tile: 64, 128 or 256 */
    int64_t block_k; /* K of a stage */
    int64_t stages;  /* stages of A and B in shared memory */
    int64_t group_m; /* rows of tiles that are worked on together */
    int64_t swizzle; /* bytes: 32, 64 or 128 */
    int64_t ctas;    /* 2: a pair of CTAs shares a tile */
} ptxgen_matmul_tiling;

/* A [m, k], B [k, n] (b_transposed: stored as [n, k]), C and D [m, n]; A and B in `dtype`, C and D in f32. A, B, C:
 * 16-byte aligned, row strides multiples of 16 bytes (pad the rows of odd shapes). D: aligned to 4 bytes, any
 * stride; 32-byte aligned rows are stored fastest. D may be C itself; no other overlap. */
typedef struct ptxgen_matmul_accumulate_args {
    size_t size;
    ptxgen_dtype dtype; /* PTXGEN_F16 or PTXGEN_BF16 */
    bool b_transposed;
    int64_t m, n, k; /* m or n 0: nothing happens; k 0: D = C */
    const void *a, *b;
    const float *c;
    float *d;
    int64_t a_stride, b_stride, c_stride, d_stride;
    ptxgen_matmul_tiling tiling;
} ptxgen_matmul_accumulate_args;

/* Products are exact, sums are those of the tensor core: C is the accumulator's first value, and K is added in
 * order, each instruction's K of 16 at once. */
PTXGEN_API ptxgen_status ptxgen_matmul_accumulate(ptxgen *ctx, const ptxgen_matmul_accumulate_args *args,
                                                  ptxgen_stream stream, ptxgen_error *err);
/* With a kernel from ptxgen_get(ctx, "matmul_accumulate", ...): EINVAL when it does not serve the arguments; tiling
 * is ignored: the kernel decides. */
PTXGEN_API ptxgen_status ptxgen_matmul_accumulate_launch(ptxgen_kernel *kernel,
                                                         const ptxgen_matmul_accumulate_args *args,
                                                         ptxgen_stream stream, ptxgen_error *err);
/* The plain C answer on host memory: summed in double, rounded once. tiling is ignored, alignment does not matter. */
PTXGEN_API ptxgen_status ptxgen_matmul_accumulate_oracle(const ptxgen_matmul_accumulate_args *args,
                                                         ptxgen_error *err);

#ifdef __cplusplus
}
#endif

#endif
