/* The bad-index record of each context (device/record.h): made when the first kernel is loaded
 * there, read and emptied by take_bad_index. */
#include "device/cuda/device.h"

#include "base/error.h"

static const pg_bad_index empty = {UINT64_MAX, 0};

/* On a stream of its own: the legacy stream would wait for the caller's work, and may not be
 * used at all while another stream is being captured. */
static int write_empty(const pg_driver *d, pg_cu_pointer record)
{
    ptxgen_stream stream;
    int result = d->cuStreamCreate(&stream, PG_CU_STREAM_NON_BLOCKING);
    if (result != 0)
        return result;
    result = d->cuMemcpyHtoDAsync(record, &empty, sizeof empty, stream);
    int waited = d->cuStreamSynchronize(stream);
    d->cuStreamDestroy(stream);
    return result ? result : waited;
}

ptxgen_status pg_cuda_make_record(pg_cuda *cuda, const pg_cuda_scope *scope, ptxgen_error *err)
{
    const pg_driver *d = cuda->driver;
    pg_cuda_context *context = scope->context;
    if (atomic_load_explicit(&context->record, memory_order_acquire))
        return PTXGEN_OK;
    pg_cu_pointer record, none = 0;
    PG_TRY(pg_driver_check(d, d->cuMemAlloc(&record, sizeof empty), "allocate the bad-index record",
                           err));
    int result = write_empty(d, record);
    if (result == 0 && atomic_compare_exchange_strong(&context->record, &none, record))
        return PTXGEN_OK;
    d->cuMemFree(record); /* it failed, or another thread was faster */
    return pg_driver_check(d, result, "empty the bad-index record", err);
}

/* An empty record is left alone, so that a kernel of another stream never loses the first bad
 * index. */
static ptxgen_status take(const pg_driver *d, pg_cu_pointer record, ptxgen_stream stream,
                          pg_bad_index *out, ptxgen_error *err)
{
    const char *doing = "read the bad-index record";
    PG_TRY(pg_driver_check(d, d->cuMemcpyDtoHAsync(out, record, sizeof *out, stream), doing, err));
    PG_TRY(pg_driver_check(d, d->cuStreamSynchronize(stream), doing, err));
    if (out->position == empty.position)
        return PTXGEN_OK;
    PG_TRY(
        pg_driver_check(d, d->cuMemcpyHtoDAsync(record, &empty, sizeof empty, stream), doing, err));
    return pg_driver_check(d, d->cuStreamSynchronize(stream), doing, err);
}

static ptxgen_status take_in(pg_cuda *cuda, const pg_cuda_scope *scope, pg_bad_index *out,
                             ptxgen_error *err)
{
    ptxgen_stream stream = scope->stream;
    bool capturing;
    PG_TRY(pg_cuda_capturing(cuda->driver, stream, &capturing, err));
    if (capturing)
        return pg_fail(err, PTXGEN_ECAPTURE,
                       "the stream is being captured: check indices after the graph has run");
    pg_cu_pointer record = atomic_load_explicit(&scope->context->record, memory_order_acquire);
    if (record)
        return take(cuda->driver, record, stream, out, err);
    /* No kernel was ever loaded here; the promise to wait still holds. */
    return pg_driver_check(cuda->driver, cuda->driver->cuStreamSynchronize(stream),
                           "wait for the stream", err);
}

ptxgen_status pg_cuda_take_bad_index(pg_device *device, ptxgen_stream stream, pg_bad_index *out,
                                     ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    *out = empty;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    scope.stream = stream;
    ptxgen_status status = take_in(cuda, &scope, out, err);
    pg_cuda_leave(&scope);
    return status;
}
