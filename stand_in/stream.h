/* Streams, events and the work that goes through them. A stream carries its work out at once, in
 * the calling thread, or keeps it in a graph while it is being captured: every order that
 * results is one that CUDA allows. */
#ifndef PG_STAND_IN_STREAM_H
#define PG_STAND_IN_STREAM_H

#include "stand_in/memory.h"
#include "stand_in/module.h"

typedef struct pg_launch {
    pg_function *function;
    dim3 grid, block;
    unsigned cluster[3]; /* 0: what the kernel says */
    size_t dynamic_shared;
    void **args; /* a pointer per parameter */
    bool cooperative;
} pg_launch;

typedef enum pg_work_kind {
    PG_WORK_EMPTY,
    PG_WORK_LAUNCH,
    PG_WORK_COPY,
    PG_WORK_FILL,
    PG_WORK_HOST,
    PG_WORK_GRAPH,
    PG_WORK_RECORD,
    PG_WORK_WAIT
} pg_work_kind;

typedef struct pg_work {
    pg_work_kind kind;
    union {
        pg_launch launch;
        pg_copy copy;
        pg_fill fill;
        struct {
            pg_host_function call;
            void *user;
        } host;
        cudaGraph_t graph; /* owned by the node */
        cudaEvent_t event;
    };
} pg_work;

/* Carries work out now, or adds it to the graph that the stream is capturing. NULL and the two
 * special handles are the default stream. The launch's arguments are read before it returns. */
pg_cuda_error pg_submit(cudaStream_t stream, const pg_work *work);
/* Carries one piece of work out: kernels run here. The device's `running` lock is held inside. */
pg_cuda_error pg_work_run(const pg_work *work);

typedef struct pg_stream {
    struct pg_stream *next; /* all that live */
    unsigned flags;
    int priority;
    uint64_t id;
    cudaGraph_t capture;       /* NULL: not capturing */
    bool begun;                /* the capture began in this stream */
    bool broken;               /* something was asked that a capture forbids */
    cudaGraphNode_t *frontier; /* what the next node depends on */
    size_t frontier_count;
} pg_stream;

typedef struct pg_event {
    unsigned flags;
    bool recorded;
    double when;         /* milliseconds */
    cudaGraph_t capture; /* recorded in a stream that was capturing: where */
    cudaGraphNode_t *frontier;
    size_t frontier_count;
} pg_event;

/* The object of a handle: the default stream's for NULL and the special ones. */
pg_stream *pg_stream_of(cudaStream_t handle);
pg_cuda_error pg_stream_new(unsigned flags, int priority, cudaStream_t *out);
pg_cuda_error pg_stream_free(cudaStream_t stream);
/* Waits for what other host threads run. */
pg_cuda_error pg_synchronize(void);
pg_cuda_error pg_stream_synchronize(cudaStream_t stream);
pg_cuda_error pg_stream_wait(cudaStream_t stream, cudaEvent_t event);
pg_cuda_error pg_stream_begin_capture(cudaStream_t stream, cudaGraph_t graph);
pg_cuda_error pg_stream_end_capture(cudaStream_t stream, cudaGraph_t *out);

pg_cuda_error pg_event_new(unsigned flags, cudaEvent_t *out);
pg_cuda_error pg_event_free(cudaEvent_t event);
pg_cuda_error pg_event_record(cudaEvent_t event, cudaStream_t stream);
pg_cuda_error pg_event_elapsed(float *ms, cudaEvent_t from, cudaEvent_t to);
void pg_event_stamp(cudaEvent_t event);

#endif
