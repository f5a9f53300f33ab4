/* Calls, returns and stack memory. A function's registers have fixed rows, so a call costs
 * nothing but a return address per lane; only calls inside a recursive cycle save the caller's
 * rows. Frames (local variables and parameters in memory) lie on a stack per lane; alloca makes
 * the running function's frame longer. */
#include "emulator/flow/control.h"
#include "emulator/machine/observer.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/stop.h"

enum { MAX_CALL_DEPTH = 4096 };

typedef struct call_frame {
    const pg_op *call;
    const pg_call_target *target;
    uint32_t frame, grown; /* the caller's */
    char *saved;           /* the lane's registers of a recursive caller, or NULL */
    uint32_t saved_bytes;
} call_frame;

struct pg_call_stack {
    uint32_t depth[PG_LANES];
    uint32_t capacity[PG_LANES];
    uint32_t grown[PG_LANES]; /* bytes that alloca has added to the frame */
    call_frame *frames[PG_LANES];
};

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
    if (!c->to_row)
        PG_OBSERVE(w->launch, local_write, w, (uint32_t)lane, to_frame + c->to_offset, c->bytes);
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

static pg_call_stack *stack_of(pg_warp *w)
{
    if (!w->calls)
        w->calls = pg_alloc_zero(w->launch->alloc, sizeof *w->calls);
    return w->calls;
}

static bool push_frame(pg_warp *w, const pg_op *op, const pg_call_target *t, int lane)
{
    const pg_alloc *alloc = w->launch->alloc;
    pg_call_stack *s = stack_of(w);
    if (!s)
        return false;
    if (s->depth[lane] == s->capacity[lane]) {
        const uint32_t old = s->capacity[lane], grown = old ? 2 * old : 4;
        call_frame *frames = alloc->realloc(alloc->user, s->frames[lane], old * sizeof *frames,
                                            grown * sizeof *frames);
        if (!frames)
            return false;
        s->frames[lane] = frames;
        s->capacity[lane] = grown;
    }
    call_frame frame = {.call = op, .target = t, .frame = w->frame[lane], .grown = s->grown[lane]};
    if (t->callee->recursive) {
        frame.saved_bytes = t->caller->saved_bytes;
        frame.saved = pg_alloc_zero(alloc, frame.saved_bytes + 1);
        if (!frame.saved)
            return false;
        move_registers(w, t->caller, lane, frame.saved, true);
    }
    s->frames[lane][s->depth[lane]++] = frame;
    s->grown[lane] = 0;
    return true;
}

static bool enter(pg_warp *w, const pg_op *op, const pg_call_target *t, int lane)
{
    const uint32_t from = w->frame[lane];
    const uint32_t to = from + t->caller->frame_bytes + (w->calls ? w->calls->grown[lane] : 0);
    if ((w->calls && w->calls->depth[lane] >= MAX_CALL_DEPTH) ||
        (uint64_t)to + t->callee->frame_bytes > w->launch->local_bytes) {
        pg_stop(w, op, PTXGEN_EBUDGET,
                "stack overflow in a call of %s: %u of %u bytes of local memory are in use",
                t->callee->name, to, w->launch->local_bytes);
        return false;
    }
    if (!push_frame(w, op, t, lane)) {
        pg_stop_memory(w->launch, sizeof(call_frame));
        return false;
    }
    for (uint32_t i = 0; i < t->arg_count; i++)
        copy_parameter(w, &t->args[i], lane, from, to);
    w->frame[lane] = to;
    return true;
}

uint64_t pg_call_argument(const pg_warp *w, const pg_call_copy *c, int lane)
{
    const char *at = c->from_row ? (const char *)pg_row_at(w, c->from) + (size_t)lane * c->bytes
                                 : w->local + (size_t)lane * w->launch->local_bytes +
                                       w->frame[lane] + c->from_offset;
    uint64_t value = 0;
    memcpy(&value, at, c->bytes < 8 ? c->bytes : 8);
    return value;
}

void pg_call_return(pg_warp *w, const pg_call_target *t, int lane, uint64_t value)
{
    const pg_call_copy *r = t->returns;
    if (!t->return_count)
        return;
    char *to = r->to_row ? (char *)pg_row_at(w, r->to) + (size_t)lane * r->bytes
                         : w->local + (size_t)lane * w->launch->local_bytes + w->frame[lane] +
                               r->to_offset;
    memcpy(to, &value, r->bytes < 8 ? r->bytes : 8);
}

pg_step pg_op_call(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_call_target *t = op->extra;
    uint32_t pc[PG_LANES];
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pc[l] = t->callee->first_op;
        if (!enter(w, op, t, l))
            return PG_STOP;
    }
    return pg_scatter_lanes(w, op, lanes, pc);
}

static const pg_call_target *find_target(const pg_indirect_call *call, uint64_t address)
{
    for (uint32_t i = 0; i < call->count; i++)
        if (call->addresses[i] == address)
            return &call->targets[i];
    return NULL;
}

pg_step pg_op_call_indirect(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint64_t *address = pg_row_at(w, op->a);
    const pg_call_target *targets[PG_LANES];
    uint32_t pc[PG_LANES];
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        targets[l] = find_target(op->extra, address[l]);
        if (!targets[l])
            return pg_stop(w, op, PTXGEN_EEMULATOR,
                           "lane %d calls address 0x%llx, where no function is that fits this call",
                           l, (unsigned long long)address[l]);
        pc[l] = targets[l]->callee->first_op;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (!enter(w, op, targets[l], l))
            return PG_STOP;
    }
    return pg_scatter_lanes(w, op, lanes, pc);
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
        const pg_call_target *t = frame->target;
        const uint32_t from = w->frame[l];
        w->frame[l] = frame->frame;
        w->calls->grown[l] = frame->grown;
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
        return pg_scatter_lanes(w, op, lanes, pc);
    /* Some lanes leave the kernel here, others a function: two steps. */
    const pg_step step = pg_scatter_lanes(w, op, lanes & ~exits, pc);
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

/* ---- stack memory ---- */

static uint64_t row_value(const pg_warp *w, pg_row row, uint32_t bytes, int lane)
{
    return bytes == 8 ? ((const uint64_t *)pg_row_at(w, row))[lane]
                      : ((const uint32_t *)pg_row_at(w, row))[lane];
}

static void set_row(pg_warp *w, pg_row row, uint32_t bytes, int lane, uint64_t value)
{
    if (bytes == 8)
        ((uint64_t *)pg_row_at(w, row))[lane] = value;
    else
        ((uint32_t *)pg_row_at(w, row))[lane] = (uint32_t)value;
}

pg_step pg_op_alloca(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_function_layout *f = op->extra;
    pg_call_stack *s = stack_of(w);
    if (!s) {
        pg_stop_memory(w->launch, sizeof *s);
        return PG_STOP;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t base = (uint64_t)w->frame[l] + f->frame_bytes,
                       bytes = row_value(w, op->a, op->size, l);
        const uint64_t at = (base + s->grown[l] + op->imm - 1) & ~(op->imm - 1);
        if (bytes > w->launch->local_bytes || at + bytes + 15 > w->launch->local_bytes)
            return pg_stop(w, op, PTXGEN_EBUDGET,
                           "stack overflow: alloca of %llu bytes in lane %d, with %llu of %u bytes "
                           "of local memory in use",
                           (unsigned long long)bytes, l, (unsigned long long)at,
                           w->launch->local_bytes);
        s->grown[l] = (uint32_t)((at + bytes - base + 15) & ~UINT64_C(15));
        set_row(w, op->d, op->size, l, at);
    }
    return PG_NEXT;
}

pg_step pg_op_stacksave(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        set_row(w, op->d, op->size, l, w->calls ? w->calls->grown[l] : 0);
    }
    return PG_NEXT;
}

pg_step pg_op_stackrestore(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t grown = row_value(w, op->a, op->size, l);
        if (grown > (w->calls ? w->calls->grown[l] : 0))
            return pg_stop(w, op, PTXGEN_EEMULATOR,
                           "stackrestore of what no stacksave of this function has given");
        if (w->calls)
            w->calls->grown[l] = (uint32_t)grown;
    }
    return PG_NEXT;
}
