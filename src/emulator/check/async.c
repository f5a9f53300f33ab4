/* Checking mode: copies, wgmma, and the waits for groups of them. The model is in state.h.
 *
 * An operation that completes on an mbarrier has the barrier as its agent and the phase (+ 1) in
 * which it completed as its clock; until then its writes are PG_IN_FLIGHT, which nobody has
 * seen. Bulk groups, cp.async groups and wgmma groups are agents of the thread (or warp) that
 * commits them, with the group's number + 1 as clock. */
#include "emulator/check/mbarrier.h"

#include "emulator/machine/stop.h"
#include "emulator/copy/tensor_map.h"
#include "emulator/copy/copies.h"
#include "emulator/tensor/tcgen05.h"
#include "ptx/ptx.h"

/* ---- copies ---- */

typedef struct touch_plan {
    pg_async *a;
    bool settle; /* the write records get their final clock */
    uint32_t clock;
    uint16_t read_agent, write_agent;
    uint32_t read_clock;
    const pg_mbarrier_signal *signal; /* NULL: completes on no barrier */
} touch_plan;

static void touch(const touch_plan *p, pg_cta *cta, uint64_t address, uint32_t bytes, bool write,
                  bool atomic)
{
    pg_touch t = pg_touch_by(p->a->warp, p->a->op);
    t.lane = p->a->lane;
    t.cta = cta;
    t.address = address;
    t.bytes = bytes;
    t.write = write;
    t.reads = !write || atomic;
    t.async = p->a->kind != &pg_kind_remote; /* st.async and red.async: generic proxy */
    t.detached = !t.async;
    t.strong = atomic;
    t.scope = atomic ? PG_SCOPE_GPU : PG_SCOPE_NONE; /* reductions are relaxed and of .gpu */
    t.agent = write ? p->write_agent : p->read_agent;
    t.clock = write ? p->clock : p->read_clock;
    if (p->settle)
        pg_shadow_settle(&t);
    else
        pg_shadow_touch(&t);
}

static pg_cta *cta_at(const pg_async *a, uint64_t address)
{
    return &a->warp->cta->cluster->ctas[address >> PG_SHARED_RANK_SHIFT & 0xff];
}

static pg_mbarrier_check *barrier_check(const pg_cta *cta, uint32_t offset, pg_mbarrier **out)
{
    *out = pg_mbarrier_find(cta, offset);
    return *out ? (*out)->check : NULL;
}

/* The written side of a load; each CTA of a multicast is told by its own barrier. */
static void touch_targets(const touch_plan *p, uint16_t mask, pg_cta *single, uint32_t offset,
                          uint32_t bytes)
{
    pg_cluster *c = p->a->warp->cta->cluster;
    if (!mask)
        touch(p, single, offset, bytes, true, false);
    for (uint32_t r = 0; r < c->cta_count; r++) {
        pg_mbarrier *b;
        const pg_mbarrier_check *k =
            mask >> r & 1 ? barrier_check(pg_async_signalled_cta(p->a, r), p->signal->offset, &b)
                          : NULL;
        if (!k)
            continue;
        touch_plan own = *p;
        own.write_agent = k->agent;
        own.clock = p->settle ? (uint32_t)b->phase + 1 : PG_IN_FLIGHT;
        touch(&own, &c->ctas[r], offset, bytes, true, false);
    }
}

/* The bytes of a store that .cp_mask lets through. */
static void touch_masked(const touch_plan *p, pg_cta *cta, uint64_t address, bool write)
{
    const pg_async_bulk *b = (const pg_async_bulk *)p->a;
    if (b->byte_mask == UINT16_MAX) {
        touch(p, cta, address, b->bytes, write, false);
        return;
    }
    for (uint32_t i = 0; i < b->bytes; i++)
        if (b->byte_mask >> i % 16 & 1)
            touch(p, cta, address + i, 1, write, false);
}

static void touch_bulk(const touch_plan *p)
{
    const pg_async_bulk *b = (const pg_async_bulk *)p->a;
    const bool from_shared =
        p->a->kind != &pg_kind_bulk_load ||
        ((const pg_bulk_operands *)p->a->op->extra)->source.space == PG_MEM_SHARED;
    if (p->a->kind == &pg_kind_bulk_store)
        touch_masked(p, p->a->warp->cta, PG_SHARED_OFFSET(b->source_address), false);
    else if (from_shared)
        touch(p, cta_at(p->a, b->source_address), PG_SHARED_OFFSET(b->source_address), b->bytes,
              false, false);
    else
        touch(p, NULL, b->source_address, b->bytes, false, false);
    if (p->a->kind == &pg_kind_bulk_load)
        touch_targets(p, b->cta_mask, b->target_cta, PG_SHARED_OFFSET(b->target_address), b->bytes);
    else if (p->a->kind == &pg_kind_bulk_reduce_shared)
        touch(p, b->target_cta, PG_SHARED_OFFSET(b->target_address), b->bytes, true, true);
    else if (p->a->kind == &pg_kind_bulk_store)
        touch_masked(p, NULL, b->target_address, true);
    else
        touch(p, NULL, b->target_address, b->bytes, true, true);
}

static void touch_tensor(const touch_plan *p)
{
    const pg_async_tensor *t = (const pg_async_tensor *)p->a;
    const bool load = p->a->kind == &pg_kind_tensor_load;
    pg_tensor_walk walk;
    pg_tensor_row row;
    pg_async_tensor_walk(t, &walk);
    while (pg_tensor_walk_next(&walk, &row))
        if (row.valid)
            touch(p, NULL, row.global, pg_tensor_row_global_bytes(&t->map, &row), !load,
                  p->a->kind == &pg_kind_tensor_reduce);
    const uint32_t bytes = pg_async_tensor_box_bytes(t);
    if (load)
        touch_targets(p, t->cta_mask, t->target_cta, t->box_address, bytes);
    else
        touch(p, p->a->warp->cta, t->box_address, bytes, false, false);
}

static void touch_cancel(const touch_plan *p)
{
    const pg_async_cancel *c = (const pg_async_cancel *)p->a;
    touch_targets(p, c->cta_mask, c->target_cta, c->offset, PG_CANCEL_RESPONSE_BYTES);
}

static void touch_remote(const touch_plan *p)
{
    const pg_async_remote *r = (const pg_async_remote *)p->a;
    touch(p, cta_at(p->a, r->target_address), PG_SHARED_OFFSET(r->target_address), r->bytes, true,
          r->is_reduction);
}

/* What the operation reads and writes, as far as this file knows it. */
static void touch_all(const touch_plan *p)
{
    static const struct {
        const pg_async_kind *kind;
        void (*touch)(const touch_plan *p);
    } all[] = {{&pg_kind_bulk_load, touch_bulk},       {&pg_kind_bulk_store, touch_bulk},
               {&pg_kind_bulk_reduce, touch_bulk},     {&pg_kind_bulk_reduce_shared, touch_bulk},
               {&pg_kind_tensor_load, touch_tensor},   {&pg_kind_tensor_store, touch_tensor},
               {&pg_kind_tensor_reduce, touch_tensor}, {&pg_kind_cancel, touch_cancel},
               {&pg_kind_remote, touch_remote}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].kind == p->a->kind)
            all[i].touch(p);
}

/* Every barrier that the operation signals knows what is in flight towards it. */
static void signalled(pg_async *a, const pg_mbarrier_signal *s, bool done)
{
    const uint16_t mask = pg_async_targets_of(a).cta_mask;
    pg_cluster *c = a->warp->cta->cluster;
    for (uint32_t r = 0; r < c->cta_count; r++) {
        const pg_cta *cta = pg_async_signalled_cta(a, r);
        if (mask ? !(mask >> r & 1) : r != s->cta->rank)
            continue;
        pg_mbarrier *b;
        pg_mbarrier_check *k = barrier_check(cta, s->offset, &b);
        if (!k)
            continue;
        const bool commit = a->kind == &pg_kind_tcgen05_commit;
        const pg_check_actor by = pg_actor_of(a);
        if (commit)
            pg_check_tensor_commit(a, &k->of[0].current, done);
        if (!done) {
            pg_mbarrier_check_initialised(&by, k);
            a->check_id = commit ? 0 : k->agent;
        }
        k->last_async = by;
        k->in_flight += done ? -1u : 1u;
        if (done && k->last_async_phase < b->phase + 1)
            k->last_async_phase = b->phase + 1;
    }
}

static void touch_signalled(pg_async *a, const pg_mbarrier_signal *s, bool done)
{
    const uint16_t mask = pg_async_targets_of(a).cta_mask;
    pg_mbarrier *b;
    const pg_cta *first = pg_async_signalled_cta(a, mask ? (uint32_t)__builtin_ctz(mask) : 0);
    const pg_mbarrier_check *k = barrier_check(first, s->offset, &b);
    if (!k)
        return;
    const touch_plan p = {.a = a,
                          .settle = done,
                          .clock = done ? (uint32_t)b->phase + 1 : PG_IN_FLIGHT,
                          .write_agent = k->agent,
                          .read_agent = k->agent,
                          .read_clock = done ? (uint32_t)b->phase + 1 : PG_IN_FLIGHT,
                          .signal = s};
    touch_all(&p);
}

static void issue_copy(pg_async *a)
{
    pg_warp *w = a->warp;
    pg_warp_check *k = pg_warp_check_of(w);
    const pg_async_copy *c = (const pg_async_copy *)a;
    for (uint32_t left = c->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (!k->copy_agent[l])
            k->copy_agent[l] = pg_new_agent(w->cta->cluster, 1);
        /* cp.async is of the generic proxy; its agent is not the thread itself. */
        pg_touch t = pg_touch_by(w, a->op);
        t.lane = (uint32_t)l;
        t.bytes = c->source_bytes[l];
        t.address = c->source_address[l];
        t.agent = k->copy_agent[l];
        t.clock = c->group[l] + 1;
        t.detached = true;
        t.reads = true;
        if (t.bytes)
            pg_shadow_touch(&t);
        t.cta = w->cta;
        t.address = PG_SHARED_OFFSET(c->target_address[l]);
        t.bytes = c->bytes;
        t.write = true;
        t.reads = false;
        pg_shadow_touch(&t);
    }
}

/* Another lane has just issued the same store: same bytes, from and to the same place. */
static bool repeats_store(const pg_async *a)
{
    const pg_async *before = a->previous;
    if (!before || before->op != a->op || before->warp != a->warp || before->kind != a->kind ||
        before->lane >= a->lane)
        return false;
    if (a->kind == &pg_kind_bulk_store) {
        const pg_async_bulk *x = (const pg_async_bulk *)a, *y = (const pg_async_bulk *)before;
        return x->source_address == y->source_address && x->target_address == y->target_address &&
               x->bytes == y->bytes;
    }
    const pg_async_tensor *x = (const pg_async_tensor *)a, *y = (const pg_async_tensor *)before;
    return a->kind == &pg_kind_tensor_store && x->box_address == y->box_address &&
           x->map.address == y->map.address && !memcmp(x->coords, y->coords, sizeof x->coords);
}

/* Stores and reductions out of shared memory: bulk groups of the issuing thread. */
static void issue_grouped(pg_async *a)
{
    pg_warp_check *k = pg_warp_check_of(a->warp);
    if (!k->bulk_agent[a->lane])
        k->bulk_agent[a->lane] = pg_new_agent(a->warp->cta->cluster, 2);
    const touch_plan p = {.a = a,
                          .clock = a->group + 1,
                          .read_clock = a->group + 1,
                          .read_agent = k->bulk_agent[a->lane],
                          .write_agent = (uint16_t)(k->bulk_agent[a->lane] + 1)};
    k->bulk_issued[a->lane] = a->group + 1;
    if (repeats_store(a))
        pg_check_complain(a->warp, a->op, a->lane, PTXGEN_EMULATOR_REPORT_SAME_VALUE,
                          "several lanes copy the same bytes to the same place: one is enough");
    else
        touch_all(&p);
}

/* The map itself, unless it is a parameter: the kernel may have changed it. */
static void touch_map(const pg_async_tensor *a)
{
    const pg_grid_run *launch = a->head.warp->launch;
    if (a->map_address - (uint64_t)(uintptr_t)launch->params < launch->entry->param_bytes)
        return;
    pg_touch t = pg_touch_by(a->head.warp, a->head.op);
    t.lane = a->head.lane;
    t.address = a->map_address;
    t.bytes = PG_TENSOR_MAP_BYTES;
    t.reads = t.map = true;
    pg_shadow_touch(&t);
}

static bool is_tensor_copy(const pg_async *a)
{
    return a->kind == &pg_kind_tensor_load || a->kind == &pg_kind_tensor_store ||
           a->kind == &pg_kind_tensor_reduce;
}

void pg_check_async_issue(pg_async *a)
{
    if (is_tensor_copy(a))
        touch_map((const pg_async_tensor *)a);
    const pg_mbarrier_signal *s = pg_async_targets_of(a).signal;
    if (s) {
        touch_signalled(a, s, false);
        signalled(a, s, false);
    } else if (a->kind == &pg_kind_copy) {
        issue_copy(a);
    } else if (a->kind->bulk_group) {
        issue_grouped(a);
    }
}

/* Called when the data has moved and the barrier has not yet been signalled. */
void pg_check_async_arriving(pg_async *a)
{
    const pg_mbarrier_signal *s = pg_async_targets_of(a).signal;
    if (s) {
        touch_signalled(a, s, true);
        signalled(a, s, true);
        a->check_id = 0;
    } else if (a->kind == &pg_kind_arrive) {
        const pg_async_arrive *arrive = (const pg_async_arrive *)a;
        pg_mbarrier *b;
        pg_mbarrier_check *k = barrier_check(arrive->signal.cta, arrive->signal.offset, &b);
        pg_warp_check *w = pg_warp_check_of(a->warp);
        if (k && w->copy_agent[a->lane])
            pg_vector_raise(a->warp->launch->checker, &k->of[0].current.seen,
                            w->copy_agent[a->lane], a->group + 1);
    }
}

/* ---- waits for groups ---- */

void pg_check_bulk_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_warp_check *k = pg_warp_check_of(w);
    pg_cluster *c = w->cta->cluster;
    bool any_own = false;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        k->bulk_tried |= 1u << l;
        any_own |= k->bulk_issued[l] != 0;
        const uint32_t commits = w->async->bulk_commits[l];
        const uint32_t done = commits > op->imm ? commits - (uint32_t)op->imm : 0;
        if (!k->bulk_agent[l] || !done)
            continue;
        pg_vector_raise(c->launch->checker, &k->lane[l].seen, k->bulk_agent[l], done);
        if (!op->mode)
            pg_vector_raise(c->launch->checker, &k->lane[l].seen, (uint16_t)(k->bulk_agent[l] + 1),
                            done);
        if (k->bulk_waited[l] < done)
            k->bulk_waited[l] = done;
    }
    if (!any_own)
        pg_cta_check_of(w->cta)->vain_wait = op;
}

void pg_check_copy_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_warp_check *k = pg_warp_check_of(w);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint32_t commits = w->async->copy_commits[l];
        const uint32_t done = op->imm == UINT64_MAX ? commits + 1
                              : commits > op->imm   ? commits - (uint32_t)op->imm
                                                    : 0;
        if (k->copy_agent[l] && done)
            pg_vector_raise(w->launch->checker, &k->lane[l].seen, k->copy_agent[l], done);
    }
}

/* ---- wgmma ---- */

/* One operation of four warps, whose reads are over for all of them when they are for one: what
 * is kept about its first warp. */
static pg_warp_check *warpgroup_of(const pg_warp *w)
{
    return pg_warp_check_of(&w->cta->warps[w->index / 4 * 4]);
}

void pg_check_mma_read(pg_async *a, uint32_t first, uint32_t end)
{
    pg_warp_check *k = warpgroup_of(a->warp);
    if (first >= end)
        return;
    if (!k->mma_agent)
        k->mma_agent = pg_new_agent(a->warp->cta->cluster, 1);
    const touch_plan p = {.a = a, .read_agent = k->mma_agent, .read_clock = a->group + 1};
    touch(&p, a->warp->cta, PG_SHARED_OFFSET(first), end - first, false, false);
}

void pg_check_mma_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_warp_check *k = pg_warp_check_of(w);
    const uint32_t commits = w->async ? w->async->mma_commits : 0;
    const uint32_t done = commits > op->imm ? commits - (uint32_t)op->imm : 0;
    k->mma_waited = done > k->mma_waited ? done : k->mma_waited;
    const uint16_t agent = warpgroup_of(w)->mma_agent;
    for (uint32_t left = agent && done ? lanes : 0; left; left &= left - 1)
        pg_vector_raise(w->launch->checker, &k->lane[__builtin_ctz(left)].seen, agent, done);
}
