/* The pieces of the private schedule's kernel (private.ptxc says how it works). */
#ifndef PG_SCATTER_PRIVATE_H
#define PG_SCATTER_PRIVATE_H

#include "scatter_add/scatter_add.h"

enum { PG_PRIVATE_WARPS = 8 /* as long as nobody says */, PG_PRIVATE_TAGS = 1024 };

#define PG_PRIVATE_PARAMS(X)                                                                       \
    X(out_, POINTER)                                                                               \
    X(src_, POINTER)                                                                               \
    X(index_, POINTER)                                                                             \
    X(record_, RECORD)                                                                             \
    X(out_rows_, U64)                                                                              \
    X(out_stride_, U64)                                                                            \
    X(src_stride_, U32)                                                                            \
    X(rows_, U32)                                                                                  \
    X(copies_, U32)                                                                                \
    X(tag_mask_, U32)
pg_param_list pg_scatter_add_private_params(void);

/* What a row is in the kernel. */
typedef struct pg_private_row {
    int word_bytes, words;   /* bytes of memory in a register, registers of a row of src */
    int piece_words, pieces; /* of an access to memory, and accesses */
    int sums;                /* words of a row in a table: 1, 2 or a multiple of 4 */
    int batch;               /* rows that a thread loads at a time */
    int turns;               /* of them, those that it adds at a time */
    bool heat;               /* the row that most lanes want is summed in registers (copies=warp) */
} pg_private_row;
pg_private_row pg_private_row_of(const pg_scatter_add_plan *p);

/* Rows that may wait in the queue of a warp: those of a batch, and what a warp does not begin
 * with. Each has the words of a table row and its number. */
#define PG_PRIVATE_QUEUE(r) (32 * ((r)->batch + 1))

/* Row i of a batch (registers %data, %index) to the thread's own table. */
void pg_private_add_alone(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r, int i);
/* Rows i to i + r->turns - 1 of each lane to the warp's table, or to its queue. */
void pg_private_add_by_turns(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r,
                             int i);
/* What waits in the queue, but for less than a warp's worth if %more is to come. */
void pg_private_add_queued(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r);
/* %ok<k> and %group<k> of row i; leaves for BAD<i> and comes back where there is no row or a bad
 * index. */
void pg_private_judge(pg_emit *E, const pg_scatter_add_plan *p, int i, int k);
/* Sets up and, at the end, adds to the table what lanes have summed in registers. */
void pg_private_begin_heat(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r);
void pg_private_end_heat(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r);
/* Registers %value<n> of row i. */
void pg_private_unpack(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r, int i);
/* Sums the CTA's tables and adds them to out. */
void pg_private_flush(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r);

#endif
