/* What accesses and asynchronous operations take of the units of an SM. */
#include "emulator/clock/machine_state.h"

/* Requests of so few units to a line are served more slowly. */
enum { SCATTERED_UNITS = 2, UNIT_BYTES = 16, SUB_PARTITIONS = 4 };

static double later(double a, double b)
{
    return a > b ? a : b;
}

double pg_replay_serve(pg_replay *r, uint32_t rank, pg_clock_unit unit, uint32_t server,
                       double from, double ns)
{
    pg_clock_server *s = &r->sms[rank].units[unit][server];
    s->free = later(s->free, from) + ns;
    s->busy += ns;
    return s->free;
}

/* Bytes that come from L2, and in part from DRAM; when the last is in the SM, or may be. */
static double from_memory(pg_replay *r, uint32_t rank, const pg_clock_detail *what, double bytes,
                          double from)
{
    const pg_buffer_traffic *b = pg_footprint_traffic(r->clock->footprint, what->buffer);
    const double missing = bytes * b->misses[TOUCH_LOAD];
    const double lines = what->b * b->misses[TOUCH_LOAD];
    /* Requests of several SMs for a line become one. */
    const bool shared = b->asked[TOUCH_LOAD] > r->chip->shared_reuse * b->unique;
    const double l2 = pg_replay_serve(r, rank, UNIT_L2, 0, from,
                                      bytes * r->l2_ns * (shared ? r->chip->shared_l2_cost : 1));
    const double dram =
        missing > 0 ? pg_replay_serve(r, rank, UNIT_DRAM, 0, from, missing * r->dram_ns) : 0;
    const double latency =
        lines >= 1
            ? r->chip->dram_latency_ns
            : r->chip->l2_latency_ns + lines * (r->chip->dram_latency_ns - r->chip->l2_latency_ns);
    return later(later(l2, dram), from) + latency;
}

/* Bytes that L2 takes, and that reach DRAM in part. */
static double to_memory(pg_replay *r, uint32_t rank, uint16_t buffer, pg_touch touch, double bytes,
                        double from)
{
    const pg_buffer_traffic *b = pg_footprint_traffic(r->clock->footprint, buffer);
    const double moved = bytes * (b->misses[touch] + b->written[touch]);
    if (touch == TOUCH_STORE)
        pg_replay_serve(r, rank, UNIT_L2, 0, from, bytes * r->l2_ns * r->chip->l2_store_cost);
    const double cost = touch == TOUCH_ATOMIC ? r->chip->dram_atomic_cost : 1;
    if (moved > 0)
        return pg_replay_serve(r, rank, UNIT_DRAM, 0, from, moved * cost * r->dram_ns);
    return from;
}

double pg_replay_access(pg_replay *r, const pg_replay_warp *w, const pg_clock_detail *d,
                        double from)
{
    const pg_clock_chip *chip = r->chip;
    const double c = r->cycle;
    if (d->ask == ASK_SHARED)
        return pg_replay_serve(r, w->rank, UNIT_SHARED, 0, from, d->a * c) +
               chip->shared_latency * c;
    const double lsu =
        pg_replay_serve(r, w->rank, UNIT_LSU, 0, from, d->b * chip->request_clocks * c);
    if (d->ask == ASK_LOAD) {
        const double bytes = d->a * (double)PG_SECTOR_BYTES;
        const double fill =
            pg_replay_serve(r, w->rank, UNIT_FILL, 0, lsu - d->b * c, bytes / chip->fill_width * c);
        return later(from_memory(r, w->rank, d, bytes, from), fill + chip->l2_latency_ns);
    }
    if (d->ask == ASK_STORE) {
        const double bytes = d->a * (double)PG_SECTOR_BYTES;
        const double port =
            pg_replay_serve(r, w->rank, UNIT_STORE, 0, from,
                            later(bytes / chip->store_width, d->b * chip->store_line) * c);
        return later(port, to_memory(r, w->rank, d->buffer, TOUCH_STORE, bytes, from));
    }
    const double bytes = d->a * (double)UNIT_BYTES;
    const double port =
        pg_replay_serve(r, w->rank, UNIT_STORE, 0, from, bytes / chip->store_width * c);
    const double spread = d->a <= SCATTERED_UNITS * d->b ? chip->red_scattered_cost : 1;
    const double l2 = pg_replay_serve(r, w->rank, UNIT_ATOMICS, 0, from, d->a * spread * r->red_ns);
    const double dram = to_memory(r, w->rank, d->buffer, TOUCH_ATOMIC, bytes, from);
    const double done = later(later(port, l2), dram);
    return d->returns ? done + chip->l2_latency_ns : done;
}

/* ---- asynchronous operations ---- */

static double copy_in(pg_replay *r, const pg_replay_warp *w, const pg_clock_async *a, double from)
{
    const pg_clock_chip *chip = r->chip;
    const double c = r->cycle;
    const pg_clock_detail what = {.buffer = a->buffer, .b = a->lines};
    const double start = pg_replay_serve(r, w->rank, UNIT_TMA, 0, from,
                                         (chip->tma_issue + a->rows * chip->tma_row) * c);
    double done = from_memory(r, w->rank, &what, a->bytes, start);
    for (uint32_t rank = 0; rank < r->sm_count; rank++) {
        if (!(a->ctas >> rank & 1))
            continue;
        const double fill =
            pg_replay_serve(r, rank, UNIT_FILL, 0, start, a->bytes / chip->fill_width * c);
        pg_replay_serve(r, rank, UNIT_SHARED, 0, start, a->bytes / chip->shared_width * c);
        done = later(done, fill + chip->l2_latency_ns);
    }
    return done + chip->tma_latency_ns;
}

static double copy_out(pg_replay *r, const pg_replay_warp *w, const pg_clock_async *a, double from)
{
    const pg_clock_chip *chip = r->chip;
    const double c = r->cycle;
    const bool reduces = a->work == WORK_REDUCE;
    const double engine = a->tensor_map ? chip->tma_issue + a->rows * chip->tma_row : chip->bulk_op;
    const double start = pg_replay_serve(r, w->rank, UNIT_TMA, 0, from, engine * c);
    const double port =
        pg_replay_serve(r, w->rank, UNIT_STORE, 0, start, a->bytes / chip->fill_width * c);
    pg_replay_serve(r, w->rank, UNIT_SHARED, 0, start, a->bytes / chip->shared_width * c);
    if (a->read_event)
        pg_replay_contribute(r, a->read_event, port + chip->tma_latency_ns);
    const double dram =
        to_memory(r, w->rank, a->buffer, reduces ? TOUCH_ATOMIC : TOUCH_STORE, a->bytes, start);
    const double l2 =
        reduces ? pg_replay_serve(r, w->rank, UNIT_ATOMICS, 0, start, a->units * r->bulk_red_ns)
                : port;
    /* L2 answers before DRAM has it, but cannot hold much of what waits for DRAM. */
    return later(later(port, l2), dram - PG_REPLAY_BACKLOG_NS) + chip->tma_latency_ns +
           chip->l2_latency_ns;
}

static double copy_by_threads(pg_replay *r, pg_replay_warp *w, const pg_clock_async *a, double from)
{
    const pg_clock_detail d = {.ask = ASK_LOAD,
                               .buffer = a->buffer,
                               .a = (a->bytes + PG_SECTOR_BYTES - 1) / PG_SECTOR_BYTES,
                               .b = a->lines};
    const double done = pg_replay_access(r, w, &d, from);
    pg_replay_serve(r, w->rank, UNIT_SHARED, 0, from, a->bytes / r->chip->shared_width * r->cycle);
    w->copies = later(w->copies, done);
    return done;
}

/* tcgen05: in order; a pair's operation takes both tensor cores. */
static double tensor(pg_replay *r, const pg_replay_warp *w, const pg_clock_async *a, double from)
{
    const double ns = a->clocks * r->cycle;
    double end = from;
    for (uint32_t rank = 0; rank < r->sm_count; rank++) {
        if (rank != w->rank && !(a->pair && rank == (w->rank ^ 1u)))
            continue;
        for (uint32_t s = 0; s < SUB_PARTITIONS; s++)
            end = later(end, pg_replay_serve(r, rank, UNIT_TENSOR, s, from, ns));
        r->sms[rank].units[UNIT_SHARED][0].busy +=
            a->shared_bytes / r->chip->shared_width * r->cycle;
    }
    return end + r->chip->tcgen05_latency * r->cycle;
}

static double wgmma(pg_replay *r, const pg_replay_warp *w, const pg_clock_async *a, double from)
{
    const double end =
        pg_replay_serve(r, w->rank, UNIT_TENSOR, w->part, from, a->clocks * r->cycle);
    const double read = pg_replay_serve(r, w->rank, UNIT_SHARED, 0, from,
                                        a->shared_bytes / r->chip->shared_width * r->cycle);
    return later(end, read) + r->chip->wgmma_latency * r->cycle;
}

void pg_replay_async(pg_replay *r, pg_replay_warp *w, const pg_clock_async *a, double from)
{
    double done = from;
    switch ((pg_clock_work)a->work) {
    case WORK_LOAD:
        done = copy_in(r, w, a, from);
        break;
    case WORK_STORE:
    case WORK_REDUCE:
        done = copy_out(r, w, a, from);
        break;
    case WORK_COPY:
        done = copy_by_threads(r, w, a, from);
        break;
    case WORK_AFTER_COPIES:
        done = later(from, w->copies);
        break;
    case WORK_WGMMA:
        done = wgmma(r, w, a, from);
        break;
    case WORK_TENSOR:
        done = tensor(r, w, a, from);
        break;
    case WORK_LOCAL:
        done = pg_replay_serve(r, w->rank, UNIT_STORE, 0, from,
                               a->bytes / r->chip->store_width * r->cycle) +
               r->chip->tma_latency_ns;
        break;
    case WORK_NOTHING:
        done = from + r->chip->tma_latency_ns;
        break;
    }
    pg_replay_note_operation(r, w, a, from, done);
    for (uint32_t i = 0; i < a->target_count; i++)
        pg_replay_contribute(r, *PG_CLOCK_AT(r->clock->targets, uint32_t, a->target + i), done);
}
