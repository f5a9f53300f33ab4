#include "api/family_call.h"

#include "base/error.h"

#include <string.h>

ptxgen_status pg_take_args(const void *args, void *out, size_t size, const char *name,
                           ptxgen_error *err)
{
    size_t given = 0;
    if (args)
        memcpy(&given, args, sizeof given);
    if (given < sizeof(size_t) || given > 4096)
        return pg_fail(err, PTXGEN_EINVAL, "args.size is %zu: set it to sizeof(%s)", given, name);
    memset(out, 0, size);
    memcpy(out, args, given < size ? given : size);
    return PTXGEN_OK;
}

/* Rows [0, rows - 1] of `stride` elements and one of `columns`; false when it does not fit an
 * int64_t. */
static bool extent_of(const pg_matrix_arg *m, int64_t *bytes)
{
    int64_t elements, bits;
    if (__builtin_mul_overflow(m->rows, m->stride, &elements) ||
        __builtin_mul_overflow(elements, m->element_bits, &bits))
        return false;
    *bytes = ((m->rows - 1) * m->stride + m->columns) * m->element_bits / 8;
    return true;
}

ptxgen_status pg_check_matrix(const pg_matrix_arg *m, ptxgen_error *err)
{
    int64_t bytes;
    if (!m->base)
        return pg_fail(err, PTXGEN_EINVAL, "%s is NULL", m->name);
    if (m->stride < m->columns)
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s has row stride %lld, less than its %lld columns: rows would overlap",
                       m->name, (long long)m->stride, (long long)m->columns);
    if (!extent_of(m, &bytes))
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s has %lld rows of stride %lld: more bytes than can be addressed", m->name,
                       (long long)m->rows, (long long)m->stride);
    if ((uintptr_t)m->base % (uintptr_t)m->alignment)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s is at %p, not %d-byte aligned: %s need it (copy to an aligned"
                       " buffer)",
                       m->name, m->base, m->alignment, m->needed_by);
    if (m->rows > 1 && m->stride * m->element_bits % (8 * m->alignment))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s has row stride %lld, not a multiple of %d elements (%d bytes): %s need "
                       "it (pad the rows)",
                       m->name, (long long)m->stride, 8 * m->alignment / m->element_bits,
                       m->alignment, m->needed_by);
    return PTXGEN_OK;
}

/* Different columns of one wider buffer: the rows interleave without touching. */
static bool interleave(const pg_matrix_arg *a, const pg_matrix_arg *b)
{
    const int64_t stride = a->stride * a->element_bits / 8;
    if (stride != b->stride * b->element_bits / 8 || stride == 0)
        return false;
    const int64_t apart = (int64_t)((uintptr_t)b->base - (uintptr_t)a->base) % stride;
    const int64_t shift = apart < 0 ? apart + stride : apart;
    return shift >= a->columns * a->element_bits / 8 &&
           shift + b->columns * b->element_bits / 8 <= stride;
}

bool pg_matrices_meet(const pg_matrix_arg *a, const pg_matrix_arg *b)
{
    int64_t a_bytes, b_bytes;
    if (!a->rows || !a->columns || !b->rows || !b->columns || !extent_of(a, &a_bytes) ||
        !extent_of(b, &b_bytes))
        return false;
    const uintptr_t a_first = (uintptr_t)a->base, b_first = (uintptr_t)b->base;
    return a_first < b_first + (uintptr_t)b_bytes && b_first < a_first + (uintptr_t)a_bytes &&
           !interleave(a, b);
}

ptxgen_status pg_check_range(const char *name, int64_t value, int64_t lowest, int64_t highest,
                             ptxgen_error *err)
{
    if (value >= lowest && value <= highest)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL, "%s=%lld is out of range: use %lld to %lld", name,
                   (long long)value, (long long)lowest, (long long)highest);
}

ptxgen_status pg_call_begin(pg_engine *engine, const pg_family *family, pg_call *call, ptxgen_error *err)
{
    memset(call, 0, sizeof *call);
    PG_TRY(pg_engine_device(engine, &call->device, err));
    PG_TRY(call->device->ops->info(call->device, &call->info, err));
    call->id.family = family;
    call->id.key[0] = pg_kernel_id_arch(family, call->device->ops->kind, call->info->arch);
    return PTXGEN_OK;
}

static ptxgen_status launch(ptxgen_kernel *k, const pg_call *call, const void *args,
                            ptxgen_stream stream, ptxgen_error *err)
{
    pg_launch l;
    k->id.family->launch(k->plan, args, call->info, &l);
    pg_loaded *loaded = atomic_load_explicit(&k->loaded, memory_order_acquire);
    return call->device->ops->launch(call->device, loaded, &l, stream, err);
}

ptxgen_status pg_call_run(ptxgen *ctx, pg_call *call, const void *args, ptxgen_stream stream, ptxgen_error *err)
{
    ptxgen_kernel *k;
    PG_TRY(pg_kernel_id_resolve(&call->id, err));
    PG_TRY(pg_kernel_store_ready(&ctx->kernels, call->device, &call->id, stream, &k, err));
    const ptxgen_status status = launch(k, call, args, stream, err);
    ptxgen_kernel_unref(k);
    return status;
}

ptxgen_status pg_call_kernel(ptxgen_kernel *k, const void *args, ptxgen_stream stream,
                             ptxgen_error *err)
{
    pg_call call;
    PG_TRY(pg_call_begin(k->engine, k->id.family, &call, err));
    PG_TRY(pg_kernel_load(k, call.device, stream, err));
    return launch(k, &call, args, stream, err);
}

ptxgen_status pg_check_kernel_family(const ptxgen_kernel *k, const pg_family *family,
                                     ptxgen_error *err)
{
    if (k->id.family == family)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL, "the kernel is of family %s, not %s", k->id.family->name,
                   family->name);
}
