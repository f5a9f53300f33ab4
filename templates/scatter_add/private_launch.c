/* Numbers of schedule=private: what its key may be, for which problems it is, and its launch. */
#include "scatter_add/private.h"

#include "base/error.h"

enum {
    MOST_ROW_BYTES = 64,
    MOST_SLICE_ROWS = 0xffff,
    ALIGNMENT = 16,
    WARP = 32,
    THREAD_WARPS = 8,
    USUAL_WARPS = 12
};

/* How CTAs are cut by the table's size, for rows of src of so many words: rows are in registers, so
 * that an SM has room for `warps` of the last choice. Measured: docs/benchmarks.md. */
enum { CHOICES = 3 };
typedef struct cta_choice {
    int ctas, warps;
    int64_t most_bytes; /* of the table */
} cta_choice;
static const struct {
    int most_words;
    cta_choice choices[CHOICES];
} cuts[] = {{2, {{4, 8, 10 << 10}, {2, 16, 40 << 10}, {1, 32, INT64_MAX}}},
            {16, {{6, 4, 5 << 10}, {2, 12, 40 << 10}, {1, 24, INT64_MAX}}},
            {32, {{3, 4, 5 << 10}, {2, 6, 40 << 10}, {1, 12, INT64_MAX}}}};

static const cta_choice *choices_for(const pg_private_row *r)
{
    size_t i = 0;
    while (r->words > cuts[i].most_words)
        i++;
    return cuts[i].choices;
}

static const pg_private_cut none = {.copies = PG_COPIES_AUTO};

static bool takes_row(const pg_sum_type *e, int64_t n)
{
    return n && n * e->bytes <= MOST_ROW_BYTES && e->acc_bytes == 4;
}

/* Up to what a row is a multiple of. */
static int64_t access_within(int64_t row_bytes, int64_t access)
{
    const int64_t aligned = (row_bytes | 16) & -(row_bytes | 16);
    return access && access < aligned ? access : aligned;
}

static bool takes_access(const pg_sum_type *e, int64_t access)
{
    return (access & (access - 1)) == 0 && access >= e->bytes;
}

ptxgen_status pg_scatter_add_resolve_private(pg_scatter_add_key *k, const pg_arch *arch,
                                             ptxgen_error *err)
{
    const pg_sum_type *e = pg_sum_type_at(k->dtype);
    const int64_t row_bytes = k->n * e->bytes;
    if (arch->sm < 90)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "schedule=private needs sm_90 or later, not %s",
                       arch->name);
    if (!takes_row(e, k->n))
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "schedule=private takes rows of up to %d bytes of f32, f16, bf16 or s32, and a "
            "fixed n",
            MOST_ROW_BYTES);
    k->access = access_within(row_bytes, k->access);
    if (!takes_access(e, k->access))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "access=%lld is not a power of two from %d (an element of %s) to 16",
                       (long long)k->access, e->bytes, e->name);
    k->copies = k->copies ? k->copies : PG_COPIES_CTA;
    const bool alone = k->copies == PG_COPIES_THREAD;
    const pg_private_row row = pg_private_row_for(e, k->n, (int)k->access, alone);
    const int most = alone ? THREAD_WARPS : choices_for(&row)[CHOICES - 1].warps;
    k->warps = k->warps ? k->warps : alone ? THREAD_WARPS : USUAL_WARPS;
    k->ctas = k->ctas ? k->ctas : 1;
    k->slices = k->slices ? k->slices : 1;
    if (alone && k->slices > 1)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "slices=%lld: with copies=thread a table has all rows of out: use copies=cta",
            (long long)k->slices);
    if (alone && k->ctas > 1)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "ctas=%lld: with copies=thread tables fill an SM: leave ctas out",
                       (long long)k->ctas);
    if (k->warps * k->ctas > most)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "warps=%lld and ctas=%lld: schedule=private has registers for %d warps an "
                       "SM with rows of %lld bytes",
                       (long long)k->warps, (long long)k->ctas, most, (long long)row_bytes);
    k->contig = 0;
    return PTXGEN_OK;
}

void pg_scatter_add_plan_private(const pg_scatter_add_key *k, pg_scatter_add_plan *p)
{
    p->access = (int)k->access;
    p->slices = (int)k->slices;
    p->by_thread = k->copies == PG_COPIES_THREAD;
    p->head.shared_bytes = (uint32_t)p->arch->max_shared_bytes;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* copies=thread: how many tables a CTA of so many warps has. */
static int64_t tables_of(int64_t warps, int64_t shared_bytes, const pg_private_row *r,
                         int64_t out_rows)
{
    const int64_t rows = out_rows ? out_rows : 1;
    const int64_t room = (shared_bytes - ALIGNMENT) / (4 * r->sums * rows);
    const int64_t tables = room < WARP * warps ? room : WARP * warps;
    return tables > WARP ? tables / WARP * WARP : tables; /* whole warps read whole sectors */
}

/* Whole lines of out, so that halves of one word are in one slice. */
static int64_t slice_rows_of(int64_t slices, int64_t out_rows)
{
    return slices == 1 ? out_rows : round_up((out_rows + slices - 1) / slices, WARP);
}

/* copies=cta: shared memory of a CTA of so many warps. */
static int64_t cta_bytes(int64_t warps, const pg_private_row *r, int64_t out_rows)
{
    const int64_t tile =
        WARP * warps * (pg_private_share_bytes(r) + 2 * pg_private_share(r)) / r->parts;
    return round_up(4 * r->sums * out_rows, ALIGNMENT) +
           round_up(4 * out_rows, PG_PRIVATE_COUNTERS) + ALIGNMENT + tile;
}

/* Several CTAs an SM, each at another step of its tile, keep memory busier than one; but each needs
 * room, and adds a table to out. warps 0 or less: the table leaves none. */
static pg_private_cut cut_slice(int64_t shared_bytes, const pg_private_row *r, int64_t rows,
                                int most_ctas)
{
    enum { RESERVED = 1024, STEP = 4 };
    const cta_choice *const choices = choices_for(r);
    const int64_t table = 4 * r->sums * rows;
    for (size_t i = 0; i < CHOICES; i++) {
        const cta_choice *c = &choices[i];
        if (table <= c->most_bytes && c->ctas <= most_ctas &&
            c->ctas * (cta_bytes(c->warps, r, rows) + RESERVED) <= shared_bytes + RESERVED)
            return (pg_private_cut){PG_COPIES_CTA, c->warps, c->ctas, 1};
    }
    int warps = choices[CHOICES - 1].warps;
    while (warps > 0 && cta_bytes(warps, r, rows) > shared_bytes)
        warps -= STEP;
    return (pg_private_cut){PG_COPIES_CTA, warps, 1, 1};
}

/* Ways to cut out into slices, the first that fits is taken: for rows of src of up to so many words
 * and bytes, up to so many rows of out, if there is room for so many warps. CTAs of several slices
 * read rows of src several times, from L2 all but once: worth it where one table leaves few warps
 * or does not fit, and reductions are slow because they meet. Measured: docs/benchmarks.md. */
static const struct {
    int slices, most_words, most_row_bytes, least_warps;
    int64_t most_out_rows;
} ways[] = {{1, 2, 8, 20, INT64_MAX},   {2, 2, 8, 20, INT64_MAX},  {3, 1, 4, 32, 36000},
            {1, 32, 64, 12, INT64_MAX}, {2, 8, 14, 16, INT64_MAX}, {2, 4, 16, 24, INT64_MAX},
            {1, 8, 32, 8, INT64_MAX}};

/* Where a matrix of halves has one without a partner, CTAs wait for each other to add to it
 * (private_halves.ptxc): an SM has one. */
static pg_private_cut cut_cta(int64_t shared_bytes, const pg_private_row *r, int64_t out_rows,
                              int64_t row_bytes)
{
    enum { MOST_CTAS = 32, HALF = 2 };
    const int most_ctas = r->word_bytes == HALF && out_rows * row_bytes / HALF % 2 ? 1 : MOST_CTAS;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const int64_t rows = slice_rows_of(ways[i].slices, out_rows);
        if (r->words > ways[i].most_words || row_bytes > ways[i].most_row_bytes ||
            out_rows > ways[i].most_out_rows || rows > MOST_SLICE_ROWS)
            continue;
        pg_private_cut cut = cut_slice(shared_bytes, r, rows, most_ctas);
        cut.slices = ways[i].slices;
        if (cut.ctas > 1 || cut.warps >= ways[i].least_warps)
            return cut;
    }
    return none;
}

/* A thread's own table is the fastest as long as enough threads have one to keep memory busy, and
 * there are so many rows that clearing and adding up as many tables costs nothing; but not of long
 * rows of halves, each of which takes its own addition. */
static bool has_own_tables(const pg_problem *problem, const pg_private_row *r, int64_t shared_bytes)
{
    enum { SHORT_ROW = 4, ENOUGH_SHORT = 128, ENOUGH = 96, LEAST_ROWS = 1 << 23, LONG_HALVES = 8 };
    const int64_t out_rows = problem->symbol[PG_SCATTER_OUT_ROWS];
    const int64_t n = problem->symbol[PG_SCATTER_N];
    const bool halves = pg_dtype_bits(problem->operand[PG_SCATTER_SRC].dtype) == 16;
    return problem->symbol[PG_SCATTER_ROWS] >= LEAST_ROWS && !(halves && n > LONG_HALVES) &&
           tables_of(THREAD_WARPS, shared_bytes, r, out_rows) >=
               (n > SHORT_ROW ? ENOUGH : ENOUGH_SHORT);
}

pg_private_cut pg_scatter_add_cut_private(const pg_problem *problem, const pg_scatter_add_key *k,
                                          int64_t access)
{
    const int64_t shared = pg_arch_find((ptxgen_arch)k->arch)->max_shared_bytes;
    const int64_t out_rows = problem->symbol[PG_SCATTER_OUT_ROWS];
    const int64_t n = problem->symbol[PG_SCATTER_N];
    const pg_sum_type *e = pg_sum_type_at(k->dtype);
    access = access_within(n * e->bytes, access);
    if (!takes_row(e, n) || !takes_access(e, access)) /* refused when it is resolved */
        return none;
    const pg_private_row alone = pg_private_row_for(e, n, (int)access, true),
                         together = pg_private_row_for(e, n, (int)access, false);
    if (k->copies ? k->copies == PG_COPIES_THREAD : has_own_tables(problem, &alone, shared))
        return (pg_private_cut){PG_COPIES_THREAD, THREAD_WARPS, 1, 1};
    return cut_cta(shared, &together, out_rows, n * e->bytes);
}

ptxgen_status pg_scatter_add_private_limits(const pg_problem *problem, ptxgen_error *err)
{
    const pg_scatter_add_key *k = problem->key;
    const int64_t shared = pg_arch_find((ptxgen_arch)k->arch)->max_shared_bytes;
    const int64_t out_rows = problem->symbol[PG_SCATTER_OUT_ROWS];
    const pg_view *src = &problem->operand[PG_SCATTER_SRC];
    const int64_t stride = src->stride[0] * pg_dtype_bits(src->dtype) / 8;
    const bool alone = k->copies == PG_COPIES_THREAD;
    const pg_private_row r =
        pg_private_row_for(pg_sum_type_at(k->dtype), k->n, (int)k->access, alone);
    const int64_t slice = slice_rows_of(k->slices, out_rows);
    if (slice > MOST_SLICE_ROWS || (alone ? tables_of(k->warps, shared, &r, out_rows) < 1
                                          : cta_bytes(k->warps, &r, slice) > shared))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "schedule=private: %lld rows of out in slices=%lld need more than the %lld "
                       "bytes of shared memory: use schedule=auto",
                       (long long)out_rows, (long long)k->slices, (long long)shared);
    if (problem->symbol[PG_SCATTER_ROWS] > INT32_MAX || stride > UINT32_MAX)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "schedule=private takes up to %d values of index and strides below 4 GiB, here "
            "%lld and %lld bytes: use schedule=auto",
            INT32_MAX, (long long)problem->symbol[PG_SCATTER_ROWS], (long long)stride);
    return PTXGEN_OK;
}

enum { PG_PRIVATE_PARAMS(PG_PARAM_PLACE) COUNT };

pg_param_list pg_scatter_add_private_params(void)
{
    static const pg_kernel_param rows[] = {PG_PRIVATE_PARAMS(PG_PARAM_ROW){NULL, 0}};
    return (pg_param_list){.rows = rows};
}

void pg_scatter_add_launch_private(const pg_problem *problem, pg_launch *l)
{
    const pg_scatter_add_plan *p = problem->plan;
    const pg_view *out = &problem->operand[PG_SCATTER_OUT],
                  *src = &problem->operand[PG_SCATTER_SRC];
    const int64_t rows = problem->symbol[PG_SCATTER_ROWS],
                  out_rows = problem->symbol[PG_SCATTER_OUT_ROWS];
    const pg_private_row r = pg_private_row_of(p);
    const int64_t bytes = p->element->bytes, shared = p->arch->max_shared_bytes;
    const int64_t tables = p->by_thread ? tables_of(p->warps, shared, &r, out_rows) : 1;
    const int64_t threads = p->by_thread ? tables : WARP * p->warps;
    const int64_t slice = slice_rows_of(p->slices, out_rows);
    const int64_t tiles = (rows - 1) / (threads * r.batch) + 1;
    const int64_t most = (int64_t)problem->device->sm_count * p->ctas_per_sm / p->slices;
    const int64_t ctas = tiles < most ? tiles : most ? most : 1;
    pg_launch_line(l, ctas * p->slices, (int)round_up(threads, WARP), COUNT, 0);
    l->shared_bytes = (uint32_t)(p->by_thread ? tables * 4 * r.sums * out_rows + ALIGNMENT
                                              : cta_bytes(p->warps, &r, slice));
    pg_set_pointer(l, at_out_, out->data);
    pg_set_pointer(l, at_src_, src->data);
    pg_set_pointer(l, at_index_, problem->operand[PG_SCATTER_INDEX].data);
    pg_set_record(l, at_record_, pg_scatter_add_given_record(problem));
    pg_set_u64(l, at_out_rows_, (uint64_t)out_rows);
    pg_set_u64(l, at_out_stride_, (uint64_t)(out->stride[0] * bytes));
    pg_set_u32(l, at_src_stride_, src->stride[0] * bytes);
    pg_set_u32(l, at_rows_, rows);
    pg_set_u32(l, at_copies_, tables);
    pg_set_u32(l, at_slice_rows_, slice);
}
