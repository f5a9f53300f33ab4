/* Streams, events, capture: see stream.h. */
#include "stand_in/graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pg_stream default_stream;
static pg_stream *streams; /* under the device's lock */

static bool is_default(cudaStream_t handle)
{
    return !handle || handle == PG_STREAM_LEGACY || handle == PG_STREAM_PER_THREAD;
}

pg_stream *pg_stream_of(cudaStream_t handle)
{
    return is_default(handle) ? &default_stream : handle;
}

pg_cuda_error pg_stream_new(unsigned flags, int priority, cudaStream_t *out)
{
    static atomic_uint_fast64_t next = 1;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return PG_CUDA_MemoryAllocation;
    pg_device *d = pg_device_get();
    if (!d)
        return PG_CUDA_InitializationError;
    **out = (pg_stream){.flags = flags, .priority = priority, .id = atomic_fetch_add(&next, 1)};
    pthread_mutex_lock(&d->lock);
    (*out)->next = streams;
    streams = *out;
    pthread_mutex_unlock(&d->lock);
    return PG_CUDA_Success;
}

static void leave_capture(pg_stream *s)
{
    free(s->frontier);
    s->frontier = NULL;
    s->frontier_count = 0;
    s->capture = NULL;
    s->begun = s->broken = false;
}

/* Frees every stream that had joined; false: one of them has work that the origin has not waited
 * for, or asked for something that a capture forbids. */
static bool end_capture(pg_stream *origin)
{
    pg_device *d = pg_device_get();
    const cudaGraph_t graph = origin->capture;
    bool good = !origin->broken;
    pthread_mutex_lock(&d->lock);
    for (pg_stream *s = streams; s; s = s->next)
        if (s != origin && s->capture == graph) {
            good &= !s->broken;
            leave_capture(s);
        }
    pthread_mutex_unlock(&d->lock);
    leave_capture(origin);
    return good;
}

static void forget(const pg_stream *stream)
{
    pg_device *d = pg_device_get();
    pthread_mutex_lock(&d->lock);
    for (pg_stream **at = &streams; *at; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    pthread_mutex_unlock(&d->lock);
}

pg_cuda_error pg_stream_free(cudaStream_t handle)
{
    if (is_default(handle))
        return PG_CUDA_InvalidResourceHandle;
    if (handle->begun) {
        const cudaGraph_t graph = handle->capture;
        end_capture(handle);
        pg_graph_free(graph);
    }
    leave_capture(handle);
    forget(handle);
    free(handle);
    return PG_CUDA_Success;
}

pg_cuda_error pg_synchronize(void)
{
    pg_device *d = pg_device_get();
    if (!d)
        return PG_CUDA_InitializationError;
    pthread_mutex_lock(&d->running);
    pthread_mutex_unlock(&d->running);
    return pg_lost();
}

pg_cuda_error pg_stream_synchronize(cudaStream_t stream)
{
    pg_stream *s = pg_stream_of(stream);
    if (s->capture) {
        s->broken = true;
        return PG_CUDA_StreamCaptureUnsupported;
    }
    return pg_synchronize();
}

/* ---- capture ---- */

/* frontier := nodes */
static pg_cuda_error set_frontier(cudaGraphNode_t **to, size_t *to_count,
                                  const cudaGraphNode_t *nodes, size_t count)
{
    cudaGraphNode_t *copy = malloc((count ? count : 1) * sizeof *copy);
    if (!copy)
        return PG_CUDA_MemoryAllocation;
    if (count)
        memcpy(copy, nodes, count * sizeof *copy);
    free(*to);
    *to = copy;
    *to_count = count;
    return PG_CUDA_Success;
}

pg_cuda_error pg_stream_begin_capture(cudaStream_t handle, cudaGraph_t graph)
{
    pg_stream *s = pg_stream_of(handle);
    if (!handle || handle == PG_STREAM_LEGACY)
        return PG_CUDA_StreamCaptureUnsupported; /* the legacy stream cannot be captured */
    if (s->capture)
        return PG_CUDA_IllegalState;
    s->capture = graph ? graph : pg_graph_new();
    s->begun = true;
    return s->capture ? PG_CUDA_Success : PG_CUDA_MemoryAllocation;
}

pg_cuda_error pg_stream_end_capture(cudaStream_t handle, cudaGraph_t *out)
{
    pg_stream *s = pg_stream_of(handle);
    *out = NULL;
    if (!s->capture || !s->begun)
        return PG_CUDA_IllegalState;
    cudaGraph_t graph = s->capture;
    if (!end_capture(s)) {
        pg_graph_free(graph);
        return PG_CUDA_StreamCaptureUnsupported;
    }
    *out = graph;
    return PG_CUDA_Success;
}

static pg_cuda_error capture(pg_stream *s, const pg_work *work)
{
    cudaGraphNode_t node = pg_graph_add(s->capture, work, s->frontier, s->frontier_count);
    if (!node)
        return PG_CUDA_MemoryAllocation;
    return set_frontier(&s->frontier, &s->frontier_count, &node, 1);
}

pg_cuda_error pg_stream_wait(cudaStream_t handle, cudaEvent_t event)
{
    pg_stream *s = pg_stream_of(handle);
    if (!event)
        return PG_CUDA_InvalidResourceHandle;
    if (!event->capture)
        return PG_CUDA_Success; /* it was carried out when it was recorded */
    if (!s->capture)            /* joins the capture */
        s->capture = event->capture;
    const size_t count = s->frontier_count + event->frontier_count;
    cudaGraphNode_t *all = malloc((count ? count : 1) * sizeof *all);
    if (!all)
        return PG_CUDA_MemoryAllocation;
    if (s->frontier_count)
        memcpy(all, s->frontier, s->frontier_count * sizeof *all);
    if (event->frontier_count)
        memcpy(all + s->frontier_count, event->frontier, event->frontier_count * sizeof *all);
    const pg_cuda_error error = set_frontier(&s->frontier, &s->frontier_count, all, count);
    free(all);
    return error;
}

pg_cuda_error pg_submit(cudaStream_t handle, const pg_work *work)
{
    pg_stream *s = pg_stream_of(handle);
    const pg_cuda_error lost = pg_lost();
    if (lost)
        return lost;
    if (s->capture)
        return capture(s, work);
    return pg_work_run(work);
}

/* ---- events ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

pg_cuda_error pg_event_new(unsigned flags, cudaEvent_t *out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return PG_CUDA_MemoryAllocation;
    (*out)->flags = flags;
    return PG_CUDA_Success;
}

pg_cuda_error pg_event_free(cudaEvent_t event)
{
    if (!event)
        return PG_CUDA_InvalidResourceHandle;
    free(event->frontier);
    free(event);
    return PG_CUDA_Success;
}

void pg_event_stamp(cudaEvent_t event)
{
    event->recorded = true;
    event->when = now_ms();
}

pg_cuda_error pg_event_record(cudaEvent_t event, cudaStream_t handle)
{
    pg_stream *s = pg_stream_of(handle);
    if (!event)
        return PG_CUDA_InvalidResourceHandle;
    event->capture = s->capture;
    if (s->capture)
        return set_frontier(&event->frontier, &event->frontier_count, s->frontier,
                            s->frontier_count);
    const pg_cuda_error error = pg_synchronize();
    pg_event_stamp(event);
    return error;
}

pg_cuda_error pg_event_elapsed(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    enum { DISABLE_TIMING = 2 };
    if (!ms || !from || !to || (from->flags & DISABLE_TIMING) || (to->flags & DISABLE_TIMING) ||
        !from->recorded || !to->recorded)
        return PG_CUDA_InvalidResourceHandle;
    *ms = (float)(to->when - from->when);
    return PG_CUDA_Success;
}
