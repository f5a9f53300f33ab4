/* How long calls take: captured in a graph, whose second run is between two events, so that the
 * host's part does not count. */
#include "device/cuda/device.h"

#include "base/clock.h"
#include "base/error.h"

typedef struct timer {
    const pg_driver *d;
    ptxgen_stream stream;
    pg_cu_event from, to;
    pg_cu_graph graph;
    pg_cu_runnable runnable;
} timer;

#define DO(call) PG_TRY(pg_driver_check(t->d, t->d->call, "measure calls (" #call ")", err))

static ptxgen_status capture(timer *t, const pg_timed *what, ptxgen_error *err)
{
    DO(cuStreamBeginCapture(t->stream, PG_CU_CAPTURE_MODE_RELAXED));
    ptxgen_status status = PTXGEN_OK;
    for (int i = 0; i < what->repeat && status == PTXGEN_OK; i++)
        status = what->enqueue(what->user, t->stream, err);
    const int ended = t->d->cuStreamEndCapture(t->stream, &t->graph);
    return status == PTXGEN_OK ? pg_driver_check(t->d, ended, "capture calls", err) : status;
}

static ptxgen_status run(timer *t, float *ms, ptxgen_error *err)
{
    DO(cuGraphInstantiateWithFlags(&t->runnable, t->graph, 0));
    DO(cuGraphLaunch(t->runnable, t->stream));
    DO(cuEventCreate(&t->from, 0));
    DO(cuEventCreate(&t->to, 0));
    DO(cuEventRecord(t->from, t->stream));
    DO(cuGraphLaunch(t->runnable, t->stream));
    DO(cuEventRecord(t->to, t->stream));
    DO(cuStreamSynchronize(t->stream));
    DO(cuEventElapsedTime(ms, t->from, t->to));
    return PTXGEN_OK;
}

static void end(timer *t)
{
    if (t->runnable)
        t->d->cuGraphExecDestroy(t->runnable);
    if (t->graph)
        t->d->cuGraphDestroy(t->graph);
    if (t->from)
        t->d->cuEventDestroy(t->from);
    if (t->to)
        t->d->cuEventDestroy(t->to);
    t->d->cuStreamDestroy(t->stream);
}

/* An old driver: by the host's clock. */
static ptxgen_status by_clock(pg_device *device, const pg_timed *what, double *us,
                              ptxgen_error *err)
{
    const int64_t start = pg_clock_ns();
    for (int i = 0; i < what->repeat; i++)
        PG_TRY(what->enqueue(what->user, NULL, err));
    PG_TRY(device->ops->synchronize(device, NULL, err));
    *us = 1e-3 * (double)(pg_clock_ns() - start) / what->repeat;
    return PTXGEN_OK;
}

ptxgen_status pg_cuda_time(pg_device *device, const pg_timed *what, double *us, ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    const pg_driver *d = cuda->driver;
    pg_cuda_scope scope;
    timer t = {.d = d};
    float ms = 0;
    if (!d->cuEventElapsedTime || !d->cuEventCreate || !d->cuEventRecord || !d->cuEventDestroy ||
        !d->cuGraphInstantiateWithFlags || !d->cuStreamBeginCapture || !d->cuStreamEndCapture ||
        !d->cuGraphLaunch || !d->cuGraphExecDestroy || !d->cuGraphDestroy)
        return by_clock(device, what, us, err);
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    ptxgen_status status = pg_driver_check(
        d, d->cuStreamCreate(&t.stream, PG_CU_STREAM_NON_BLOCKING), "make a stream", err);
    if (status == PTXGEN_OK) {
        status = capture(&t, what, err);
        if (status == PTXGEN_OK)
            status = run(&t, &ms, err);
        end(&t);
    }
    pg_cuda_leave(&scope);
    *us = 1e3 * (double)ms / what->repeat;
    return status;
}
