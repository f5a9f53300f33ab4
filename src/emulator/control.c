/* Branches, calls and exits. A function's registers have fixed rows, so a call costs nothing but a return
 * address per lane; only calls inside a recursive cycle save the caller's rows. Frames (local variables and
 * parameters in memory) lie on a stack per lane. */
#include "emulator/control.h"

#include "emulator/barrier.h"
#include "emulator/check.h"
#include "emulator/lanes.h"
#include "emulator/report.h"
#include "emulator/tcgen05.h"

enum { MAX_CALL_DEPTH = 4096 };

typedef struct call_frame {
    const pg_op *call;
    char *saved; /* the lane's registers of a recursive caller, or NULL */
    uint32_t saved_bytes;
} call_frame;

struct pg_call_stack {
    uint32_t depth[PG_LANES];
    uint32_t capacity[PG_LANES];
    call_frame *frames[PG_LANES];
};

void pg_split_group(pg_warp *w, uint32_t lanes, uint32_t pc)
{
    pg_group *g = pg_running_group(w);
    g->lanes &= ~lanes;
    w->groups[w->group_count++] = (pg_group){.lanes = lanes, .pc = pc, .turns = g->turns};
}

/* The lanes of the running group go to pc + 1, but for `lanes`, which the caller sends elsewhere. */
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

/* Sends each of `lanes` to its own pc: one group per distinct target. */
static pg_step scatter_lanes(pg_warp *w, const pg_op *op, uint32_t lanes, const uint32_t *pc)
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
    return scatter_lanes(w, op, lanes, pc);
}

/* Copies a lane's parameter between frames and rows. */
static void copy_parameter(pg_warp *w, const pg_call_copy *c, int lane, uint32_t from_frame,
                           uint32_t to_frame)
{
    char *local = w->local + (size_t)lane * w->launch->local_bytes;
    const char *from = c->from_row ? (char *)pg_row_at(w, c->from) + (size_t)lane * c->bytes
                                   : local + from_frame + c->from_offset;
    char *to = c->to_row ? (char *)pg_row_at(w, c->to) + (size_t)lane * c->bytes
                         : local + to_frame + c->to_offset;
    memmove(to, from, c->bytes);
}

/* Saves or restores a lane's rows and predicates of a recursive function. */
static void move_registers(pg_warp *w, const pg_function_layout *f, int lane, char *saved,
                           bool save)
{
    for (uint32_t i = 0; i < f->row_count; i++) {
        char *at = w->regs + f->rows[i] + (size_t)lane * f->row_bytes[i];
        if (save)
            memcpy(saved, at, f->row_bytes[i]);
        else
            memcpy(at, saved, f->row_bytes[i]);
        saved += f->row_bytes[i];
    }
    for (uint32_t p = f->preds_begin; p < f->preds_end; p++, saved++) {
        if (save)
            *saved = (char)(w->preds[p] >> lane & 1);
        else
            w->preds[p] = (w->preds[p] & ~(1u << lane)) | (uint32_t)(*saved & 1) << lane;
    }
}

static bool push_frame(pg_warp *w, const pg_op *op, int lane)
{
    const pg_alloc *alloc = w->launch->alloc;
    const pg_call_target *t = op->extra;
    if (!w->calls)
        w->calls = pg_alloc_zero(alloc, sizeof *w->calls);
    if (!w->calls)
        return false;
    pg_call_stack *s = w->calls;
    if (s->depth[lane] == s->capacity[lane]) {
        const uint32_t old = s->capacity[lane], grown = old ? 2 * old : 4;
        call_frame *frames = alloc->realloc(alloc->user, s->frames[lane], old * sizeof *frames,
                                            grown * sizeof *frames);
        if (!frames)
            return false;
        s->frames[lane] = frames;
        s->capacity[lane] = grown;
    }
    call_frame frame = {.call = op};
    if (t->callee->recursive) {
        frame.saved_bytes = t->caller->saved_bytes;
        frame.saved = pg_alloc_zero(alloc, frame.saved_bytes + 1);
        if (!frame.saved)
            return false;
        move_registers(w, t->caller, lane, frame.saved, true);
    }
    s->frames[lane][s->depth[lane]++] = frame;
    return true;
}

pg_step pg_op_call(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_call_target *t = op->extra;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint32_t from = w->frame[l], to = from + t->caller->frame_bytes;
        if ((w->calls && w->calls->depth[l] >= MAX_CALL_DEPTH) ||
            (uint64_t)to + t->callee->frame_bytes > w->launch->local_bytes)
            return pg_stop(
                w, op, PTXGEN_EBUDGET,
                "stack overflow in a call of %s: %u of %u bytes of local memory are in use",
                t->callee->name, to, w->launch->local_bytes);
        if (!push_frame(w, op, l)) {
            pg_stop_memory(w->launch, sizeof(call_frame));
            return PG_STOP;
        }
        for (uint32_t i = 0; i < t->arg_count; i++)
            copy_parameter(w, &t->args[i], l, from, to);
        w->frame[l] = to;
    }
    return pg_op_bra(w, op, lanes);
}

pg_step pg_op_ret(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t exits = 0, pc[PG_LANES];
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (!w->calls || !w->calls->depth[l]) {
            exits |= 1u << l;
            continue;
        }
        const call_frame *frame = &w->calls->frames[l][--w->calls->depth[l]];
        const pg_call_target *t = frame->call->extra;
        const uint32_t from = w->frame[l];
        w->frame[l] = from - t->caller->frame_bytes;
        if (frame->saved) {
            move_registers(w, t->caller, l, frame->saved, false);
            pg_free(w->launch->alloc, frame->saved, frame->saved_bytes + 1);
        }
        for (uint32_t i = 0; i < t->return_count; i++)
            copy_parameter(w, &t->returns[i], l, from, w->frame[l]);
        pc[l] = pg_pc_of(w, frame->call) + 1;
    }
    if (exits == lanes)
        return pg_op_exit(w, op, lanes);
    if (!exits)
        return scatter_lanes(w, op, lanes, pc);
    /* Some lanes leave the kernel here, others a function: two steps. */
    const pg_step step = scatter_lanes(w, op, lanes & ~exits, pc);
    (void)step; /* PG_SPLIT: `exits` are in a group of their own, after this instruction */
    for (uint32_t i = 0; i < w->group_count; i++)
        w->groups[i].lanes &= ~exits;
    pg_exit_lanes(w, exits);
    return PG_SPLIT; /* others of the warp live, so the CTA does */
}

void pg_call_stack_free(pg_warp *w)
{
    const pg_alloc *alloc = w->launch->alloc;
    for (int l = 0; w->calls && l < PG_LANES; l++) {
        for (uint32_t d = 0; d < w->calls->depth[l]; d++)
            if (w->calls->frames[l][d].saved)
                pg_free(alloc, w->calls->frames[l][d].saved,
                        w->calls->frames[l][d].saved_bytes + 1);
        if (w->calls->frames[l])
            pg_free(alloc, w->calls->frames[l], w->calls->capacity[l] * sizeof(call_frame));
    }
    if (w->calls)
        pg_free(alloc, w->calls, sizeof *w->calls);
    w->calls = NULL;
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
    pg_barriers_after_exit(cta);
}

pg_step pg_op_exit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_group *g = pg_running_group(w);
    if (w->launch->checker)
        pg_check_exit(w, op, lanes);
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
