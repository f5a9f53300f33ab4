/* Graphs: see graph.h. */
#include "stand_in/graph.h"

#include <stdlib.h>
#include <string.h>

cudaGraph_t pg_graph_new(void)
{
    return calloc(1, sizeof(pg_graph));
}

/* One block: the list of pointers, then each value at a multiple of 16 bytes. */
static void **copy_args(pg_function *f, void *const *args)
{
    ptxgen_emulator_param p;
    size_t bytes = (f->parameter_count * sizeof(void *) + 15) / 16 * 16;
    for (size_t i = 0; ptxgen_emulator_entry_param(f->entry, i, &p); i++)
        bytes += (p.bytes + 15) / 16 * 16;
    void **copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return NULL;
    char *at = (char *)copy + (f->parameter_count * sizeof(void *) + 15) / 16 * 16;
    for (size_t i = 0; ptxgen_emulator_entry_param(f->entry, i, &p); i++) {
        copy[i] = memcpy(at, args[i], p.bytes);
        at += (p.bytes + 15) / 16 * 16;
    }
    return copy;
}

static void drop_work(pg_work *work)
{
    if (work->kind == PG_WORK_LAUNCH)
        free(work->launch.args);
    if (work->kind == PG_WORK_GRAPH)
        pg_graph_free(work->graph);
}

static pg_cuda_error own_work(pg_work *out, const pg_work *work)
{
    *out = *work;
    if (work->kind == PG_WORK_LAUNCH) {
        const pg_cuda_error error = pg_function_ready(work->launch.function);
        if (error)
            return error;
        out->launch.args = copy_args(work->launch.function, work->launch.args);
        return out->launch.args ? PG_CUDA_Success : PG_CUDA_MemoryAllocation;
    }
    if (work->kind == PG_WORK_GRAPH) {
        out->graph = pg_graph_clone(work->graph);
        return out->graph ? PG_CUDA_Success : PG_CUDA_MemoryAllocation;
    }
    return PG_CUDA_Success;
}

static void free_node(cudaGraphNode_t node)
{
    drop_work(&node->work);
    free(node->after);
    free(node);
}

void pg_graph_free(cudaGraph_t graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->count; i++)
        free_node(graph->nodes[i]);
    free(graph->nodes);
    free(graph);
}

bool pg_graph_depend(cudaGraphNode_t node, cudaGraphNode_t on)
{
    for (size_t i = 0; i < node->after_count; i++)
        if (node->after[i] == on)
            return true;
    cudaGraphNode_t *more = realloc(node->after, (node->after_count + 1) * sizeof *more);
    if (!more)
        return false;
    node->after = more;
    node->after[node->after_count++] = on;
    return true;
}

static bool append(cudaGraph_t graph, cudaGraphNode_t node)
{
    if (graph->count == graph->capacity) {
        const size_t grown = graph->capacity ? 2 * graph->capacity : 16;
        cudaGraphNode_t *more = realloc(graph->nodes, grown * sizeof *more);
        if (!more)
            return false;
        graph->nodes = more;
        graph->capacity = grown;
    }
    node->graph = graph;
    graph->nodes[graph->count++] = node;
    return true;
}

cudaGraphNode_t pg_graph_add(cudaGraph_t graph, const pg_work *work, const cudaGraphNode_t *after,
                             size_t after_count)
{
    cudaGraphNode_t node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    bool good = !own_work(&node->work, work);
    if (!good)
        node->work.kind = PG_WORK_EMPTY;
    for (size_t i = 0; i < after_count && good; i++)
        good = pg_graph_depend(node, after[i]);
    if (!good || !append(graph, node)) {
        free_node(node);
        return NULL;
    }
    return node;
}

pg_cuda_error pg_node_set(cudaGraphNode_t node, const pg_work *work)
{
    pg_work fresh;
    const pg_cuda_error error = own_work(&fresh, work);
    if (error)
        return error;
    drop_work(&node->work);
    node->work = fresh;
    return PG_CUDA_Success;
}

void pg_graph_remove(cudaGraphNode_t node)
{
    cudaGraph_t graph = node->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->count; i++) {
        cudaGraphNode_t other = graph->nodes[i];
        if (other == node)
            continue;
        graph->nodes[kept++] = other;
        size_t left = 0;
        for (size_t k = 0; k < other->after_count; k++)
            if (other->after[k] != node)
                other->after[left++] = other->after[k];
        other->after_count = left;
    }
    graph->count = kept;
    free_node(node);
}

cudaGraphNode_t pg_graph_find_clone(cudaGraph_t clone, cudaGraphNode_t original)
{
    for (size_t i = 0; i < clone->count; i++)
        if (clone->nodes[i]->original == original)
            return clone->nodes[i];
    return NULL;
}

cudaGraph_t pg_graph_clone(cudaGraph_t graph)
{
    cudaGraph_t copy = pg_graph_new();
    bool good = copy != NULL;
    for (size_t i = 0; i < graph->count && good; i++) {
        cudaGraphNode_t node = pg_graph_add(copy, &graph->nodes[i]->work, NULL, 0);
        good = node != NULL;
        if (good) {
            node->original = graph->nodes[i];
            node->disabled = graph->nodes[i]->disabled;
        }
    }
    for (size_t i = 0; i < graph->count && good; i++)
        for (size_t k = 0; k < graph->nodes[i]->after_count && good; k++) {
            cudaGraphNode_t on = pg_graph_find_clone(copy, graph->nodes[i]->after[k]);
            good = on && pg_graph_depend(copy->nodes[i], on);
        }
    if (!good) {
        pg_graph_free(copy);
        return NULL;
    }
    return copy;
}

static bool is_ready(const pg_node *node)
{
    for (size_t i = 0; i < node->after_count; i++)
        if (!node->after[i]->done)
            return false;
    return !node->done;
}

pg_cuda_error pg_graph_run(cudaGraph_t graph)
{
    size_t left = graph->count;
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->done = false;
    while (left) {
        const size_t before = left;
        for (size_t i = 0; i < graph->count; i++) {
            cudaGraphNode_t node = graph->nodes[i];
            if (!is_ready(node))
                continue;
            const pg_cuda_error error = node->disabled ? PG_CUDA_Success : pg_work_run(&node->work);
            if (error || pg_lost())
                return error;
            node->done = true;
            left--;
        }
        if (left == before)
            return PG_CUDA_InvalidValue;
    }
    return PG_CUDA_Success;
}
