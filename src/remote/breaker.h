/* The breaker: after a failure nothing is tried for a pause of 1 s, doubled by each further one up
 * to 30 s; then one request probes. */
#ifndef PG_REMOTE_BREAKER_H
#define PG_REMOTE_BREAKER_H

#include "remote/remote.h"

#include <stdatomic.h>

/* Zero: closed. Told by one thread, asked by any. */
typedef struct pg_breaker {
    _Atomic int64_t open_until_ms; /* 0: closed */
    _Atomic uint32_t pause_ms;
} pg_breaker;

/* Whether a request may be tried now. */
bool pg_breaker_admits(const pg_breaker *, int64_t now_ms);
/* What came of a request; true: it has opened. */
bool pg_breaker_tell(pg_breaker *, int64_t now_ms, bool answered);
pg_breaker_state pg_breaker_state_at(const pg_breaker *, int64_t now_ms);

#endif
