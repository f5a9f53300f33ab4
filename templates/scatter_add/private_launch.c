/* Numbers of schedule=private: what its key may be, for which problems it is, and its launch. */
#include "scatter_add/private.h"

#include "base/error.h"

enum { MOST_ROW_BYTES = 64, TAG_BYTES = 4, MOST_QUEUED = 32 * 9, ALIGNMENT = 16 };

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
    k->pieces = k->copies == PG_COPIES_THREAD ? 1 : k->pieces ? k->pieces : 2;
    k->warps = k->warps ? k->warps : PG_PRIVATE_WARPS;
    k->contig = k->tile = k->stages = k->ctas = k->panel = k->ahead = 0;
    return PTXGEN_OK;
}

void pg_scatter_add_plan_private(const pg_scatter_add_key *k, pg_scatter_add_plan *p)
{
    p->access = (int)k->access;
    p->by_thread = k->copies == PG_COPIES_THREAD;
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

/* What a table takes with its tags and its queue, of no more than 8 rows a lane. */
static int64_t copy_bytes(bool by_thread, int64_t n, int64_t out_rows)
{
    const int64_t table = table_bytes(n, out_rows);
    return by_thread
               ? table
               : table + TAG_BYTES * tags_of(out_rows) + MOST_QUEUED * (table_bytes(n, 1) + 4);
}

/* How many tables a CTA has. */
static int64_t copies_of(int64_t warps, bool by_thread, int64_t shared_bytes, int64_t n,
                         int64_t out_rows)
{
    const int64_t bytes = copy_bytes(by_thread, n, out_rows);
    const int64_t most = by_thread ? 32 * warps : warps;
    const int64_t room = (shared_bytes - ALIGNMENT) / bytes, copies = room < most ? room : most;
    return by_thread && copies > 32 ? copies / 32 * 32
                                    : copies; /* whole warps read whole sectors */
}

/* A thread's own table is the fastest as long as enough threads have one to keep memory busy.
 * Measured: docs/benchmarks.md. */
pg_copies pg_scatter_add_private_copies(int64_t shared_bytes, int64_t n, int64_t out_rows,
                                        int least_warps)
{
    const int enough_threads = n > 4 ? 96 : 128;
    if (out_rows > shared_bytes)
        return PG_COPIES_AUTO;
    if (copies_of(PG_PRIVATE_WARPS, true, shared_bytes, n, out_rows) >= enough_threads)
        return PG_COPIES_THREAD;
    return copies_of(PG_PRIVATE_WARPS, false, shared_bytes, n, out_rows) >= least_warps
               ? PG_COPIES_WARP
               : PG_COPIES_AUTO;
}

ptxgen_status pg_scatter_add_private_limits(const pg_problem *problem, ptxgen_error *err)
{
    const pg_scatter_add_key *k = problem->key;
    const int64_t shared = pg_arch_find((ptxgen_arch)k->arch)->max_shared_bytes;
    const int64_t out_rows = problem->symbol[PG_SCATTER_OUT_ROWS],
                  n = problem->symbol[PG_SCATTER_N];
    const pg_view *src = &problem->operand[PG_SCATTER_SRC];
    const int64_t stride = src->stride[0] * pg_dtype_bits(src->dtype) / 8;
    if (out_rows > shared ||
        !copies_of(k->warps, k->copies == PG_COPIES_THREAD, shared, n, out_rows))
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
    const int64_t bytes = p->element->bytes, tags = p->by_thread ? 0 : tags_of(out_rows);
    const int64_t copies =
        copies_of(p->warps, p->by_thread, p->arch->max_shared_bytes, p->n, out_rows);
    const int64_t threads = p->by_thread ? copies : 32 * copies;
    const int64_t ctas = (rows - 1) / (threads * pg_private_row_of(p).batch) + 1;
    pg_launch_line(l, ctas < problem->device->sm_count ? ctas : problem->device->sm_count,
                   (int)((threads + 31) / 32 * 32), COUNT, 0);
    l->shared_bytes = (uint32_t)(copies * copy_bytes(p->by_thread, p->n, out_rows) + ALIGNMENT);
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
