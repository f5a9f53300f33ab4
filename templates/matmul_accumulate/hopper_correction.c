/* What measurements on an H200 say of the model (hopper_model.c): the sum of what the trees say;
 * docs/benchmarks.md says how well they choose on problems that they were not grown on. */
#include "matmul_accumulate/hopper_forest.h"
#include "matmul_accumulate/hopper_model.h"

static double sum_of(const pg_hopper_forest *forest, const double facts[])
{
    double sum = 0;
    for (size_t i = 0; i < forest->trees; i++) {
        const pg_hopper_node *tree = &forest->nodes[forest->roots[i]], *at = tree;
        while (at->fact >= 0)
            at = &tree[at->next + (facts[at->fact] > (double)at->limit)];
        sum += (double)at->limit;
    }
    return sum;
}

double pg_hopper_forests(size_t count, const double facts[])
{
    static const pg_hopper_forest *const forests[PG_HOPPER_FORESTS] = {
        &pg_hopper_first_forest, &pg_hopper_second_forest, &pg_hopper_third_forest};
    double sum = 0;
    for (size_t i = 0; i < count && i < PG_HOPPER_FORESTS; i++)
        sum += sum_of(forests[i], facts);
    return sum;
}

double pg_hopper_correction(const double facts[PG_HOPPER_FACTS])
{
    return pg_hopper_forests(PG_HOPPER_FORESTS, facts);
}
