/* Shadow memory: who wrote and read each granule last, and the judgement on every new access. */
#include "emulator/check/state.h"

#include "ptx/ptx.h"

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

enum {
    PAGE_BLOCKS = PG_SHADOW_PAGE / PG_BLOCK,
    PAGE_BYTES = PAGE_BLOCKS * sizeof(pg_shadow_block),
    PARTS_BYTES = PG_BLOCK_PARTS * sizeof(pg_granule)
};

/* Memory for shadow, within the launch's budget; NULL: the access then goes unchecked. */
static void *shadow_memory(pg_grid_run *launch, size_t bytes)
{
    const uint64_t used = atomic_fetch_add(&launch->memory_used, bytes) + bytes;
    void *p = launch->memory_budget && used > launch->memory_budget
                  ? NULL
                  : pg_alloc_zero(launch->alloc, bytes);
    if (!p)
        atomic_fetch_sub(&launch->memory_used, bytes);
    return p;
}

pg_shadow_block *pg_shadow_page_at(pg_checker *k, uint64_t address)
{
    const uint64_t page = address / PG_SHADOW_PAGE + 1;
    if (2 * (k->page_count + 1) > k->page_slots && !grow_pages(k))
        return NULL;
    pg_shadow_page *p = &k->pages[page_slot(k, page)];
    if (!p->page) {
        p->blocks = shadow_memory(k->launch, PAGE_BYTES);
        if (!p->blocks)
            return NULL;
        p->page = page;
        k->page_count++;
    }
    k->last = *p;
    return p->blocks;
}

void pg_shadow_drop_parts(pg_grid_run *launch, pg_shadow_block *blocks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!blocks[i].parts)
            continue;
        pg_free(launch->alloc, blocks[i].parts, PARTS_BYTES);
        atomic_fetch_sub(&launch->memory_used, PARTS_BYTES);
    }
}

void pg_shadow_free(pg_checker *k)
{
    const pg_alloc *alloc = k->launch->alloc;
    for (uint32_t i = 0; i < k->page_slots; i++) {
        if (!k->pages[i].page)
            continue;
        pg_shadow_drop_parts(k->launch, k->pages[i].blocks, PAGE_BLOCKS);
        pg_free(alloc, k->pages[i].blocks, PAGE_BYTES);
    }
    if (k->pages)
        pg_free(alloc, k->pages, k->page_slots * sizeof *k->pages);
}

/* The striped record as it is for a granule of the lane. */
static inline void unstripe(pg_record *r, uint32_t lane)
{
    if (!r->lanes || !(r->flags & PG_RECORD_STRIPED))
        return;
    r->lanes = 1u << lane;
    r->flags &= (uint8_t)~PG_RECORD_STRIPED;
}

/* Gives every granule of the block an entry of its own. */
static inline bool split_block(pg_grid_run *launch, pg_shadow_block *b)
{
    if (b->split)
        return true;
    if (!b->parts)
        b->parts = shadow_memory(launch, PARTS_BYTES);
    if (!b->parts)
        return false;
    for (uint32_t i = 0; i < PG_BLOCK_PARTS; i++) {
        pg_granule *g = &b->parts[i];
        const uint32_t lane = b->first_lane + (i >> b->lane_shift);
        *g = b->whole;
        unstripe(&g->write, lane);
        for (int r = 0; r < PG_SHADOW_READS; r++)
            unstripe(&g->reads[r], lane);
    }
    b->split = true;
    return true;
}

void pg_shadow_reset(pg_cta *cta, uint32_t offset, uint32_t bytes)
{
    for (uint32_t at = offset; at < offset + bytes; at += PG_GRANULE) {
        pg_shadow_block *b = &pg_cta_check_of(cta)->shared[at / PG_BLOCK];
        if (split_block(cta->cluster->launch, b))
            b->parts[at % PG_BLOCK / PG_GRANULE] = (pg_granule){.written = 15};
    }
}

/* ---- judgement ---- */

/* The lane that acts (or issued the operation) has seen all accesses of the record. */
static bool has_seen(const pg_touch *t, const pg_record *r, const pg_vector *v, bool own_too)
{
    const uint16_t own = (uint16_t)(t->base + t->lane);
    for (uint32_t left = r->lanes; left; left &= left - 1) {
        const uint16_t agent = (uint16_t)(r->base + __builtin_ctz(left));
        if (!(own_too && agent == own && r->cluster == t->cluster) &&
            pg_vector_at(v, agent) < r->clock)
            return false;
    }
    return true;
}

/* What the lane knows about the agents of the record. */
static inline const pg_vector *known_of(const pg_touch *t, const pg_record *r, int part)
{
    const pg_knowledge *mine = &t->check->lane[t->lane];
    if (r->cluster == t->cluster)
        return mine->part[part];
    const pg_foreign_entry *e = pg_foreign_find(mine->foreign, r->cluster);
    return e ? e->part[part] : NULL;
}

/* A plain access of the lane may follow what is recorded, without a word. */
static inline bool may_follow(const pg_touch *t, const pg_record *r)
{
    return !r->lanes || has_seen(t, r, known_of(t, r, PG_KNOWN_SEEN), true);
}

/* The proxy fence that an asynchronous access needs. */
static inline int fenced_part(const pg_touch *t)
{
    return t->cta ? PG_KNOWN_SHARED : PG_KNOWN_GLOBAL;
}

static pg_scope scope_of(const pg_record *r)
{
    return (pg_scope)(r->flags >> PG_RECORD_SCOPE_SHIFT);
}

/* Two strong accesses whose scopes include each other's thread race with nobody. */
static bool are_morally_strong(const pg_touch *t, const pg_record *r)
{
    const pg_scope other = scope_of(r), scope = t->scope < other ? t->scope : other;
    const uint32_t warps = t->warp->cta->warp_count;
    if (!t->strong || !(r->flags & PG_RECORD_STRONG))
        return false;
    if (scope == PG_SCOPE_GPU)
        return true;
    return r->cluster == t->cluster &&
           (scope == PG_SCOPE_CLUSTER || r->base / PG_LANES / warps == t->warp->cta->rank);
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
    const pg_op *mine = t->check->last_fence[t->lane];
    if (mine)
        k->fence_use[mine - ops] |= 2;
    const pg_cluster *c = t->warp->cta->cluster;
    const uint32_t warp = r->base / PG_LANES, per_cta = c->ctas[0].warp_count;
    if (warp / per_cta >= c->cta_count || r->cluster != t->cluster)
        return;
    const pg_warp_check *w = pg_warp_check_of(&c->ctas[warp / per_cta].warps[warp % per_cta]);
    for (uint32_t left = r->lanes; left; left &= left - 1)
        if (w->last_fence[__builtin_ctz(left)])
            k->fence_use[w->last_fence[__builtin_ctz(left)] - ops] |= 2;
}

static const uint8_t *memory_at(const pg_touch *t)
{
    return t->cta ? t->cta->shared + t->address : (const uint8_t *)(uintptr_t)t->address;
}

/* The bytes that the lane stores; false: nobody knows. */
static bool stored_value(const pg_touch *t, uint32_t lane, uint8_t *value)
{
    const pg_op *op = t->op;
    const pg_checked_access *a = t->access;
    if (a->value) {
        memcpy(value, (const uint8_t *)a->value + (size_t)lane * a->bytes, a->bytes);
        return true;
    }
    if ((uint32_t)op->size * op->count != a->bytes || op->row_count != op->count)
        return false;
    for (uint32_t e = 0; e < op->count; e++)
        memcpy(value + e * op->size,
               (const char *)pg_row_at(t->warp, op->rows[e]) + (size_t)lane * op->lane_bytes,
               op->size);
    return true;
}

/* The plain store changes nothing that the recorded store has written: whichever of the two is
 * last, the outcome is the same. Reductions of compilers end like this. `t` may be a part of the
 * access. A lane that stores there in the same execution of the instruction has not stored yet: it
 * is asked for its value. What others have stored, also in an earlier round of a loop, is there. */
static bool stores_same_value(const pg_touch *t, const pg_record *r)
{
    const pg_checked_access *a = t->access;
    uint8_t value[PG_GRANULE_MOST], other[PG_GRANULE_MOST];
    if (!a || !t->write || t->reads || a->bytes > sizeof value || r->cluster != t->cluster ||
        !stored_value(t, t->lane, value))
        return false;
    const uint64_t skipped = t->address - t->whole_address;
    const bool one_op = r->op == t->pc && r->base == t->base && r->clock == t->check->now;
    uint32_t together = 0;
    for (uint32_t left = one_op ? r->lanes & a->lanes : 0; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        if (a->address[l] != a->address[t->lane])
            continue;
        together |= 1u << l;
        if (!stored_value(t, l, other) || memcmp(value, other, a->bytes))
            return false;
    }
    return !(r->lanes & ~together) ||
           (skipped + t->bytes <= a->bytes && !memcmp(memory_at(t), value + skipped, t->bytes));
}

static void report_race(const pg_touch *t, const pg_record *r, bool record_is_write)
{
    const bool reuse = !record_is_write && (t->async || (r->flags & PG_RECORD_ASYNC));
    const bool both_strong = t->strong && (r->flags & PG_RECORD_STRONG);
    if (both_strong || has_seen(t, r, known_of(t, r, PG_KNOWN_HOPED), true))
        pg_check_report(t, PTXGEN_EMULATOR_REPORT_NARROW_SCOPE, r,
                        both_strong ? "the scope of one of these accesses does not include the "
                                      "thread of the other, so they race"
                                    : "the two threads synchronise, but at a scope that does not "
                                      "include both");
    else
        pg_check_report(t, reuse ? PTXGEN_EMULATOR_REPORT_REUSE_BEFORE_RELEASE : race_kind(t, r), r,
                        record_is_write
                            ? "nothing orders this access after the write of the same memory"
                            : "nothing orders this write after a read of the same memory");
}

/* Both are stores, or the record is one that another lane of the warp has made too, of the same
 * value. */
static bool is_same_value(const pg_touch *t, const pg_record *r, bool record_is_write)
{
    if (!record_is_write || r->flags & (PG_RECORD_ASYNC | PG_RECORD_DETACHED))
        return false;
    if (!t->write)
        return (r->flags & PG_RECORD_SAME) && r->base == t->base && r->cluster == t->cluster;
    if (!stores_same_value(t, r))
        return false;
    pg_check_report(t, PTXGEN_EMULATOR_REPORT_SAME_VALUE, r,
                    "nothing orders this store after another of the same value");
    return true;
}

/* Compilers leave the proxy fence out between cp.async and wgmma. */
static bool is_cp_async(const pg_touch *t, const pg_record *r)
{
    const pg_op *op = &t->warp->launch->program->ops[r->op];
    return (r->flags & PG_RECORD_DETACHED) &&
           !strcmp(pg_ptx_op_describe((pg_ptx_op)op->opcode)->mnemonic, "cp.async");
}

/* The ISA does not say through which proxy tcgen05.alloc writes the address. */
static bool is_alloc(const pg_touch *t, const pg_record *r)
{
    return t->warp->launch->program->ops[r->op].opcode == PG_OP_TCGEN05_ALLOC;
}

/* Whether the access may follow the recorded one; reports when not. */
static void judge(const pg_touch *t, const pg_record *r, bool record_is_write)
{
    if (!r->lanes || are_morally_strong(t, r))
        return;
    if (!may_follow(t, r)) {
        if (!is_same_value(t, r, record_is_write))
            report_race(t, r, record_is_write);
        return;
    }
    if (t->map && !has_seen(t, r, known_of(t, r, PG_KNOWN_MAPS), false))
        pg_check_report(t, PTXGEN_EMULATOR_REPORT_TENSOR_MAP, r,
                        "the tensor map was changed, and fence.proxy.tensormap::generic.acquire "
                        "comes before a copy that uses it");
    if (!t->async || (r->flags & PG_RECORD_ASYNC) || is_alloc(t, r))
        return;
    if (!has_seen(t, r, known_of(t, r, fenced_part(t)), false))
        pg_check_report(t,
                        is_cp_async(t, r)  ? PTXGEN_EMULATOR_REPORT_COPY_WITHOUT_FENCE
                        : !record_is_write ? PTXGEN_EMULATOR_REPORT_REUSE_WITHOUT_FENCE
                                           : PTXGEN_EMULATOR_REPORT_MISSING_PROXY_FENCE,
                        r,
                        record_is_write
                            ? "the asynchronous access needs fence.proxy.async after the write"
                            : "the asynchronous write needs fence.proxy.async after the read");
    else
        mark_fence_needed(t, r);
}

static inline pg_record new_record(const pg_touch *t, uint8_t bytes)
{
    const bool dynamic = t->async || t->detached;
    return (pg_record){
        .lanes = dynamic ? 1 : 1u << t->lane,
        .clock = dynamic ? t->clock : t->check->now,
        .cluster = t->cluster,
        .op = t->pc,
        .base = dynamic ? t->agent : t->base,
        .bytes = bytes,
        .flags =
            (uint8_t)((t->async ? PG_RECORD_ASYNC : 0) | (t->strong ? PG_RECORD_STRONG : 0) |
                      (t->detached ? PG_RECORD_DETACHED : 0) | t->scope << PG_RECORD_SCOPE_SHIFT)};
}

static inline bool is_same_access(const pg_record *a, const pg_record *b)
{
    return a->base == b->base && a->clock == b->clock && a->op == b->op &&
           a->cluster == b->cluster && a->flags == b->flags &&
           a->bytes == b->bytes; /* else each lane would seem to have read the other's */
}

/* Keeps the read: with its equals, in a free place, or over one that it makes superfluous. */
static void remember_read(const pg_touch *t, pg_granule *g, uint8_t bytes)
{
    const pg_record record = new_record(t, bytes);
    int place = -1;
    for (int i = 0; i < PG_SHADOW_READS; i++) {
        pg_record *r = &g->reads[i];
        if (r->lanes && is_same_access(r, &record)) {
            r->lanes |= record.lanes;
            return;
        }
        if (place < 0 && (!r->lanes || (!(r->bytes & ~bytes) && may_follow(t, r))))
            place = i;
    }
    g->reads[place >= 0 ? place : (int)(record.clock % PG_SHADOW_READS)] = record;
}

static void remember_write(const pg_touch *t, pg_granule *g, uint8_t bytes)
{
    const pg_record before = g->write;
    g->write = new_record(t, bytes);
    if (before.lanes && before.base == t->base && before.op == t->pc &&
        before.clock == g->write.clock && before.cluster == t->cluster &&
        before.flags == g->write.flags && (before.bytes & bytes))
        g->write.flags |= PG_RECORD_SAME; /* several lanes of one store */
    else if ((before.flags & PG_RECORD_SAME) && before.op == t->pc && before.base == t->base)
        g->write.flags |= PG_RECORD_SAME;
    g->written |= bytes;
    for (int i = 0; i < PG_SHADOW_READS; i++)
        if (!(g->reads[i].bytes & ~bytes))
            g->reads[i].lanes = 0;
}

/* The access reads bytes that nothing has written, of memory that begins without a value. */
static inline bool reads_nothing(const pg_touch *t, const pg_granule *g, uint8_t bytes)
{
    if (!t->reads || (g->written & bytes) == bytes)
        return false;
    if (t->cta)
        return true;
    const pg_grid_run *launch = t->warp->launch;
    if (!launch->checker->has_undefined)
        return false;
    for (uint32_t i = 0; i < launch->memory.count; i++) {
        const pg_buffer *b = &launch->memory.buffers[i];
        if (b->uninitialized && t->address - b->address < b->bytes)
            return true;
    }
    return false;
}

/* ld.global.nc and a write of the same bytes in one kernel, in whatever order. */
static inline bool breaks_read_only(const pg_touch *t, const pg_granule *g, uint8_t bytes)
{
    if (t->cta)
        return false;
    return t->read_only ? g->write.lanes && (g->write.bytes & bytes)
                        : t->write && (g->read_only & bytes);
}

static void touch_read_only(const pg_touch *t, pg_granule *g, uint8_t bytes)
{
    if (t->read_only) {
        if (breaks_read_only(t, g, bytes))
            pg_check_report(t, PTXGEN_EMULATOR_REPORT_READ_ONLY, &g->write,
                            "ld.global.nc may read old data: the kernel has written it");
        g->read_only |= bytes;
    } else if (breaks_read_only(t, g, bytes)) {
        const pg_record *by = g->reads[0].lanes ? &g->reads[0] : NULL;
        pg_check_report(t, PTXGEN_EMULATOR_REPORT_READ_ONLY, by,
                        "ld.global.nc has read this memory, which no part of the kernel may write");
        g->read_only &= (uint8_t)~bytes; /* once */
    }
}

static inline void touch_granule(const pg_touch *t, pg_granule *g, uint8_t bytes)
{
    if (t->read_only || (g->read_only & bytes))
        touch_read_only(t, g, bytes);
    if (!t->read_only && (g->write.bytes & bytes) &&
        (t->async || t->map || !may_follow(t, &g->write)))
        judge(t, &g->write, true);
    if (reads_nothing(t, g, bytes)) {
        pg_check_report(t, PTXGEN_EMULATOR_REPORT_UNINITIALIZED, NULL,
                        t->cta
                            ? "nothing has written this shared memory"
                            : "nothing has written this memory, and its buffer begins undefined");
        g->written |= bytes; /* once */
    }
    if (!t->write) {
        remember_read(t, g, bytes);
        return;
    }
    for (int i = 0; i < PG_SHADOW_READS; i++)
        if ((g->reads[i].bytes & bytes) && (t->async || !may_follow(t, &g->reads[i])))
            judge(t, &g->reads[i], false);
    remember_write(t, g, bytes);
}

/* The striped record as one of all lanes that it stands for: to an access of the whole block the
 * same. */
static void spread(pg_record *r, uint32_t lanes)
{
    if (!r->lanes || !(r->flags & PG_RECORD_STRIPED))
        return;
    r->lanes = lanes;
    r->flags &= (uint8_t)~PG_RECORD_STRIPED;
}

static void keep_changed(pg_record *to, const pg_record *before, const pg_record *after)
{
    if (memcmp(before, after, sizeof *after))
        *to = *after;
}

/* Nothing to report about the access and the record. */
static bool in_order(const pg_touch *t, const pg_record *r)
{
    return may_follow(t, r) && (!t->async || (r->flags & PG_RECORD_ASYNC) ||
                                has_seen(t, r, known_of(t, r, fenced_part(t)), false));
}

/* Touching the whole of a block will report nothing. */
static bool is_silent(const pg_touch *t, const pg_granule *g)
{
    bool silent = !t->map && in_order(t, &g->write) && !reads_nothing(t, g, 15) &&
                  !breaks_read_only(t, g, 15);
    for (int i = 0; t->write && i < PG_SHADOW_READS; i++)
        silent = silent && in_order(t, &g->reads[i]);
    return silent;
}

/* An access in order to all of a block whose entry has striped records, which stay so. */
static bool touch_striped(const pg_touch *t, pg_shadow_block *b)
{
    const uint32_t count = PG_BLOCK_PARTS >> b->lane_shift;
    const uint32_t lanes = (count < PG_LANES ? (1u << count) - 1 : PG_ALL_LANES) << b->first_lane;
    pg_granule after = b->whole;
    spread(&after.write, lanes);
    for (int i = 0; i < PG_SHADOW_READS; i++)
        spread(&after.reads[i], lanes);
    if (!is_silent(t, &after))
        return false;
    const pg_granule before = after;
    touch_granule(t, &after, 15);
    keep_changed(&b->whole.write, &before.write, &after.write);
    for (int i = 0; i < PG_SHADOW_READS; i++)
        keep_changed(&b->whole.reads[i], &before.reads[i], &after.reads[i]);
    b->whole.written = after.written;
    b->whole.read_only = after.read_only;
    return true;
}

/* Where what becomes of the granule may be kept. */
static pg_known_granule *place_of_known(const pg_touch *t, const pg_granule *g)
{
    return &t->warp->launch->checker->known[g->write.base / PG_LANES % PG_KNOWN_GRANULES];
}

/* Granules that one warp wrote mostly hold the same, and what an operation leaves in shared memory
 * does not depend on where: what holds the same as the last one becomes the same. */
static bool copy_known(const pg_touch *t, pg_granule *g, uint16_t stripe)
{
    const pg_known_granule *k = place_of_known(t, g);
    if (!k->silent || k->agent != t->agent || k->clock != t->clock || k->clock == PG_IN_FLIGHT ||
        k->cta != t->cta || k->pc != t->pc || k->lane != t->lane || k->write != t->write ||
        k->stripe != stripe || memcmp(g, &k->before, sizeof *g))
        return false;
    *g = k->after;
    return true;
}

static void keep_known(const pg_touch *t, const pg_known_granule *found)
{
    pg_known_granule *k = place_of_known(t, &found->before);
    *k = *found;
    k->cta = t->cta;
    k->clock = t->clock;
    k->pc = t->pc;
    k->lane = t->lane;
    k->agent = t->agent;
    k->write = t->write;
}

/* All bytes of a granule of shared memory, or of the one that stands for a block. */
static void touch_whole(const pg_touch *t, pg_granule *g)
{
    if (copy_known(t, g, 0))
        return;
    pg_known_granule found = {.before = *g, .silent = is_silent(t, g)};
    touch_granule(t, g, 15);
    found.after = *g;
    keep_known(t, &found);
}

/* touch_striped of shared memory. */
static bool touch_striped_shared(const pg_touch *t, pg_shadow_block *b)
{
    const uint16_t stripe = (uint16_t)(1u << 15 | b->first_lane << 8 | b->lane_shift);
    if (copy_known(t, &b->whole, stripe))
        return true;
    pg_known_granule found = {.before = b->whole, .silent = true, .stripe = stripe};
    if (!touch_striped(t, b))
        return false;
    found.after = b->whole;
    keep_known(t, &found);
    return true;
}

static void settle_record(const pg_touch *t, pg_record *r)
{
    if (r->base == t->agent && (r->flags & (PG_RECORD_ASYNC | PG_RECORD_DETACHED)) &&
        r->clock == PG_IN_FLIGHT)
        r->clock = t->clock;
}

static void settle_granule(const pg_touch *t, pg_granule *g, uint8_t bytes)
{
    (void)bytes;
    if (t->write)
        settle_record(t, &g->write);
    for (int i = 0; !t->write && i < PG_SHADOW_READS; i++)
        settle_record(t, &g->reads[i]);
}

/* Calls `f` for every entry that the access covers, with the bytes of each granule. A whole
 * block counts once when it is not split; a write to all of it makes it whole again. */
static void each_entry(const pg_touch *t, void (*f)(const pg_touch *, pg_granule *, uint8_t))
{
    const uint64_t end = t->address + t->bytes;
    const bool copies = f == touch_granule && t->async && t->cta;
    pg_touch part = *t;
    for (uint64_t at = t->address; at < end;) {
        pg_shadow_block *b = pg_shadow_block_at(t, at);
        const uint64_t block_end = (at / PG_BLOCK + 1) * PG_BLOCK;
        const bool all = at % PG_BLOCK == 0 && end >= block_end;
        if (!b)
            return;
        part.address = at;
        const bool striped = all && !b->split && pg_granule_is_striped(&b->whole);
        if (all && !b->split && (!striped || f == settle_granule)) {
            if (copies)
                touch_whole(&part, &b->whole);
            else
                f(&part, &b->whole, 15);
            at = block_end;
            continue;
        }
        if (striped && (copies ? touch_striped_shared(&part, b) : touch_striped(&part, b))) {
            at = block_end;
            continue;
        }
        if (!split_block(t->warp->launch, b))
            return;
        while (at < end && at < block_end) {
            const uint64_t next = (at / PG_GRANULE + 1) * PG_GRANULE;
            const uint32_t n = (uint32_t)((next < end ? next : end) - at);
            part.address = at;
            part.bytes = n;
            pg_granule *g = &b->parts[at % PG_BLOCK / PG_GRANULE];
            if (copies && n == PG_GRANULE)
                touch_whole(&part, g);
            else
                f(&part, g, (uint8_t)(((1u << n) - 1) << at % PG_GRANULE));
            at += n;
        }
        if (all && t->write && f == touch_granule) {
            b->whole = b->parts[0];
            b->split = false;
        }
    }
}

void pg_shadow_touch(const pg_touch *t)
{
    const uint32_t first = (uint32_t)(t->address % PG_GRANULE);
    if (first + t->bytes <= PG_GRANULE) { /* one granule, the common case */
        pg_shadow_block *b = pg_shadow_block_at(t, t->address);
        if (b && split_block(t->warp->launch, b))
            touch_granule(t, &b->parts[t->address % PG_BLOCK / PG_GRANULE],
                          (uint8_t)(((1u << t->bytes) - 1) << first));
        return;
    }
    each_entry(t, touch_granule);
}

void pg_shadow_settle(const pg_touch *t)
{
    each_entry(t, settle_granule);
}

bool pg_granule_is_striped(const pg_granule *g)
{
    uint32_t flags = g->write.lanes ? g->write.flags : 0;
    for (int i = 0; i < PG_SHADOW_READS; i++)
        flags |= g->reads[i].lanes ? g->reads[i].flags : 0;
    return (flags & PG_RECORD_STRIPED) != 0;
}
