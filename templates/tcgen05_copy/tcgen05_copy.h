/* tcgen05_copy, `out = in` through shared memory and tensor memory: key, plan, emitter.
 *
 *     global -> registers -> swizzled shared memory -> (tcgen05.cp) ->
 *     tensor memory -> registers -> global
 *
 * One CTA of four warps. Shared memory holds the matrix in column blocks as wide as the swizzle,
 * each of all m rows. Tensor memory holds tiles of 128 lanes x `block` columns, tiles of the
 * same columns next to each other. */
#ifndef PG_TCGEN05_COPY_H
#define PG_TCGEN05_COPY_H

#include "generate/dtype.h"
#include "generate/family.h"
#include "common/tcgen05.h"
#include "ptxgen/matmul.h"

/* All int64_t: see generate/params.h. */
typedef struct pg_tcgen05_copy_key {
    int64_t arch;
    int64_t m, n;
    int64_t block;   /* columns of a tensor-memory tile; 0: n */
    int64_t dtype;   /* place in {f32, s32, u32} */
    int64_t swizzle; /* bytes; 0: the widest that fits */
} pg_tcgen05_copy_key;

/* Operands and their extents, in table order. */
enum { PG_COPY_OUT, PG_COPY_IN };
enum { PG_COPY_M, PG_COPY_N };

typedef struct pg_tcgen05_copy_plan {
    pg_plan_head head;
    const pg_arch *arch;
    int m, n, block;
    int swizzle; /* bytes */

    int data_bytes;     /* of the matrix in shared memory, at offset 0 */
    int barrier_offset; /* the mbarrier, then the word that holds the tensor-memory address */
    int tmem_columns;   /* allocated */
    pg_smem_matrix source;

    int row_blocks; /* of 128 rows */
    int copies;     /* tcgen05.cp instructions: row_blocks * n / 8 */
    int rows_per_pass, passes,
        batch;        /* how 128 threads load the matrix; a batch of passes is in flight */
    int load_columns; /* columns of one tcgen05.ld */
} pg_tcgen05_copy_plan;

extern const pg_family pg_family_tcgen05_copy;

#define PG_COPY_PARAMS(X)                                                                          \
    X(out_, POINTER) X(in_, POINTER) X(out_stride_, U64) X(in_stride_, U64) /* strides in bytes */
pg_param_list pg_tcgen05_copy_params(const void *plan, uint32_t part);

enum {
    PG_COPY_COLUMNS = 8,
    PG_COPY_BYTES = 32
}; /* a .128x256b copy: 128 rows of 32 bytes to 8 columns */

/* Where a copy of rows 128 * row_block.. and columns column..column + 7 reads and writes. */
int pg_tcgen05_copy_source(const pg_tcgen05_copy_plan *p, int row_block, int column);
int pg_tcgen05_copy_target(const pg_tcgen05_copy_plan *p, int row_block, int column);

ptxgen_status pg_tcgen05_copy_resolve(void *key, const pg_arch *, ptxgen_error *err);
void pg_tcgen05_copy_plan_from(const void *key, const pg_arch *, void *plan);
void pg_tcgen05_copy_emit(pg_emit *E, const void *plan);
void pg_tcgen05_copy_launch(const pg_problem *, pg_launch *);
ptxgen_status pg_tcgen05_copy_oracle(const pg_problem *, ptxgen_error *);

#endif
