/* Read-only sources below the cache folder: folders in the same layout, and packs. They are never
 * changed; an entry found there is not copied up. */
#ifndef PG_CACHE_LAYERS_H
#define PG_CACHE_LAYERS_H

#include "cache/state.h"

/* Opens those of the config; one that cannot be used is logged and left out. ENOMEM only. */
ptxgen_status pg_layers_open(pg_cache *cache, const char *const *paths, size_t count,
                             ptxgen_error *err);
void pg_layers_close(pg_cache *cache);
/* The first layer that has the kernel; a failure stored in a layer is not believed. */
bool pg_layers_find(pg_cache *cache, pg_lookup *look, pg_cache_entry *out);

#endif
