/* Tensor memory of a CTA while a kernel runs: its allocations, and what tcgen05 reads and writes
 * where. Lanes that are used alike are one row, columns one column. */
#include "command/draw/draw.h"

#include "command/options.h"
#include "command/run/problem_run.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 128, COLUMNS = 512, MOST_CTAS = 16, MOST_ALLOCATIONS = 64 };

/* What an area is used for, a bit each; `cell` in the drawing, `name` in the notes. */
static const struct {
    const char *use, *cell, *name;
} uses[] = {{"D", "D", "accumulators"},
            {"A", "A", "A"},
            {"indices of A", "IA", "indices of a sparse A"},
            {"scales of A", "SA", "scales of A"},
            {"scales of B", "SB", "scales of B"},
            {"tcgen05.cp", "cp", "copied in (tcgen05.cp)"},
            {"tcgen05.shift", "shift", "shifted"},
            {"tcgen05.st", "st", "stored (tcgen05.st)"},
            {"tcgen05.ld", "ld", "loaded (tcgen05.ld)"}};
enum { USES = sizeof uses / sizeof *uses };

typedef uint16_t use_map[LANES][COLUMNS];

typedef struct allocation {
    uint32_t column, columns;
    uint64_t from, to; /* time; to 0: never freed */
    use_map used;
} allocation;

typedef struct tensor_use {
    use_map used;                      /* by any allocation */
    allocation *all[MOST_ALLOCATIONS]; /* owned, in order of time */
    size_t count;
    bool more; /* allocations than there is room for */
} tensor_use;

typedef struct collector {
    tensor_use *cta[MOST_CTAS]; /* of the first cluster, by rank; owned; NULL: nothing yet */
} collector;

/* ---- listening ---- */

static uint16_t bit_of(const char *use)
{
    for (int i = 0; i < USES; i++)
        if (strcmp(uses[i].use, use) == 0)
            return (uint16_t)(1u << i);
    return 0;
}

/* The allocation that has the column now; NULL: none that is kept. */
static allocation *owner_now(const tensor_use *t, uint32_t column)
{
    for (size_t i = 0; i < t->count; i++) {
        allocation *a = t->all[i];
        if (!a->to && column >= a->column && column < a->column + a->columns)
            return a;
    }
    return NULL;
}

static void mark_area(tensor_use *t, const ptxgen_emulator_event *e)
{
    const uint16_t bit = bit_of(e->use);
    for (uint32_t c = e->column; c < e->column + e->columns && c < COLUMNS; c++) {
        allocation *owner = owner_now(t, c);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            if (!(e->lanes[lane / 16] >> lane % 16 & 1))
                continue;
            t->used[lane][c] |= bit;
            if (owner)
                owner->used[lane][c] |= bit;
        }
    }
}

static void end_allocation(allocation *a, uint64_t time)
{
    if (a)
        a->to = time;
}

static void begin_allocation(tensor_use *t, const ptxgen_emulator_event *e)
{
    t->more |= t->count == MOST_ALLOCATIONS;
    if (t->more)
        return;
    allocation *a = cli_calloc(1, sizeof *a);
    a->column = e->column;
    a->columns = e->columns;
    a->from = e->time;
    t->all[t->count++] = a;
}

static void hear(void *user, const ptxgen_emulator_event *e)
{
    collector *c = user;
    const bool about_tensor = e->kind == PTXGEN_EMULATOR_TENSOR_ALLOCATES ||
                              e->kind == PTXGEN_EMULATOR_TENSOR_FREES ||
                              e->kind == PTXGEN_EMULATOR_TENSOR_USES;
    if (!about_tensor || e->launch || e->cluster || e->cta_rank >= MOST_CTAS)
        return;
    if (!c->cta[e->cta_rank])
        c->cta[e->cta_rank] = cli_calloc(1, sizeof *c->cta[0]);
    tensor_use *t = c->cta[e->cta_rank];
    if (e->kind == PTXGEN_EMULATOR_TENSOR_USES)
        mark_area(t, e);
    else if (e->kind == PTXGEN_EMULATOR_TENSOR_FREES)
        end_allocation(owner_now(t, e->column), e->time);
    else
        begin_allocation(t, e);
}

/* ---- drawing ---- */

/* Which allocations have had a column, a bit each. */
static uint64_t owners(const tensor_use *t, uint32_t column)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < t->count; i++)
        if (column >= t->all[i]->column && column < t->all[i]->column + t->all[i]->columns)
            bits |= UINT64_C(1) << i;
    return bits;
}

static bool same_column(const use_map used, uint32_t a, uint32_t b)
{
    bool same = true;
    for (uint32_t lane = 0; lane < LANES && same; lane++)
        same = used[lane][a] == used[lane][b];
    return same;
}

/* Begins of the groups of equal lanes, or columns; the last is the end. */
static size_t group_lanes(const tensor_use *t, uint32_t *begins)
{
    size_t n = 0;
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (!lane || memcmp(t->used[lane], t->used[lane - 1], sizeof t->used[lane]) != 0)
            begins[n++] = lane;
    begins[n] = LANES;
    return n;
}

static size_t group_columns(const tensor_use *t, uint32_t *begins)
{
    size_t n = 0;
    for (uint32_t c = 0; c < COLUMNS; c++)
        if (!c || owners(t, c) != owners(t, c - 1) || !same_column(t->used, c, c - 1))
            begins[n++] = c;
    begins[n] = COLUMNS;
    return n;
}

static void add_word(char *text, size_t size, const char *word, const char *between)
{
    const size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s", n ? between : "", word);
}

static void name_owners(const tensor_use *t, uint32_t column, char *cell, size_t size)
{
    const uint64_t bits = owners(t, column);
    char one[24];
    for (size_t i = 0; i < t->count; i++)
        if (bits >> i & 1) {
            snprintf(one, sizeof one, "#%zu", i + 1);
            add_word(cell, size, one, ",");
        }
}

static void fill_cells(const tensor_use *t, drawing *d, const uint32_t *lanes,
                       const uint32_t *columns)
{
    for (size_t c = 0; c < d->columns; c++) {
        snprintf(d->column_names[c], sizeof *d->column_names, "%u-%u", columns[c],
                 columns[c + 1] - 1);
        name_owners(t, columns[c], d->cells[c], sizeof *d->cells);
        for (size_t r = 1; r < d->rows; r++) {
            const size_t cell = r * d->columns + c;
            const uint16_t bits = t->used[lanes[r - 1]][columns[c]];
            for (int i = 0; i < USES; i++)
                if (bits >> i & 1)
                    add_word(d->cells[cell], sizeof *d->cells, uses[i].cell, " ");
            d->marked[cell] = owners(t, columns[c]) && !bits;
        }
    }
    snprintf(d->row_names[0], sizeof *d->row_names, "allocation");
    for (size_t r = 1; r < d->rows; r++)
        snprintf(d->row_names[r], sizeof *d->row_names, "lanes %u-%u", lanes[r - 1], lanes[r] - 1);
}

/* "accumulators, loaded", in the order of `uses`. */
static void name_uses(uint16_t bits, char *text, size_t size)
{
    const bool copied = bits & (bit_of("tcgen05.cp") | bit_of("tcgen05.st"));
    for (int i = 0; i < USES; i++)
        if (bits >> i & 1)
            add_word(text, size, i == 0 && copied ? "accumulators that begin as C" : uses[i].name,
                     ", ");
}

/* A line for each run of columns of an allocation that are used alike. */
static char *holdings(const allocation *a)
{
    const uint32_t end = a->column + a->columns < COLUMNS ? a->column + a->columns : COLUMNS;
    char *text = cli_format("%s", "");
    for (uint32_t from = a->column, to; from < end; from = to) {
        uint16_t bits = 0;
        char what[256] = "";
        for (to = from + 1; to < end && same_column(a->used, from, to);)
            to++;
        for (uint32_t lane = 0; lane < LANES; lane++)
            bits |= a->used[lane][from];
        name_uses(bits, what, sizeof what);
        char *more =
            cli_format("%s   columns %u-%u: %s\n", text, from, to - 1, bits ? what : "nothing");
        free(text);
        text = more;
    }
    return text;
}

static char *notes_of(const tensor_use *t)
{
    char *text = cli_format("D: accumulators; A, IA: A of an mma and its indices; SA, SB: scales; "
                            "cp, st, ld, shift: moved so\nheavy frames (*): allocated and never "
                            "used; time is in warp instructions of the launch\n");
    for (size_t i = 0; i < t->count; i++) {
        const allocation *a = t->all[i];
        char *held = holdings(a);
        char *until =
            a->to ? cli_format("to %llu", (unsigned long long)a->to) : cli_format("never freed");
        char *more = cli_format("%s#%zu: %u columns from %u, from time %llu %s\n%s", text, i + 1,
                                a->columns, a->column, (unsigned long long)a->from, until, held);
        free(held);
        free(until);
        free(text);
        text = more;
    }
    if (t->more) {
        char *more = cli_format("%sfurther allocations are not shown\n", text);
        free(text);
        text = more;
    }
    return text;
}

static void draw_use(const tensor_use *t, drawing *d)
{
    uint32_t lanes[LANES + 1], columns[COLUMNS + 1];
    const size_t rows = group_lanes(t, lanes), across = group_columns(t, columns);
    drawing_make(d, rows + 1, across);
    fill_cells(t, d, lanes, columns);
    d->notes = notes_of(t);
}

/* ---- what is run ---- */

static bool is_ptx(const cli_args *args)
{
    const char *word = args->count > 1 ? args->words[1] : "";
    const size_t n = strlen(word);
    return strcmp(word, "-") == 0 || (n > 4 && strcmp(word + n - 4, ".ptx") == 0);
}

const char *draw_tmem_options(const cli_args *args)
{
    return is_ptx(args) ? "output entry grid block cluster cooperative shared arg budget"
                        : "output";
}

static ptxgen_status run_family(const cli_args *args, const run_listener *listener, drawing *d,
                                ptxgen_error *err)
{
    run_problem r;
    ptxgen *ctx;
    size_t family = 0;
    cli_settings set = args->set;
    while (ptxgen_family_name(family) && strcmp(ptxgen_family_name(family), args->words[1]) != 0)
        family++;
    if (!ptxgen_family_name(family))
        return ptxgen_canonical(args->words[1], "", NULL, 0, err);
    set.device = PTXGEN_DEVICE_EMULATOR;
    set.cache_dir = "";
    ptxgen_status status = cli_context(&set, &ctx, err);
    if (status != PTXGEN_OK)
        return status;
    const cli_args problem = {.words = args->words + 2, .count = args->count - 2};
    status = run_problem_open(&r, ctx, family, problem, err);
    if (status == PTXGEN_OK)
        status = run_problem_emulate(&r, listener, NULL, err);
    if (status == PTXGEN_OK) {
        ptxgen_kernel_info info = {.size = sizeof info};
        ptxgen_kernel_describe(r.kernel, &info);
        d->title = cli_format("%s", info.entry);
    }
    run_problem_close(&r);
    ptxgen_destroy(ctx);
    return status;
}

/* `rank=` is of the drawing, the other words are the kernel's. */
static size_t take_rank(cli_args *args, int64_t *rank, ptxgen_error *err)
{
    size_t kept = 0;
    const ptxgen_status status = draw_number(args, "rank", 0, MOST_CTAS - 1, rank, err);
    for (size_t w = 0; w < args->count; w++)
        if (strncmp(args->words[w], "rank=", 5) != 0)
            args->words[kept++] = args->words[w];
    args->count = kept;
    return status == PTXGEN_OK;
}

static void free_use(tensor_use *t)
{
    for (size_t i = 0; t && i < t->count; i++)
        free(t->all[i]);
    free(t);
}

ptxgen_status draw_tmem(const cli_args *given, drawing *d, int *code, ptxgen_error *err)
{
    collector c = {{NULL}};
    const run_listener listener = {hear, &c};
    cli_args args = *given;
    int64_t rank = 0;
    ptxgen_status status = PTXGEN_OK;
    if (args.count < 2)
        return cli_fail(err, PTXGEN_EINVAL,
                        "of which kernel? `ptxgen draw tmem FAMILY m=M n=N k=K arch=sm_100a`, or "
                        "FILE.ptx with what `ptxgen run` takes");
    if (!take_rank(&args, &rank, err))
        return PTXGEN_EINVAL;
    args.set.output = NULL;
    if (is_ptx(&args)) {
        cli_args ptx = args;
        ptx.words++;
        ptx.count--;
        *code = cli_run_ptx(&ptx, &listener);
        d->title = *code == CLI_OK ? cli_format("%s", args.words[1]) : NULL;
    } else {
        status = run_family(&args, &listener, d, err);
    }
    if (d->title && !c.cta[rank])
        status = cli_fail(err, PTXGEN_EINVAL,
                          "%s uses no tensor memory in CTA %lld of its first cluster", d->title,
                          (long long)rank);
    if (d->title && status == PTXGEN_OK) {
        char *title = cli_format("tensor memory of %s, CTA %lld of the first cluster", d->title,
                                 (long long)rank);
        free(d->title);
        d->title = title;
        draw_use(c.cta[rank], d);
    }
    for (int i = 0; i < MOST_CTAS; i++)
        free_use(c.cta[i]);
    return status;
}
