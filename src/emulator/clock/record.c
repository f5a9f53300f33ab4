/* See record.h. */
#include "emulator/clock/record.h"

#include "base/arch.h"
#include "emulator/clock/probe.h"

#include <string.h>

enum {
    MOST_STEPS = 24 << 20,       /* of a sample: no further cluster is added */
    MOST_OTHER_STEPS = 160 << 20 /* warp instructions of clusters beside the sample */
};

/* ---- lists ---- */

uint32_t pg_clock_list_add(pg_clock_list *l, const pg_alloc *alloc)
{
    const uint32_t first = l->count ? l->count : 1;
    if (first >= l->room) {
        const uint32_t room = l->room ? 2 * l->room : 64;
        char *more = alloc->realloc(alloc->user, l->items, (size_t)l->room * l->bytes,
                                    (size_t)room * l->bytes);
        if (!more)
            return 0;
        l->items = more;
        l->room = room;
    }
    memset((char *)l->items + (size_t)first * l->bytes, 0, l->bytes);
    l->count = first + 1;
    return first;
}

void pg_clock_list_free(pg_clock_list *l, const pg_alloc *alloc)
{
    pg_free(alloc, l->items, (size_t)l->room * l->bytes);
}

/* ---- names of events ---- */

static uint32_t slot_of(const pg_clock_cluster *c, uint64_t key)
{
    uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t slot = (uint32_t)(h >> 32) & (c->slots - 1);
    while (c->keys[slot] && c->keys[slot] != key)
        slot = (slot + 1) & (c->slots - 1);
    return slot;
}

static bool grow_table(pg_clock *clock, pg_clock_cluster *c)
{
    const pg_clock_cluster old = *c;
    c->slots = old.slots ? 2 * old.slots : 256;
    c->keys = pg_alloc_zero(clock->alloc, c->slots * sizeof *c->keys);
    c->events = pg_alloc_zero(clock->alloc, c->slots * sizeof *c->events);
    const bool ok = c->keys && c->events;
    for (uint32_t i = 0; ok && i < old.slots; i++)
        if (old.keys[i]) {
            const uint32_t slot = slot_of(c, old.keys[i]);
            c->keys[slot] = old.keys[i];
            c->events[slot] = old.events[i];
        }
    if (!ok) {
        pg_free(clock->alloc, c->keys, c->slots * sizeof *c->keys);
        pg_free(clock->alloc, c->events, c->slots * sizeof *c->events);
        *c = old;
        return false;
    }
    pg_free(clock->alloc, old.keys, old.slots * sizeof *old.keys);
    pg_free(clock->alloc, old.events, old.slots * sizeof *old.events);
    return true;
}

uint32_t *pg_clock_value(pg_clock *clock, pg_clock_cluster *c, uint64_t key)
{
    if (2 * c->used >= c->slots && !grow_table(clock, c)) {
        clock->failed = true;
        return NULL;
    }
    const uint32_t slot = slot_of(c, key);
    c->used += !c->keys[slot];
    c->keys[slot] = key;
    return &c->events[slot];
}

uint32_t pg_clock_event_at(pg_clock *clock, pg_clock_cluster *c, uint64_t key, bool make)
{
    uint32_t *value = pg_clock_value(clock, c, key);
    if (value && !*value && make) {
        *value = pg_clock_list_add(&clock->events, clock->alloc);
        clock->failed |= !*value;
    }
    return value ? *value : 0;
}

/* ---- clusters ---- */

pg_clock_cluster *pg_clock_cluster_of(const pg_cluster *c)
{
    const uint32_t i = (uint32_t)(uintptr_t)c->check;
    return i ? PG_CLOCK_AT(c->launch->clock->clusters, pg_clock_cluster, i) : NULL;
}

pg_clock_stream *pg_clock_stream_of(const pg_warp *w)
{
    const pg_clock_cluster *c = pg_clock_cluster_of(w->cta->cluster);
    return c ? &c->streams[w->cta->rank * w->cta->warp_count + w->index] : NULL;
}

pg_clock_detail *pg_clock_add_detail(const pg_warp *w, pg_clock_ask ask)
{
    pg_clock *clock = w->launch->clock;
    pg_clock_stream *s = pg_clock_stream_of(w);
    const uint32_t i = s ? pg_clock_list_add(&clock->details, clock->alloc) : 0;
    clock->failed |= s && !i;
    if (!i)
        return NULL;
    if (s->pending)
        PG_CLOCK_AT(clock->details, pg_clock_detail, s->pending_last)->next = i;
    else
        s->pending = i;
    s->pending_last = i;
    pg_clock_detail *d = PG_CLOCK_AT(clock->details, pg_clock_detail, i);
    d->ask = (uint8_t)ask;
    return d;
}

/* ---- the sample ---- */

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* CTAs that fit on an SM. Registers are ptxas's choice: what .minnctapersm promises, or what an
 * assumed number of registers allows. */
static uint32_t occupancy_of(const pg_grid_run *launch, const pg_clock_chip *chip)
{
    const double threads = launch->warps_per_cta * 32.0;
    const double shared = launch->shared_bytes - PG_SHARED_BASE + chip->reserved_shared;
    double by_registers = chip->registers / (threads * chip->assumed_registers);
    if (launch->entry->min_ctas > by_registers)
        by_registers = launch->entry->min_ctas;
    if (by_registers < 1)
        by_registers = 1;
    double n = least(chip->ctas, chip->threads / threads);
    n = least(least(n, chip->shared_bytes / shared), by_registers);
    return n < 1 ? 1 : (uint32_t)n;
}

pg_clock *pg_clock_new(const pg_grid_run *launch, const pg_ptx_module *module,
                       const pg_clock_chip *chip)
{
    pg_clock *c = pg_alloc_zero(launch->alloc, sizeof *c);
    if (!c)
        return NULL;
    c->chip = chip;
    c->alloc = launch->alloc;
    c->details.bytes = sizeof(pg_clock_detail);
    c->events.bytes = sizeof(pg_clock_event);
    c->asyncs.bytes = sizeof(pg_clock_async);
    c->targets.bytes = sizeof(uint32_t);
    c->clusters.bytes = sizeof(pg_clock_cluster);
    c->groups = (uint64_t)pg_clusters_at_once((int)launch->ctas_per_cluster, (int)chip->sms);
    c->occupancy = occupancy_of(launch, chip);
    c->wanted = (launch->cluster_count + c->groups - 1) / c->groups;
    c->footprint = pg_footprint_new(c->alloc, &launch->memory);
    if (c->footprint && pg_clock_operations_make(&c->operations, c->alloc, launch->program, module))
        return c;
    pg_clock_free(c);
    return NULL;
}

static void free_cluster(pg_clock *clock, pg_clock_cluster *c)
{
    for (uint32_t i = 0; c->streams && i < c->stream_count; i++)
        pg_clock_list_free(&c->streams[i].steps, clock->alloc);
    pg_free(clock->alloc, c->streams, c->stream_count * sizeof *c->streams);
    pg_free(clock->alloc, c->keys, c->slots * sizeof *c->keys);
    pg_free(clock->alloc, c->events, c->slots * sizeof *c->events);
}

void pg_clock_free(pg_clock *c)
{
    if (!c)
        return;
    for (uint32_t i = 1; i < c->clusters.count; i++)
        free_cluster(c, PG_CLOCK_AT(c->clusters, pg_clock_cluster, i));
    pg_clock_list_free(&c->details, c->alloc);
    pg_clock_list_free(&c->events, c->alloc);
    pg_clock_list_free(&c->asyncs, c->alloc);
    pg_clock_list_free(&c->targets, c->alloc);
    pg_clock_list_free(&c->clusters, c->alloc);
    pg_clock_operations_free(&c->operations, c->alloc);
    pg_footprint_free(c->footprint);
    pg_free(c->alloc, c, sizeof *c);
}

/* Whether the clusters beside the sample can run too: then L2 sees all of them. Not where matrix
 * instructions make each of them dear. */
static bool others_run(const pg_clock *c, uint64_t clusters)
{
    const uint64_t others = clusters - c->listed;
    return !c->tensor && c->listed && c->steps / c->listed * others < MOST_OTHER_STEPS;
}

static bool next_of_sample(pg_clock *c, uint64_t *index)
{
    if (c->listed >= c->wanted || c->steps >= MOST_STEPS || c->started_others || c->probe.runs)
        return false;
    *index = c->listed++ * c->groups;
    return true;
}

bool pg_clock_give_cluster(pg_grid_run *launch, uint64_t *index)
{
    pg_clock *c = launch->clock;
    if (!next_of_sample(c, index))
        return false;
    c->given++;
    return true;
}

bool pg_clock_next_cluster(pg_grid_run *launch, uint64_t *index)
{
    pg_clock *c = launch->clock;
    if (next_of_sample(c, index))
        return true;
    if (!c->started_others && !others_run(c, launch->cluster_count))
        return pg_clock_probe_next(c, launch->cluster_count, index);
    /* the next that is not of the sample */
    while (c->others < launch->cluster_count && c->others % c->groups == 0 &&
           c->others / c->groups < c->listed)
        c->others++;
    c->whole = c->others + 1 >= launch->cluster_count;
    if (c->others >= launch->cluster_count) {
        c->whole = true;
        return false;
    }
    c->started_others++;
    *index = c->others++;
    return true;
}
