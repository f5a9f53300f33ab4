/* ptxgen_create and ptxgen_destroy: configuration, defaults from the environment, the parts. */
#include "api/context.h"

#include "api/environment.h"
#include "base/error.h"
#include "base/sized.h"

#include <stdio.h>
#include <string.h>

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)

const char *ptxgen_version(void)
{
    return STRINGIFY(PTXGEN_VERSION_MAJOR) "." STRINGIFY(PTXGEN_VERSION_MINOR) "." STRINGIFY(
        PTXGEN_VERSION_PATCH);
}

static ptxgen_status copy_record_path(ptxgen *ctx, const char *path, ptxgen_error *err)
{
    if (!path || !*path)
        return PTXGEN_OK;
    ctx->record_path = pg_alloc_zero(&ctx->engine->alloc, strlen(path) + 1);
    if (!ctx->record_path)
        return pg_fail_memory(err, strlen(path) + 1);
    memcpy(ctx->record_path, path, strlen(path) + 1);
    return PTXGEN_OK;
}

static void before_fork(void *user)
{
    ptxgen *ctx = user;
    pg_compile_pool_before_fork(ctx->pool);
    pg_choices_before_fork(ctx->standby.choices);
    pg_kernel_store_before_fork(&ctx->kernels);
}

static void after_fork(void *user, bool child)
{
    ptxgen *ctx = user;
    pg_kernel_store_after_fork(&ctx->kernels, child);
    pg_choices_after_fork(ctx->standby.choices, child);
    pg_compile_pool_after_fork(ctx->pool, child);
}

static pg_cache_trust trust_of(const ptxgen_config *c)
{
    return c->cache_trust == PTXGEN_CACHE_TRUST_SIGNED ? PG_CACHE_TRUST_SIGNED
           : c->cache_trust == PTXGEN_CACHE_TRUST_ANY  ? PG_CACHE_TRUST_ANY
                                                       : PG_CACHE_TRUST_OWNER;
}

static pg_engine_config engine_config(const ptxgen_config *c, const char *user_toolkit)
{
    return (pg_engine_config){
        .alloc = c->realloc ? (pg_alloc){c->realloc, c->user} : pg_alloc_libc,
        .log = {c->log, c->user, c->log_level},
        .device_kind = c->device,
        .emulated_sms = c->emulated_sms,
        .toolkit = {.toolkit_dir = c->toolkit_dir,
                    .cuda_home = pg_environment("CUDA_HOME"),
                    .path = pg_environment("PATH"),
                    .user_dir = user_toolkit,
                    .timeout_ms = c->assembler_timeout_ms,
                    .wanted = c->assembler},
        .cache = {.dir = c->cache_dir,
                  .wait_ms = c->cache_wait_ms,
                  .trust = trust_of(c),
                  .trusted_keys = c->cache_keys,
                  .mac_key = c->cache_mac_key,
                  .remote = c->cache_remote,
                  .remote_timeout_ms = c->cache_remote_timeout_ms,
                  .remote_run_dir = pg_environment("XDG_RUNTIME_DIR"),
                  .remote_path = pg_environment("PATH"),
                  .sign_key = c->cache_sign_key,
                  .failure_ttl = c->cache_failure_s,
                  .max_bytes = c->cache_max_bytes,
                  .max_entries = c->cache_max_entries,
                  .layers = c->cache_layers,
                  .layer_count = c->cache_layer_count,
                  .must_exist = c->cache_look_only,
                  .observer = c->cache_look_only,
                  .readable = c->cache_readable},
        .accept = c->cache_assembler,
        .dump_dir = c->dump_dir,
        .tuning_file = c->tuning_file,
        .failure_s = c->cache_failure_s,
        .extra_key = c->extra_key,
        .extra_key_count = c->extra_key_count,
    };
}

/* What the context has besides the engine. */
static ptxgen_status create_parts(ptxgen *ctx, const ptxgen_config *c, ptxgen_error *err)
{
    const pg_compile_pool_config pool = {c->prefetch_threads, c->prefetch_queue};
    snprintf(ctx->cache_dir, sizeof ctx->cache_dir, "%s", c->cache_dir);
    PG_TRY(pg_kernel_store_init(&ctx->kernels, ctx->engine, err));
    PG_TRY(pg_compile_pool_create(&ctx->kernels, &pool, &ctx->pool, err));
    PG_TRY(pg_standby_init(&ctx->standby, &ctx->kernels, ctx->pool, err));
    ctx->stall = c->stall;
    return copy_record_path(ctx, c->record_manifest, err);
}

static ptxgen_status create(ptxgen *ctx, const ptxgen_config *c, ptxgen_error *err)
{
    char user_toolkit[PG_PATH_MAX + 1];
    pg_user_toolkit_dir(user_toolkit);
    const pg_engine_config config = engine_config(c, user_toolkit);
    PG_TRY(pg_engine_create(&config, &ctx->engine, err));
    PG_TRY(create_parts(ctx, c, err));
    ctx->watcher = (pg_fork_watcher){.before = before_fork, .after = after_fork, .user = ctx};
    pg_fork_watch(&ctx->watcher);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_create(const ptxgen_config *config, ptxgen **out, ptxgen_error *err)
{
    ptxgen_config c = {0};
    *out = NULL;
    if (config)
        PG_TRY(pg_sized_take(&c, sizeof c, config, "config", "ptxgen_config", err));
    const pg_alloc alloc = c.realloc ? (pg_alloc){c.realloc, c.user} : pg_alloc_libc;
    ptxgen *ctx = pg_alloc_zero(&alloc, sizeof *ctx);
    if (!ctx)
        return pg_fail_memory(err, sizeof *ctx);
    ctx->alloc = alloc;
    ptxgen_status status = pg_settings_fill(&ctx->settings, &ctx->alloc, &c, err);
    if (status == PTXGEN_OK)
        status = create(ctx, &c, err);
    if (status == PTXGEN_OK)
        *out = ctx;
    else
        ptxgen_destroy(ctx);
    return status;
}

bool ptxgen_setting_at(const ptxgen *ctx, size_t i, ptxgen_setting *out)
{
    return pg_setting_at(&ctx->settings, i, out);
}

static void write_manifest(ptxgen *ctx)
{
    ptxgen_error err;
    if (ctx->record_path &&
        pg_manifest_record_write(ctx->kernels.asked, ctx->record_path, &err) != PTXGEN_OK)
        pg_log_line(&ctx->engine->log, PTXGEN_LOG_WARNING, "%s", err.message);
}

void ptxgen_destroy(ptxgen *ctx)
{
    if (!ctx)
        return;
    if (ctx->pool)
        pg_compile_pool_stop(ctx->pool);
    write_manifest(ctx);
    if (ctx->watcher.user)
        pg_fork_unwatch(&ctx->watcher);
    pg_compile_pool_destroy(ctx->pool);
    pg_standby_fini(&ctx->standby);
    pg_kernel_store_fini(&ctx->kernels);
    if (ctx->record_path)
        pg_free(&ctx->alloc, ctx->record_path, strlen(ctx->record_path) + 1);
    pg_engine *engine = ctx->engine;
    const pg_alloc alloc = ctx->alloc;
    pg_settings_free(&ctx->settings);
    pg_free(&alloc, ctx, sizeof *ctx);
    if (engine)
        pg_engine_unref(engine);
}

bool ptxgen_part_at(ptxgen *ctx, size_t i, ptxgen_part *out)
{
    return pg_toolkit_part(ctx->engine->toolkit, i, out);
}
