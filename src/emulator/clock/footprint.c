/* See footprint.h. */
#include "emulator/clock/footprint.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TOUCHES = 1 << 21, HOT_CELLS = 1 << 14, MOST_SLICES = 128 };

typedef struct hot_cell {
    uint32_t requests, units;
} hot_cell;

struct pg_footprint {
    const pg_alloc *alloc;
    const pg_memory *memory;
    pg_footprint_touch *touches;
    uint32_t count, room;
    uint32_t shift; /* one line of 1 << shift is kept */
    hot_cell *hot;
    pg_buffer_traffic *traffic;
};

static uint64_t hash(uint64_t line)
{
    line *= UINT64_C(0x9e3779b97f4a7c15);
    return line ^ line >> 29;
}

uint32_t pg_footprint_buffers(const pg_footprint *f)
{
    return f->memory->count + 1;
}

pg_footprint *pg_footprint_new(const pg_alloc *alloc, const pg_memory *memory)
{
    pg_footprint *f = pg_alloc_zero(alloc, sizeof *f);
    if (!f)
        return NULL;
    f->alloc = alloc;
    f->memory = memory;
    f->traffic = pg_alloc_zero(alloc, pg_footprint_buffers(f) * sizeof *f->traffic);
    f->hot = pg_alloc_zero(alloc, PG_HOT_EPOCHS * HOT_CELLS * sizeof *f->hot);
    if (f->traffic && f->hot)
        return f;
    pg_footprint_free(f);
    return NULL;
}

void pg_footprint_free(pg_footprint *f)
{
    if (!f)
        return;
    pg_free(f->alloc, f->touches, f->room * sizeof *f->touches);
    pg_free(f->alloc, f->traffic, pg_footprint_buffers(f) * sizeof *f->traffic);
    pg_free(f->alloc, f->hot, PG_HOT_EPOCHS * HOT_CELLS * sizeof *f->hot);
    pg_free(f->alloc, f, sizeof *f);
}

uint16_t pg_footprint_buffer(const pg_footprint *f, uint64_t address)
{
    const pg_memory *m = f->memory;
    uint32_t low = 0, high = m->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (m->buffers[middle].address + m->buffers[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const bool inside = low < m->count && m->buffers[low].address <= address;
    return (uint16_t)(inside ? low : m->count);
}

/* ---- collecting ---- */

static bool is_kept(const pg_footprint *f, uint64_t line)
{
    return (hash(line) & ((UINT64_C(1) << f->shift) - 1)) == 0;
}

static void thin(pg_footprint *f)
{
    uint32_t kept = 0;
    f->shift++;
    for (uint32_t i = 0; i < f->count; i++)
        if (is_kept(f, f->touches[i].line))
            f->touches[kept++] = f->touches[i];
    f->count = kept;
}

bool pg_footprint_add(pg_footprint *f, const pg_footprint_touch *touch)
{
    if (!is_kept(f, touch->line))
        return true;
    if (f->count == MOST_TOUCHES)
        thin(f);
    if (f->count == f->room) {
        const uint32_t room = f->room ? 2 * f->room : 4096;
        pg_footprint_touch *more = f->alloc->realloc(f->alloc->user, f->touches,
                                                     f->room * sizeof *more, room * sizeof *more);
        if (!more)
            return false;
        f->touches = more;
        f->room = room;
    }
    f->touches[f->count++] = *touch;
    return true;
}

void pg_footprint_hot(pg_footprint *f, uint64_t line, uint32_t units, uint32_t epoch)
{
    hot_cell *c = &f->hot[epoch * HOT_CELLS + (hash(line) >> 40 & (HOT_CELLS - 1))];
    c->requests++;
    c->units += units;
}

static void add_epoch(const hot_cell *cells, const pg_hot_cost *cost, pg_hot_times *out)
{
    double line = 0, slice = 0, slices[MOST_SLICES] = {0};
    for (uint32_t i = 0; i < HOT_CELLS; i++) {
        const double ns = cells[i].requests * cost->request_ns + cells[i].units * cost->unit_ns;
        double *of = &slices[i % cost->slices];
        *of += cells[i].units * cost->slice_unit_ns;
        line = ns > line ? ns : line;
        slice = *of > slice ? *of : slice;
    }
    out->line_ns += line;
    out->slice_ns += slice;
}

pg_hot_times pg_footprint_hottest(const pg_footprint *f, const pg_hot_cost *cost)
{
    pg_hot_times out = {0, 0};
    for (uint32_t e = 0; e < PG_HOT_EPOCHS; e++)
        add_epoch(f->hot + e * HOT_CELLS, cost, &out);
    return out;
}

/* ---- L2 ---- */

static int earlier(const void *a, const void *b)
{
    const pg_footprint_touch *x = a, *y = b;
    if (x->wave != y->wave)
        return x->wave < y->wave ? -1 : 1;
    return (x->tick > y->tick) - (x->tick < y->tick);
}

/* A line in L2: linked from the most to the least recently used; 0 ends. */
typedef struct cached {
    uint64_t line;
    uint32_t newer, older;
    uint16_t buffer;
    uint8_t valid, dirty, touch;
    uint8_t seen; /* sectors that were ever touched */
    bool here;
} cached;

typedef struct cache {
    cached *lines; /* by slot of an open-addressed table; slot 0 is never used */
    uint32_t slots, newest, oldest, count, capacity;
    pg_buffer_traffic *traffic;
    bool counts;
} cache;

static cached *find_line(cache *c, uint64_t line)
{
    uint32_t slot = (uint32_t)(hash(line) >> 20) & (c->slots - 1);
    while (!slot || (c->lines[slot].line && c->lines[slot].line != line + 1))
        slot = (slot + 1) & (c->slots - 1);
    c->lines[slot].line = line + 1;
    return &c->lines[slot];
}

static void unlink_line(cache *c, cached *l)
{
    *(l->newer ? &c->lines[l->newer].older : &c->newest) = l->older;
    *(l->older ? &c->lines[l->older].newer : &c->oldest) = l->newer;
    l->here = false;
    c->count--;
}

static void evict(cache *c)
{
    cached *l = &c->lines[c->oldest];
    unlink_line(c, l);
    if (c->counts)
        c->traffic[l->buffer].written[l->touch] += __builtin_popcount(l->dirty) * PG_SECTOR_BYTES;
    l->valid = l->dirty = 0;
}

static void push_line(cache *c, cached *l)
{
    const uint32_t slot = (uint32_t)(l - c->lines);
    l->newer = 0;
    l->older = c->newest;
    *(c->newest ? &c->lines[c->newest].newer : &c->oldest) = slot;
    c->newest = slot;
    l->here = true;
    c->count++;
}

/* DRAM gives halves of a line. */
static uint8_t halves(uint8_t sectors)
{
    return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
}

static void touch_line(cache *c, const pg_footprint_touch *t)
{
    cached *l = find_line(c, t->line);
    if (l->here)
        unlink_line(c, l);
    else if (c->count >= c->capacity)
        evict(c);
    l->buffer = t->buffer;
    push_line(c, l);
    if (c->counts)
        c->traffic[t->buffer].unique += __builtin_popcount(t->sectors & ~l->seen) * PG_SECTOR_BYTES;
    l->seen |= c->counts ? t->sectors : 0;
    const uint8_t missing = t->touch == TOUCH_STORE ? 0 : halves(t->sectors) & ~l->valid;
    pg_buffer_traffic *b = &c->traffic[t->buffer];
    if (c->counts) {
        b->asked[t->touch] += __builtin_popcount(t->sectors) * PG_SECTOR_BYTES;
        b->misses[t->touch] += __builtin_popcount(missing) * PG_SECTOR_BYTES;
    }
    l->valid |= t->sectors | missing;
    if (t->touch != TOUCH_LOAD) {
        l->dirty |= t->sectors;
        l->touch = t->touch;
    }
}

static void finish_traffic(pg_footprint *f, double grid)
{
    for (uint32_t i = 0; i < pg_footprint_buffers(f); i++)
        for (int t = 0; t < 3; t++) {
            pg_buffer_traffic *b = &f->traffic[i];
            b->misses[t] = b->asked[t] ? b->misses[t] / b->asked[t] : 0;
            b->written[t] = b->asked[t] ? b->written[t] / b->asked[t] : 0;
            b->asked[t] *= grid * (double)(UINT64_C(1) << f->shift);
        }
    for (uint32_t i = 0; i < pg_footprint_buffers(f); i++) {
        pg_buffer_traffic *b = &f->traffic[i];
        const double bytes = i < f->memory->count ? (double)f->memory->buffers[i].bytes : 1e18;
        b->unique *= grid * (double)(UINT64_C(1) << f->shift);
        b->unique = b->unique < bytes ? b->unique : bytes;
    }
}

static bool simulate(pg_footprint *f, double l2_bytes)
{
    cache c = {.traffic = f->traffic, .slots = 1024};
    while (c.slots < 2 * (uint64_t)f->count + 2)
        c.slots *= 2;
    const double lines = l2_bytes / PG_LINE_BYTES / (double)(UINT64_C(1) << f->shift);
    c.capacity = lines < 16 ? 16 : (uint32_t)lines;
    c.lines = pg_alloc_zero(f->alloc, c.slots * sizeof *c.lines);
    if (!c.lines)
        return false;
    if (f->count)
        qsort(f->touches, f->count, sizeof *f->touches, earlier);
    for (int round = 0; round < 2; round++) {
        c.counts = round == 1;
        for (uint32_t i = 0; i < f->count; i++)
            touch_line(&c, &f->touches[i]);
    }
    pg_free(f->alloc, c.lines, c.slots * sizeof *c.lines);
    return true;
}

/* Only a sample of the clusters ran: a buffer's lines are as many as the sample's times `scale`,
 * but no more than the buffer has; what fits L2 stays there. */
static bool extrapolate(pg_footprint *f, double l2_bytes, double scale)
{
    cache c = {.traffic = f->traffic, .slots = 1024, .capacity = UINT32_MAX, .counts = true};
    while (c.slots < 2 * (uint64_t)f->count + 2)
        c.slots *= 2;
    c.lines = pg_alloc_zero(f->alloc, c.slots * sizeof *c.lines);
    if (!c.lines)
        return false;
    for (uint32_t i = 0; i < f->count; i++)
        touch_line(&c, &f->touches[i]);
    while (c.count)
        evict(&c);
    pg_free(f->alloc, c.lines, c.slots * sizeof *c.lines);
    const double thinned = (double)(UINT64_C(1) << f->shift);
    double unique = 0;
    for (uint32_t i = 0; i < pg_footprint_buffers(f); i++) {
        pg_buffer_traffic *b = &f->traffic[i];
        const double bytes = i < f->memory->count ? (double)f->memory->buffers[i].bytes : 1e18;
        double most = 0;
        for (int t = 0; t < 3; t++) {
            const double all = (b->misses[t] > b->written[t] ? b->misses[t] : b->written[t]);
            const double grown = all * thinned * scale;
            const double here = grown < bytes ? grown : bytes;
            const double keep = grown > 0 ? here / grown : 0;
            b->misses[t] *= keep;
            b->written[t] *= keep;
            /* Rows that atomics reach come in no order that L2 could serve. */
            const double lost = t == TOUCH_ATOMIC && here > l2_bytes ? 1 - l2_bytes / here : 0;
            const double least = lost * b->asked[t];
            b->misses[t] = b->misses[t] > least ? b->misses[t] : least;
            b->written[t] = b->written[t] > least ? b->written[t] : least;
            most = here > most ? here : most;
        }
        unique += most;
    }
    for (uint32_t i = 0; unique <= l2_bytes && i < pg_footprint_buffers(f); i++)
        for (int t = 0; t < 3; t++)
            f->traffic[i].misses[t] = f->traffic[i].written[t] = 0;
    return true;
}

bool pg_footprint_settle(pg_footprint *f, double l2_bytes, double scale)
{
    const bool ok = scale > 1 ? extrapolate(f, l2_bytes, scale) : simulate(f, l2_bytes);
    if (ok)
        finish_traffic(f, scale > 1 ? scale : 1);
    return ok;
}

const pg_buffer_traffic *pg_footprint_traffic(const pg_footprint *f, uint16_t buffer)
{
    return &f->traffic[buffer];
}
