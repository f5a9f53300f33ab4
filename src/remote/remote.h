/* Entries of other machines: a store of bytes across the network, Redis or what a storage helper
 * reaches (transport.h).
 *
 * One thread talks to it, over one connection, and starts at the first request; callers hand over
 * and wait as long as they say, or not at all. One timeout for connecting and asking together, one
 * breaker: after a connection that failed or an answer that did not come, nothing is asked for a
 * second, doubled each time up to 30. What comes from the store is not to be trusted: the cache
 * judges it (cache/remote_layer.h).
 *
 * A child of fork() begins with a thread and a connection of its own. Any thread. */
#ifndef PG_REMOTE_H
#define PG_REMOTE_H

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"

typedef struct pg_remote pg_remote;

enum {
    PG_REMOTE_TIMEOUT_MS = 500,
    PG_REMOTE_LEASE_MS = 10000,            /* a claim whose owner died is free again after this */
    PG_REMOTE_ENTRY_MAX = 16 * 1024 * 1024 /* larger ones are neither sent nor taken */
};

typedef enum pg_remote_event {
    PG_REMOTE_HIT,
    PG_REMOTE_MISS,
    PG_REMOTE_ERROR,   /* of any request: no connection, no answer in time, refused by the server */
    PG_REMOTE_STORED,  /* an entry arrived there */
    PG_REMOTE_DROPPED, /* an entry was not sent: too many waited, the breaker was open */
    PG_REMOTE_OPENED   /* the breaker */
} pg_remote_event;

typedef struct pg_remote_config {
    const char *place;   /* as cache_remote has it (address.h) */
    const char *run_dir; /* for a helper's socket; absolute, private to the user */
    const char *path;    /* where helpers are looked for, as PATH */
    uint32_t timeout_ms; /* 0: PG_REMOTE_TIMEOUT_MS */
    bool read_only;      /* nothing is sent or claimed */
    void (*note)(void *user, pg_remote_event, const char *why); /* on any thread */
    void *user;
} pg_remote_config;

/* EINVAL: a place that is none; EMISSING: nothing here speaks to it. Nothing is connected yet. */
ptxgen_status pg_remote_create(const pg_alloc *, const pg_log *, const pg_remote_config *,
                               pg_remote **out, ptxgen_error *err);
/* Entries that wait are sent first, for five seconds at most, while the breaker is closed. NULL is
 * allowed. */
void pg_remote_destroy(pg_remote *);

typedef enum pg_remote_answer {
    PG_REMOTE_NO,     /* not there; another has the claim */
    PG_REMOTE_YES,    /* *out is the entry; the claim is ours */
    PG_REMOTE_SILENT, /* no answer, or none in time */
    PG_REMOTE_CANNOT  /* there are no claims */
} pg_remote_answer;

/* Waits at most wait_us; 0: as long as the timeout allows. *out was initialised. */
pg_remote_answer pg_remote_get(pg_remote *, pg_hash128 id, uint32_t wait_us, pg_buf *out);
/* One of all machines gets it, for PG_REMOTE_LEASE_MS or until pg_remote_release. */
pg_remote_answer pg_remote_claim(pg_remote *, pg_hash128 id);
/* Both return at once; what is released was sent before. The bytes are taken over. */
void pg_remote_put(pg_remote *, pg_hash128 id, pg_buf *bytes);
void pg_remote_release(pg_remote *, pg_hash128 id);
/* Asks the store whether it is there, breaker or not: the round trip in *us. */
ptxgen_status pg_remote_ping(pg_remote *, double *us, ptxgen_error *err);

/* The place without its password. Borrowed. */
const char *pg_remote_place(const pg_remote *);
bool pg_remote_is_read_only(const pg_remote *);
typedef enum pg_breaker_state {
    PG_BREAKER_CLOSED,
    PG_BREAKER_OPEN,
    PG_BREAKER_PROBING /* the pause is over, and nobody has asked since */
} pg_breaker_state;
pg_breaker_state pg_remote_breaker(pg_remote *);

#endif
