/* Checking mode: mbarriers, copies, wgmma, and what is left when threads exit. The model is in state.h.
 *
 * An operation that completes on an mbarrier has the barrier as its agent and the phase (+ 1) in which it completed
 * as its clock; until then its writes are PG_IN_FLIGHT, which nobody has seen. Bulk groups, cp.async groups and
 * wgmma groups are agents of the thread (or warp) that commits them, with the group's number + 1 as clock. */
#include "emulator/check/state.h"

#include "emulator/machine/stop.h"
#include "emulator/copy/tensor_map.h"
#include "emulator/copy/copies.h"
#include "emulator/tensor/tcgen05.h"
#include "ptx/ptx.h"

/* ---- mbarriers ---- */

static uint16_t thread_of(const pg_warp *w, uint32_t lane)
{
    return (uint16_t)(pg_warp_agent(w) + lane);
}

void pg_check_mbarrier_init(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b, bool was_valid)
{
    pg_cluster *c = w->cta->cluster;
    if (was_valid)
        pg_check_complain(w, op, (uint32_t)lane, PTXGEN_EMULATOR_REPORT_BARRIER_MISUSE,
                          "mbarrier.init over an mbarrier that was not invalidated");
    pg_mbarrier_check *k = b->check;
    if (!k) {
        k = pg_alloc_zero(w->launch->alloc, sizeof *k);
        b->check = k;
        if (!k)
            return;
        k->agent = pg_new_agent(c, 1);
    } else {
        pg_knowledge_drop(c->launch->checker, &k->current);
        pg_knowledge_drop(c->launch->checker, &k->done);
        const uint16_t agent = pg_new_agent(c, 1);
        memset(k, 0, sizeof *k);
        k->agent = agent;
    }
    k->init_thread = thread_of(w, (uint32_t)lane);
    k->init_clock = pg_warp_check_of(w)->now;
    pg_shadow_reset(w->cta, b->offset, PG_MBARRIER_BYTES);
}

void pg_check_mbarrier_inval(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b)
{
    const pg_mbarrier_check *k = b->check;
    if (k && k->in_flight)
        pg_check_complain(w, op, (uint32_t)lane, PTXGEN_EMULATOR_REPORT_BARRIER_MISUSE,
                          "mbarrier.inval while a copy that completes on it is in flight");
}

/* The lane must have seen the initialisation, and use from another CTA needs the fence after it. Copies to their own
 * CTA's barrier need none: they access the mbarrier through the generic proxy (PTX ISA, at each of them). */
static void check_initialised(pg_warp *w, const pg_op *op, uint32_t lane,
                              const pg_mbarrier_check *k, bool remote)
{
    const pg_warp_check *mine = pg_warp_check_of(w);
    if (k->published && mine->cluster_waited[lane] >= k->published)
        return;
    const bool own = k->init_thread == thread_of(w, lane);
    const uint32_t seen = own ? PG_IN_FLIGHT : pg_vector_at(mine->lane[lane].seen, k->init_thread);
    if (seen < k->init_clock)
        pg_check_complain(w, op, lane, PTXGEN_EMULATOR_REPORT_MISSING_INIT_FENCE,
                          "nothing orders this use of the mbarrier after its mbarrier.init");
    else if (remote && (!k->fence_clock || seen < k->fence_clock))
        pg_check_complain(w, op, lane, PTXGEN_EMULATOR_REPORT_MISSING_INIT_FENCE,
                          "the mbarrier is used from another CTA without fence.mbarrier_init (or "
                          "fence.proxy.async) after its "
                          "mbarrier.init");
}

void pg_check_init_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const bool releases =
        op->opcode == PG_OP_FENCE_MBARRIER_INIT; /* others come here from pg_check_proxy_fence */
    pg_warp_check *mine = pg_warp_check_of(w);
    for (uint32_t i = 0; i < w->cta->mbarrier_count; i++) {
        pg_mbarrier_check *k = w->cta->mbarriers[i].check;
        const uint32_t lane = k ? (uint32_t)k->init_thread - pg_warp_agent(w) : PG_LANES;
        if (lane >= PG_LANES || !(lanes >> lane & 1))
            continue;
        k->init_released |= releases;
        if (!k->fence_clock)
            k->fence_clock = mine->now;
    }
    mine->now++;
}

void pg_check_init_published(pg_warp *w, uint32_t lanes)
{
    const uint32_t phase = pg_cluster_check_of(w)->cluster_phases + 1;
    for (uint32_t i = 0; i < w->cta->mbarrier_count; i++) {
        pg_mbarrier_check *k = w->cta->mbarriers[i].check;
        const uint32_t lane = k ? (uint32_t)k->init_thread - pg_warp_agent(w) : PG_LANES;
        if (lane < PG_LANES && (lanes >> lane & 1) && k->init_released && !k->published)
            k->published = phase;
    }
}

void pg_check_mbarrier_arrive(pg_warp *w, const pg_op *op, int lane, pg_cta *cta, pg_mbarrier *b)
{
    pg_mbarrier_check *k = b->check;
    if (!k)
        return;
    check_initialised(w, op, (uint32_t)lane, k, cta != w->cta);
    if (op->mode & PG_MBAR_RELAXED)
        pg_check_tensor_release(w, 1u << lane, &k->current);
    else
        pg_check_release(w, 1u << lane, &k->current);
}

void pg_check_mbarrier_phase(pg_cta *cta, pg_mbarrier *b)
{
    pg_mbarrier_check *k = b->check;
    pg_cluster *c = cta->cluster;
    if (!k)
        return;
    pg_knowledge_join(c->launch->checker, &k->done, &k->current);
    pg_knowledge_drop(c->launch->checker, &k->current);
    pg_vector_raise(c->launch->checker, &k->done.seen, k->agent, (uint32_t)b->phase);
    if (!k->in_flight)
        return;
    for (const pg_async *a = c->pending_first; a; a = a->next)
        if (a->check_id == k->agent)
            pg_check_complain(a->warp, a->op, a->lane, PTXGEN_EMULATOR_REPORT_BYTE_COUNT,
                              "the mbarrier's phase completed while this copy was still in flight: "
                              "fewer bytes were "
                              "expected than are copied");
}

/* A wait that passes although the thread had passed this phase before, and the next one is under way. */
static bool is_stale(const pg_mbarrier *b, const pg_mbarrier_check *k, const pg_warp *w)
{
    return b->phase && k->observed[w->index] == b->phase + 1 &&
           (k->in_flight || b->pending != b->expected || b->tx);
}

void pg_check_mbarrier_wait(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                            pg_observed_wait wait)
{
    pg_mbarrier_check *k = b->check;
    if (!k)
        return;
    check_initialised(w, op, (uint32_t)lane, k, false);
    if (!wait.done)
        return;
    const bool first_lane =
        pg_running_group(w)->lanes == 0 || lane == __builtin_ctz(pg_running_group(w)->lanes);
    if (first_lane && (op->mode & PG_MBAR_PARITY) && is_stale(b, k, w))
        pg_check_complain(w, op, (uint32_t)lane, PTXGEN_EMULATOR_REPORT_STALE_PHASE,
                          "the parity is that of a phase this thread has already waited for, while "
                          "the next phase is "
                          "under way");
    k->observed[w->index] = b->phase + 1;
    if (k->last_waited < b->phase)
        k->last_waited = b->phase;
    if (op->mode & PG_MBAR_RELAXED)
        pg_check_tensor_acquire(w, 1u << lane, &k->done);
    else
        pg_check_acquire(w, 1u << lane, &k->done);
}

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
        if (commit)
            pg_check_tensor_commit(a, &k->current, done);
        if (!done) {
            check_initialised(a->warp, a->op, a->lane, k, cta != a->warp->cta);
            a->check_id = commit ? 0 : k->agent;
        }
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
    touch_all(&p);
}

void pg_check_async_issue(pg_async *a)
{
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
            pg_vector_raise(a->warp->launch->checker, &k->current.seen, w->copy_agent[a->lane],
                               a->group + 1);
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
        any_own |= k->bulk_issued[l] != 0;
        const uint32_t commits = w->async->bulk_commits[l];
        const uint32_t done = commits > op->imm ? commits - (uint32_t)op->imm : 0;
        if (!k->bulk_agent[l] || !done)
            continue;
        pg_vector_raise(c->launch->checker, &k->lane[l].seen, k->bulk_agent[l], done);
        if (!op->mode)
            pg_vector_raise(c->launch->checker, &k->lane[l].seen, (uint16_t)(k->bulk_agent[l] + 1), done);
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

void pg_check_mma_read(pg_async *a, uint32_t first, uint32_t end)
{
    pg_warp_check *k = pg_warp_check_of(a->warp);
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
    if (!k->mma_agent || !done)
        return;
    for (uint32_t left = lanes; left; left &= left - 1)
        pg_vector_raise(w->launch->checker, &k->lane[__builtin_ctz(left)].seen, k->mma_agent, done);
}

/* ---- the end ---- */

void pg_check_exit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_warp_check *k = pg_warp_check_of(w);
    const pg_op *vain = pg_cta_check_of(w->cta)->vain_wait;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        if (k->bulk_issued[l] <= k->bulk_waited[l])
            continue;
        pg_check_complain(w, op, l, PTXGEN_EMULATOR_REPORT_EXIT_IN_FLIGHT,
                          "the thread exits without waiting for its bulk stores, which may still "
                          "read shared memory");
        if (vain)
            pg_check_complain(w, vain, l, PTXGEN_EMULATOR_REPORT_FOREIGN_BULK_GROUP,
                              "this wait was executed by threads that had issued no bulk store, so "
                              "it waited for nothing; the thread named here issued some and never "
                              "waited");
    }
}

void pg_check_mbarriers_end(pg_cluster *c)
{
    const pg_op *ops = c->launch->program->ops;
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t n = 0; n < c->ctas[i].mbarrier_count; n++) {
            const pg_mbarrier *b = &c->ctas[i].mbarriers[n];
            const pg_mbarrier_check *k = b->check;
            pg_op at = {.line = b->init_line, .opcode = ops[0].opcode};
            if (!k || !b->valid)
                continue;
            if (k->last_async_phase > k->last_waited)
                pg_check_complain(&c->ctas[i].warps[0], &at, 0,
                                  PTXGEN_EMULATOR_REPORT_EXIT_IN_FLIGHT,
                                  "a copy completed on this mbarrier and no thread waited for it "
                                  "before the CTA ended");
            if (b->tx)
                pg_check_complain(&c->ctas[i].warps[0], &at, 0, PTXGEN_EMULATOR_REPORT_BYTE_COUNT,
                                  "bytes are still expected on this mbarrier, or too many have "
                                  "arrived, at the end");
        }
}
