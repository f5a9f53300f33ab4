/* Which Hopper kernel for which problem: every combination of tile, cluster and parts of K that
 * makes sense for it is rated by a model of its time (hopper_model.c), the best of them again by
 * what measurements say of the model (hopper_correction.c), and the best is taken. No timing is
 * needed. Some hundred combinations take some 200 us, so each thread remembers the last choices. */
#include "matmul_accumulate/hopper_model.h"
#include "matmul_accumulate/mma_sync.h"

#include <math.h>
#include <string.h>

enum { MOST_SLICES = 64 };

typedef struct search {
    const pg_matmul_accumulate_key *given; /* what is not 0 in it stays */
    const pg_matmul_problem *problem;
    bool swap, left_k_major, right_k_major;
    int64_t rows, columns;  /* of the kernel's problem */
    pg_hopper_rating *best; /* the `most` best, best first */
    size_t count, most;
} search;

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static bool fits(int64_t given, int64_t value)
{
    return !given || given == value;
}

/* K of a stage: the model's is of 16-bit elements. */
static int64_t depth_of(const pg_matmul_accumulate_key *k, const pg_hopper_choice *c)
{
    return c->block_k * 2 / pg_matmul_operand_bytes(k);
}

/* Of a short K the end of a tile is long beside its multiplications: more warpgroups hide it. */
static bool is_short(const search *s)
{
    enum { SHORT = 2048 };
    return s->problem->k < SHORT;
}

static bool reads_matrices(const search *s, const pg_hopper_choice *c)
{
    pg_epilogue e = pg_epilogue_of(&s->given->steps, PTXGEN_F32);
    if (c->ring && s->given->c)
        e.side[PG_SIDE_RESIDUAL].spread = PG_SPREAD_NEAR;
    return is_short(s) && pg_epilogue_has_matrices(&e);
}

/* The same with C through the ring, added behind the multiplications. */
static pg_hopper_choice made_late(const search *s, const pg_hopper_choice *c)
{
    pg_hopper_choice late = *c;
    late.late = late.ring = true;
    late.chunk_columns = pg_hopper_chunk_columns(s->given);
    return late;
}

static bool can_be_late(const search *s, const pg_hopper_choice *c)
{
    enum { LEAST_STAGES = 3 };
    const pg_epilogue steps = pg_epilogue_of(&s->given->steps, PTXGEN_F32);
    if (s->given->c || s->given->grouped || pg_epilogue_has_steps(&steps) || s->swap ||
        c->splits > 1 || c->slices > 1 || !s->problem->c_takes_map)
        return false;
    const pg_hopper_choice late = made_late(s, c);
    return c->block_n % late.chunk_columns == 0 && pg_hopper_stages(&late) >= LEAST_STAGES;
}

/* Tiles of a CTA, of the one that has most. */
static int64_t tiles_each(const search *s, const pg_hopper_choice *c)
{
    const int64_t tiles = divide_up(s->rows, c->block_m) * divide_up(s->columns, c->block_n) *
                          pg_matmul_matrices(s->problem);
    return divide_up(tiles, s->problem->sm_count);
}

/* Where that measured faster on an H200 (docs/benchmarks.md), by the kernel's kind and K. A shared
 * tile behind others of its CTA need not wait for its C; an only one of a short K gets it together
 * with A and B, and then only ends later. 256 rows leave few slots for many chunks. In turns C
 * hides behind the other tile, unless there are few. */
static bool gains_late(const search *s, const pg_hopper_choice *c)
{
    enum { NEVER = INT32_MAX };
    static const struct {
        bool pingpong;
        int warpgroups, rows, only, several; /* least K of a CTA with one tile, with several */
        int most;                            /* tiles of a CTA */
    } kinds[] = {
        {false, 1, 64, NEVER, 0, NEVER}, {false, 1, 128, 800, 0, NEVER},
        {false, 2, 64, 800, 0, NEVER},   {false, 3, 64, 800, 0, NEVER},
        {true, 3, 128, 2048, 2048, 8},
    };
    const int64_t each = tiles_each(s, c);
    const int rows = c->pingpong ? c->block_m : c->block_m / c->warpgroups;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].pingpong == c->pingpong && kinds[i].warpgroups == c->warpgroups &&
            kinds[i].rows == rows)
            return each <= kinds[i].most &&
                   s->problem->k >= (each > 1 ? kinds[i].several : kinds[i].only);
    return false;
}

static bool fits_load(const search *s, const pg_hopper_choice *c)
{
    const int64_t given = s->given->c_load;
    return given == PG_C_LATE ? can_be_late(s, c) : fits(given, c->ring ? PG_C_RING : PG_C_DIRECT);
}

/* What the caller fixed. */
static bool is_allowed(const search *s, const pg_hopper_choice *c)
{
    enum { WIDEST_OF_THREE = 128 };
    const pg_matmul_accumulate_key *g = s->given;
    const int64_t rows = c->pingpong ? c->block_m : c->block_m / c->warpgroups;
    const int64_t most = c->slices > 1 ? 0 : pg_hopper_step_limit(g, c->warpgroups);
    if (reads_matrices(s, c) && c->pingpong && c->warpgroups < 3)
        return false;
    /* The only tile of a CTA has none to take turns with: of 105 problems where both were timed,
     * sharing it was over 2% faster in 64, turns in 3. */
    if (c->pingpong && !g->schedule && tiles_each(s, c) == 1)
        return false;
    const int64_t sums = rows / PG_WGMMA_ROWS * c->block_n / 2,
                  of_two = pg_hopper_split_limit(c->splits, c->warpgroups);
    /* Of three that take turns the widest tile is best; a narrower one, which reads shared memory
     * more than it multiplies, is for steps that need its registers behind a short K. */
    if (c->pingpong && c->warpgroups == 3 && c->block_n != WIDEST_OF_THREE &&
        !(most && is_short(s)))
        return false;
    if ((most && sums > most) || (of_two && sums > of_two))
        return false;
    return fits(g->schedule, c->pingpong ? PG_SCHEDULE_PINGPONG : PG_SCHEDULE_COOPERATIVE) &&
           fits(g->warpgroups, c->warpgroups) && fits(g->block_m, c->block_m) &&
           fits(g->block_n, c->block_n) && fits(g->block_k, depth_of(g, c)) &&
           fits(g->ctas, c->cluster_m) && fits(g->ctas_n, c->cluster_n) &&
           fits(g->splits, c->splits) && fits(g->slices, c->slices) &&
           fits(g->swap, c->swap ? PG_YES : PG_NO) && fits_load(s, c);
}

static void consider(search *s, const pg_hopper_choice *c)
{
    if (!is_allowed(s, c))
        return;
    const int64_t given = s->given->c_load;
    const bool late = given == PG_C_LATE || (!given && can_be_late(s, c) && gains_late(s, c));
    const pg_hopper_choice timed = late ? made_late(s, c) : *c;
    const double time = pg_hopper_time(&timed, s->problem);
    if (!(time < HUGE_VAL) || (s->count == s->most && time >= s->best[s->count - 1].time))
        return;
    size_t i = s->count < s->most ? s->count++ : s->count - 1;
    for (; i > 0 && s->best[i - 1].time > time; i--)
        s->best[i] = s->best[i - 1];
    s->best[i] = (pg_hopper_rating){*c, time};
    s->best[i].choice.late = late;
}

static void consider_slices_of_phases(search *s, pg_hopper_choice *c)
{
    for (int64_t slices = pg_hopper_least_slices(s->given); slices <= MOST_SLICES; slices *= 2) {
        c->slices = (int)slices;
        consider(s, c);
    }
    c->slices = 1;
}

/* K in parts, where the tiles are too few to keep the SMs busy. */
static void consider_parts(search *s, pg_hopper_choice *c, int64_t tiles)
{
    const int cluster = c->cluster_m * c->cluster_n,
              workers = pg_clusters_at_once(cluster, s->problem->sm_count);
    const int64_t k_blocks = divide_up(s->problem->k, c->block_k);
    c->splits = c->slices = 1;
    if (pg_hopper_takes_phases_of_k(s->given)) {
        consider_slices_of_phases(s, c);
        return;
    }
    consider(s, c);
    if (c->pingpong || k_blocks < 4 || 2 * tiles > workers)
        return;
    for (int splits = 2; splits * cluster <= PG_MAX_CLUSTER; splits *= 2) {
        c->splits = splits;
        if (k_blocks >= 2 * splits &&
            tiles <= pg_clusters_at_once(splits * cluster, s->problem->sm_count))
            consider(s, c);
    }
    c->splits = 1;
    const int64_t fill = workers / tiles, most = fill < k_blocks / 2 ? fill : k_blocks / 2;
    const int64_t all = most < MOST_SLICES ? most : MOST_SLICES,
                  some[] = {all, all * 2 / 3, all / 2};
    for (int i = 0; i < 3; i++) {
        c->slices = (int)some[i];
        if (some[i] >= 2)
            consider(s, c);
    }
    c->slices = 1;
}

static void consider_clusters(search *s, pg_hopper_choice *c)
{
    static const int clusters[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2},
                                      {4, 1}, {1, 4}, {4, 2}, {2, 4}};
    const int64_t tiles_m = divide_up(s->rows, c->block_m),
                  tiles_n = divide_up(s->columns, c->block_n);
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        c->cluster_m = clusters[i][0];
        c->cluster_n = clusters[i][1];
        if (c->cluster_m > tiles_m || c->cluster_n > tiles_n ||
            (s->right_k_major ? c->block_n : c->block_k) % (8 * c->cluster_m) ||
            (s->left_k_major ? c->block_m : c->block_k) % (8 * c->cluster_n))
            continue;
        consider_parts(s, c,
                       divide_up(tiles_m, c->cluster_m) * divide_up(tiles_n, c->cluster_n) *
                           pg_matmul_matrices(s->problem));
    }
}

/* Tile shapes, and the columns that each is tried with. */
static const struct shape {
    bool pingpong;
    int warpgroups, block_m, block_k, least_columns, most_columns;
} shapes[] = {
    {false, 1, 64, 64, 8, 256},  {false, 1, 128, 64, 8, 128},  {false, 1, 64, 128, 8, 128},
    {false, 2, 128, 64, 8, 256}, {false, 2, 256, 64, 64, 160}, {false, 3, 192, 64, 8, 192},
    {true, 2, 128, 64, 96, 192}, {true, 2, 64, 64, 128, 256},  {true, 3, 128, 64, 96, 128},
};

static void consider_shape(search *s, const struct shape *shape, int64_t columns)
{
    pg_hopper_choice c = {.pingpong = shape->pingpong,
                          .swap = s->swap,
                          .warpgroups = shape->warpgroups,
                          .block_m = shape->block_m,
                          .block_n = (int)columns,
                          .block_k = shape->block_k};
    const bool adds_c = s->given->c == 0;
    const int chunk = pg_hopper_chunk_columns(s->given);
    enum { DEEPEST = 128, PINGPONG_COLUMNS = 32 };
    if (depth_of(s->given, &c) > DEEPEST)
        return;
    if (columns < shape->least_columns || columns > shape->most_columns ||
        c.block_m >= 2 * divide_up(s->rows, PG_WGMMA_ROWS) * PG_WGMMA_ROWS)
        return;
    if (c.pingpong && (s->swap || columns % PINGPONG_COLUMNS))
        return;
    c.ring = c.pingpong && chunk && columns % chunk == 0 && s->problem->c_takes_map;
    c.chunk_columns = c.ring ? chunk : 0;
    if (c.pingpong && adds_c && !c.ring &&
        (c.warpgroups == 3 || (c.block_m == 128 && columns > 160)))
        return; /* loads of C need registers */
    consider_clusters(s, &c);
}

/* All columns, or an equal part of them that is wide: a list of widths may waste much of it. */
static void consider_part(search *s, const struct shape *shape, int64_t columns, int64_t parts)
{
    enum { WIDEST = 256, WIDE = 64 };
    if (columns <= WIDEST && (parts == 1 || columns >= WIDE))
        consider_shape(s, shape, columns);
}

static void consider_side(search *s, bool swap)
{
    enum { MOST_PARTS = 3 };
    static const int widths[] = {16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256};
    const pg_matmul_problem *p = s->problem;
    s->swap = swap;
    s->rows = swap ? p->n : p->m;
    s->columns = swap ? p->m : p->n;
    s->left_k_major = swap ? s->given->b != 0 : s->given->a == 0;
    s->right_k_major = swap ? s->given->a == 0 : s->given->b != 0;
    const int unit = s->right_k_major ? 8 : 16;
    const int64_t whole = divide_up(s->columns, unit) * unit;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t j = 0; j < sizeof widths / sizeof *widths; j++)
            if (widths[j] < whole && widths[j] % unit == 0)
                consider_shape(s, &shapes[i], widths[j]);
        for (int64_t parts = 1; parts <= (swap ? MOST_PARTS : 1); parts++)
            consider_part(s, &shapes[i], divide_up(whole, parts * unit) * unit, parts);
    }
}

static void settle(int64_t *setting, int64_t value)
{
    if (!*setting)
        *setting = value;
}

void pg_hopper_take(pg_matmul_accumulate_key *k, const pg_hopper_choice *c)
{
    settle(&k->schedule, c->pingpong ? PG_SCHEDULE_PINGPONG : PG_SCHEDULE_COOPERATIVE);
    settle(&k->warpgroups, c->warpgroups);
    settle(&k->block_m, c->block_m);
    settle(&k->block_n, c->block_n);
    settle(&k->block_k, depth_of(k, c));
    settle(&k->ctas, c->cluster_m);
    settle(&k->ctas_n, c->cluster_n);
    settle(&k->splits, c->splits);
    settle(&k->slices, c->slices);
    settle(&k->swap, c->swap ? PG_YES : PG_NO);
    settle(&k->c_load, c->late ? PG_C_LATE : c->ring ? PG_C_RING : PG_C_DIRECT);
}

/* Few rows: the transposed problem, whose tiles have few columns, wastes less. */
enum { MOST_SWAPPED_ROWS = 512 };

static void sort(pg_hopper_rating *r, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const pg_hopper_rating moved = r[i];
        size_t at = i;
        for (; at > 0 && r[at - 1].time > moved.time; at--)
            r[at] = r[at - 1];
        r[at] = moved;
    }
}

/* What the model finds far from the best is not looked at again. */
static size_t correct(pg_hopper_rating *r, size_t count, const pg_matmul_problem *p)
{
    static const double far = 1.6;
    double facts[PG_HOPPER_FACTS];
    const double limit = count ? far * r->time : 0;
    size_t kept = 0;
    for (; kept < count && r[kept].time <= limit; kept++) {
        pg_hopper_facts(&r[kept].choice, p, facts);
        r[kept].time *= exp(pg_hopper_correction(facts));
    }
    sort(r, kept);
    return kept;
}

size_t pg_hopper_rate(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                      pg_hopper_rating *best, size_t most)
{
    pg_hopper_rating all[PG_HOPPER_RATED];
    search s = {.given = k, .problem = p, .best = all, .most = PG_HOPPER_RATED};
    consider_side(&s, false);
    if (p->m <= MOST_SWAPPED_ROWS && p->m < 2 * p->n)
        consider_side(&s, true);
    const size_t kept = correct(all, s.count, p), count = kept < most ? kept : most;
    memcpy(best, all, count * sizeof *best);
    return count;
}

/* A left operand that every CTA reads a part of its own of, and that L2 does not hold from call to
 * call. Fetching ahead pays where narrow tiles leave all else idle. */
static void settle_stream(pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                          const pg_hopper_choice *c)
{
    enum { KEPT_BYTES = 32 << 20, NARROW = 64, ELEMENT_BYTES = 2 };
    const int64_t rows = c->swap ? p->n : p->m, columns = c->swap ? p->m : p->n;
    const bool once = columns <= (int64_t)c->block_n * c->cluster_n,
               large = rows * p->k * ELEMENT_BYTES > KEPT_BYTES;
    const bool ahead = large && p->batch <= 1 && !pg_phases_of(k->phases) && c->swap &&
                       c->block_n * c->cluster_n <= NARROW && c->splits == 1 &&
                       c->cluster_m * c->cluster_n <= 2;
    settle(&k->stream, once && ahead ? PG_AHEAD : c->swap || (once && large) ? PG_YES : PG_NO);
}

/* A short K needs few stages; what they leave lets C of more tiles be on its way (measured with K
 * to 256: 3 to 5% faster than all the stages that fit). */
static void settle_ring(pg_matmul_accumulate_key *k, const pg_matmul_problem *p,
                        const pg_hopper_choice *c)
{
    enum { MOST_BLOCKS = 4, STAGES = 3, TALL = 128, RING = 64 << 10, RING_OF_TALL = 96 << 10 };
    if (!c->pingpong || !c->ring || k->stages || k->c_slots ||
        divide_up(p->k, depth_of(k, c)) > MOST_BLOCKS)
        return;
    k->stages = STAGES;
    k->c_slots = (c->block_m == TALL ? RING_OF_TALL : RING) / (c->block_m * PG_C_CHUNK_BYTES);
}

/* Little to multiply beside C and D, or beside copies of A and B to aligned rows (measured; rows
 * of C and D that are aligned leave Hopper's kernel its ring, which is ahead where they weigh
 * most). */
static bool is_shallow(const pg_matmul_problem *p)
{
    enum { ALIGNED = 16, STAGE = 64, SHORT = 128, LONG = 384 };
    enum { FEW = 1 << 17, SOME = 1 << 18, MANY = 3 << 18, VERY_MANY = 1 << 22 };
    const bool copies = p->operand_alignment < ALIGNED;
    const int64_t elements = p->m * p->n * pg_matmul_matrices(p);
    if (elements < FEW && p->k > STAGE)
        return p->k <= SHORT && p->a_phases && p->b_phases; /* both would be copied */
    if (!p->ragged)
        return copies && p->k <= SHORT && elements < VERY_MANY;
    if (p->k <= SHORT)
        return copies || elements >= SOME;
    /* Hopper's kernel accesses pairs: of 16 problems of such a K it was ahead in 6 of 7 that have
     * them, in none of 9 that have not. */
    return p->odd && p->k <= LONG && elements >= MANY && p->m > MOST_SWAPPED_ROWS;
}

/* Then mma.sync's kernel, of which an SM holds several CTAs, hides accesses of rows of any
 * alignment better and copies nothing. Nothing else may have been asked for. */
static bool suits_mma_sync(const pg_matmul_accumulate_key *k, const pg_matmul_problem *p)
{
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    pg_matmul_accumulate_key plain = {.arch = k->arch,
                                      .dtype = k->dtype,
                                      .a = k->a,
                                      .b = k->b,
                                      .c = k->c,
                                      .copy = k->copy,
                                      .c_dtype = k->c_dtype,
                                      .d_dtype = k->d_dtype,
                                      .scale = k->scale,
                                      .steps = k->steps};
    return k->dtype <= PG_MATMUL_BF16 && !pg_epilogue_has_steps(&steps) &&
           pg_dtype_bits(steps.out) > 8 && memcmp(&plain, k, sizeof plain) == 0 && is_shallow(p);
}

/* Measured: tiles of 64 x 64, of 128 x 64 where K is not that short and tiles are many, and of 32 x
 * 64 where each SM then has one; a C that is not large comes by rows, under way with A and B. */
static void take_mma_sync(pg_matmul_accumulate_key *k, const pg_matmul_problem *p)
{
    enum { TINY = 32, SMALL = 64, LARGE = 128, SHORT = 128, MANY = 1 << 21 };
    const bool large = p->k > SHORT && p->m * p->n >= MANY;
    const bool tiny = !k->a && divide_up(p->m, TINY) * divide_up(p->n, SMALL) <= p->sm_count;
    k->schedule = PG_SCHEDULE_MMA_SYNC;
    k->block_m = large ? LARGE : tiny ? TINY : SMALL;
    k->block_n = SMALL;
    if (k->c == 0 && p->m * p->n < MANY)
        k->c_load = PG_C_ROWS;
    k->swap = PG_NO;
    k->copy = 0;
    pg_mma_choose(k, p);
}

/* Each way's best kernel; of them the fastest by the model, copies and all: corrections do not
 * compare problems. */
static void choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *p)
{
    pg_hopper_way ways[PG_HOPPER_WAYS];
    double least = HUGE_VAL;
    if (suits_mma_sync(k, p)) {
        take_mma_sync(k, p);
        return;
    }
    const size_t count = pg_hopper_ways(k, p, ways);
    for (size_t i = 0; i < count; i++) {
        pg_hopper_way *w = &ways[i];
        pg_hopper_rating best;
        if (!pg_hopper_rate(&w->key, &w->problem, &best, 1))
            continue;
        const double us = w->us + w->times * pg_hopper_time(&best.choice, &w->problem);
        if (us >= least)
            continue;
        least = us;
        *k = w->key;
        settle_stream(k, &w->problem, &best.choice);
        settle_ring(k, &w->problem, &best.choice);
        pg_hopper_take(k, &best.choice);
    }
}

typedef struct remembered {
    pg_matmul_accumulate_key asked, chosen;
    pg_matmul_problem problem;
} remembered;

static _Thread_local remembered last[16];

void pg_hopper_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *p)
{
    const uint64_t mixed =
        (uint64_t)(p->m * 31 + p->n * 131 + p->k * 1031 + k->b) * 0x9E3779B97F4A7C15u;
    remembered *r = &last[mixed >> 60];
    if (r->chosen.arch && memcmp(&r->asked, k, sizeof *k) == 0 &&
        pg_matmul_same_problem(&r->problem, p)) {
        *k = r->chosen;
        return;
    }
    const pg_matmul_accumulate_key asked = *k;
    choose(k, p);
    *r = (remembered){asked, *k, *p};
}
