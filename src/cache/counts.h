/* What the cache counts, in one table. The names appear in statistics and never change meaning;
 * the order is that of the file "stats": new ones go to the end. */
#ifndef PG_CACHE_COUNTS_H
#define PG_CACHE_COUNTS_H

#include "base/log.h"

#include <stdatomic.h>
#include <stdint.h>

/* X(id, name, explanation) */
#define PG_COUNT_MAP(X)                                                                            \
    X(HITS, "hits", "kernels read from the folder")                                                \
    X(LAYER_HITS, "layer_hits", "kernels read from a read-only layer")                             \
    X(FAILURE_HITS, "failure_hits", "failed compiles that were not repeated")                      \
    X(MISSES, "misses", "results of compiles handed to the cache")                                 \
    X(STORES, "stores", "entries written")                                                         \
    X(SKIPPED, "stores_skipped", "not written: no room, pause after an error, too large")          \
    X(CORRUPT, "corrupt", "entries whose bytes were damaged")                                      \
    X(OTHER_KEY, "other_key", "entries that hold another key than their name says")                \
    X(UNTRUSTED, "untrusted", "entries with a wrong owner, mode or type")                          \
    X(REJECTED, "rejected", "entries that the driver refused")                                     \
    X(QUARANTINED, "quarantined", "entries moved out of the way")                                  \
    X(READ_ERRORS, "read_errors", "failed system calls of lookups")                                \
    X(WRITE_ERRORS, "write_errors", "failed system calls of stores and upkeep")                    \
    X(LOCK_WAITS, "lock_waits", "waits for another process's compile")                             \
    X(LOCK_TIMEOUTS, "lock_timeouts", "such waits that ended without the lock")                    \
    X(EVICTED, "evicted", "entries removed to stay within the limits")                             \
    X(SWEPT, "swept", "leftover temporary files removed")                                          \
    X(MISMATCHED, "mismatched", "entries whose cubin is not what their key says")                  \
    X(SIGNATURES, "signatures_refused", "entries without a signature that is trusted")             \
    X(CODES, "macs_refused", "entries of the folder without this machine's code")                  \
    X(REMOTE_HITS, "remote_hits", "entries that the remote store sent")                            \
    X(REMOTE_MISSES, "remote_misses", "questions to it that found no entry")                       \
    X(REMOTE_ERRORS, "remote_errors", "requests to it that failed or had no answer in time")       \
    X(REMOTE_STORES, "remote_stores", "entries sent to it")                                        \
    X(REMOTE_DROPPED, "remote_dropped", "entries not sent: it did not answer, too many waited")    \
    X(REMOTE_OPENED, "remote_breaker_opened", "pauses in which it is not asked")                   \
    X(REMOTE_WAITS, "remote_waits", "looks at a kernel that another machine compiles")             \
    X(REMOTE_DAMAGED, "remote_damaged", "its entries refused: damaged, or no kernel")              \
    X(REMOTE_SWAPPED, "remote_swapped", "its entries refused: of another key")                     \
    X(REMOTE_UNSIGNED, "remote_unsigned", "its entries refused: no signature that is trusted")     \
    X(REMOTE_REKEYED, "remote_rekeyed", "its entries refused: not what was signed")                \
    X(REMOTE_EXPIRED, "remote_expired", "its entries refused: the signature has expired")          \
    X(REMOTE_MISMATCHED, "remote_mismatched", "its entries refused: for another target or kernel")

typedef enum pg_count {
#define PG_COUNT_ENUM(id, name, text) PG_COUNT_##id,
    PG_COUNT_MAP(PG_COUNT_ENUM)
#undef PG_COUNT_ENUM
        PG_COUNT_TOTAL
} pg_count;

typedef struct pg_counts {
    _Atomic uint64_t value[PG_COUNT_TOTAL];
    _Atomic uint64_t flushed[PG_COUNT_TOTAL]; /* the part of value that is in the statistics file */
    _Atomic uint64_t logged;                  /* bit i: the first trouble of class i was logged */
} pg_counts;

const char *pg_count_name(pg_count id);
const char *pg_count_text(pg_count id);
void pg_count_add(pg_counts *counts, pg_count id, uint64_t n);
uint64_t pg_count_get(const pg_counts *counts, pg_count id);
/* What was counted since the last call, into added. */
void pg_counts_take_unflushed(pg_counts *counts, uint64_t added[PG_COUNT_TOTAL]);
/* Counts, and logs the line as a warning if it is the first of its class. */
void pg_count_trouble(pg_counts *counts, const pg_log *log, pg_count id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
