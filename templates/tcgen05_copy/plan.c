/* Numbers of the tcgen05_copy kernel, and which shapes it takes. */
#include "tcgen05_copy/tcgen05_copy.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum {
    ELEMENT_BYTES = 4,
    THREADS = 128,
    PIECE_ELEMENTS = 4, /* a thread loads 16 bytes at a time */
    MIN_N = 16,
    MAX_BATCH = 8,         /* 16-byte loads of a thread in flight */
    MAX_LOAD_COLUMNS = 32, /* registers of one tcgen05.ld */
    BARRIER_BYTES = 16,
};

static bool is_power_of_two(int64_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

static ptxgen_status check_shape(const pg_tcgen05_copy_key *k, const pg_arch *arch,
                                 ptxgen_error *err)
{
    const int64_t columns = k->m / PG_TMEM_LANES * k->n;
    const int64_t bytes = k->m * k->n * ELEMENT_BYTES + BARRIER_BYTES;
    if (!is_power_of_two(k->m) || k->m < PG_TMEM_LANES)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "m=%lld: a tile of tensor memory has 128 rows here, so m must be 128, 256 or 512",
            (long long)k->m);
    if (!is_power_of_two(k->n) || k->n < MIN_N)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "n=%lld: a tensor-memory layout repeats tiles whose width is a power of "
                       "two, so n must be one,"
                       " %d or more",
                       (long long)k->n, MIN_N);
    if (columns > PG_TMEM_COLUMNS)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "m=%lld n=%lld needs %lld columns of tensor memory, there are %d: lower m or n",
            (long long)k->m, (long long)k->n, (long long)columns, PG_TMEM_COLUMNS);
    if (bytes > arch->max_shared_bytes)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "m=%lld n=%lld needs %lld bytes of shared memory, a CTA of %s has %d: lower m or n",
            (long long)k->m, (long long)k->n, (long long)bytes, arch->name, arch->max_shared_bytes);
    return PTXGEN_OK;
}

static ptxgen_status check_layout(const pg_tcgen05_copy_key *k, ptxgen_error *err)
{
    const int64_t swizzle_columns = k->swizzle / ELEMENT_BYTES;
    if (pg_swizzle_of((int)k->swizzle) == PG_SWIZZLE_NONE)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "swizzle=%lld: the source of the copy must be swizzled by 32, 64 or 128 bytes",
            (long long)k->swizzle);
    if (k->n < swizzle_columns)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "n=%lld: a row of %lld bytes is shorter than the swizzle of %lld: lower swizzle",
            (long long)k->n, (long long)(k->n * ELEMENT_BYTES), (long long)k->swizzle);
    if (!is_power_of_two(k->block) || k->block > k->n)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "block=%lld: use a power of two up to n=%lld",
                       (long long)k->block, (long long)k->n);
    if (k->m > PG_TMEM_LANES && k->block < swizzle_columns)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "m=%lld block=%lld swizzle=%lld: with more than 128 rows a tile of %lld "
                       "columns cuts the"
                       " swizzle's %lld columns, and no copy instruction does that: use block=%lld "
                       "or more, or a"
                       " narrower swizzle",
                       (long long)k->m, (long long)k->block, (long long)k->swizzle,
                       (long long)k->block, (long long)swizzle_columns, (long long)swizzle_columns);
    return PTXGEN_OK;
}

static int64_t widest_swizzle(int64_t row_bytes)
{
    return row_bytes >= 128 ? 128 : row_bytes >= 64 ? 64 : 32;
}

ptxgen_status pg_tcgen05_copy_resolve(void *key, const pg_arch *arch, ptxgen_error *err)
{
    pg_tcgen05_copy_key *k = key;
    PG_TRY(pg_require_tcgen05(arch, "tcgen05_copy", "", err));
    k->m = k->m ? k->m : PG_TMEM_LANES;
    k->n = k->n ? k->n : 128;
    k->block = k->block ? k->block : k->n;
    PG_TRY(check_shape(k, arch, err));
    k->swizzle = k->swizzle ? k->swizzle : widest_swizzle(k->n * ELEMENT_BYTES);
    return check_layout(k, err);
}

int pg_tcgen05_copy_source(const pg_tcgen05_copy_plan *p, int row_block, int column)
{
    const int byte = column * ELEMENT_BYTES;
    return byte / p->swizzle * p->m * p->swizzle + row_block * PG_TMEM_LANES * p->swizzle +
           byte % p->swizzle;
}

int pg_tcgen05_copy_target(const pg_tcgen05_copy_plan *p, int row_block, int column)
{
    if (p->row_blocks ==
        1) /* tiles of the same rows follow each other: their width does not show */
        return column;
    return column % p->block + p->block * (row_block + p->row_blocks * (column / p->block));
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

void pg_tcgen05_copy_plan_from(const void *key, const pg_arch *arch, void *plan)
{
    const pg_tcgen05_copy_key *k = key;
    pg_tcgen05_copy_plan *p = plan;
    memset(p, 0, sizeof *p);
    p->arch = arch;
    p->m = (int)k->m;
    p->n = (int)k->n;
    p->block = (int)k->block;
    p->swizzle = (int)k->swizzle;
    p->row_blocks = p->m / PG_TMEM_LANES;
    p->copies = p->row_blocks * (p->n / PG_COPY_COLUMNS);
    p->tmem_columns = pg_tmem_allocation(p->row_blocks * p->n);
    p->source = (pg_smem_matrix){16, 8 * p->swizzle, pg_swizzle_of(p->swizzle)};
    p->data_bytes = p->m * p->n * ELEMENT_BYTES;
    p->barrier_offset = p->data_bytes;
    p->passes = p->m * p->n / PIECE_ELEMENTS / THREADS;
    p->rows_per_pass = THREADS * PIECE_ELEMENTS / p->n;
    p->batch = at_most(p->passes, MAX_BATCH);
    p->load_columns = at_most(p->row_blocks == 1 ? p->n : p->block, MAX_LOAD_COLUMNS);
    p->head.shared_bytes = (uint32_t)(p->data_bytes + BARRIER_BYTES);
    snprintf(p->head.entry, sizeof p->head.entry, "tcgen05_copy_%dx%d_b%d_sw%d", p->m, p->n,
             p->block, p->swizzle);
}
