/* In the order of the configuration. A path that names a folder is one, anything else must be a
 * pack. */
#include "cache/layers.h"

#include "base/error.h"
#include "cache/state.h"

#include <stdio.h>
#include <string.h>

static pg_opening leave_out(pg_cache *cache, const char *why, bool lasting)
{
    pg_log_line(&cache->log, PTXGEN_LOG_WARNING, "cache: layer not used%s: %s",
                lasting ? "" : " for now", why);
    return lasting ? PG_OPENING_NEVER : PG_OPENING_LATER;
}

/* Where signatures decide, owners do not. */
static pg_cache_trust layer_trust(const pg_cache *cache)
{
    return cache->trusted ? PG_CACHE_TRUST_ANY : cache->config.trust;
}

static pg_opening open_pack(pg_cache *cache, pg_layer *layer)
{
    ptxgen_error err = {.message = ""};
    layer->is_pack = true;
    if (pg_pack_open(&layer->pack, &cache->alloc, cache->files, layer->path, layer_trust(cache),
                     &err) != PTXGEN_OK)
        return leave_out(cache, err.message,
                         layer->pack.error == 0 || pg_errno_is_lasting(layer->pack.error));
    if (layer->pack.index_lost)
        pg_log_line(&cache->log, PTXGEN_LOG_WARNING,
                    "cache: the pack '%s' %s; %zu entries of it are used", layer->path,
                    pg_pack_fault_text(&layer->pack), layer->pack.count);
    return PG_OPENING_DONE;
}

static pg_opening open_layer(pg_cache *cache, pg_layer *layer)
{
    char why[512];
    pg_folder_problem problem;
    if (layer->path[0] != '/') {
        snprintf(why, sizeof why, "'%s' is not an absolute path", layer->path);
        return leave_out(cache, why, true);
    }
    layer->folder = (pg_folder){cache->files, layer->path, layer_trust(cache), false, -1, -1};
    const pg_folder_fault fault = pg_folder_open(&layer->folder, false, &problem);
    if (fault == PG_FOLDER_TYPE)
        return open_pack(cache, layer);
    if (fault == PG_FOLDER_OK)
        return PG_OPENING_DONE;
    pg_folder_describe(&layer->folder, &problem, why, sizeof why);
    return leave_out(cache, why, fault != PG_FOLDER_IO || pg_errno_is_lasting(problem.error));
}

ptxgen_status pg_layers_open(pg_cache *cache, const char *const *paths, size_t count,
                             ptxgen_error *err)
{
    size_t text = 0;
    for (size_t i = 0; i < count; i++) {
        if (!paths || !paths[i])
            return pg_fail(
                err, PTXGEN_EINVAL,
                "cache_layers[%zu] is NULL: cache_layer_count is %zu, name a folder or a "
                "pack in each",
                i, count);
        text += strlen(paths[i]) + 1;
    }
    if (count == 0)
        return PTXGEN_OK;
    cache->layers_size = count * sizeof *cache->layers;
    cache->layers = pg_alloc_zero(&cache->alloc, cache->layers_size);
    cache->layer_paths_size = text;
    cache->layer_paths = pg_alloc_zero(&cache->alloc, text);
    if (!cache->layers || !cache->layer_paths)
        return pg_fail_memory(err, cache->layers_size + text);
    char *p = cache->layer_paths;
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(paths[i]) + 1;
        memcpy(p, paths[i], n);
        cache->layers[i].path = p;
        atomic_store(&cache->layers[i].opening, open_layer(cache, &cache->layers[i]));
        cache->layer_count++;
        p += n;
    }
    return PTXGEN_OK;
}

void pg_layers_close(pg_cache *cache)
{
    for (size_t i = 0; i < cache->layer_count; i++) {
        pg_layer *layer = &cache->layers[i];
        if (atomic_load(&layer->opening) != PG_OPENING_DONE)
            continue;
        if (layer->is_pack)
            pg_pack_close(&layer->pack);
        else
            pg_folder_close(&layer->folder);
    }
    pg_free(&cache->alloc, cache->layers, cache->layers_size);
    pg_free(&cache->alloc, cache->layer_paths, cache->layer_paths_size);
}

/* As pg_cache_is_on for the folder. */
static bool is_open(pg_cache *cache, pg_layer *layer)
{
    pg_opening opening = atomic_load_explicit(&layer->opening, memory_order_acquire);
    if (opening == PG_OPENING_LATER && pg_cache_begin_opening(cache)) {
        opening = atomic_load(&layer->opening);
        if (opening == PG_OPENING_LATER) {
            opening = open_layer(cache, layer);
            atomic_store(&layer->opening, opening);
        }
        pg_cache_end_opening(cache);
    }
    return opening == PG_OPENING_DONE;
}

static bool find_in_pack(pg_cache *cache, const pg_layer *layer, pg_lookup *look,
                         pg_cache_entry *out)
{
    const pg_pack *pack = &layer->pack;
    const pg_str key = look->key;
    const pg_pack_item *item = pg_pack_find(pack, pg_hash(key.p, key.n));
    if (!item)
        return false;
    pg_block block;
    pg_str found;
    const int r = pg_pack_read(pack, item, &block, out, &found);
    if (r < 0)
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_READ_ERRORS,
                         "cannot read an entry of a pack: %s", strerror(-r));
    else if (r > 0)
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_CORRUPT,
                         "an entry of a pack is damaged: %s",
                         pg_entry_fault_text((pg_entry_fault)r));
    if (r != 0)
        return false;
    if (out->status == PTXGEN_OK && pg_str_eq(found, key) &&
        pg_cache_judge_entry(cache, look, out, false, layer->path) == PG_CACHE_SERVES) {
        pg_block_give(&block, out);
        return true;
    }
    pg_block_free(&block, &cache->alloc);
    return false;
}

bool pg_layers_find(pg_cache *cache, pg_lookup *look, pg_cache_entry *out)
{
    for (size_t i = 0; i < cache->layer_count; i++) {
        pg_layer *layer = &cache->layers[i];
        if (!is_open(cache, layer))
            continue;
        const bool found =
            layer->is_pack ? find_in_pack(cache, layer, look, out)
                           : pg_cache_read(cache, &layer->folder, false, look, out) == PG_CACHE_HIT;
        if (found) {
            out->layer = layer->path;
            return true;
        }
        if (layer->is_pack)
            *out = (pg_cache_entry){0};
        else
            pg_cache_entry_release(cache, out);
    }
    return false;
}
