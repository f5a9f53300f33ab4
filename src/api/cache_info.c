/* The context's cache, in memory and on disk: its numbers, and emptying it. */
#include "api/context.h"

#include "base/error.h"
#include "base/sized.h"

void ptxgen_cache_get_info(ptxgen *ctx, ptxgen_cache_info *info)
{
    ptxgen_cache_info i = {.size = sizeof i};
    pg_cache_fill_info(ctx->engine->cache, &i);
    i.on_disk = i.dir[0] != 0;
    i.dir = ctx->cache_dir;
    pg_kernel_table_counts(ctx->kernels.table, &i.memory_hits, &i.entries);
    i.memory_hits += pg_text_memo_hits(ctx->kernels.texts) + pg_call_memo_hits(ctx->kernels.calls);
    i.failure_hits += pg_refusals_hits(ctx->engine->refusals);
    i.misses = atomic_load(&ctx->engine->misses);
    i.rejected = atomic_load(&ctx->engine->rejected);
    i.pending = pg_compile_pool_pending(ctx->pool);
    i.compiles_in_call = atomic_load(&ctx->compiles_in_call);
    const pg_standby *s = &ctx->standby;
    i.generic_calls = atomic_load(&s->generic_calls);
    i.other_bits_calls = atomic_load(&s->other_bits_calls);
    i.special_made = atomic_load(&s->made);
    i.special_us = i.special_made ? atomic_load(&s->made_us) / i.special_made : 0;
    i.special_slowest_us = atomic_load(&s->slowest_us);
    pg_sized_give(info, &i, sizeof i);
}

ptxgen_status ptxgen_cache_remote_ping(ptxgen *ctx, double *us, ptxgen_error *err)
{
    return pg_cache_remote_ping(ctx->engine->cache, us, err);
}

ptxgen_status ptxgen_cache_clear(ptxgen *ctx, bool disk, ptxgen_error *err)
{
    pg_compile_pool_forget(ctx->pool);
    pg_refusals_clear(ctx->engine->refusals);
    pg_choices_clear(ctx->standby.choices);
    pg_kernel_store_clear(&ctx->kernels);
    return disk ? pg_cache_clear(ctx->engine->cache, err) : PTXGEN_OK;
}
