/* Which Blackwell kernel for which problem: the tile, the CTAs of it, and what clusters share,
 * that the model (common/tcgen05_time.h) rates best. */
#include "matmul_accumulate/matmul_accumulate.h"

#include "common/tcgen05_time.h"
#include "common/warp_roles.h"

enum { BLOCK_M = PG_TMEM_LANES, BLOCK_K = 64, OPERAND_BYTES = 2, RESULT_BYTES = 4, STEP_K = 16 };
static const double most_flops = 1.45e6; /* per ns, 16-bit operands */

/* A kernel: what pg_matmul_accumulate_key calls block_n, ctas, ctas_n and splits. The simpler come
 * first and win where the model sees no difference. */
typedef struct choice {
    int columns, ctas, tiles_n, splits;
} choice;
static const choice choices[] = {{64, 1, 1, 1},  {128, 1, 1, 1}, {256, 1, 1, 1}, {64, 2, 1, 1},
                                 {128, 2, 1, 1}, {256, 2, 1, 1}, {64, 1, 2, 1},  {128, 1, 2, 1},
                                 {256, 1, 2, 1}, {64, 2, 2, 1},  {128, 2, 2, 1}, {256, 2, 2, 1},
                                 {128, 1, 1, 2}, {128, 2, 1, 2}, {256, 1, 1, 4}, {256, 2, 1, 4}};

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool fits(int64_t given, int64_t value)
{
    return !given || given == value;
}

static double time_of(const pg_matmul_accumulate_key *k, const choice *c,
                      const pg_matmul_problem *p)
{
    enum { SHARED_BYTES = 226 << 10, MOST_STAGES = 12 };
    /* K of a stage, as of 16-bit elements; what is no K of a stage is refused later */
    const int64_t given = k->block_k * pg_matmul_operand_bytes(k) / 2;
    const int block_k = given ? (int)given : BLOCK_K;
    const int stage = OPERAND_BYTES * block_k * (BLOCK_M + c->columns / c->ctas);
    const int fit = (SHARED_BYTES - pg_split_bytes(c->splits)) / stage;
    const int64_t matrices = pg_matmul_matrices(p);
    const double c_bytes = k->c ? 0 : RESULT_BYTES, batch = (double)matrices,
                 mn = batch * (double)p->m * (double)p->n;
    const double results = mn * (RESULT_BYTES + c_bytes);
    const int64_t tiles_m = divide_up(p->m, BLOCK_M * c->ctas),
                  tiles_n = divide_up(p->n, c->columns);
    const double l2 =
        batch * (pg_tcgen05_l2(OPERAND_BYTES * (double)p->m * (double)p->k,
                               (double)divide_up(tiles_n, c->tiles_n)) +
                 pg_tcgen05_l2(OPERAND_BYTES * (double)p->n * (double)p->k, (double)tiles_m));
    const int clusters = p->sm_count / (c->ctas * c->tiles_n * c->splits);
    const pg_tcgen05_work work = {
        .stages = fit < MOST_STAGES ? fit : MOST_STAGES,
        .overlapped = c->splits == 1,
        .step_cycles = block_k / STEP_K * pg_tcgen05_cycles(c->columns),
        .stage_bytes = stage,
        .result_bytes = (double)BLOCK_M * c->columns / c->splits * (RESULT_BYTES + c_bytes),
        .part_bytes = pg_split_bytes(c->splits),
        .l2_bytes = l2 + results,
        .flop = 2.0 * mn * (double)p->k,
        .memory_bytes = OPERAND_BYTES * batch * (double)p->k * (double)(p->m + p->n) + results,
        .most_flops = most_flops,
        .k_blocks = divide_up(divide_up(p->k, block_k), c->splits),
        .tiles = tiles_m * divide_up(tiles_n, c->tiles_n) * matrices,
        .clusters = clusters};
    /* What the caller fixed must go with it. */
    const bool narrow = !k->b && OPERAND_BYTES * c->columns / c->ctas < k->swizzle;
    return fit < 2 || k->stages > fit || narrow ? 0 : pg_tcgen05_time(&work);
}

void pg_tcgen05_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *p)
{
    const choice *best = NULL;
    double least = 0;
    if (k->schedule == PG_SCHEDULE_SEED)
        return; /* the reference's tile, whatever the problem */
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const choice *c = &choices[i];
        if (!fits(k->block_n, c->columns) || !fits(k->ctas, c->ctas) ||
            !fits(k->ctas_n, c->tiles_n) || !fits(k->splits, c->splits))
            continue;
        const double time = time_of(k, c, p);
        if (time <= 0 || (best && time >= least))
            continue;
        least = time;
        best = c;
    }
    if (!best)
        return;
    k->block_n = best->columns;
    k->ctas = best->ctas;
    k->ctas_n = best->tiles_n;
    k->splits = best->splits;
}
