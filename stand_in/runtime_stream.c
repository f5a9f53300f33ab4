/* Runtime API: streams, events, capture. */
#include "stand_in/runtime.h"

#include <stdlib.h>

PG_API(cudaError_t) cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
    PG_NEED(out);
    return pg_set_error(pg_stream_new(flags, priority, out));
}

PG_API(cudaError_t) cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    return cudaStreamCreateWithPriority(out, flags, 0);
}

PG_API(cudaError_t) cudaStreamCreate(cudaStream_t *out)
{
    return cudaStreamCreateWithPriority(out, 0, 0);
}

PG_API(cudaError_t) cudaStreamDestroy(cudaStream_t stream)
{
    return pg_set_error(pg_stream_free(stream));
}

PG_API(cudaError_t) cudaStreamSynchronize(cudaStream_t stream)
{
    return pg_set_error(pg_stream_synchronize(stream));
}
PG_SAME(cudaStreamSynchronize_ptsz, cudaStreamSynchronize);

PG_API(cudaError_t) cudaStreamQuery(cudaStream_t stream)
{
    return pg_set_error(pg_stream_synchronize(stream));
}
PG_SAME(cudaStreamQuery_ptsz, cudaStreamQuery);

PG_API(cudaError_t) cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    return pg_set_error(pg_stream_wait(stream, event));
}
PG_SAME(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent);

PG_API(cudaError_t) cudaLaunchHostFunc(cudaStream_t stream, pg_host_function call, void *user)
{
    PG_NEED(call);
    const pg_work work = {.kind = PG_WORK_HOST, .host = {call, user}};
    return pg_set_error(pg_submit(stream, &work));
}
PG_SAME(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc);

PG_API(cudaError_t)
cudaStreamAddCallback(cudaStream_t stream, void (*call)(cudaStream_t, cudaError_t, void *),
                      void *user, unsigned flags)
{
    PG_NEED(call);
    if (pg_stream_of(stream)->capture)
        return pg_set_error(PG_CUDA_StreamCaptureUnsupported);
    call(stream, pg_synchronize(), user);
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamAddCallback_ptsz, cudaStreamAddCallback);

PG_API(cudaError_t) cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    PG_NEED(flags);
    *flags = pg_stream_of(stream)->flags;
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);

PG_API(cudaError_t) cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    PG_NEED(priority);
    *priority = pg_stream_of(stream)->priority;
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);

PG_API(cudaError_t) cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    PG_NEED(id);
    *id = pg_stream_of(stream)->id;
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamGetId_ptsz, cudaStreamGetId);

PG_API(cudaError_t) cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    PG_NEED(device);
    *device = 0;
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);

/* Attributes (access policy, priorities, ...) change no result. */
PG_API(cudaError_t) cudaStreamSetAttribute(cudaStream_t stream, int id, const void *value)
{
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamSetAttribute_ptsz, cudaStreamSetAttribute);

PG_API(cudaError_t) cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamCopyAttributes_ptsz, cudaStreamCopyAttributes);

/* ---- capture ---- */

enum { NOT_CAPTURING, CAPTURING, CAPTURE_BROKEN };

PG_API(cudaError_t) cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    return pg_set_error(pg_stream_begin_capture(stream, NULL));
}
PG_SAME(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture);

PG_API(cudaError_t) cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    PG_NEED(out);
    return pg_set_error(pg_stream_end_capture(stream, out));
}
PG_SAME(cudaStreamEndCapture_ptsz, cudaStreamEndCapture);

static int capture_status(cudaStream_t stream)
{
    const pg_stream *s = pg_stream_of(stream);
    return !s->capture ? NOT_CAPTURING : s->broken ? CAPTURE_BROKEN : CAPTURING;
}

PG_API(cudaError_t) cudaStreamIsCapturing(cudaStream_t stream, int *status)
{
    PG_NEED(status);
    *status = capture_status(stream);
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);

PG_API(cudaError_t)
cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id,
                         cudaGraph_t *graph, const cudaGraphNode_t **after, const void **edges,
                         size_t *count)
{
    const pg_stream *s = pg_stream_of(stream);
    PG_NEED(status);
    *status = capture_status(stream);
    if (!s->capture)
        return PG_CUDA_Success;
    if (id)
        *id = (uintptr_t)s->capture;
    if (graph)
        *graph = s->capture;
    if (after)
        *after = s->frontier;
    if (edges)
        *edges = NULL;
    if (count)
        *count = s->frontier_count;
    return PG_CUDA_Success;
}
PG_SAME(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo);

PG_API(cudaError_t) cudaThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int current;
    PG_NEED(mode);
    const int before = current;
    current = *mode;
    *mode = before;
    return PG_CUDA_Success;
}

/* ---- events ---- */

PG_API(cudaError_t) cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    PG_NEED(out);
    return pg_set_error(pg_event_new(flags, out));
}

PG_API(cudaError_t) cudaEventCreate(cudaEvent_t *out)
{
    return cudaEventCreateWithFlags(out, 0);
}

PG_API(cudaError_t) cudaEventDestroy(cudaEvent_t event)
{
    return pg_set_error(pg_event_free(event));
}

PG_API(cudaError_t) cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return pg_set_error(pg_event_record(event, stream));
}
PG_SAME(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags);

PG_API(cudaError_t) cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return pg_set_error(pg_event_record(event, stream));
}
PG_SAME(cudaEventRecord_ptsz, cudaEventRecord);

PG_API(cudaError_t) cudaEventQuery(cudaEvent_t event)
{
    PG_NEED(event);
    return pg_set_error(pg_synchronize());
}

PG_API(cudaError_t) cudaEventSynchronize(cudaEvent_t event)
{
    PG_NEED(event);
    return pg_set_error(pg_synchronize());
}

PG_API(cudaError_t) cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    return pg_set_error(pg_event_elapsed(ms, from, to));
}
