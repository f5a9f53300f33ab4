/* The ways in which Hopper's kernel can take a problem whose operands lie anywhere: copied to
 * aligned rows first, or the left one read by phases (hopper_phases.ptxc). */
#include "matmul_accumulate/hopper_model.h"

enum { ELEMENT_BYTES = 2 };

/* Measured: a copy's launch, us, and bytes per us of what is read and written. */
static const double copy_launch = 1.5, rate = 4.2e6;

static double copy_us(double bytes)
{
    return copy_launch + bytes / rate;
}

/* With swap a phase's elements of C and D are so many apart: whole sectors move for each. */
static double scattered_us(const pg_matmul_problem *p, int phases)
{
    return (double)(phases - 1) * (p->c_bytes + p->d_bytes) * (double)p->m * (double)p->n / rate;
}

static double bytes_of(const pg_matmul_problem *p, bool is_b)
{
    return (double)(is_b ? p->n : p->m) * (double)p->k * ELEMENT_BYTES;
}

static pg_hopper_way with_copies(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p)
{
    pg_hopper_way w = {*k, *p, 0, 1};
    const double bytes = (k->copy & PG_COPY_A ? bytes_of(p, false) : 0) +
                         (k->copy & PG_COPY_B ? bytes_of(p, true) : 0);
    w.key.phases = PG_PHASES_NONE;
    if (bytes > 0)
        w.us = copy_us(2 * bytes * (double)pg_matmul_matrices(p));
    return w;
}

/* What any kernel by phases has. Of 26 problems that were timed the median took 1.13 times what the
 * model says of such a problem: rows begin anywhere in lines of memory. */
static pg_hopper_way begin_phases(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                                  int phases, bool left_is_b)
{
    const double longer = 1.15;
    pg_hopper_way w = {*k, *p, 0, longer};
    w.problem.c_takes_map = false;
    *(left_is_b ? &w.problem.b_straddles : &w.problem.a_straddles) = true;
    w.key.phases = pg_phases_word(phases);
    w.key.swap = left_is_b ? PG_YES : PG_NO;
    w.key.schedule = PG_SCHEDULE_COOPERATIVE;
    w.key.c_load = PG_C_DIRECT;
    return w;
}

/* A phase is a slice of K. */
static pg_hopper_way by_phases_of_k(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                                    int phases, bool left_is_b)
{
    pg_hopper_way w = begin_phases(k, p, phases, left_is_b);
    w.key.splits = 1;
    w.key.copy = left_is_b ? PG_COPY_A : PG_COPY_B;
    w.us = copy_us(2 * bytes_of(p, !left_is_b));
    return w;
}

/* A phase is a matrix of a batch. */
static pg_hopper_way by_phases_of_rows(const pg_matmul_accumulate_key *k,
                                       const pg_matmul_problem *p, int phases, bool left_is_b)
{
    pg_hopper_way w = begin_phases(k, p, phases, left_is_b);
    const int right = left_is_b ? PG_COPY_A : PG_COPY_B;
    const bool right_k_major = left_is_b ? p->a_k_major : p->b_k_major;
    int64_t *const rows = left_is_b ? &w.problem.n : &w.problem.m;
    *rows = (*rows + phases - 1) / phases;
    w.problem.batch = phases;
    w.problem.k += PG_MOST_HEAD;
    w.key.copy = (k->copy & right) | (right_k_major ? right : 0);
    if (w.key.copy)
        w.us = copy_us((1 + (right_k_major ? phases : 1)) * bytes_of(p, !left_is_b));
    w.us += left_is_b ? scattered_us(p, phases) : 0;
    return w;
}

static pg_hopper_way by_phases(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                               int phases, bool left_is_b)
{
    const bool k_major = left_is_b ? p->b_k_major : p->a_k_major;
    return (k_major ? by_phases_of_rows : by_phases_of_k)(k, p, phases, left_is_b);
}

/* Nothing that the kernel cannot do by phases was asked for. */
static bool takes_phases(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                         bool left_is_b)
{
    const bool of_rows = left_is_b ? p->b_k_major : p->a_k_major,
               each_has_rows = p->k >= (left_is_b ? p->b_phases : p->a_phases);
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    return !k->batch && !k->grouped && !pg_epilogue_has_steps(&steps) &&
           pg_dtype_bits(steps.out) > 8 && k->schedule <= PG_SCHEDULE_COOPERATIVE &&
           k->c_load <= PG_C_DIRECT && k->stream != PG_AHEAD &&
           (of_rows || (each_has_rows && k->splits <= 1)) &&
           (!k->swap || (k->swap == PG_YES) == left_is_b);
}

size_t pg_hopper_ways(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                      pg_hopper_way ways[PG_HOPPER_WAYS])
{
    const int found[] = {p->a_phases, p->b_phases}, given = pg_phases_of(k->phases);
    size_t count = 0;
    if (given) {
        ways[count++] = by_phases(k, p, given, k->swap == PG_YES);
        return count;
    }
    ways[count++] = with_copies(k, p);
    for (int is_b = 0; is_b < 2 && !k->phases; is_b++)
        if (found[is_b] && takes_phases(k, p, is_b))
            ways[count++] = by_phases(k, p, found[is_b], is_b);
    return count;
}
