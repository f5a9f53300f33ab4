/* Which Blackwell kernel for which problem (common/tcgen05_cut.h). */
#include "matmul_accumulate/matmul_accumulate.h"

#include "common/tcgen05_cut.h"
#include "common/warp_roles.h"

enum { BLOCK_M = PG_TMEM_LANES, BLOCK_K = 64, OPERAND_BYTES = 2, STEP_K = 16 };
static const double most_flops = 1.45e6; /* per ns, 16-bit operands */

typedef struct search {
    const pg_matmul_accumulate_key *key;
    const pg_matmul_problem *problem;
} search;

static double rate(const void *user, const pg_tcgen05_cut *c)
{
    enum { SHARED_BYTES = 226 << 10, MOST_STAGES = 12 };
    const search *s = user;
    const pg_matmul_accumulate_key *k = s->key;
    const pg_matmul_problem *p = s->problem;
    /* K of a stage, as of 16-bit elements; what is no K of a stage is refused later */
    const int64_t given = k->block_k * pg_matmul_operand_bytes(k) / 2;
    const int block_k = given ? (int)given : BLOCK_K;
    const int columns = (int)(c->columns / pg_tcgen05_group(c->ctas));
    const int stage = OPERAND_BYTES * block_k * (BLOCK_M + columns);
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    const int ring = k->d_store == PG_D_TENSOR ? pg_d_ring_bytes(&steps, (int)c->splits) : 0;
    const int fit = (SHARED_BYTES - pg_split_bytes((int)c->splits) - ring) / stage;
    const bool narrow = !k->b && OPERAND_BYTES * columns < k->swizzle;
    if (fit < 2 || k->stages > fit || narrow)
        return 0;
    const pg_tcgen05_problem problem = {.m = p->m,
                                        .n = p->n,
                                        .matrices = pg_matmul_matrices(p),
                                        .k = (double)p->k,
                                        .row_bytes = OPERAND_BYTES * (double)p->k,
                                        .d_bytes = pg_dtype_bits(pg_matmul_d_type(k)) / 8.0,
                                        .c_bytes =
                                            k->c ? 0 : pg_matmul_result_type(k->c_dtype)->bytes,
                                        .d_by_rows = k->d_store != PG_D_TENSOR,
                                        .most_flops = most_flops,
                                        .sm_count = p->sm_count};
    pg_tcgen05_work work = pg_tcgen05_work_of(&problem, c);
    work.stages = fit < MOST_STAGES ? fit : MOST_STAGES;
    work.overlapped = c->splits == 1;
    work.step_cycles = block_k / STEP_K * pg_tcgen05_cycles((int)c->columns);
    work.stage_bytes = stage;
    work.k_blocks = ((p->k + block_k - 1) / block_k + c->splits - 1) / c->splits;
    return pg_tcgen05_time(&work);
}

void pg_tcgen05_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *p)
{
    pg_tcgen05_cut cut = {k->block_n, k->ctas, k->ctas_n, k->splits};
    if (k->schedule == PG_SCHEDULE_SEED)
        return; /* the reference's tile, whatever the problem */
    pg_tcgen05_search(&cut, rate, &(search){k, p});
    k->block_n = cut.columns;
    k->ctas = cut.ctas;
    k->ctas_n = cut.tiles_n;
    k->splits = cut.splits;
    if (!k->tiles)
        k->tiles = k->grouped ? PG_TILES_STATIC : pg_tcgen05_tiles(&cut);
}
