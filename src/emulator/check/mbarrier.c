/* Checking mode: mbarriers. An mbarrier is an agent whose clock is the number of completed
 * phases. Arrivals and waits at the scope .cta, the default, reach threads of another CTA by the
 * hardware's grace only. An operation whose scope is left out counts all the same, as everybody
 * relies on it, and an arrival is named as such; one that says .cta does not count. */
#include "emulator/check/mbarrier.h"

#include "emulator/machine/stop.h"
#include "emulator/memory/barrier.h"
#include "ptx/ptx.h"

#include <stdio.h>

static uint16_t thread_of(const pg_warp *w, uint32_t lane)
{
    return (uint16_t)(pg_warp_agent(w) + lane);
}

pg_check_actor pg_actor_of(const pg_async *a)
{
    return (pg_check_actor){a->warp, a->op, a->lane};
}

/* ---- reports ---- */

static void complain(const pg_check_actor *by, ptxgen_emulator_report_kind kind, const pg_op *other,
                     const pg_mbarrier_check *k, const char *text)
{
    const pg_grid_run *launch = by->warp->launch;
    pg_buf where;
    pg_buf_init(&where, launch->alloc);
    pg_buf_puts(&where, "mbarrier ");
    pg_describe_address(launch, PG_MEM_CLUSTER, k->address, &where);
    const pg_check_conflict c = {.warp = by->warp,
                                 .op = by->op,
                                 .lane = by->lane,
                                 .kind = kind,
                                 .other = other,
                                 .where = pg_buf_text(&where),
                                 .object = pg_object_at(launch, PG_MEM_CLUSTER, k->address)};
    pg_check_report_conflict(&c, text);
    pg_buf_fini(&where);
}

/* ---- life ---- */

void pg_mbarrier_check_free(pg_checker *checker, pg_mbarrier *b)
{
    pg_mbarrier_check *k = b->check;
    if (!k)
        return;
    for (int i = 0; i < 2; i++) {
        pg_knowledge_drop(checker, &k->of[i].current);
        pg_knowledge_drop(checker, &k->of[i].done);
    }
    pg_free(checker->launch->alloc, k, sizeof *k);
    b->check = NULL;
}

void pg_check_mbarrier_init(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b, bool was_valid)
{
    if (was_valid)
        pg_check_complain(w, op, (uint32_t)lane, PTXGEN_EMULATOR_REPORT_BARRIER_MISUSE,
                          "mbarrier.init over an mbarrier that was not invalidated");
    pg_mbarrier_check_free(w->launch->checker, b);
    pg_mbarrier_check *k = pg_alloc_zero(w->launch->alloc, sizeof *k);
    b->check = k;
    if (!k)
        return;
    k->agent = pg_new_agent(w->cta->cluster, 1);
    k->address = w->cta->shared_address | b->offset;
    k->init_thread = thread_of(w, (uint32_t)lane);
    k->init_clock = pg_warp_check_of(w)->now;
    pg_shadow_reset(w->cta, b->offset, PG_MBARRIER_BYTES);
}

/* Whatever completes on it must be known to the thread to have done so: it waited, or heard from
 * one that did. */
void pg_check_mbarrier_inval(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b)
{
    const pg_mbarrier_check *k = b->check;
    const pg_check_actor by = {w, op, (uint32_t)lane};
    if (!k)
        return;
    const pg_vector *seen = pg_warp_check_of(w)->lane[lane].seen;
    if (k->in_flight || pg_vector_at(seen, k->agent) < k->last_async_phase)
        complain(&by, PTXGEN_EMULATOR_REPORT_BARRIER_MISUSE, k->last_async.op, k,
                 "mbarrier.inval while an operation that completes on the mbarrier may still be in "
                 "flight: wait for its phase first");
}

/* ---- initialisation ---- */

/* The lane must have seen it. To other CTAs it is published by barrier.cluster with release and
 * acquire, or by fence.mbarrier_init (or another fence) and a relaxed one. Copies access the
 * mbarrier through the generic proxy (PTX ISA, at each of them). */
void pg_mbarrier_check_initialised(const pg_check_actor *by, const pg_mbarrier_check *k)
{
    const pg_warp_check *mine = pg_warp_check_of(by->warp);
    if (k->init_thread == thread_of(by->warp, by->lane) ||
        (k->published && mine->cluster_waited[by->lane] >= k->published) ||
        pg_vector_at(mine->lane[by->lane].seen, k->init_thread) >= k->init_clock)
        return;
    complain(by, PTXGEN_EMULATOR_REPORT_MISSING_INIT_FENCE, NULL, k,
             "nothing orders this use of the mbarrier after its mbarrier.init: other CTAs see it "
             "after barrier.cluster.arrive.release and wait.acquire, or after fence.mbarrier_init "
             "and the relaxed arrive");
}

void pg_check_init_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    for (uint32_t i = 0; i < w->cta->mbarrier_count; i++) {
        pg_mbarrier_check *k = w->cta->mbarriers[i].check;
        const uint32_t lane = k ? (uint32_t)k->init_thread - pg_warp_agent(w) : PG_LANES;
        if (lane < PG_LANES && (lanes >> lane & 1))
            k->init_released |= op->opcode == PG_OP_FENCE_MBARRIER_INIT;
    }
    pg_warp_check_of(w)->now++;
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

/* ---- arrivals and phases ---- */

/* The knowledge of one thread as it would be released: for hope. */
static void hope_of(pg_warp *w, uint32_t lane, pg_knowledge *to)
{
    pg_knowledge all = {.foreign = NULL};
    pg_check_release(w, 1u << lane, &all);
    pg_vector_join(w->launch->checker, &to->hoped, all.seen);
    pg_knowledge_drop(w->launch->checker, &all);
}

void pg_check_mbarrier_arrive(pg_warp *w, const pg_op *op, int lane, pg_cta *cta, pg_mbarrier *b)
{
    pg_mbarrier_check *k = b->check;
    const pg_check_actor by = {w, op, (uint32_t)lane};
    const bool remote = cta != w->cta;
    const pg_scope scope = op->scope ? (pg_scope)op->scope : PG_SCOPE_CTA;
    if (!k)
        return;
    pg_mbarrier_check_initialised(&by, k);
    if (remote)
        pg_check_remote_use(w, op, 1u << lane, cta);
    pg_knowledge *to = &k->of[remote].current;
    if (op->mode & PG_MBAR_RELAXED) {
        pg_check_release_fenced(w, (uint32_t)lane, scope, to);
        pg_check_tensor_release(w, 1u << lane, to);
    } else if (remote && op->scope == PG_SCOPE_CTA) {
        hope_of(w, (uint32_t)lane, to);
    } else {
        pg_check_release(w, 1u << lane, to);
    }
    if (remote && !op->scope)
        complain(&by, PTXGEN_EMULATOR_REPORT_DEFAULT_SCOPE, NULL, k,
                 "an arrival at another CTA's mbarrier without a scope releases to its own CTA "
                 "only; .release.cluster says what is meant");
}

void pg_check_mbarrier_expect(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b)
{
    pg_mbarrier_check *k = b->check;
    if (k)
        k->expect = (pg_check_actor){w, op, (uint32_t)lane};
}

void pg_check_mbarrier_phase(pg_cta *cta, pg_mbarrier *b)
{
    pg_mbarrier_check *k = b->check;
    pg_checker *checker = cta->cluster->launch->checker;
    if (!k)
        return;
    for (int i = 0; i < 2; i++) {
        pg_knowledge_join(checker, &k->of[i].done, &k->of[i].current);
        pg_knowledge_drop(checker, &k->of[i].current);
    }
    pg_vector_raise(checker, &k->of[0].done.seen, k->agent, (uint32_t)b->phase);
    if (!k->in_flight)
        return;
    for (const pg_async *a = cta->cluster->pending_first; a; a = a->next)
        if (a->check_id == k->agent) {
            const pg_check_actor by = pg_actor_of(a);
            complain(&by, PTXGEN_EMULATOR_REPORT_BYTE_COUNT, k->expect.op, k,
                     "the mbarrier's phase completed while this copy was still in flight: fewer "
                     "bytes were expected than are copied");
        }
}

/* ---- waits ---- */

/* A wait that passes although the thread had passed this phase before, and the next one is under
 * way. */
static bool is_stale(const pg_mbarrier *b, const pg_mbarrier_check *k, const pg_check_actor *by)
{
    const uint32_t warp = by->warp->index;
    return b->phase && k->observed[warp].phases == b->phase + 1 &&
           (k->observed[warp].lanes >> by->lane & 1) &&
           (k->in_flight || b->pending != b->expected || b->tx);
}

static void observe(const pg_mbarrier *b, pg_mbarrier_check *k, const pg_check_actor *by)
{
    const uint32_t warp = by->warp->index;
    if (k->observed[warp].phases != b->phase + 1)
        k->observed[warp].lanes = 0;
    k->observed[warp].phases = b->phase + 1;
    k->observed[warp].lanes |= 1u << by->lane;
}

static void acquire(const pg_check_actor *by, const pg_knowledge *from)
{
    const pg_scope scope = by->op->scope ? (pg_scope)by->op->scope : PG_SCOPE_CTA;
    if (by->op->mode & PG_MBAR_RELAXED) {
        pg_check_tensor_acquire(by->warp, 1u << by->lane, from);
        pg_check_find(by->warp, by->lane, scope, from);
    } else {
        pg_check_acquire(by->warp, 1u << by->lane, from);
    }
}

/* What threads of other CTAs have released, to a wait at .cta. */
static void acquire_remote(const pg_check_actor *by, const pg_mbarrier_check *k)
{
    const pg_knowledge *from = &k->of[1].done;
    if (pg_knowledge_is_empty(from))
        return;
    if (by->op->scope == PG_SCOPE_CTA) {
        const pg_published p = {(uint32_t)by->warp->cta->cluster->index, *from};
        pg_knowledge_hope(by->warp->launch->checker, &pg_warp_check_of(by->warp)->lane[by->lane],
                          p.cluster, &p);
        return;
    }
    acquire(by, from);
}

void pg_check_mbarrier_wait(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                            pg_observed_wait wait)
{
    pg_mbarrier_check *k = b->check;
    const pg_check_actor by = {w, op, (uint32_t)lane};
    if (!k)
        return;
    pg_mbarrier_check_initialised(&by, k);
    if (!wait.done)
        return;
    const bool first_lane =
        pg_running_group(w)->lanes == 0 || lane == __builtin_ctz(pg_running_group(w)->lanes);
    if (first_lane && (op->mode & PG_MBAR_PARITY) && is_stale(b, k, &by))
        complain(&by, PTXGEN_EMULATOR_REPORT_STALE_PHASE, NULL, k,
                 "the parity is that of a phase this thread has already waited for, while the next "
                 "phase is under way");
    observe(b, k, &by);
    if (k->last_waited < b->phase)
        k->last_waited = b->phase;
    acquire(&by, &k->of[0].done);
    acquire_remote(&by, k);
}

/* ---- the end ---- */

/* Bytes that are still expected, or have come without: the line that expects and the last copy. */
static void check_bytes(const pg_cta *cta, const pg_mbarrier *b)
{
    const pg_mbarrier_check *k = b->check;
    const pg_op init = {.line = b->init_line, .opcode = PG_OP_MBARRIER_INIT};
    const pg_check_actor at_init = {&cta->warps[0], &init, 0};
    char text[160];
    if (!b->tx)
        return;
    if (b->tx > 0)
        snprintf(text, sizeof text,
                 "%d more bytes are expected on this mbarrier than copies have brought", b->tx);
    else
        snprintf(text, sizeof text,
                 "copies have brought %d bytes more than were expected on this mbarrier", -b->tx);
    complain(k->expect.op ? &k->expect : &at_init, PTXGEN_EMULATOR_REPORT_BYTE_COUNT,
             k->last_async.op, k, text);
}

void pg_check_stuck(pg_cluster *c)
{
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t n = 0; n < c->ctas[i].mbarrier_count; n++)
            if (c->ctas[i].mbarriers[n].valid && c->ctas[i].mbarriers[n].check)
                check_bytes(&c->ctas[i], &c->ctas[i].mbarriers[n]);
}

void pg_mbarrier_check_end(const pg_cta *cta, const pg_mbarrier *b)
{
    const pg_mbarrier_check *k = b->check;
    const pg_op init = {.line = b->init_line, .opcode = PG_OP_MBARRIER_INIT};
    if (!k || !b->valid)
        return;
    if (k->last_async_phase > k->last_waited) {
        const pg_check_actor at_init = {&cta->warps[0], &init, 0};
        complain(k->last_async.op ? &k->last_async : &at_init,
                 PTXGEN_EMULATOR_REPORT_EXIT_IN_FLIGHT, NULL, k,
                 "this completed on an mbarrier, and no thread waited for it before the CTA "
                 "ended");
    }
    check_bytes(cta, b);
}
