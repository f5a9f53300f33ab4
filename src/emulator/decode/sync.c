/* Decoding of warp collectives, barriers and mbarriers. */
#include "emulator/memory/barrier.h"
#include "emulator/decode/families.h"
#include "emulator/memory/warp_sync.h"

/* d|p: result and predicate. */
static void result_pair(pg_decoder *d, pg_op *op, const pg_ptx_operand *o)
{
    if (o->kind == PG_OPERAND_PAIR) {
        op->d = pg_dest(d, &o->elems[0]);
        op->p = pg_dest_pred(d, &o->elems[1]);
    } else {
        op->d = pg_dest(d, o);
    }
}

/* The member mask of a .sync collective; without it the op has no rows. */
static void member_mask(pg_decoder *d, pg_op *op, uint32_t i)
{
    pg_row *rows = pg_operand_present(d, i) ? pg_new_rows(d, 1) : NULL;
    if (!rows)
        return;
    rows[0] = pg_source(d, pg_operand(d, i), PG_T_B32);
    op->rows = rows;
    op->row_count = 1;
}

void pg_decode_shfl(pg_decoder *d, pg_op *op)
{
    result_pair(d, op, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_B32);
    op->b = pg_source(d, pg_operand(d, 2), PG_T_U32);
    op->c = pg_source(d, pg_operand(d, 3), PG_T_U32);
    if (pg_mod(d, PG_F_SYNC))
        member_mask(d, op, 4);
    const unsigned mode = pg_mod(d, PG_F_SHFL);
    op->mode = mode == PG_M_SHFL_UP     ? PG_SHFL_UP
               : mode == PG_M_SHFL_DOWN ? PG_SHFL_DOWN
               : mode == PG_M_SHFL_BFLY ? PG_SHFL_BFLY
                                        : PG_SHFL_IDX;
    op->run = pg_op_shfl;
}

static void vote(pg_decoder *d, pg_op *op)
{
    op->q = pg_source_pred(d, pg_operand(d, 1), &op->q_not);
    if (pg_mod(d, PG_F_SYNC))
        member_mask(d, op, 2);
    op->run = pg_op_vote;
}

void pg_decode_vote(pg_decoder *d, pg_op *op)
{
    const unsigned mode = pg_mod(d, PG_F_VOTE);
    op->mode = mode == PG_M_VOTE_ALL   ? PG_VOTE_ALL
               : mode == PG_M_VOTE_ANY ? PG_VOTE_ANY
                                       : PG_VOTE_UNI;
    op->p = pg_dest_pred(d, pg_operand(d, 0));
    vote(d, op);
}

void pg_decode_vote_ballot(pg_decoder *d, pg_op *op)
{
    op->mode = PG_VOTE_BALLOT;
    op->d = pg_dest(d, pg_operand(d, 0));
    vote(d, op);
}

static void match(pg_decoder *d, pg_op *op, pg_handler narrow, pg_handler wide)
{
    const pg_ptx_type type = pg_type(d, 0);
    result_pair(d, op, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), type);
    member_mask(d, op, 2);
    op->run = pg_ptx_type_bits(type) == 64 ? wide : narrow;
}

void pg_decode_match_any(pg_decoder *d, pg_op *op)
{
    match(d, op, pg_op_match_any_32, pg_op_match_any_64);
}

void pg_decode_match_all(pg_decoder *d, pg_op *op)
{
    match(d, op, pg_op_match_all_32, pg_op_match_all_64);
}

void pg_decode_redux(pg_decoder *d, pg_op *op)
{
    const bool is_signed = pg_type(d, 0) == PG_T_S32;
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    member_mask(d, op, 2);
    switch (pg_mod(d, PG_F_OP)) {
    case PG_M_OP_ADD:
        op->mode = PG_REDUX_ADD;
        break;
    case PG_M_OP_MIN:
        op->mode = is_signed ? PG_REDUX_MIN_S : PG_REDUX_MIN_U;
        break;
    case PG_M_OP_MAX:
        op->mode = is_signed ? PG_REDUX_MAX_S : PG_REDUX_MAX_U;
        break;
    case PG_M_OP_AND:
        op->mode = PG_REDUX_AND;
        break;
    case PG_M_OP_OR:
        op->mode = PG_REDUX_OR;
        break;
    default:
        op->mode = PG_REDUX_XOR;
    }
    op->run = pg_op_redux;
}

void pg_decode_redux_float(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_F32);
    member_mask(d, op, 2);
    op->imm = (pg_mod(d, PG_F_OP) == PG_M_OP_MAX ? PG_REDUX_FLOAT_MAX : 0) |
              (pg_mod(d, PG_F_NAN) ? PG_REDUX_FLOAT_NAN : 0) |
              (pg_mod(d, PG_F_ABS) ? PG_REDUX_FLOAT_ABS : 0);
    op->run = pg_op_redux_float;
}

void pg_decode_elect(pg_decoder *d, pg_op *op)
{
    result_pair(d, op, pg_operand(d, 0));
    member_mask(d, op, 1);
    op->run = pg_op_elect;
}

void pg_decode_activemask(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->run = pg_op_activemask;
}

void pg_decode_bar_warp_sync(pg_decoder *d, pg_op *op)
{
    member_mask(d, op, 0);
    op->run = pg_op_bar_warp_sync;
}

/* ---- barriers of a CTA and of a cluster ---- */

static bool is_named(const pg_decoder *d, const char *mnemonic)
{
    return !strcmp(pg_ptx_op_describe(d->opcode->op)->mnemonic, mnemonic);
}

/* Barrier number at operand `at`, thread count after it. */
static void barrier(pg_decoder *d, pg_op *op, uint32_t at, pg_bar_mode mode)
{
    op->a = pg_source(d, pg_operand(d, at), PG_T_U32);
    if (pg_operand_present(d, at + 1)) {
        op->b = pg_source(d, pg_operand(d, at + 1), PG_T_U32);
        op->imm = PG_BAR_COUNTED;
    }
    if (pg_mod(d, PG_F_ALIGNED) ||
        !strncmp(pg_ptx_op_describe(d->opcode->op)->mnemonic, "bar.", 4) || is_named(d, "bar"))
        op->imm |= PG_BAR_ALIGNED;
    op->mode = (uint8_t)mode;
    op->run = pg_op_bar;
}

void pg_decode_barrier_sync(pg_decoder *d, pg_op *op)
{
    barrier(d, op, 0, PG_BAR_SYNC);
}

void pg_decode_barrier_arrive(pg_decoder *d, pg_op *op)
{
    barrier(d, op, 0, PG_BAR_ARRIVE);
}

void pg_decode_barrier_red(pg_decoder *d, pg_op *op)
{
    const unsigned what = pg_mod(d, PG_F_OP);
    barrier(d, op, 1,
            what == PG_M_OP_POPC  ? PG_BAR_POPC
            : what == PG_M_OP_AND ? PG_BAR_AND
                                  : PG_BAR_OR);
    op->q = pg_source_pred(d, pg_operand(d, 3), &op->q_not);
    if (what == PG_M_OP_POPC)
        op->d = pg_dest(d, pg_operand(d, 0));
    else
        op->p = pg_dest_pred(d, pg_operand(d, 0));
}

/* mode: 1 .relaxed */
void pg_decode_barrier_cluster_arrive(pg_decoder *d, pg_op *op)
{
    op->mode = pg_mod(d, PG_F_SEM) == PG_M_SEM_RELAXED;
    op->imm = pg_mod(d, PG_F_ALIGNED) ? PG_BAR_ALIGNED : 0;
    op->run = pg_op_cluster_arrive;
}

void pg_decode_barrier_cluster_wait(pg_decoder *d, pg_op *op)
{
    op->imm = pg_mod(d, PG_F_ALIGNED) ? PG_BAR_ALIGNED : 0;
    op->run = pg_op_cluster_wait;
}

/* ---- mbarrier ---- */

static void mbarrier(pg_decoder *d, pg_op *op, uint32_t address, pg_handler run)
{
    pg_address(d, op, pg_operand(d, address), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    if (pg_mod(d, PG_F_SEM) == PG_M_SEM_RELAXED)
        op->mode |= PG_MBAR_RELAXED;
    op->run = run;
}

static void mbarrier_row(pg_decoder *d, pg_op *op, uint32_t i, pg_ptx_type type)
{
    pg_row *rows = pg_operand_present(d, i) ? pg_new_rows(d, 1) : NULL;
    if (!rows)
        return;
    rows[0] = pg_source(d, pg_operand(d, i), type);
    op->rows = rows;
    op->row_count = 1;
}

void pg_decode_mbarrier_init(pg_decoder *d, pg_op *op)
{
    mbarrier(d, op, 0, pg_op_mbarrier_init);
    mbarrier_row(d, op, 1, PG_T_U32);
}

void pg_decode_mbarrier_inval(pg_decoder *d, pg_op *op)
{
    mbarrier(d, op, 0, pg_op_mbarrier_inval);
}

void pg_decode_mbarrier_arrive(pg_decoder *d, pg_op *op)
{
    op->mode = (uint8_t)((pg_mod(d, PG_F_EXPECT_TX) ? PG_MBAR_EXPECT_TX : 0) |
                         (is_named(d, "mbarrier.arrive_drop") ? PG_MBAR_DROP : 0) |
                         (pg_mod(d, PG_F_NO_COMPLETE) ? PG_MBAR_NO_COMPLETE : 0));
    mbarrier(d, op, 1, pg_op_mbarrier_arrive);
    mbarrier_row(d, op, 2, PG_T_U32);
    if (pg_operand(d, 0)->kind == PG_OPERAND_REG) {
        op->d = pg_dest(d, pg_operand(d, 0));
        op->mode |= PG_MBAR_RESULT;
    }
}

void pg_decode_mbarrier_expect_tx(pg_decoder *d, pg_op *op)
{
    mbarrier(d, op, 0, pg_op_mbarrier_expect_tx);
    mbarrier_row(d, op, 1, PG_T_U32);
}

void pg_decode_mbarrier_complete_tx(pg_decoder *d, pg_op *op)
{
    mbarrier(d, op, 0, pg_op_mbarrier_complete_tx);
    mbarrier_row(d, op, 1, PG_T_U32);
}

void pg_decode_mbarrier_wait(pg_decoder *d, pg_op *op)
{
    const bool parity = pg_mod(d, PG_F_PARITY) != 0;
    const bool try = is_named(d, "mbarrier.try_wait");
    op->mode = (uint8_t)((parity ? PG_MBAR_PARITY : 0) | (try ? PG_MBAR_TRY : 0));
    op->p = pg_dest_pred(d, pg_operand(d, 0));
    mbarrier(d, op, 1, pg_op_mbarrier_wait);
    mbarrier_row(d, op, 2, parity ? PG_T_U32 : PG_T_B64);
}

void pg_decode_mbarrier_pending_count(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_B64);
    op->run = pg_op_mbarrier_pending_count;
}
