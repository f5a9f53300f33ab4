/* Boosted regression trees over the facts of a choice (hopper_model.h). */
#ifndef PG_MATMUL_HOPPER_FOREST_H
#define PG_MATMUL_HOPPER_FOREST_H

#include <stddef.h>
#include <stdint.h>

/* A fact that is not above the limit goes on at `next`, else at the node after that; of a leaf,
 * which has no fact (-1), the limit is the value. */
typedef struct pg_hopper_node {
    float limit;
    uint16_t next; /* counted from the tree's first node */
    int8_t fact;
} pg_hopper_node;

typedef struct pg_hopper_forest {
    const pg_hopper_node *nodes;
    const uint16_t *roots;
    size_t trees;
} pg_hopper_forest;

/* Each was grown on what those before leave. */
enum { PG_HOPPER_FORESTS = 3 };
extern const pg_hopper_forest pg_hopper_first_forest, pg_hopper_second_forest,
    pg_hopper_third_forest;

/* What the first `count` of them say together. */
double pg_hopper_forests(size_t count, const double facts[]);

#endif
