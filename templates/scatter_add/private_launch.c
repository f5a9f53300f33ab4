/* Numbers of schedule=private: what its key may be, for which problems it is, and its launch. */
#include "scatter_add/private.h"

#include "base/error.h"

enum {
    MOST_ROW_BYTES = 64,
    TAG_BYTES = 4,
    MOST_QUEUED = 32 * 9,
    ALIGNMENT = 16,
    MOST_RANGES = 4,
    MOST_WARPS = 16
};

ptxgen_status pg_scatter_add_resolve_private(pg_scatter_add_key *k, const pg_arch *arch,
                                             ptxgen_error *err)
{
    const pg_sum_type *e = pg_sum_type_at(k->dtype);
    const int64_t row_bytes = k->n * e->bytes, aligned = (row_bytes | 16) & -(row_bytes | 16);
    if (arch->sm < 90)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "schedule=private needs sm_90 or later, not %s",
                       arch->name);
    if (!k->n || row_bytes > MOST_ROW_BYTES || e->acc_bytes != 4)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "schedule=private takes rows of up to %d bytes of f32, f16, bf16 or s32, and a "
            "fixed n",
            MOST_ROW_BYTES);
    k->access = k->access && k->access < aligned ? k->access : aligned;
    if ((k->access & (k->access - 1)) || k->access < e->bytes)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "access=%lld is not a power of two from %d (an element of %s) to 16",
                       (long long)k->access, e->bytes, e->name);
    if (k->pieces != 0 && k->pieces != 1 && k->pieces != 2 && k->pieces != 4)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "pieces=%lld: schedule=private needs 1, 2 or 4",
                       (long long)k->pieces);
    k->copies = k->copies ? k->copies : PG_COPIES_WARP;
    k->pieces = k->copies != PG_COPIES_WARP ? 1 : k->pieces ? k->pieces : 2;
    if (!k->warps)
        k->warps = k->copies != PG_COPIES_CTA ? PG_PRIVATE_WARPS
                   : k->n <= 2                ? 32
                   : k->n <= 4                ? 24
                                              : 16;
    k->contig = k->tile = k->stages = k->ctas = k->panel = k->ahead = 0;
    return PTXGEN_OK;
}

void pg_scatter_add_plan_private(const pg_scatter_add_key *k, pg_scatter_add_plan *p)
{
    p->access = (int)k->access;
    p->copies = (pg_copies)k->copies;
    p->head.shared_bytes = (uint32_t)p->arch->max_shared_bytes;
}

static int64_t table_bytes(int64_t n, int64_t out_rows)
{
    return out_rows * 4 * (n < 3 ? n : (n + 3) / 4 * 4);
}

/* Tags of a warp: a power of two, so that a row's is the low bits of its number. */
static int64_t tags_of(int64_t out_rows)
{
    int64_t tags = 32;
    while (tags < out_rows && tags < PG_PRIVATE_TAGS)
        tags *= 2;
    return tags;
}

/* What a table takes, a warp's with its tags and its queue, of no more than 8 rows a lane. */
static int64_t copy_bytes(pg_copies copies, int64_t n, int64_t out_rows)
{
    const int64_t table = table_bytes(n, out_rows);
    switch (copies) {
    case PG_COPIES_CTA:
        return 4 * n * out_rows;
    case PG_COPIES_WARP:
        return table + TAG_BYTES * tags_of(out_rows) + MOST_QUEUED * (table_bytes(n, 1) + 4);
    default:
        return table;
    }
}

/* copies=cta: how many CTAs it takes to hold all rows of out. */
static int64_t ranges_of(int64_t shared_bytes, int64_t n, int64_t out_rows)
{
    return (copy_bytes(PG_COPIES_CTA, n, out_rows) - 1) / (shared_bytes - ALIGNMENT) + 1;
}

/* How many tables a CTA of so many warps has. */
static int64_t copies_of(pg_copies copies, int64_t warps, int64_t shared_bytes, int64_t n,
                         int64_t out_rows)
{
    if (copies == PG_COPIES_CTA)
        return ranges_of(shared_bytes, n, out_rows) <= MOST_RANGES;
    const int64_t most = copies == PG_COPIES_WARP ? warps : 32 * warps;
    const int64_t room = (shared_bytes - ALIGNMENT) / copy_bytes(copies, n, out_rows);
    const int64_t count = room < most ? room : most;
    return copies == PG_COPIES_THREAD && count > 32
               ? count / 32 * 32 /* whole warps read whole sectors */
               : count;
}

/* By the number of values in a row: tables of threads and of warps that keep memory busy, and how
 * many CTAs may share the rows of out before reductions in global memory are faster. Measured:
 * docs/benchmarks.md. */
static const struct enough {
    int n, threads, warps, ranges;
} enough[] = {{1, 128, 12, 4}, {2, 128, 7, 4}, {4, 128, 5, 2}, {INT32_MAX, 96, 3, 1}};

pg_copies pg_scatter_add_private_copies(int64_t shared_bytes, int64_t n, int64_t out_rows,
                                        bool anyhow)
{
    const struct enough *e = enough;
    while (n > e->n)
        e++;
    if (out_rows > shared_bytes)
        return PG_COPIES_AUTO;
    if (copies_of(PG_COPIES_THREAD, PG_PRIVATE_WARPS, shared_bytes, n, out_rows) >= e->threads)
        return PG_COPIES_THREAD;
    if (copies_of(PG_COPIES_WARP, MOST_WARPS, shared_bytes, n, out_rows) >= e->warps)
        return PG_COPIES_WARP;
    const int64_t ranges = ranges_of(shared_bytes, n, out_rows);
    return ranges <= (anyhow ? MOST_RANGES : e->ranges) ? PG_COPIES_CTA : PG_COPIES_AUTO;
}

ptxgen_status pg_scatter_add_private_limits(const pg_problem *problem, ptxgen_error *err)
{
    const pg_scatter_add_key *k = problem->key;
    const int64_t shared = pg_arch_find((ptxgen_arch)k->arch)->max_shared_bytes;
    const int64_t out_rows = problem->symbol[PG_SCATTER_OUT_ROWS],
                  n = problem->symbol[PG_SCATTER_N];
    const pg_view *src = &problem->operand[PG_SCATTER_SRC];
    const int64_t stride = src->stride[0] * pg_dtype_bits(src->dtype) / 8;
    if (out_rows > shared || !copies_of((pg_copies)k->copies, k->warps, shared, n, out_rows))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "schedule=private: %lld rows of out need more than the %lld bytes of shared "
                       "memory: use schedule=auto",
                       (long long)out_rows, (long long)shared);
    if (problem->symbol[PG_SCATTER_ROWS] > INT32_MAX || stride > UINT32_MAX)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "schedule=private takes up to %d values of index and strides below 4 GiB, here "
            "%lld and %lld bytes: use schedule=auto",
            INT32_MAX, (long long)problem->symbol[PG_SCATTER_ROWS], (long long)stride);
    return PTXGEN_OK;
}

enum { PG_PRIVATE_PARAMS(PG_PARAM_PLACE) COUNT };

pg_param_list pg_scatter_add_private_params(void)
{
    static const pg_kernel_param rows[] = {PG_PRIVATE_PARAMS(PG_PARAM_ROW){NULL, 0}};
    return (pg_param_list){.rows = rows};
}

void pg_scatter_add_launch_private(const pg_problem *problem, pg_launch *l)
{
    const pg_scatter_add_plan *p = problem->plan;
    const pg_view *out = &problem->operand[PG_SCATTER_OUT],
                  *src = &problem->operand[PG_SCATTER_SRC];
    const int64_t rows = problem->symbol[PG_SCATTER_ROWS],
                  out_rows = problem->symbol[PG_SCATTER_OUT_ROWS];
    const int64_t bytes = p->element->bytes;
    const int64_t tags = p->copies == PG_COPIES_WARP ? tags_of(out_rows) : 0;
    const int64_t copies =
        copies_of(p->copies, p->warps, p->arch->max_shared_bytes, p->n, out_rows);
    const int64_t threads = p->copies == PG_COPIES_CTA    ? 32 * p->warps
                            : p->copies == PG_COPIES_WARP ? 32 * copies
                                                          : copies;
    const int64_t ranges =
        p->copies == PG_COPIES_CTA ? ranges_of(p->arch->max_shared_bytes, p->n, out_rows) : 1;
    const int64_t range_rows = (out_rows - 1) / ranges + 1;
    const int64_t wanted = (rows - 1) / (threads * pg_private_row_of(p).batch) + 1;
    const int64_t most =
        problem->device->sm_count > ranges ? problem->device->sm_count / ranges : 1;
    pg_launch_line(l, ranges * (wanted < most ? wanted : most), (int)((threads + 31) / 32 * 32),
                   COUNT, 0);
    l->shared_bytes = (uint32_t)(copies * copy_bytes(p->copies, p->n, range_rows) + ALIGNMENT);
    pg_set_u32(l, at_ranges_, ranges);
    pg_set_u32(l, at_range_rows_, range_rows);
    pg_set_pointer(l, at_out_, out->data);
    pg_set_pointer(l, at_src_, src->data);
    pg_set_pointer(l, at_index_, problem->operand[PG_SCATTER_INDEX].data);
    pg_set_record(l, at_record_, pg_scatter_add_given_record(problem));
    pg_set_u64(l, at_out_rows_, (uint64_t)out_rows);
    pg_set_u64(l, at_out_stride_, (uint64_t)(out->stride[0] * bytes));
    pg_set_u32(l, at_src_stride_, src->stride[0] * bytes);
    pg_set_u32(l, at_rows_, rows);
    pg_set_u32(l, at_copies_, copies);
    pg_set_u32(l, at_tag_mask_, tags - 1);
}
