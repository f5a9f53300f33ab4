/* How long a Hopper kernel takes for a problem: a model that ranks, from the limits of the tensor
 * core, shared memory, L2 and device memory and from what overlaps. */
#ifndef PG_MATMUL_HOPPER_MODEL_H
#define PG_MATMUL_HOPPER_MODEL_H

#include "matmul_accumulate/hopper.h"

/* What is chosen of a kernel; the rest follows. */
typedef struct pg_hopper_choice {
    bool pingpong, swap, ring;
    bool late;         /* C is added behind the multiplications */
    int chunk_columns; /* of the ring; 0: those of C */
    int warpgroups, block_m, block_n, block_k, cluster_m, cluster_n, splits, slices;
} pg_hopper_choice;

/* Which way the model errs, from what was measured: trees over facts of a choice and a problem
 * (hopper_correction.c), as the logarithm of a factor that means something only beside that of
 * another choice for the same problem. Costs some microseconds. */
enum { PG_HOPPER_FACTS = 33 };
void pg_hopper_facts(const pg_hopper_choice *c, const pg_matmul_problem *p,
                     double out[PG_HOPPER_FACTS]);
double pg_hopper_correction(const double facts[PG_HOPPER_FACTS]);

/* Of A and B, that fit beside the ring. */
int pg_hopper_stages(const pg_hopper_choice *c);

/* A choice and its time by the model. */
typedef struct pg_hopper_rating {
    pg_hopper_choice choice;
    double time;
} pg_hopper_rating;
/* The `most` best of what makes sense for a problem, by model and correction, best first; what
 * is not 0 in the key stays. Returns how many. */
enum { PG_HOPPER_RATED = 256 };
size_t pg_hopper_rate(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                      pg_hopper_rating *best, size_t most);
/* The choice, where the key leaves it open. */
void pg_hopper_take(pg_matmul_accumulate_key *k, const pg_hopper_choice *c);

/* A way to take a problem (hopper_ways.c): the key and the problem as its kernel sees them,
 * microseconds that copies take before it, and how many times the model's its own are. */
typedef struct pg_hopper_way {
    pg_matmul_accumulate_key key;
    pg_matmul_problem problem;
    double us, times;
} pg_hopper_way;
enum { PG_HOPPER_WAYS = 3 };
/* Those that the key leaves open; at least one. */
size_t pg_hopper_ways(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                      pg_hopper_way ways[PG_HOPPER_WAYS]);

/* Microseconds on an H200, or for another number of SMs in proportion: good for comparing. */
double pg_hopper_time(const pg_hopper_choice *c, const pg_matmul_problem *p);

static inline bool pg_matmul_same_problem(const pg_matmul_problem *a, const pg_matmul_problem *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch &&
           a->c_bytes == b->c_bytes && a->d_bytes == b->d_bytes &&
           a->c_takes_map == b->c_takes_map && a->a_straddles == b->a_straddles &&
           a->b_straddles == b->b_straddles && a->a_k_major == b->a_k_major &&
           a->b_k_major == b->b_k_major && a->ragged == b->ragged && a->odd == b->odd &&
           a->operand_alignment == b->operand_alignment && a->a_phases == b->a_phases &&
           a->b_phases == b->b_phases && a->sm_count == b->sm_count;
}

#endif
