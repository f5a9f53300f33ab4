/* Decoding of wgmma, mma.sync and the 8 x 8 matrix moves. */
#include "emulator/decode/decode.h"
#include "emulator/decode/families.h"
#include "emulator/matrix/mma_op.h"
#include "emulator/matrix/wgmma_op.h"

#include <string.h>

static bool element_type(pg_ptx_type type, pg_mma_type *out)
{
    static const struct {
        uint8_t ptx, mma;
    } types[] = {{PG_T_F16, PG_MMA_F16},   {PG_T_BF16, PG_MMA_BF16}, {PG_T_TF32, PG_MMA_TF32},
                 {PG_T_E4M3, PG_MMA_E4M3}, {PG_T_E5M2, PG_MMA_E5M2}, {PG_T_S8, PG_MMA_S8},
                 {PG_T_U8, PG_MMA_U8},     {PG_T_S4, PG_MMA_S8},     {PG_T_U4, PG_MMA_U8},
                 {PG_T_B1, PG_MMA_B1}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].ptx == type) {
            *out = (pg_mma_type)types[i].mma;
            return true;
        }
    return false;
}

bool pg_mma_tile_of(const pg_decoder *d, pg_mma_tile *t)
{
    const pg_ptx_type result = pg_type(d, 0);
    *t = (pg_mma_tile){.m = d->opcode->shape_m, .n = d->opcode->shape_n, .k = d->opcode->shape_k};
    t->result = result == PG_T_F16   ? PG_MMA_D_F16
                : result == PG_T_S32 ? PG_MMA_D_S32
                                     : PG_MMA_D_F32;
    t->saturate = pg_mod(d, PG_F_SATFINITE) != 0;
    t->xor_popc = pg_mod(d, PG_F_OP) == PG_M_OP_XOR;
    return element_type(pg_type(d, 1), &t->a_type) && element_type(pg_type(d, 2), &t->b_type);
}

/* Operands `at` and `at` + 1 of an instruction with a sparse A: a register with indices and the
 * selector, which says which lanes give theirs where not all are needed (sparse.h). */
static void sparse_operands(pg_decoder *d, uint32_t at, pg_row *indices, uint32_t *selector)
{
    *indices = pg_source(d, pg_operand(d, at), PG_T_B32);
    *selector = (uint32_t)pg_immediate(d, pg_operand(d, at + 1));
}

/* ---- wgmma ---- */

/* The immediates after scale-d: scale-a, scale-b, then the transposes of the operands in shared
 * memory. */
static void wgmma_immediates(pg_decoder *d, pg_wgmma_plan *p)
{
    const uint32_t first = p->sparse ? 6 : 4;
    uint64_t imm[4] = {1, 1, 0, 0};
    uint32_t count = 0;
    for (uint32_t i = first; i < first + 4 && pg_operand_present(d, i); i++)
        imm[count++] = pg_immediate(d, pg_operand(d, i));
    p->tile.negate_a = (int64_t)imm[0] < 0;
    p->tile.negate_b = (int64_t)imm[1] < 0;
    p->a_shape.mn_major = !p->a_in_registers && imm[2] != 0;
    p->b_shape.mn_major = imm[p->a_in_registers ? 2 : 3] != 0;
}

void pg_decode_wgmma(pg_decoder *d, pg_op *op)
{
    pg_wgmma_plan *p = PG_NEW(d->arena, pg_wgmma_plan);
    if (!p || !pg_mma_tile_of(d, &p->tile))
        return;
    const pg_ptx_operand *a = pg_operand(d, 1);
    const pg_mma_type_info *type = &pg_mma_types[p->tile.a_type];
    p->tile.low_precision_fp8 = true;
    p->a_in_registers = a->kind == PG_OPERAND_VECTOR;
    p->d_regs = p->tile.n / (p->tile.result == PG_MMA_D_F16 ? 4 : 2);
    p->sparse = !strcmp(pg_ptx_op_describe(d->opcode->op)->mnemonic, "wgmma.mma_async.sp");
    p->a_shape = (pg_matrix_shape){
        .rows = 64, .depth = p->tile.k / (p->sparse ? 2 : 1), .elem_bits = type->bits};
    p->b_shape = (pg_matrix_shape){.rows = p->tile.n, .depth = p->tile.k, .elem_bits = type->bits};
    if (p->tile.m != 64 || p->tile.n > PG_MMA_MAX_N || p->tile.n % 8 ||
        p->a_shape.depth != type->wgmma_k || pg_vector_length(pg_operand(d, 0)) != p->d_regs ||
        (p->a_in_registers && a->n_elems != 4))
        return;
    pg_row *rows = pg_new_rows(d, p->d_regs + 4 + 1);
    if (!rows)
        return;
    uint32_t count = p->d_regs;
    pg_vector_sources(d, pg_operand(d, 0), PG_T_B32, rows);
    if (p->a_in_registers) {
        pg_vector_sources(d, a, PG_T_B32, rows + count);
        count += 4;
    } else {
        p->a = pg_source(d, a, PG_T_B64);
    }
    p->b = pg_source(d, pg_operand(d, 2), PG_T_B64);
    if (p->sparse)
        sparse_operands(d, 3, rows + count++, &p->selector);
    op->p = pg_source_pred(d, pg_operand(d, p->sparse ? 5 : 3), &op->p_not);
    wgmma_immediates(d, p);
    op->rows = rows;
    op->row_count = (uint16_t)count;
    op->extra = p;
    op->run = pg_op_wgmma;
}

void pg_decode_wgmma_fence(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = pg_op_wgmma_fence;
}

void pg_decode_wgmma_commit(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = pg_op_wgmma_commit;
}

void pg_decode_wgmma_wait(pg_decoder *d, pg_op *op)
{
    op->imm = pg_immediate(d, pg_operand(d, 0));
    op->run = pg_op_wgmma_wait;
}

/* ---- mma.sync ---- */

void pg_decode_mma(pg_decoder *d, pg_op *op)
{
    pg_mma_plan *p = PG_NEW(d->arena, pg_mma_plan);
    const bool f64 = pg_type(d, 1) == PG_T_F64;
    if (!p || (!pg_mma_tile_of(d, &p->tile) && !f64) || pg_type(d, 0) != pg_type(d, 3))
        return;
    const uint32_t bits = pg_ptx_type_bits(pg_type(d, 1));
    p->sparse = pg_operand_present(d, 4);
    p->shape = pg_mma_sync_find(p->tile.m, p->tile.n, p->tile.k / (p->sparse ? 2 : 1), bits);
    if (!p->shape || pg_mod(d, PG_F_LAYOUT_A) != PG_M_LAYOUT_A_ROW ||
        pg_mod(d, PG_F_LAYOUT_B) != PG_M_LAYOUT_B_COL)
        return;
    if (pg_mod(d, PG_F_ROUND) > PG_M_ROUND_RN) /* f64 in another rounding mode */
        return;
    p->c_regs = p->shape->m / (p->tile.result == PG_MMA_D_F16 ? 8 : 4);
    p->b_regs = p->shape->b_regs * (p->sparse ? 2 : 1);
    const uint32_t counts[4] = {p->c_regs, p->shape->a_regs, p->b_regs, p->c_regs};
    pg_row *rows = pg_new_rows(d, counts[0] + counts[1] + counts[2] + counts[3]);
    op->rows = rows;
    if (p->sparse)
        sparse_operands(d, 4, &op->a, &p->selector);
    for (uint32_t i = 0; i < 4 && rows; i++) {
        if (pg_vector_length(pg_operand(d, i)) != counts[i])
            return;
        pg_vector_sources(d, pg_operand(d, i), f64 ? PG_T_F64 : PG_T_B32, rows);
        rows += counts[i];
    }
    if (!rows)
        return;
    op->row_count = (uint16_t)(rows - op->rows);
    op->extra = p;
    op->run = pg_op_mma;
}

void pg_decode_mma_quad(pg_decoder *d, pg_op *op)
{
    pg_mma_quad_plan *p = PG_NEW(d->arena, pg_mma_quad_plan);
    if (!p)
        return;
    p->a_row = pg_mod(d, PG_F_LAYOUT_A) == PG_M_LAYOUT_A_ROW;
    p->b_row = pg_mod(d, PG_F_LAYOUT_B) == PG_M_LAYOUT_B_ROW;
    p->d_single = pg_type(d, 0) == PG_T_F32;
    p->c_single = pg_type(d, 3) == PG_T_F32;
    p->d_regs = p->d_single ? 8 : 4;
    const uint32_t counts[4] = {p->d_regs, 2, 2, p->c_single ? 8 : 4};
    pg_row *rows = pg_new_rows(d, PG_QUAD_ROWS);
    op->rows = rows;
    for (uint32_t i = 0; i < 4 && rows; i++) {
        if (pg_vector_length(pg_operand(d, i)) != counts[i])
            return;
        pg_vector_sources(d, pg_operand(d, i), PG_T_B32, rows);
        rows += counts[i];
        op->row_count = (uint16_t)(op->row_count + counts[i]);
    }
    op->extra = p;
    op->run = rows ? pg_op_mma_quad : NULL;
}

/* ---- 8 x 8 matrices ---- */

static void matrix_move(pg_decoder *d, pg_op *op, uint32_t vector, uint32_t address)
{
    const uint32_t count = pg_vector_length(pg_operand(d, vector));
    pg_row *rows = pg_new_rows(d, count);
    if (!rows || d->opcode->shape_m != 8 || d->opcode->shape_n != 8 || pg_type(d, 0) != PG_T_B16 ||
        count > 4)
        return;
    pg_vector_sources(d, pg_operand(d, vector), PG_T_B32, rows);
    pg_address(d, op, pg_operand(d, address), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    op->rows = rows;
    op->row_count = (uint16_t)count;
    op->size = 16;
    op->count = 1;
    op->mode = pg_mod(d, PG_F_TRANS) != 0;
    op->run = vector == 0 ? pg_op_ldmatrix : pg_op_stmatrix;
}

void pg_decode_ldmatrix(pg_decoder *d, pg_op *op)
{
    matrix_move(d, op, 0, 1);
}

void pg_decode_stmatrix(pg_decoder *d, pg_op *op)
{
    matrix_move(d, op, 1, 0);
}

void pg_decode_movmatrix(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_B32);
    if (d->opcode->shape_m == 8 && d->opcode->shape_n == 8)
        op->run = pg_op_movmatrix;
}
