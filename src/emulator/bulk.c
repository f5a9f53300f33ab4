/* Issuing bulk and tensor copies: cp.async.bulk, cp.reduce.async.bulk and their tensor forms. One thread issues
 * one copy; addresses are checked here, so that a fault names this instruction. PTX ISA 9.0, 9.7.9.25. */
#include "emulator/async.h"

#include "emulator/check.h"
#include "emulator/memory.h"
#include "emulator/report.h"

enum { BULK_ALIGN = 16, TENSOR_SHARED_ALIGN = 128 };

/* What the lane's operands say. */
typedef struct lane_operands {
    uint64_t target, source, barrier;
    uint32_t bytes;
} lane_operands;

static uint64_t lane_address(const pg_warp *w, const pg_op *operand, uint32_t lane)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, operand, 1u << lane, address);
    return address[lane];
}

static lane_operands read_operands(const pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    lane_operands r = {.target = lane_address(w, op, lane),
                       .source = lane_address(w, &o->source, lane)};
    if (o->has_barrier)
        r.barrier = lane_address(w, &o->barrier, lane);
    if (!o->rank)
        r.bytes = ((const uint32_t *)pg_row_at(w, o->bytes))[lane];
    return r;
}

static bool fault(pg_warp *w, const pg_op *op, pg_fault f, const char *what)
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
        return fault(w, op, f, "is out of bounds");
    return f.address % BULK_ALIGN ? fault(w, op, f, "is not 16-byte aligned") : true;
}

/* Shared side: `space` as the operand says; also accepts generic addresses. */
static bool shared_side(pg_warp *w, const pg_op *op, pg_fault f, pg_cta **cta, uint8_t **at)
{
    uint64_t address = f.address;
    if (f.space == PG_MEM_GENERIC && pg_generic_space(f.address, &address) != PG_MEM_CLUSTER)
        return fault(w, op, f, "is not in shared memory");
    *at = address >> 32 ? NULL : pg_cluster_at(w->cta, (uint32_t)address, f.bytes, cta);
    if (!*at || (f.space == PG_MEM_SHARED && *cta != w->cta))
        return fault(w, op, f, "is out of bounds");
    return address % BULK_ALIGN ? fault(w, op, f, "is not 16-byte aligned") : true;
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
static bool barrier_side(pg_warp *w, const pg_op *op, const pg_bulk_operands *o, uint64_t address,
                         pg_mbarrier_signal *signal)
{
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

static uint16_t multicast_mask(const pg_warp *w, const pg_bulk_operands *o, uint32_t lane)
{
    return o->has_multicast ? ((const uint16_t *)pg_row_at(w, o->multicast))[lane] : 0;
}

/* A mask must name CTAs of this cluster. */
static bool check_mask(pg_warp *w, const pg_op *op, const pg_bulk_operands *o, uint16_t mask)
{
    const uint32_t ctas = w->cta->cluster->cta_count;
    if (!o->has_multicast || (mask && (uint32_t)mask >> ctas == 0))
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "multicast mask 0x%x names no CTA, or one that a cluster of %u lacks", mask, ctas);
    return false;
}

static bool issue_bulk_load(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    const lane_operands in = read_operands(w, op, lane);
    pg_cta *cta = NULL, *source_cta = NULL;
    uint8_t *target, *source;
    if (!check_size(w, op, lane, in.bytes) ||
        !shared_side(w, op, (pg_fault){lane, (pg_space)op->space, in.target, in.bytes, true, NULL},
                     &cta, &target))
        return false;
    const pg_fault from = {lane, (pg_space)o->source.space, in.source, in.bytes, false, NULL};
    if (o->source.space == PG_MEM_SHARED ? !shared_side(w, op, from, &source_cta, &source)
                                         : !global_side(w, op, from, &source))
        return false;
    pg_async *a = pg_async_new(w, op, PG_ASYNC_BULK_LOAD, lane);
    if (!a)
        return false;
    pg_async_bulk *b = &a->u.bulk;
    *b = (pg_async_bulk){.source = source,
                         .target = target,
                         .source_address = in.source,
                         .target_address = in.target,
                         .bytes = in.bytes,
                         .target_cta = cta,
                         .cta_mask = multicast_mask(w, o, lane),
                         .to_shared = true};
    if (!check_mask(w, op, o, b->cta_mask) || !barrier_side(w, op, o, in.barrier, &b->signal)) {
        pg_async_free(w->cta->cluster, a);
        return false;
    }
    b->signal.bytes = in.bytes;
    pg_async_issue(a);
    return true;
}

static bool issue_bulk_store(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    const lane_operands in = read_operands(w, op, lane);
    const pg_warp_async *counters = pg_async_counters(w);
    pg_cta *source_cta = NULL;
    uint8_t *target, *source;
    if (!counters || !check_size(w, op, lane, in.bytes) ||
        !shared_side(w, op,
                     (pg_fault){lane, (pg_space)o->source.space, in.source, in.bytes, false, NULL},
                     &source_cta, &source) ||
        !global_side(w, op, (pg_fault){lane, PG_MEM_GLOBAL, in.target, in.bytes, true, NULL},
                     &target))
        return false;
    pg_async *a =
        pg_async_new(w, op, o->is_reduction ? PG_ASYNC_BULK_REDUCE : PG_ASYNC_BULK_STORE, lane);
    if (!a)
        return false;
    a->u.bulk = (pg_async_bulk){.source = source,
                                .target = target,
                                .source_address = in.source,
                                .target_address = in.target,
                                .bytes = in.bytes,
                                .reduce = o->reduce,
                                .type = o->type};
    a->group = counters->bulk_commits[lane];
    pg_async_issue(a);
    return true;
}

static bool issue_reduce_cluster(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    const lane_operands in = read_operands(w, op, lane);
    pg_cta *source_cta = NULL, *cta = NULL;
    uint8_t *target, *source;
    if (!check_size(w, op, lane, in.bytes) ||
        !shared_side(w, op,
                     (pg_fault){lane, (pg_space)o->source.space, in.source, in.bytes, false, NULL},
                     &source_cta, &source) ||
        !shared_side(w, op, (pg_fault){lane, (pg_space)op->space, in.target, in.bytes, true, NULL},
                     &cta, &target))
        return false;
    pg_async *a = pg_async_new(w, op, PG_ASYNC_BULK_REDUCE, lane);
    if (!a)
        return false;
    a->u.bulk = (pg_async_bulk){.source = source,
                                .target = target,
                                .source_address = in.source,
                                .target_address = in.target,
                                .bytes = in.bytes,
                                .target_cta = cta,
                                .reduce = o->reduce,
                                .type = o->type,
                                .to_shared = true};
    if (!barrier_side(w, op, o, in.barrier, &a->u.bulk.signal)) {
        pg_async_free(w->cta->cluster, a);
        return false;
    }
    a->u.bulk.signal.bytes = in.bytes;
    pg_async_issue(a);
    return true;
}

/* The tensor map at a generic, global, const or parameter address. */
static bool read_map(pg_warp *w, const pg_op *op, uint32_t lane, uint64_t address,
                     pg_tensor_map *map)
{
    const pg_grid_run *launch = w->launch;
    const uint64_t params = (uint64_t)(uintptr_t)launch->params;
    const uint64_t offset = address - params;
    const uint8_t *bytes =
        offset <= launch->entry->param_bytes &&
                PG_TENSOR_MAP_BYTES <= launch->entry->param_bytes - offset
            ? launch->params + offset
            : pg_global_at(w->cta->cluster->worker, address, PG_TENSOR_MAP_BYTES, false);
    ptxgen_error err = {0};
    if (bytes && address % 64 == 0 && pg_tensor_map_decode(bytes, map, &err) == PTXGEN_OK)
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR, "the tensor map of lane %u at 0x%llx cannot be used: %s", lane,
            (unsigned long long)address,
            !bytes && address < launch->entry->param_bytes
                ? "that is an address in .param; make it generic with cvta.param"
            : !bytes       ? "the address is out of bounds"
            : address % 64 ? "the address is not a multiple of 64"
                           : err.message);
    return false;
}

/* Map, coordinates and box of a tensor copy. `map_operand` and `box_operand` say where each address is. */
static pg_async *new_tensor_copy(pg_warp *w, const pg_op *op, uint32_t lane, pg_async_kind kind)
{
    const pg_bulk_operands *o = op->extra;
    const lane_operands in = read_operands(w, op, lane);
    const bool load = kind == PG_ASYNC_TENSOR_LOAD;
    pg_async *a = pg_async_new(w, op, kind, lane);
    if (!a)
        return NULL;
    pg_async_tensor *t = &a->u.tensor;
    pg_fault box = {.lane = lane,
                    .space = (pg_space)(load ? op->space : o->source.space),
                    .address = load ? in.target : in.source,
                    .write = load};
    uint8_t *at;
    bool ok = read_map(w, op, lane, load ? in.source : in.target, &t->map);
    if (ok && t->map.rank != o->rank) {
        pg_stop(w, op, PTXGEN_EEMULATOR, "the tensor map has %u dimensions, the instruction %u",
                t->map.rank, o->rank);
        ok = false;
    }
    box.bytes = ok ? pg_tensor_box_bytes(&t->map) : 0;
    ok = ok && shared_side(w, op, box, &t->target_cta, &at);
    t->box_address = PG_SHARED_OFFSET(box.address);
    if (ok && t->box_address % TENSOR_SHARED_ALIGN)
        ok = fault(w, op, box, "is not 128-byte aligned, as the box of a tensor copy must be");
    for (uint32_t i = 0; ok && i < o->rank; i++)
        t->coords[i] = ((const int32_t *)pg_row_at(w, o->coords[i]))[lane];
    if (!ok) {
        pg_async_free(w->cta->cluster, a);
        return NULL;
    }
    return a;
}

static bool issue_tensor_load(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    pg_async *a = new_tensor_copy(w, op, lane, PG_ASYNC_TENSOR_LOAD);
    if (!a)
        return false;
    pg_async_tensor *t = &a->u.tensor;
    t->cta_mask = multicast_mask(w, o, lane);
    if (!check_mask(w, op, o, t->cta_mask) ||
        !barrier_side(w, op, o, lane_address(w, &o->barrier, lane), &t->signal)) {
        pg_async_free(w->cta->cluster, a);
        return false;
    }
    t->signal.bytes = pg_tensor_box_bytes(&t->map);
    pg_async_issue(a);
    return true;
}

static bool issue_tensor_store(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    const pg_warp_async *counters = pg_async_counters(w);
    pg_async *a = !counters ? NULL
                            : new_tensor_copy(w, op, lane,
                                              o->is_reduction ? PG_ASYNC_TENSOR_REDUCE
                                                              : PG_ASYNC_TENSOR_STORE);
    if (!a)
        return false;
    a->u.tensor.reduce = o->reduce;
    a->group = counters->bulk_commits[lane];
    pg_async_issue(a);
    return true;
}

static pg_step each_lane(pg_warp *w, const pg_op *op, uint32_t lanes,
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
    return each_lane(w, op, lanes, issue_bulk_load);
}

pg_step pg_op_bulk_store(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return each_lane(w, op, lanes, issue_bulk_store);
}

pg_step pg_op_bulk_reduce_cluster(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return each_lane(w, op, lanes, issue_reduce_cluster);
}

pg_step pg_op_tensor_load(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return each_lane(w, op, lanes, issue_tensor_load);
}

pg_step pg_op_tensor_store(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return each_lane(w, op, lanes, issue_tensor_store);
}
