/* Decoding of wmma. */
#include "emulator/decode/families.h"
#include "emulator/matrix/wmma.h"

enum { TF32_STEP = 4 };

static void shape_of(const pg_decoder *d, uint32_t shape[3])
{
    shape[0] = d->opcode->shape_m;
    shape[1] = d->opcode->shape_n;
    shape[2] = d->opcode->shape_k;
}

/* f16 operands have twice the registers that their elements need. */
static uint32_t registers_of(const pg_wmma_fragment *f, pg_ptx_type type)
{
    return f->matrix != PG_WMMA_C && type == PG_T_F16 ? 8 : f->registers;
}

static void matrix_access(pg_decoder *d, pg_op *op, uint32_t vector, pg_handler run)
{
    const pg_ptx_op which = d->opcode->op;
    const pg_ptx_type type = pg_type(d, 0);
    const pg_ptx_operand *registers = pg_operand(d, vector);
    pg_wmma_access *a = PG_NEW(d->arena, pg_wmma_access);
    uint32_t shape[3];
    shape_of(d, shape);
    if (!a)
        return;
    const pg_wmma_matrix matrix =
        which >= PG_OP_WMMA_LOAD_A && which <= PG_OP_WMMA_LOAD_A_BIT   ? PG_WMMA_A
        : which >= PG_OP_WMMA_LOAD_B && which <= PG_OP_WMMA_LOAD_B_BIT ? PG_WMMA_B
                                                                       : PG_WMMA_C;
    a->fragment = pg_wmma_fragment_of(matrix, shape, pg_ptx_type_bits(type));
    a->column_major = pg_mod(d, PG_F_LAYOUT_A) == PG_M_LAYOUT_A_COL;
    const uint32_t count = registers_of(&a->fragment, type);
    const bool packed = a->fragment.elem_bits < 8; /* k must be the fast index */
    if (!a->fragment.registers || pg_vector_length(registers) != count ||
        (packed && a->column_major != (matrix == PG_WMMA_B)))
        return;
    pg_row *rows = pg_new_rows(d, count);
    if (!rows)
        return;
    pg_vector_sources(d, registers, type == PG_T_F64 ? PG_T_F64 : PG_T_B32, rows);
    op->rows = rows;
    op->row_count = (uint16_t)count;
    pg_address(d, op, pg_operand(d, 1 - vector), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    /* The stride when it is left out: that of a matrix without gaps. */
    const uint32_t rows_of = matrix == PG_WMMA_B ? shape[2] : shape[0],
                   columns = matrix == PG_WMMA_A ? shape[2] : shape[1];
    op->b = pg_operand_present(d, 2) ? pg_source(d, pg_operand(d, 2), PG_T_B32)
                                     : pg_const_u32(d, a->column_major ? rows_of : columns);
    op->extra = a;
    op->run = run;
}

void pg_decode_wmma_load(pg_decoder *d, pg_op *op)
{
    matrix_access(d, op, 0, pg_op_wmma_load);
}

void pg_decode_wmma_store(pg_decoder *d, pg_op *op)
{
    matrix_access(d, op, 1, pg_op_wmma_store);
}

/* ---- wmma.mma ---- */

/* D, A, B, C of `counts` registers each. */
static bool four_vectors(pg_decoder *d, pg_op *op, const uint32_t counts[4], pg_ptx_type type)
{
    pg_row *rows = pg_new_rows(d, counts[0] + counts[1] + counts[2] + counts[3]);
    op->rows = rows;
    for (uint32_t i = 0; i < 4 && rows; i++) {
        if (pg_vector_length(pg_operand(d, i)) != counts[i])
            return false;
        pg_vector_sources(d, pg_operand(d, i), type, rows);
        rows += counts[i];
    }
    op->row_count = (uint16_t)(counts[0] + counts[1] + counts[2] + counts[3]);
    return rows != NULL;
}

/* f64, 4 bits and 1 bit: mma.sync by another name. */
static void small_product(pg_decoder *d, pg_op *op)
{
    pg_mma_plan *p = PG_NEW(d->arena, pg_mma_plan);
    const bool f64 = pg_type(d, 1) == PG_T_F64;
    if (!p || (!pg_mma_tile_of(d, &p->tile) && !f64) || pg_mod(d, PG_F_ROUND) > PG_M_ROUND_RN)
        return;
    p->shape = pg_mma_sync_find(p->tile.m, p->tile.n, p->tile.k, pg_ptx_type_bits(pg_type(d, 1)));
    p->c_regs = 2;
    p->b_regs = 1;
    const uint32_t counts[4] = {2, 1, 1, 2};
    if (!p->shape || !four_vectors(d, op, counts, f64 ? PG_T_F64 : PG_T_B32))
        return;
    op->extra = p;
    op->run = pg_op_mma;
}

void pg_decode_wmma_mma(pg_decoder *d, pg_op *op)
{
    const bool half = d->opcode->op == PG_OP_WMMA_MMA_F16; /* names the types of D and C only */
    const pg_ptx_type operand = half ? PG_T_F16 : pg_type(d, 1);
    uint32_t shape[3];
    shape_of(d, shape);
    if (shape[0] == 8 && shape[1] == 8) {
        small_product(d, op);
        return;
    }
    pg_wmma_plan *p = PG_NEW(d->arena, pg_wmma_plan);
    if (!p || (!half && !pg_mma_tile_of(d, &p->tile)))
        return;
    if (half) {
        if (pg_type(d, 0) != pg_type(d, 1) || pg_mod(d, PG_F_SATFINITE))
            return;
        p->tile = (pg_mma_tile){.a_type = PG_MMA_F16,
                                .b_type = PG_MMA_F16,
                                .m = shape[0],
                                .n = shape[1],
                                .k = shape[2]};
        p->tile.result = pg_type(d, 0) == PG_T_F16 ? PG_MMA_D_F16 : PG_MMA_D_F32;
    }
    if (operand == PG_T_TF32) /* on Hopper two multiplications, each with a rounding of its own */
        p->tile.k = TF32_STEP;
    const uint32_t bits = pg_ptx_type_bits(operand);
    p->a = pg_wmma_fragment_of(PG_WMMA_A, shape, bits);
    p->b = pg_wmma_fragment_of(PG_WMMA_B, shape, bits);
    p->c = pg_wmma_fragment_of(PG_WMMA_C, shape, pg_ptx_type_bits(pg_type(d, 0)));
    p->a.registers = registers_of(&p->a, operand);
    p->b.registers = registers_of(&p->b, operand);
    const uint32_t counts[4] = {p->c.registers, p->a.registers, p->b.registers, p->c.registers};
    if (!four_vectors(d, op, counts, PG_T_B32))
        return;
    op->extra = p;
    op->run = pg_op_wmma;
}
