/* ptxgen_create and ptxgen_destroy: configuration, defaults from the environment, the parts. */
#include "api/context.h"

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

/* Words of the environment; the value is the place in the list. */
static const char *const assembler_words[] = {"auto",      "ptxas",  "nvptxcompiler",
                                              "nvjitlink", "driver", NULL};
static const char *const device_words[] = {"auto", "cuda", "emulator", NULL};
static const char *const cache_words[] = {"", "on", "off", NULL}; /* as the enum; "" is unset */
static const char *const log_words[] = {"error", "warning", "info", "debug", NULL};

/* The value of an environment variable that takes one of `words`; unset leaves *value alone. */
static ptxgen_status word_value(const char *variable, const char *text, const char *const *words,
                                int *value, ptxgen_error *err)
{
    if (!text || !*text)
        return PTXGEN_OK;
    char list[128] = "";
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *value = i;
            return PTXGEN_OK;
        }
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", words[i]);
    }
    return pg_fail(err, PTXGEN_EINVAL, "%s=%.60s is not one of: %s", variable, text, list);
}

static ptxgen_status merge_environment(ptxgen_config *c, const pg_environment *e, ptxgen_error *err)
{
    if ((unsigned)c->device > PTXGEN_DEVICE_EMULATOR)
        return pg_fail(err, PTXGEN_EINVAL,
                       "config.device is %d: use a PTXGEN_DEVICE_ value, 0 to %d", (int)c->device,
                       (int)PTXGEN_DEVICE_EMULATOR);
    if ((unsigned)c->assembler > PTXGEN_ASSEMBLER_DRIVER)
        return pg_fail(err, PTXGEN_EINVAL,
                       "config.assembler is %d: use a PTXGEN_ASSEMBLER_ value, 0 to %d",
                       (int)c->assembler, (int)PTXGEN_ASSEMBLER_DRIVER);
    int assembler = (int)c->assembler, device = (int)c->device, level = (int)c->log_level;
    int cache = (int)c->cache;
    if (c->cache == PTXGEN_CACHE_AUTO)
        PG_TRY(word_value("PTXGEN_CACHE", e->cache, cache_words, &cache, err));
    if (c->assembler == PTXGEN_ASSEMBLER_AUTO)
        PG_TRY(word_value("PTXGEN_ASSEMBLER", e->assembler, assembler_words, &assembler, err));
    if (c->device == PTXGEN_DEVICE_AUTO)
        PG_TRY(word_value("PTXGEN_DEVICE", e->device, device_words, &device, err));
    if (c->log_level == PTXGEN_LOG_ERROR)
        PG_TRY(word_value("PTXGEN_LOG", e->log_level, log_words, &level, err));
    c->cache = (ptxgen_cache_use)cache;
    c->assembler = (ptxgen_assembler)assembler;
    c->device = (ptxgen_device_kind)device;
    c->log_level = (ptxgen_log_level)level;
    if (!c->toolkit_dir)
        c->toolkit_dir = e->toolkit;
    if (c->cache == PTXGEN_CACHE_OFF) {
        c->cache_dir = "";
        c->cache_layer_count = 0;
    } else if (!c->cache_dir) {
        c->cache_dir = e->cache_dir;
    }
    return PTXGEN_OK;
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
    pg_kernel_store_before_fork(&ctx->kernels);
}

static void after_fork(void *user, bool child)
{
    ptxgen *ctx = user;
    pg_kernel_store_after_fork(&ctx->kernels, child);
    pg_compile_pool_after_fork(ctx->pool, child);
}

static pg_engine_config engine_config(const ptxgen_config *c, const pg_environment *e)
{
    return (pg_engine_config){
        .alloc = c->realloc ? (pg_alloc){c->realloc, c->user} : pg_alloc_libc,
        .log = {c->log, c->user, c->log_level},
        .device_kind = c->device,
        .toolkit = {.toolkit_dir = c->toolkit_dir,
                    .cuda_home = e->cuda_home,
                    .path = e->path,
                    .wanted = c->assembler},
        .cache = {.dir = c->cache_dir,
                  .wait_ms = c->cache_wait_ms,
                  .trust = c->cache_trust == PTXGEN_CACHE_TRUST_ANY ? PG_CACHE_TRUST_ANY
                                                                    : PG_CACHE_TRUST_OWNER,
                  .failure_ttl = c->cache_failure_s,
                  .max_bytes = c->cache_max_bytes,
                  .max_entries = c->cache_max_entries,
                  .layers = c->cache_layers,
                  .layer_count = c->cache_layer_count},
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
    return copy_record_path(ctx, c->record_manifest, err);
}

static ptxgen_status create(const ptxgen_config *c, const pg_environment *e, ptxgen **out,
                            ptxgen_error *err)
{
    const pg_engine_config config = engine_config(c, e);
    pg_engine *engine;
    PG_TRY(pg_engine_create(&config, &engine, err));
    ptxgen *ctx = pg_alloc_zero(&config.alloc, sizeof *ctx);
    if (!ctx) {
        pg_engine_unref(engine);
        return pg_fail_memory(err, sizeof *ctx);
    }
    ctx->engine = engine;
    const ptxgen_status status = create_parts(ctx, c, err);
    if (status != PTXGEN_OK) {
        ptxgen_destroy(ctx);
        return status;
    }
    ctx->watcher = (pg_fork_watcher){.before = before_fork, .after = after_fork, .user = ctx};
    pg_fork_watch(&ctx->watcher);
    *out = ctx;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_create(const ptxgen_config *config, ptxgen **out, ptxgen_error *err)
{
    ptxgen_config c = {0};
    pg_environment environment;
    *out = NULL;
    if (config)
        PG_TRY(pg_sized_take(&c, sizeof c, config, "config", "ptxgen_config", err));
    pg_environment_read(&environment);
    PG_TRY(merge_environment(&c, &environment, err));
    if (c.cache_dir[0] && c.cache_dir[0] != '/')
        return pg_fail(
            err, PTXGEN_EINVAL, "%s \"%.200s\" is not an absolute path: write it from / on",
            c.cache_dir == environment.cache_dir ? "PTXGEN_CACHE_DIR" : "cache_dir", c.cache_dir);
    return create(&c, &environment, out, err);
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
    pg_engine *engine = ctx->engine;
    if (ctx->pool)
        pg_compile_pool_stop(ctx->pool);
    write_manifest(ctx);
    pg_fork_unwatch(&ctx->watcher);
    pg_compile_pool_destroy(ctx->pool);
    pg_kernel_store_fini(&ctx->kernels);
    if (ctx->record_path)
        pg_free(&engine->alloc, ctx->record_path, strlen(ctx->record_path) + 1);
    pg_free(&engine->alloc, ctx, sizeof *ctx);
    pg_engine_unref(engine);
}

bool ptxgen_part_at(ptxgen *ctx, size_t i, ptxgen_part *out)
{
    return pg_toolkit_part(ctx->engine->toolkit, i, out);
}
