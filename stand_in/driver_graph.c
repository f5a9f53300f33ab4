/* Driver API: graphs and pools of memory. Its structures lie in memory as the runtime's do, but
 * for copies, so the runtime's functions answer. */
#include "stand_in/array.h"
#include "stand_in/runtime.h"

typedef pg_cuda_error CUresult;

/* The driver's name for a function of the runtime. */
#define AS_RUNTIME(name, runtime, params, args)                                                    \
    extern CUresult runtime params;                                                                \
    PG_API(CUresult) name params                                                                   \
    {                                                                                              \
        return runtime args;                                                                       \
    }

/* ---- nodes: NODE is where they go, and after what ---- */

#define NODE      cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n
#define NODE_ARGS out, graph, after, n

AS_RUNTIME(cuGraphAddKernelNode_v2, cudaGraphAddKernelNode, (NODE, const cudaKernelNodeParams *p),
           (NODE_ARGS, p))
AS_RUNTIME(cuGraphAddMemsetNode, cudaGraphAddMemsetNode, (NODE, const cudaMemsetParams *p),
           (NODE_ARGS, p)) /* and a context */
AS_RUNTIME(cuGraphAddHostNode, cudaGraphAddHostNode, (NODE, const cudaHostNodeParams *p),
           (NODE_ARGS, p))
AS_RUNTIME(cuGraphAddEmptyNode, cudaGraphAddEmptyNode, (NODE), (NODE_ARGS))
AS_RUNTIME(cuGraphAddChildGraphNode, cudaGraphAddChildGraphNode, (NODE, cudaGraph_t child),
           (NODE_ARGS, child))
AS_RUNTIME(cuGraphAddEventRecordNode, cudaGraphAddEventRecordNode, (NODE, cudaEvent_t event),
           (NODE_ARGS, event))
AS_RUNTIME(cuGraphAddEventWaitNode, cudaGraphAddEventWaitNode, (NODE, cudaEvent_t event),
           (NODE_ARGS, event))

PG_API(CUresult) cuGraphAddMemcpyNode(NODE, const CUDA_MEMCPY3D *p)
{
    if (!out || !graph || !p || (!after && n))
        return PG_CUDA_InvalidValue;
    const pg_work work = {.kind = PG_WORK_COPY, .copy = pg_copy_of_driver(p)};
    if (!work.copy.to || !work.copy.from)
        return PG_CUDA_InvalidValue;
    *out = pg_graph_add(graph, &work, after, n);
    return *out ? PG_CUDA_Success : PG_CUDA_MemoryAllocation;
}

AS_RUNTIME(cuGraphKernelNodeGetParams_v2, cudaGraphKernelNodeGetParams,
           (cudaGraphNode_t node, cudaKernelNodeParams *p), (node, p))
AS_RUNTIME(cuGraphKernelNodeSetParams_v2, cudaGraphKernelNodeSetParams,
           (cudaGraphNode_t node, const cudaKernelNodeParams *p), (node, p))
AS_RUNTIME(cuGraphNodeGetType, cudaGraphNodeGetType, (cudaGraphNode_t node, int *type),
           (node, type))
AS_RUNTIME(cuGraphDestroyNode, cudaGraphDestroyNode, (cudaGraphNode_t node), (node))
AS_RUNTIME(cuGraphNodeGetDependencies_v2, cudaGraphNodeGetDependencies,
           (cudaGraphNode_t node, cudaGraphNode_t *out, void *edges, size_t *count),
           (node, out, edges, count))

/* ---- graphs ---- */

AS_RUNTIME(cuGraphCreate, cudaGraphCreate, (cudaGraph_t * out, unsigned flags), (out, flags))
AS_RUNTIME(cuGraphDestroy, cudaGraphDestroy, (cudaGraph_t graph), (graph))
AS_RUNTIME(cuGraphClone, cudaGraphClone, (cudaGraph_t * out, cudaGraph_t graph), (out, graph))
AS_RUNTIME(cuGraphNodeFindInClone, cudaGraphNodeFindInClone,
           (cudaGraphNode_t * out, cudaGraphNode_t node, cudaGraph_t clone), (out, node, clone))
AS_RUNTIME(cuGraphGetNodes, cudaGraphGetNodes,
           (cudaGraph_t graph, cudaGraphNode_t *out, size_t *count), (graph, out, count))
AS_RUNTIME(cuGraphGetRootNodes, cudaGraphGetRootNodes,
           (cudaGraph_t graph, cudaGraphNode_t *out, size_t *count), (graph, out, count))
AS_RUNTIME(cuGraphAddDependencies_v2, cudaGraphAddDependencies,
           (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
            const void *edges, size_t count),
           (graph, from, to, edges, count))

/* ---- instances ---- */

AS_RUNTIME(cuGraphInstantiateWithFlags, cudaGraphInstantiateWithFlags,
           (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
           (out, graph, flags))
AS_RUNTIME(cuGraphExecDestroy, cudaGraphExecDestroy, (cudaGraphExec_t instance), (instance))
AS_RUNTIME(cuGraphExecGetFlags, cudaGraphExecGetFlags,
           (cudaGraphExec_t instance, unsigned long long *flags), (instance, flags))
AS_RUNTIME(cuGraphExecUpdate_v2, cudaGraphExecUpdate,
           (cudaGraphExec_t instance, cudaGraph_t graph, void *result), (instance, graph, result))
AS_RUNTIME(cuGraphExecKernelNodeSetParams_v2, cudaGraphExecKernelNodeSetParams,
           (cudaGraphExec_t instance, cudaGraphNode_t node, const cudaKernelNodeParams *p),
           (instance, node, p))
AS_RUNTIME(cuGraphExecMemsetNodeSetParams, cudaGraphExecMemsetNodeSetParams,
           (cudaGraphExec_t instance, cudaGraphNode_t node, const cudaMemsetParams *p),
           (instance, node, p)) /* and a context */
AS_RUNTIME(cuGraphNodeSetEnabled, cudaGraphNodeSetEnabled,
           (cudaGraphExec_t instance, cudaGraphNode_t node, unsigned enabled),
           (instance, node, enabled))
AS_RUNTIME(cuGraphLaunch, cudaGraphLaunch, (cudaGraphExec_t instance, cudaStream_t stream),
           (instance, stream))
PG_SAME(cuGraphLaunch_ptsz, cuGraphLaunch);
AS_RUNTIME(cuGraphUpload, cudaGraphUpload, (cudaGraphExec_t instance, cudaStream_t stream),
           (instance, stream))
PG_SAME(cuGraphUpload_ptsz, cuGraphUpload);

/* ---- pools ---- */

AS_RUNTIME(cuDeviceGetDefaultMemPool, cudaDeviceGetDefaultMemPool,
           (cudaMemPool_t * out, int device), (out, device))
AS_RUNTIME(cuDeviceGetMemPool, cudaDeviceGetMemPool, (cudaMemPool_t * out, int device),
           (out, device))
AS_RUNTIME(cuDeviceSetMemPool, cudaDeviceSetMemPool, (int device, cudaMemPool_t pool),
           (device, pool))
AS_RUNTIME(cuMemPoolCreate, cudaMemPoolCreate, (cudaMemPool_t * out, const void *properties),
           (out, properties))
AS_RUNTIME(cuMemPoolDestroy, cudaMemPoolDestroy, (cudaMemPool_t pool), (pool))
AS_RUNTIME(cuMemPoolSetAttribute, cudaMemPoolSetAttribute,
           (cudaMemPool_t pool, int attribute, const void *value), (pool, attribute, value))
AS_RUNTIME(cuMemPoolGetAttribute, cudaMemPoolGetAttribute,
           (cudaMemPool_t pool, int attribute, void *value), (pool, attribute, value))
AS_RUNTIME(cuMemPoolTrimTo, cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t bytes), (pool, bytes))
AS_RUNTIME(cuMemPoolSetAccess, cudaMemPoolSetAccess,
           (cudaMemPool_t pool, const void *access, size_t count), (pool, access, count))

extern CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, cudaStream_t stream);
PG_API(CUresult)
cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return pool ? cuMemAllocAsync(out, bytes, stream) : PG_CUDA_InvalidValue;
}
PG_SAME(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);
