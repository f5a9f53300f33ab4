/* The pieces of the owner schedule's kernels (owner.ptxc says how they work). */
#ifndef PG_SCATTER_OWNER_H
#define PG_SCATTER_OWNER_H

#include "scatter_add/sum_type.h"
#include "scatter_add/scatter_add.h"

/* Row numbers that no row has: of a group without entries, and of a partial sum that is none. */
#define PG_NO_GROUP "0xfffffffe"
#define PG_NO_ROW   "0xffffffff"

enum {
    PG_OWNER_THREADS = 256,
    PG_OWNER_ROWS = 4 * PG_OWNER_THREADS, /* bytes: a row number per group */
};
/* Set in the recorded position of a bad src_index. */
#define PG_SRC_INDEX_MARK (UINT64_C(1) << 62)

/* What both kernels take. src_ is rows of src or, of the second kernel, partial sums; entries_
 * and count_ (at most) or total_ (exactly, in device memory) say which of them go where.
 * partials_ and partial_entries_: where the kernel leaves its own partial sums. Strides are
 * bytes. row_bytes_, low_ and span_ are for shift=yes: 32 bytes of src may be loaded at low_ up
 * to low_ + span_. row_counts_: how many entries each row of out has, for reduce=mean. out_end_:
 * where the last row of out ends. */
#define PG_OWNER_PARAMS(X)                                                                         \
    X(out_, POINTER)                                                                               \
    X(src_, POINTER)                                                                               \
    X(entries_, POINTER)                                                                           \
    X(total_, POINTER)                                                                             \
    X(out_stride_, U64)                                                                            \
    X(src_stride_, U64)                                                                            \
    X(partials_, POINTER)                                                                          \
    X(partial_entries_, POINTER)                                                                   \
    X(partial_stride_, U64)                                                                        \
    X(weight_, POINTER)                                                                            \
    X(src_index_, POINTER)                                                                         \
    X(src_rows_, U64)                                                                              \
    X(record_, RECORD)                                                                             \
    X(alpha_, U64)                                                                                 \
    X(count_, U32)                                                                                 \
    X(lanes_, U32)                                                                                 \
    X(panels_, U32)                                                                                \
    X(share_, U32)                                                                                 \
    X(groups_, U32)                                                                                \
    X(pieces_, U32)                                                                                \
    X(row_bytes_, U64)                                                                             \
    X(low_, U64)                                                                                   \
    X(span_, U64)                                                                                  \
    X(row_counts_, POINTER)                                                                        \
    X(out_end_, U64)
pg_param_list pg_scatter_add_owner_params(void);

/* What one of the two kernels reads: rows of src, or partial sums. */
typedef struct pg_owner_source {
    bool partial;
    bool ahead;     /* loads rows of out with those of src */
    bool shift;     /* rows of src come by aligned loads and a shift (owner_shift.ptxc) */
    bool lone;      /* halves that no other half of the row is beside, by their only writer */
    bool marked;    /* entries say which rows are found elsewhere too (pg_index_sort_args) */
    int depth;      /* rows in flight */
    int word_bytes; /* of memory, in a register */
    int words;      /* registers of a row that a lane has */
    int values;     /* accumulators of a lane: 16 bytes of elements */
    int pieces;     /* accesses of a lane to a row */
    int piece_words, piece_values;
} pg_owner_source;
/* Whether the sums' kernel has such halves: of rows with gaps between them. */
bool pg_owner_has_lone_halves(const pg_scatter_add_plan *p);
pg_owner_source pg_owner_source_of(const pg_scatter_add_plan *p, bool partial);

void pg_owner_declare(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s);
/* Parameters, the thread's group, lane and columns, the share of entries. */
void pg_owner_set_up(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s);
/* Sums the runs of the thread's share; the first and the last go to shared memory. */
void pg_owner_sum(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s);
/* value = value (reduce) acc, with alpha; or the mean, of %row_count. */
void pg_owner_fold(pg_emit *E, const pg_scatter_add_plan *p, const char *value, const char *acc);
/* Adds %acc to a row of out where %store holds. */
typedef struct pg_owner_target {
    const char *row;
    const char *label; /* of its own */
    bool held;         /* where %plain holds, by a store of its sum with %held, what the row had */
} pg_owner_target;
void pg_owner_add(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s,
                  const pg_owner_target *to);
/* Puts together the runs that groups of the CTA share, and adds them to out or leaves them as
 * partial sums. */
void pg_owner_combine(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s);

/* owner_shift.ptxc */
void pg_owner_declare_shift(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s);
void pg_owner_find_block(pg_emit *E);
void pg_owner_load_shifted(pg_emit *E, const pg_owner_source *s, int i);
void pg_owner_load_edges(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s);
void pg_owner_shift(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s, int i);
/* Of the run that begins with entry i: what out has where a lone half goes is the current. */
void pg_owner_hold_half(pg_emit *E, int i);
void pg_owner_add_parts(pg_emit *E, const pg_scatter_add_plan *p, const pg_owner_source *s,
                        const char *label);

#endif
