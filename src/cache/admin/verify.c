/* Checking entries, one or all, on request with a fresh build to compare with. */
#include "cache/admin/admin.h"

#include <string.h>

typedef struct checking {
    ptxgen_cache *cache;
    const ptxgen_cache_check *check;
    ptxgen_cache_check_result *result;
} checking;

static void report(const checking *c, const pg_admin_entry *entry, const char *why)
{
    ptxgen_cache_record record = entry->record;
    record.fault = why;
    if (c->check->report)
        c->check->report(c->check->user, &record);
}

static void check_entry(const checking *c, pg_admin_entry *entry)
{
    char why[512] = "";
    c->result->checked++;
    c->result->bytes += entry->record.file_bytes;
    if (*entry->record.fault) {
        *(entry->error ? &c->result->unreadable : &c->result->damaged) += 1;
        report(c, entry, entry->record.fault);
        if (c->check->quarantine && !entry->error)
            pg_cache_quarantine_entry(c->cache->cache, &entry->name, entry->inode);
    } else if (c->check->compare &&
               !c->check->compare(c->check->user, &entry->record, why, sizeof why)) {
        c->result->different++;
        report(c, entry, why);
    }
}

static bool load_and_check(void *user, const char *hex)
{
    const checking *c = user;
    pg_admin_entry entry;
    if (pg_admin_load(c->cache, hex, &entry)) {
        check_entry(c, &entry);
        pg_admin_unload(c->cache, &entry);
    }
    return true;
}

static ptxgen_status verify(ptxgen_cache *cache, const char *text, const ptxgen_cache_check *check,
                            ptxgen_cache_check_result *result, ptxgen_error *err)
{
    ptxgen_cache_check copy;
    pg_admin_copy(&copy, sizeof copy, check);
    checking c = {cache, &copy, result};
    if (c.check->quarantine)
        PG_TRY(pg_admin_need_folder(cache, "moving damaged entries aside", err));
    if (!text && cache->is_pack) {
        result->checked = cache->pack.damaged;
        result->damaged = cache->pack.damaged;
    }
    if (!text)
        return pg_admin_names(cache, "", load_and_check, &c, err);
    pg_admin_entry entry;
    PG_TRY(pg_admin_resolve(cache, text, &entry, err));
    check_entry(&c, &entry);
    pg_admin_unload(cache, &entry);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_cache_verify(ptxgen_cache *cache, const char *text,
                                  const ptxgen_cache_check *check,
                                  ptxgen_cache_check_result *result, ptxgen_error *err)
{
    ptxgen_cache_check_result mine = {0};
    if (!result)
        return pg_fail(err, PTXGEN_EINVAL, "result is NULL: give a ptxgen_cache_check_result");
    const ptxgen_status status = verify(cache, text, check, &mine, err);
    pg_admin_give(result, &mine, sizeof mine);
    return status;
}
