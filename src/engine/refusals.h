/* What the assembler refused, for the context's lifetime: a context without a cache folder, or with
 * one that it may not write to, does not assemble the same text again and again. Believed as long
 * as a stored failure is.
 *
 * A small direct-mapped table by cache key; the newest of a place stays. Any thread; the lock is
 * held for a copy. */
#ifndef PG_REFUSALS_H
#define PG_REFUSALS_H

#include "base/alloc.h"
#include "ptxgen/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pg_refusals pg_refusals;

/* `seconds`: how long a refusal is believed; 0: 600. */
ptxgen_status pg_refusals_create(const pg_alloc *, uint32_t seconds, pg_refusals **out,
                                 ptxgen_error *err);
/* NULL is allowed. */
void pg_refusals_destroy(pg_refusals *);
void pg_refusals_clear(pg_refusals *);
/* Fills *err when the key's text was refused before. */
bool pg_refusals_recall(pg_refusals *, const char *key, size_t size, ptxgen_error *err);
/* Without memory it is not remembered. */
void pg_refusals_remember(pg_refusals *, const char *key, size_t size, const ptxgen_error *err);
uint64_t pg_refusals_hits(pg_refusals *);
/* Around fork(). */
void pg_refusals_before_fork(pg_refusals *);
void pg_refusals_after_fork(pg_refusals *);

#endif
