/* Requests in two lists: questions, which somebody waits for, before what is only sent. The thread
 * takes one, carries it out without the lock, and says what came of it. */
#include "remote/remote.h"

#include "base/clock.h"
#include "base/fork_guard.h"
#include "remote/breaker.h"
#include "remote/helper_start.h"
#include "remote/transport.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { SENDS_MAX = 256, SENDS_BYTES_MAX = 64 << 20, DRAIN_MS = 5000, TOKEN_SIZE = 17 };

typedef enum kind { ASK_GET, ASK_CLAIM, ASK_PING, SEND_PUT, SEND_RELEASE } kind;

/* Of the one who asks until it is done or given up; then of the thread. */
typedef struct request {
    struct request *next;
    kind kind;
    pg_hash128 id;
    pg_buf bytes;
    bool taken, done, given_up;
    pg_wire wire;
    char why[200];
} request;

typedef struct list {
    request *first, **end;
    size_t count, bytes;
} list;

struct pg_remote {
    pg_alloc alloc;
    pg_log log;
    pg_remote_config config;
    pg_address address;
    char run_dir[PG_ADDRESS_TEXT], path[4096];
    pg_connection connection; /* the thread's */
    pg_breaker breaker;
    char token[TOKEN_SIZE]; /* whose claims these are */
    pthread_mutex_t lock;   /* of all below */
    pthread_cond_t work, answered;
    list asks, sends;
    bool running, stopping;
    pthread_t thread;
    int64_t stop_by_ms;
    pg_fork_watcher watcher;
};

/* ---- lists; under the lock ---- */

static void clear_list(list *l)
{
    *l = (list){.end = &l->first};
}

static void append(list *l, request *r)
{
    r->next = NULL;
    *l->end = r;
    l->end = &r->next;
    l->count++;
    l->bytes += r->bytes.len;
}

static request *take_first(list *l)
{
    request *r = l->first;
    if (!r)
        return NULL;
    l->first = r->next;
    if (!l->first)
        l->end = &l->first;
    l->count--;
    l->bytes -= r->bytes.len;
    return r;
}

static void take_out(list *l, request *r)
{
    request **link = &l->first;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    if (!*link)
        l->end = link;
    l->count--;
}

static void free_request(pg_remote *m, request *r)
{
    pg_buf_fini(&r->bytes);
    pg_free(&m->alloc, r, sizeof *r);
}

/* ---- the thread ---- */

static void note(pg_remote *m, pg_remote_event event, const char *why)
{
    m->config.note(m->config.user, event, why);
}

static pg_wire carry_out(pg_remote *m, request *r)
{
    pg_connection *c = &m->connection;
    const pg_transport *t = c->ops;
    switch (r->kind) {
    case ASK_GET:
        return t->get(c, r->id, &r->bytes);
    case ASK_CLAIM:
        return t->claim(c, r->id, m->token);
    case ASK_PING:
        return t->ping(c);
    case SEND_PUT:
        return t->put(c, r->id, (pg_str){r->bytes.data, r->bytes.len});
    case SEND_RELEASE:
        return t->release(c, r->id, m->token);
    }
    return PG_WIRE_LOST;
}

/* A connection that was good may have ended while nobody looked: then a fresh one is tried, within
 * the same time. */
static pg_wire try_out(pg_remote *m, request *r)
{
    pg_connection *c = &m->connection;
    c->deadline_ms = pg_clock_ms() + m->config.timeout_ms;
    for (;;) {
        const bool fresh = atomic_load(&c->fd) < 0;
        pg_wire w = fresh ? c->ops->open(c) : PG_WIRE_OK;
        if (w == PG_WIRE_OK)
            w = carry_out(m, r);
        if (w != PG_WIRE_LOST)
            return w;
        c->ops->close(c);
        if (fresh || pg_clock_ms() >= c->deadline_ms)
            return w;
        if (r->kind == ASK_GET)
            pg_buf_truncate(&r->bytes, 0);
    }
}

static void note_result(pg_remote *m, const request *r)
{
    if (r->wire == PG_WIRE_REFUSED || r->wire == PG_WIRE_LOST)
        note(m, PG_REMOTE_ERROR, r->why);
    else if (r->kind == SEND_PUT)
        note(m, PG_REMOTE_STORED, NULL);
    else if (r->kind == ASK_GET)
        note(m, r->wire == PG_WIRE_OK ? PG_REMOTE_HIT : PG_REMOTE_MISS, NULL);
}

static void perform(pg_remote *m, request *r)
{
    if (r->kind != ASK_PING && !pg_breaker_admits(&m->breaker, pg_clock_ms())) {
        r->wire = PG_WIRE_LOST;
        snprintf(r->why, sizeof r->why, "it did not answer a moment ago");
        if (r->kind == SEND_PUT)
            note(m, PG_REMOTE_DROPPED, r->why);
        return;
    }
    r->wire = try_out(m, r);
    snprintf(r->why, sizeof r->why, "%s", m->connection.why);
    if (pg_breaker_tell(&m->breaker, pg_clock_ms(), r->wire != PG_WIRE_LOST))
        note(m, PG_REMOTE_OPENED, r->why);
    note_result(m, r);
}

/* The next one, or NULL when the thread is to end. The lock is held. */
static request *next_request(pg_remote *m)
{
    for (;;) {
        request *r = take_first(&m->asks);
        if (!r && !(m->stopping && pg_clock_ms() >= m->stop_by_ms))
            r = take_first(&m->sends);
        if (r || m->stopping)
            return r;
        pthread_cond_wait(&m->work, &m->lock);
    }
}

static void *work(void *user)
{
    pg_remote *m = user;
    pthread_mutex_lock(&m->lock);
    for (request *r; (r = next_request(m));) {
        r->taken = true;
        pthread_mutex_unlock(&m->lock);
        perform(m, r);
        pthread_mutex_lock(&m->lock);
        r->done = true;
        if (r->kind >= SEND_PUT || r->given_up)
            free_request(m, r);
        else
            pthread_cond_broadcast(&m->answered);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* Without the host's signal handlers on it, and without SIGPIPE. The lock is held. */
static bool start(pg_remote *m)
{
    sigset_t all, before;
    if (m->running)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    m->running = pthread_create(&m->thread, NULL, work, m) == 0;
    if (m->running)
        pthread_setname_np(m->thread, "ptxgen-remote");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return m->running;
}

/* ---- asking ---- */

/* Whether it is done. The lock is held. */
static bool wait_for(pg_remote *m, request *r, uint32_t wait_us)
{
    struct timespec by;
    clock_gettime(CLOCK_MONOTONIC, &by);
    const int64_t ns = by.tv_nsec + (int64_t)wait_us * 1000;
    by.tv_sec += ns / 1000000000;
    by.tv_nsec = ns % 1000000000;
    int late = 0;
    while (!r->done && !late)
        late = wait_us ? pthread_cond_timedwait(&m->answered, &m->lock, &by) != 0
                       : pthread_cond_wait(&m->answered, &m->lock);
    return r->done;
}

static request *make(pg_remote *m, kind k, pg_hash128 id)
{
    request *r = pg_alloc_zero(&m->alloc, sizeof *r);
    if (r) {
        r->kind = k;
        r->id = id;
        pg_buf_init(&r->bytes, &m->alloc);
    }
    return r;
}

/* Asks and waits: a request that is done and the caller's, or NULL. */
static request *ask(pg_remote *m, kind k, pg_hash128 id, uint32_t wait_us)
{
    if (k != ASK_PING && !pg_breaker_admits(&m->breaker, pg_clock_ms()))
        return NULL;
    request *r = make(m, k, id);
    if (!r)
        return NULL;
    pthread_mutex_lock(&m->lock);
    bool done = false, mine = true;
    if (!m->stopping && start(m)) {
        append(&m->asks, r);
        pthread_cond_signal(&m->work);
        done = wait_for(m, r, wait_us);
        if (!done && !r->taken)
            take_out(&m->asks, r);
        else if (!done)
            mine = false;
        r->given_up = !mine;
    }
    pthread_mutex_unlock(&m->lock);
    if (!done && mine)
        free_request(m, r);
    return done ? r : NULL;
}

static pg_remote_answer answer_of(const request *r)
{
    return !r || r->wire >= PG_WIRE_REFUSED ? PG_REMOTE_SILENT
           : r->wire == PG_WIRE_OK          ? PG_REMOTE_YES
                                            : PG_REMOTE_NO;
}

pg_remote_answer pg_remote_get(pg_remote *m, pg_hash128 id, uint32_t wait_us, pg_buf *out)
{
    request *r = ask(m, ASK_GET, id, wait_us);
    const pg_remote_answer answer = answer_of(r);
    if (answer == PG_REMOTE_YES) {
        pg_buf_fini(out);
        *out = r->bytes;
        pg_buf_init(&r->bytes, &m->alloc);
    }
    if (r)
        free_request(m, r);
    return answer;
}

pg_remote_answer pg_remote_claim(pg_remote *m, pg_hash128 id)
{
    if (m->config.read_only || !m->connection.ops->claim)
        return PG_REMOTE_CANNOT;
    request *r = ask(m, ASK_CLAIM, id, 0);
    const pg_remote_answer answer = answer_of(r);
    if (r)
        free_request(m, r);
    return answer;
}

ptxgen_status pg_remote_ping(pg_remote *m, double *us, ptxgen_error *err)
{
    const double start_us = pg_clock_us();
    request *r = ask(m, ASK_PING, (pg_hash128){0, 0}, 0);
    if (!r)
        return pg_fail_memory(err, sizeof *r);
    *us = pg_clock_us() - start_us;
    const ptxgen_status status =
        r->wire == PG_WIRE_OK ? PTXGEN_OK : pg_fail(err, PTXGEN_EIO, "%s", r->why);
    free_request(m, r);
    return status;
}

/* ---- sending ---- */

static void send_later(pg_remote *m, request *r)
{
    pthread_mutex_lock(&m->lock);
    const bool room = !m->stopping && m->sends.count < SENDS_MAX &&
                      m->sends.bytes + r->bytes.len <= SENDS_BYTES_MAX && start(m);
    if (room) {
        append(&m->sends, r);
        pthread_cond_signal(&m->work);
    }
    pthread_mutex_unlock(&m->lock);
    if (room)
        return;
    if (r->kind == SEND_PUT)
        note(m, PG_REMOTE_DROPPED, "too many entries wait to be sent");
    free_request(m, r);
}

void pg_remote_put(pg_remote *m, pg_hash128 id, pg_buf *bytes)
{
    request *r =
        m->config.read_only || bytes->len > PG_REMOTE_ENTRY_MAX ? NULL : make(m, SEND_PUT, id);
    if (!r) {
        pg_buf_fini(bytes);
        return;
    }
    r->bytes = *bytes;
    pg_buf_init(bytes, &m->alloc);
    send_later(m, r);
}

void pg_remote_release(pg_remote *m, pg_hash128 id)
{
    request *r = m->connection.ops->release ? make(m, SEND_RELEASE, id) : NULL;
    if (r)
        send_later(m, r);
}

/* ---- the whole ---- */

static void make_token(pg_remote *m)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = (uint64_t)pg_clock_ns() ^ (uint64_t)getpid() << 40;
    snprintf(m->token, sizeof m->token, "%016" PRIx64, number);
}

static void init_conditions(pg_remote *m)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&m->work, NULL);
    pthread_cond_init(&m->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void before_fork(void *user)
{
    pthread_mutex_lock(&((pg_remote *)user)->lock);
}

/* What the parent's thread was doing is left where it is, its socket closed: the requests are the
 * parent's threads', which are not here. */
static void after_fork(void *user, bool child)
{
    pg_remote *m = user;
    if (child) {
        const int fd = atomic_exchange(&m->connection.fd, -1);
        if (fd >= 0)
            close(fd);
        m->connection.redis = NULL;
        m->running = false;
        clear_list(&m->asks);
        clear_list(&m->sends);
        init_conditions(m);
        make_token(m);
    }
    pthread_mutex_unlock(&m->lock);
}

static ptxgen_status choose_transport(pg_remote *m, ptxgen_error *err)
{
    char program[4096];
    const pg_address *a = &m->address;
    if (a->kind <= PG_ADDRESS_REDIS_UNIX)
        return pg_transport_redis(&m->connection.ops, err);
    if (a->kind == PG_ADDRESS_HELPER &&
        !pg_helper_find(a->scheme, m->path, program, sizeof program))
        return pg_fail(err, PTXGEN_EMISSING,
                       "cache_remote=%s: there is no storage helper ccache-storage-%s on PATH: "
                       "install it (ccache.dev lists them), or name redis://, or crsh:/SOCKET of "
                       "one that is running",
                       a->shown, a->scheme);
    return pg_transport_helper(&m->connection.ops, err);
}

static ptxgen_status init(pg_remote *m, const pg_remote_config *config, ptxgen_error *err)
{
    snprintf(m->run_dir, sizeof m->run_dir, "%s", config->run_dir ? config->run_dir : "");
    snprintf(m->path, sizeof m->path, "%s", config->path ? config->path : "");
    m->config.read_only = config->read_only || m->address.read_only;
    if (!m->config.timeout_ms)
        m->config.timeout_ms = PG_REMOTE_TIMEOUT_MS;
    atomic_init(&m->connection.fd, -1);
    m->connection.address = &m->address;
    m->connection.run_dir = m->run_dir;
    m->connection.path = m->path;
    PG_TRY(choose_transport(m, err));
    clear_list(&m->asks);
    clear_list(&m->sends);
    pthread_mutex_init(&m->lock, NULL);
    init_conditions(m);
    make_token(m);
    m->watcher = (pg_fork_watcher){.before = before_fork, .after = after_fork, .user = m};
    pg_fork_watch(&m->watcher);
    return PTXGEN_OK;
}

ptxgen_status pg_remote_create(const pg_alloc *alloc, const pg_log *log,
                               const pg_remote_config *config, pg_remote **out, ptxgen_error *err)
{
    pg_address address;
    PG_TRY(pg_address_read(config->place, &address, err));
    pg_remote *m = pg_alloc_zero(alloc, sizeof *m);
    if (!m)
        return pg_fail_memory(err, sizeof *m);
    m->alloc = *alloc;
    m->log = *log;
    m->config = *config;
    m->address = address;
    const ptxgen_status status = init(m, config, err);
    if (status == PTXGEN_OK)
        *out = m;
    else
        pg_free(alloc, m, sizeof *m);
    return status;
}

void pg_remote_destroy(pg_remote *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->stopping = true;
    m->stop_by_ms = pg_clock_ms() + DRAIN_MS;
    const bool running = m->running;
    pthread_cond_broadcast(&m->work);
    pthread_mutex_unlock(&m->lock);
    if (running)
        pthread_join(m->thread, NULL);
    pg_fork_unwatch(&m->watcher);
    m->connection.ops->close(&m->connection);
    for (request *r; (r = take_first(&m->sends));) {
        if (r->kind == SEND_PUT)
            note(m, PG_REMOTE_DROPPED, "the process ended");
        free_request(m, r);
    }
    pthread_cond_destroy(&m->work);
    pthread_cond_destroy(&m->answered);
    pthread_mutex_destroy(&m->lock);
    const pg_alloc alloc = m->alloc;
    pg_free(&alloc, m, sizeof *m);
}

const char *pg_remote_place(const pg_remote *m)
{
    return m->address.shown;
}

bool pg_remote_is_read_only(const pg_remote *m)
{
    return m->config.read_only;
}

pg_breaker_state pg_remote_breaker(pg_remote *m)
{
    return pg_breaker_state_at(&m->breaker, pg_clock_ms());
}
