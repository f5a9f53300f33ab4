/* What the remote store has of a key, taken to the folder if it is good. A store that cannot say
 * who wrote to it is asked for bytes, no more. */
#include "base/clock.h"
#include "cache/block.h"
#include "cache/state.h"

#include <stdio.h>

static pg_count count_of_fault(pg_signature_fault fault)
{
    return fault == PG_SIGNATURE_WRONG     ? PG_COUNT_REMOTE_REKEYED
           : fault == PG_SIGNATURE_EXPIRED ? PG_COUNT_REMOTE_EXPIRED
                                           : PG_COUNT_REMOTE_UNSIGNED;
}

static bool refuse(pg_cache *cache, pg_count id, pg_lookup *look, const char *why)
{
    look->why = why;
    pg_count_trouble(&cache->counts, &cache->log, id, "an entry of %s is not used: %s",
                     pg_remote_place(cache->remote), why);
    return false;
}

/* Whether the decoded entry is the answer to the key. */
static bool is_good(pg_cache *cache, pg_lookup *look, pg_str found, const pg_cache_entry *entry)
{
    if (entry->status != PTXGEN_OK || !entry->cubin_size)
        return refuse(cache, PG_COUNT_REMOTE_DAMAGED, look, "it holds no kernel");
    if (!pg_str_eq(found, look->key))
        return refuse(cache, PG_COUNT_REMOTE_SWAPPED, look, "it holds another key");
    const pg_signature_fault fault =
        cache->trusted ? pg_signature_check(cache->trusted, &cache->alloc, look->key, entry,
                                            cache->files->now(cache->files->user))
                       : PG_SIGNATURE_GOOD;
    if (fault != PG_SIGNATURE_GOOD)
        return refuse(cache, count_of_fault(fault), look, pg_signature_fault_text(fault));
    const pg_cache_verdict v = look->judge
                                   ? look->judge->say(look->judge->user, entry, true, &look->why)
                                   : PG_CACHE_SERVES;
    if (v == PG_CACHE_WRONG)
        return refuse(cache, PG_COUNT_REMOTE_MISMATCHED, look, look->why);
    if (v == PG_CACHE_SERVES && look->made_by)
        snprintf(look->made_by, PG_CACHE_MADE_BY, "%s", entry->assembler);
    return v == PG_CACHE_SERVES;
}

/* Writes a good entry to the folder; with a code of this machine's where there is a key. */
static bool keep(pg_cache *cache, pg_str key, const pg_block *block, const pg_cache_entry *entry)
{
    pg_buf bytes;
    pg_buf_init(&bytes, &cache->alloc);
    if (cache->mac)
        pg_cache_encode_own(cache, key, entry, &bytes);
    else
        pg_buf_append(&bytes, block->bytes, block->size);
    const bool good = !bytes.failed && bytes.len && pg_cache_keep(cache, key, &bytes);
    pg_buf_fini(&bytes);
    return good;
}

static bool take(pg_cache *cache, pg_lookup *look, const pg_buf *bytes, bool keeps)
{
    pg_block block;
    pg_cache_entry entry;
    pg_str found;
    if (pg_block_copy(&block, &cache->alloc, bytes->data, bytes->len) < 0)
        return false;
    const pg_entry_fault fault = pg_entry_decode(block.bytes, block.size, &entry, &found);
    const bool good = fault == PG_ENTRY_OK ? is_good(cache, look, found, &entry) &&
                                                 (!keeps || keep(cache, look->key, &block, &entry))
                                           : refuse(cache, PG_COUNT_REMOTE_DAMAGED, look,
                                                    pg_entry_fault_text(fault));
    pg_block_free(&block, &cache->alloc);
    return good;
}

static pg_remote_answer get(pg_cache *cache, pg_lookup *look, uint32_t wait_us, bool keeps)
{
    pg_buf bytes;
    pg_buf_init(&bytes, &cache->alloc);
    pg_remote_answer a =
        pg_remote_get(cache->remote, pg_hash(look->key.p, look->key.n), wait_us, &bytes);
    if (a == PG_REMOTE_YES && !take(cache, look, &bytes, keeps))
        a = PG_REMOTE_NO;
    pg_buf_fini(&bytes);
    return a;
}

static bool may_ask(pg_cache *cache)
{
    return cache->remote && !cache->config.observer && pg_cache_is_on(cache) &&
           pg_clock_ms() >= atomic_load(&cache->write_after_ms);
}

static bool is_here(pg_cache *cache, pg_str key, const pg_cache_judge *judge)
{
    pg_cache_entry entry;
    pg_lookup look = {key, judge, "", NULL};
    const pg_cache_found found = pg_cache_find(cache, &look, &entry);
    if (found != PG_CACHE_MISS)
        pg_cache_entry_release(cache, &entry);
    return found != PG_CACHE_MISS;
}

pg_fetched pg_cache_fetch(pg_cache *cache, pg_str key, const pg_cache_judge *judge, pg_claim *claim)
{
    pg_lookup look = {key, judge, "", NULL};
    *claim = (pg_claim){false, pg_hash(key.p, key.n)};
    if (!may_ask(cache) || is_here(cache, key, judge))
        return PG_FETCHED_NOTHING;
    const pg_remote_answer a = get(cache, &look, 0, true);
    if (a == PG_REMOTE_YES)
        return PG_FETCHED_ENTRY;
    if (a == PG_REMOTE_SILENT)
        return PG_FETCHED_NOTHING;
    const pg_remote_answer whose = pg_remote_claim(cache->remote, claim->id);
    claim->held = whose == PG_REMOTE_YES;
    if (whose == PG_REMOTE_NO) {
        pg_count_add(&cache->counts, PG_COUNT_REMOTE_WAITS, 1);
        return PG_FETCHED_LATER;
    }
    /* Its owner may have sent it between the two questions. */
    if (claim->held && get(cache, &look, 0, true) == PG_REMOTE_YES) {
        pg_cache_unclaim(cache, claim);
        return PG_FETCHED_ENTRY;
    }
    return PG_FETCHED_NOTHING;
}

bool pg_cache_fetch_quickly(pg_cache *cache, pg_str key, const pg_cache_judge *judge)
{
    pg_lookup look = {key, judge, "", NULL};
    return may_ask(cache) && get(cache, &look, PG_CACHE_CALLER_WAITS_US, true) == PG_REMOTE_YES;
}

void pg_cache_unclaim(pg_cache *cache, pg_claim *claim)
{
    if (claim->held)
        pg_remote_release(cache->remote, claim->id);
    claim->held = false;
}

bool pg_cache_remote_has(pg_cache *cache, pg_str key, const pg_cache_judge *judge,
                         pg_remote_look *out)
{
    pg_lookup look = {key, judge, NULL, out->made_by};
    *out = (pg_remote_look){0};
    const pg_remote_answer a = get(cache, &look, 0, false);
    out->why = a == PG_REMOTE_SILENT ? "it did not answer"
               : look.why            ? look.why
                                     : "it has no entry of the key";
    return a == PG_REMOTE_YES;
}
