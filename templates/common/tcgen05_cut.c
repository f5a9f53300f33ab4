#include "common/tcgen05_cut.h"

#include "base/error.h"
#include "common/tcgen05.h"
#include "common/warp_roles.h"

#include <stdbool.h>
#include <stdio.h>

/* The simpler come first and win where the model sees no difference. */
static const pg_tcgen05_cut cuts[] = {
    {64, 1, 1, 1},  {128, 1, 1, 1}, {256, 1, 1, 1}, {64, 2, 1, 1},  {128, 2, 1, 1}, {256, 2, 1, 1},
    {64, 1, 2, 1},  {128, 1, 2, 1}, {256, 1, 2, 1}, {64, 2, 2, 1},  {128, 2, 2, 1}, {256, 2, 2, 1},
    {128, 2, 4, 1}, {256, 2, 4, 1}, {128, 4, 1, 1}, {256, 4, 1, 1}, {128, 4, 2, 1}, {256, 4, 2, 1},
    {128, 1, 1, 2}, {128, 2, 1, 2}, {256, 1, 1, 4}, {256, 2, 1, 4}};

/* Of a byte of D, as measured on an H200 (docs/benchmarks.md, "The parts of a matrix kernel"): in
 * the epilogue, when each thread stores its row; in L2, beside a byte that is read. */
static const double row_cost = 2.6, l2_store_cost = 1.54;

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

ptxgen_status pg_tcgen05_check_cut(const pg_tcgen05_cut *c, ptxgen_error *err)
{
    enum { MOST_CTAS = 8 }; /* of a portable cluster (PTX ISA 9.0, 3.2) */
    if (c->tiles_n == 3 || c->tiles_n > 4)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "ctas_n=%lld: so many tiles do not lie side by side in a cluster, use 1, 2 "
                       "or 4",
                       (long long)c->tiles_n);
    if (c->ctas == 3)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "ctas=3: CTAs work in pairs, use 1, 2 or 4 (two pairs)");
    if (c->ctas * c->tiles_n > MOST_CTAS)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "ctas=%lld with ctas_n=%lld: a cluster has at most %d CTAs, use ctas_n=2 or "
                       "ctas=2",
                       (long long)c->ctas, (long long)c->tiles_n, MOST_CTAS);
    if (c->splits > 1 && c->columns != c->splits * PG_CHUNK_COLUMNS)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "splits=%lld with block_n=%lld: each part of K adds up %d columns, use "
                       "splits=2 with block_n=128 or splits=4 with block_n=256",
                       (long long)c->splits, (long long)c->columns, PG_CHUNK_COLUMNS);
    if (c->splits > 1 && (c->tiles_n > 1 || c->ctas > 2))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "splits=%lld with ctas_n=%lld and ctas=%lld: a cluster shares K or a tile's "
                       "neighbour, leave splits out, or use ctas_n=1 and ctas=2 or 1",
                       (long long)c->splits, (long long)c->tiles_n, (long long)c->ctas);
    return PTXGEN_OK;
}

void pg_tcgen05_parts_name(const pg_cluster_parts *c, char name[PG_TCGEN05_PARTS_NAME])
{
    name[0] = '\0';
    if (c->splits > 1 || c->tiles_n > 1)
        snprintf(name, PG_TCGEN05_PARTS_NAME, "_%s%d", c->splits > 1 ? "k" : "n",
                 c->splits > 1 ? c->splits : c->tiles_n);
}

pg_tcgen05_work pg_tcgen05_work_of(const pg_tcgen05_problem *p, const pg_tcgen05_cut *c)
{
    const int64_t tiles_m = divide_up(p->m, PG_TMEM_LANES * c->ctas);
    const int64_t clusters_n = divide_up(divide_up(p->n, c->columns), c->tiles_n);
    const double matrices = (double)p->matrices;
    const double sums = matrices * (double)p->m * (double)p->n;
    const double part = PG_TMEM_LANES * (double)c->columns / (double)c->splits;
    const double a = matrices * (double)p->m * p->row_bytes,
                 b = matrices * (double)p->n * p->row_bytes;
    return (pg_tcgen05_work){
        .result_bytes = part * (p->c_bytes + p->d_bytes * (p->d_by_rows ? row_cost : 1)),
        .part_bytes = pg_split_bytes((int)c->splits),
        .l2_bytes = pg_tcgen05_l2(a, (double)clusters_n) + pg_tcgen05_l2(b, (double)tiles_m) +
                    sums * (p->c_bytes + p->d_bytes * l2_store_cost),
        .flop = 2 * sums * p->k,
        .memory_bytes = a + b + sums * (p->c_bytes + p->d_bytes),
        .most_flops = p->most_flops,
        .tiles = tiles_m * clusters_n * p->matrices,
        .clusters = pg_clusters_at_once((int)(c->ctas * c->tiles_n * c->splits), p->sm_count)};
}

static bool fits(int64_t given, int64_t value)
{
    return !given || given == value;
}

void pg_tcgen05_search(pg_tcgen05_cut *c, pg_tcgen05_rating *rate, const void *user)
{
    const pg_tcgen05_cut given = *c;
    double least = 0;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        const pg_tcgen05_cut *tried = &cuts[i];
        if (!fits(given.columns, tried->columns) || !fits(given.ctas, tried->ctas) ||
            !fits(given.tiles_n, tried->tiles_n) || !fits(given.splits, tried->splits))
            continue;
        const double time = rate(user, tried);
        if (time <= 0 || (least > 0 && time >= least))
            continue;
        least = time;
        *c = *tried;
    }
}
