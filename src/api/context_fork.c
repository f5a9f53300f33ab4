/* fork() and contexts: why each lock is treated as it is, is said at the head of context.h. */
#include "api/context.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static ptxgen *contexts; /* through ptxgen.next */

static void before_fork(void)
{
    pthread_mutex_lock(&list_lock);
    for (ptxgen *ctx = contexts; ctx; ctx = ctx->next) {
        pg_compile_pool_before_fork(ctx->pool);
        pg_manifest_record_before_fork(ctx->asked);
        pg_kernel_table_before_fork(ctx->kernels);
        pg_text_memo_before_fork(ctx->texts);
        pg_refusals_before_fork(ctx->refusals);
    }
}

static void after_fork(bool child)
{
    for (ptxgen *ctx = contexts; ctx; ctx = ctx->next) {
        pg_refusals_after_fork(ctx->refusals);
        pg_text_memo_after_fork(ctx->texts);
        pg_kernel_table_after_fork(ctx->kernels, child);
        pg_manifest_record_after_fork(ctx->asked);
        pg_compile_pool_after_fork(ctx->pool, child);
        if (child) {
            ctx->device_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
            for (int i = 0; i < PG_LOAD_LOCKS; i++)
                ctx->load_locks[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        }
    }
    pthread_mutex_unlock(&list_lock);
}

static void after_fork_in_parent(void)
{
    after_fork(false);
}

static void after_fork_in_child(void)
{
    after_fork(true);
}

static void install(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void pg_context_watch_fork(ptxgen *ctx)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    pthread_mutex_lock(&list_lock);
    ctx->next = contexts;
    contexts = ctx;
    pthread_mutex_unlock(&list_lock);
}

void pg_context_unwatch_fork(ptxgen *ctx)
{
    pthread_mutex_lock(&list_lock);
    ptxgen **link = &contexts;
    while (*link && *link != ctx)
        link = &(*link)->next;
    if (*link)
        *link = ctx->next;
    pthread_mutex_unlock(&list_lock);
}
