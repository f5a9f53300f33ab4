/* ptxgen_scatter_add: checks the arguments, picks the kernel, launches. Every refusal happens before anything
 * is touched. */
#include "api/context.h"

#include "base/error.h"
#include "scatter_add/scatter_add.h"

#include <string.h>

enum { ALIGNMENT = 16 };
static const int64_t max_n = INT64_C(1) << 31;

/* What the checks need to know of a call. */
typedef struct problem {
    ptxgen_scatter_add_args a; /* strides filled in */
    const pg_dtype *dtype;
    int64_t index_bytes;
    bool host; /* memory that plain C reads, aligned to its elements only, of any row length */
} problem;

static ptxgen_status check_numbers(problem *p, ptxgen_error *err)
{
    const ptxgen_scatter_add_args *a = &p->a;
    p->dtype = pg_dtype_find(a->dtype);
    if (!p->dtype)
        return pg_fail(err, PTXGEN_EINVAL, "dtype is %d: use PTXGEN_F32, PTXGEN_F16 or PTXGEN_BF16",
                       (int)a->dtype);
    if (a->index_type != PTXGEN_INDEX_I64 && a->index_type != PTXGEN_INDEX_I32)
        return pg_fail(err, PTXGEN_EINVAL,
                       "index_type is %d: use PTXGEN_INDEX_I64 or PTXGEN_INDEX_I32",
                       (int)a->index_type);
    if ((unsigned)a->schedule > PTXGEN_SCHEDULE_VECTOR)
        return pg_fail(err, PTXGEN_EINVAL, "schedule is %d: use a PTXGEN_SCHEDULE_ value, 0 to %d",
                       (int)a->schedule, (int)PTXGEN_SCHEDULE_VECTOR);
    if ((unsigned)a->oob > PTXGEN_OOB_UNCHECKED)
        return pg_fail(err, PTXGEN_EINVAL, "oob is %d: use a PTXGEN_OOB_ value, 0 to %d",
                       (int)a->oob, (int)PTXGEN_OOB_UNCHECKED);
    if (a->rows < 0 || a->out_rows < 0 || a->n < 0)
        return pg_fail(err, PTXGEN_EINVAL, "rows=%lld, out_rows=%lld, n=%lld: none may be negative",
                       (long long)a->rows, (long long)a->out_rows, (long long)a->n);
    return PTXGEN_OK;
}

static ptxgen_status check_inner(const char *name, int64_t stride, ptxgen_error *err)
{
    if (stride == 0 || stride == 1)
        return PTXGEN_OK;
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "%s has inner stride %lld: its elements must be adjacent (make a contiguous copy)", name,
        (long long)stride);
}

/* One of out and src: pointer, row stride, and that the last byte can be addressed. */
static ptxgen_status check_matrix(const problem *p, const char *name, const void *base,
                                  int64_t rows, int64_t stride, ptxgen_error *err)
{
    const int64_t bytes = p->dtype->bytes, n = p->a.n, alignment = p->host ? bytes : ALIGNMENT;
    int64_t span;
    if (!base)
        return pg_fail(err, PTXGEN_EINVAL, "%s is NULL", name);
    if ((uintptr_t)base % (uintptr_t)alignment)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s is at %p, not %lld-byte aligned: %s need it (copy to an aligned buffer)",
                       name, base, (long long)alignment, p->host ? "the elements" : "bulk copies");
    if (stride < n)
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s has row stride %lld, less than n=%lld: rows would overlap", name,
                       (long long)stride, (long long)n);
    if (__builtin_mul_overflow(rows, stride, &span) || __builtin_mul_overflow(span, bytes, &span))
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s has %lld rows of stride %lld: more bytes than can be addressed", name,
                       (long long)rows, (long long)stride);
    if (rows > 1 && stride * bytes % alignment)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "%s has row stride %lld, %lld bytes, not a multiple of 16: rows would not be aligned",
            name, (long long)stride, (long long)(stride * bytes));
    return PTXGEN_OK;
}

static uintptr_t end_of(const void *base, int64_t rows, int64_t stride, int64_t n, int64_t bytes)
{
    return (uintptr_t)base + (uintptr_t)(((rows - 1) * stride + n) * bytes);
}

/* Two column ranges of one wider buffer interleave without touching; anything else that meets is refused. */
static ptxgen_status check_overlap(const problem *p, ptxgen_error *err)
{
    const ptxgen_scatter_add_args *a = &p->a;
    const int64_t bytes = p->dtype->bytes;
    const uintptr_t out = (uintptr_t)a->out, src = (uintptr_t)a->src, index = (uintptr_t)a->index;
    const uintptr_t out_end = end_of(a->out, a->out_rows, a->out_stride, a->n, bytes);
    const uintptr_t src_end = end_of(a->src, a->rows, a->src_stride, a->n, bytes);
    if (index < out_end && out < index + (uintptr_t)(a->rows * p->index_bytes))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "index and out overlap: out would change the index it is read by");
    if (src >= out_end || out >= src_end)
        return PTXGEN_OK;
    if (a->out_stride == a->src_stride) {
        const int64_t stride = a->out_stride * bytes, row = a->n * bytes;
        const int64_t shift = (((int64_t)(src - out) % stride) + stride) % stride;
        if (shift >= row && shift + row <= stride)
            return PTXGEN_OK;
    }
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "out and src overlap: the result would depend on the order of rows (copy src first)");
}

static ptxgen_status check_memory(problem *p, ptxgen_error *err)
{
    ptxgen_scatter_add_args *a = &p->a;
    p->index_bytes = a->index_type == PTXGEN_INDEX_I32 ? 4 : 8;
    a->out_stride = a->out_stride ? a->out_stride : a->n;
    a->src_stride = a->src_stride ? a->src_stride : a->n;
    PG_TRY(check_inner("out", a->out_inner, err));
    PG_TRY(check_inner("src", a->src_inner, err));
    PG_TRY(check_inner("index", a->index_stride, err));
    if (a->n > max_n)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "n=%lld is more than %lld elements per row",
                       (long long)a->n, (long long)max_n);
    if (!p->host && !ptxgen_row_shape_supported(a->dtype, a->n))
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "rows of n=%lld %s are %lld bytes, not a multiple of 16: use n divisible by %lld",
            (long long)a->n, p->dtype->name, (long long)(a->n * p->dtype->bytes),
            (long long)ptxgen_min_d_divisor_for(a->dtype));
    if (a->out_rows == 0)
        return pg_fail(err, PTXGEN_EINDEX,
                       "out has no rows, so each of the %lld indices is out of range",
                       (long long)a->rows);
    PG_TRY(check_matrix(p, "out", a->out, a->out_rows, a->out_stride, err));
    PG_TRY(check_matrix(p, "src", a->src, a->rows, a->src_stride, err));
    if (!a->index || (uintptr_t)a->index % (uintptr_t)p->index_bytes)
        return pg_fail(err, PTXGEN_EINVAL,
                       "index is at %p: it must be non-NULL and aligned to %lld bytes", a->index,
                       (long long)p->index_bytes);
    return check_overlap(p, err);
}

/* *nothing: a legal call that has nothing to add. */
static ptxgen_status check(const ptxgen_scatter_add_args *args, problem *p, bool host,
                           bool *nothing, ptxgen_error *err)
{
    p->host = host;
    if (!args || args->size < sizeof(size_t) || args->size > 4096)
        return pg_fail(err, PTXGEN_EINVAL,
                       "args.size is %zu: set it to sizeof(ptxgen_scatter_add_args)",
                       args ? args->size : (size_t)0);
    if (args->size < sizeof p->a)
        memset(&p->a, 0, sizeof p->a);
    memcpy(&p->a, args, args->size < sizeof p->a ? args->size : sizeof p->a);
    PG_TRY(check_numbers(p, err));
    *nothing = p->a.rows == 0 || p->a.n == 0;
    return *nothing ? PTXGEN_OK : check_memory(p, err);
}

static bool is_contiguous(const problem *p)
{
    return p->a.out_stride == p->a.n && p->a.src_stride == p->a.n;
}

static ptxgen_status id_of(const problem *p, ptxgen_arch device_arch, pg_kernel_id *id,
                           ptxgen_error *err)
{
    memset(id, 0, sizeof *id);
    id->family = &pg_family_scatter_add;
    pg_scatter_add_key *k = (pg_scatter_add_key *)id->key;
    k->arch = pg_family_arch_on(id->family, device_arch);
    k->dtype = (int64_t)p->a.dtype - 1;
    k->n = p->a.dynamic_n ? 0 : p->a.n;
    k->contig = is_contiguous(p);
    k->index = p->a.index_type;
    k->schedule = p->a.schedule;
    k->oob = p->a.oob;
    return pg_kernel_id_resolve(id, err);
}

static ptxgen_status check_seed_limits(const problem *p, ptxgen_error *err)
{
    if (p->a.rows >= INT64_C(1) << 31 || p->a.src_stride * p->dtype->bytes >= INT64_C(1) << 40)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "schedule=seed addresses rows by a 32-bit tensor coordinate and strides "
                       "below 2^40 bytes:"
                       " %lld rows of stride %lld need schedule=bulk",
                       (long long)p->a.rows, (long long)p->a.src_stride);
    return PTXGEN_OK;
}

static ptxgen_status launch(ptxgen_kernel *k, pg_device *device, const problem *p,
                            const ptxgen_device_info *info, ptxgen_stream stream, ptxgen_error *err)
{
    pg_launch l;
    const pg_scatter_add_plan *plan = (const pg_scatter_add_plan *)k->plan;
    if (plan->schedule == PTXGEN_SCHEDULE_SEED)
        PG_TRY(check_seed_limits(p, err));
    pg_scatter_add_launch(plan, &p->a, info, &l);
    return device->ops->launch(device, atomic_load_explicit(&k->loaded, memory_order_acquire), &l,
                               stream, err);
}

ptxgen_status ptxgen_scatter_add(ptxgen *ctx, const ptxgen_scatter_add_args *args,
                                 ptxgen_stream stream, ptxgen_error *err)
{
    problem p;
    bool nothing;
    pg_device *device;
    const ptxgen_device_info *info;
    pg_kernel_id id;
    ptxgen_kernel *k;
    PG_TRY(check(args, &p, false, &nothing, err));
    if (nothing)
        return PTXGEN_OK;
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    PG_TRY(device->ops->info(device, &info, err));
    PG_TRY(id_of(&p, info->arch, &id, err));
    PG_TRY(pg_kernel_store_ready(&ctx->kernels, device, &id, stream, &k, err));
    const ptxgen_status status = launch(k, device, &p, info, stream, err);
    ptxgen_kernel_unref(k);
    return status;
}

/* The kernel was built for one dtype, row length, index type and, unless contig=no, dense rows. */
static ptxgen_status check_kernel(const ptxgen_kernel *k, const problem *p, ptxgen_error *err)
{
    if (k->id.family != &pg_family_scatter_add)
        return pg_fail(err, PTXGEN_EINVAL, "the kernel is of family %s, not scatter_add",
                       k->id.family->name);
    const pg_scatter_add_key *key = (const pg_scatter_add_key *)k->id.key;
    if (key->dtype + 1 != (int64_t)p->a.dtype || key->index != (int64_t)p->a.index_type ||
        (key->n && key->n != p->a.n) || (key->contig && !is_contiguous(p)))
        return pg_fail(
            err, PTXGEN_EINVAL,
            "the kernel (%s) does not serve dtype=%s n=%lld index=%s contig=%s: get one that does",
            pg_buf_text(&k->params), p->dtype->name, (long long)p->a.n,
            p->index_bytes == 4 ? "i32" : "i64", is_contiguous(p) ? "yes" : "no");
    return PTXGEN_OK;
}

ptxgen_status ptxgen_scatter_add_launch(ptxgen_kernel *k, const ptxgen_scatter_add_args *args,
                                        ptxgen_stream stream, ptxgen_error *err)
{
    problem p;
    bool nothing;
    pg_device *device;
    const ptxgen_device_info *info;
    PG_TRY(check(args, &p, false, &nothing, err));
    if (nothing)
        return PTXGEN_OK;
    PG_TRY(check_kernel(k, &p, err));
    PG_TRY(pg_engine_device(k->engine, &device, err));
    PG_TRY(device->ops->info(device, &info, err));
    PG_TRY(pg_kernel_load(k, device, stream, err));
    return launch(k, device, &p, info, stream, err);
}

ptxgen_status ptxgen_check_indices(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err)
{
    pg_device *device;
    pg_bad_index bad;
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    PG_TRY(device->ops->take_bad_index(device, stream, &bad, err));
    if (bad.position == UINT64_MAX)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINDEX,
                   "index[%llu] = %lld is not a row of out: that row of src was skipped (so was "
                   "any later one with a"
                   " bad index), all others were added",
                   (unsigned long long)bad.position, (long long)bad.value);
}

ptxgen_status ptxgen_scatter_add_oracle(const ptxgen_scatter_add_args *args, ptxgen_error *err)
{
    problem p;
    bool nothing;
    PG_TRY(check(args, &p, true, &nothing, err));
    return nothing ? PTXGEN_OK : pg_scatter_add_oracle(&p.a, err);
}
