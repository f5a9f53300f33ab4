/* Branches and exits. */
#include "emulator/flow/control.h"

#include "emulator/memory/barrier.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/stop.h"
#include "emulator/tensor/tcgen05.h"
#include "emulator/machine/observer.h"

/* The lanes of the running group go to pc + 1, but for `lanes`, which the caller sends
 * elsewhere. */
static void leave_rest_behind(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint32_t rest = w->active & ~lanes;
    if (rest)
        pg_split_group(w, rest, pg_pc_of(w, op) + 1);
}

pg_step pg_op_bra(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    if (lanes == w->active) {
        w->jump = op->target;
        return PG_JUMP;
    }
    leave_rest_behind(w, op, lanes);
    pg_running_group(w)->pc = op->target;
    return PG_SPLIT;
}

pg_step pg_scatter_lanes(pg_warp *w, const pg_op *op, uint32_t lanes, const uint32_t *pc)
{
    const uint32_t first = pc[__builtin_ctz(lanes)];
    uint32_t same = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        same |= (uint32_t)(pc[l] == first) << l;
    }
    if (same == w->active) {
        w->jump = first;
        return PG_JUMP;
    }
    leave_rest_behind(w, op, lanes);
    pg_running_group(w)->pc = first;
    for (uint32_t left = lanes & ~same; left;) {
        const uint32_t target = pc[__builtin_ctz(left)];
        uint32_t there = 0;
        for (uint32_t each = left; each; each &= each - 1) {
            const int l = __builtin_ctz(each);
            there |= (uint32_t)(pc[l] == target) << l;
        }
        pg_split_group(w, there, target);
        left &= ~there;
    }
    return PG_SPLIT;
}

pg_step pg_op_brx(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_branch_table *table = op->extra;
    const uint32_t *index = pg_row_at(w, op->a);
    uint32_t pc[PG_LANES];
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (index[l] >= table->count)
            return pg_stop(w, op, PTXGEN_EEMULATOR,
                           "brx.idx: index %u of lane %d is past the table's %u targets", index[l],
                           l, table->count);
        pc[l] = table->targets[index[l]];
    }
    return pg_scatter_lanes(w, op, lanes, pc);
}

static void remove_empty_groups(pg_warp *w)
{
    for (uint32_t i = 0; i < w->group_count;)
        if (w->groups[i].lanes)
            i++;
        else
            w->groups[i] = w->groups[--w->group_count];
}

void pg_exit_lanes(pg_warp *w, uint32_t lanes)
{
    pg_cta *cta = w->cta;
    w->live &= ~lanes;
    remove_empty_groups(w);
    cta->cluster->progress++;
    for (uint32_t i = 0; i < w->group_count; i++)
        if (w->groups[i].wait.kind == PG_WAIT_LANES)
            pg_wake(w, &w->groups[i]);
    if (!w->live && --cta->live_warps == 0)
        cta->cluster->live_ctas--;
    pg_barriers_after_exit(w);
}

pg_step pg_op_exit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_group *g = pg_running_group(w);
    PG_OBSERVE(w->launch, exit, w, op, lanes);
    g->lanes &= ~lanes;
    g->pc = pg_pc_of(w, op) + 1;
    pg_exit_lanes(w, lanes);
    return w->cta->live_warps || pg_tensor_all_given_back(w, op) ? PG_SPLIT : PG_STOP;
}

pg_step pg_op_trap(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return pg_stop(w, op, PTXGEN_EEMULATOR, "the program executed %s in lane %d",
                   op->imm ? "brkpt" : "trap", __builtin_ctz(lanes));
}

pg_step pg_op_nop(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)w, (void)op, (void)lanes;
    return PG_NEXT;
}

pg_step pg_op_nanosleep(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op, (void)lanes;
    return pg_block(w, (pg_wait){.kind = PG_WAIT_TURN});
}
