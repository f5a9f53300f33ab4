/* Decoding of branches and of what ends or delays a thread. */
#include "emulator/flow/control.h"
#include "emulator/decode/families.h"
#include "emulator/machine/observer.h"
#include "emulator/memory/warp_sync.h"

void pg_decode_bra(pg_decoder *d, pg_op *op)
{
    op->target = pg_label_target(d, pg_operand(d, 0)->index);
    op->run = pg_op_bra;
}

void pg_decode_brx_idx(pg_decoder *d, pg_op *op)
{
    const pg_ptx_table *table = &d->function->tables[pg_operand(d, 1)->index];
    pg_branch_table *t = PG_NEW(d->arena, pg_branch_table);
    uint32_t *targets = PG_NEW_ARRAY(d->arena, uint32_t, table->n_targets + 1);
    op->a = pg_source(d, pg_operand(d, 0), PG_T_U32);
    if (!t || !targets || table->is_calls)
        return;
    for (uint32_t i = 0; i < table->n_targets; i++)
        targets[i] = pg_label_target(d, table->targets[i]);
    *t = (pg_branch_table){targets, table->n_targets};
    op->extra = t;
    op->run = pg_op_brx;
}

#define PLAIN(name, handler)                                                                       \
    void pg_decode_##name(pg_decoder *d, pg_op *op)                                                \
    {                                                                                              \
        (void)d;                                                                                   \
        op->run = handler;                                                                         \
    }
PLAIN(ret, pg_op_ret)
PLAIN(exit, pg_op_exit)
PLAIN(nanosleep, pg_op_nanosleep)
PLAIN(griddepcontrol_launch, pg_op_nop)

void pg_decode_trap(pg_decoder *d, pg_op *op)
{
    op->imm = !strcmp(pg_ptx_op_describe(d->opcode->op)->mnemonic, "brkpt");
    op->run = pg_op_trap;
}

/* imm: registers a thread. The assembler's business; how warps execute it is the observer's, once
 * those of its lanes have met that do not leave it out by a predicate. */
static pg_step setmaxnreg(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all = lanes;
    pg_step step;
    if (lanes == w->active && !pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    PG_OBSERVE(w->launch, setmaxnreg, w, op, all);
    return PG_NEXT;
}

void pg_decode_setmaxnreg(pg_decoder *d, pg_op *op)
{
    op->imm = pg_operand(d, 0)->value;
    op->run = setmaxnreg;
}

/* Prerequisite grids have finished before an emulated launch starts: only the checker cares. */
static pg_step grid_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op;
    PG_OBSERVE(w->launch, grid_wait, w, lanes);
    return PG_NEXT;
}
PLAIN(griddepcontrol_wait, grid_wait)
