/* Shadow memory: who wrote and read each granule last, and the judgement on every new access. */
#include "emulator/check_state.h"

/* ---- where the shadow of an address is ---- */

static uint32_t page_slot(const pg_checker *k, uint64_t page)
{
    uint32_t at = (uint32_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (k->page_slots - 1);
    while (k->pages[at].page && k->pages[at].page != page)
        at = (at + 1) & (k->page_slots - 1);
    return at;
}

static bool grow_pages(pg_checker *k)
{
    const pg_alloc *alloc = k->launch->alloc;
    pg_shadow_page *old = k->pages;
    const uint32_t old_slots = k->page_slots;
    const uint32_t slots = old_slots ? 2 * old_slots : 256;
    pg_shadow_page *pages = pg_alloc_zero(alloc, slots * sizeof *pages);
    if (!pages)
        return false;
    k->pages = pages;
    k->page_slots = slots;
    for (uint32_t i = 0; i < old_slots; i++)
        if (old[i].page)
            k->pages[page_slot(k, old[i].page)] = old[i];
    if (old)
        pg_free(alloc, old, old_slots * sizeof *old);
    return true;
}

enum { PAGE_BYTES = PG_SHADOW_PAGE / PG_GRANULE * sizeof(pg_granule) };

/* NULL: no memory for it; the access then goes unchecked. */
static pg_granule *global_page(pg_checker *k, uint64_t address)
{
    const uint64_t page = address / PG_SHADOW_PAGE + 1;
    if (2 * (k->page_count + 1) > k->page_slots && !grow_pages(k))
        return NULL;
    pg_shadow_page *p = &k->pages[page_slot(k, page)];
    if (p->page)
        return p->granules;
    pg_launch *launch = k->launch;
    const uint64_t used = atomic_fetch_add(&launch->memory_used, PAGE_BYTES) + PAGE_BYTES;
    pg_granule *granules = launch->memory_budget && used > launch->memory_budget
                               ? NULL
                               : pg_alloc_zero(launch->alloc, PAGE_BYTES);
    if (!granules) {
        atomic_fetch_sub(&launch->memory_used, PAGE_BYTES);
        return NULL;
    }
    p->page = page;
    p->granules = granules;
    k->page_count++;
    return granules;
}

void pg_shadow_free(pg_checker *k)
{
    const pg_alloc *alloc = k->launch->alloc;
    for (uint32_t i = 0; i < k->page_slots; i++)
        if (k->pages[i].page)
            pg_free(alloc, k->pages[i].granules, PAGE_BYTES);
    if (k->pages)
        pg_free(alloc, k->pages, k->page_slots * sizeof *k->pages);
}

static pg_granule *granule_at(const pg_touch *t, uint64_t address)
{
    if (t->cta)
        return &pg_cta_check_of(t->cta)->shared[address / PG_GRANULE];
    pg_granule *page = global_page(t->warp->launch->checker, address);
    return page ? &page[address % PG_SHADOW_PAGE / PG_GRANULE] : NULL;
}

/* ---- judgement ---- */

/* The lane that acts (or issued the operation) has seen all accesses of the record. */
static bool has_seen(const pg_touch *t, const pg_record *r, const pg_vector *v, bool own_too)
{
    const uint16_t own = (uint16_t)(pg_warp_agent(t->warp) + t->lane);
    for (uint32_t left = r->lanes; left; left &= left - 1) {
        const uint16_t agent = (uint16_t)(r->base + __builtin_ctz(left));
        if (own_too && agent == own)
            continue;
        if (pg_vector_at(v, agent) < r->clock)
            return false;
    }
    return true;
}

/* Orders that the checker does not follow: between clusters that synchronise through global memory. */
static bool other_cluster_in_order(const pg_touch *t)
{
    return (pg_warp_check_of(t->warp)->foreign >> t->lane & 1) != 0;
}

static ptxgen_emulator_report_kind race_kind(const pg_touch *t, const pg_record *r)
{
    if (r->flags & (PG_RECORD_ASYNC | PG_RECORD_DETACHED))
        return r->clock == PG_IN_FLIGHT || !t->write ? PTXGEN_EMULATOR_REPORT_READ_BEFORE_ARRIVAL
                                                     : PTXGEN_EMULATOR_REPORT_REUSE_BEFORE_RELEASE;
    return t->cta ? PTXGEN_EMULATOR_REPORT_RACE_SHARED : PTXGEN_EMULATOR_REPORT_RACE_GLOBAL;
}

static void mark_fence_needed(const pg_touch *t, const pg_record *r)
{
    pg_checker *k = t->warp->launch->checker;
    const pg_op *ops = t->warp->launch->program->ops;
    const pg_op *mine = pg_warp_check_of(t->warp)->last_fence[t->lane];
    if (mine)
        k->fence_use[mine - ops] |= 2;
    const pg_cluster *c = t->warp->cta->cluster;
    const uint32_t warp = r->base / PG_LANES, per_cta = c->ctas[0].warp_count;
    if (warp / per_cta >= c->cta_count)
        return;
    const pg_warp_check *w = pg_warp_check_of(&c->ctas[warp / per_cta].warps[warp % per_cta]);
    for (uint32_t left = r->lanes; left; left &= left - 1)
        if (w->last_fence[__builtin_ctz(left)])
            k->fence_use[w->last_fence[__builtin_ctz(left)] - ops] |= 2;
}

/* Whether the access may follow the recorded one; reports when not. */
static void judge(const pg_touch *t, const pg_record *r, bool record_is_write)
{
    const bool both_strong = t->strong && (r->flags & PG_RECORD_STRONG);
    if (!r->lanes || both_strong)
        return;
    if (r->cluster != (uint32_t)t->warp->cta->cluster->index) {
        if (!other_cluster_in_order(t) && !(t->async && (r->flags & PG_RECORD_ASYNC) && t->strong))
            pg_check_report(t, PTXGEN_EMULATOR_REPORT_RACE_GLOBAL, r,
                            "another cluster accesses the same memory and nothing orders the two");
        return;
    }
    const pg_knowledge *mine = &pg_warp_check_of(t->warp)->lane[t->lane];
    if (!has_seen(t, r, mine->seen, true)) {
        const bool reuse = !record_is_write && (r->flags & PG_RECORD_ASYNC);
        pg_check_report(t,
                        reuse                          ? PTXGEN_EMULATOR_REPORT_REUSE_BEFORE_RELEASE
                        : t->async && !record_is_write ? PTXGEN_EMULATOR_REPORT_REUSE_BEFORE_RELEASE
                                                       : race_kind(t, r),
                        r,
                        record_is_write
                            ? "nothing orders this access after the write of the same memory"
                            : "nothing orders this write after a read of the same memory");
        return;
    }
    if (!t->async || (r->flags & PG_RECORD_ASYNC))
        return;
    if (!has_seen(t, r, mine->fenced, false))
        pg_check_report(t, PTXGEN_EMULATOR_REPORT_MISSING_PROXY_FENCE, r,
                        record_is_write
                            ? "the asynchronous access needs fence.proxy.async after the write"
                            : "the asynchronous write needs fence.proxy.async after the read");
    else
        mark_fence_needed(t, r);
}

static pg_record new_record(const pg_touch *t, uint8_t bytes)
{
    const bool dynamic = t->async || t->detached;
    return (pg_record){.lanes = dynamic ? 1 : 1u << t->lane,
                       .clock = dynamic ? t->clock : pg_warp_check_of(t->warp)->now,
                       .cluster = (uint32_t)t->warp->cta->cluster->index,
                       .op = pg_pc_of(t->warp, t->op),
                       .base = dynamic ? t->agent : pg_warp_agent(t->warp),
                       .bytes = bytes,
                       .flags = (uint8_t)((t->async ? PG_RECORD_ASYNC : 0) |
                                          (t->strong ? PG_RECORD_STRONG : 0) |
                                          (t->detached ? PG_RECORD_DETACHED : 0))};
}

/* Keeps the read: with its equals, in a free place, or over one that it makes superfluous. */
static void remember_read(const pg_touch *t, pg_granule *g, uint8_t bytes)
{
    const pg_record record = new_record(t, bytes);
    const pg_vector *seen = pg_warp_check_of(t->warp)->lane[t->lane].seen;
    int place = -1;
    for (int i = 0; i < PG_SHADOW_READS; i++) {
        pg_record *r = &g->reads[i];
        if (r->lanes && r->base == record.base && r->clock == record.clock &&
            r->cluster == record.cluster && r->flags == record.flags && r->op == record.op) {
            r->lanes |= record.lanes;
            r->bytes |= bytes;
            return;
        }
        if (!r->lanes || (place < 0 && !(r->bytes & ~bytes) && has_seen(t, r, seen, true)))
            place = i;
    }
    g->reads[place >= 0 ? place : (int)(record.clock % PG_SHADOW_READS)] = record;
}

static void remember_write(const pg_touch *t, pg_granule *g, uint8_t bytes)
{
    g->write = new_record(t, bytes);
    g->written |= bytes;
    for (int i = 0; i < PG_SHADOW_READS; i++)
        if (!(g->reads[i].bytes & ~bytes))
            g->reads[i].lanes = 0;
}

static void touch_granule(const pg_touch *t, pg_granule *g, uint8_t bytes)
{
    if (g->write.bytes & bytes)
        judge(t, &g->write, true);
    if (!t->write) {
        if (t->cta && (g->written & bytes) != bytes) {
            pg_check_report(t, PTXGEN_EMULATOR_REPORT_UNINITIALIZED, NULL,
                            "nothing has written this shared memory");
            g->written |= bytes; /* once */
        }
        remember_read(t, g, bytes);
        return;
    }
    for (int i = 0; i < PG_SHADOW_READS; i++)
        if (g->reads[i].bytes & bytes)
            judge(t, &g->reads[i], false);
    remember_write(t, g, bytes);
}

void pg_shadow_touch(const pg_touch *t)
{
    const uint64_t end = t->address + t->bytes;
    pg_touch part = *t;
    for (uint64_t at = t->address; at < end;) {
        const uint64_t next = (at / PG_GRANULE + 1) * PG_GRANULE;
        const uint32_t first = (uint32_t)(at % PG_GRANULE),
                       n = (uint32_t)((next < end ? next : end) - at);
        pg_granule *g = granule_at(t, at);
        if (!g)
            return;
        part.address = at;
        touch_granule(&part, g, (uint8_t)(((1u << n) - 1) << first));
        at += n;
    }
}

static void settle(const pg_touch *t, pg_record *r)
{
    if (r->base == t->agent && (r->flags & PG_RECORD_ASYNC) && r->clock == PG_IN_FLIGHT)
        r->clock = t->clock;
}

void pg_shadow_settle(const pg_touch *t)
{
    for (uint64_t at = t->address / PG_GRANULE * PG_GRANULE; at < t->address + t->bytes;
         at += PG_GRANULE) {
        pg_granule *g = granule_at(t, at);
        if (!g)
            return;
        if (t->write)
            settle(t, &g->write);
        for (int i = 0; !t->write && i < PG_SHADOW_READS; i++)
            settle(t, &g->reads[i]);
    }
}
