/* The scheduler. A host thread interleaves the warps of its clusters round robin, each for a
 * slice of instructions, then lets asynchronous operations complete. Within a warp the group
 * with the smallest program counter runs first, so that lanes meet again at the end of a branch
 * or loop; a group that used up its slice is overtaken by the others, so that a lane which spins
 * never starves the lane it waits for. With order=isa the warp, the group, the slice and the
 * completions are drawn from the seed. */
#include "emulator/machine/observer.h"
#include "emulator/machine/stop.h"
#include "emulator/run/cluster.h"
#include "emulator/run/deadlock.h"

enum {
    SLICE = 1024,          /* warp instructions before another warp has a turn */
    ISA_SLICE_BITS = 5,    /* order=isa: slices of 1..32 */
    POLLS = 64,            /* vain polls of every warp, with nothing pending: a deadlock */
    SLOW_CLUSTER = 1 << 20 /* warp instructions after which further clusters join */
};

/* Joins groups that stand at the same instruction and wait for nothing. */
static void merge_groups(pg_warp *w)
{
    for (uint32_t i = 0; i < w->group_count; i++) {
        pg_group *g = &w->groups[i];
        if (g->wait.kind != PG_WAIT_NONE)
            continue;
        for (uint32_t k = i + 1; k < w->group_count;) {
            const pg_group *other = &w->groups[k];
            if (other->pc != g->pc || other->wait.kind != PG_WAIT_NONE ||
                other->stored != g->stored) {
                k++;
                continue;
            }
            g->lanes |= other->lanes;
            g->turns = g->turns < other->turns ? g->turns : other->turns;
            w->groups[k] = w->groups[--w->group_count];
        }
    }
}

/* The runnable group that had the fewest turns, then the smallest pc; -1: none. */
static int choose_group(pg_warp *w)
{
    int best = -1;
    for (uint32_t i = 0; i < w->group_count; i++) {
        const pg_group *g = &w->groups[i];
        if (g->wait.kind != PG_WAIT_NONE)
            continue;
        const pg_group *b = best < 0 ? NULL : &w->groups[best];
        if (!b || g->turns < b->turns || (g->turns == b->turns && g->pc < b->pc))
            best = (int)i;
    }
    return best;
}

/* The instruction at which the running group must stop to meet another one. */
static uint32_t meeting_point(const pg_warp *w)
{
    const uint32_t pc = w->groups[w->chosen].pc;
    uint32_t meet = UINT32_MAX;
    for (uint32_t i = 0; i < w->group_count; i++) {
        const pg_group *g = &w->groups[i];
        if (i != w->chosen && g->pc > pc && g->pc < meet && g->wait.kind == PG_WAIT_NONE)
            meet = g->pc;
    }
    return meet;
}

/* The running group waits at `pc`: lanes that the guard `excluded` go on. (Lanes of other groups
 * may have joined it meanwhile: a collective takes them in.) */
static void stop_waiting_lanes(pg_warp *w, uint32_t excluded, uint32_t pc, pg_step step)
{
    w->groups[w->chosen].pc = step == PG_WAIT ? pc + 1 : pc;
    if (excluded)
        pg_split_group(w, excluded, pc + 1);
}

/* Runs the chosen group until its slice is used, it waits, or the groups must be looked at again.
 * Returns the instructions executed; *turn_over: other warps are to run now. */
static inline __attribute__((always_inline)) uint32_t
run_group_counting(pg_warp *w, uint32_t slice, bool *turn_over, uint64_t *active_lanes)
{
    const pg_op *const ops = w->launch->program->ops;
    uint64_t *const counts = w->cta->cluster->worker->op_counts;
    const bool alone = w->group_count == 1;
    const uint32_t meet = alone ? UINT32_MAX : meeting_point(w);
    uint32_t pc = w->groups[w->chosen].pc;
    uint32_t used = 0;
    w->active = w->groups[w->chosen].lanes;
    while (used < slice) {
        const pg_op *op = &ops[pc];
        uint32_t lanes = w->active, excluded = 0;
        counts[pc]++;
        used++;
        if (op->guard) {
            lanes &= pg_pred_lanes(w, op->guard, op->guard_not);
            excluded = w->active & ~lanes;
        }
        if (active_lanes) {
            active_lanes[pc] += (uint32_t)__builtin_popcount(lanes);
            w->cta->cluster->worker->ticks++;
        }
        const pg_step step = lanes ? op->run(w, op, lanes) : PG_NEXT;
        if (active_lanes)
            PG_OBSERVE(w->launch, stepped, w, op, step);
        if (step == PG_NEXT) {
            if (++pc < meet)
                continue;
            break;
        }
        if (step == PG_JUMP) {
            pc = w->jump;
            if (alone)
                continue;
            break;
        }
        if (step == PG_SPLIT)
            return used;
        *turn_over = true;
        if (step == PG_YIELD) {
            pc++;
            w->groups[w->chosen].turns++;
            break;
        }
        if (step != PG_STOP)
            stop_waiting_lanes(w, excluded, pc, step);
        return used;
    }
    w->groups[w->chosen].pc = pc;
    if (used == slice && !alone)
        w->groups[w->chosen].turns++;
    return used;
}

/* Compiled twice, so that a launch without a profile does not ask at every instruction. */
static uint32_t run_group(pg_warp *w, uint32_t slice, bool *turn_over)
{
    uint64_t *active_lanes = w->cta->cluster->worker->op_lanes;
    return active_lanes ? run_group_counting(w, slice, turn_over, active_lanes)
                        : run_group_counting(w, slice, turn_over, NULL);
}

static int choose_any_group(pg_warp *w)
{
    const uint32_t start = (uint32_t)pg_worker_random(w->cta->cluster->worker) % w->group_count;
    for (uint32_t i = 0; i < w->group_count; i++) {
        const uint32_t k = (start + i) % w->group_count;
        if (w->groups[k].wait.kind == PG_WAIT_NONE)
            return (int)k;
    }
    return -1;
}

/* Runs a warp for at most `slice` instructions. */
static uint32_t run_warp(pg_warp *w, uint32_t slice)
{
    uint32_t used = 0;
    bool turn_over = false;
    while (used < slice && !turn_over && w->group_count) {
        if (w->group_count > 1)
            merge_groups(w);
        const int chosen =
            w->launch->isa_order && w->group_count > 1 ? choose_any_group(w) : choose_group(w);
        if (chosen < 0) {
            w->runnable = false;
            break;
        }
        w->chosen = (uint32_t)chosen;
        used += run_group(w, slice - used, &turn_over);
        if (atomic_load_explicit(&w->launch->stopped, memory_order_relaxed))
            break;
    }
    if (!w->group_count || choose_group(w) < 0)
        w->runnable = false;
    w->cta->cluster->executed += used;
    return used;
}

/* Groups that only wait for their next turn. */
static void wake_turns(pg_warp *w)
{
    for (uint32_t i = 0; i < w->group_count; i++)
        if (w->groups[i].wait.kind == PG_WAIT_TURN)
            pg_wake(w, &w->groups[i]);
}

/* Every warp of the cluster has one slice. Returns instructions executed. */
static uint64_t run_all_warps(pg_cluster *c)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t k = 0; k < c->ctas[i].warp_count; k++) {
            pg_warp *w = &c->ctas[i].warps[k];
            wake_turns(w);
            if (w->runnable)
                used += run_warp(w, SLICE);
        }
    return used;
}

/* order=isa: as many slices as there are warps, each of a warp and a length that the seed draws. */
static uint64_t run_random_warps(pg_cluster *c)
{
    uint64_t used = 0;
    uint32_t warps = 0;
    for (uint32_t i = 0; i < c->cta_count; i++)
        warps += c->ctas[i].warp_count;
    for (uint32_t n = 0; n < warps; n++) {
        const uint64_t random = pg_worker_random(c->worker);
        const pg_cta *cta = &c->ctas[(random >> 32) % c->cta_count];
        pg_warp *w = &cta->warps[(random >> 8 & 0xffff) % cta->warp_count];
        wake_turns(w);
        if (w->runnable)
            used += run_warp(w, 1 + (uint32_t)(random >> 56) % (1u << ISA_SLICE_BITS));
    }
    return used;
}

/* Whether a group could run now or in the next round. */
static bool can_run(const pg_warp *w)
{
    for (uint32_t g = 0; g < w->group_count; g++)
        if (w->groups[g].wait.kind == PG_WAIT_NONE || w->groups[g].wait.kind == PG_WAIT_TURN)
            return true;
    return false;
}

static bool waits_for_mbarrier(const pg_warp *w)
{
    for (uint32_t g = 0; g < w->group_count; g++)
        if (w->groups[g].wait.kind == PG_WAIT_MBARRIER)
            return true;
    return false;
}

/* Ends the waits that the ISA bounds in time with "not yet". */
static void time_out_waits(pg_cluster *c)
{
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t k = 0; k < c->ctas[i].warp_count; k++) {
            pg_warp *w = &c->ctas[i].warps[k];
            for (uint32_t g = 0; g < w->group_count; g++)
                if (w->groups[g].wait.kind == PG_WAIT_MBARRIER) {
                    w->groups[g].wait.timed_out = true;
                    pg_wake(w, &w->groups[g]);
                }
        }
}

/* Nothing is pending. Waits that the ISA bounds in time may end with "not yet"; when every warp
 * has heard that often enough since something last changed, nothing ever will. */
static void check_idle(pg_cluster *c)
{
    bool any_can_run = false, any_hope = false;
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t k = 0; k < c->ctas[i].warp_count; k++) {
            const pg_warp *w = &c->ctas[i].warps[k];
            const bool runs = can_run(w);
            const uint32_t polls = w->polls_progress == c->progress ? w->polls : 0;
            any_can_run |= runs;
            any_hope |= (runs || waits_for_mbarrier(w)) && polls < POLLS;
        }
    if (!any_hope)
        pg_stop_deadlock(c);
    else if (!any_can_run)
        time_out_waits(c);
}

/* One round of a cluster. */
static void run_cluster(pg_cluster *c)
{
    const uint64_t used = c->launch->isa_order ? run_random_warps(c) : run_all_warps(c);
    c->worker->instructions += used;
    c->worker->now++;
    if (pg_async_any_ready(c))
        pg_async_advance(c);
    else if (c->live_ctas)
        check_idle(c);
}

static void charge_instructions(pg_worker *worker)
{
    pg_grid_run *launch = worker->launch;
    const uint64_t total = atomic_fetch_add_explicit(&launch->instructions, worker->instructions,
                                                     memory_order_relaxed) +
                           worker->instructions;
    worker->instructions = 0;
    if (launch->instruction_budget && total > launch->instruction_budget)
        pg_stop_budget(launch, total);
}

/* Takes further clusters while none is resident, or all that are resident run long (they may
 * wait for clusters that have not started); all of a cooperative launch. */
static void admit_clusters(pg_worker *worker)
{
    pg_grid_run *launch = worker->launch;
    while (worker->resident_count < launch->resident_clusters) {
        for (uint32_t i = 0; i < worker->resident_count && !launch->cooperative; i++)
            if (worker->resident[i]->executed < SLOW_CLUSTER)
                return;
        uint64_t index;
        pg_cluster *cluster =
            pg_cluster_claim(launch, &index) ? pg_cluster_start(worker, index) : NULL;
        if (!cluster)
            return;
        worker->resident[worker->resident_count++] = cluster;
    }
}

void pg_worker_run(pg_worker *worker)
{
    while (!atomic_load_explicit(&worker->launch->stopped, memory_order_relaxed)) {
        admit_clusters(worker);
        if (!worker->resident_count)
            break;
        for (uint32_t i = 0; i < worker->resident_count; i++) {
            pg_cluster *cluster = worker->resident[i];
            run_cluster(cluster);
            if (cluster->live_ctas == 0 && !cluster->pending_first) {
                pg_cluster_finish(worker, cluster);
                worker->resident[i--] = worker->resident[--worker->resident_count];
            }
        }
        charge_instructions(worker);
    }
}
