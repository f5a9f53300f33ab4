/* How much the folder holds, and keeping that within limits.
 *
 * The file "usage" has the number and bytes of all entries. Whoever adds or removes an entry
 * changes it under the space lock, so the sum stays exact while nobody dies in between; a count of
 * the folder, at least once a day and at every eviction, puts it right. Without locks it is
 * approximate between counts. */
#ifndef PG_CACHE_SPACE_H
#define PG_CACHE_SPACE_H

#include "cache/cache.h"

typedef struct pg_usage {
    uint64_t bytes, entries;
    int64_t counted; /* when the folder was last counted, seconds since 1970 */
} pg_usage;

typedef struct pg_space_ticket {
    uint64_t lock;
    int fd;        /* of the usage file */
    bool unbooked; /* another process holds the lock for long: the folder is counted again later */
    pg_usage usage;
} pg_space_ticket;

/* Before an entry of `bytes` is put in place: takes the lock and makes room. 0: go on, then call
 * pg_space_leave. -EDQUOT: there is no room. Else another negative errno. A lock that is held for
 * over a second (a prune of a large folder, a stopped process) does not keep an entry out: it is
 * added as far as the sums are known. */
int pg_space_enter(pg_cache *cache, uint64_t bytes, pg_space_ticket *ticket);
/* Books what has changed and frees the lock. */
void pg_space_leave(pg_cache *cache, pg_space_ticket *ticket, int64_t bytes, int64_t entries);
/* Books one entry that is gone. */
void pg_space_forget(pg_cache *cache, uint64_t bytes);

/* What may stay. */
typedef struct pg_prune_rule {
    uint64_t max_bytes, max_entries;
    int64_t min_age; /* entries used within these seconds stay in any case; negative: none does */
    int64_t max_age; /* entries not used within these seconds go in any case; negative: none does */
    bool dry_run;    /* only say what would be removed */
} pg_prune_rule;

typedef struct pg_prune_result {
    uint64_t removed, removed_bytes; /* entries */
    uint64_t entries, bytes;         /* that stay */
    uint64_t swept;                  /* leftover temporary files */
    int first_error; /* errno of the first file that could not be removed; 0: none */
    char first_name[64];
    char holder[128]; /* of -EBUSY: who holds the lock */
} pg_prune_result;

/* Counts the folder, removes the longest unused entries as the rule says and leftover temporary
 * files, and writes the usage file. Waits for the space lock at most wait_ms: -EBUSY. */
int pg_space_prune(pg_cache *cache, const pg_prune_rule *rule, uint32_t wait_ms,
                   pg_prune_result *result);

#endif
