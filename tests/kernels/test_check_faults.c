/* ptxgen_call_check finds what a wrong multiplication would do: of each element type and several K
 * the plain C answer passes, with what the tensor cores round and cut, and faults planted into it
 * do not. */
#include "test.h"

#include "common/elements.h"
#include "draw.h"
#include "generate/dtype.h"
#include "ptxgen/call.h"

#include <math.h>

enum { M = 24, N = 32, MOST_K = 2048, ELEMENTS = M * N, OPERANDS = 4 };

static const ptxgen_dtype types[] = {PTXGEN_F16, PTXGEN_BF16, PTXGEN_F32, PTXGEN_E4M3, PTXGEN_E5M2};
static const int64_t depths[] = {64, 512, MOST_K};

/* A [M, K], B [K, N] with K adjacent, C and D [M, N]. */
typedef struct product {
    ptxgen_dtype type;
    int64_t k;
    uint32_t a[M * MOST_K], b[MOST_K * N];
    float c[ELEMENTS];
} product;

static product right, wrong;
static float answer[ELEMENTS], bad[ELEMENTS];

/* Sums of some draws from -1 to 1: like a normal distribution. */
static double draw(uint64_t *random)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(draw_random(random) % 4097) / 2048 - 1;
    return sum;
}

static void fill(product *p, uint64_t *random)
{
    const pg_view a = {.data = p->a, .dtype = p->type}, b = {.data = p->b, .dtype = p->type};
    for (int64_t i = 0; i < M * p->k; i++)
        pg_element_set(&a, i, draw(random));
    for (int64_t i = 0; i < p->k * N; i++)
        pg_element_set(&b, i, draw(random));
    for (int i = 0; i < ELEMENTS; i++)
        p->c[i] = (float)(draw(random) * sqrt((double)p->k)); /* as large as the products */
}

/* Tensors point to the shapes. */
typedef struct operands {
    int64_t a[2], b[2], b_strides[2], d[2];
    ptxgen_tensor t[OPERANDS];
} operands;

static void describe(product *p, float *d, operands *o)
{
    *o = (operands){.a = {M, p->k}, .b = {p->k, N}, .b_strides = {1, p->k}, .d = {M, N}};
    o->t[0] = (ptxgen_tensor){p->a, p->type, 2, o->a, PTXGEN_DENSE};
    o->t[1] = (ptxgen_tensor){p->b, p->type, 2, o->b, o->b_strides};
    o->t[2] = (ptxgen_tensor){p->c, PTXGEN_F32, 2, o->d, PTXGEN_DENSE};
    o->t[3] = (ptxgen_tensor){d, PTXGEN_F32, 2, o->d, PTXGEN_DENSE};
}

static void multiply(product *p, float *d)
{
    operands o;
    ptxgen_error err;
    describe(p, d, &o);
    if (ptxgen_call_oracle("matmul_accumulate", NULL, o.t, OPERANDS, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
}

static ptxgen_call_verdict judge(float *d)
{
    operands before, after;
    ptxgen_call_verdict v = {.size = sizeof v};
    ptxgen_error err;
    describe(&right, NULL, &before);
    describe(&right, d, &after);
    if (ptxgen_call_check("matmul_accumulate", NULL, before.t, after.t, OPERANDS, &v, &err) !=
        PTXGEN_OK)
        fail_msg("%s", err.message);
    return v;
}

/* ---- faults: each makes `bad` from `right` ---- */

static void zeros(void)
{
    memset(bad, 0, sizeof bad);
}

static void no_c(void)
{
    memset(wrong.c, 0, sizeof wrong.c);
    multiply(&wrong, bad);
}

/* The last 16 products of each sum are left out: 32 of bytes. */
static void last_step_missing(void)
{
    const int64_t left_out = pg_dtype_bits(wrong.type) == 8 ? 32 : 16;
    const pg_view b = {.data = wrong.b, .dtype = wrong.type};
    for (int64_t i = 0; i < wrong.k * N; i++)
        if (i % wrong.k >= wrong.k - left_out)
            pg_element_set(&b, i, 0);
    multiply(&wrong, bad);
}

static void columns_swapped(void)
{
    for (int i = 0; i < ELEMENTS; i++)
        bad[i] = answer[i ^ 1];
}

/* 16 bytes of each row of A come from the row before: a wrong swizzle. */
static void chunk_of_another_row(void)
{
    const int64_t bytes = pg_dtype_bits(wrong.type) / 8, row = wrong.k * bytes;
    char *a = (char *)wrong.a;
    for (int64_t i = M - 1; i > 0; i--)
        memcpy(a + i * row, a + (i - 1) * row, 16);
    multiply(&wrong, bad);
}

/* A tile's sums twice. */
static void added_twice(void)
{
    for (int i = 0; i < ELEMENTS; i++)
        bad[i] = 2 * answer[i] - right.c[i];
}

static const struct {
    const char *name;
    void (*plant)(void);
    double least; /* the share of elements that must be found wrong */
} faults[] = {
    {"zeros", zeros, 0.85},
    {"no C", no_c, 0.3},
    {"the last step of K is missing", last_step_missing, 0.2},
    {"columns are swapped", columns_swapped, 0.85},
    {"a chunk of another row", chunk_of_another_row, 0.1},
    {"added twice", added_twice, 0.85},
};

static void try_faults(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        memcpy(&wrong, &right, sizeof wrong);
        faults[i].plant();
        const ptxgen_call_verdict v = judge(bad);
        if ((double)v.wrong < faults[i].least * ELEMENTS)
            fail_msg("%s, K = %lld, %s: only %lld of %d are wrong (allowed %g)",
                     pg_dtype_word(right.type), (long long)right.k, faults[i].name,
                     (long long)v.wrong, ELEMENTS, v.worst_bound);
    }
}

static void planted_faults_are_found(void **state)
{
    (void)state;
    uint64_t random = 20261201;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
            right.type = types[t];
            right.k = depths[d];
            fill(&right, &random);
            multiply(&right, answer);
            assert_int_equal(judge(answer).wrong, 0);
            try_faults();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_faults_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
