/* The observer that fills a record (record.h): warp instructions, plain accesses, barriers. */
#include "emulator/clock/listen.h"

#include "emulator/memory/barrier.h"
#include "emulator/memory/load_store.h"

enum { BANKS = 32, WORD_SHIFT = 2, MOST_PIECES = 128, UNIT_SHIFT = 4, ROW_BYTES = 128 };

/* ---- instructions ---- */

static void drop_pending(pg_clock_stream *s)
{
    s->pending = s->pending_last = 0;
    s->vain = s->entered = false;
}

void pg_clock_stepped(pg_warp *w, const pg_op *op, pg_step step)
{
    pg_clock *clock = w->launch->clock;
    pg_clock_stream *s = pg_clock_stream_of(w);
    clock->ticks++;
    if (!s)
        return;
    const bool blocks = step == PG_AGAIN || step == PG_STOP;
    if (s->vain || (blocks && !s->entered)) {
        drop_pending(s);
        return;
    }
    const uint32_t i = pg_clock_list_add(&s->steps, clock->alloc);
    clock->failed |= !i;
    if (i)
        *PG_CLOCK_AT(s->steps, pg_clock_step, i) = (pg_clock_step){pg_pc_of(w, op), s->pending};
    clock->steps++;
    drop_pending(s);
}

/* ---- plain accesses ---- */

typedef struct pieces {
    uint64_t number[MOST_PIECES];
    uint8_t sectors[MOST_PIECES]; /* of a line */
    uint32_t count;
} pieces;

static uint32_t add_piece(pieces *p, uint64_t number)
{
    uint32_t i = p->count && p->number[p->count - 1] == number ? p->count - 1 : 0;
    while (i < p->count && p->number[i] != number)
        i++;
    if (i == p->count && p->count < MOST_PIECES) {
        p->number[p->count] = number;
        p->sectors[p->count++] = 0;
    }
    return i < MOST_PIECES ? i : MOST_PIECES - 1;
}

static void add_lines(pieces *p, uint64_t address, uint32_t bytes)
{
    for (uint64_t s = address >> 5; s <= (address + bytes - 1) >> 5; s++)
        p->sectors[add_piece(p, s >> 2)] |= (uint8_t)(1u << (s & 3));
}

static uint32_t wavefronts_of(const pg_checked_access *a, uint32_t lanes)
{
    pieces words = {.count = 0};
    uint32_t of_bank[BANKS] = {0}, most = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint64_t at = a->address[__builtin_ctz(left)];
        for (uint64_t n = at >> WORD_SHIFT; n <= (at + a->bytes - 1) >> WORD_SHIFT; n++)
            add_piece(&words, n);
    }
    for (uint32_t i = 0; i < words.count; i++) {
        const uint32_t n = ++of_bank[words.number[i] % BANKS];
        most = n > most ? n : most;
    }
    return most;
}

static void shared_access(pg_warp *w, const pg_checked_access *a)
{
    if (!pg_clock_stream_of(w))
        return;
    const uint32_t together = a->bytes > 4 && a->bytes <= 32 ? ROW_BYTES / a->bytes : PG_LANES;
    uint32_t wavefronts = 0;
    for (uint32_t from = 0; from < PG_LANES; from += together) {
        const uint32_t part = together == PG_LANES ? PG_ALL_LANES : ((1u << together) - 1) << from;
        if (a->lanes & part)
            wavefronts += wavefronts_of(a, a->lanes & part);
    }
    pg_clock_detail *d = pg_clock_add_detail(w, ASK_SHARED);
    if (d)
        d->a = wavefronts;
}

static pg_touch touch_of(pg_access_kind kind)
{
    return kind == PG_ACCESS_READ    ? TOUCH_LOAD
           : kind == PG_ACCESS_WRITE ? TOUCH_STORE
                                     : TOUCH_ATOMIC;
}

/* Units of 16 bytes of atomics: each lane's count, also where several meet. */
static uint32_t units_of(const pg_checked_access *a, uint64_t line)
{
    const uint32_t of_lane = a->bytes >> UNIT_SHIFT ? a->bytes >> UNIT_SHIFT : 1;
    uint32_t lanes = 0;
    for (uint32_t left = a->lanes; left; left &= left - 1)
        lanes += a->address[__builtin_ctz(left)] >> PG_LINE_SHIFT == line;
    const uint32_t most = (lanes * a->bytes + (1 << UNIT_SHIFT) - 1) >> UNIT_SHIFT;
    return a->bytes >> UNIT_SHIFT ? lanes * of_lane : most;
}

static void global_access(pg_warp *w, const pg_op *op, const pg_checked_access *a)
{
    static const pg_clock_ask asks[] = {ASK_LOAD, ASK_STORE, ASK_ATOMIC};
    pieces lines = {.count = 0};
    const pg_touch touch = touch_of(a->kind);
    uint32_t sectors = 0;
    for (uint32_t left = a->lanes; left; left &= left - 1)
        add_lines(&lines, a->address[__builtin_ctz(left)], a->bytes);
    uint32_t units = 0;
    for (uint32_t i = 0; i < lines.count; i++) {
        pg_clock_touch(w->cta->cluster, lines.number[i], lines.sectors[i], touch);
        sectors += (uint32_t)__builtin_popcount(lines.sectors[i]);
        const uint32_t here = touch == TOUCH_ATOMIC ? units_of(a, lines.number[i]) : 0;
        if (here)
            pg_clock_hot(w->cta->cluster, lines.number[i], here);
        units += here;
    }
    pg_clock_detail *d = lines.count ? pg_clock_add_detail(w, asks[touch]) : NULL;
    if (!d)
        return;
    d->a = touch == TOUCH_ATOMIC ? units : sectors;
    d->b = lines.count;
    d->buffer = pg_footprint_buffer(w->launch->clock->footprint, lines.number[0] << PG_LINE_SHIFT);
    const pg_clock_op *known = &w->launch->clock->operations.ops[pg_pc_of(w, op)];
    d->returns = touch == TOUCH_LOAD || known->writes > 0;
}

static void clock_access(pg_warp *w, const pg_op *op, const pg_checked_access *a)
{
    uint64_t within = 0;
    pg_space space = (pg_space)op->space;
    if (!a->lanes)
        return;
    if (space == PG_MEM_GENERIC)
        space = pg_generic_space(a->address[__builtin_ctz(a->lanes)], &within);
    if (space == PG_MEM_GLOBAL)
        global_access(w, op, a);
    else if (space == PG_MEM_SHARED || space == PG_MEM_CLUSTER)
        shared_access(w, a);
}

/* ---- barriers ---- */

static void clock_barrier(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t id)
{
    (void)lanes;
    pg_clock_stream *s = pg_clock_stream_of(w);
    if (!s)
        return;
    const uint32_t phase = (uint32_t)w->cta->barriers[id].completed;
    const uint32_t event =
        pg_clock_named_event(w->cta, pg_clock_key_of(KEY_NAMED, w->cta->rank, id, phase), 1);
    pg_clock_arrive(w, event);
    if (op->mode != PG_BAR_ARRIVE)
        pg_clock_wait(w, event);
    s->entered = true;
}

static uint32_t cluster_event(const pg_warp *w, uint64_t phase)
{
    return pg_clock_named_event(w->cta, pg_clock_key_of(KEY_CLUSTER, 0, 0, (uint32_t)phase), 2);
}

static void clock_cluster_arrive(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op;
    (void)lanes;
    pg_clock_arrive(w, cluster_event(w, w->cta->cluster->cluster_phase));
}

static void clock_cluster_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op;
    (void)lanes;
    if (w->cta->cluster->cluster_phase)
        pg_clock_wait(w, cluster_event(w, w->cta->cluster->cluster_phase - 1));
}

/* ---- mbarriers ---- */

static void clock_mbarrier_init(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                                bool was_valid)
{
    (void)op;
    (void)lane;
    (void)was_valid;
    pg_clock_cluster *c = pg_clock_cluster_of(w->cta->cluster);
    uint32_t *generation =
        c ? pg_clock_value(w->launch->clock, c,
                           pg_clock_key_of(KEY_GENERATION, w->cta->rank, b->offset, 0))
          : NULL;
    if (generation)
        ++*generation;
}

static void clock_mbarrier_arrive(pg_warp *w, const pg_op *op, int lane, pg_cta *cta,
                                  pg_mbarrier *b)
{
    (void)op;
    (void)lane;
    pg_clock_arrive(w, pg_clock_mbarrier_event(cta, b, b->phase));
}

static void clock_mbarrier_wait(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                                pg_observed_wait wait)
{
    (void)op;
    (void)lane;
    pg_clock_stream *s = pg_clock_stream_of(w);
    if (!s)
        return;
    s->vain = !wait.done;
    if (wait.done && b->phase && !s->pending)
        pg_clock_wait(w, pg_clock_mbarrier_event(w->cta, b, b->phase - 1));
}

/* ---- clusters ---- */

static bool clock_cluster_start(pg_cluster *c)
{
    pg_clock *clock = c->launch->clock;
    clock->ticks = 0;
    c->check = NULL;
    if (clock->started_others || clock->probe.runs)
        return true;
    const uint32_t i = pg_clock_list_add(&clock->clusters, clock->alloc);
    if (!i)
        return false;
    pg_clock_cluster *k = PG_CLOCK_AT(clock->clusters, pg_clock_cluster, i);
    k->index = c->index;
    k->stream_count = c->cta_count * c->ctas[0].warp_count;
    k->streams = pg_alloc_zero(clock->alloc, k->stream_count * sizeof *k->streams);
    for (uint32_t s = 0; k->streams && s < k->stream_count; s++)
        k->streams[s].steps.bytes = sizeof(pg_clock_step);
    c->check = (void *)(uintptr_t)i;
    return k->streams != NULL;
}

const pg_observer pg_clock_observer = {
    .stepped = pg_clock_stepped,
    .access = clock_access,
    .barrier = clock_barrier,
    .cluster_arrive = clock_cluster_arrive,
    .cluster_wait = clock_cluster_wait,
    .mbarrier_init = clock_mbarrier_init,
    .mbarrier_arrive = clock_mbarrier_arrive,
    .mbarrier_wait = clock_mbarrier_wait,
    .async_issue = pg_clock_async_issue,
    .async_arriving = pg_clock_async_arriving,
    .bulk_wait = pg_clock_bulk_wait,
    .copy_wait = pg_clock_copy_wait,
    .mma_wait = pg_clock_mma_wait,
    .cluster_start = clock_cluster_start,
};
