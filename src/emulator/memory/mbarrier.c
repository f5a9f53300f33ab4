/* mbarrier objects; PTX ISA 9.0, section 9.7.13.15. The state lives beside shared memory
 * (pg_mbarrier); the 64-bit word in shared memory is a mirror of it, so that copying or dumping
 * shows something sensible. A phase completes when no arrival and no byte is outstanding; the
 * count of completed phases is kept whole, which is how a wait for an older phase can be told
 * from one for the right phase. */
#include "emulator/memory/barrier.h"

#include "emulator/machine/lanes.h"
#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
#include "emulator/machine/observer.h"

#include <stdio.h>

enum { MAX_COUNT = (1 << 20) - 1 };

pg_mbarrier *pg_mbarrier_find(const pg_cta *cta, uint32_t offset)
{
    if (offset % PG_MBARRIER_BYTES || offset >= cta->shared_bytes)
        return NULL;
    const uint16_t slot = cta->mbarrier_slots[offset / PG_MBARRIER_BYTES];
    return slot && cta->mbarriers[slot - 1].valid ? &cta->mbarriers[slot - 1] : NULL;
}

bool pg_shared_target(pg_warp *w, pg_space space, uint64_t address, pg_cta **cta, uint32_t *offset)
{
    if (space == PG_MEM_GENERIC) {
        if (pg_generic_space(address, &address) != PG_MEM_CLUSTER)
            return false;
    } else {
        address = (uint32_t)address;
    }
    if (address >> 32 || !pg_cluster_at(w->cta, (uint32_t)address, PG_MBARRIER_BYTES, cta))
        return false;
    *offset = PG_SHARED_OFFSET(address);
    return space != PG_MEM_SHARED || *cta == w->cta;
}

/* phase | pending arrivals, the state that arrive returns and the mirror in memory. */
static uint64_t state_word(const pg_mbarrier *b)
{
    return b->phase << 20 | b->pending;
}

static void mirror(const pg_cta *cta, const pg_mbarrier *b)
{
    const uint64_t word = state_word(b);
    memcpy(cta->shared + b->offset, &word, sizeof word);
}

/* The barrier an operand of one lane names, or NULL with a report. */
static pg_mbarrier *operand_barrier(pg_warp *w, const pg_op *op, uint64_t address, pg_cta **cta)
{
    uint32_t offset = 0;
    if (!pg_shared_target(w, (pg_space)op->space, address, cta, &offset)) {
        const bool remote =
            op->space == PG_MEM_SHARED && address >> PG_SHARED_RANK_SHIFT != w->cta->rank;
        pg_stop(w, op, PTXGEN_EEMULATOR,
                remote ? "mbarrier address 0x%llx belongs to another CTA of the cluster: only the "
                         ".shared::cluster forms reach it"
                       : "mbarrier address 0x%llx is not in shared memory",
                (unsigned long long)address);
        return NULL;
    }
    pg_mbarrier *b = pg_mbarrier_find(*cta, offset);
    if (!b)
        pg_stop(w, op, PTXGEN_EEMULATOR, "there is no mbarrier at shared offset %u of CTA %u: %s",
                offset, (*cta)->rank,
                offset % 8 ? "the address is not a multiple of 8"
                           : "it was never initialised or was invalidated");
    return b;
}

static pg_mbarrier *new_barrier(pg_warp *w, uint32_t offset)
{
    pg_cta *cta = w->cta;
    uint16_t *slot = &cta->mbarrier_slots[offset / PG_MBARRIER_BYTES];
    if (*slot)
        return &cta->mbarriers[*slot - 1];
    if (cta->mbarrier_count == cta->mbarrier_capacity) {
        const pg_alloc *alloc = w->launch->alloc;
        const uint32_t old = cta->mbarrier_capacity, grown = old ? 2 * old : 16;
        pg_mbarrier *more =
            alloc->realloc(alloc->user, cta->mbarriers, old * sizeof *more, grown * sizeof *more);
        if (!more)
            return NULL;
        cta->mbarriers = more;
        cta->mbarrier_capacity = grown;
    }
    *slot = (uint16_t)++cta->mbarrier_count;
    pg_mbarrier *b = &cta->mbarriers[*slot - 1];
    *b = (pg_mbarrier){.offset = offset};
    return b;
}

/* rows[0]: count */
pg_step pg_op_mbarrier_init(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, op, lanes, address);
    const uint32_t *count = pg_row_at(w, op->rows[0]);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_cta *cta;
        uint32_t offset;
        if (!pg_shared_target(w, (pg_space)op->space, address[l], &cta, &offset) || cta != w->cta ||
            offset % 8)
            return pg_stop(
                w, op, PTXGEN_EEMULATOR,
                "mbarrier.init at 0x%llx: not an 8-byte aligned address in the own shared memory, "
                "whose dynamic part has %u bytes (launch.dynamic_shared)",
                (unsigned long long)address[l], w->launch->dynamic_shared);
        if (count[l] == 0 || count[l] > MAX_COUNT)
            return pg_stop(w, op, PTXGEN_EEMULATOR, "mbarrier.init: count %u is not in 1..%d",
                           count[l], MAX_COUNT);
        pg_mbarrier *b = new_barrier(w, offset);
        if (!b) {
            pg_stop_memory(w->launch, sizeof *b);
            return PG_STOP;
        }
        const bool was_valid = b->valid;
        *b = (pg_mbarrier){.offset = offset,
                           .expected = count[l],
                           .pending = count[l],
                           .valid = true,
                           .init_line = op->line,
                           .check = b->check};
        mirror(cta, b);
        PG_OBSERVE(w->launch, mbarrier_init, w, op, l, b, was_valid);
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}

pg_step pg_op_mbarrier_inval(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, op, lanes, address);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_cta *cta;
        pg_mbarrier *b = operand_barrier(w, op, address[l], &cta);
        if (!b)
            return PG_STOP;
        PG_OBSERVE(w->launch, mbarrier_inval, w, op, l, b);
        b->valid = false;
        b->inval_line = op->line;
    }
    return PG_NEXT;
}

static void try_complete(pg_cta *cta, pg_mbarrier *b)
{
    cta->cluster->progress++;
    if (b->pending == 0 && b->tx == 0) {
        b->phase++;
        b->pending = b->expected;
        PG_OBSERVE(cta->cluster->launch, mbarrier_phase, cta, b);
        pg_wake_all(cta, PG_WAIT_MBARRIER, b->offset);
    }
    mirror(cta, b);
}

static bool add_bytes(pg_warp *w, const pg_op *op, pg_mbarrier *b, int64_t bytes)
{
    const int64_t tx = b->tx + bytes;
    if (tx > MAX_COUNT || tx < -MAX_COUNT) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "mbarrier at shared offset %u: the byte count would be %lld, outside +-%d",
                b->offset, (long long)tx, MAX_COUNT);
        return false;
    }
    b->tx = (int32_t)tx;
    return true;
}

static bool take_arrivals(pg_warp *w, const pg_op *op, pg_mbarrier *b, uint32_t count)
{
    if (count == 0 || count > b->pending) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "mbarrier at shared offset %u, phase %llu: %u arrivals, but only %u of %u are "
                "pending%s",
                b->offset, (unsigned long long)b->phase, count, b->pending, b->expected,
                b->tx ? " (the phase still waits for bytes)" : "");
        return false;
    }
    b->pending -= count;
    return true;
}

/* rows[0]: count, or bytes with PG_MBAR_EXPECT_TX; d: state */
pg_step pg_op_mbarrier_arrive(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, op, lanes, address);
    const uint32_t *operand = op->row_count ? pg_row_at(w, op->rows[0]) : NULL;
    uint64_t *state = !(op->mode & PG_MBAR_RESULT) ? NULL : pg_row_at(w, op->d);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_cta *cta;
        pg_mbarrier *b = operand_barrier(w, op, address[l], &cta);
        if (!b)
            return PG_STOP;
        const uint64_t before = state_word(b);
        const bool expects = (op->mode & PG_MBAR_EXPECT_TX) != 0;
        const uint32_t count = !expects && operand ? operand[l] : 1;
        if (expects && !add_bytes(w, op, b, operand[l]))
            return PG_STOP;
        if (expects && operand[l])
            PG_OBSERVE(w->launch, mbarrier_expect, w, op, l, b);
        if (!take_arrivals(w, op, b, count))
            return PG_STOP;
        if (op->mode & PG_MBAR_DROP)
            b->expected -= count < b->expected ? count : b->expected;
        if (state)
            state[l] = before;
        PG_OBSERVE(w->launch, mbarrier_arrive, w, op, l, cta, b);
        try_complete(cta, b);
    }
    return PG_NEXT;
}

static pg_step change_bytes(pg_warp *w, const pg_op *op, uint32_t lanes, int sign)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, op, lanes, address);
    const uint32_t *bytes = pg_row_at(w, op->rows[0]);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_cta *cta;
        pg_mbarrier *b = operand_barrier(w, op, address[l], &cta);
        if (!b || !add_bytes(w, op, b, sign * (int64_t)bytes[l]))
            return PG_STOP;
        if (sign > 0 && bytes[l])
            PG_OBSERVE(w->launch, mbarrier_expect, w, op, l, b);
        try_complete(cta, b);
    }
    return PG_NEXT;
}

pg_step pg_op_mbarrier_expect_tx(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return change_bytes(w, op, lanes, 1);
}

pg_step pg_op_mbarrier_complete_tx(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return change_bytes(w, op, lanes, -1);
}

/* Whether the phase that `wanted` names (a parity or a state) has completed. */
static bool phase_done(const pg_mbarrier *b, const pg_op *op, uint64_t wanted)
{
    if (op->mode & PG_MBAR_PARITY)
        return (b->phase & 1) != (wanted & 1);
    return b->phase > wanted >> 20;
}

/* How long try_wait waits before it answers "not yet" is the machine's choice: with order=isa at
 * times not at all. */
static bool is_impatient(const pg_warp *w)
{
    enum { ONE_IN = 8 };
    return w->launch->isa_order && pg_worker_random(w->cta->cluster->worker) % ONE_IN == 0;
}

/* rows[0]: parity (32-bit row) or state (64-bit row); p: result */
pg_step pg_op_mbarrier_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, op, lanes, address);
    const void *row = pg_row_at(w, op->rows[0]);
    pg_group *g = pg_running_group(w);
    uint32_t done = 0;
    bool same = true;
    pg_mbarrier *b = NULL;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_cta *cta;
        pg_mbarrier *mine = operand_barrier(w, op, address[l], &cta);
        if (!mine)
            return PG_STOP;
        same &= !b || b == mine;
        b = mine;
        const uint64_t wanted =
            op->mode & PG_MBAR_PARITY ? ((const uint32_t *)row)[l] : ((const uint64_t *)row)[l];
        done |= (uint32_t)phase_done(b, op, wanted) << l;
        PG_OBSERVE(w->launch, mbarrier_wait, w, op, l, b,
                   (pg_observed_wait){wanted, (done >> l & 1) != 0});
    }
    const bool timed_out = g->wait.timed_out;
    g->wait.timed_out = false;
    if (!done && (op->mode & PG_MBAR_TRY) && same && !timed_out && !is_impatient(w))
        return pg_block(
            w, (pg_wait){
                   .kind = PG_WAIT_MBARRIER, .key = b->offset, .phase = b->phase, .again = true});
    pg_pred_write(w, op->p, lanes, done);
    if (done == lanes)
        return PG_NEXT;
    pg_note_poll(w, op, b->offset);
    return PG_YIELD;
}

pg_step pg_op_mbarrier_pending_count(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t *d = pg_row_at(w, op->d);
    const uint64_t *a = pg_row_at(w, op->a);
    PG_EACH_LANE(lanes, d[l] = (uint32_t)a[l] & MAX_COUNT);
    return PG_NEXT;
}

/* The line that invalidated the mbarrier that was at a place; 0: none was. */
static uint32_t inval_line_at(const pg_cta *cta, uint32_t offset)
{
    if (offset % PG_MBARRIER_BYTES || offset >= cta->shared_bytes)
        return 0;
    const uint16_t slot = cta->mbarrier_slots[offset / PG_MBARRIER_BYTES];
    return slot ? cta->mbarriers[slot - 1].inval_line : 0;
}

static bool stop_without_barrier(pg_warp *w, const pg_op *op, const pg_mbarrier_signal *s)
{
    const uint32_t line = inval_line_at(s->cta, s->offset);
    char why[80] = "there is no mbarrier";
    if (line)
        snprintf(why, sizeof why, "line %u has invalidated the mbarrier", line);
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "this asynchronous %s completes on shared offset %u of CTA %u, where %s",
            s->arrivals ? "arrival" : "copy", s->offset, s->cta->rank, why);
    return false;
}

bool pg_mbarrier_signal_completion(pg_warp *w, const pg_op *op, const pg_mbarrier_signal *s)
{
    pg_mbarrier *b = pg_mbarrier_find(s->cta, s->offset);
    if (!b)
        return stop_without_barrier(w, op, s);
    if (s->bytes && !add_bytes(w, op, b, -(int64_t)s->bytes))
        return false;
    if (s->arrivals && !take_arrivals(w, op, b, s->arrivals))
        return false;
    try_complete(s->cta, b);
    return true;
}
