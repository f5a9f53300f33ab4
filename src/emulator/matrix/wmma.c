/* wmma.load, wmma.store and wmma.mma; see wmma.h. */
#include "emulator/matrix/wmma.h"

#include "emulator/machine/memory.h"
#include "emulator/memory/warp_sync.h"

enum {
    MAX_OPERAND_BYTES = 32 * 16 * 2,
    SCRATCH_BYTES = PG_MMA_SCRATCH(32, 8, 16),
    MAX_REGISTERS = 8
};

/* Elements that one register holds. */
static uint32_t per_register(const pg_wmma_fragment *f)
{
    return f->elem_bits >= 32 ? 1 : 32 / f->elem_bits;
}

pg_wmma_fragment pg_wmma_fragment_of(pg_wmma_matrix matrix, const uint32_t shape[3],
                                     uint32_t elem_bits)
{
    pg_wmma_fragment f = {matrix, shape[0], shape[1], shape[2], elem_bits, 0, NULL};
    if (f.m == 8 && f.n == 8) { /* f64, 4 bits, 1 bit: of the operands, and C of either width */
        f.small = pg_mma_sync_find(f.m, f.n, f.k, f.k == 4 ? 64 : f.k == 32 ? 4 : 1);
        f.registers = !f.small              ? 0
                      : matrix == PG_WMMA_A ? f.small->a_regs
                      : matrix == PG_WMMA_B ? f.small->b_regs
                                            : 2;
        return f;
    }
    const uint32_t elements = matrix == PG_WMMA_A   ? f.m * f.k
                              : matrix == PG_WMMA_B ? f.n * f.k
                                                    : f.m * f.n;
    f.registers = elements / per_register(&f) / PG_LANES;
    return f;
}

/* Row and column (in A, B or C) of the first element of a register. */
static pg_mma_place place_of(const pg_wmma_fragment *f, uint32_t lane, uint32_t r)
{
    const uint32_t e = per_register(f);
    if (f->small)
        return f->matrix == PG_WMMA_A   ? pg_mma_sync_place_a(f->small, lane, r)
               : f->matrix == PG_WMMA_B ? pg_mma_sync_place_b(f->small, lane, r)
                                        : pg_mma_sync_place_c(f->small, lane, r);
    if (f->matrix == PG_WMMA_C) {
        const uint32_t block = e == 2 ? r : r / 2, column = e == 2 ? 0 : r % 2, across = f->n / 8;
        return (pg_mma_place){block / across * 8 + lane / 4,
                              block % across * 8 + 2 * (lane % 4) + column};
    }
    const uint32_t rows = f->matrix == PG_WMMA_A ? f->m : f->n, per_row = f->k / e;
    const uint32_t word = (r * PG_LANES + lane) % (rows * per_row);
    const uint32_t outer = word / per_row, inner = word % per_row * e;
    return f->matrix == PG_WMMA_A ? (pg_mma_place){outer, inner} : (pg_mma_place){inner, outer};
}

/* The step from one element of a register to the next goes along the columns (B: along the
 * rows). */
pg_mma_place pg_wmma_place(const pg_wmma_fragment *f, uint32_t lane, uint32_t r, uint32_t element)
{
    const pg_mma_place at = place_of(f, lane, r);
    return f->matrix == PG_WMMA_B ? (pg_mma_place){at.row + element, at.col}
                                  : (pg_mma_place){at.row, at.col + element};
}

/* ---- loads and stores ---- */

/* One register's worth of one matrix, or one element of it: bytes, and how far into the
 * register. */
typedef struct piece {
    uint32_t reg, element, bytes;
} piece;

static bool move_piece(pg_warp *w, const pg_op *op, const uint64_t *base, const piece *p, bool load)
{
    const pg_wmma_access *a = op->extra;
    const pg_wmma_fragment *f = &a->fragment;
    const uint32_t *stride = pg_row_at(w, op->b);
    const uint32_t lane_bytes = f->elem_bits == 64 ? 8 : 4,
                   offset = p->element * (f->elem_bits / 8);
    uint64_t address[PG_LANES];
    uint8_t *at[PG_LANES];
    for (uint32_t l = 0; l < PG_LANES; l++) {
        const pg_mma_place e = pg_wmma_place(f, l, p->reg, p->element);
        const uint64_t index = a->column_major ? (uint64_t)e.col * stride[l] + e.row
                                               : (uint64_t)e.row * stride[l] + e.col;
        address[l] = base[l] + index * f->elem_bits / 8;
    }
    const pg_checked_access access = {PG_ALL_LANES, p->bytes,
                                      load ? PG_ACCESS_READ : PG_ACCESS_WRITE, address, NULL};
    if (!pg_resolve_at(w, op, &access, at))
        return false;
    char *row = (char *)pg_row_at(w, op->rows[p->reg]);
    for (uint32_t l = 0; l < PG_LANES; l++) {
        char *in = row + (size_t)l * lane_bytes + offset;
        memcpy(load ? in : (char *)at[l], load ? (const char *)at[l] : in, p->bytes);
    }
    return true;
}

static pg_step move_matrix(pg_warp *w, const pg_op *op, uint32_t lanes, bool load)
{
    const pg_wmma_access *a = op->extra;
    const pg_wmma_fragment *f = &a->fragment;
    const uint32_t elements = per_register(f);
    /* Neighbours in a register are neighbours in memory when the fast index of both is the same. */
    const bool together = elements == 1 || a->column_major == (f->matrix == PG_WMMA_B);
    uint64_t base[PG_LANES];
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    pg_addresses(w, op, PG_ALL_LANES, base);
    for (uint32_t r = 0; r < op->row_count; r++)
        for (uint32_t i = 0; i < (together ? 1 : elements); i++) {
            const piece p = {r, i, together ? (f->elem_bits == 64 ? 8u : 4u) : f->elem_bits / 8};
            if (!move_piece(w, op, base, &p, load))
                return PG_STOP;
        }
    w->cta->cluster->progress++;
    return PG_NEXT;
}

pg_step pg_op_wmma_load(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return move_matrix(w, op, lanes, true);
}

pg_step pg_op_wmma_store(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return move_matrix(w, op, lanes, false);
}

/* ---- the product ---- */

/* A or B for every step of `step` elements of K: rows with k contiguous. */
static void gather(const pg_warp *w, const pg_wmma_fragment *f, const pg_row *rows, uint32_t step,
                   uint8_t *out)
{
    const uint32_t outers = f->matrix == PG_WMMA_A ? f->m : f->n;
    for (uint32_t r = 0; r < f->registers; r++) {
        const uint32_t *row = pg_row_at(w, rows[r]);
        for (uint32_t l = 0; l < PG_LANES; l++) {
            const pg_mma_place p = place_of(f, l, r);
            const uint32_t outer = f->matrix == PG_WMMA_A ? p.row : p.col;
            const uint32_t k = f->matrix == PG_WMMA_A ? p.col : p.row;
            const uint32_t at = (k / step * outers + outer) * step + k % step;
            memcpy(out + at * f->elem_bits / 8, &row[l], sizeof row[l]);
        }
    }
}

pg_step pg_op_wmma(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_wmma_plan *p = op->extra;
    uint8_t a[MAX_OPERAND_BYTES], b[MAX_OPERAND_BYTES];
    uint8_t scratch[SCRATCH_BYTES] __attribute__((aligned(64)));
    const uint32_t *c[MAX_REGISTERS];
    uint32_t *d[MAX_REGISTERS], all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const pg_row *a_rows = op->rows + p->c.registers, *b_rows = a_rows + p->a.registers;
    gather(w, &p->a, a_rows, p->tile.k, a);
    gather(w, &p->b, b_rows, p->tile.k, b);
    for (uint32_t r = 0; r < p->c.registers; r++) {
        d[r] = pg_row_at(w, op->rows[r]);
        c[r] = pg_row_at(w, b_rows[p->b.registers + r]);
    }
    pg_mma_tile tile = p->tile;
    tile.c = c;
    tile.d = d;
    const uint32_t step_bits = tile.k * p->a.elem_bits;
    for (uint32_t i = 0; i < p->a.k / tile.k; i++) {
        tile.a = a + i * tile.m * step_bits / 8;
        tile.b = b + i * tile.n * step_bits / 8;
        (w->launch->exact ? pg_mma_exact : pg_mma_fast)(&tile, scratch);
        tile.c = (const uint32_t *const *)d;
    }
    return PG_NEXT;
}
