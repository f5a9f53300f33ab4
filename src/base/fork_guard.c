/* A counter of running compilations under a mutex that fork() holds. A read-write lock would be
 * shorter, but its owner is a thread id, and the child's thread has another one. */
#include "base/fork_guard.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int compiling, forking; /* under lock */
static _Thread_local int mine; /* this thread's share of `compiling` */
static atomic_uint generation;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pg_fork_watcher *watchers; /* under list_lock, which fork() holds */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    forking++; /* holds back new compilations, so that a busy process can fork at all */
    while (compiling && !mine)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_lock(&list_lock);
    for (pg_fork_watcher *w = watchers; w; w = w->next)
        w->before(w->user);
}

static void tell_watchers(bool child)
{
    for (pg_fork_watcher *w = watchers; w; w = w->next)
        w->after(w->user, child);
    pthread_mutex_unlock(&list_lock);
}

static void after_fork_in_parent(void)
{
    tell_watchers(false);
    forking--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    tell_watchers(true);
    forking = 0;
    compiling = mine;
    /* Threads that waited here exist in the parent only. */
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void install(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void pg_compile_begin(void)
{
    pthread_once(&once, install);
    pthread_mutex_lock(&lock);
    while (forking)
        pthread_cond_wait(&changed, &lock);
    compiling++;
    mine = 1;
    pthread_mutex_unlock(&lock);
}

void pg_compile_end(void)
{
    pthread_mutex_lock(&lock);
    mine = 0;
    if (--compiling == 0)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void pg_fork_watch(pg_fork_watcher *w)
{
    pthread_once(&once, install);
    pthread_mutex_lock(&list_lock);
    w->next = watchers;
    watchers = w;
    pthread_mutex_unlock(&list_lock);
}

void pg_fork_unwatch(pg_fork_watcher *w)
{
    pthread_mutex_lock(&list_lock);
    pg_fork_watcher **link = &watchers;
    while (*link && *link != w)
        link = &(*link)->next;
    if (*link)
        *link = w->next;
    pthread_mutex_unlock(&list_lock);
}

unsigned pg_fork_generation(void)
{
    pthread_once(&once, install);
    return atomic_load_explicit(&generation, memory_order_relaxed);
}
