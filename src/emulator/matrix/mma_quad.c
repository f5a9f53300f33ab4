/* mma.sync.m8n8k4 of halves: four products of 8 x 4 and 4 x 8 matrices, each by the four lanes
 * of a quad and the four lanes 16 further on. PTX ISA 9.0, section 9.7.14.5.1. The sum of four
 * products and the addend is worked out in doubles and rounded once: how the hardware, which has
 * had no such unit since sm_70, adds them is not published. */
#include "emulator/matrix/mma_op.h"

#include "base/half.h"
#include "emulator/number/float_ops.h"
#include "emulator/number/formats.h"
#include "emulator/memory/warp_sync.h"

enum { SIZE = 8, DEPTH = 4 };

/* Which lanes work together, and a lane's place in its product. */
static uint32_t lane_of(uint32_t product, uint32_t place)
{
    return product * 4 + place % 4 + place / 4 * 16;
}

static double half_of(const uint32_t *const *rows, uint32_t lane, uint32_t i)
{
    return (double)pg_f32_of_f16((uint16_t)(rows[i / 2][lane] >> 16 * (i % 2)));
}

pg_mma_place pg_quad_place_a(bool along, uint32_t place, uint32_t i)
{
    return along ? (pg_mma_place){place, i} : (pg_mma_place){place / 4 * 4 + i, place % 4};
}

pg_mma_place pg_quad_place_b(bool along, uint32_t place, uint32_t i)
{
    return along ? (pg_mma_place){place % 4, place / 4 * 4 + i} : (pg_mma_place){i, place};
}

/* Of f16 accumulators a lane has a row. */
pg_mma_place pg_quad_place_c(bool single, uint32_t place, uint32_t i)
{
    const uint32_t lane = place % 4, upper = place / 4 * 4;
    return single ? (pg_mma_place){upper + (lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1)}
                  : (pg_mma_place){upper + lane, i};
}

typedef struct product {
    double a[SIZE][DEPTH], b[DEPTH][SIZE], sum[SIZE][SIZE];
} product;

/* Operands of one of the four products. */
static void read_operands(const pg_mma_quad_plan *p, const uint32_t *const *rows, uint32_t number,
                          product *x)
{
    const uint32_t *const *a = rows + p->d_regs, *const *b = a + 2, *const *c = b + 2;
    for (uint32_t place = 0; place < SIZE; place++) {
        const uint32_t lane = lane_of(number, place);
        for (uint32_t i = 0; i < DEPTH; i++) {
            const pg_mma_place in_a = pg_quad_place_a(p->a_row, place, i);
            const pg_mma_place in_b = pg_quad_place_b(p->b_row, place, i);
            x->a[in_a.row][in_a.col] = half_of(a, lane, i);
            x->b[in_b.row][in_b.col] = half_of(b, lane, i);
        }
        for (uint32_t i = 0; i < SIZE; i++) {
            const pg_mma_place at = pg_quad_place_c(p->c_single, place, i);
            x->sum[at.row][at.col] =
                p->c_single ? (double)pg_f32_of(c[i][lane]) : half_of(c, lane, i);
        }
    }
}

static void multiply(product *x)
{
    for (uint32_t m = 0; m < SIZE; m++)
        for (uint32_t n = 0; n < SIZE; n++)
            for (uint32_t k = 0; k < DEPTH; k++)
                x->sum[m][n] += x->a[m][k] * x->b[k][n];
}

static void write_result(const pg_mma_quad_plan *p, uint32_t *const *d, uint32_t number,
                         const product *x)
{
    for (uint32_t place = 0; place < SIZE; place++) {
        const uint32_t lane = lane_of(number, place);
        for (uint32_t i = 0; i < SIZE; i++) {
            const pg_mma_place at = pg_quad_place_c(p->d_single, place, i);
            const double value = x->sum[at.row][at.col];
            if (p->d_single) {
                const float f = (float)value;
                memcpy(&d[i][lane], &f, sizeof f);
                continue;
            }
            const uint32_t shift = 16 * (i % 2);
            d[i / 2][lane] = (d[i / 2][lane] & ~(0xffffu << shift)) |
                             (uint32_t)pg_f16_from_double(value) << shift;
        }
    }
}

pg_step pg_op_mma_quad(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_mma_quad_plan *p = op->extra;
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const uint32_t *sources[PG_QUAD_ROWS];
    uint32_t *d[SIZE];
    product x[4];
    for (uint32_t i = 0; i < op->row_count; i++)
        sources[i] = pg_row_at(w, op->rows[i]);
    for (uint32_t i = 0; i < p->d_regs; i++)
        d[i] = pg_row_at(w, op->rows[i]);
    for (uint32_t number = 0; number < 4; number++) {
        read_operands(p, sources, number, &x[number]);
        multiply(&x[number]);
    }
    for (uint32_t number = 0; number < 4; number++)
        write_result(p, d, number, &x[number]);
    return PG_NEXT;
}
