/* Runtime API: graphs built by hand, instantiated and launched. */
#include "stand_in/array.h"
#include "stand_in/runtime.h"

#include <stdlib.h>

PG_API(cudaError_t) cudaGraphCreate(cudaGraph_t *out, unsigned flags)
{
    PG_NEED(out);
    *out = pg_graph_new();
    return pg_set_error(*out ? PG_CUDA_Success : PG_CUDA_MemoryAllocation);
}

PG_API(cudaError_t) cudaGraphDestroy(cudaGraph_t graph)
{
    PG_NEED(graph);
    pg_graph_free(graph);
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGraphClone(cudaGraph_t *out, cudaGraph_t graph)
{
    PG_NEED(out && graph);
    *out = pg_graph_clone(graph);
    return pg_set_error(*out ? PG_CUDA_Success : PG_CUDA_MemoryAllocation);
}

PG_API(cudaError_t)
cudaGraphNodeFindInClone(cudaGraphNode_t *out, cudaGraphNode_t original, cudaGraph_t clone)
{
    PG_NEED(out && clone);
    *out = pg_graph_find_clone(clone, original);
    return pg_set_error(*out ? PG_CUDA_Success : PG_CUDA_InvalidValue);
}

/* ---- nodes ---- */

static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                       size_t count, const pg_work *work)
{
    PG_NEED(out && graph && (after || !count));
    *out = pg_graph_add(graph, work, after, count);
    return pg_set_error(*out ? PG_CUDA_Success : PG_CUDA_MemoryAllocation);
}

/* False: the function is none of ours, or its parameters are missing. */
static bool kernel_work(const cudaKernelNodeParams *p, pg_work *out)
{
    pg_function *f = p ? pg_symbol_function(p->func) : NULL;
    if (!f || pg_function_ready(f) || (!p->kernelParams && f->parameter_count))
        return false;
    *out = (pg_work){.kind = PG_WORK_LAUNCH,
                     .launch = {.function = f,
                                .grid = p->gridDim,
                                .block = p->blockDim,
                                .dynamic_shared = p->sharedMemBytes,
                                .args = p->kernelParams}};
    return true;
}

PG_API(cudaError_t)
cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                       size_t count, const cudaKernelNodeParams *params)
{
    pg_work work;
    if (!kernel_work(params, &work))
        return pg_set_error(PG_CUDA_InvalidDeviceFunction);
    return add(out, graph, after, count, &work);
}

PG_API(cudaError_t)
cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *params)
{
    pg_work work;
    PG_NEED(node && kernel_work(params, &work));
    return pg_set_error(pg_node_set(node, &work));
}

PG_API(cudaError_t) cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *out)
{
    PG_NEED(node && out && node->work.kind == PG_WORK_LAUNCH);
    const pg_launch *l = &node->work.launch;
    *out = (cudaKernelNodeParams){.func = l->function,
                                  .gridDim = l->grid,
                                  .blockDim = l->block,
                                  .sharedMemBytes = (unsigned)l->dynamic_shared,
                                  .kernelParams = l->args};
    return PG_CUDA_Success;
}

static pg_work copy_work(void *to, const void *from, size_t bytes)
{
    return (pg_work){.kind = PG_WORK_COPY,
                     .copy = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1}};
}

PG_API(cudaError_t)
cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                         size_t count, void *to, const void *from, size_t bytes, int kind)
{
    const pg_work work = copy_work(to, from, bytes);
    return add(out, graph, after, count, &work);
}

PG_API(cudaError_t)
cudaGraphAddMemcpyNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                       size_t count, const cudaMemcpy3DParms *p)
{
    PG_NEED(p);
    const pg_work work = {.kind = PG_WORK_COPY, .copy = pg_copy_of_3d(p)};
    return add(out, graph, after, count, &work);
}

static pg_work fill_work(const cudaMemsetParams *p)
{
    return (pg_work){.kind = PG_WORK_FILL,
                     .fill = {.to = p->dst,
                              .pitch = p->pitch,
                              .value = p->value,
                              .element_bytes = p->elementSize,
                              .width = p->width,
                              .height = p->height,
                              .depth = 1}};
}

PG_API(cudaError_t)
cudaGraphAddMemsetNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                       size_t count, const cudaMemsetParams *params)
{
    PG_NEED(params &&
            (params->elementSize == 1 || params->elementSize == 2 || params->elementSize == 4));
    const pg_work work = fill_work(params);
    return add(out, graph, after, count, &work);
}

PG_API(cudaError_t)
cudaGraphAddHostNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                     size_t count, const cudaHostNodeParams *params)
{
    PG_NEED(params && params->fn);
    const pg_work work = {.kind = PG_WORK_HOST, .host = {params->fn, params->userData}};
    return add(out, graph, after, count, &work);
}

PG_API(cudaError_t)
cudaGraphAddEmptyNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                      size_t count)
{
    return add(out, graph, after, count, &(pg_work){.kind = PG_WORK_EMPTY});
}

PG_API(cudaError_t)
cudaGraphAddChildGraphNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                           size_t count, cudaGraph_t child)
{
    PG_NEED(child);
    return add(out, graph, after, count, &(pg_work){.kind = PG_WORK_GRAPH, .graph = child});
}

PG_API(cudaError_t)
cudaGraphAddEventRecordNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                            size_t count, cudaEvent_t event)
{
    PG_NEED(event);
    return add(out, graph, after, count, &(pg_work){.kind = PG_WORK_RECORD, .event = event});
}

PG_API(cudaError_t)
cudaGraphAddEventWaitNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                          size_t count, cudaEvent_t event)
{
    PG_NEED(event);
    return add(out, graph, after, count, &(pg_work){.kind = PG_WORK_WAIT, .event = event});
}

PG_API(cudaError_t)
cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                         const void *edges, size_t count)
{
    PG_NEED(graph && ((from && to) || !count));
    for (size_t i = 0; i < count; i++)
        if (!pg_graph_depend(to[i], from[i]))
            return pg_set_error(PG_CUDA_MemoryAllocation);
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGraphDestroyNode(cudaGraphNode_t node)
{
    PG_NEED(node);
    pg_graph_remove(node);
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGraphNodeGetType(cudaGraphNode_t node, int *type)
{
    /* cudaGraphNodeType: kernel 0, memcpy 1, memset 2, host 3, graph 4, empty 5, wait 6, record
     * 7 */
    static const int types[] = {
        [PG_WORK_EMPTY] = 5, [PG_WORK_LAUNCH] = 0, [PG_WORK_COPY] = 1,   [PG_WORK_FILL] = 2,
        [PG_WORK_HOST] = 3,  [PG_WORK_GRAPH] = 4,  [PG_WORK_RECORD] = 7, [PG_WORK_WAIT] = 6};
    PG_NEED(node && type);
    *type = types[node->work.kind];
    return PG_CUDA_Success;
}

/* Lists: with out NULL the count; else at most *count, and *count is how many there were. */
static cudaError_t list(const cudaGraphNode_t *nodes, size_t there, cudaGraphNode_t *out,
                        size_t *count)
{
    PG_NEED(count);
    for (size_t i = 0; out && i < there && i < *count; i++)
        out[i] = nodes[i];
    if (!out || there < *count)
        *count = there;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *out, size_t *count)
{
    PG_NEED(graph);
    return list(graph->nodes, graph->count, out, count);
}

PG_API(cudaError_t) cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *out, size_t *count)
{
    PG_NEED(graph && count);
    size_t there = 0;
    for (size_t i = 0; i < graph->count; i++)
        if (!graph->nodes[i]->after_count) {
            if (out && there < *count)
                out[there] = graph->nodes[i];
            there++;
        }
    if (!out || there < *count)
        *count = there;
    return PG_CUDA_Success;
}

PG_API(cudaError_t)
cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *out, void *edges, size_t *count)
{
    PG_NEED(node);
    return list(node->after, node->after_count, out, count);
}

/* ---- instances ---- */

PG_API(cudaError_t)
cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    PG_NEED(out && graph);
    cudaGraphExec_t instance = calloc(1, sizeof *instance);
    if (instance && !(instance->graph = pg_graph_clone(graph))) {
        free(instance);
        instance = NULL;
    }
    *out = instance;
    if (instance)
        instance->flags = flags;
    return pg_set_error(instance ? PG_CUDA_Success : PG_CUDA_MemoryAllocation);
}
PG_SAME(cudaGraphInstantiate, cudaGraphInstantiateWithFlags);

PG_API(cudaError_t) cudaGraphExecDestroy(cudaGraphExec_t instance)
{
    PG_NEED(instance);
    pg_graph_free(instance->graph);
    free(instance);
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGraphExecGetFlags(cudaGraphExec_t instance, unsigned long long *flags)
{
    PG_NEED(instance && flags);
    *flags = instance->flags;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGraphUpload(cudaGraphExec_t instance, cudaStream_t stream)
{
    PG_NEED(instance);
    return PG_CUDA_Success;
}
PG_SAME(cudaGraphUpload_ptsz, cudaGraphUpload);

PG_API(cudaError_t) cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream)
{
    PG_NEED(instance);
    const pg_work work = {.kind = PG_WORK_GRAPH, .graph = instance->graph};
    return pg_set_error(pg_submit(stream, &work));
}
PG_SAME(cudaGraphLaunch_ptsz, cudaGraphLaunch);

/* The node of the instance that was made from the graph's. */
static cudaGraphNode_t node_of(cudaGraphExec_t instance, cudaGraphNode_t node)
{
    return instance && node ? pg_graph_find_clone(instance->graph, node) : NULL;
}

PG_API(cudaError_t)
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node,
                                 const cudaKernelNodeParams *params)
{
    pg_work work;
    cudaGraphNode_t own = node_of(instance, node);
    PG_NEED(own && kernel_work(params, &work));
    return pg_set_error(pg_node_set(own, &work));
}

PG_API(cudaError_t)
cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t instance, cudaGraphNode_t node, void *to,
                                   const void *from, size_t bytes, int kind)
{
    const pg_work work = copy_work(to, from, bytes);
    cudaGraphNode_t own = node_of(instance, node);
    PG_NEED(own);
    return pg_set_error(pg_node_set(own, &work));
}

PG_API(cudaError_t)
cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node,
                                 const cudaMemsetParams *params)
{
    cudaGraphNode_t own = node_of(instance, node);
    PG_NEED(own && params);
    const pg_work work = fill_work(params);
    return pg_set_error(pg_node_set(own, &work));
}

PG_API(cudaError_t)
cudaGraphNodeSetEnabled(cudaGraphExec_t instance, cudaGraphNode_t node, unsigned enabled)
{
    cudaGraphNode_t own = node_of(instance, node);
    PG_NEED(own);
    own->disabled = !enabled;
    return PG_CUDA_Success;
}

/* Takes a graph of the same shape: as many nodes of the same kinds. */
PG_API(cudaError_t)
cudaGraphExecUpdate(cudaGraphExec_t instance, cudaGraph_t graph, void *result)
{
    enum { UPDATE_ERROR = 1, TOPOLOGY_CHANGED = 2, GRAPH_UPDATE_FAILURE = 910 };
    PG_NEED(instance && graph);
    bool same = instance->graph->count == graph->count;
    for (size_t i = 0; same && i < graph->count; i++)
        same = instance->graph->nodes[i]->work.kind == graph->nodes[i]->work.kind &&
               instance->graph->nodes[i]->after_count == graph->nodes[i]->after_count;
    cudaGraph_t fresh = same ? pg_graph_clone(graph) : NULL;
    if (result)
        *(int *)result = fresh ? 0 : same ? UPDATE_ERROR : TOPOLOGY_CHANGED;
    if (!fresh)
        return pg_set_error((pg_cuda_error)GRAPH_UPDATE_FAILURE);
    for (size_t i = 0; i < fresh->count; i++) /* handles of the first graph stay good */
        fresh->nodes[i]->original = instance->graph->nodes[i]->original;
    pg_graph_free(instance->graph);
    instance->graph = fresh;
    return PG_CUDA_Success;
}
