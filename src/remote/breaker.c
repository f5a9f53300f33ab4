#include "remote/breaker.h"

enum { PAUSE_FIRST_MS = 1000, PAUSE_MAX_MS = 30000 };

bool pg_breaker_admits(const pg_breaker *b, int64_t now_ms)
{
    return now_ms >= atomic_load_explicit(&b->open_until_ms, memory_order_relaxed);
}

bool pg_breaker_tell(pg_breaker *b, int64_t now_ms, bool answered)
{
    uint32_t pause = atomic_load(&b->pause_ms);
    if (answered) {
        atomic_store(&b->open_until_ms, 0);
        atomic_store(&b->pause_ms, 0);
        return false;
    }
    pause = pause == 0 ? PAUSE_FIRST_MS : pause < PAUSE_MAX_MS / 2 ? pause * 2 : PAUSE_MAX_MS;
    atomic_store(&b->pause_ms, pause);
    atomic_store(&b->open_until_ms, now_ms + pause);
    return true;
}

pg_breaker_state pg_breaker_state_at(const pg_breaker *b, int64_t now_ms)
{
    const int64_t until = atomic_load(&b->open_until_ms);
    return until == 0 ? PG_BREAKER_CLOSED : now_ms < until ? PG_BREAKER_OPEN : PG_BREAKER_PROBING;
}
