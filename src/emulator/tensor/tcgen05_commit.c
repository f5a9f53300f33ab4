/* tcgen05.commit, .wait and .fence, and the order that the ISA promises among the asynchronous
 * tcgen05 operations of one thread. PTX ISA 9.0, sections 9.7.16.6 and 9.7.16.12. */
#include "emulator/tensor/tcgen05.h"
#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
#include "emulator/tensor/tensor_memory.h"
#include "emulator/memory/warp_sync.h"
#include "emulator/machine/observer.h"

/* Whether the columns of two accumulators meet; one of unknown size (0 columns) meets every
 * other. */
static bool share_columns(const pg_async_tcgen05_mma *x, const pg_async_tcgen05_mma *y)
{
    const uint32_t first_x = pg_tensor_column(x->d), first_y = pg_tensor_column(y->d);
    return !x->d_columns || !y->d_columns ||
           (first_x < first_y + y->d_columns && first_y < first_x + x->d_columns);
}

static bool is_copy_of_4_rows(const pg_async *a)
{
    return a->kind == &pg_kind_tcgen05_cp &&
           ((const pg_tcgen05_cp_plan *)a->op->extra)->shape == PG_COPY_4X256B;
}

/* All of a kernel have the same cta_group. Pairs of two threads keep their order where tcgen05
 * fences connect them; whether some do is known to the checker alone, so here they always do. A
 * commit is of its own thread. */
static bool commit_follows(const pg_async *a, const pg_async *before)
{
    const pg_async_kind *k = before->kind;
    return (k == &pg_kind_tcgen05_cp || k == &pg_kind_tcgen05_mma || k == &pg_kind_tcgen05_shift) &&
           a->warp == before->warp && a->lane == before->lane;
}

static bool mma_follows(const pg_async *a, const pg_async *before)
{
    if (a->warp->cta != before->warp->cta)
        return false;
    if (before->kind == &pg_kind_tcgen05_mma)
        return share_columns((const pg_async_tcgen05_mma *)a, (const pg_async_tcgen05_mma *)before);
    return before->kind == &pg_kind_tcgen05_cp || before->kind == &pg_kind_tcgen05_shift;
}

static bool shift_follows(const pg_async *a, const pg_async *before)
{
    return a->warp->cta == before->warp->cta && before->kind == &pg_kind_tcgen05_mma;
}

static bool cp_follows(const pg_async *a, const pg_async *before)
{
    return a->warp->cta == before->warp->cta && is_copy_of_4_rows(a) &&
           before->kind == &pg_kind_tcgen05_shift;
}

/* One arrival at each barrier. */
static bool arrive_at(pg_async *a, pg_cta *cta)
{
    pg_mbarrier_signal s = ((const pg_async_tcgen05_commit *)a)->signal;
    s.cta = cta;
    return pg_mbarrier_signal_completion(a->warp, a->op, &s);
}

static bool complete_commit(pg_async *a)
{
    PG_OBSERVE(a->warp->launch, async_arriving, a);
    return pg_async_each_target(a, ((const pg_async_tcgen05_commit *)a)->signal.cta, arrive_at);
}

static pg_async_targets commit_targets(const pg_async *a)
{
    const pg_async_tcgen05_commit *c = (const pg_async_tcgen05_commit *)a;
    return (pg_async_targets){&c->signal, c->cta_mask, false};
}

const pg_async_kind pg_kind_tcgen05_cp = {
    .bytes = sizeof(pg_async_tcgen05_cp), .complete = pg_tcgen05_cp_execute, .follows = cp_follows};
const pg_async_kind pg_kind_tcgen05_mma = {.bytes = sizeof(pg_async_tcgen05_mma),
                                           .complete = pg_tcgen05_mma_execute,
                                           .follows = mma_follows};
const pg_async_kind pg_kind_tcgen05_shift = {.bytes = sizeof(pg_async_tcgen05_shift),
                                             .complete = pg_tcgen05_shift_execute,
                                             .follows = shift_follows};
const pg_async_kind pg_kind_tcgen05_commit = {.bytes = sizeof(pg_async_tcgen05_commit),
                                              .complete = complete_commit,
                                              .follows = commit_follows,
                                              .targets = commit_targets};

/* The barrier that a lane's operands name; false: the launch has been stopped. */
static bool find_barrier(pg_warp *w, const pg_op *op, uint64_t address, pg_mbarrier_signal *signal)
{
    /* A generic address outside the window: the hardware takes the shared address that its low
     * half is. */
    const bool bare = op->space == PG_MEM_GENERIC && address >> 32 == 0;
    const pg_space space = bare ? PG_MEM_CLUSTER : (pg_space)op->space;
    if (pg_shared_target(w, space, address, &signal->cta, &signal->offset) &&
        signal->offset % PG_MBARRIER_BYTES == 0)
        return true;
    pg_stop(
        w, op, PTXGEN_EEMULATOR,
        "tcgen05.commit to 0x%llx: not an 8-byte aligned address in the cluster's shared memory, "
        "whose dynamic part has %u bytes (launch.dynamic_shared)",
        (unsigned long long)address, w->launch->dynamic_shared);
    return false;
}

static bool check_mask(pg_warp *w, const pg_op *op, uint32_t mask)
{
    const uint32_t ctas = w->cta->cluster->cta_count;
    if (mask && !(mask >> ctas))
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "tcgen05.commit: multicast mask 0x%04x; the cluster has %u CTAs", mask, ctas);
    return false;
}

pg_step pg_op_tcgen05_commit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_tcgen05_commit_plan *p = op->extra;
    uint64_t address[PG_LANES];
    if (!pg_tensor_group(w, op, p->cta_group))
        return PG_STOP;
    pg_addresses(w, op, lanes, address);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_mbarrier_signal signal = {.arrivals = 1};
        uint16_t mask = 0;
        if (!find_barrier(w, op, address[l], &signal))
            return PG_STOP;
        if (p->has_multicast) {
            mask = ((const uint16_t *)pg_row_at(w, p->multicast))[l];
            if (!check_mask(w, op, mask))
                return PG_STOP;
        }
        pg_async_tcgen05_commit *c = pg_async_new(w, op, &pg_kind_tcgen05_commit, (uint32_t)l);
        if (!c)
            return PG_STOP;
        c->signal = signal;
        c->cta_mask = mask;
        pg_async_issue(&c->head);
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}

/* ld and st have moved their data already, so only the checker minds. */
pg_step pg_op_tcgen05_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_whole_warp(w, op, lanes, &all, &step))
        return step;
    PG_OBSERVE(w->launch, tensor_wait, w, op->mode != 0);
    if (!op->mode)
        PG_OBSERVE(w->launch, matrix_load_wait, w);
    return PG_NEXT;
}

pg_step pg_op_tcgen05_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    PG_OBSERVE(w->launch, tensor_fence, w, op, lanes, op->mode != 0);
    return PG_NEXT;
}
