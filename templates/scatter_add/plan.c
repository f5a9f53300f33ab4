/* Numbers of the scatter_add kernels: the reference schedule's host helpers, what each schedule
 * accepts, tile shapes, and the rule behind schedule=auto. */
#include "scatter_add/scatter_add.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_CHUNK_BYTES = 512, /* seed: a longer row travels in chunks of this */
    STAGE_ALIGNMENT = 128, /* tile-mode tensor loads want 128-byte aligned destinations */
    REDUCE_ALIGNMENT = 16, /* addresses and sizes of bulk copies and reductions */
    MAX_TILE_ROWS = 128,   /* bulk: four reductions per lane */
    MAX_STATIC_SHARED = 48 << 10,
    MOST_WARPS = 16,
};

/* Bytes of an element that bulk reductions add; 0 for any other type. */
static int bulk_bytes(ptxgen_dtype dtype)
{
    const pg_sum_type *e = pg_sum_type_of(dtype);
    return e && e->reduce_add ? e->bytes : 0;
}

int64_t ptxgen_chunk_elems_for(ptxgen_dtype dtype, int64_t n)
{
    const int bytes = bulk_bytes(dtype);
    if (!bytes || n < 0)
        return 0;
    return n < MAX_CHUNK_BYTES / bytes ? n : MAX_CHUNK_BYTES / bytes;
}

int64_t ptxgen_min_d_divisor_for(ptxgen_dtype dtype)
{
    const int bytes = bulk_bytes(dtype);
    return bytes ? REDUCE_ALIGNMENT / bytes : 0;
}

bool ptxgen_row_shape_supported(ptxgen_dtype dtype, int64_t n)
{
    const int bytes = bulk_bytes(dtype);
    return bytes && n >= 0 && n % (REDUCE_ALIGNMENT / bytes) == 0;
}

ptxgen_grid ptxgen_plan_grid(int64_t m, int64_t d, int64_t chunk_elems, int64_t sm_count)
{
    ptxgen_grid g = {0, 0, 0};
    if (m <= 0 || d <= 0 || chunk_elems <= 0 || sm_count <= 0)
        return g;
    const int64_t chunks = (d - 1) / chunk_elems + 1, target = sm_count * 32;
    if (m >= target) {
        g.grid_x = m < sm_count * 64 ? m : sm_count * 64;
        g.grid_y = 1;
        g.chunks_per_cta = chunks;
        return g;
    }
    const int64_t wanted = target / m;
    const int64_t split = wanted < chunks ? wanted : chunks;
    g.grid_x = m;
    g.chunks_per_cta = (chunks - 1) / split + 1;
    g.grid_y = (chunks - 1) / g.chunks_per_cta + 1;
    return g;
}

pg_tile_shape pg_scatter_add_tile_shape(int64_t row_bytes, int64_t tile_bytes)
{
    pg_tile_shape s = {1, 1, row_bytes};
    if (row_bytes > tile_bytes) {
        s.chunk_bytes = tile_bytes;
        s.chunks = (row_bytes - 1) / tile_bytes + 1;
    } else {
        s.rows = tile_bytes / row_bytes < MAX_TILE_ROWS ? tile_bytes / row_bytes : MAX_TILE_ROWS;
    }
    return s;
}

static ptxgen_status check_aligned(const char *name, int64_t bytes, ptxgen_error *err)
{
    if (bytes % REDUCE_ALIGNMENT == 0)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "%s=%lld is not a multiple of %d bytes: use %lld or %lld", name,
                   (long long)bytes, REDUCE_ALIGNMENT,
                   (long long)(bytes / REDUCE_ALIGNMENT * REDUCE_ALIGNMENT),
                   (long long)((bytes / REDUCE_ALIGNMENT + 1) * REDUCE_ALIGNMENT));
}

/* What no other schedule does. */
static bool only_owner(const pg_scatter_add_key *k)
{
    return k->reduce != PTXGEN_SCATTER_ADD || k->exact || k->weight || k->gather ||
           (k->shift && k->schedule != PTXGEN_SCHEDULE_VECTOR);
}

/* Only owner and private do more than add rows of floats that are aligned to 16 bytes, or to 4
 * with vector. */
bool pg_scatter_add_needs_owner(const pg_scatter_add_key *k)
{
    const bool narrow = k->access && k->access != REDUCE_ALIGNMENT;
    return only_owner(k) || (narrow && k->schedule != PTXGEN_SCHEDULE_VECTOR) ||
           !pg_sum_type_at(k->dtype)->vector_add;
}

static ptxgen_status resolve_rows(pg_scatter_add_key *k, const pg_arch *arch, ptxgen_error *err)
{
    const pg_sum_type *d = pg_sum_type_at(k->dtype);
    const int64_t row_bytes = k->n * d->bytes;
    const bool vector = k->schedule == PTXGEN_SCHEDULE_VECTOR;
    if (arch->sm < 90 && !vector)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "seed and bulk need sm_90 or later: %s has no bulk reduction: use another "
                       "schedule",
                       arch->name);
    if (k->access == REDUCE_ALIGNMENT)
        k->access = 0;
    if (!(vector && k->access) && row_bytes % REDUCE_ALIGNMENT)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "rows of n=%lld %s are %lld bytes, not a multiple of %d: use n divisible by %lld",
            (long long)k->n, d->name, (long long)row_bytes, REDUCE_ALIGNMENT,
            (long long)(REDUCE_ALIGNMENT / d->bytes));
    if (k->function && k->schedule != PTXGEN_SCHEDULE_VECTOR)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "a user function needs schedule=vector: the others add without "
                       "loading into registers");
    if (k->warps > MOST_WARPS)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "warps=%lld: only schedule=private takes more than %d", (long long)k->warps,
                       MOST_WARPS);
    PG_TRY(check_aligned("tile", k->tile, err));
    PG_TRY(check_aligned("panel", k->panel, err));
    if (vector)
        return pg_scatter_add_resolve_vector(k, arch, err);
    const int64_t shared = k->warps * k->stages * (k->tile + 8);
    if (shared > MAX_STATIC_SHARED)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "warps=%lld x stages=%lld x tile=%lld need %lld bytes of shared memory, the "
                       "limit is %d:"
                       " lower one of them",
                       (long long)k->warps, (long long)k->stages, (long long)k->tile,
                       (long long)shared, MAX_STATIC_SHARED);
    return PTXGEN_OK;
}

static ptxgen_status refuse_reduce(const pg_scatter_add_key *k, ptxgen_error *err)
{
    static const char *const reduces[] = {"add", "min", "max", "mean", "mul"};
    return pg_fail(err, PTXGEN_EUNSUPPORTED, "reduce=%s needs schedule=owner: leave schedule out",
                   reduces[k->reduce]);
}

/* Measured on an H200: of the schedules that take an index as it is, vector is the fastest or
 * within 1% of it everywhere (docs/benchmarks.md). Calls choose between it and owner by their
 * sizes (family.c). */
ptxgen_status pg_scatter_add_resolve(void *key, const pg_arch *arch, ptxgen_error *err)
{
    pg_scatter_add_key *k = key;
    const bool short_rows = k->n * pg_sum_type_at(k->dtype)->bytes % REDUCE_ALIGNMENT != 0;
    pg_scatter_add_follow_settings(k);
    if (k->schedule == PTXGEN_SCHEDULE_AUTO) {
        k->schedule = pg_scatter_add_needs_owner(k) || short_rows ? PTXGEN_SCHEDULE_OWNER
                                                                  : PTXGEN_SCHEDULE_VECTOR;
        pg_scatter_add_drop_settings(k);
    }
    if (k->function && k->schedule == PTXGEN_SCHEDULE_OWNER)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "a user function needs schedule=vector: %s",
                       only_owner(k) ? "it adds, with reduce=add and without weight, alpha, "
                                       "exact and shift: leave the others out"
                       : short_rows  ? "rows must be a multiple of 16 bytes: pad n"
                       : pg_scatter_add_needs_owner(k)
                           ? "it adds f32, f16 and bf16 with 16-byte accesses"
                           : "leave schedule out");
    PG_TRY(pg_scatter_add_settle(k, err));
    if (k->schedule == PTXGEN_SCHEDULE_OWNER)
        return pg_scatter_add_resolve_owner(k, arch, err);
    if (k->reduce != PTXGEN_SCATTER_ADD)
        return refuse_reduce(k, err);
    if (k->schedule == PTXGEN_SCHEDULE_PRIVATE) {
        if (only_owner(k) || k->function)
            return pg_fail(err, PTXGEN_EUNSUPPORTED,
                           "schedule=private adds rows, no more: exact, weight, gather and shift "
                           "need owner, a function vector");
        return pg_scatter_add_resolve_private(k, arch, err);
    }
    if (pg_scatter_add_needs_owner(k))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "exact, weight, gather, access under 16, min and max, f64, s32 and s64 "
                       "need schedule=owner: use it or auto");
    return resolve_rows(k, arch, err);
}

static void name_entry(const pg_scatter_add_key *k, pg_scatter_add_plan *p)
{
    char n[24] = "dynamic";
    if (k->n)
        snprintf(n, sizeof n, "n%lld", (long long)k->n);
    snprintf(p->head.entry, sizeof p->head.entry, "scatter_add_%s_%s_%s%s",
             pg_scatter_add_schedule_name(k->schedule), p->element->name, n,
             k->function ? "_function" : "");
}

static void plan_seed(pg_scatter_add_plan *p)
{
    const int64_t longest = MAX_CHUNK_BYTES / p->element->bytes;
    p->chunk_elems = (int)(p->dynamic || p->n > longest ? longest : p->n);
    p->chunk_bytes = p->chunk_elems * p->element->bytes;
    p->stage_stride = (p->chunk_bytes + STAGE_ALIGNMENT - 1) / STAGE_ALIGNMENT * STAGE_ALIGNMENT;
    p->chunks = p->dynamic ? 0 : (p->n - 1) / p->chunk_elems + 1;
}

static void plan_bulk(const pg_scatter_add_key *k, pg_scatter_add_plan *p)
{
    p->stages = (int)k->stages;
    p->tile_bytes = (int)k->tile;
    p->tile_rows = MAX_TILE_ROWS;
    if (!p->dynamic) {
        const pg_tile_shape s = pg_scatter_add_tile_shape(p->row_bytes, k->tile);
        p->tile_rows = (int)s.rows;
        p->tile_chunks = s.chunks;
        p->tile_bytes = (int)(s.rows * s.chunk_bytes);
    }
    p->rows_per_lane = (p->tile_rows - 1) / 32 + 1;
}

void pg_scatter_add_plan_from(const void *key, const pg_arch *arch, void *plan)
{
    const pg_scatter_add_key *k = key;
    pg_scatter_add_plan *p = plan;
    memset(p, 0, sizeof *p);
    p->schedule = (ptxgen_schedule)k->schedule;
    p->oob = (ptxgen_oob)k->oob;
    p->arch = arch;
    p->element = pg_sum_type_at(k->dtype);
    p->index_type = k->index == PTXGEN_INDEX_I32 ? "s32" : "s64";
    p->index_bytes = k->index == PTXGEN_INDEX_I32 ? 4 : 8;
    p->dynamic = k->n == 0;
    p->contig = k->contig != 0;
    p->n = k->n;
    p->row_bytes = k->n * p->element->bytes;
    p->warps = (int)k->warps;
    p->ctas_per_sm = (int)k->ctas;
    p->pieces = (int)k->pieces;
    p->access = k->access ? (int)k->access : REDUCE_ALIGNMENT;
    p->panel = k->panel;
    p->function = k->function != 0;
    p->hot = k->hot == PG_HOT_YES;
    p->shift = k->shift != 0;
    name_entry(k, p);
    if (p->schedule == PTXGEN_SCHEDULE_SEED)
        plan_seed(p);
    if (p->schedule == PTXGEN_SCHEDULE_BULK)
        plan_bulk(k, p);
    if (p->schedule == PTXGEN_SCHEDULE_OWNER)
        pg_scatter_add_plan_owner(k, p);
    if (p->schedule == PTXGEN_SCHEDULE_PRIVATE)
        pg_scatter_add_plan_private(k, p);
}
