/* Counting the folder's entries and removing the longest unused ones. The caller holds the space
 * lock, unless it is a dry run. */
#ifndef PG_CACHE_PRUNE_H
#define PG_CACHE_PRUNE_H

#include "cache/space.h"

/* 0, or -ENOMEM or the errno of a folder that could not be listed; nothing is removed then. */
int pg_prune_folder(pg_cache *cache, const pg_prune_rule *rule, pg_prune_result *result);

#endif
