#include "scatter_case.h"

#include "base/half.h"
#include "test.h"

enum { GUARD = 256, PAD_ELEMS = 24 }; /* bytes; elements: 96 or 48 bytes, multiples of 16 */

uint64_t next_random(uint64_t *state)
{
    /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

const char *scatter_case_text(const scatter_case *c)
{
    static const char *const schedules[] = {"auto", "seed", "bulk", "vector", "owner"};
    static const char *const oobs[] = {"record", "trap", "unchecked"};
    static const char *const indices[] = {"uniform", "permutation", "sorted", "half-on-0",
                                          "100-rows"};
    static char text[256];
    snprintf(text, sizeof text,
             "%s rows=%lld out_rows=%lld n=%lld%s contig=%s offset=%d %s %s %s %s bad=%d@%lld=%lld",
             ptxgen_dtype_name(c->dtype), (long long)c->rows, (long long)c->out_rows,
             (long long)c->n, c->dynamic_n ? "(dynamic)" : "", c->contig ? "yes" : "no",
             (int)c->offset, c->index_type == PTXGEN_INDEX_I32 ? "i32" : "i64",
             schedules[c->schedule], oobs[c->oob], indices[c->indices], c->has_bad,
             (long long)c->bad_position, (long long)c->bad_value);
    return text;
}

static double random_value(const scatter_case *c, uint64_t *state)
{
    if (!c->rough_values)
        return (double)(next_random(state) % 3) - 1;
    /* 16 random bits at one of 8 scales: rounds in every format, and no two sums are alike. */
    const uint64_t r = next_random(state);
    return ((double)(r & 0xffff) - 32767.5) / (double)(1 << (12 + (r >> 16) % 8));
}

static void fill(const scatter_case *c, void *p, size_t elems, uint64_t *state)
{
    for (size_t i = 0; i < elems; i++) {
        const double v = random_value(c, state);
        if (c->dtype == PTXGEN_F32)
            ((float *)p)[i] = (float)v;
        else
            ((uint16_t *)p)[i] =
                c->dtype == PTXGEN_F16 ? pg_f16_from_double(v) : pg_bf16_from_double(v);
    }
}

static void fill_indices(const scatter_case *c, int64_t *index, uint64_t *state)
{
    const uint64_t rows = (uint64_t)c->out_rows;
    if (c->indices == INDEX_PERMUTATION) {
        int64_t *all = malloc(rows * sizeof *all);
        for (uint64_t i = 0; i < rows; i++) {
            const uint64_t j = next_random(state) % (i + 1);
            all[i] = all[j];
            all[j] = (int64_t)i;
        }
        memcpy(index, all, (size_t)c->rows * sizeof *all);
        free(all);
        return;
    }
    for (int64_t i = 0; i < c->rows; i++) {
        index[i] = (int64_t)(next_random(state) % rows);
        if (c->indices == INDEX_HALF_ON_ROW_0 && i % 2)
            index[i] = 0;
        if (c->indices == INDEX_FIRST_100_ROWS)
            index[i] %= 100;
        if (c->indices == INDEX_SORTED)
            index[i] = (int64_t)((uint64_t)i * rows / (uint64_t)c->rows);
    }
}

/* Device memory with what the host has. */
static void *upload(ptxgen *ctx, const void *host, size_t bytes)
{
    ptxgen_error err;
    void *d;
    if (ptxgen_device_alloc(ctx, bytes, &d, &err) != PTXGEN_OK ||
        ptxgen_device_upload(ctx, d, host, bytes, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return d;
}

static void first_difference(const scatter_case *c, const unsigned char *got,
                             const unsigned char *want, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != want[i])
            fail_msg("%s: byte %zu of %zu is 0x%02x, not 0x%02x", scatter_case_text(c), i, bytes,
                     got[i], want[i]);
}

/* The expected result: the oracle without the bad row. */
static void expect(const scatter_case *c, ptxgen_scatter_add_args a, char *want, const char *src,
                   const char *index, size_t index_bytes)
{
    const size_t row =
        (size_t)(a.src_stride ? a.src_stride : a.n) * (c->dtype == PTXGEN_F32 ? 4 : 2);
    ptxgen_error err;
    a.out = want;
    a.rows = c->has_bad ? c->bad_position : c->rows;
    a.src = src;
    a.index = index;
    if (ptxgen_scatter_add_oracle(&a, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    if (!c->has_bad)
        return;
    a.rows = c->rows - c->bad_position - 1;
    a.src = src + (size_t)(c->bad_position + 1) * row;
    a.index = index + (size_t)(c->bad_position + 1) * index_bytes;
    if (ptxgen_scatter_add_oracle(&a, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
}

static void run_on_device(ptxgen *ctx, const scatter_case *c, const ptxgen_scatter_add_args *a)
{
    ptxgen_error err = {0};
    if (ptxgen_scatter_add(ctx, a, NULL, &err) != PTXGEN_OK)
        fail_msg("%s: %s", scatter_case_text(c), err.message);
    const ptxgen_status status = ptxgen_check_indices(ctx, NULL, &err);
    if (!c->has_bad && status != PTXGEN_OK)
        fail_msg("%s: %s", scatter_case_text(c), err.message);
    if (c->has_bad) {
        char wanted[96];
        snprintf(wanted, sizeof wanted, "index[%lld] = %lld ", (long long)c->bad_position,
                 (long long)c->bad_value);
        if (status != PTXGEN_EINDEX || !strstr(err.message, wanted))
            fail_msg("%s: status %d, message \"%s\"", scatter_case_text(c), (int)status,
                     err.message);
    }
}

void run_scatter_case(ptxgen *ctx, const scatter_case *c)
{
    const size_t elem = c->dtype == PTXGEN_F32 ? 4 : 2;
    const size_t index_bytes = c->index_type == PTXGEN_INDEX_I32 ? 4 : 8;
    ptxgen_scatter_add_args a = {.size = sizeof a,
                                 .dtype = c->dtype,
                                 .index_type = c->index_type,
                                 .rows = c->rows,
                                 .out_rows = c->out_rows,
                                 .n = c->n,
                                 .schedule = c->schedule,
                                 .oob = c->oob,
                                 .dynamic_n = c->dynamic_n};
    if (!c->contig) {
        a.out_stride = c->n + PAD_ELEMS;
        a.src_stride = c->n + 2 * PAD_ELEMS;
    }
    const size_t out_elems = (size_t)(c->out_rows * (a.out_stride ? a.out_stride : c->n));
    const size_t src_elems = (size_t)(c->rows * (a.src_stride ? a.src_stride : c->n));
    const size_t offset = (size_t)c->offset * elem, out_at = GUARD + offset;
    const size_t out_bytes = out_elems * elem + 2 * GUARD, src_bytes = src_elems * elem + offset;
    uint64_t state = c->seed * 77 + 5;
    char *want = malloc(out_bytes), *got = malloc(out_bytes), *src = malloc(src_bytes);
    int64_t *index = malloc((size_t)c->rows * 8);
    memset(want, 0x5a, out_bytes);
    fill(c, want + out_at, out_elems, &state);
    fill(c, src + offset, src_elems, &state);
    fill_indices(c, index, &state);
    if (c->has_bad)
        index[c->bad_position] = c->bad_value;
    if (index_bytes == 4)
        for (int64_t i = 0; i < c->rows; i++)
            ((int32_t *)index)[i] = (int32_t)index[i];

    void *d_out = upload(ctx, want, out_bytes), *d_src = upload(ctx, src, src_bytes);
    void *d_index = upload(ctx, index, (size_t)c->rows * index_bytes);
    a.out = (char *)d_out + out_at;
    a.src = (char *)d_src + offset;
    a.index = d_index;
    run_on_device(ctx, c, &a);
    ptxgen_error err;
    if (ptxgen_device_download(ctx, got, d_out, out_bytes, &err) != PTXGEN_OK)
        fail_msg("%s: %s", scatter_case_text(c), err.message);
    expect(c, a, want + out_at, src + offset, (const char *)index, index_bytes);
    first_difference(c, (unsigned char *)got, (unsigned char *)want, out_bytes);

    ptxgen_device_free(ctx, d_out);
    ptxgen_device_free(ctx, d_src);
    ptxgen_device_free(ctx, d_index);
    free(want);
    free(got);
    free(src);
    free(index);
}
