/* Asynchronous operations of a record: what unit carries them out, what they move, which events
 * they complete. See record.h. */
#include "emulator/clock/listen.h"

#include "emulator/copy/copies.h"
#include "emulator/matrix/wgmma_op.h"
#include "emulator/tensor/tcgen05_copy.h"
#include "emulator/tensor/tcgen05_work.h"

enum { GROUP_WARPS = 4, WARP_ROWS = 16, UNIT_BYTES = 16, ROW_BYTES = 128, OPERAND_BYTES = 32 };

static pg_clock *clock_of(const pg_async *a)
{
    return a->warp->launch->clock;
}

static pg_clock_async *async_of(const pg_async *a)
{
    return a->check_id ? PG_CLOCK_AT(clock_of(a)->asyncs, pg_clock_async, a->check_id) : NULL;
}

static uint32_t warp_number(const pg_warp *w)
{
    return w->cta->rank * PG_MAX_WARPS_IN_CTA + w->index;
}

static uint64_t group_key(const pg_warp *w, pg_clock_key kind, uint32_t lane, uint32_t group)
{
    return pg_clock_key_of(kind, warp_number(w), lane, group);
}

static void add_target(const pg_async *a, uint32_t event)
{
    pg_clock *clock = clock_of(a);
    if (!event || !a->check_id)
        return;
    const uint32_t i = pg_clock_list_add(&clock->targets, clock->alloc);
    clock->failed |= !i;
    if (!i)
        return;
    *PG_CLOCK_AT(clock->targets, uint32_t, i) = event;
    PG_CLOCK_AT(clock->events, pg_clock_event, event)->contributions++;
    pg_clock_async *r = async_of(a);
    if (!r->target_count++)
        r->target = i;
}

/* ---- global memory ---- */

/* What an operation moves from or to global memory. */
typedef struct extent {
    const pg_cluster *cluster;
    pg_touch touch;
    uint32_t lines, bytes, rows, units;
    uint64_t first;
} extent;

static void add_range(extent *e, uint64_t address, uint32_t bytes)
{
    if (!bytes)
        return;
    const uint64_t last = address + bytes - 1;
    for (uint64_t line = address >> PG_LINE_SHIFT; line <= last >> PG_LINE_SHIFT; line++) {
        const uint64_t begin = line << PG_LINE_SHIFT, end = begin + PG_LINE_BYTES - 1;
        const uint32_t from = (uint32_t)((address > begin ? address - begin : 0) >> 5);
        const uint32_t to = (uint32_t)(((last < end ? last : end) - begin) >> 5);
        pg_clock_touch(e->cluster, line, (uint8_t)((2u << to) - (1u << from)), e->touch);
        e->lines++;
        if (e->touch == TOUCH_ATOMIC)
            pg_clock_hot(e->cluster, line,
                         (bytes < PG_LINE_BYTES ? bytes : PG_LINE_BYTES) / UNIT_BYTES);
    }
    e->first = e->first ? e->first : address;
    e->bytes += bytes;
    e->rows += (bytes + ROW_BYTES - 1) / ROW_BYTES;
    e->units += (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
}

static void add_box(extent *e, const pg_async_tensor *t)
{
    pg_tensor_walk walk;
    pg_tensor_row row;
    pg_async_tensor_walk(t, &walk);
    while (pg_tensor_walk_next(&walk, &row)) {
        if (row.valid)
            add_range(e, row.global, pg_tensor_row_global_bytes(&t->map, &row));
        else
            e->rows++;
    }
}

/* ---- one operation ---- */

static void describe_bulk(pg_async *a, extent *e, pg_clock_async *r)
{
    const pg_async_bulk *b = (const pg_async_bulk *)a;
    const bool from_shared =
        a->kind == &pg_kind_bulk_reduce_shared ||
        (a->kind == &pg_kind_bulk_load &&
         ((const pg_bulk_operands *)a->op->extra)->source.space == PG_MEM_SHARED);
    r->bytes = b->bytes;
    r->ctas = b->cta_mask;
    r->work = a->kind == &pg_kind_bulk_reduce  ? WORK_REDUCE
              : a->kind == &pg_kind_bulk_store ? WORK_STORE
              : from_shared                    ? WORK_LOCAL
                                               : WORK_LOAD;
    e->touch = r->work == WORK_REDUCE  ? TOUCH_ATOMIC
               : r->work == WORK_STORE ? TOUCH_STORE
                                       : TOUCH_LOAD;
    if (r->work != WORK_LOCAL)
        add_range(e, r->work == WORK_LOAD ? b->source_address : b->target_address, b->bytes);
    if (b->target_cta && !r->ctas)
        r->ctas = (uint16_t)(1u << b->target_cta->rank);
}

static void describe_tensor(pg_async *a, extent *e, pg_clock_async *r)
{
    const pg_async_tensor *t = (const pg_async_tensor *)a;
    r->tensor_map = true;
    r->ctas = t->cta_mask;
    r->work = a->kind == &pg_kind_tensor_load    ? WORK_LOAD
              : a->kind == &pg_kind_tensor_store ? WORK_STORE
                                                 : WORK_REDUCE;
    e->touch = r->work == WORK_REDUCE  ? TOUCH_ATOMIC
               : r->work == WORK_STORE ? TOUCH_STORE
                                       : TOUCH_LOAD;
    add_box(e, t);
    r->bytes = pg_async_tensor_box_bytes(t);
    if (t->target_cta && !r->ctas)
        r->ctas = (uint16_t)(1u << t->target_cta->rank);
}

static void describe_copy(pg_async *a, extent *e, pg_clock_async *r)
{
    const pg_async_copy *c = (const pg_async_copy *)a;
    r->work = WORK_COPY;
    for (uint32_t left = c->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        add_range(e, c->source_address[l], c->source_bytes[l]);
        r->bytes += c->bytes;
    }
    e->lines = (e->bytes + PG_LINE_BYTES - 1) / PG_LINE_BYTES;
}

static void count_flop(pg_clock_async *r, uint32_t bits, bool tf32, double flop)
{
    *(tf32        ? &r->flop_tf32
      : bits == 4 ? &r->flop_f4
      : bits == 8 ? &r->flop_f8
                  : &r->flop_f16) += flop;
}

/* 16 of the 64 rows: each sub-partition's tensor core takes as many clocks. */
static void describe_wgmma(const pg_async *a, pg_clock_async *r)
{
    const pg_wgmma_plan *p = a->op->extra;
    const pg_mma_type type = p->tile.a_type;
    r->work = WORK_WGMMA;
    r->clocks = p->tile.n / 2;
    /* The four warps read their operands once. */
    const uint32_t row = p->tile.k * pg_mma_types[type].bits / 8;
    const uint32_t a_rows = p->a_in_registers ? 0 : GROUP_WARPS * WARP_ROWS;
    if (a->warp->index % GROUP_WARPS == 0)
        r->shared_bytes = row * (p->tile.n + (p->sparse ? a_rows / 2 : a_rows));
    count_flop(r, pg_mma_types[type].bits, type == PG_MMA_TF32,
               2.0 * WARP_ROWS * p->tile.n * p->tile.k);
}

static void describe_tcgen05_mma(pg_async *a, pg_clock_async *r)
{
    const pg_tcgen05_mma_plan *p = a->op->extra;
    pg_tcgen05_work w;
    r->work = WORK_TENSOR;
    if (!pg_tcgen05_work_make(a, &w))
        return;
    const pg_tcgen05_kind kind = p->form.kind;
    const uint32_t n_here = w.x.n / w.cta_count;
    const uint32_t a_bytes = p->a_in_tensor ? 0 : w.rows * OPERAND_BYTES;
    r->shared_bytes = a_bytes + n_here * OPERAND_BYTES;
    const uint32_t by_shared = r->shared_bytes / ROW_BYTES, by_pipe = w.x.n / 2;
    r->clocks = by_shared > by_pipe ? by_shared : by_pipe;
    r->pair = w.cta_count == 2;
    count_flop(r,
               kind == PG_KIND_F16    ? 16
               : kind >= PG_KIND_MXF4 ? 4
                                      : 8,
               kind == PG_KIND_TF32, 2.0 * w.x.m * w.x.n * w.x.k);
}

static void describe_tcgen05_cp(const pg_async *a, pg_clock_async *r)
{
    const pg_tcgen05_cp_plan *p = a->op->extra;
    const pg_tcgen05_copy_shape *s = &pg_tcgen05_copy_shapes[p->shape];
    const pg_matrix_shape source = pg_tcgen05_copy_source(s);
    r->work = WORK_TENSOR;
    r->shared_bytes = source.rows * s->bytes;
    r->clocks = (r->shared_bytes + ROW_BYTES - 1) / ROW_BYTES;
    r->pair = p->cta_group == 2;
}

static void describe(pg_async *a, extent *e, pg_clock_async *r)
{
    const pg_async_kind *k = a->kind;
    r->work = WORK_NOTHING;
    r->ctas = (uint16_t)(1u << a->warp->cta->rank);
    if (k == &pg_kind_bulk_load || k == &pg_kind_bulk_store || k == &pg_kind_bulk_reduce ||
        k == &pg_kind_bulk_reduce_shared)
        describe_bulk(a, e, r);
    else if (k == &pg_kind_tensor_load || k == &pg_kind_tensor_store || k == &pg_kind_tensor_reduce)
        describe_tensor(a, e, r);
    else if (k == &pg_kind_copy)
        describe_copy(a, e, r);
    else if (k == &pg_kind_arrive)
        r->work = WORK_AFTER_COPIES;
    else if (k == &pg_kind_mma)
        describe_wgmma(a, r);
    else if (k == &pg_kind_tcgen05_mma)
        describe_tcgen05_mma(a, r);
    else if (k == &pg_kind_tcgen05_cp)
        describe_tcgen05_cp(a, r);
    else if (k == &pg_kind_tcgen05_commit || k == &pg_kind_tcgen05_shift)
        r->work = WORK_TENSOR;
    r->buffer = pg_footprint_buffer(clock_of(a)->footprint, e->first);
    r->lines = e->lines;
    r->rows = e->rows;
    r->units = e->units;
}

/* The groups that a program waits for. */
static void join_groups(pg_async *a)
{
    const pg_clock_work work = async_of(a)->work;
    const uint32_t lane = work == WORK_COPY ? 0 : a->lane;
    if (a->kind->bulk_group) {
        add_target(
            a, pg_clock_named_event(a->warp->cta, group_key(a->warp, KEY_BULK, lane, a->group), 0));
        const uint32_t read = pg_clock_named_event(
            a->warp->cta, group_key(a->warp, KEY_BULK_READ, lane, a->group), 0);
        async_of(a)->read_event = read;
        if (read)
            PG_CLOCK_AT(clock_of(a)->events, pg_clock_event, read)->contributions++;
    } else if (work == WORK_COPY) {
        const pg_async_copy *c = (const pg_async_copy *)a;
        const uint32_t group = c->lanes ? c->group[__builtin_ctz(c->lanes)] : 0;
        add_target(a,
                   pg_clock_named_event(a->warp->cta, group_key(a->warp, KEY_COPY, 0, group), 0));
    } else if (work == WORK_WGMMA) {
        add_target(
            a, pg_clock_named_event(a->warp->cta, group_key(a->warp, KEY_WGMMA, 0, a->group), 0));
    }
}

void pg_clock_async_issue(pg_async *a)
{
    pg_clock *clock = clock_of(a);
    pg_clock_async r = {0};
    extent e = {.cluster = a->warp->cta->cluster, .touch = TOUCH_LOAD};
    a->check_id = 0;
    describe(a, &e, &r);
    clock->probe.flop += r.flop_f16 + r.flop_f8 + r.flop_f4 + r.flop_tf32;
    if (!pg_clock_stream_of(a->warp))
        return;
    clock->tensor |= r.work == WORK_WGMMA || r.work == WORK_TENSOR;
    clock->flop_f16 += r.flop_f16;
    clock->flop_f8 += r.flop_f8;
    clock->flop_f4 += r.flop_f4;
    clock->flop_tf32 += r.flop_tf32;
    a->check_id = pg_clock_list_add(&clock->asyncs, clock->alloc);
    pg_clock_detail *d = a->check_id ? pg_clock_add_detail(a->warp, ASK_ASYNC) : NULL;
    clock->failed |= !d;
    if (!d) {
        a->check_id = 0;
        return;
    }
    d->a = a->check_id;
    r.line = a->op->line;
    *async_of(a) = r;
    join_groups(a);
}

/* The phases of the mbarriers that it signals: those that are running when it does. */
void pg_clock_async_arriving(pg_async *a)
{
    const pg_async_targets targets = pg_async_targets_of(a);
    const bool single = !targets.cta_mask;
    const pg_mbarrier_signal *signal = targets.signal;
    if (a->kind == &pg_kind_arrive)
        signal = &((const pg_async_arrive *)a)->signal;
    if (!a->check_id || !signal)
        return;
    for (uint32_t rank = 0; rank < a->warp->cta->cluster->cta_count; rank++) {
        if (single ? rank > 0 : !(targets.cta_mask >> rank & 1))
            continue;
        const pg_cta *cta = single ? signal->cta : pg_async_signalled_cta(a, rank);
        const pg_mbarrier *b = cta ? pg_mbarrier_find(cta, signal->offset) : NULL;
        if (b)
            add_target(a, pg_clock_mbarrier_event(cta, b, b->phase));
    }
}

/* ---- waits ---- */

/* Groups up to `group`: those that are still waited for by nobody lie in the last few. */
static void wait_for_groups(pg_warp *w, pg_clock_key kind, uint32_t lane, int64_t group)
{
    enum { LOOK_BACK = 4 };
    pg_clock_cluster *c = pg_clock_cluster_of(w->cta->cluster);
    for (int64_t g = group; c && g >= 0 && g > group - LOOK_BACK; g--)
        pg_clock_wait(w, pg_clock_event_at(w->launch->clock, c,
                                           group_key(w, kind, lane, (uint32_t)g), false));
}

void pg_clock_bulk_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        wait_for_groups(w, op->mode ? KEY_BULK_READ : KEY_BULK, l,
                        (int64_t)w->async->bulk_commits[l] - 1 - (int64_t)op->imm);
    }
}

void pg_clock_copy_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint32_t commits = w->async->copy_commits[__builtin_ctz(lanes)];
    const int64_t group = op->imm == UINT64_MAX ? commits : (int64_t)commits - 1 - (int64_t)op->imm;
    wait_for_groups(w, KEY_COPY, 0, group);
}

void pg_clock_mma_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)lanes;
    wait_for_groups(w, KEY_WGMMA, 0, (int64_t)w->async->mma_commits - 1 - (int64_t)op->imm);
}
