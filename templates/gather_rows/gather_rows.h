/* gather_rows, `out[i, :] = src[index[i], :]`: key, plan, kernel. The backward of scatter_add.
 *
 * Rows are moved as bytes: `lanes` adjacent threads (a power of two, by the row's length) take a
 * row, each with several pieces in flight, a piece as wide as the alignment of everything
 * allows. */
#ifndef PG_GATHER_ROWS_H
#define PG_GATHER_ROWS_H

#include "generate/family.h"

/* All int64_t: see generate/params.h. */
typedef struct pg_gather_rows_key {
    int64_t arch;
    int64_t vector; /* log2 of the bytes of a piece: place in {1, 2, 4, 8, 16} */
    int64_t index;  /* place in {i64, i32} */
    int64_t oob;    /* ptxgen_oob */
    int64_t pieces; /* of a row that a thread has in flight; 0: automatic */
} pg_gather_rows_key;

enum { PG_GATHER_OUT, PG_GATHER_SRC, PG_GATHER_INDEX };
enum { PG_GATHER_ROWS, PG_GATHER_SRC_ROWS, PG_GATHER_N };

typedef struct pg_gather_rows_plan {
    pg_plan_head head;
    const pg_arch *arch;
    int vector; /* bytes */
    int index_bytes;
    ptxgen_oob oob;
    int pieces;
} pg_gather_rows_plan;

enum { PG_GATHER_THREADS = 256 };

extern const pg_family pg_family_gather_rows;

/* Strides in bytes; lane_bits_ is log2 of the threads of a row. */
#define PG_GATHER_PARAMS(X)                                                                        \
    X(out_, POINTER)                                                                               \
    X(src_, POINTER)                                                                               \
    X(index_, POINTER)                                                                             \
    X(record_, RECORD)                                                                             \
    X(rows_, U64)                                                                                  \
    X(src_rows_, U64)                                                                              \
    X(out_stride_, U64)                                                                            \
    X(src_stride_, U64)                                                                            \
    X(row_pieces_, U64)                                                                            \
    X(lane_bits_, U32)
pg_param_list pg_gather_rows_params(const void *plan, uint32_t part);

ptxgen_status pg_gather_rows_resolve(void *key, const pg_arch *, ptxgen_error *err);
void pg_gather_rows_plan_from(const void *key, const pg_arch *, void *plan);
void pg_gather_rows_bind(const pg_problem *, void *key);
void pg_gather_rows_emit(pg_emit *E, const void *plan);
void pg_gather_rows_launch(const pg_problem *, pg_launch *);
ptxgen_status pg_gather_rows_oracle(const pg_problem *, ptxgen_error *);

#endif
