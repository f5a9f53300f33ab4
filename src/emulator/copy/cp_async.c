/* Issuing cp.async, cp.async.mbarrier.arrive, st.async and red.async. PTX ISA 9.0, 9.7.9.25.3,
 * 9.7.9.12 and 9.7.13.7. */
#include "emulator/copy/copies.h"

#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"

/* Where lanes read from: aligned to `size` bytes, of which only the first bytes[lane] must
 * exist. */
static bool resolve_sources(pg_warp *w, const pg_op *source, uint32_t lanes, const uint8_t *bytes,
                            uint8_t **from)
{
    const uint32_t size = source->size;
    uint64_t address[PG_LANES];
    uint32_t whole = 0;
    pg_addresses(w, source, lanes, address);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        whole |= (uint32_t)(bytes[l] == size || address[l] % size) << l;
    }
    if (whole && !pg_resolve_async(w, source, whole, size, PG_ACCESS_READ, from))
        return false;
    for (uint32_t left = lanes & ~whole; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        uint8_t *last[PG_LANES];
        pg_op end = *source;
        end.imm += bytes[l] - 1U;
        if (!pg_resolve_async(w, source, 1U << l, 1, PG_ACCESS_READ, from) ||
            !pg_resolve_async(w, &end, 1U << l, 1, PG_ACCESS_READ, last))
            return false;
    }
    return true;
}

pg_step pg_op_cp_async(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_bulk_operands *o = op->extra;
    const pg_warp_async *n = pg_async_counters(w);
    pg_async_copy *c =
        n ? pg_async_new(w, op, &pg_kind_copy, (uint32_t)__builtin_ctz(lanes)) : NULL;
    if (!c)
        return PG_STOP;
    const uint32_t *limit = pg_row_at(w, o->bytes);
    const uint32_t ignored = op->q ? pg_pred_lanes(w, op->q, op->q_not) : 0;
    uint32_t reading = 0;
    c->lanes = lanes;
    c->bytes = op->size;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint32_t bytes = ignored >> l & 1 ? 0 : limit[l] < op->size ? limit[l] : op->size;
        c->source_bytes[l] = (uint8_t)bytes;
        c->group[l] = n->copy_commits[l];
        reading |= (uint32_t)(bytes != 0) << l;
    }
    /* The source is `size` bytes as far as alignment goes, but only the copied part must exist. */
    pg_op source = o->source;
    source.run = op->run;
    source.line = op->line;
    source.opcode = op->opcode;
    source.size = op->size;
    uint8_t *from[PG_LANES] = {NULL};
    if (!pg_resolve_async(w, op, lanes, op->size, PG_ACCESS_WRITE, c->target) ||
        !resolve_sources(w, &source, reading, c->source_bytes, from)) {
        pg_async_free(w->cta->cluster, &c->head);
        return PG_STOP;
    }
    for (int l = 0; l < PG_LANES; l++)
        c->source[l] = from[l];
    pg_addresses(w, op, lanes, c->target_address);
    pg_addresses(w, &source, lanes, c->source_address);
    w->cta->cluster->progress++;
    pg_async_issue(&c->head);
    return PG_NEXT;
}

pg_step pg_op_cp_async_arrive(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, op, lanes, address);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_mbarrier_signal s = {.arrivals = 1};
        pg_mbarrier *b = NULL;
        if (pg_shared_target(w, (pg_space)op->space, address[l], &s.cta, &s.offset))
            b = pg_mbarrier_find(s.cta, s.offset);
        if (!b)
            return pg_stop(w, op, PTXGEN_EEMULATOR, "there is no mbarrier at 0x%llx",
                           (unsigned long long)address[l]);
        if (!op->mode) /* not .noinc: the arrival that follows is an extra one */
            b->pending++;
        pg_async_arrive *a = pg_async_new(w, op, &pg_kind_arrive, (uint32_t)l);
        if (!a)
            return PG_STOP;
        a->signal = s;
        a->head.group = w->async ? w->async->copy_commits[l] : 0;
        pg_async_issue(&a->head);
    }
    return PG_NEXT;
}

pg_step pg_op_remote_async(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_bulk_operands *o = op->extra;
    const uint32_t bytes = (uint32_t)op->size * op->count;
    uint8_t *at[PG_LANES];
    uint64_t barrier[PG_LANES], address[PG_LANES];
    if (!pg_resolve_async(w, op, lanes, bytes, PG_ACCESS_WRITE, at))
        return PG_STOP;
    pg_addresses(w, &o->barrier, lanes, barrier);
    pg_addresses(w, op, lanes, address);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_async_remote *r = pg_async_new(w, op, &pg_kind_remote, (uint32_t)l);
        if (!r)
            return PG_STOP;
        r->target = at[l];
        r->target_address = address[l];
        r->bytes = bytes;
        r->reduce = o->reduce;
        r->type = o->type;
        r->is_reduction = o->is_reduction;
        for (uint32_t e = 0; e < op->count; e++)
            memcpy(r->data + e * op->size,
                   (const char *)pg_row_at(w, op->rows[e]) + (size_t)l * op->lane_bytes, op->size);
        r->signal.bytes = bytes;
        if (!pg_shared_target(w, (pg_space)o->barrier.space, barrier[l], &r->signal.cta,
                              &r->signal.offset) ||
            !pg_mbarrier_find(r->signal.cta, r->signal.offset)) {
            pg_async_free(w->cta->cluster, &r->head);
            return pg_stop(w, op, PTXGEN_EEMULATOR, "there is no mbarrier at 0x%llx",
                           (unsigned long long)barrier[l]);
        }
        pg_async_issue(&r->head);
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}
