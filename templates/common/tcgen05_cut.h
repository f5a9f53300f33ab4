/* How a tcgen05 kernel cuts a problem into tiles and shares them out over a cluster: what goes
 * together, what the model (tcgen05_time.h) must know of it, and the search for the best. */
#ifndef PG_TEMPLATES_TCGEN05_CUT_H
#define PG_TEMPLATES_TCGEN05_CUT_H

#include "common/tcgen05_time.h"
#include "common/warp_roles.h"
#include "ptxgen/ptxgen.h"

/* The parameters block_n, ctas, ctas_n and splits. 0 is open. */
typedef struct pg_tcgen05_cut {
    int64_t columns, ctas, tiles_n, splits;
} pg_tcgen05_cut;

/* CTAs whose tensor cores work together: with ctas = 4 there are two pairs, one below the other. */
static inline int64_t pg_tcgen05_group(int64_t ctas)
{
    return ctas > 1 ? 2 : 1;
}
static inline pg_cluster_parts pg_tcgen05_parts(const pg_tcgen05_cut *c)
{
    const int64_t group = pg_tcgen05_group(c->ctas);
    return (pg_cluster_parts){(int)group, (int)(c->ctas / group), (int)c->tiles_n, (int)c->splits};
}
/* What an entry's name says of them behind ctas. */
enum { PG_TCGEN05_PARTS_NAME = 24 };
void pg_tcgen05_parts_name(const pg_cluster_parts *c, char name[PG_TCGEN05_PARTS_NAME]);

/* EUNSUPPORTED, with the remedy, where what clusters share excludes one another. */
ptxgen_status pg_tcgen05_check_cut(const pg_tcgen05_cut *c, ptxgen_error *err);

typedef struct pg_tcgen05_problem {
    int64_t m, n, matrices;
    double k;          /* elements of a row of A and B */
    double row_bytes;  /* of such a row */
    double d_bytes;    /* of an element of D */
    double c_bytes;    /* of C; 0: it is not read */
    bool d_by_rows;    /* D leaves by rows, else by sub-tiles */
    double most_flops; /* per ns, at the power limit */
    int sm_count;
} pg_tcgen05_problem;

/* All of a kernel's work but its stages: their number, their bytes and cycles, k_blocks, and
 * whether results leave beside multiplications. */
pg_tcgen05_work pg_tcgen05_work_of(const pg_tcgen05_problem *p, const pg_tcgen05_cut *c);

/* ns of a kernel that is cut so; 0: there is none. */
typedef double pg_tcgen05_rating(const void *user, const pg_tcgen05_cut *c);
/* Fills what is open in `c` with the best; where nothing fits it stays open. */
void pg_tcgen05_search(pg_tcgen05_cut *c, pg_tcgen05_rating *rate, const void *user);

/* The parameter tiles where a call leaves it open: how many clusters of more than two CTAs run at
 * a time differs from GPU to GPU, so they are given out there. */
static inline int64_t pg_tcgen05_tiles(const pg_tcgen05_cut *c)
{
    return c->ctas * c->tiles_n > 2 && c->splits <= 1 ? PG_TILES_DYNAMIC : PG_TILES_STATIC;
}

#endif
