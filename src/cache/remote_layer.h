/* The remote store behind the folder: what it has is judged like the entry of a layer and written
 * to the folder, where the lookup that follows finds it (fetch.c); what is compiled here is sent
 * there behind the caller. Nothing of it is believed by itself: checksum, sizes, key, signature
 * (trust SIGNED), target and kernels of the cubin. */
#ifndef PG_CACHE_REMOTE_LAYER_H
#define PG_CACHE_REMOTE_LAYER_H

#include "cache/state.h"

/* Opens what config.remote names, if the folder is in use. */
ptxgen_status pg_remote_layer_open(pg_cache *, ptxgen_error *err);
/* A kernel that was stored: to be sent, signed if there is a key. */
void pg_remote_layer_put(pg_cache *, pg_str key, const pg_cache_entry *);

#endif
