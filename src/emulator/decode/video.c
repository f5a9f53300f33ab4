/* Decoding of video instructions; handlers are in scalar/video.c. */
#include "emulator/decode/families.h"
#include "emulator/scalar/scalar.h"
#include "emulator/scalar/video.h"

static pg_video_op operation(pg_ptx_op op)
{
    switch (op) {
    case PG_OP_VADD:
    case PG_OP_VADD2:
    case PG_OP_VADD4:
        return PG_VIDEO_ADD;
    case PG_OP_VSUB:
    case PG_OP_VSUB2:
    case PG_OP_VSUB4:
        return PG_VIDEO_SUB;
    case PG_OP_VABSDIFF:
    case PG_OP_VABSDIFF2:
    case PG_OP_VABSDIFF4:
        return PG_VIDEO_ABSDIFF;
    case PG_OP_VMIN:
    case PG_OP_VMIN2:
    case PG_OP_VMIN4:
        return PG_VIDEO_MIN;
    case PG_OP_VMAX:
    case PG_OP_VMAX2:
    case PG_OP_VMAX4:
        return PG_VIDEO_MAX;
    case PG_OP_VSHL:
        return PG_VIDEO_SHL;
    case PG_OP_VSHR:
        return PG_VIDEO_SHR;
    case PG_OP_VAVRG2:
    case PG_OP_VAVRG4:
        return PG_VIDEO_AVRG;
    default:
        return PG_VIDEO_SET;
    }
}

static uint32_t selector(const pg_ptx_operand *o)
{
    return o->kind == PG_OPERAND_REG ? (uint32_t)o->value : 0;
}

static pg_video_plan *plan_and_operands(pg_decoder *d, pg_op *op)
{
    pg_video_plan *p = PG_NEW(d->arena, pg_video_plan);
    if (!p)
        return NULL;
    const bool set = pg_mod(d, PG_F_CMP) != 0; /* the first type is that of a */
    const unsigned second = pg_mod(d, PG_F_OP);
    p->op = operation(d->opcode->op);
    p->second = second == PG_M_OP_ADD   ? PG_SECOND_ADD
                : second == PG_M_OP_MIN ? PG_SECOND_MIN
                : second == PG_M_OP_MAX ? PG_SECOND_MAX
                                        : PG_SECOND_NONE;
    p->a_signed = pg_type(d, set ? 0 : 1) == PG_T_S32;
    p->b_signed = pg_type(d, set ? 1 : 2) == PG_T_S32;
    p->d_signed = !set && pg_type(d, 0) == PG_T_S32;
    p->sat = pg_mod(d, PG_F_SAT) != 0;
    p->wrap = pg_mod(d, PG_F_SHIFT) == PG_M_SHIFT_WRAP;
    p->accept = pg_accepted_outcomes(pg_mod(d, PG_F_CMP));
    p->d = selector(pg_operand(d, 0));
    p->a = selector(pg_operand(d, 1));
    p->b = selector(pg_operand(d, 2));
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_B32);
    op->b = pg_source(d, pg_operand(d, 2), PG_T_B32);
    op->c = op->a;
    if (pg_operand_present(d, 3)) {
        p->c = selector(pg_operand(d, 3));
        op->c = pg_source(d, pg_operand(d, 3), PG_T_B32);
    }
    op->extra = p;
    return p;
}

void pg_decode_video(pg_decoder *d, pg_op *op)
{
    if (plan_and_operands(d, op))
        op->run = pg_op_video;
}

void pg_decode_video_mad(pg_decoder *d, pg_op *op)
{
    pg_video_plan *p = plan_and_operands(d, op);
    if (!p)
        return;
    const unsigned shift = pg_mod(d, PG_F_SHIFTED);
    p->plus_one = pg_mod(d, PG_F_PO) != 0;
    p->shift = shift == PG_M_SHIFTED_SHR7 ? 7 : shift == PG_M_SHIFTED_SHR15 ? 15 : 0;
    op->run = pg_op_video_mad;
}

/* A selection of parts as digits; what is not written is the register's own parts, in order. */
static uint32_t selection(uint32_t written, uint32_t standard)
{
    return written >> PG_SELECT_COUNT_SHIFT & 7 ? written & PG_SELECT_DIGITS : standard;
}

void pg_decode_video_parts(pg_decoder *d, pg_op *op)
{
    pg_video_plan *p = plan_and_operands(d, op);
    if (!p)
        return;
    p->parts = d->opcode->op >= PG_OP_VADD4 ? 4 : 2;
    p->a = selection(p->a, p->parts == 4 ? 0x3210 : 0x10);
    p->b = selection(p->b, p->parts == 4 ? 0x7654 : 0x32);
    uint32_t mask = 0;
    for (unsigned i = 0; i < (p->d >> PG_SELECT_COUNT_SHIFT & 7); i++)
        mask |= 1u << (p->d >> 4 * i & 15);
    p->d = mask ? mask : (1u << p->parts) - 1;
    op->run = pg_op_video_parts;
}
