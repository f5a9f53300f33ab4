#include "group_case.h"

#include "common/elements.h"
#include "draw.h"
#include "generate/dtype.h"
#include "matmul_accumulate/matmul_accumulate.h"

#include <math.h>

enum { A, B, C, D, COUNTS, BUFFERS };

typedef struct buffer {
    ptxgen_dtype dtype;
    int rank;
    int64_t shape[3], strides[3], elements;
    char *host;
    void *device;
} buffer;

static pg_view view_of(const buffer *b)
{
    return (pg_view){.data = b->host, .dtype = b->dtype};
}

/* matrices: 0 is one, without a dimension of its own. */
typedef struct extents {
    int64_t matrices, rows, columns;
} extents;

static void make(buffer *b, ptxgen_dtype dtype, extents e, uint64_t *state)
{
    const int64_t matrices = e.matrices, rows = e.rows, columns = e.columns;
    const int64_t unit = 128 / pg_dtype_bits(dtype), row = (columns + unit - 1) / unit * unit;
    const int64_t shape[] = {matrices, rows, columns}, strides[] = {rows * row, row, 1};
    *b = (buffer){.dtype = dtype, .rank = matrices ? 3 : 2};
    b->elements = (matrices ? matrices : 1) * rows * row;
    memcpy(b->shape, shape + !matrices, sizeof *shape * (size_t)b->rank);
    memcpy(b->strides, strides + !matrices, sizeof *shape * (size_t)b->rank);
    b->host = malloc((size_t)(b->elements + 1) * 8);
    assert_non_null(b->host);
    const pg_view v = view_of(b);
    for (int64_t i = 0; i < b->elements; i++)
        pg_element_set(&v, i, (double)((int64_t)(draw_random(state) % 129) - 64) / 64);
}

static void make_counts(buffer *b, const group_case *c)
{
    *b = (buffer){.dtype = c->wide ? PTXGEN_S64 : PTXGEN_S32,
                  .rank = 1,
                  .shape = {c->groups},
                  .strides = {1},
                  .elements = c->groups};
    b->host = malloc((size_t)c->groups * 8);
    for (int g = 0; g < c->groups; g++)
        if (c->wide)
            ((int64_t *)b->host)[g] = c->rows[g];
        else
            ((int32_t *)b->host)[g] = (int32_t)c->rows[g];
}

/* The element [row, column] of a matrix of a buffer. */
static double at(const buffer *b, int64_t matrix, int64_t row, int64_t column, bool transposed)
{
    const pg_view v = view_of(b);
    const int64_t first = b->rank == 3 ? matrix * b->strides[0] : 0,
                  stride = b->strides[b->rank - 2];
    return pg_element(&v, first + (transposed ? column * stride + row : row * stride + column));
}

/* Compares the row of D (got) that belongs to a group, and marks its elements. */
static void compare_row(const group_case *c, const buffer *b, const buffer *got, int group,
                        int64_t row, char *is_result)
{
    const int64_t first = got->rank == 3 ? group * got->strides[0] : 0;
    for (int64_t j = 0; j < c->n; j++) {
        double want = c->no_c ? 0 : at(&b[C], group, row, j, false);
        for (int64_t k = 0; k < c->k; k++)
            want +=
                at(&b[A], group, row, k, c->a_transposed) * at(&b[B], group, k, j, c->b_transposed);
        const int64_t place = first + row * got->strides[got->rank - 2] + j;
        const pg_view v = view_of(got);
        const double found = pg_element(&v, place);
        const double step = got->dtype == PTXGEN_F32 ? 4e-6 : pg_dtype_step(got->dtype);
        is_result[place] = 1;
        if (!(fabs(found - want) <= 1e-4 + 1e-6 * (double)c->k + step * fabs(want)))
            fail_msg("m=%lld n=%lld k=%lld groups=%d apart=%d %s: group %d row %lld column %lld is "
                     "%g, not %g",
                     (long long)c->m, (long long)c->n, (long long)c->k, c->groups, c->apart,
                     c->params ? c->params : "", group, (long long)row, (long long)j, found, want);
    }
}

static void compare(const group_case *c, const buffer *b, const buffer *got)
{
    const size_t bytes = (size_t)pg_dtype_bits(got->dtype) / 8;
    const char *const before = c->in_place ? b[C].host : b[D].host;
    char *const is_result = calloc((size_t)got->elements + 1, 1);
    int64_t first = 0;
    for (int g = 0; g < c->groups; g++) {
        const int64_t most = c->m - first;
        const int64_t rows = c->rows[g] < 0 ? 0 : c->rows[g] < most ? c->rows[g] : most;
        for (int64_t i = 0; i < rows; i++)
            compare_row(c, b, got, g, first + i, is_result);
        if (!c->apart)
            first += rows;
    }
    for (int64_t i = 0; i < got->elements; i++)
        if (!is_result[i] &&
            memcmp(got->host + (size_t)i * bytes, before + (size_t)i * bytes, bytes) != 0)
            fail_msg("m=%lld n=%lld k=%lld groups=%d apart=%d %s: element %lld of no group was "
                     "written",
                     (long long)c->m, (long long)c->n, (long long)c->k, c->groups, c->apart,
                     c->params ? c->params : "", (long long)i);
    free(is_result);
}

static void fill_tensors(const group_case *c, const buffer *b, ptxgen_tensor *t)
{
    static const size_t places[] = {PG_MATMUL_A, PG_MATMUL_B, PG_MATMUL_C, PG_MATMUL_D,
                                    PG_MATMUL_GROUP_ROWS};
    memset(t, 0, sizeof *t * PG_MAX_OPERANDS);
    for (int i = 0; i < BUFFERS; i++)
        if (i != C || !c->no_c)
            t[places[i]] = (ptxgen_tensor){i == D && c->in_place ? b[C].device : b[i].device,
                                           b[i].dtype, b[i].rank, b[i].shape, b[i].strides};
}

void group_case_run(ptxgen *ctx, const group_case *c)
{
    const int64_t matrices = c->apart ? c->groups : 0;
    uint64_t state = 11;
    buffer b[BUFFERS];
    ptxgen_tensor t[PG_MAX_OPERANDS];
    ptxgen_error err;
    const extents a = {matrices, c->m, c->k}, a_transposed = {matrices, c->k, c->m};
    const extents of_b = {c->groups, c->k, c->n}, b_transposed = {c->groups, c->n, c->k};
    const extents d = {matrices, c->m, c->n};
    make(&b[A], PTXGEN_F16, c->a_transposed ? a_transposed : a, &state);
    make(&b[B], PTXGEN_F16, c->b_transposed ? b_transposed : of_b, &state);
    make(&b[C], PTXGEN_F32, d, &state);
    make(&b[D], c->d_dtype ? c->d_dtype : PTXGEN_F32, d, &state);
    make_counts(&b[COUNTS], c);
    for (int i = 0; i < BUFFERS; i++) {
        const size_t bytes = (size_t)b[i].elements * (size_t)pg_dtype_bits(b[i].dtype) / 8;
        if (ptxgen_device_alloc(ctx, bytes ? bytes : 16, &b[i].device, &err) != PTXGEN_OK ||
            ptxgen_device_upload(ctx, b[i].device, b[i].host, bytes, &err) != PTXGEN_OK)
            fail_msg("%s", err.message);
    }
    if (c->b_transposed) { /* as [groups, k, n] */
        b[B].shape[1] = c->k;
        b[B].shape[2] = c->n;
        b[B].strides[2] = b[B].strides[1];
        b[B].strides[1] = 1;
    }
    fill_tensors(c, b, t);
    if (c->b_transposed)
        b[B].strides[1] =
            b[B].strides[2]; /* rows, as `at` reads them; the call has taken its own */
    const int64_t strides[] = {b[B].strides[0], 1, b[B].strides[2]};
    if (c->b_transposed)
        t[PG_MATMUL_B].strides = strides;
    const int64_t a_row = b[A].strides[b[A].rank - 2], a_shape[] = {c->groups, c->m, c->k},
                  a_strides[] = {b[A].strides[0], 1, a_row};
    if (c->a_transposed) { /* stored [k, m] */
        t[PG_MATMUL_A].shape = a_shape + !matrices;
        t[PG_MATMUL_A].strides = a_strides + !matrices;
    }
    if (ptxgen_call(ctx, "matmul_accumulate", c->params, t, PG_MATMUL_GROUP_ROWS + 1, NULL, &err) !=
            PTXGEN_OK ||
        ptxgen_synchronize(ctx, NULL, &err) != PTXGEN_OK)
        fail_msg("m=%lld n=%lld k=%lld groups=%d: %s", (long long)c->m, (long long)c->n,
                 (long long)c->k, c->groups, err.message);
    buffer got = b[D];
    const size_t bytes = (size_t)got.elements * (size_t)pg_dtype_bits(got.dtype) / 8;
    got.host = malloc(bytes + 8);
    if (ptxgen_device_download(ctx, got.host, t[PG_MATMUL_D].data, bytes, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    compare(c, b, &got);
    free(got.host);
    for (int i = 0; i < BUFFERS; i++) {
        ptxgen_device_free(ctx, b[i].device);
        free(b[i].host);
    }
}

group_case group_case_draw(uint64_t *state)
{
    static const int64_t sizes[] = {8, 17, 64, 100, 136};
    group_case c = {.groups = 1 + (int)(draw_random(state) % 9)};
    c.m = 1 + (int64_t)(draw_random(state) % 400);
    c.n = sizes[draw_random(state) % 5];
    c.k = sizes[draw_random(state) % 5];
    c.apart = draw_random(state) % 3 == 0;
    if (c.apart)
        c.m = 1 + c.m / 4;
    c.wide = draw_random(state) % 2;
    c.b_transposed = draw_random(state) % 2;
    c.no_c = draw_random(state) % 2;
    c.d_dtype = draw_random(state) % 2 ? PTXGEN_F32 : PTXGEN_BF16;
    c.in_place = !c.no_c && c.d_dtype == PTXGEN_F32 && draw_random(state) % 2;
    for (int g = 0; g < c.groups; g++) /* none, few, even, more than there are */
        c.rows[g] = (int64_t)(draw_random(state) % 4) * c.m / (1 + c.groups) -
                    (int64_t)(draw_random(state) % 5);
    return c;
}
