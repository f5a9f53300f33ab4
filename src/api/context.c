/* ptxgen_create and ptxgen_destroy: configuration, defaults from the environment, the parts. */
#include "api/context.h"

#include "base/error.h"
#include "base/str.h"

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
    ctx->record_path = pg_alloc_zero(&ctx->alloc, strlen(path) + 1);
    if (!ctx->record_path)
        return pg_fail_memory(err, strlen(path) + 1);
    memcpy(ctx->record_path, path, strlen(path) + 1);
    return PTXGEN_OK;
}

static ptxgen_status create_parts(ptxgen *ctx, const ptxgen_config *c, const pg_environment *e,
                                  ptxgen_error *err)
{
    const pg_toolkit_config toolkit = {.toolkit_dir = c->toolkit_dir,
                                       .cuda_home = e->cuda_home,
                                       .path = e->path,
                                       .wanted = c->assembler};
    const pg_cache_config cache = {
        .dir = c->cache_dir,
        .wait_ms = c->cache_wait_ms,
        .trust =
            c->cache_trust == PTXGEN_CACHE_TRUST_ANY ? PG_CACHE_TRUST_ANY : PG_CACHE_TRUST_OWNER,
        .failure_ttl = c->cache_failure_s,
        .max_bytes = c->cache_max_bytes,
        .max_entries = c->cache_max_entries,
        .layers = c->cache_layers,
        .layer_count = c->cache_layer_count,
    };
    const pg_compile_pool_config pool = {c->prefetch_threads, c->prefetch_queue};
    snprintf(ctx->cache_dir, sizeof ctx->cache_dir, "%s", c->cache_dir);
    PG_TRY(pg_kernel_table_create(&ctx->alloc, &ctx->kernels, err));
    PG_TRY(pg_text_memo_create(&ctx->alloc, &ctx->texts, err));
    PG_TRY(pg_refusals_create(&ctx->alloc, c->cache_failure_s, &ctx->refusals, err));
    PG_TRY(pg_manifest_record_create(&ctx->alloc, &ctx->asked, err));
    PG_TRY(pg_compile_pool_create(ctx, &pool, &ctx->pool, err));
    PG_TRY(copy_record_path(ctx, c->record_manifest, err));
    PG_TRY(pg_write_extra_key(c->extra_key, c->extra_key_count, &ctx->extra_key, err));
    PG_TRY(pg_toolkit_create(&ctx->alloc, &ctx->log, &toolkit, &ctx->toolkit, err));
    return pg_cache_create(&ctx->alloc, &ctx->log, &cache, &ctx->cache, err);
}

ptxgen_status ptxgen_create(const ptxgen_config *config, ptxgen **out, ptxgen_error *err)
{
    ptxgen_config c = {0};
    pg_environment environment;
    *out = NULL;
    if (config) {
        if (config->size < sizeof(size_t) || config->size > 4096)
            return pg_fail(err, PTXGEN_EINVAL,
                           "config.size is %zu: set it to sizeof(ptxgen_config)", config->size);
        memcpy(&c, config, config->size < sizeof c ? config->size : sizeof c);
    }
    pg_environment_read(&environment);
    PG_TRY(merge_environment(&c, &environment, err));
    if (c.cache_dir[0] && c.cache_dir[0] != '/')
        return pg_fail(
            err, PTXGEN_EINVAL, "%s \"%.200s\" is not an absolute path: write it from / on",
            c.cache_dir == environment.cache_dir ? "PTXGEN_CACHE_DIR" : "cache_dir", c.cache_dir);

    const pg_alloc alloc = c.realloc ? (pg_alloc){c.realloc, c.user} : pg_alloc_libc;
    ptxgen *ctx = pg_alloc_zero(&alloc, sizeof *ctx);
    if (!ctx)
        return pg_fail_memory(err, sizeof *ctx);
    atomic_init(&ctx->refs, 1);
    ctx->alloc = alloc;
    ctx->log = (pg_log){c.log, c.user, c.log_level};
    ctx->device_kind = c.device;
    pg_buf_init(&ctx->extra_key, &ctx->alloc);
    pthread_mutex_init(&ctx->device_lock, NULL);
    for (int i = 0; i < PG_LOAD_LOCKS; i++)
        pthread_mutex_init(&ctx->load_locks[i], NULL);
    const ptxgen_status status = create_parts(ctx, &c, &environment, err);
    if (status != PTXGEN_OK) {
        ptxgen_destroy(ctx);
        return status;
    }
    pg_context_watch_fork(ctx);
    *out = ctx;
    return PTXGEN_OK;
}

void pg_context_unref(ptxgen *ctx)
{
    if (atomic_fetch_sub(&ctx->refs, 1) != 1)
        return;
    pg_context_unwatch_fork(ctx);
    if (ctx->texts)
        pg_text_memo_destroy(ctx->texts);
    if (ctx->kernels)
        pg_kernel_table_destroy(ctx->kernels);
    pg_device *device = atomic_load(&ctx->device);
    if (device)
        device->ops->destroy(device);
    if (ctx->cache)
        pg_cache_destroy(ctx->cache);
    if (ctx->toolkit)
        pg_toolkit_destroy(ctx->toolkit);
    pg_compile_pool_destroy(ctx->pool);
    pg_manifest_record_destroy(ctx->asked);
    pg_refusals_destroy(ctx->refusals);
    if (ctx->record_path)
        pg_free(&ctx->alloc, ctx->record_path, strlen(ctx->record_path) + 1);
    pg_buf_fini(&ctx->extra_key);
    pthread_mutex_destroy(&ctx->device_lock);
    for (int i = 0; i < PG_LOAD_LOCKS; i++)
        pthread_mutex_destroy(&ctx->load_locks[i]);
    const pg_alloc alloc = ctx->alloc;
    pg_free(&alloc, ctx, sizeof *ctx);
}

static void write_manifest(ptxgen *ctx)
{
    ptxgen_error err;
    if (ctx->record_path &&
        pg_manifest_record_write(ctx->asked, ctx->record_path, &err) != PTXGEN_OK)
        pg_log_line(&ctx->log, PTXGEN_LOG_WARNING, "%s", err.message);
}

void ptxgen_destroy(ptxgen *ctx)
{
    if (!ctx)
        return;
    if (ctx->pool)
        pg_compile_pool_stop(ctx->pool);
    write_manifest(ctx);
    if (ctx->texts)
        pg_text_memo_clear(ctx->texts);
    if (ctx->kernels)
        pg_kernel_table_clear(ctx->kernels);
    pg_context_unref(ctx);
}

static ptxgen_status create_device(ptxgen *ctx, pg_device **out, ptxgen_error *err)
{
    if (ctx->device_kind == PTXGEN_DEVICE_EMULATOR)
        return pg_emulator_device_create(&ctx->alloc, &ctx->log, out, err);
    ptxgen_error missing = {0}; /* no failure of the call when the emulator takes its place */
    const ptxgen_status status = pg_cuda_device_create(&ctx->alloc, &ctx->log, out, &missing);
    if (status == PTXGEN_EMISSING && ctx->device_kind == PTXGEN_DEVICE_AUTO)
        return pg_emulator_device_create(&ctx->alloc, &ctx->log, out, err);
    if (status != PTXGEN_OK && err)
        *err = missing;
    return status;
}

ptxgen_status pg_context_device(ptxgen *ctx, pg_device **out, ptxgen_error *err)
{
    *out = atomic_load_explicit(&ctx->device, memory_order_acquire);
    if (*out)
        return PTXGEN_OK;
    ptxgen_status status = PTXGEN_OK;
    pthread_mutex_lock(&ctx->device_lock);
    *out = atomic_load(&ctx->device);
    if (!*out) {
        status = create_device(ctx, out, err);
        if (status == PTXGEN_OK)
            atomic_store(&ctx->device, *out);
    }
    pthread_mutex_unlock(&ctx->device_lock);
    return status;
}
