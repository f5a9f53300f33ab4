/* ptxgen_cache_why: the lookup of a request, without the request. */
#include "api/context.h"

#include "base/sized.h"
#include "engine/cache_key.h"
#include "engine/entry_judge.h"

#include <stdio.h>

/* A thread behind the calls would ask the remote store. */
static void look_further(pg_engine *e, pg_str key, const pg_cache_judge *say, const char *miss,
                         ptxgen_cache_why_result *r)
{
    pg_remote_look remote;
    char here[sizeof r->reason];
    snprintf(here, sizeof here, "%s", miss ? miss : "it was refused when it was compiled");
    r->found = pg_cache_remote_has(e->cache, key, say, &remote);
    if (r->found) {
        snprintf(r->place, sizeof r->place, "%s", pg_cache_remote_place(e->cache));
        snprintf(r->assembler, sizeof r->assembler, "%s", remote.made_by);
    } else {
        snprintf(r->reason, sizeof r->reason, "%.150s; %.100s: %.120s", here,
                 pg_cache_remote_place(e->cache), remote.why);
    }
}

static ptxgen_status look(ptxgen *ctx, ptxgen_kernel *k, ptxgen_cache_why_result *r,
                          ptxgen_error *err)
{
    pg_engine *e = ctx->engine;
    pg_entry_judge judge = {k, ""};
    const pg_cache_judge say = pg_entry_judge_of(&judge);
    PG_TRY(pg_write_key(&k->id, &e->extra_key, &k->key_text, err));
    const pg_str key = {pg_buf_text(&k->key_text), k->key_text.len};
    r->found = pg_cache_lookup_judged(e->cache, key, &say, &k->disk) == PG_CACHE_HIT;
    if (r->found) {
        snprintf(r->place, sizeof r->place, "%.1023s",
                 k->disk.layer ? k->disk.layer : ctx->cache_dir);
        snprintf(r->assembler, sizeof r->assembler, "%s", k->disk.assembler);
    } else if (pg_cache_has_remote(e->cache)) {
        look_further(e, key, &say, k->disk.miss, r);
    } else {
        snprintf(r->reason, sizeof r->reason, "%s",
                 k->disk.miss ? k->disk.miss : "it was refused when it was compiled");
    }
    return PTXGEN_OK;
}

ptxgen_status ptxgen_cache_why(ptxgen *ctx, const char *family, const char *params,
                               ptxgen_cache_why_result *out, ptxgen_error *err)
{
    pg_kernel_id id;
    ptxgen_kernel *k;
    ptxgen_cache_why_result r = {.size = sizeof r};
    PG_TRY(pg_kernel_id_parse(family ? family : "", params ? params : "", 0, &id, err));
    PG_TRY(pg_kernel_create(ctx->engine, &id, &k, err));
    const ptxgen_status status = look(ctx, k, &r, err);
    ptxgen_kernel_unref(k);
    if (status == PTXGEN_OK)
        pg_sized_give(out, &r, sizeof r);
    return status;
}
