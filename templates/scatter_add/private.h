/* The pieces of the private schedule's kernel (private.ptxc says how it works). */
#ifndef PG_SCATTER_PRIVATE_H
#define PG_SCATTER_PRIVATE_H

#include "scatter_add/scatter_add.h"

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
    X(slice_rows_, U32)
pg_param_list pg_scatter_add_private_params(void);

/* What a row is in the kernel. */
typedef struct pg_private_row {
    int word_bytes, words;   /* bytes of memory in a register, registers of a row of src */
    int piece_words, pieces; /* of an access to memory, and accesses */
    int sums;                /* words of a row in a table: 1, 2 or a multiple of 4 */
    int batch;               /* rows that a thread loads at a time */
    /* copies=cta: a row of src in the tile, of `slots` words, is summed by `parts` lanes, a power
     * of two; each takes `values`, which are in part_slots words */
    int slots, parts, values, part_slots;
} pg_private_row;
/* Of rows of n elements, by accesses of so many bytes. */
pg_private_row pg_private_row_for(const pg_sum_type *e, int64_t n, int access, bool by_thread);
pg_private_row pg_private_row_of(const pg_scatter_add_plan *p);

/* Bytes of counters that a warp sums at a time, 16 a lane. */
enum { PG_PRIVATE_COUNTERS = 32 * 16 };

/* copies=cta: rows of a tile that a group of `parts` lanes sums, and bytes of shared memory that
 * they take there, with a gap behind. */
static inline int pg_private_share(const pg_private_row *r)
{
    return r->batch * r->parts;
}
static inline int pg_private_share_bytes(const pg_private_row *r)
{
    return (pg_private_share(r) + 1) * 4 * r->slots;
}

/* Stores `value` to the words of shared memory from %row to %end, 16 bytes at a time. */
void pg_private_clear(pg_emit *E, const char *label, const char *value);
/* %ok and %group<i> of row i of the batch; leaves for BAD<i> and comes back where there is no row
 * or a bad index. */
void pg_private_judge(pg_emit *E, const pg_scatter_add_plan *p, int i);
/* Registers %value<n> of row i of the batch. */
void pg_private_unpack(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r, int i);
/* Registers %value<values> of place i of the lane's share. */
void pg_private_load_place(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r,
                           int i);
/* copies=cta (private_sort.ptxc): its registers; where all is in shared memory; the batch of each
 * thread to its places; and from there to the table. */
void pg_private_declare_sort(pg_emit *E, const pg_private_row *r);
void pg_private_set_up_sort(pg_emit *E, const pg_private_row *r);
void pg_private_place_rows(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r);
void pg_private_sum_places(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r);
/* The first table to a matrix of halves without gaps (private_halves.ptxc). Row g of it is at
 * tables + g * %table_step. */
void pg_private_flush_halves(pg_emit *E, const pg_scatter_add_plan *p);
/* Sums the CTA's tables and adds them to out. */
void pg_private_flush(pg_emit *E, const pg_scatter_add_plan *p, const pg_private_row *r);

#endif
