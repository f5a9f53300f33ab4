/* bar and barrier, barrier.cluster. PTX ISA 9.0, section 9.7.13.1-4. A warp whose live lanes
 * have all arrived counts as 32 threads, however many of them exist or have exited; a part of a
 * warp counts its lanes. With a count the barrier waits for that many, whoever exits; without
 * one for every warp of the CTA, but not for those that exit without having arrived. A warp that
 * arrived (bar.arrive) and exited stays counted, and one that arrives twice counts twice. All as
 * on an H200, where programs that get it wrong hang. */
#include "emulator/memory/barrier.h"

#include "emulator/machine/lanes.h"
#include "emulator/machine/stop.h"
#include "emulator/machine/observer.h"

uint32_t pg_barrier_expects(const pg_cta *cta, const pg_named_barrier *b)
{
    if (!b->whole)
        return b->expected;
    if (cta->live_warps == cta->warp_count)
        return cta->warp_count * PG_LANES;
    uint32_t warps = b->arrived_warps;
    for (uint32_t i = 0; i < cta->warp_count; i++)
        warps |= (uint32_t)(cta->warps[i].live != 0) << i;
    return (uint32_t)__builtin_popcount(warps) * PG_LANES;
}

/* What a bar.red gives one group. */
static void write_result(pg_warp *w, const pg_op *op, uint32_t lanes, const pg_named_barrier *b)
{
    if (op->mode == PG_BAR_POPC) {
        uint32_t *d = pg_row_at(w, op->d);
        PG_EACH_LANE(lanes, d[l] = b->count);
    } else if (op->mode == PG_BAR_AND || op->mode == PG_BAR_OR) {
        const bool value = op->mode == PG_BAR_AND ? b->all : b->any;
        pg_pred_write(w, op->p, lanes, value ? PG_ALL_LANES : 0);
    }
}

static void complete(pg_cta *cta, uint32_t id)
{
    pg_named_barrier *b = &cta->barriers[id];
    const pg_op *ops = cta->cluster->launch->program->ops;
    for (uint32_t i = 0; i < cta->warp_count; i++) {
        pg_warp *w = &cta->warps[i];
        for (uint32_t k = 0; k < w->group_count; k++) {
            pg_group *g = &w->groups[k];
            if (g->wait.kind != PG_WAIT_BARRIER || g->wait.key != id)
                continue;
            write_result(w, &ops[g->pc], g->lanes, b);
            PG_OBSERVE(w->launch, barrier_passed, w, g->lanes, id);
            g->pc++;
            pg_wake(w, g);
        }
    }
    PG_OBSERVE(cta->cluster->launch, barrier_done, cta, id);
    const uint64_t completed = b->completed + 1;
    memset(b, 0, sizeof *b);
    b->completed = completed;
    cta->cluster->progress++;
}

/* Counts the arrival of lanes; a warp that is complete is worth 32. */
static void arrive(pg_warp *w, pg_named_barrier *b, uint32_t lanes)
{
    uint32_t *arrived = &b->arrived_lanes[w->index];
    const uint32_t counted = (uint32_t)__builtin_popcount(*arrived);
    *arrived |= lanes;
    if (w->live & ~*arrived) {
        b->arrived += (uint32_t)__builtin_popcount(*arrived) - counted;
        return;
    }
    b->arrived += PG_LANES - counted;
    b->arrived_warps |= 1u << w->index;
    *arrived = 0;
}

/* Without a count an H200 takes the threads that have not exited, and traps when other threads gave
 * another number. */
static pg_step check_mixed(pg_warp *w, const pg_op *op, uint32_t id)
{
    const pg_named_barrier *b = &w->cta->barriers[id];
    const uint32_t live = w->cta->live_warps * PG_LANES;
    if (!b->whole || !b->counted || live == b->expected)
        return PG_NEXT;
    return pg_stop(
        w, op, PTXGEN_EEMULATOR,
        "barrier %u: some threads give the count %u, others none, which now means the %u "
        "threads of warps that have not exited: a GPU stops with an illegal instruction; "
        "give the count everywhere",
        id, b->expected, live);
}

/* Checks an arrival's operands; the first one sets up the barrier. */
static pg_step start_barrier(pg_warp *w, const pg_op *op, int lane, uint32_t id)
{
    if (id >= PG_NAMED_BARRIERS)
        return pg_stop(w, op, PTXGEN_EEMULATOR,
                       "barrier %u does not exist: a CTA has barriers 0 to 15", id);
    pg_named_barrier *b = &w->cta->barriers[id];
    const bool counted = (op->imm & PG_BAR_COUNTED) != 0;
    const uint32_t count = counted ? ((const uint32_t *)pg_row_at(w, op->b))[lane]
                                   : w->launch->warps_per_cta * PG_LANES;
    if (count == 0 || count % PG_LANES)
        return pg_stop(w, op, PTXGEN_EEMULATOR,
                       "barrier %u: thread count %u is not a positive multiple of 32", id, count);
    if (b->expected && b->expected != count)
        return pg_stop(w, op, PTXGEN_EEMULATOR,
                       "barrier %u: this thread expects %u threads, an earlier one expects %u", id,
                       count, b->expected);
    if (!b->expected)
        b->all = true;
    b->expected = count;
    b->whole |= !counted;
    b->counted |= counted;
    return check_mixed(w, op, id);
}

pg_step pg_op_bar(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const int first = __builtin_ctz(lanes);
    const uint32_t id = ((const uint32_t *)pg_row_at(w, op->a))[first];
    const pg_step started = start_barrier(w, op, first, id);
    if (started != PG_NEXT)
        return started;
    pg_named_barrier *b = &w->cta->barriers[id];
    if (op->q) {
        const uint32_t votes = pg_pred_lanes(w, op->q, op->q_not) & lanes;
        b->count += (uint32_t)__builtin_popcount(votes);
        b->all &= votes == lanes;
        b->any |= votes != 0;
    }
    arrive(w, b, lanes);
    w->cta->cluster->progress++;
    PG_OBSERVE(w->launch, barrier, w, op, lanes, id);
    if (b->arrived >= pg_barrier_expects(w->cta, b)) {
        write_result(w, op, lanes, b);
        if (op->mode != PG_BAR_ARRIVE)
            PG_OBSERVE(w->launch, barrier_passed, w, lanes, id);
        complete(w->cta, id);
        return PG_NEXT;
    }
    if (op->mode == PG_BAR_ARRIVE)
        return PG_NEXT;
    return pg_block(w, (pg_wait){.kind = PG_WAIT_BARRIER, .key = id, .again = true});
}

/* All live threads of the cluster have arrived: the next phase begins. */
static bool cluster_complete(pg_cluster *c)
{
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t k = 0; k < c->ctas[i].warp_count; k++)
            if (c->ctas[i].warps[k].live & ~c->ctas[i].cluster_arrived[k])
                return false;
    return true;
}

static void finish_cluster_phase(pg_cluster *c)
{
    c->cluster_phase++;
    c->progress++;
    for (uint32_t i = 0; i < c->cta_count; i++) {
        memset(c->ctas[i].cluster_arrived, 0, sizeof c->ctas[i].cluster_arrived);
        pg_wake_all(&c->ctas[i], PG_WAIT_CLUSTER, 0);
    }
}

pg_step pg_op_cluster_arrive(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t *arrived = &w->cta->cluster_arrived[w->index];
    if (*arrived & lanes)
        return pg_stop(w, op, PTXGEN_EEMULATOR,
                       "barrier.cluster.arrive twice without barrier.cluster.wait in lane %d",
                       __builtin_ctz(*arrived & lanes));
    *arrived |= lanes;
    w->cta->cluster->progress++;
    PG_OBSERVE(w->launch, cluster_arrive, w, op, lanes);
    if (cluster_complete(w->cta->cluster)) {
        finish_cluster_phase(w->cta->cluster);
        PG_OBSERVE(w->launch, cluster_done, w->cta->cluster);
    }
    return PG_NEXT;
}

pg_step pg_op_cluster_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    if (w->cta->cluster_arrived[w->index] & lanes)
        return pg_block(w, (pg_wait){.kind = PG_WAIT_CLUSTER, .again = true});
    PG_OBSERVE(w->launch, cluster_wait, w, op, lanes);
    return PG_NEXT;
}

/* The lanes that exited were all that a warp, which has arrived in part, lacked. */
static void count_rest_of_warp(pg_warp *w, pg_named_barrier *b)
{
    const uint32_t arrived = b->arrived_lanes[w->index];
    if (arrived && !(w->live & ~arrived))
        arrive(w, b, arrived);
}

void pg_barriers_after_exit(pg_warp *w)
{
    pg_cta *cta = w->cta;
    for (uint32_t id = 0; id < PG_NAMED_BARRIERS; id++) {
        pg_named_barrier *b = &cta->barriers[id];
        if (!b->expected)
            continue;
        count_rest_of_warp(w, b);
        if (b->arrived && b->arrived >= pg_barrier_expects(cta, b))
            complete(cta, id);
    }
    pg_cluster *c = cta->cluster;
    bool waiting = false;
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t k = 0; k < c->ctas[i].warp_count; k++)
            waiting |= c->ctas[i].cluster_arrived[k] != 0;
    if (waiting && cluster_complete(c)) {
        finish_cluster_phase(c);
        PG_OBSERVE(c->launch, cluster_done, c);
    }
}
