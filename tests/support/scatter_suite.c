#include "scatter_suite.h"

#include "test.h"

static const int64_t lengths[] = {4,   8,   12,   20,   36,   100,    128,
                                  500, 512, 1000, 1024, 4096, 160000, 0 /* dynamic */};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
_Static_assert(LENGTHS == 14, "SCATTER_COMBINATIONS counts them");

bool scatter_combination(size_t i, scatter_case *c)
{
    memset(c, 0, sizeof *c);
    c->n = lengths[i % LENGTHS];
    i /= LENGTHS;
    c->dtype = (ptxgen_dtype)(PTXGEN_F32 + i % 3);
    i /= 3;
    c->contig = i % 2;
    i /= 2;
    c->index_type = (ptxgen_index_type)(i % 2);
    i /= 2;
    c->schedule = (ptxgen_schedule)(PTXGEN_SCHEDULE_SEED + i % 3);
    i /= 3;
    c->oob = i % 2 ? PTXGEN_OOB_TRAP : PTXGEN_OOB_RECORD;
    c->dynamic_n = c->n == 0;
    return ptxgen_row_shape_supported(c->dtype, c->n);
}

void scatter_combination_params(const scatter_case *c, char *text, size_t size)
{
    static const char *const schedules[] = {"auto", "seed", "bulk", "vector", "owner"};
    char n[24] = "dynamic";
    if (c->n)
        snprintf(n, sizeof n, "%lld", (long long)c->n);
    snprintf(text, size, "arch=sm_90 dtype=%s n=%s contig=%s index=%s schedule=%s oob=%s",
             ptxgen_dtype_name(c->dtype), n, c->contig ? "yes" : "no",
             c->index_type ? "i32" : "i64", schedules[c->schedule], c->oob ? "trap" : "record");
}

/* Sizes that leave a partial last tile, and few rows for the long ones. */
static void size_case(const scatter_suite *s, scatter_case *c, size_t i)
{
    static const int64_t dynamic_lengths[] = {8, 72, 1000, 4104, 33000};
    if (c->dynamic_n)
        c->n = dynamic_lengths[i / LENGTHS % 5];
    c->rows = s->elements / c->n;
    c->rows = c->rows < 7 ? 7 : c->rows > 4096 ? 4099 : c->rows | 3;
    c->out_rows = c->rows + 5;
    c->seed = i + 1;
}

void scatter_every_combination(const scatter_suite *s)
{
    for (size_t i = 0; i < SCATTER_COMBINATIONS; i += s->every) {
        scatter_case c;
        if (!scatter_combination(i, &c))
            continue;
        size_case(s, &c, i);
        c.indices = (distribution)(i / 7 % DISTRIBUTIONS);
        run_scatter_case(s->ctx, &c);
        c.indices = INDEX_PERMUTATION;
        c.rough_values = true;
        run_scatter_case(s->ctx, &c);
    }
}

void scatter_every_distribution(const scatter_suite *s)
{
    for (int d = 0; d < DISTRIBUTIONS; d++) {
        for (int schedule = PTXGEN_SCHEDULE_AUTO; schedule <= PTXGEN_SCHEDULE_OWNER; schedule++) {
            for (int t = PTXGEN_F32; t <= PTXGEN_BF16; t++) {
                const scatter_case c = {.dtype = (ptxgen_dtype)t,
                                        .n = 264,
                                        .rows = s->elements / 264 | 3,
                                        .out_rows = s->elements / 200,
                                        .contig = schedule % 2,
                                        .schedule = (ptxgen_schedule)schedule,
                                        .indices = (distribution)d,
                                        .seed = 1000 + (uint64_t)d};
                run_scatter_case(s->ctx, &c);
            }
        }
    }
}

void scatter_small_and_single_rows(const scatter_suite *s)
{
    for (int schedule = PTXGEN_SCHEDULE_AUTO; schedule <= PTXGEN_SCHEDULE_OWNER; schedule++) {
        for (int64_t rows = 1; rows < 70; rows += rows < 5 ? 1 : 31) {
            scatter_case c = {.dtype = PTXGEN_BF16,
                              .n = 24,
                              .rows = rows,
                              .out_rows = 1,
                              .contig = true,
                              .schedule = (ptxgen_schedule)schedule,
                              .seed = 7};
            run_scatter_case(s->ctx, &c);
            c.out_rows = 300;
            c.n = 8;
            run_scatter_case(s->ctx, &c);
        }
    }
}

void scatter_narrow_rows(const scatter_suite *s)
{
    static const int64_t narrow[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 31, 75};
    enum { NARROW = sizeof narrow / sizeof *narrow, ROWS = 1 << 15 };
    for (size_t i = 0; i < 3 * NARROW * DISTRIBUTIONS; i += (s->every + 12) / 13) {
        const scatter_case c = {.dtype = (ptxgen_dtype)(PTXGEN_F32 + i % 3),
                                .n = narrow[i / 3 % NARROW],
                                .rows = i % 6 ? s->elements / 100 | 3 : ROWS | 3,
                                .out_rows = ROWS + 7,
                                .contig = true,
                                .indices = (distribution)(i / 3 / NARROW),
                                .offset = i / 3 % 2 ^ i % 2,
                                .dynamic_n = i % 4 != 1,
                                .has_bad = i % 7 == 0,
                                .bad_position = 9,
                                .bad_value = -7,
                                .seed = i};
        run_scatter_case(s->ctx, &c);
    }
}

static void bad_index_case(const scatter_suite *s, ptxgen_schedule schedule, int64_t value,
                           int64_t position, int shape)
{
    static const int64_t row_lengths[] = {40, 40, 5000};
    const bool fits_i32 = value >= INT32_MIN && value <= INT32_MAX;
    const scatter_case c = {.dtype = shape ? PTXGEN_F32 : PTXGEN_F16,
                            .n = row_lengths[shape],
                            .rows = 1003,
                            .out_rows = 500,
                            .contig = true,
                            .schedule = schedule,
                            .index_type =
                                fits_i32 && position % 2 ? PTXGEN_INDEX_I32 : PTXGEN_INDEX_I64,
                            .has_bad = true,
                            .bad_position = position,
                            .bad_value = value,
                            .seed = 3};
    run_scatter_case(s->ctx, &c);
}

void scatter_bad_indices(const scatter_suite *s)
{
    const int64_t values[] = {-1, 500, INT64_MIN, (INT64_C(1) << 32) + 1, INT32_MIN, INT32_MAX};
    const int64_t positions[] = {0, 501, 1002};
    for (int schedule = PTXGEN_SCHEDULE_SEED; schedule <= PTXGEN_SCHEDULE_OWNER; schedule++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (size_t p = 0; p < 3; p++)
                /* The owner schedule reads the index in kernels of its own, whatever the rows
                 * are. */
                for (int shape = 0; shape < (schedule == PTXGEN_SCHEDULE_OWNER ? 1 : 3); shape++)
                    bad_index_case(s, (ptxgen_schedule)schedule, values[v], positions[p], shape);
}
