/* Decoding of mov, cvta, isspacep, mapa, getctarank and createpolicy; handlers are in
 * scalar/move.c. */
#include "emulator/decode/families.h"
#include "emulator/scalar/scalar.h"

static pg_handler mov_handler(unsigned bytes)
{
    return bytes == 2   ? pg_op_mov_16
           : bytes == 4 ? pg_op_mov_32
           : bytes == 8 ? pg_op_mov_64
                        : pg_op_mov_128;
}

static void variable_address(pg_decoder *d, pg_op *op, const pg_ptx_operand *o, bool generic)
{
    const pg_place place = pg_variable_place(d, o->index);
    op->imm = place.address + o->value;
    op->space = (uint8_t)place.space;
    op->flags = place.in_frame ? PG_ACCESS_FRAME : 0;
    op->mode = (uint8_t)((generic ? 1 : 0) |
                         (pg_operand_lane_bytes(d, pg_operand(d, 0), PG_T_U64) == 4 ? 2 : 0));
    op->run = pg_op_mov_address;
}

static bool is_clock(uint32_t special, uint8_t *mode)
{
    switch (special) {
    case PG_SPECIAL_CLOCK:
    case PG_SPECIAL_GLOBALTIMER_LO:
        *mode = 0;
        return true;
    case PG_SPECIAL_CLOCK_HI:
    case PG_SPECIAL_GLOBALTIMER_HI:
        *mode = 1;
        return true;
    case PG_SPECIAL_CLOCK64:
    case PG_SPECIAL_GLOBALTIMER:
        *mode = 2;
        return true;
    default:
        return false;
    }
}

void pg_decode_mov(pg_decoder *d, pg_op *op)
{
    const pg_ptx_type type = pg_type(d, 0);
    const pg_ptx_operand *from = pg_operand(d, 1);
    if (type == PG_T_PRED && from->kind == PG_OPERAND_SPECIAL) {
        op->p = pg_dest_pred(d, pg_operand(d, 0));
        op->run = pg_op_mov_explicit_cluster;
        return;
    }
    if (type == PG_T_PRED) {
        pg_decode_pred_logic(d, op, PG_ALU_MOV);
        return;
    }
    op->d = pg_dest(d, pg_operand(d, 0));
    if (from->kind == PG_OPERAND_VAR) {
        variable_address(d, op, from, false);
        return;
    }
    if (from->kind == PG_OPERAND_SPECIAL && is_clock(from->index, &op->mode)) {
        op->run = pg_op_mov_clock;
        return;
    }
    op->a = from->kind == PG_OPERAND_FUNC
                ? pg_const_u64(d, pg_function_address(pg_function_behind(d->module, from->index)))
                : pg_source(d, from, type);
    op->run = mov_handler(pg_lane_bytes(type));
}

static pg_ptx_type bits_type(unsigned bytes)
{
    return bytes == 1 ? PG_T_B8 : bytes == 2 ? PG_T_B16 : bytes == 4 ? PG_T_B32 : PG_T_B64;
}

/* Parts of the whole: rows, count, size, and in mode the bytes of a part's lane. */
static bool parts(pg_decoder *d, pg_op *op, const pg_ptx_operand *vector, bool destination)
{
    const unsigned whole = pg_ptx_type_bits(pg_type(d, 0)) / 8;
    pg_row *rows = pg_new_rows(d, vector->n_elems);
    op->count = (uint8_t)vector->n_elems;
    op->size = (uint8_t)(vector->n_elems ? whole / vector->n_elems : 0);
    op->lane_bytes = (uint8_t)pg_lane_bytes(pg_type(d, 0));
    op->mode = (uint8_t)pg_lane_bytes(bits_type(op->size));
    op->rows = rows;
    op->row_count = (uint16_t)vector->n_elems;
    if (!rows || !op->size)
        return false;
    for (uint32_t i = 0; i < vector->n_elems; i++) {
        const pg_ptx_operand *e = &vector->elems[i];
        if (e->kind == PG_OPERAND_REG && pg_operand_lane_bytes(d, e, PG_T_B16) != op->mode) {
            pg_decode_fail(d, "vector element %u has another width than its part", i);
            return false;
        }
        rows[i] = destination ? pg_dest(d, e) : pg_source(d, e, bits_type(op->size));
    }
    return true;
}

void pg_decode_mov_pack(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    if (parts(d, op, pg_operand(d, 1), false))
        op->run = op->count == 2 && op->size == 4 ? pg_op_pack_32_64 : pg_op_mov_pack;
}

void pg_decode_mov_unpack(pg_decoder *d, pg_op *op)
{
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    if (parts(d, op, pg_operand(d, 0), true))
        op->run = op->count == 2 && op->size == 4 ? pg_op_unpack_64_32 : pg_op_mov_unpack;
}

void pg_decode_mov_vector(pg_decoder *d, pg_op *op)
{
    const pg_ptx_operand *to = pg_operand(d, 0), *from = pg_operand(d, 1);
    const uint32_t n = to->n_elems;
    pg_row *rows = pg_new_rows(d, 2 * n);
    if (!rows || n > 4)
        return;
    for (uint32_t i = 0; i < n; i++)
        rows[i] = pg_dest(d, &to->elems[i]);
    pg_vector_sources(d, from, pg_type(d, 0), rows + n);
    op->rows = rows;
    op->row_count = (uint16_t)(2 * n);
    op->count = (uint8_t)n;
    op->lane_bytes = (uint8_t)pg_lane_bytes(pg_type(d, 0));
    op->run = pg_op_mov_vector;
}

void pg_decode_cvta(pg_decoder *d, pg_op *op)
{
    const pg_space space = pg_space_of_modifier(pg_mod(d, PG_F_SPACE));
    const pg_ptx_operand *from = pg_operand(d, 1);
    const bool windowed =
        space == PG_MEM_SHARED || space == PG_MEM_CLUSTER || space == PG_MEM_LOCAL;
    op->d = pg_dest(d, pg_operand(d, 0));
    if (from->kind == PG_OPERAND_VAR) {
        variable_address(d, op, from, pg_mod(d, PG_F_TO) == 0);
        return;
    }
    op->a = pg_source(d, from, pg_type(d, 0));
    op->imm = space == PG_MEM_LOCAL ? PG_WINDOW_LOCAL : PG_WINDOW_SHARED;
    if (pg_type(d, 0) == PG_T_U32)
        op->run = pg_op_mov_32;
    else if (space == PG_MEM_PARAM)
        op->run = pg_mod(d, PG_F_TO) ? pg_op_drop_params : pg_op_add_params;
    else
        op->run = !windowed            ? pg_op_mov_64
                  : pg_mod(d, PG_F_TO) ? pg_op_drop_window
                                       : pg_op_add_window;
}

void pg_decode_isspacep(pg_decoder *d, pg_op *op)
{
    op->p = pg_dest_pred(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_U64);
    op->space = (uint8_t)pg_space_of_modifier(pg_mod(d, PG_F_SPACE));
    op->run = pg_operand_lane_bytes(d, pg_operand(d, 1), PG_T_U64) == 8 ? pg_op_isspacep : NULL;
}

void pg_decode_mapa(pg_decoder *d, pg_op *op)
{
    const pg_ptx_operand *from = pg_operand(d, 1);
    op->d = pg_dest(d, pg_operand(d, 0));
    op->b = pg_source(d, pg_operand(d, 2), PG_T_U32);
    if (from->kind == PG_OPERAND_VAR) {
        op->imm = pg_variable_place(d, from->index).address + from->value;
        op->mode = pg_mod(d, PG_F_SPACE) == 0;
        op->lane_bytes = (uint8_t)pg_lane_bytes(pg_type(d, 0));
        op->run = pg_op_mapa_variable;
        return;
    }
    op->a = pg_source(d, from, pg_type(d, 0));
    op->run = pg_type(d, 0) == PG_T_U32 ? pg_op_mapa_32 : pg_op_mapa_64;
}

void pg_decode_getctarank(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    op->run = pg_type(d, 0) == PG_T_U32 ? pg_op_rank_32 : pg_op_rank_64;
}

/* A policy is only a hint: any value does. */
void pg_decode_createpolicy(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_const_u64(d, 0);
    op->run = pg_op_mov_64;
}
