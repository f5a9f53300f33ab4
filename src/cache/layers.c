/* In the order of the configuration. A path that names a folder is one, anything else must be a
 * pack. */
#include "cache/layers.h"

#include "base/error.h"
#include "cache/state.h"

#include <errno.h>
#include <string.h>

static void open_layer(pg_cache *cache, const char *path)
{
    if (path[0] != '/') {
        pg_log_line(&cache->log, PTXGEN_LOG_WARNING,
                    "cache: layer not used: '%s' is not an absolute path", path);
        return;
    }
    pg_layer *layer = &cache->layers[cache->layer_count];
    pg_folder_problem problem;
    *layer = (pg_layer){.folder = {cache->files, path, cache->config.trust, -1, -1}};
    pg_folder_fault fault = pg_folder_open(&layer->folder, false, &problem);
    ptxgen_error err = {.message = ""};
    layer->is_pack = fault == PG_FOLDER_TYPE;
    if (layer->is_pack && pg_pack_open(&layer->pack, &cache->alloc, cache->files, path,
                                       cache->config.trust, &err) != PTXGEN_OK) {
        pg_log_line(&cache->log, PTXGEN_LOG_WARNING, "cache: layer not used: %s", err.message);
        return;
    }
    if (!layer->is_pack && fault != PG_FOLDER_OK) {
        char why[512];
        pg_folder_describe(&layer->folder, &problem, why, sizeof why);
        pg_log_line(&cache->log, PTXGEN_LOG_WARNING, "cache: layer not used: %s", why);
        return;
    }
    if (layer->is_pack && layer->pack.index_lost)
        pg_log_line(&cache->log, PTXGEN_LOG_WARNING,
                    "cache: the pack '%s' %s; %zu entries of it are used", path,
                    pg_pack_fault_text(&layer->pack), layer->pack.count);
    cache->layer_count++;
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
        open_layer(cache, p);
        p += n;
    }
    return PTXGEN_OK;
}

void pg_layers_close(pg_cache *cache)
{
    for (size_t i = 0; i < cache->layer_count; i++) {
        if (cache->layers[i].is_pack)
            pg_pack_close(&cache->layers[i].pack);
        else
            pg_folder_close(&cache->layers[i].folder);
    }
    pg_free(&cache->alloc, cache->layers, cache->layers_size);
    pg_free(&cache->alloc, cache->layer_paths, cache->layer_paths_size);
}

static bool find_in_pack(pg_cache *cache, const pg_pack *pack, pg_str key, pg_cache_entry *out)
{
    const pg_pack_item *item = pg_pack_find(pack, pg_hash(key.p, key.n));
    if (!item)
        return false;
    pg_block block;
    pg_str found;
    pg_entry_fault fault = pg_pack_read(pack, item, &block, out, &found);
    if (fault != PG_ENTRY_OK) {
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_CORRUPT,
                         "an entry of a pack is damaged: %s", pg_entry_fault_text(fault));
        return false;
    }
    if (out->status == PTXGEN_OK && pg_str_eq(found, key)) {
        pg_block_give(&block, out);
        return true;
    }
    pg_block_free(&block, &cache->alloc);
    return false;
}

bool pg_layers_find(pg_cache *cache, pg_str key, pg_cache_entry *out)
{
    for (size_t i = 0; i < cache->layer_count; i++) {
        const pg_layer *layer = &cache->layers[i];
        if (layer->is_pack) {
            if (find_in_pack(cache, &layer->pack, key, out))
                return true;
            *out = (pg_cache_entry){0};
        } else {
            if (pg_cache_read(cache, &layer->folder, false, key, out) == PG_CACHE_HIT)
                return true;
            pg_cache_entry_release(cache, out);
        }
    }
    return false;
}
