/* Issue, order and execution of wgmma; PTX ISA 9.0, section 9.7.15. The arithmetic is in
 * wgmma_exact.c and wgmma_fast.c, the operand layouts in matrix_descriptor.c. */
#include "emulator/matrix/wgmma_op.h"

#include "emulator/machine/stop.h"
#include "emulator/memory/warp_sync.h"
#include "emulator/machine/observer.h"
#include "emulator/matrix/sparse.h"

enum {
    GROUP_WARPS = 4,
    WARP_ROWS = 16,
    K_BYTES = 32, /* of every operand type as it is stored */
    GROUP_ROWS = GROUP_WARPS * WARP_ROWS,
    A_REGISTERS = 4
};

/* ---- operands in shared memory ---- */

static bool operand_layout(pg_warp *w, const pg_op *op, uint64_t descriptor,
                           const pg_matrix_shape *shape, pg_matrix_layout *layout)
{
    pg_matrix_descriptor d;
    ptxgen_error err = {0};
    ptxgen_status status = pg_matrix_descriptor_decode(descriptor, PG_DESCRIPTOR_SM90, &d, &err);
    if (status == PTXGEN_OK)
        status = pg_matrix_layout_make(&d, shape, layout, &err);
    if (status == PTXGEN_OK) {
        const pg_matrix_extent e = pg_matrix_layout_extent(layout, shape);
        if (e.first >= PG_SHARED_BASE && e.end <= w->cta->shared_bytes)
            return true;
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "the matrix descriptor 0x%016llx covers shared memory from %u to %u; the CTA has "
                "%u to %u",
                (unsigned long long)descriptor, e.first, e.end, PG_SHARED_BASE,
                w->cta->shared_bytes);
        return false;
    }
    pg_stop(w, op, PTXGEN_EEMULATOR, "%s", err.message);
    return false;
}

/* ---- execution ---- */

static pg_async_mma *payload(const pg_async *a)
{
    return (pg_async_mma *)a;
}

/* The parts of one instruction that run together, by warp of the warpgroup. */
typedef struct parts {
    pg_async *part[GROUP_WARPS];
    uint32_t count;
} parts;

static uint32_t place_in_group(const pg_warp *w)
{
    return w->index % GROUP_WARPS;
}

static bool same_operands(const pg_async *a, const pg_async *b)
{
    return payload(a)->a == payload(b)->a && payload(a)->b == payload(b)->b &&
           payload(a)->zero_d == payload(b)->zero_d;
}

/* Looks for the next unexecuted wgmma of each warp of the group; those at the same instruction
 * join. */
static bool find_parts(pg_async *a, parts *found)
{
    const uint32_t group = a->warp->index / GROUP_WARPS;
    bool seen[GROUP_WARPS] = {false};
    *found = (parts){.count = 0};
    for (pg_async *b = a->warp->cta->cluster->pending_first; b; b = b->next) {
        if (b->kind != &pg_kind_mma || payload(b)->executed || b->warp->cta != a->warp->cta ||
            b->warp->index / GROUP_WARPS != group || seen[place_in_group(b->warp)])
            continue;
        seen[place_in_group(b->warp)] = true;
        if (b->op != a->op ||
            b->group != a->group) /* another instruction, or another round of a loop */
            continue;
        if (!same_operands(a, b)) {
            pg_stop(a->warp, a->op, PTXGEN_EEMULATOR,
                    "warps %u and %u of a warpgroup give this wgmma different descriptors or "
                    "scale-d; all four "
                    "must give the same",
                    a->warp->index, b->warp->index);
            return false;
        }
        found->part[found->count++] = b;
    }
    return true;
}

/* A of one warp from its registers: 16 rows of 32 bytes. */
static void read_a_registers(const pg_warp *w, const pg_op *op, uint8_t *out)
{
    const pg_wgmma_plan *p = op->extra;
    for (uint32_t r = 0; r < A_REGISTERS; r++) {
        const uint32_t *row = pg_row_at(w, op->rows[p->d_regs + r]);
        for (uint32_t lane = 0; lane < PG_LANES; lane++) {
            const pg_mma_place at = pg_wgmma_place_a(lane, r);
            memcpy(out + at.row * K_BYTES + at.col, &row[lane], sizeof row[lane]);
        }
    }
}

/* A of all parts, one below the other. */
static bool read_a(const parts *x, uint8_t *out)
{
    const pg_async *first = x->part[0];
    const pg_wgmma_plan *p = first->op->extra;
    uint8_t all[GROUP_ROWS * K_BYTES];
    pg_matrix_layout layout;
    if (!p->a_in_registers) {
        if (!operand_layout(first->warp, first->op, payload(first)->a, &p->a_shape, &layout))
            return false;
        pg_matrix_gather(&layout, &p->a_shape, first->warp->cta->shared, all);
    }
    for (uint32_t i = 0; i < x->count; i++, out += WARP_ROWS * K_BYTES) {
        const pg_warp *w = x->part[i]->warp;
        if (p->a_in_registers)
            read_a_registers(w, first->op, out);
        else
            memcpy(out, all + place_in_group(w) * WARP_ROWS * K_BYTES, WARP_ROWS * K_BYTES);
    }
    return true;
}

/* A of all parts, made dense. */
static void expand_a(const parts *x, const uint8_t *stored, uint8_t *dense, uint8_t *absent)
{
    const pg_op *op = x->part[0]->op;
    const pg_wgmma_plan *p = op->extra;
    const uint32_t elem_bits = p->a_shape.elem_bits, unit = pg_sparse_unit_bytes(elem_bits);
    uint64_t indices[GROUP_ROWS];
    for (uint32_t i = 0; i < x->count; i++) {
        const uint32_t *metadata = pg_row_at(x->part[i]->warp, op->rows[op->row_count - 1]);
        for (uint32_t row = 0; row < WARP_ROWS; row++)
            indices[i * WARP_ROWS + row] =
                pg_sparse_indices(metadata, unit, 2 * K_BYTES / unit, p->selector, row);
    }
    const pg_sparse_tile tile = {stored, indices, elem_bits, x->count * WARP_ROWS, 2 * K_BYTES};
    pg_sparse_expand(&tile, dense, absent);
}

/* Pointers to the accumulator rows in the order of pg_mma_tile. */
static void point_at_d(const parts *x, const pg_wgmma_plan *p, uint32_t **rows)
{
    const bool half = p->tile.result == PG_MMA_D_F16;
    const uint32_t blocks = p->tile.n / 8, per_block = half ? 1 : 2;
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t h = 0; h < 2; h++)
            for (uint32_t j = 0; j < blocks; j++)
                for (uint32_t r = 0; r < per_block; r++) {
                    const uint32_t reg = half ? 2 * j + h : 4 * j + 2 * h + r;
                    *rows++ = pg_row_at(x->part[i]->warp, x->part[i]->op->rows[reg]);
                }
}

void *pg_mma_scratch_of(pg_worker *worker)
{
    if (!worker->mma_scratch)
        worker->mma_scratch = pg_alloc_zero(worker->launch->alloc, PG_MMA_SCRATCH_BYTES);
    if (!worker->mma_scratch)
        pg_stop_memory(worker->launch, PG_MMA_SCRATCH_BYTES);
    return worker->mma_scratch;
}

static bool execute(pg_async *a)
{
    if (payload(a)->executed)
        return true;
    const pg_wgmma_plan *p = a->op->extra;
    uint8_t a_plain[GROUP_ROWS * K_BYTES], b_plain[PG_MMA_MAX_N * 2 * K_BYTES];
    uint8_t a_dense[GROUP_ROWS * 2 * K_BYTES], absent[sizeof a_dense];
    uint32_t *rows[GROUP_WARPS * PG_MMA_MAX_N / 2];
    parts x;
    pg_matrix_layout layout;
    void *scratch = pg_mma_scratch_of(a->warp->cta->cluster->worker);
    if (!scratch || !find_parts(a, &x) || !read_a(&x, a_plain) ||
        !operand_layout(a->warp, a->op, payload(a)->b, &p->b_shape, &layout))
        return false;
    pg_matrix_gather(&layout, &p->b_shape, a->warp->cta->shared, b_plain);
    point_at_d(&x, p, rows);
    pg_mma_tile tile = p->tile;
    tile.m = x.count * WARP_ROWS;
    tile.zero_c = payload(a)->zero_d;
    tile.a = a_plain;
    tile.b = b_plain;
    if (p->sparse) {
        expand_a(&x, a_plain, a_dense, absent);
        tile.a = a_dense;
        tile.absent = absent;
    }
    tile.c = (const uint32_t *const *)rows;
    tile.d = rows;
    (a->warp->launch->exact ? pg_mma_exact : pg_mma_fast)(&tile, scratch);
    for (uint32_t i = 0; i < x.count; i++)
        payload(x.part[i])->executed = true;
    return true;
}

/* A warp's instructions are carried out in order. */
static bool follows(const pg_async *a, const pg_async *before)
{
    return before->warp == a->warp && before->kind == &pg_kind_mma;
}

/* It is one operation of four warps: carried out when all that still live have issued it. */
static bool ready(const pg_async *a)
{
    const pg_warp *first = &a->warp->cta->warps[a->warp->index / GROUP_WARPS * GROUP_WARPS];
    for (uint32_t i = 0; i < GROUP_WARPS; i++) {
        const uint32_t issued = first[i].async ? first[i].async->mma_issued : 0;
        if (first[i].live && issued < payload(a)->number)
            return false;
    }
    return true;
}

const pg_async_kind pg_kind_mma = {
    .bytes = sizeof(pg_async_mma), .complete = execute, .follows = follows, .ready = ready};

/* ---- instructions ---- */

static void tell_observer(pg_async *a, const pg_matrix_layout *layout, const pg_matrix_shape *shape)
{
    const pg_matrix_extent e = pg_matrix_layout_extent(layout, shape);
    PG_OBSERVE(a->warp->launch, mma_read, a, e.first, e.end);
    PG_OBSERVE(a->warp->launch, matrix_operand, a, layout, shape);
}

pg_step pg_op_wgmma(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const pg_wgmma_plan *p = op->extra;
    pg_warp_async *counters = pg_async_counters(w);
    if (w->index / GROUP_WARPS * GROUP_WARPS + GROUP_WARPS > w->cta->warp_count)
        return pg_stop(w, op, PTXGEN_EEMULATOR,
                       "wgmma in warp %u: the CTA has %u warps, so its warpgroup is not complete",
                       w->index, w->cta->warp_count);
    pg_async *a = counters ? pg_async_new(w, op, &pg_kind_mma, (uint32_t)__builtin_ctz(all)) : NULL;
    if (!a)
        return PG_STOP;
    payload(a)->b = ((const uint64_t *)pg_row_at(w, p->b))[a->lane];
    if (!p->a_in_registers)
        payload(a)->a = ((const uint64_t *)pg_row_at(w, p->a))[a->lane];
    payload(a)->zero_d = !(pg_pred_lanes(w, op->p, op->p_not) >> a->lane & 1);
    a->group = counters->mma_commits;
    payload(a)->number = ++counters->mma_issued;
    pg_matrix_layout layout[2]; /* of A, unless it is in registers, and of B */
    if (!operand_layout(w, op, payload(a)->b, &p->b_shape, &layout[1]) ||
        (!p->a_in_registers && !operand_layout(w, op, payload(a)->a, &p->a_shape, &layout[0]))) {
        pg_async_free(w->cta->cluster, a);
        return PG_STOP;
    }
    pg_async_issue(a);
    PG_OBSERVE(w->launch, matrix_issue, a);
    for (int i = p->a_in_registers; w->launch->observer && i < 2; i++)
        tell_observer(a, &layout[i], i ? &p->b_shape : &p->a_shape);
    w->cta->cluster->progress++;
    return PG_NEXT;
}

/* Registers are read and written when the instruction is carried out, so only the checker minds. */
pg_step pg_op_wgmma_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    PG_OBSERVE(w->launch, matrix_fence, w);
    return PG_NEXT;
}

pg_step pg_op_wgmma_commit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    pg_warp_async *counters = pg_async_counters(w);
    if (!counters)
        return PG_STOP;
    counters->mma_commits++;
    return PG_NEXT;
}

pg_step pg_op_wgmma_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const pg_warp_async *counters = pg_async_counters(w);
    if (!counters)
        return PG_STOP;
    for (const pg_async *a = w->cta->cluster->pending_first; a; a = a->next)
        if (a->warp == w && a->kind == &pg_kind_mma &&
            (uint64_t)a->group + op->imm < counters->mma_commits)
            return pg_block(w, (pg_wait){.kind = PG_WAIT_ASYNC, .again = true});
    PG_OBSERVE(w->launch, mma_wait, w, op, all);
    return PG_NEXT;
}
