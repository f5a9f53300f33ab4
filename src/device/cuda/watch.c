/* Looks at a call's own bad-index record without waiting: a copy to page-locked host memory, and
 * an event behind it that is asked whether it has come. */
#include "device/cuda/device.h"

#include "base/error.h"

enum { SEEN, EMPTY, PLACES }; /* of the host memory: what was found, and an empty record */

/* The memory and the event, once for all looks. */
static ptxgen_status prepare(const pg_driver *d, pg_watch *w, ptxgen_error *err)
{
    void *memory;
    pg_cu_event event;
    if (w->seen)
        return PTXGEN_OK;
    if (!d->cuEventCreate || !d->cuEventRecord || !d->cuEventDestroy)
        return pg_driver_too_old(d, 12000, "a watch", err);
    PG_TRY(pg_driver_check(
        d, d->cuMemHostAlloc(&memory, PLACES * sizeof(pg_bad_index), PG_CU_HOST_PORTABLE),
        "allocate page-locked memory", err));
    const int result = d->cuEventCreate(&event, PG_CU_EVENT_WITHOUT_TIME);
    if (result) {
        d->cuMemFreeHost(memory);
        return pg_driver_check(d, result, "make an event", err);
    }
    w->seen = memory;
    w->seen[EMPTY] = PG_BAD_INDEX_EMPTY;
    w->event = event;
    return PTXGEN_OK;
}

static ptxgen_status watch_in(pg_cuda *cuda, const pg_cuda_scope *scope, pg_watch *w,
                              pg_cu_pointer record, ptxgen_error *err)
{
    const pg_driver *d = cuda->driver;
    const char *const doing = "put a look at bad indices into the stream";
    const size_t bytes = sizeof *w->seen;
    bool capturing;
    PG_TRY(pg_cuda_capturing(d, scope->stream, &capturing, err));
    if (capturing)
        return pg_fail(err, PTXGEN_ECAPTURE,
                       "the stream is being captured: watch indices after the graph has run");
    PG_TRY(prepare(d, w, err));
    PG_TRY(pg_driver_check(d, d->cuMemcpyDtoHAsync(w->seen, record, bytes, scope->stream), doing,
                           err));
    PG_TRY(pg_driver_check(d, d->cuMemcpyHtoDAsync(record, w->seen + EMPTY, bytes, scope->stream),
                           doing, err));
    return pg_driver_check(d, d->cuEventRecord(w->event, scope->stream), doing, err);
}

ptxgen_status pg_cuda_watch(pg_device *device, pg_watch *w, void *record, ptxgen_stream stream,
                            ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    scope.stream = stream;
    const ptxgen_status status = watch_in(cuda, &scope, w, (uintptr_t)record, err);
    pg_cuda_leave(&scope);
    return status;
}

ptxgen_status pg_cuda_watched(pg_device *device, const pg_watch *w, bool *done, pg_bad_index *out,
                              ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    const int result = cuda->driver->cuEventQuery(w->event);
    pg_cuda_leave(&scope);
    *done = result == 0;
    if (result == PG_CU_ERROR_NOT_READY)
        return PTXGEN_OK;
    *out = w->seen[SEEN];
    return pg_driver_check(cuda->driver, result, "ask for a look at bad indices", err);
}

void pg_cuda_unwatch(pg_device *device, pg_watch *w)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    if (!w->seen || pg_cuda_enter(&cuda->contexts, &scope, NULL) != PTXGEN_OK)
        return;
    cuda->driver->cuEventDestroy(w->event);
    cuda->driver->cuMemFreeHost(w->seen);
    pg_cuda_leave(&scope);
}
