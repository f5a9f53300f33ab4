/* How a store is spoken to: a table of calls for each protocol. All are made by one thread and end
 * by the connection's deadline. */
#ifndef PG_REMOTE_TRANSPORT_H
#define PG_REMOTE_TRANSPORT_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"
#include "remote/address.h"

#include <stdatomic.h>

typedef enum pg_wire {
    PG_WIRE_OK,
    PG_WIRE_NONE,    /* an answer: not there, or not ours */
    PG_WIRE_REFUSED, /* an answer: an error; the connection stays good */
    PG_WIRE_LOST     /* no connection, no answer in time, or one that makes no sense */
} pg_wire;

typedef struct pg_connection {
    const struct pg_transport *ops;
    const pg_address *address;
    const char *run_dir, *path; /* of a helper: its socket's folder, where it is looked for */
    void *redis;                /* hiredis' context */
    _Atomic int fd;             /* -1: not connected */
    int64_t deadline_ms;        /* of the monotonic clock */
    char why[200];              /* of REFUSED and LOST */
} pg_connection;

typedef struct pg_transport {
    pg_wire (*open)(pg_connection *);
    void (*close)(pg_connection *);
    pg_wire (*ping)(pg_connection *);
    pg_wire (*get)(pg_connection *, pg_hash128 id, pg_buf *out);
    pg_wire (*put)(pg_connection *, pg_hash128 id, pg_str bytes);
    /* NULL: the store has no such thing. `token` says whose the claim is. */
    pg_wire (*claim)(pg_connection *, pg_hash128 id, const char *token);
    pg_wire (*release)(pg_connection *, pg_hash128 id, const char *token);
} pg_transport;

/* That of an address. EMISSING says what is not here. */
ptxgen_status pg_transport_redis(const pg_transport **out, ptxgen_error *err);
ptxgen_status pg_transport_helper(const pg_transport **out, ptxgen_error *err);

/* ---- socket.c ---- */

/* Keeps why the connection was lost, and returns LOST. */
pg_wire pg_wire_lost(pg_connection *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Waits until the descriptor may be read (POLLIN) or written (POLLOUT); false after the
 * deadline. */
bool pg_wire_wait(pg_connection *, short events);
pg_wire pg_wire_connect(pg_connection *, const char *socket_path);
pg_wire pg_wire_send(pg_connection *, const void *bytes, size_t n);
pg_wire pg_wire_receive(pg_connection *, void *bytes, size_t n);

#endif
