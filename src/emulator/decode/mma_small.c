/* Decoding of mma.sync of floats of 8, 6 and 4 bits by kind. */
#include "emulator/decode/decode.h"
#include "emulator/decode/families.h"
#include "emulator/tensor/mma_small.h"

static bool format_of(pg_ptx_type type, pg_format_id *out)
{
    static const struct {
        uint8_t ptx, format;
    } formats[] = {{PG_T_E4M3, PG_FMT_E4M3},
                   {PG_T_E5M2, PG_FMT_E5M2},
                   {PG_T_E2M3, PG_FMT_E2M3},
                   {PG_T_E3M2, PG_FMT_E3M2},
                   {PG_T_E2M1, PG_FMT_E2M1}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].ptx == type) {
            *out = (pg_format_id)formats[i].format;
            return true;
        }
    return false;
}

static uint32_t scale_block(const pg_decoder *d)
{
    if (!pg_mod(d, PG_F_BLOCK_SCALE))
        return 0;
    return pg_mod(d, PG_F_SCALE_VEC) == PG_M_SCALE_VEC_V4 ? 16 : 32;
}

static bool describe(const pg_decoder *d, pg_mma_small_plan *p)
{
    const bool packed = d->opcode->shape_k == 64;
    p->tile = (pg_tcgen05_tile){.m = d->opcode->shape_m,
                                .n = d->opcode->shape_n,
                                .k = d->opcode->shape_k,
                                .result = pg_type(d, 0) == PG_T_F16 ? PG_MMA_D_F16 : PG_MMA_D_F32,
                                .scale_block = scale_block(d),
                                .scale_type =
                                    pg_type(d, 4) == PG_T_UE4M3 ? PG_SCALE_UE4M3 : PG_SCALE_UE8M0};
    p->shape = pg_mma_sync_find(p->tile.m, p->tile.n, p->tile.k, packed ? 4 : 8);
    p->c_regs = p->tile.result == PG_MMA_D_F16 ? 2 : 4;
    return p->shape && format_of(pg_type(d, 1), &p->tile.a_format) &&
           format_of(pg_type(d, 2), &p->tile.b_format);
}

/* D, A, B, C; the scales of A, {byte, lanes}; those of B, likewise. */
void pg_decode_mma_small(pg_decoder *d, pg_op *op)
{
    pg_mma_small_plan *p = PG_NEW(d->arena, pg_mma_small_plan);
    if (!p || !describe(d, p))
        return;
    const uint32_t scale_rows = p->tile.scale_block ? PG_MMA_SMALL_SCALE_ROWS : 0;
    const uint32_t counts[] = {
        p->c_regs, PG_MMA_SMALL_A_REGS, PG_MMA_SMALL_B_REGS, p->c_regs, 1, scale_rows - 1,
        1,         scale_rows - 1};
    const uint32_t operands = scale_rows ? 8 : 4;
    pg_row *rows =
        pg_new_rows(d, 2 * p->c_regs + PG_MMA_SMALL_A_REGS + PG_MMA_SMALL_B_REGS + 2 * scale_rows);
    op->rows = rows;
    for (uint32_t i = 0; i < operands && rows; i++) {
        if (pg_vector_length(pg_operand(d, i)) != counts[i])
            return;
        const bool selector = i == 5 || i == 7;
        pg_vector_sources(d, pg_operand(d, i), selector ? PG_T_U16 : PG_T_B32, rows);
        rows += counts[i];
        op->row_count = (uint16_t)(op->row_count + counts[i]);
    }
    op->extra = p;
    op->run = rows ? pg_op_mma_small : NULL;
}
