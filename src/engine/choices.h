/* Which kernel a call takes, remembered by what its choice follows from: so that a call whose
 * kernel is made behind it does not choose again, and knows how far that is.
 *
 * Looking is a hash and a comparison under a lock that is held for moments; what is remembered
 * stays until it is cleared. */
#ifndef PG_CHOICES_H
#define PG_CHOICES_H

#include "base/alloc.h"
#include "engine/kernel_id.h"

typedef struct pg_choices pg_choices;

/* What a choice follows from: the bound key, extents, and what is known of the operands. */
typedef struct pg_choice_key {
    size_t size; /* of bytes, in use */
    _Alignas(8) unsigned char bytes[4 * sizeof(uint64_t) + PG_KEY_MAX_BYTES +
                                    PG_MAX_SYMBOLS * sizeof(int64_t) +
                                    PG_MAX_OPERANDS * (3 + 2 * PG_MAX_RANK) * sizeof(int64_t)];
} pg_choice_key;
void pg_choice_key_of(const pg_problem *, const pg_kernel_id *bound, pg_given given,
                      pg_choice_key *out);

typedef enum pg_choice_state {
    PG_CHOICE_UNKNOWN, /* and from now on PENDING: the caller has it made */
    PG_CHOICE_PENDING,
    PG_CHOICE_READY, /* *id is the kernel's */
    PG_CHOICE_FAILED /* it could not be made */
} pg_choice_state;

ptxgen_status pg_choices_create(const pg_alloc *, pg_choices **out, ptxgen_error *err);
/* By a thread that may wait: room for the first thousand, so that calls find it there (stock.h). */
void pg_choices_stock_up(pg_choices *);
void pg_choices_clear(pg_choices *);
void pg_choices_destroy(pg_choices *);
/* *swapped: a call has taken the kernel since it is ready (pg_choices_swap). */
pg_choice_state pg_choices_find(pg_choices *, const pg_choice_key *, pg_kernel_id *id,
                                bool *swapped);
/* How it went: READY with an id, FAILED, or UNKNOWN, which forgets it. */
void pg_choices_settle(pg_choices *, const pg_choice_key *, pg_choice_state, const pg_kernel_id *);
void pg_choices_swap(pg_choices *, const pg_choice_key *);
/* Around fork(); a child forgets what its parent's threads are making. */
void pg_choices_before_fork(pg_choices *);
void pg_choices_after_fork(pg_choices *, bool child);

#endif
