/* Checking mode: registers of wgmma and of tcgen05.ld. From its issue until a wait_group that
 * covers it, a wgmma owns its accumulators and its A registers; before it, wgmma.fence must
 * follow every other access to them, except that instructions of the same shape may share
 * accumulators. PTX ISA 9.0, sections 9.7.15.7.1 and 9.7.15.7.3. A tcgen05.ld owns what it fills
 * until its warp's tcgen05.wait::ld (section 9.7.16.8); both are of whole warps, and so is what
 * is kept here. */
#include "emulator/check/state.h"

#include "emulator/decode/matrix_use.h"
#include "emulator/matrix/matrix_descriptor.h"
#include "emulator/matrix/wgmma_op.h"

void pg_check_matrix_fence(pg_warp *w)
{
    pg_warp_check_of(w)->mma_fences++;
}

/* The warp's registers; NULL: out of memory, they go unchecked. */
static pg_matrix_register *registers_of(pg_warp *w)
{
    pg_warp_check *k = pg_warp_check_of(w);
    if (!k->matrix)
        k->matrix = pg_alloc_zero(w->launch->alloc,
                                  w->launch->program->matrix_registers * sizeof *k->matrix);
    return k->matrix;
}

void pg_check_matrix_free(pg_warp *w)
{
    pg_warp_check *k = pg_warp_check_of(w);
    if (k->matrix)
        pg_free(w->launch->alloc, k->matrix,
                w->launch->program->matrix_registers * sizeof *k->matrix);
    k->matrix = NULL;
}

static bool in_flight(const pg_warp_check *k, const pg_matrix_register *r)
{
    return r->group > k->mma_waited;
}

static const pg_matrix_use *use_of(const pg_warp *w, const pg_op *op)
{
    return &w->launch->program->matrix_uses[pg_pc_of(w, op)];
}

void pg_check_matrix_load(pg_warp *w, const pg_op *op)
{
    const pg_matrix_use *use = use_of(w, op);
    pg_matrix_register *all = registers_of(w);
    for (uint32_t i = 0; all && i < use->loaded; i++) {
        all[use->registers[i]].loaded = pg_warp_check_of(w)->load_waits + 1;
        all[use->registers[i]].load_op = pg_pc_of(w, op);
    }
}

void pg_check_matrix_load_wait(pg_warp *w)
{
    pg_warp_check_of(w)->load_waits++;
}

/* Compilers move the uses of the registers up to the load; ptxas keeps them apart. */
static void complain_of_load(pg_warp *w, const pg_op *op, uint32_t lane, uint32_t load)
{
    const pg_check_conflict c = {.warp = w,
                                 .op = op,
                                 .lane = lane,
                                 .kind = PTXGEN_EMULATOR_REPORT_LOADED_REGISTER,
                                 .other = &w->launch->program->ops[load]};
    pg_check_report_conflict(&c,
                             "a tcgen05.ld that may still be in flight fills a register of this "
                             "instruction: tcgen05.wait::ld must come first");
}

static void complain(pg_warp *w, const pg_op *op, uint32_t lane, const char *text)
{
    pg_check_complain(w, op, lane, PTXGEN_EMULATOR_REPORT_ACCUMULATOR_IN_FLIGHT, text);
}

void pg_check_matrix_use(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_warp_check *k = pg_warp_check_of(w);
    const pg_matrix_use *use = use_of(w, op);
    pg_matrix_register *all = registers_of(w);
    bool wrong = false;
    const pg_matrix_register *loading = NULL;
    for (uint32_t i = 0; all && i < use->count; i++) {
        pg_matrix_register *r = &all[use->registers[i]];
        wrong |= in_flight(k, r);
        loading = r->loaded == k->load_waits + 1 ? r : loading;
        r->touched = k->mma_fences + 1;
    }
    if (loading)
        complain_of_load(w, op, (uint32_t)__builtin_ctz(lanes), loading->load_op);
    if (wrong)
        complain(w, op, (uint32_t)__builtin_ctz(lanes),
                 "a wgmma in flight owns this register: wgmma.wait_group must come first");
}

void pg_check_matrix_issue(pg_async *a)
{
    pg_warp *w = a->warp;
    const pg_warp_check *k = pg_warp_check_of(w);
    const pg_matrix_use *use = use_of(w, a->op);
    const pg_wgmma_plan *plan = a->op->extra;
    pg_matrix_register *all = registers_of(w);
    bool unfenced = !k->mma_fences, owned = false;
    for (uint32_t i = 0; all && i < use->count; i++) {
        if (use->registers[i] == PG_NOT_A_MATRIX_REGISTER)
            continue;
        pg_matrix_register *r = &all[use->registers[i]];
        const uint32_t shape = i < plan->d_regs ? plan->tile.n : 0;
        owned |= in_flight(k, r) && r->shape != shape;
        unfenced |= r->touched == k->mma_fences + 1;
        *r = (pg_matrix_register){.group = a->group + 1, .shape = shape};
    }
    if (unfenced)
        complain(
            w, a->op, a->lane,
            "wgmma.fence must come before the first wgmma, and between any other access to its "
            "accumulators or A registers and the wgmma");
    if (owned)
        complain(w, a->op, a->lane,
                 "a wgmma in flight uses these registers otherwise (as A, or as accumulators of "
                 "another shape): wgmma.wait_group must come first");
}

/* The strides that an instruction was last found to be right with, so that most are looked at
 * once. */
static uint64_t strides_of(const pg_matrix_layout *l, const pg_matrix_shape *s)
{
    return ((uint64_t)l->row_outer << 32 | l->depth_outer) * UINT64_C(0x9e3779b97f4a7c15) ^
           ((uint64_t)s->rows << 32 | s->depth << 8 | (uint32_t)l->swizzle);
}

void pg_check_matrix_operand(pg_async *a, const pg_matrix_layout *layout,
                             const pg_matrix_shape *shape)
{
    uint64_t *known = a->warp->launch->checker->strides[pg_pc_of(a->warp, a->op)];
    const uint64_t now = strides_of(layout, shape);
    if (known[0] == now || known[1] == now)
        return;
    known[0] = known[1];
    known[1] = now;
    if (pg_matrix_layout_overlaps(layout, shape))
        pg_check_complain(a->warp, a->op, a->lane, PTXGEN_EMULATOR_REPORT_DESCRIPTOR,
                          "the strides of a matrix descriptor are smaller than the groups that "
                          "they separate, so elements lie over each other");
}
