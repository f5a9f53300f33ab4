/* Which Blackwell kernel for which problem: the tile and the CTAs of it that the model
 * (common/tcgen05_time.h) rates best. */
#include "matmul_accumulate/matmul_accumulate.h"

#include "common/tcgen05_time.h"

enum { BLOCK_M = PG_TMEM_LANES, BLOCK_K = 64, OPERAND_BYTES = 2, RESULT_BYTES = 4, STEP_K = 16 };
static const double most_flops = 1.45e6; /* per ns, 16-bit operands */

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool fits(int64_t given, int64_t value)
{
    return !given || given == value;
}

static double time_of(const pg_matmul_accumulate_key *k, int columns, int ctas,
                      const pg_matmul_problem *p)
{
    enum { SHARED_BYTES = 224 << 10, MOST_STAGES = 12 };
    const int block_k = k->block_k ? (int)k->block_k : BLOCK_K;
    const int stage = OPERAND_BYTES * block_k * (BLOCK_M + columns / ctas);
    const int fit = SHARED_BYTES / stage;
    const double c_bytes = k->c ? 0 : RESULT_BYTES, batch = (double)pg_matmul_matrices(p),
                 mn = batch * (double)p->m * (double)p->n;
    const pg_tcgen05_work work = {
        .ctas = ctas,
        .stages = fit < MOST_STAGES ? fit : MOST_STAGES,
        .overlapped = true,
        .step_cycles = block_k / STEP_K * pg_tcgen05_cycles(columns),
        .stage_bytes = stage,
        .result_bytes = (double)BLOCK_M * columns * (RESULT_BYTES + c_bytes),
        .flop = 2.0 * mn * (double)p->k,
        .memory_bytes = OPERAND_BYTES * batch * (double)p->k * (double)(p->m + p->n) +
                        mn * (RESULT_BYTES + c_bytes),
        .most_flops = most_flops,
        .k_blocks = divide_up(p->k, block_k),
        .tiles = divide_up(p->m, BLOCK_M * ctas) * divide_up(p->n, columns) * pg_matmul_matrices(p),
        .sm_count = p->sm_count};
    return pg_tcgen05_time(&work);
}

void pg_tcgen05_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *p)
{
    static const int widths[] = {64, 128, 256};
    if (k->schedule == PG_SCHEDULE_SEED)
        return; /* the reference's tile, whatever the problem */
    double best = 0;
    int block_n = 0, ctas = 0;
    for (int c = 1; c <= 2; c++)
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            if (!fits(k->block_n, widths[i]) || !fits(k->ctas, c))
                continue;
            const double time = time_of(k, widths[i], c, p);
            if (best > 0 && time >= best)
                continue;
            best = time;
            block_n = widths[i];
            ctas = c;
        }
    if (best > 0) {
        k->block_n = block_n;
        k->ctas = ctas;
    }
}
