/* One list of jobs in the order of arrival, under one lock. Jobs are made and freed outside of
 * it. */
#include "engine/compile_pool.h"

#include "base/error.h"
#include "base/fork_guard.h"
#include "base/lock.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_THREADS_MAX = 4, DEFAULT_QUEUE = 1024, FAILURES_MAX = 64 };
enum { DOZE_NS = 300000, DOZES = 20 };

typedef enum job_state { WAITING, RUNNING, FAILED } job_state;

typedef struct job {
    struct job *next;
    job_state state;
    pg_kernel_id id;
    pg_fleet fleet;
    ptxgen_error error; /* FAILED */
} job;

struct pg_compile_pool {
    pg_kernel_store *kernels;
    pg_alloc alloc;
    uint32_t max_threads, max_waiting;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t work;  /* something waits, or `stopping` */
    bool stopping, jobs_turn, all_started;
    pthread_t threads[PG_POOL_THREADS_MAX];
    uint32_t thread_count, idle, dozing;
    uint32_t waiting, running, failures;
    pg_pool_task *tasks, **last_task; /* those that wait; *last_task is NULL */
    uint32_t tasks_waiting;
    job *jobs;
    job *inherited; /* a forked child's: the parent's jobs, freed at the next occasion */
};

/* ---- the list; under the lock ---- */

static job **find(pg_compile_pool *p, const pg_kernel_id *id)
{
    job **link = &p->jobs;
    while (*link && !pg_kernel_id_same(&(*link)->id, id))
        link = &(*link)->next;
    return link;
}

static job **first_in(pg_compile_pool *p, job_state state)
{
    job **link = &p->jobs;
    while (*link && (*link)->state != state)
        link = &(*link)->next;
    return link;
}

/* Moves a job out of the list in front of *to. */
static void move_out(job **link, job **to)
{
    job *j = *link;
    *link = j->next;
    j->next = *to;
    *to = j;
}

static void append(pg_compile_pool *p, job *j)
{
    job **link = &p->jobs;
    while (*link)
        link = &(*link)->next;
    j->next = NULL;
    *link = j;
}

/* Without the lock. */
static void free_jobs(pg_compile_pool *p, job *jobs)
{
    for (job *next; jobs; jobs = next) {
        next = jobs->next;
        pg_free(&p->alloc, jobs, sizeof *jobs);
    }
}

/* ---- workers ---- */

/* The result of a job, under the lock; what is no longer needed goes to *done. In a child that a
 * worker forked (a log hook may do that) the job is not in the list any more. */
static void finish(pg_compile_pool *p, job *j, ptxgen_status status, const ptxgen_error *error,
                   job **done)
{
    job **link = &p->jobs;
    while (*link && *link != j)
        link = &(*link)->next;
    if (!*link)
        return;
    p->running--;
    if (status == PTXGEN_OK) {
        move_out(link, done);
        return;
    }
    j->error = *error;
    j->state = FAILED;
    if (++p->failures > FAILURES_MAX) {
        move_out(first_in(p, FAILED), done);
        p->failures--;
    }
}

/* For some milliseconds after work a thread looks for more by itself: waking it costs a call
 * that must not stall more than queueing does. */
static void doze(pg_compile_pool *p)
{
    p->dozing++;
    pthread_mutex_unlock(&p->lock);
    nanosleep(&(struct timespec){.tv_nsec = DOZE_NS}, NULL);
    pthread_mutex_lock(&p->lock);
    p->dozing--;
}

/* false: the pool stops. */
static bool wait_for_work(pg_compile_pool *p)
{
    for (int dozes = 0; !p->stopping && !p->waiting && !p->tasks;) {
        if (dozes++ < DOZES) {
            doze(p);
            continue;
        }
        p->idle++;
        pthread_cond_wait(&p->work, &p->lock);
        p->idle--;
    }
    return !p->stopping;
}

/* Whether a thread has to be woken for what was queued last. */
static bool needs_waking(const pg_compile_pool *p)
{
    return !p->dozing && p->idle;
}

static void wake_one(pg_compile_pool *p)
{
    if (needs_waking(p))
        pthread_cond_signal(&p->work);
}

/* Another machine is at it: the thread may do something else first. The lock is held. */
static void pause_for(pg_compile_pool *p, const pg_fleet *a)
{
    const uint32_t ms = pg_fleet_pause_ms(a);
    if (!ms || p->stopping)
        return;
    pthread_mutex_unlock(&p->lock);
    nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
    pthread_mutex_lock(&p->lock);
}

static void append_task(pg_compile_pool *p, pg_pool_task *t)
{
    t->next = NULL;
    *p->last_task = t;
    p->last_task = &t->next;
    p->tasks_waiting++;
}

/* The lock is held before and after; likewise below. */
static void do_task(pg_compile_pool *p)
{
    pg_pool_task *t = p->tasks;
    p->tasks = t->next;
    if (!p->tasks)
        p->last_task = &p->tasks;
    p->tasks_waiting--;
    p->running++;
    if (p->tasks) /* who queued it woke one thread at most */
        wake_one(p);
    const unsigned generation = pg_fork_generation();
    pthread_mutex_unlock(&p->lock);
    const bool done = t->run(t);
    pthread_mutex_lock(&p->lock);
    if (pg_fork_generation() == generation)
        p->running--;
    if (!done) {
        const pg_fleet fleet = t->fleet;
        append_task(p, t);
        pause_for(p, &fleet);
    }
}

static job *take_job(pg_compile_pool *p)
{
    job *j = *first_in(p, WAITING);
    j->state = RUNNING;
    p->waiting--;
    p->running++;
    if (p->waiting)
        wake_one(p);
    return j;
}

/* To the end of the list. The lock is held. */
static void put_off(pg_compile_pool *p, job *j)
{
    const pg_fleet fleet = j->fleet;
    job **link = &p->jobs;
    while (*link && *link != j)
        link = &(*link)->next;
    if (!*link) /* a child's parent has it */
        return;
    *link = j->next;
    append(p, j);
    j->state = WAITING;
    p->running--;
    p->waiting++;
    pause_for(p, &fleet);
}

static void do_job(pg_compile_pool *p)
{
    job *const j = take_job(p), *done = NULL;
    pthread_mutex_unlock(&p->lock);
    ptxgen_kernel *k = NULL;
    ptxgen_error error = {0};
    const bool begun = pg_fleet_begin(p->kernels, &j->id, &j->fleet);
    if (!begun) {
        pthread_mutex_lock(&p->lock);
        put_off(p, j);
        return;
    }
    pg_fleet fleet = j->fleet;
    const ptxgen_status status =
        pg_kernel_store_get(p->kernels, &j->id, PG_BUILD_AHEAD, &k, &error);
    pg_fleet_end(p->kernels, &fleet);
    ptxgen_kernel_unref(k);
    pthread_mutex_lock(&p->lock);
    finish(p, j, status, &error, &done);
    pthread_mutex_unlock(&p->lock);
    free_jobs(p, done);
    pthread_mutex_lock(&p->lock);
}

/* Tasks go first; one that another machine is at takes turns with the jobs. */
static bool is_tasks_turn(pg_compile_pool *p)
{
    if (!p->tasks || !p->waiting || !p->tasks->fleet.rounds)
        return p->tasks != NULL;
    p->jobs_turn = !p->jobs_turn;
    return !p->jobs_turn;
}

static void *work(void *user)
{
    pg_compile_pool *p = user;
    pthread_mutex_lock(&p->lock);
    while (wait_for_work(p)) {
        if (is_tasks_turn(p))
            do_task(p);
        else
            do_job(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* One more thread, without the host's signal handlers on it. */
static void start_thread(pg_compile_pool *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&p->threads[p->thread_count], NULL, work, p) == 0) {
        pthread_setname_np(p->threads[p->thread_count], "ptxgen-compile");
        p->thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* One more thread if all are busy. false: no thread at all. */
static bool provide_thread(pg_compile_pool *p)
{
    if (p->idle + p->dozing < p->waiting + p->tasks_waiting && p->thread_count < p->max_threads)
        start_thread(p);
    return p->thread_count > 0;
}

/* All threads with the first task: starting one costs tens of microseconds, and the calls that
 * bring the next tasks may not stall. false: no thread at all. */
static bool provide_threads(pg_compile_pool *p)
{
    for (uint32_t i = p->thread_count; !p->all_started && i < p->max_threads; i++)
        start_thread(p);
    p->all_started = p->thread_count > 0; /* a few fewer will do */
    return p->all_started;
}

/* ---- the interface ---- */

ptxgen_status pg_compile_pool_create(pg_kernel_store *kernels, const pg_compile_pool_config *config,
                                     pg_compile_pool **out, ptxgen_error *err)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t usual = cpus < 1                     ? 1
                           : cpus < DEFAULT_THREADS_MAX ? (uint32_t)cpus
                                                        : DEFAULT_THREADS_MAX;
    if (config->threads > PG_POOL_THREADS_MAX)
        return pg_fail(err, PTXGEN_EINVAL, "prefetch_threads is %u: use 0 (automatic) to %d",
                       config->threads, (int)PG_POOL_THREADS_MAX);
    pg_compile_pool *p = pg_alloc_zero(&kernels->engine->alloc, sizeof *p);
    if (!p)
        return pg_fail_memory(err, sizeof *p);
    p->kernels = kernels;
    p->alloc = kernels->engine->alloc;
    p->last_task = &p->tasks;
    p->max_threads = config->threads ? config->threads : usual;
    p->max_waiting = config->queue ? config->queue : DEFAULT_QUEUE;
    pg_lock_init(&p->lock);
    pthread_cond_init(&p->work, NULL);
    *out = p;
    return PTXGEN_OK;
}

void pg_compile_pool_stop(pg_compile_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->work);
    const uint32_t count = p->thread_count;
    p->thread_count = 0;
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(p->threads[i], NULL);
}

void pg_compile_pool_destroy(pg_compile_pool *p)
{
    if (!p)
        return;
    free_jobs(p, p->jobs);
    free_jobs(p, p->inherited);
    for (pg_pool_task *t = p->tasks, *next; t; t = next) {
        next = t->next;
        t->drop(t);
    }
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    const pg_alloc alloc = p->alloc;
    pg_free(&alloc, p, sizeof *p);
}

static ptxgen_status fail_full(const pg_compile_pool *p, ptxgen_error *err)
{
    return pg_fail(err, PTXGEN_EBUDGET,
                   "%u kernels wait to be compiled in the background, the limit: call "
                   "ptxgen_compile, or try again later (prefetch_queue in ptxgen_config)",
                   p->waiting + p->tasks_waiting);
}

static ptxgen_status fail_threads(ptxgen_error *err)
{
    return pg_fail(err, PTXGEN_ENOMEM,
                   "no thread could be started for compiling in the background: the limit of "
                   "threads or memory is reached; call ptxgen_compile");
}

/* Queues *fresh unless the job is there already; *fresh is then NULL. What is not needed goes to
 * *done. */
static ptxgen_status enqueue(pg_compile_pool *p, job **fresh, job **done, ptxgen_error *err)
{
    job **link = find(p, &(*fresh)->id);
    if (*link && (*link)->state != FAILED)
        return PTXGEN_OK;
    if (p->waiting >= p->max_waiting)
        return fail_full(p, err);
    if (*link) {
        move_out(link, done);
        p->failures--;
    }
    append(p, *fresh);
    p->waiting++;
    if (!provide_thread(p)) {
        link = find(p, &(*fresh)->id);
        *link = NULL; /* it is the last */
        p->waiting--;
        return fail_threads(err);
    }
    *fresh = NULL;
    wake_one(p);
    return PTXGEN_OK;
}

ptxgen_status pg_compile_pool_submit(pg_compile_pool *p, const pg_kernel_id *id, ptxgen_error *err)
{
    job *fresh = pg_alloc_zero(&p->alloc, sizeof *fresh), *done = NULL;
    if (!fresh)
        return pg_fail_memory(err, sizeof *fresh);
    fresh->id = *id;
    pthread_mutex_lock(&p->lock);
    job *inherited = p->inherited;
    p->inherited = NULL;
    const ptxgen_status status = enqueue(p, &fresh, &done, err);
    pthread_mutex_unlock(&p->lock);
    free_jobs(p, inherited);
    free_jobs(p, done);
    free_jobs(p, fresh);
    return status;
}

ptxgen_status pg_compile_pool_add(pg_compile_pool *p, pg_pool_task *t, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    bool wakes = false;
    pthread_mutex_lock(&p->lock);
    if (p->tasks_waiting >= p->max_waiting) {
        status = fail_full(p, err);
    } else {
        pg_pool_task **const place = p->last_task;
        append_task(p, t);
        if (provide_threads(p)) {
            wakes = needs_waking(p);
        } else { /* it is the last, and nobody has seen it */
            *place = NULL;
            p->last_task = place;
            p->tasks_waiting--;
            status = fail_threads(err);
        }
    }
    pthread_mutex_unlock(&p->lock);
    if (wakes) /* not under the lock, which the woken thread would wait for, and then this one */
        pthread_cond_signal(&p->work);
    return status;
}

ptxgen_status pg_compile_pool_poll(pg_compile_pool *p, const pg_kernel_id *id, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    pthread_mutex_lock(&p->lock);
    const job *j = *find(p, id);
    if (j && j->state == FAILED) {
        status = j->error.status;
        if (err)
            *err = j->error;
    } else if (j) {
        status = PTXGEN_EPENDING;
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

void pg_compile_pool_forget(pg_compile_pool *p)
{
    job *done = NULL;
    pthread_mutex_lock(&p->lock);
    for (job **link; *(link = first_in(p, FAILED));)
        move_out(link, &done);
    p->failures = 0;
    pthread_mutex_unlock(&p->lock);
    free_jobs(p, done);
}

uint64_t pg_compile_pool_pending(pg_compile_pool *p)
{
    pthread_mutex_lock(&p->lock);
    const uint64_t pending = (uint64_t)p->waiting + p->tasks_waiting + p->running;
    pthread_mutex_unlock(&p->lock);
    return pending;
}

void pg_compile_pool_before_fork(pg_compile_pool *p)
{
    pthread_mutex_lock(&p->lock);
}

void pg_compile_pool_after_fork(pg_compile_pool *p, bool child)
{
    if (child) {
        while (p->jobs)
            move_out(&p->jobs, &p->inherited);
        p->thread_count = p->idle = p->dozing = 0;
        p->waiting = p->running = p->failures = 0;
        p->all_started = false;
        p->tasks = NULL; /* the parent makes them; a child asks anew */
        p->last_task = &p->tasks;
        p->tasks_waiting = 0;
        p->work =
            (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* its waiters exist in the parent only */
    }
    pthread_mutex_unlock(&p->lock);
}
