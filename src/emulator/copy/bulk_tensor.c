/* Issuing tensor copies: cp.async.bulk.tensor in tile, gather4 and scatter4 mode, and
 * cp.reduce.async.bulk.tensor. PTX ISA 9.0, 9.7.9.25.5. */
#include "emulator/copy/bulk.h"
#include "emulator/copy/im2col.h"

#include "emulator/machine/memory.h"

enum { TENSOR_SHARED_ALIGN = 128 };

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

/* A box of four rows comes from a two-dimensional map whose box is one row. */
static bool check_rank(pg_warp *w, const pg_op *op, const pg_tensor_map *map)
{
    static const char *const modes[] = {"im2col", "im2col::w", "im2col::w::128"};
    const pg_bulk_operands *o = op->extra;
    if (map->rank != o->rank)
        pg_stop(w, op, PTXGEN_EEMULATOR, "the tensor map has %u dimensions, the instruction %u",
                map->rank, o->rank);
    else if (o->im2col != (map->pixels != 0))
        pg_stop(w, op, PTXGEN_EEMULATOR, "the tensor map was encoded %s, the instruction is %s",
                map->pixels ? "for im2col" : "as tiled", o->im2col ? "of im2col" : "of tiles");
    else if (o->wide != map->wide)
        pg_stop(w, op, PTXGEN_EEMULATOR, "the tensor map was encoded for %s, the instruction is %s",
                modes[map->wide], modes[o->wide]);
    else if (o->four_rows && map->box[1] != 1)
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "the tensor map's box has %u rows: tile::gather4 and tile::scatter4 name four rows "
                "themselves and need a box of 1 row",
                map->box[1]);
    else
        return true;
    return false;
}

static bool check_store(pg_warp *w, const pg_op *op, const pg_async_tensor *t)
{
    const pg_bulk_operands *o = op->extra;
    const uint32_t coords = pg_tensor_coordinates(o);
    if (!pg_im2col_inside(&t->map)) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "the map's pixel box reaches over the tensor's edges: a store or reduction needs "
                "one that lies inside");
        return false;
    }
    for (uint32_t i = 0; i < coords; i++)
        if (t->coords[i] < 0) {
            pg_stop(w, op, PTXGEN_EEMULATOR,
                    "tensor coordinate %u is %d: a store or reduction must begin inside the tensor",
                    i, t->coords[i]);
            return false;
        }
    if (t->map.type != PG_TENSOR_16U4_ALIGN16B)
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "a map of %s is for loads only; store 4-bit data through one of 16u4_align8b",
            pg_tensor_types[t->map.type].name);
    return false;
}

static bool read_coordinates(pg_warp *w, const pg_op *op, uint32_t lane, pg_async_tensor *t)
{
    const pg_bulk_operands *o = op->extra;
    const uint32_t coords = pg_tensor_coordinates(o);
    for (uint32_t i = 0; i < coords; i++)
        t->coords[i] = ((const int32_t *)pg_row_at(w, o->coords[i]))[lane];
    for (uint32_t i = 0; i < o->offset_count; i++)
        t->offsets[i] = ((const uint16_t *)pg_row_at(w, o->offsets[i]))[lane];
    ptxgen_error err = {0};
    if (pg_tensor_check_coordinates(&t->map, t->coords, &err) == PTXGEN_OK)
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR, "lane %u: %s", lane, err.message);
    return false;
}

/* Map, coordinates and box of a tensor copy. */
static bool fill_tensor_copy(pg_warp *w, const pg_op *op, const pg_bulk_lane *in,
                             pg_async_tensor *t)
{
    const pg_bulk_operands *o = op->extra;
    const bool load = t->head.kind == &pg_kind_tensor_load;
    const uint32_t lane = t->head.lane;
    pg_fault box = {.lane = lane,
                    .space = (pg_space)(load ? op->space : o->source.space),
                    .address = load ? in->target : in->source,
                    .write = load};
    uint8_t *at;
    t->four_rows = o->four_rows;
    t->pair = o->pair;
    t->map_address = load ? in->source : in->target;
    if (!read_map(w, op, lane, t->map_address, &t->map) || !check_rank(w, op, &t->map))
        return false;
    if (o->wide)
        t->map.halo = ((const uint16_t *)pg_row_at(w, o->offsets[0]))[lane];
    box.bytes = pg_async_tensor_box_bytes(t);
    t->box_address = PG_SHARED_OFFSET(box.address);
    if (!pg_bulk_shared_side(w, op, box, &t->target_cta, &at))
        return false;
    if (t->box_address % TENSOR_SHARED_ALIGN)
        return pg_bulk_fault(w, op, box,
                             "is not 128-byte aligned, as the box of a tensor copy must be");
    return read_coordinates(w, op, lane, t) && (load || check_store(w, op, t));
}

/* Without .cta_group::2 a load completes in the CTA that it writes to; with it, in that one or
 * its peer. */
static bool check_barrier_cta(pg_warp *w, const pg_op *op, const pg_async_tensor *t)
{
    const uint32_t ctas = w->cta->cluster->cta_count;
    if (t->pair && ctas % 2) {
        pg_stop(w, op, PTXGEN_EEMULATOR, ".cta_group::2 needs pairs of CTAs: this cluster has %u",
                ctas);
        return false;
    }
    const uint32_t to = t->target_cta->rank, barrier = t->signal.cta->rank;
    if (t->cta_mask || to == barrier || (t->pair && to / 2 == barrier / 2))
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "the load writes to CTA rank %u and its mbarrier is in CTA rank %u: %s", to, barrier,
            t->pair ? "with .cta_group::2 it must be in the same pair of CTAs"
                    : "it must be in the same CTA, or in its pair with .cta_group::2");
    return false;
}

static bool issue_tensor_load(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_lane in = pg_bulk_read_operands(w, op, lane);
    pg_async_tensor *t = pg_async_new(w, op, &pg_kind_tensor_load, lane);
    if (!t)
        return false;
    t->cta_mask = pg_bulk_multicast(w, op->extra, lane);
    if (!fill_tensor_copy(w, op, &in, t) || !pg_bulk_check_mask(w, op, t->cta_mask) ||
        !pg_bulk_barrier_side(w, op, in.barrier, &t->signal) || !check_barrier_cta(w, op, t)) {
        pg_async_free(w->cta->cluster, &t->head);
        return false;
    }
    t->signal.bytes = pg_tensor_data_bytes(&t->map) * (t->four_rows ? PG_TENSOR_ROWS : 1);
    pg_async_issue(&t->head);
    return true;
}

static bool issue_tensor_store(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_bulk_operands *o = op->extra;
    const pg_bulk_lane in = pg_bulk_read_operands(w, op, lane);
    const pg_async_kind *kind = o->is_reduction ? &pg_kind_tensor_reduce : &pg_kind_tensor_store;
    const pg_warp_async *counters = pg_async_counters(w);
    pg_async_tensor *t = counters ? pg_async_new(w, op, kind, lane) : NULL;
    if (!t)
        return false;
    if (!fill_tensor_copy(w, op, &in, t)) {
        pg_async_free(w->cta->cluster, &t->head);
        return false;
    }
    t->reduce = o->reduce;
    t->head.group = counters->bulk_commits[lane];
    pg_async_issue(&t->head);
    return true;
}

pg_step pg_op_tensor_load(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return pg_bulk_each_lane(w, op, lanes, issue_tensor_load);
}

pg_step pg_op_tensor_store(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return pg_bulk_each_lane(w, op, lanes, issue_tensor_store);
}
