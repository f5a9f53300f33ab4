/* Issuing bulk copies: cp.async.bulk and cp.reduce.async.bulk. PTX ISA 9.0, 9.7.9.25.4; bulk.h
 * has what tensor copies share. */
#include "emulator/copy/bulk.h"

#include "emulator/machine/memory.h"

enum { BULK_ALIGN = 16 };

static uint64_t lane_address(const pg_warp *w, const pg_op *operand, uint32_t lane)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, operand, 1u << lane, address);
    return address[lane];
}

pg_bulk_lane pg_bulk_read_operands(const pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    pg_bulk_lane r = {.target = lane_address(w, op, lane),
                      .source = lane_address(w, &o->source, lane)};
    if (o->has_barrier)
        r.barrier = lane_address(w, &o->barrier, lane);
    if (!o->rank)
        r.bytes = ((const uint32_t *)pg_row_at(w, o->bytes))[lane];
    return r;
}

bool pg_bulk_fault(pg_warp *w, const pg_op *op, pg_fault f, const char *what)
{
    f.what = what;
    pg_stop_fault(w, op, &f);
    return false;
}

/* Global side of a copy. */
static bool global_side(pg_warp *w, const pg_op *op, pg_fault f, uint8_t **at)
{
    f.space = PG_MEM_GLOBAL;
    *at = pg_global_at(w->cta->cluster->worker, f.address, f.bytes, f.write);
    if (!*at)
        return pg_bulk_fault(w, op, f, "is out of bounds");
    return f.address % BULK_ALIGN ? pg_bulk_fault(w, op, f, "is not 16-byte aligned") : true;
}

/* Shared side: `space` as the operand says; also accepts generic addresses. */
bool pg_bulk_shared_side(pg_warp *w, const pg_op *op, pg_fault f, pg_cta **cta, uint8_t **at)
{
    uint64_t address = f.address;
    if (f.space == PG_MEM_GENERIC && pg_generic_space(f.address, &address) != PG_MEM_CLUSTER)
        return pg_bulk_fault(w, op, f, "is not in shared memory");
    *at = address >> 32 ? NULL : pg_cluster_at(w->cta, (uint32_t)address, f.bytes, cta);
    if (!*at || (f.space == PG_MEM_SHARED && *cta != w->cta))
        return pg_bulk_fault(w, op, f, "is out of bounds");
    return address % BULK_ALIGN ? pg_bulk_fault(w, op, f, "is not 16-byte aligned") : true;
}

static bool check_size(pg_warp *w, const pg_op *op, uint32_t lane, uint32_t bytes)
{
    if (bytes % BULK_ALIGN == 0)
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "bulk copy of %u bytes in lane %u: the size must be a multiple of 16", bytes, lane);
    return false;
}

/* The barrier that a load into `cta` signals. */
bool pg_bulk_barrier_side(pg_warp *w, const pg_op *op, uint64_t address, pg_mbarrier_signal *signal)
{
    const pg_bulk_operands *o = op->extra;
    pg_cta *cta = NULL;
    uint32_t offset = 0;
    if (!pg_shared_target(w, (pg_space)o->barrier.space, address, &cta, &offset) ||
        !pg_mbarrier_find(cta, offset)) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "there is no mbarrier at 0x%llx, which this copy is to complete on: it must be "
                "initialised first",
                (unsigned long long)address);
        return false;
    }
    *signal = (pg_mbarrier_signal){.cta = cta, .offset = offset};
    return true;
}

uint16_t pg_bulk_multicast(const pg_warp *w, const pg_bulk_operands *o, uint32_t lane)
{
    return o->has_multicast ? ((const uint16_t *)pg_row_at(w, o->multicast))[lane] : 0;
}

/* A mask must name CTAs of this cluster. */
bool pg_bulk_check_mask(pg_warp *w, const pg_op *op, uint16_t mask)
{
    const uint32_t ctas = w->cta->cluster->cta_count;
    const pg_bulk_operands *o = op->extra;
    if (!o->has_multicast || (mask && (uint32_t)mask >> ctas == 0))
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "multicast mask 0x%x names no CTA, or one that a cluster of %u lacks", mask, ctas);
    return false;
}

static pg_async_bulk *new_bulk(pg_warp *w, const pg_op *op, const pg_async_kind *kind,
                               uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    pg_async_bulk *b = pg_async_new(w, op, kind, lane);
    if (b) {
        b->reduce = o->reduce;
        b->type = o->type;
    }
    return b;
}

static void set_sides(pg_async_bulk *b, const pg_bulk_lane *in, uint8_t *source, uint8_t *target)
{
    b->source = source;
    b->target = target;
    b->source_address = in->source;
    b->target_address = in->target;
    b->bytes = in->bytes;
}

static bool issue_bulk_load(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    const pg_bulk_lane in = pg_bulk_read_operands(w, op, lane);
    pg_cta *cta = NULL, *source_cta = NULL;
    uint8_t *target, *source;
    if (!check_size(w, op, lane, in.bytes) ||
        !pg_bulk_shared_side(w, op,
                             (pg_fault){lane, (pg_space)op->space, in.target, in.bytes, true, NULL},
                             &cta, &target))
        return false;
    const pg_fault from = {lane, (pg_space)o->source.space, in.source, in.bytes, false, NULL};
    if (o->source.space == PG_MEM_SHARED ? !pg_bulk_shared_side(w, op, from, &source_cta, &source)
                                         : !global_side(w, op, from, &source))
        return false;
    pg_async_bulk *b = new_bulk(w, op, &pg_kind_bulk_load, lane);
    if (!b)
        return false;
    set_sides(b, &in, source, target);
    b->target_cta = cta;
    b->cta_mask = pg_bulk_multicast(w, o, lane);
    if (!pg_bulk_check_mask(w, op, b->cta_mask) ||
        !pg_bulk_barrier_side(w, op, in.barrier, &b->signal)) {
        pg_async_free(w->cta->cluster, &b->head);
        return false;
    }
    b->signal.bytes = in.bytes;
    pg_async_issue(&b->head);
    return true;
}

/* .cp_mask: the bytes of each 16 that are copied. */
static uint16_t byte_mask(const pg_warp *w, const pg_bulk_operands *o, uint32_t lane)
{
    return o->has_byte_mask ? ((const uint16_t *)pg_row_at(w, o->byte_mask))[lane] : UINT16_MAX;
}

static bool issue_bulk_store(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    const pg_bulk_lane in = pg_bulk_read_operands(w, op, lane);
    const pg_warp_async *counters = pg_async_counters(w);
    pg_cta *source_cta = NULL;
    uint8_t *target, *source;
    if (!counters || !check_size(w, op, lane, in.bytes) ||
        !pg_bulk_shared_side(
            w, op, (pg_fault){lane, (pg_space)o->source.space, in.source, in.bytes, false, NULL},
            &source_cta, &source) ||
        !global_side(w, op, (pg_fault){lane, PG_MEM_GLOBAL, in.target, in.bytes, true, NULL},
                     &target))
        return false;
    pg_async_bulk *b =
        new_bulk(w, op, o->is_reduction ? &pg_kind_bulk_reduce : &pg_kind_bulk_store, lane);
    if (!b)
        return false;
    set_sides(b, &in, source, target);
    b->byte_mask = byte_mask(w, o, lane);
    b->head.group = counters->bulk_commits[lane];
    pg_async_issue(&b->head);
    return true;
}

static bool issue_reduce_cluster(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    const pg_bulk_lane in = pg_bulk_read_operands(w, op, lane);
    pg_cta *source_cta = NULL, *cta = NULL;
    uint8_t *target, *source;
    if (!check_size(w, op, lane, in.bytes) ||
        !pg_bulk_shared_side(
            w, op, (pg_fault){lane, (pg_space)o->source.space, in.source, in.bytes, false, NULL},
            &source_cta, &source) ||
        !pg_bulk_shared_side(w, op,
                             (pg_fault){lane, (pg_space)op->space, in.target, in.bytes, true, NULL},
                             &cta, &target))
        return false;
    pg_async_bulk *b = new_bulk(w, op, &pg_kind_bulk_reduce_shared, lane);
    if (!b)
        return false;
    set_sides(b, &in, source, target);
    b->target_cta = cta;
    if (!pg_bulk_barrier_side(w, op, in.barrier, &b->signal)) {
        pg_async_free(w->cta->cluster, &b->head);
        return false;
    }
    b->signal.bytes = in.bytes;
    pg_async_issue(&b->head);
    return true;
}

pg_step pg_bulk_each_lane(pg_warp *w, const pg_op *op, uint32_t lanes,
                          bool (*issue)(pg_warp *, const pg_op *, uint32_t))
{
    for (uint32_t left = lanes; left; left &= left - 1)
        if (!issue(w, op, (uint32_t)__builtin_ctz(left)))
            return PG_STOP;
    w->cta->cluster->progress++;
    return PG_NEXT;
}

pg_step pg_op_bulk_load(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return pg_bulk_each_lane(w, op, lanes, issue_bulk_load);
}

pg_step pg_op_bulk_store(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return pg_bulk_each_lane(w, op, lanes, issue_bulk_store);
}

pg_step pg_op_bulk_reduce_cluster(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return pg_bulk_each_lane(w, op, lanes, issue_reduce_cluster);
}
