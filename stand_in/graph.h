/* Graphs: nodes of work with what they depend on; captured from streams or built by hand,
 * replayed in an order that keeps the dependencies. */
#ifndef PG_STAND_IN_GRAPH_H
#define PG_STAND_IN_GRAPH_H

#include "stand_in/stream.h"

typedef struct pg_node {
    cudaGraph_t graph;
    pg_work work;           /* a launch owns copies of its arguments */
    cudaGraphNode_t *after; /* what it depends on */
    size_t after_count;
    cudaGraphNode_t original; /* of a clone: the node it was made from */
    bool disabled;
    bool done; /* while replaying */
} pg_node;

typedef struct pg_graph {
    cudaGraphNode_t *nodes; /* in the order of creation */
    size_t count, capacity;
} pg_graph;

typedef struct pg_graph_exec {
    cudaGraph_t graph; /* a clone */
    uint64_t flags;
} pg_graph_exec;

cudaGraph_t pg_graph_new(void);
void pg_graph_free(cudaGraph_t graph);
/* A deep copy; NULL: no memory. */
cudaGraph_t pg_graph_clone(cudaGraph_t graph);
/* The node's work is copied (a launch's arguments, a child graph). NULL: no memory. */
cudaGraphNode_t pg_graph_add(cudaGraph_t graph, const pg_work *work, const cudaGraphNode_t *after,
                             size_t after_count);
bool pg_graph_depend(cudaGraphNode_t node, cudaGraphNode_t on);
void pg_graph_remove(cudaGraphNode_t node);
/* The node of a clone that was made from `original`; NULL: none. */
cudaGraphNode_t pg_graph_find_clone(cudaGraph_t clone, cudaGraphNode_t original);
/* Replaces a node's work by a copy of `work`. */
pg_cuda_error pg_node_set(cudaGraphNode_t node, const pg_work *work);
/* Nodes in order; InvalidValue: the dependencies go in a circle. */
pg_cuda_error pg_graph_run(cudaGraph_t graph);

#endif
