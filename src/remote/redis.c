/* Redis by hiredis: SET, GET, SET NX PX for claims. hiredis is opened at run time, by the name that
 * belongs to the header this was compiled with, so that only who names a redis:// needs it. Its
 * calls that do not block are used: every wait is ours, and ends. */
#include "remote/remote.h"
#include "remote/transport.h"

#ifdef PG_HAVE_HIREDIS

#include "base/system_words.h"

#include <dlfcn.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define LIBRARY  "libhiredis.so." TEXT(HIREDIS_SONAME)

/* Frees the claim if it is still ours. */
#define RELEASE_SCRIPT                                                                             \
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"

enum { KEY_SIZE = 64, WORDS_MAX = 8 };

static struct {
    redisContext *(*connect)(const char *host, int port);
    redisContext *(*connect_unix)(const char *path);
    void (*free)(redisContext *);
    int (*append)(redisContext *, int argc, const char **argv, const size_t *sizes);
    int (*read)(redisContext *);
    int (*write)(redisContext *, int *done);
    int (*reply)(redisReader *, void **reply);
    void (*free_reply)(void *);
} hiredis;
static bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_it(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return;
    const struct {
        const char *name;
        void *place;
    } calls[] = {{"redisConnectNonBlock", &hiredis.connect},
                 {"redisConnectUnixNonBlock", &hiredis.connect_unix},
                 {"redisFree", &hiredis.free},
                 {"redisAppendCommandArgv", &hiredis.append},
                 {"redisBufferRead", &hiredis.read},
                 {"redisBufferWrite", &hiredis.write},
                 {"redisReaderGetReply", &hiredis.reply},
                 {"freeReplyObject", &hiredis.free_reply}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!(*(void **)calls[i].place = dlsym(handle, calls[i].name)))
            return;
    found = true;
}

/* ---- one command ---- */

static pg_wire write_all(pg_connection *c)
{
    for (int done = 0; !done;) {
        if (!pg_wire_wait(c, POLLOUT))
            return PG_WIRE_LOST;
        if (hiredis.write(c->redis, &done) != REDIS_OK)
            return pg_wire_lost(c, "%s", ((redisContext *)c->redis)->errstr);
    }
    return PG_WIRE_OK;
}

static pg_wire read_reply(pg_connection *c, redisReply **out)
{
    redisContext *r = c->redis;
    for (*out = NULL; !*out;) {
        void *reply = NULL;
        if (hiredis.reply(r->reader, &reply) != REDIS_OK)
            return pg_wire_lost(c, "the answer is not Redis'");
        *out = reply;
        if (reply)
            break;
        if (r->reader->len > PG_REMOTE_ENTRY_MAX + 4096)
            return pg_wire_lost(c, "the answer is larger than an entry may be");
        if (!pg_wire_wait(c, POLLIN))
            return PG_WIRE_LOST;
        if (hiredis.read(r) != REDIS_OK)
            return pg_wire_lost(c, "%s", r->errstr);
    }
    return PG_WIRE_OK;
}

/* An answer of type ERROR is REFUSED, nil is NONE; *out is set for OK only. */
static pg_wire ask(pg_connection *c, const pg_str *words, int count, redisReply **out)
{
    const char *argv[WORDS_MAX];
    size_t sizes[WORDS_MAX];
    for (int i = 0; i < count; i++) {
        argv[i] = words[i].p;
        sizes[i] = words[i].n;
    }
    *out = NULL;
    if (hiredis.append(c->redis, count, argv, sizes) != REDIS_OK)
        return pg_wire_lost(c, "no memory for a command");
    pg_wire w = write_all(c);
    if (w == PG_WIRE_OK)
        w = read_reply(c, out);
    if (w != PG_WIRE_OK)
        return w;
    const int type = (*out)->type;
    if (type == REDIS_REPLY_ERROR)
        snprintf(c->why, sizeof c->why, "%s", (*out)->str);
    if (type != REDIS_REPLY_ERROR && type != REDIS_REPLY_NIL)
        return PG_WIRE_OK;
    hiredis.free_reply(*out);
    *out = NULL;
    return type == REDIS_REPLY_ERROR ? PG_WIRE_REFUSED : PG_WIRE_NONE;
}

static pg_wire tell(pg_connection *c, const pg_str *words, int count)
{
    redisReply *reply;
    const pg_wire w = ask(c, words, count, &reply);
    if (reply)
        hiredis.free_reply(reply);
    return w;
}

static pg_str key_of(pg_hash128 id, const char *suffix, char text[KEY_SIZE])
{
    char hex[33];
    pg_hash_hex(id, hex);
    snprintf(text, KEY_SIZE, "ptxgen:1:%s%s", hex, suffix);
    return pg_str_of(text);
}

/* ---- the transport ---- */

static void close_it(pg_connection *c)
{
    if (c->redis)
        hiredis.free(c->redis);
    c->redis = NULL;
    atomic_store(&c->fd, -1);
}

static pg_wire introduce(pg_connection *c)
{
    const pg_address *a = c->address;
    const pg_str password = pg_str_of(a->password), user = pg_str_of(a->user);
    const pg_str full[] = {pg_str_of("AUTH"), user, password}, plain[] = {full[0], password};
    char number[16];
    snprintf(number, sizeof number, "%d", a->database);
    const pg_str database[] = {pg_str_of("SELECT"), pg_str_of(number)};
    pg_wire w = PG_WIRE_OK;
    if (password.n)
        w = user.n ? tell(c, full, 3) : tell(c, plain, 2);
    if (w == PG_WIRE_OK && a->database)
        w = tell(c, database, 2);
    return w == PG_WIRE_OK ? w : PG_WIRE_LOST; /* not let in: as if it were not there */
}

static pg_wire open_connection(pg_connection *c)
{
    const pg_address *a = c->address;
    redisContext *r = a->kind == PG_ADDRESS_REDIS ? hiredis.connect(a->host, a->port)
                                                  : hiredis.connect_unix(a->host);
    if (!r)
        return pg_wire_lost(c, "no memory for a connection");
    c->redis = r;
    atomic_store(&c->fd, r->fd);
    if (r->err)
        return pg_wire_lost(c, "%s", r->errstr);
    int error = 0;
    if (!pg_wire_wait(c, POLLOUT))
        return pg_wire_lost(c, "no connection in time");
    if (getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error}) < 0 || error)
        return pg_wire_lost(c, "%s", pg_error_words(error));
    r->flags |= REDIS_CONNECTED;
    return introduce(c);
}

static pg_wire ping(pg_connection *c)
{
    return tell(c, (pg_str[]){pg_str_of("PING")}, 1);
}

static pg_wire get(pg_connection *c, pg_hash128 id, pg_buf *out)
{
    char key[KEY_SIZE];
    redisReply *reply;
    const pg_str words[] = {pg_str_of("GET"), key_of(id, "", key)};
    const pg_wire w = ask(c, words, 2, &reply);
    if (w != PG_WIRE_OK)
        return w;
    const bool text = reply->type == REDIS_REPLY_STRING;
    if (text)
        pg_buf_append(out, reply->str, reply->len);
    hiredis.free_reply(reply);
    return text && !out->failed
               ? PG_WIRE_OK
               : pg_wire_lost(c, text ? "no memory for an entry" : "the answer is not an entry");
}

static pg_wire put(pg_connection *c, pg_hash128 id, pg_str bytes)
{
    char key[KEY_SIZE];
    return tell(c, (pg_str[]){pg_str_of("SET"), key_of(id, "", key), bytes}, 3);
}

static pg_wire claim(pg_connection *c, pg_hash128 id, const char *token)
{
    char key[KEY_SIZE], lease[16];
    snprintf(lease, sizeof lease, "%d", (int)PG_REMOTE_LEASE_MS);
    return tell(c,
                (pg_str[]){pg_str_of("SET"), key_of(id, ":claim", key), pg_str_of(token),
                           pg_str_of("NX"), pg_str_of("PX"), pg_str_of(lease)},
                6);
}

static pg_wire release(pg_connection *c, pg_hash128 id, const char *token)
{
    char key[KEY_SIZE];
    return tell(c,
                (pg_str[]){pg_str_of("EVAL"), pg_str_of(RELEASE_SCRIPT), pg_str_of("1"),
                           key_of(id, ":claim", key), pg_str_of(token)},
                5);
}

ptxgen_status pg_transport_redis(const pg_transport **out, ptxgen_error *err)
{
    static const pg_transport redis = {open_connection, close_it, ping, get, put, claim, release};
    pthread_once(&once, open_it);
    *out = &redis;
    return found ? PTXGEN_OK
                 : pg_fail(err, PTXGEN_EMISSING,
                           "cache_remote=redis:// needs " LIBRARY ", which is not here: install "
                           "the package that has it (Debian: libhiredis" TEXT(HIREDIS_SONAME) ")");
}

#else

ptxgen_status pg_transport_redis(const pg_transport **out, ptxgen_error *err)
{
    *out = NULL;
    return pg_fail(err, PTXGEN_EMISSING,
                   "cache_remote=redis:// is not in this build of ptxgen: build it where hiredis' "
                   "headers are (Debian: libhiredis-dev), or name a storage helper");
}

#endif
