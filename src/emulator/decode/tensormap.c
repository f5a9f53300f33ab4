/* Decoding of tensormap.replace and tensormap.cp_fenceproxy. */
#include "emulator/decode/families.h"
#include "emulator/copy/tensormap_op.h"

static bool field_of(unsigned modifier, pg_tensor_field *out)
{
    static const struct {
        uint16_t modifier;
        uint8_t field;
    } fields[] = {{PG_M_MAP_FIELD_GLOBAL_ADDRESS, PG_FIELD_ADDRESS},
                  {PG_M_MAP_FIELD_RANK, PG_FIELD_RANK},
                  {PG_M_MAP_FIELD_BOX_DIM, PG_FIELD_BOX_DIM},
                  {PG_M_MAP_FIELD_GLOBAL_DIM, PG_FIELD_GLOBAL_DIM},
                  {PG_M_MAP_FIELD_GLOBAL_STRIDE, PG_FIELD_GLOBAL_STRIDE},
                  {PG_M_MAP_FIELD_ELEMENT_STRIDE, PG_FIELD_ELEMENT_STRIDE},
                  {PG_M_MAP_FIELD_ELEMTYPE, PG_FIELD_TYPE},
                  {PG_M_MAP_FIELD_INTERLEAVE_LAYOUT, PG_FIELD_INTERLEAVE},
                  {PG_M_MAP_FIELD_SWIZZLE_MODE, PG_FIELD_SWIZZLE},
                  {PG_M_MAP_FIELD_FILL_MODE, PG_FIELD_FILL}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].modifier == modifier) {
            *out = (pg_tensor_field)fields[i].field;
            return true;
        }
    return false;
}

void pg_decode_tensormap_replace(pg_decoder *d, pg_op *op)
{
    pg_tensormap_plan *p = PG_NEW(d->arena, pg_tensormap_plan);
    if (!p || !field_of(pg_mod(d, PG_F_MAP_FIELD), &p->field))
        return;
    const bool indexed = pg_operand_present(d, 2);
    const pg_ptx_operand *value = pg_operand(d, indexed ? 2 : 1);
    if (indexed)
        p->index = (uint32_t)pg_immediate(d, pg_operand(d, 1));
    p->wide = pg_ptx_type_bits(pg_type(d, 1)) == 64;
    p->value = pg_source(d, value, p->wide ? PG_T_B64 : PG_T_B32);
    pg_address(d, op, pg_operand(d, 0), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    op->extra = p;
    op->run = pg_op_tensormap_replace;
}

void pg_decode_tensormap_cp_fenceproxy(pg_decoder *d, pg_op *op)
{
    pg_op *source = PG_NEW(d->arena, pg_op);
    if (!source || pg_immediate(d, pg_operand(d, 2)) != PG_TENSOR_MAP_BYTES)
        return;
    pg_address(d, source, pg_operand(d, 1), PG_MEM_SHARED);
    pg_address(d, op, pg_operand(d, 0), PG_MEM_GLOBAL);
    op->flags |= PG_ACCESS_RELEASE;
    op->extra = source;
    op->run = pg_op_tensormap_copy;
}
