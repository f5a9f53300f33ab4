/* Checking mode: registers that nothing has written (decode/watch.h), values of lanes that do
 * not take part, local memory, and setmaxnreg. An undefined value is no defect until it has an
 * effect: it is followed until it is an address, decides a branch or is stored to global memory. */
#include "emulator/check/state.h"

#include "emulator/decode/watch.h"

#include <stdio.h>

/* What is kept about a warp's watched registers. */
struct pg_watched {
    uint32_t defined; /* lanes */
    uint32_t origin;  /* op + 1 that left lanes undefined; 0: nothing has written them */
};

static pg_watched *watched_of(pg_warp *w)
{
    pg_warp_check *k = pg_warp_check_of(w);
    if (!k->watched)
        k->watched = pg_alloc_zero(w->launch->alloc,
                                   w->launch->program->watched_registers * sizeof *k->watched);
    return k->watched;
}

void pg_check_registers_free(pg_warp *w)
{
    pg_warp_check *k = pg_warp_check_of(w);
    const pg_grid_run *launch = w->launch;
    if (k->watched)
        pg_free(launch->alloc, k->watched, launch->program->watched_registers * sizeof *k->watched);
    if (k->local_written)
        pg_free(launch->alloc, k->local_written, (size_t)launch->local_bytes * sizeof(uint32_t));
    k->watched = NULL;
    k->local_written = NULL;
}

/* ---- effects ---- */

static void complain(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t number)
{
    const pg_program *p = w->launch->program;
    const uint32_t origin = watched_of(w)[number].origin;
    const pg_op *by = origin ? &p->ops[origin - 1] : NULL;
    const bool carry = number == PG_WATCH_CARRY, shuffled = by && by->space != PG_MEM_LOCAL;
    const pg_check_conflict c = {.warp = w,
                                 .op = op,
                                 .lane = (uint32_t)__builtin_ctz(lanes),
                                 .kind = carry      ? PTXGEN_EMULATOR_REPORT_CARRY
                                         : !by      ? PTXGEN_EMULATOR_REPORT_UNDEFINED_REGISTER
                                         : shuffled ? PTXGEN_EMULATOR_REPORT_INACTIVE_LANE
                                                    : PTXGEN_EMULATOR_REPORT_UNINITIALIZED,
                                 .other = by,
                                 .where = p->watched_names[number],
                                 .object = p->watched_names[number]};
    pg_check_report_conflict(
        &c, carry ? "no instruction with .cc has set the carry flag since the thread began or last "
                    "called a function"
            : !by ? "nothing has written this register on the way here"
            : shuffled ? "the value comes from a lane that did not take part in the shfl"
                       : "the value comes from local memory that nothing has written");
}

static void note_use(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t number)
{
    pg_watched *r = &watched_of(w)[number];
    if (!(lanes & ~r->defined))
        return;
    complain(w, op, lanes & ~r->defined, number);
    r->defined |= lanes; /* once */
}

/* ---- results ---- */

/* Lanes in which what is combined (pg_combined) has a defined result. Of two destinations one has
 * the comparison's complement, which decides otherwise. */
static uint32_t defined_combined(const pg_warp *w, const pg_op *op, const pg_watch *x,
                                 const uint32_t each[3])
{
    const pg_combined of = pg_watch_combined(w, op, x);
    const uint32_t last = each[x->source_count - 1], first = x->source_count > 2 ? each[0] & each[1]
                                                             : x->source_count > 1 ? each[0]
                                                                                   : PG_ALL_LANES;
    const uint32_t by_first = x->result_count > 1 ? 0 : first & ~(of.value[0] ^ of.decides);
    return (first & last) | by_first | (last & ~(of.value[1] ^ of.decides));
}

/* Lanes in which the result is defined; *origin: of the values that are not. */
static uint32_t defined_result(const pg_warp *w, const pg_watched *all, const pg_op *op,
                               uint32_t *origin)
{
    const pg_watch *x = &w->launch->program->watches[pg_pc_of(w, op)];
    uint32_t every = PG_ALL_LANES, some = 0, each[3] = {PG_ALL_LANES, PG_ALL_LANES, PG_ALL_LANES};
    for (uint32_t i = 0; i < x->source_count; i++) {
        const uint32_t n = x->sources[i];
        const uint32_t lanes = n == PG_NOT_WATCHED ? PG_ALL_LANES : all[n].defined;
        every &= lanes;
        some |= lanes;
        if (i < 3)
            each[i] = lanes;
        if (n != PG_NOT_WATCHED && ~lanes)
            *origin = all[n].origin;
    }
    if (x->kind == PG_WATCH_DEFINE || x->kind == PG_WATCH_FORGET || !x->source_count)
        return PG_ALL_LANES;
    if (x->kind == PG_WATCH_SELECT && x->source_count == 3) {
        const uint32_t chosen = pg_pred_lanes(w, op->q, op->q_not);
        return each[2] & ((each[0] & chosen) | (each[1] & ~chosen));
    }
    if (x->kind == PG_WATCH_COMBINE)
        return defined_combined(w, op, x, each);
    return x->kind == PG_WATCH_ALL ? every : some;
}

void pg_check_watch(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_watch *x = &w->launch->program->watches[pg_pc_of(w, op)];
    pg_watched *all = watched_of(w);
    uint32_t origin = 0;
    if (!all)
        return;
    for (uint32_t i = 0; i < x->used_count; i++)
        note_use(w, op, lanes, x->used[i]);
    const uint32_t defined = defined_result(w, all, op, &origin);
    for (uint32_t i = 0; i < x->result_count; i++) {
        if (x->results[i] == PG_NOT_WATCHED)
            continue;
        pg_watched *r = &all[x->results[i]];
        r->defined = (r->defined & ~lanes) | (lanes & defined);
        if (lanes & ~defined)
            r->origin = origin;
    }
    if (x->kind == PG_WATCH_FORGET)
        all[PG_WATCH_CARRY].defined &= ~lanes;
}

/* The instruction leaves element `i` of its result undefined in these lanes. */
static void leave_undefined(pg_warp *w, const pg_op *op, uint32_t i, uint32_t lanes)
{
    const pg_program *p = w->launch->program;
    const pg_watch *x = p->watches ? &p->watches[pg_pc_of(w, op)] : NULL;
    pg_watched *all = x && i < x->result_count ? watched_of(w) : NULL;
    if (!all || x->results[i] == PG_NOT_WATCHED)
        return;
    all[x->results[i]].defined &= ~lanes;
    all[x->results[i]].origin = pg_pc_of(w, op) + 1;
}

void pg_check_shuffle(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t undefined)
{
    const pg_program *p = w->launch->program;
    const pg_watch *x = p->watches ? &p->watches[pg_pc_of(w, op)] : NULL;
    if (x && x->result_count && x->results[0] != PG_NOT_WATCHED && watched_of(w))
        watched_of(w)[x->results[0]].defined |= lanes;
    if (undefined)
        leave_undefined(w, op, 0, undefined);
}

/* ---- local memory ---- */

/* By byte of local memory: the lanes that have written it. */
static uint32_t *local_written_of(pg_warp *w)
{
    pg_warp_check *k = pg_warp_check_of(w);
    if (!k->local_written)
        k->local_written =
            pg_alloc_zero(w->launch->alloc, (size_t)w->launch->local_bytes * sizeof(uint32_t));
    return k->local_written;
}

void pg_check_local_write(pg_warp *w, uint32_t lane, uint64_t address, uint64_t bytes)
{
    uint32_t *written = local_written_of(w);
    for (uint64_t i = address; written && i < address + bytes && i < w->launch->local_bytes; i++)
        written[i] |= 1u << lane;
}

void pg_check_local_read(pg_warp *w, const pg_op *op, uint32_t lane, uint64_t address)
{
    const uint32_t *written = local_written_of(w);
    for (uint32_t e = 0; written && e < op->count; e++) {
        uint32_t any = 0;
        for (uint32_t i = 0; i < op->size; i++)
            any |= written[address + e * op->size + i];
        if (!(any >> lane & 1))
            leave_undefined(w, op, e, 1u << lane);
    }
}

/* ---- setmaxnreg ---- */

enum { GROUP_WARPS = 4, FILE_REGISTERS = 65536 };

static void complain_of_count(pg_warp *w, const pg_op *op, const pg_op *other, const char *text)
{
    const pg_check_conflict c = {.warp = w,
                                 .op = op,
                                 .lane = 0,
                                 .kind = PTXGEN_EMULATOR_REPORT_REGISTER_COUNT,
                                 .other = other,
                                 .where = ""};
    pg_check_report_conflict(&c, text);
}

/* Registers of the CTA's warps that have said how many they want; the others' number is the
 * assembler's. */
static void check_file(pg_warp *w, const pg_op *op)
{
    const pg_cta *cta = w->cta;
    const uint32_t ctas = w->launch->entry->min_ctas ? w->launch->entry->min_ctas : 1;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < cta->warp_count; i++)
        sum += PG_LANES * pg_warp_check_of(&cta->warps[i])->registers;
    char text[160];
    snprintf(text, sizeof text,
             "the warps of the CTA ask for %llu registers; %u CTA%s of them share the %d of an SM",
             (unsigned long long)sum, ctas, ctas > 1 ? "s" : "", FILE_REGISTERS);
    if (sum * ctas > FILE_REGISTERS)
        complain_of_count(w, op, NULL, text);
}

void pg_check_setmaxnreg(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_warp_check *k = pg_warp_check_of(w);
    k->registers = (uint32_t)op->imm;
    k->register_op = op;
    k->register_changes++;
    if (w->live & ~lanes)
        complain_of_count(w, op, NULL, "only some lanes of the warp execute this setmaxnreg");
    for (uint32_t i = w->index / GROUP_WARPS * GROUP_WARPS; i < w->index; i++) {
        const pg_warp_check *other = pg_warp_check_of(&w->cta->warps[i]);
        if (other->register_changes == k->register_changes && other->registers != k->registers)
            complain_of_count(w, op, other->register_op,
                              "warps of one warpgroup ask for different numbers of registers");
    }
    check_file(w, op);
}

void pg_check_register_counts(pg_cta *cta)
{
    for (uint32_t i = 0; i < cta->warp_count; i++) {
        const pg_warp_check *k = pg_warp_check_of(&cta->warps[i]);
        const uint32_t first = i / GROUP_WARPS * GROUP_WARPS;
        for (uint32_t n = first; n < first + GROUP_WARPS && n < cta->warp_count; n++)
            if (k->register_op &&
                pg_warp_check_of(&cta->warps[n])->register_changes < k->register_changes) {
                complain_of_count(&cta->warps[i], k->register_op, NULL,
                                  "not all four warps of the warpgroup execute this setmaxnreg");
                return;
            }
    }
}
