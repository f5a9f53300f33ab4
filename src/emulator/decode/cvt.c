/* Decoding of cvt: types and modifiers become a plan (cvt_op.h). */
#include "emulator/scalar/cvt_op.h"
#include "emulator/decode/decode.h"
#include "emulator/decode/families.h"

/* Float types, and how a packed type is made of them. */
typedef struct packed_type {
    uint8_t type; /* pg_ptx_type */
    uint8_t count, width;
    pg_format_id format;
} packed_type;

static const packed_type packed_types[] = {
    {PG_T_F16, 1, 16, PG_FMT_F16},      {PG_T_BF16, 1, 16, PG_FMT_BF16},
    {PG_T_F32, 1, 32, PG_FMT_F32},      {PG_T_F64, 1, 64, PG_FMT_F64},
    {PG_T_TF32, 1, 32, PG_FMT_TF32},    {PG_T_F16X2, 2, 16, PG_FMT_F16},
    {PG_T_BF16X2, 2, 16, PG_FMT_BF16},  {PG_T_E4M3X2, 2, 8, PG_FMT_E4M3},
    {PG_T_E5M2X2, 2, 8, PG_FMT_E5M2},   {PG_T_E2M3X2, 2, 8, PG_FMT_E2M3},
    {PG_T_E3M2X2, 2, 8, PG_FMT_E3M2},   {PG_T_E2M1X2, 2, 4, PG_FMT_E2M1},
    {PG_T_UE8M0X2, 2, 8, PG_FMT_UE8M0}, {PG_T_E4M3X4, 4, 8, PG_FMT_E4M3},
    {PG_T_E5M2X4, 4, 8, PG_FMT_E5M2},   {PG_T_E2M3X4, 4, 8, PG_FMT_E2M3},
    {PG_T_E3M2X4, 4, 8, PG_FMT_E3M2},   {PG_T_E2M1X4, 4, 4, PG_FMT_E2M1},
};

static const packed_type *find_type(pg_ptx_type type)
{
    for (size_t i = 0; i < sizeof packed_types / sizeof packed_types[0]; i++)
        if (packed_types[i].type == type)
            return &packed_types[i];
    return NULL;
}

static bool scalar_of(pg_ptx_type type, pg_scalar *s)
{
    const pg_ptx_type_class class = pg_ptx_type_class_of(type);
    *s = (pg_scalar){.is_float = class == PG_CLASS_FLOAT,
                     .is_signed = class == PG_CLASS_SIGNED,
                     .bits = (uint8_t)pg_ptx_type_bits(type)};
    if (!s->is_float)
        return class == PG_CLASS_SIGNED || class == PG_CLASS_UNSIGNED;
    const packed_type *t = find_type(type);
    if (!t)
        return false;
    s->format = t->format;
    return true;
}

typedef struct rounding {
    uint16_t modifier;
    pg_round round;
    bool integral;
} rounding;

static const rounding roundings[] = {
    {PG_M_NONE, PG_ROUND_RN, false},     {PG_M_ROUND_RN, PG_ROUND_RN, false},
    {PG_M_ROUND_RZ, PG_ROUND_RZ, false}, {PG_M_ROUND_RM, PG_ROUND_RM, false},
    {PG_M_ROUND_RP, PG_ROUND_RP, false}, {PG_M_ROUND_RNA, PG_ROUND_RNA, false},
    {PG_M_ROUND_RS, PG_ROUND_RS, false}, {PG_M_ROUND_RNI, PG_ROUND_RN, true},
    {PG_M_ROUND_RZI, PG_ROUND_RZ, true}, {PG_M_ROUND_RMI, PG_ROUND_RM, true},
    {PG_M_ROUND_RPI, PG_ROUND_RP, true},
};

static rounding rounding_of(const pg_decoder *d)
{
    for (size_t i = 0; i < sizeof roundings / sizeof roundings[0]; i++)
        if (roundings[i].modifier == pg_mod(d, PG_F_ROUND))
            return roundings[i];
    return roundings[0];
}

static void scalar_conversion(pg_decoder *d, pg_op *op)
{
    pg_cvt_plan *p = PG_NEW(d->arena, pg_cvt_plan);
    if (!p || !scalar_of(pg_type(d, 0), &p->to) || !scalar_of(pg_type(d, 1), &p->from))
        return;
    const rounding r = rounding_of(d);
    p->mode = (pg_convert_mode){.round = r.round,
                                .to_integral = r.integral,
                                .ftz = pg_mod(d, PG_F_FTZ) != 0,
                                .sat = pg_mod(d, PG_F_SAT) != 0,
                                .satfinite = pg_mod(d, PG_F_SATFINITE) != 0,
                                .relu = pg_mod(d, PG_F_RELU) != 0};
    p->to_lane_bytes = (uint8_t)pg_operand_lane_bytes(d, pg_operand(d, 0), pg_type(d, 0));
    p->from_lane_bytes = (uint8_t)pg_operand_lane_bytes(d, pg_operand(d, 1), pg_type(d, 1));
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 1));
    op->extra = p;
    op->run = pg_cvt_handler(p);
}

void pg_decode_cvt_int(pg_decoder *d, pg_op *op)
{
    scalar_conversion(d, op);
}

void pg_decode_cvt_float_to_int(pg_decoder *d, pg_op *op)
{
    scalar_conversion(d, op);
}

void pg_decode_cvt_int_to_float(pg_decoder *d, pg_op *op)
{
    scalar_conversion(d, op);
}

void pg_decode_cvt_float(pg_decoder *d, pg_op *op)
{
    scalar_conversion(d, op);
}

void pg_decode_cvt_tf32(pg_decoder *d, pg_op *op)
{
    scalar_conversion(d, op);
}

static pg_cvt_packed_plan *packed_plan(pg_decoder *d, pg_op *op)
{
    const packed_type *to = find_type(pg_type(d, 0)), *from = find_type(pg_type(d, 1));
    pg_cvt_packed_plan *p = PG_NEW(d->arena, pg_cvt_packed_plan);
    if (!to || !from || !p)
        return NULL;
    *p = (pg_cvt_packed_plan){.to = to->format,
                              .from = from->format,
                              .count = to->count,
                              .to_width = to->width,
                              .from_width = from->width,
                              .packed_source = from->count > 1};
    p->mode = (pg_encode_mode){.round = rounding_of(d).round,
                               .satfinite = pg_mod(d, PG_F_SATFINITE) != 0,
                               .relu = pg_mod(d, PG_F_RELU) != 0};
    p->random = p->mode.round == PG_ROUND_RS;
    p->to_lane_bytes = (uint8_t)pg_operand_lane_bytes(d, pg_operand(d, 0), pg_type(d, 0));
    p->from_lane_bytes = (uint8_t)pg_operand_lane_bytes(d, pg_operand(d, 1), pg_type(d, 1));
    op->d = pg_dest(d, pg_operand(d, 0));
    op->extra = p;
    op->run = pg_op_cvt_packed;
    return p;
}

/* The f32 sources; the first operand becomes the highest element. */
static void element_sources(pg_decoder *d, pg_op *op, uint32_t count)
{
    const pg_ptx_operand *first = pg_operand(d, 1);
    const bool vector = first->kind == PG_OPERAND_VECTOR;
    pg_row *rows = pg_new_rows(d, count);
    if (!rows || (vector && first->n_elems != count))
        return;
    for (uint32_t i = 0; i < count; i++)
        rows[count - 1 - i] =
            pg_source(d, vector ? &first->elems[i] : pg_operand(d, 1 + i), PG_T_F32);
    op->rows = rows;
    op->row_count = (uint16_t)count;
}

void pg_decode_cvt_pack_float(pg_decoder *d, pg_op *op)
{
    const pg_cvt_packed_plan *p = packed_plan(d, op);
    if (!p)
        return;
    if (p->packed_source)
        op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 1));
    else
        element_sources(d, op, p->count);
    if (p->random)
        op->b = pg_source(d, pg_operand(d, p->count == 2 ? 3 : 2), PG_T_B32);
}

void pg_decode_cvt_unpack_float(pg_decoder *d, pg_op *op)
{
    if (packed_plan(d, op))
        op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 1));
}

void pg_decode_cvt_pack(pg_decoder *d, pg_op *op)
{
    pg_cvt_int_pack_plan *p = PG_NEW(d->arena, pg_cvt_int_pack_plan);
    if (!p)
        return;
    p->is_signed = pg_ptx_type_class_of(pg_type(d, 0)) == PG_CLASS_SIGNED;
    p->bits = (uint8_t)pg_ptx_type_bits(pg_type(d, 0));
    p->has_c = pg_operand_present(d, 3);
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_S32);
    op->b = pg_source(d, pg_operand(d, 2), PG_T_S32);
    if (p->has_c)
        op->c = pg_source(d, pg_operand(d, 3), PG_T_B32);
    op->extra = p;
    op->run = pg_op_cvt_int_pack;
}
