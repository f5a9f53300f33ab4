/* Fragments: for every instruction that keeps a matrix in registers, the shapes that it has and
 * the map from (thread, register, element) to (row, column). The maps are those by which the
 * instructions are executed; what is here only walks through them. */
#include "emulator/matrix/mma_op.h"
#include "emulator/matrix/wmma.h"
#include "emulator/tensor/tcgen05.h"
#include "ptxgen/emulator.h"

#include "base/sized.h"

#include <stdio.h>

typedef ptxgen_emulator_fragment fragment;
typedef ptxgen_emulator_place place;

/* ---- mma.sync ---- */

/* Matrices of a shape: A, B, C in words and in halves, and A (as stored) and B of mma.sp. */
enum { MMA_A, MMA_B, MMA_C, MMA_C_HALVES, MMA_SP_A, MMA_SP_B, MMA_MATRICES };

static bool describe_mma(uint32_t i, fragment *f)
{
    const pg_mma_sync_shape *s = pg_mma_sync_shape_at(i / MMA_MATRICES);
    const uint32_t which = i % MMA_MATRICES, per_register = s->f64 ? 1 : 32 / s->elem_bits;
    const bool sparse = which >= MMA_SP_A, halves = which == MMA_C_HALVES;
    if (halves && (s->m != 16 || (s->elem_bits != 16 && s->elem_bits != 8)))
        return false;
    if (sparse && (s->m != 16 || s->f64 || s->elem_bits == 1))
        return false;
    snprintf(f->name, sizeof f->name, "mma.%sm%un%uk%u", sparse ? "sp." : "", s->m, s->n,
             s->k * (sparse ? 2 : 1));
    f->threads = PG_LANES;
    if (which == MMA_C || halves) {
        f->matrix = 'c';
        f->bits = halves ? 16 : s->f64 ? 64 : 32;
        f->rows = s->m;
        f->columns = s->n;
        f->elements = halves ? 2 : 1;
        f->registers = s->m * s->n / PG_LANES / f->elements;
        return true;
    }
    const bool is_a = which == MMA_A || which == MMA_SP_A;
    const uint32_t k = which == MMA_SP_B ? 2 * s->k : s->k;
    f->matrix = is_a ? 'a' : 'b';
    f->bits = s->elem_bits;
    f->rows = is_a ? s->m : k;
    f->columns = is_a ? k : s->n;
    f->elements = per_register;
    f->registers = is_a ? s->a_regs : s->b_regs * (which == MMA_SP_B ? 2 : 1);
    return true;
}

static pg_mma_place place_mma(uint32_t i, const place *p)
{
    const pg_mma_sync_shape *s = pg_mma_sync_shape_at(i / MMA_MATRICES);
    pg_mma_place at;
    switch (i % MMA_MATRICES) {
    case MMA_A:
    case MMA_SP_A:
        at = pg_mma_sync_place_a(s, p->thread, p->reg);
        return (pg_mma_place){at.row, at.col + p->element};
    case MMA_C:
        return pg_mma_sync_place_c(s, p->thread, p->reg);
    case MMA_C_HALVES:
        return pg_mma_sync_place_c(s, p->thread, 2 * p->reg + p->element);
    default:
        at = pg_mma_sync_place_b(s, p->thread, p->reg);
        return (pg_mma_place){at.row + p->element, at.col};
    }
}

/* ---- mma.sync.m8n8k4 of halves: four products, one below the other (B: beside) ---- */

static const struct {
    const char *layout;
    char matrix;
    bool flag; /* of the place function */
    uint32_t bits;
} quads[] = {{".row", 'a', true, 16},  {".col", 'a', false, 16}, {".row", 'b', true, 16},
             {".col", 'b', false, 16}, {"", 'c', true, 32},      {"", 'c', false, 16}};
enum { QUADS = sizeof quads / sizeof *quads, QUAD_SIZE = 8, QUAD_DEPTH = 4 };

static bool describe_quad(uint32_t i, fragment *f)
{
    const char matrix = quads[i].matrix;
    snprintf(f->name, sizeof f->name, "mma.m8n8k4%s", quads[i].layout);
    f->matrix = matrix;
    f->bits = quads[i].bits;
    f->threads = PG_LANES;
    f->rows = matrix == 'b' ? QUAD_DEPTH : 4 * QUAD_SIZE;
    f->columns = matrix == 'a' ? QUAD_DEPTH : matrix == 'b' ? 4 * QUAD_SIZE : QUAD_SIZE;
    f->elements = 32 / f->bits;
    f->registers = f->rows * f->columns / PG_LANES / f->elements;
    return true;
}

static pg_mma_place place_quad(uint32_t i, const place *p)
{
    const uint32_t element = p->reg * (32 / quads[i].bits) + p->element;
    const uint32_t where = pg_quad_place(p->thread);
    const uint32_t product = pg_quad_product(p->thread) * QUAD_SIZE;
    pg_mma_place at;
    if (quads[i].matrix == 'b') {
        at = pg_quad_place_b(quads[i].flag, where, element);
        return (pg_mma_place){at.row, product + at.col};
    }
    at = quads[i].matrix == 'a' ? pg_quad_place_a(quads[i].flag, where, element)
                                : pg_quad_place_c(quads[i].flag, where, element);
    return (pg_mma_place){product + at.row, at.col};
}

/* ---- wgmma ---- */

/* D of every n, in words and in halves; A in registers of every width. */
enum { WGMMA_N = PG_MMA_MAX_N / 8, WGMMA_A_WIDTHS = 4, WGMMA_GROUP = 128, WGMMA_M = 64 };
static const uint32_t wgmma_a_bits[WGMMA_A_WIDTHS] = {1, 8, 16, 32};

static bool describe_wgmma(uint32_t i, fragment *f)
{
    f->threads = WGMMA_GROUP;
    f->rows = WGMMA_M;
    if (i < WGMMA_A_WIDTHS) {
        f->matrix = 'a';
        f->bits = wgmma_a_bits[i];
        f->columns = 8 * 32 / f->bits;
        f->elements = 32 / f->bits;
        f->registers = 4;
        snprintf(f->name, sizeof f->name, "wgmma.m64k%u", f->columns);
        return true;
    }
    const uint32_t n = (i - WGMMA_A_WIDTHS) / 2;
    f->matrix = 'c';
    f->bits = (i - WGMMA_A_WIDTHS) % 2 ? 16 : 32;
    f->columns = 8 * (n + 1);
    f->elements = 32 / f->bits;
    f->registers = WGMMA_M * f->columns / WGMMA_GROUP / f->elements;
    snprintf(f->name, sizeof f->name, "wgmma.m64n%u", f->columns);
    return true;
}

static pg_mma_place place_wgmma(uint32_t i, const place *p)
{
    if (i >= WGMMA_A_WIDTHS && (i - WGMMA_A_WIDTHS) % 2 == 0)
        return pg_wgmma_place_32(p->thread, p->reg);
    const pg_mma_place at = i < WGMMA_A_WIDTHS ? pg_wgmma_place_a(p->thread, p->reg)
                                               : pg_wgmma_place_f16x2(p->thread, p->reg);
    const uint32_t first = i < WGMMA_A_WIDTHS ? at.col * 8 / wgmma_a_bits[i] : at.col;
    return (pg_mma_place){at.row, first + p->element};
}

/* ---- wmma ---- */

static const struct {
    uint32_t shape[3], bits; /* of A and B */
} wmmas[] = {{{16, 16, 16}, 16}, {{32, 8, 16}, 16}, {{8, 32, 16}, 16}, {{16, 16, 16}, 8},
             {{32, 8, 16}, 8},   {{8, 32, 16}, 8},  {{16, 16, 8}, 32}, {{8, 8, 4}, 64},
             {{8, 8, 32}, 4},    {{8, 8, 128}, 1}};
enum { WMMAS = sizeof wmmas / sizeof *wmmas, WMMA_MATRICES = 4 /* A, B, C, C in halves */ };

static bool wmma_of(uint32_t i, pg_wmma_fragment *w)
{
    const uint32_t bits = wmmas[i / WMMA_MATRICES].bits, which = i % WMMA_MATRICES;
    const uint32_t of_c = which == 3 ? 16 : bits == 64 ? 64 : 32;
    if (which == 3 && bits != 16)
        return false;
    *w = pg_wmma_fragment_of(which == 0   ? PG_WMMA_A
                             : which == 1 ? PG_WMMA_B
                                          : PG_WMMA_C,
                             wmmas[i / WMMA_MATRICES].shape, which < 2 ? bits : of_c);
    return w->registers > 0;
}

static bool describe_wmma(uint32_t i, fragment *f)
{
    pg_wmma_fragment w;
    if (!wmma_of(i, &w))
        return false;
    snprintf(f->name, sizeof f->name, "wmma.m%un%uk%u", w.m, w.n, w.k);
    f->matrix = "abc"[w.matrix];
    f->bits = w.elem_bits;
    f->rows = w.matrix == PG_WMMA_B ? w.k : w.m;
    f->columns = w.matrix == PG_WMMA_A ? w.k : w.n;
    f->threads = PG_LANES;
    f->registers = w.registers;
    f->elements = w.elem_bits >= 32 ? 1 : 32 / w.elem_bits;
    return true;
}

static pg_mma_place place_wmma(uint32_t i, const place *p)
{
    pg_wmma_fragment w;
    wmma_of(i, &w);
    return pg_wmma_place(&w, p->thread, p->reg, p->element);
}

/* ---- ldmatrix, stmatrix, movmatrix: a register a matrix of 8 x 8, one below the other ---- */

enum { MOVES = 2 * 2 * 3 + 2 };

static bool describe_move(uint32_t i, fragment *f)
{
    f->matrix = 'd';
    f->bits = 16;
    f->columns = 8;
    f->threads = PG_LANES;
    f->elements = 2;
    f->registers = 1;
    if (i < MOVES - 2) {
        f->registers = 1u << i % 3;
        snprintf(f->name, sizeof f->name, "%s.x%u%s", i / 6 ? "stmatrix" : "ldmatrix", f->registers,
                 i / 3 % 2 ? ".trans" : "");
    } else {
        f->matrix = i == MOVES - 1 ? 'd' : 'a';
        snprintf(f->name, sizeof f->name, "movmatrix.trans");
    }
    f->rows = 8 * f->registers;
    return true;
}

static pg_mma_place place_move(uint32_t i, const place *p)
{
    const pg_mma_place at = pg_ldmatrix_place(p->thread);
    const bool trans = i < MOVES - 2 ? i / 3 % 2 : i == MOVES - 2;
    return trans ? (pg_mma_place){8 * p->reg + at.col + p->element, at.row}
                 : (pg_mma_place){8 * p->reg + at.row, at.col + p->element};
}

/* ---- tcgen05.ld, .st: lanes and columns of tensor memory ---- */

static const char *const tensor_names[] = {[PG_TENSOR_32X32B] = "32x32b",
                                           [PG_TENSOR_16X64B] = "16x64b",
                                           [PG_TENSOR_16X128B] = "16x128b",
                                           [PG_TENSOR_16X256B] = "16x256b",
                                           [PG_TENSOR_16X32BX2] = "16x32bx2"};
enum {
    TENSOR_SHAPES = sizeof tensor_names / sizeof *tensor_names,
    TENSOR_REPEATS = 8, /* 1 to 128 */
    TENSOR_MOST_REGISTERS = 128,
    TENSOR_MOVES = TENSOR_SHAPES * TENSOR_REPEATS * 4 /* ld, ld packed, st, st unpacked */
};

typedef struct tensor_form {
    pg_tensor_shape shape;
    uint32_t repeat;
    bool packed, store;
} tensor_form;

static tensor_form tensor_of(uint32_t i)
{
    return (tensor_form){(pg_tensor_shape)(i / 4 / TENSOR_REPEATS), 1u << i / 4 % TENSOR_REPEATS,
                         i & 1, i & 2};
}

static bool describe_tensor(uint32_t i, fragment *f)
{
    const tensor_form t = tensor_of(i);
    const pg_tensor_shape_info s = pg_tensor_shape_of(t.shape);
    f->registers = s.registers * t.repeat;
    if (f->registers > TENSOR_MOST_REGISTERS)
        return false;
    snprintf(f->name, sizeof f->name, "tcgen05.%s.%s.x%u%s", t.store ? "st" : "ld",
             tensor_names[t.shape], t.repeat,
             !t.packed ? ""
             : t.store ? ".unpack::16b"
                       : ".pack::16b");
    f->matrix = 'd';
    f->bits = t.packed ? 16 : 32;
    f->rows = s.lanes;
    f->elements = t.packed ? 2 : 1;
    /* The halves of .16x32bx2 lie as far apart as the immediate says: here beside each other. */
    f->columns = s.columns * t.repeat * f->elements * (t.shape == PG_TENSOR_16X32BX2 ? 2 : 1);
    f->threads = PG_LANES;
    return true;
}

static pg_mma_place place_tensor(uint32_t i, const place *p)
{
    const tensor_form t = tensor_of(i);
    const uint32_t width = t.packed ? 2 : 1;
    const bool upper = t.shape == PG_TENSOR_16X32BX2 && p->thread >= PG_LANES / 2;
    const pg_tensor_place at = pg_tensor_place_of(t.shape, p->thread, p->reg);
    return (pg_mma_place){at.lane, at.column * width + p->element + (upper ? t.repeat * width : 0)};
}

/* ---- all of them ---- */

static uint32_t mma_count(void)
{
    uint32_t n = 0;
    while (pg_mma_sync_shape_at(n))
        n++;
    return n * MMA_MATRICES;
}

static const struct {
    uint32_t count; /* 0: mma_count */
    bool (*describe)(uint32_t i, fragment *f);
    pg_mma_place (*place)(uint32_t i, const place *p);
} kinds[] = {{0, describe_mma, place_mma},
             {QUADS, describe_quad, place_quad},
             {WGMMA_A_WIDTHS + 2 * WGMMA_N, describe_wgmma, place_wgmma},
             {WMMAS * WMMA_MATRICES, describe_wmma, place_wmma},
             {MOVES, describe_move, place_move},
             {TENSOR_MOVES, describe_tensor, place_tensor}};
enum { KINDS = sizeof kinds / sizeof *kinds, ID_SHIFT = 16 };

static uint32_t count_of(uint32_t kind)
{
    return kinds[kind].count ? kinds[kind].count : mma_count();
}

bool ptxgen_emulator_fragment_at(size_t i, ptxgen_emulator_fragment *out)
{
    for (uint32_t kind = 0; out && kind < KINDS; kind++)
        for (uint32_t k = 0; k < count_of(kind); k++) {
            fragment f = {.id = kind << ID_SHIFT | k};
            if (!kinds[kind].describe(k, &f) || i-- > 0)
                continue;
            pg_sized_give(out, &f, sizeof f);
            return true;
        }
    return false;
}

bool ptxgen_emulator_fragment_place(const ptxgen_emulator_fragment *f, ptxgen_emulator_place *p)
{
    fragment whole = {0};
    const uint32_t kind = f ? f->id >> ID_SHIFT : KINDS;
    const uint32_t i = f ? f->id & ((1u << ID_SHIFT) - 1) : 0;
    if (!p || kind >= KINDS || i >= count_of(kind) || !kinds[kind].describe(i, &whole) ||
        p->thread >= whole.threads || p->reg >= whole.registers || p->element >= whole.elements)
        return false;
    const pg_mma_place at = kinds[kind].place(i, p);
    p->row = at.row;
    p->column = at.col;
    return true;
}
