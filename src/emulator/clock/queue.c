/* The warps of a replay by time, and the events that they wait for. */
#include "emulator/clock/machine_state.h"

/* ---- the queue of warps ---- */

bool pg_replay_is_earlier(const pg_replay *r, uint32_t a, uint32_t b)
{
    const pg_replay_warp *x = &r->warps[a], *y = &r->warps[b];
    return x->time != y->time ? x->time < y->time : a < b;
}

void pg_replay_push(pg_replay *r, uint32_t warp)
{
    uint32_t at = r->heap_count++;
    while (at && pg_replay_is_earlier(r, warp, r->heap[(at - 1) / 2])) {
        r->heap[at] = r->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    r->heap[at] = warp;
}

uint32_t pg_replay_pop(pg_replay *r)
{
    const uint32_t top = r->heap[0], last = r->heap[--r->heap_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < r->heap_count; child = 2 * at + 1) {
        if (child + 1 < r->heap_count &&
            pg_replay_is_earlier(r, r->heap[child + 1], r->heap[child]))
            child++;
        if (!pg_replay_is_earlier(r, r->heap[child], last))
            break;
        r->heap[at] = r->heap[child];
        at = child;
    }
    r->heap[at] = last;
    return top;
}

/* ---- events ---- */

double pg_replay_wake_latency(const pg_replay *r, uint32_t event)
{
    const uint8_t barrier = PG_CLOCK_AT(r->clock->events, pg_clock_event, event)->barrier;
    const pg_clock_chip *c = r->chip;
    return r->cycle * (barrier == 1   ? c->bar_latency
                       : barrier == 2 ? c->cluster_latency
                                      : c->mbarrier_latency);
}

void pg_replay_contribute(pg_replay *r, uint32_t event, double time)
{
    pg_replay_event *e = &r->events[event];
    e->time = time > e->time ? time : e->time;
    if (!e->remaining || --e->remaining)
        return;
    while (e->waiter) {
        const uint32_t warp = e->waiter - 1;
        pg_replay_warp *w = &r->warps[warp];
        const double wakes = e->time + pg_replay_wake_latency(r, event);
        e->waiter = w->next_waiter;
        w->time = wakes > w->time ? wakes : w->time;
        pg_replay_push(r, warp);
    }
}
