/* A residual through the ring of Hopper's kernel, on the emulator: where a CTA has several tiles
 * and the ring goes round, against the plain C answer; who gets the ring, and what it refuses. */
#include "test.h"

#include "matmul_accumulate/matmul_accumulate.h"
#include "ptxgen/ptxgen.h"

enum { M = 1500, N = 1000, K = 64, PLACES = PG_MATMUL_STEPS + PG_SIDE_RESIDUAL + 1 };

static ptxgen *ctx;

static void fill(uint16_t *p, size_t count)
{
    static uint32_t state = 5;
    for (size_t i = 0; i < count; i++) { /* bf16 of either sign, 1/4 to 2 */
        state = state * 1664525u + 1013904223u;
        p[i] = (uint16_t)((state >> 16 & 0x807f) | (125 + (state >> 8) % 3) << 7);
    }
}

typedef struct call {
    void *device[PLACES], *host[PLACES];
    ptxgen_tensor tensors[PLACES];
    int64_t shapes[PLACES][2];
    size_t bytes[PLACES];
} call;

static void add(call *c, int place, ptxgen_dtype dtype, int64_t rows, int64_t columns)
{
    ptxgen_error err;
    const size_t elements = (size_t)(rows * columns);
    c->bytes[place] = elements * (size_t)ptxgen_dtype_bits(dtype) / 8;
    c->host[place] = calloc(1, c->bytes[place]);
    fill(c->host[place], c->bytes[place] / 2);
    if (dtype == PTXGEN_F32) /* no NaN */
        for (size_t i = 0; i < elements; i++)
            ((float *)c->host[place])[i] = (float)(i % 251) / 64 - 2;
    c->shapes[place][0] = rows;
    c->shapes[place][1] = columns;
    assert_int_equal(ptxgen_device_alloc(ctx, c->bytes[place], &c->device[place], &err), PTXGEN_OK);
    assert_int_equal(
        ptxgen_device_upload(ctx, c->device[place], c->host[place], c->bytes[place], &err),
        PTXGEN_OK);
    c->tensors[place] = (ptxgen_tensor){c->device[place], dtype, 2, c->shapes[place], NULL};
}

static void make(call *c, ptxgen_dtype residual)
{
    memset(c, 0, sizeof *c);
    add(c, PG_MATMUL_A, PTXGEN_BF16, M, K);
    add(c, PG_MATMUL_B, PTXGEN_BF16, K, N);
    add(c, PG_MATMUL_D, PTXGEN_F32, M, N);
    add(c, PG_MATMUL_STEPS + PG_SIDE_RESIDUAL, residual, M, N);
}

static void release(call *c)
{
    for (int i = 0; i < PLACES; i++) {
        ptxgen_device_free(ctx, c->device[i]);
        free(c->host[i]);
    }
}

static void run(const char *params, ptxgen_dtype residual, bool odd)
{
    call c;
    ptxgen_error err = {0};
    ptxgen_call_verdict verdict = {.size = sizeof verdict};
    const int64_t odd_rows[] = {K + 1, 1};
    make(&c, residual);
    if (odd) { /* rows of A that a kernel beside it copies to aligned ones */
        c.shapes[PG_MATMUL_A][0] = M - 30;
        c.shapes[PG_MATMUL_D][0] = c.shapes[PG_MATMUL_STEPS + PG_SIDE_RESIDUAL][0] = M - 30;
        c.tensors[PG_MATMUL_A].strides = odd_rows;
    }
    if (ptxgen_call(ctx, "matmul_accumulate", params, c.tensors, PLACES, NULL, &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    ptxgen_tensor before[PLACES], after[PLACES];
    for (int i = 0; i < PLACES; i++) {
        before[i] = c.tensors[i];
        before[i].data = c.host[i];
        after[i] = before[i];
    }
    after[PG_MATMUL_D].data = malloc(c.bytes[PG_MATMUL_D]);
    assert_int_equal(ptxgen_device_download(ctx, after[PG_MATMUL_D].data, c.device[PG_MATMUL_D],
                                            c.bytes[PG_MATMUL_D], &err),
                     PTXGEN_OK);
    if (ptxgen_call_check("matmul_accumulate", params, before, after, PLACES, &verdict, &err) !=
        PTXGEN_OK)
        fail_msg("%s", err.message);
    if (verdict.wrong)
        fail_msg("%s: %lld wrong, worst %g of %g", params, (long long)verdict.wrong,
                 verdict.worst_error, verdict.worst_bound);
    free(after[PG_MATMUL_D].data);
    release(&c);
}

static void rings_go_round(void **state)
{
    (void)state;
    run("c_load=ring schedule=pingpong block_m=64 block_n=64", PTXGEN_BF16, false);
    run("c_load=ring schedule=pingpong block_m=64 block_n=64 epilogue=relu", PTXGEN_F16, false);
    run("c_load=ring schedule=pingpong block_m=64 block_n=96 c_slots=2 warpgroups=3", PTXGEN_F32,
        false);
    run("c_load=ring schedule=cooperative block_n=64 c_slots=1", PTXGEN_BF16, false);
    run("c_load=ring schedule=pingpong block_m=64 block_n=64", PTXGEN_BF16, true);
}

static void calls_get_the_ring(void **state)
{
    (void)state;
    call c;
    char text[900];
    ptxgen_error err = {0};
    make(&c, PTXGEN_BF16);
    assert_int_equal(ptxgen_call_params(ctx, "matmul_accumulate", "schedule=pingpong", c.tensors,
                                        PLACES, text, sizeof text, &err),
                     PTXGEN_OK);
    assert_non_null(strstr(text, "c_load=ring"));
    /* Rows that no tensor map takes. */
    const int64_t strides[] = {N - 1, 1};
    ptxgen_tensor *residual = &c.tensors[PG_MATMUL_STEPS + PG_SIDE_RESIDUAL];
    for (int i = PG_MATMUL_B; i < PLACES; i++)
        c.shapes[i][1] = N - 9;
    residual->strides = strides;
    c.tensors[PG_MATMUL_B].strides = (const int64_t[]){N, 1};
    assert_int_equal(ptxgen_call_params(ctx, "matmul_accumulate", "schedule=pingpong", c.tensors,
                                        PLACES, text, sizeof text, &err),
                     PTXGEN_OK);
    assert_non_null(strstr(text, "c_load=direct"));
    assert_int_equal(ptxgen_call(ctx, "matmul_accumulate",
                                 "schedule=pingpong block_n=64 c_load=ring", c.tensors, PLACES,
                                 NULL, &err),
                     PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "residual"));
    release(&c);
}

static void refusals(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"arch=sm_90a c=none c_load=ring", "there is neither"},
        {"arch=sm_90a c=none c_load=late with_residual=row_f32", "there is none"},
        {"arch=sm_90a c=none c_load=late with_residual=matrix_bf16", "use c_load=ring"},
        {"arch=sm_90a c=none c_load=ring with_residual=row_f32", "there is neither"},
        {"arch=sm_90a c_load=ring c_dtype=f16 block_n=96", "of 64 columns"},
        {"arch=sm_90a c=none c_load=ring with_residual=matrix_bf16 block_n=96", "of 64 columns"},
        {"arch=sm_90a c=none c_load=ring with_residual=matrix_bf16 swap=yes", "swap=no"},
        {"arch=sm_90a c=none c_load=ring with_residual=matrix_bf16 splits=2", "c_load=direct"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[900];
        ptxgen_error err = {0};
        assert_int_equal(
            ptxgen_canonical("matmul_accumulate", wrong[i][0], text, sizeof text, &err),
            PTXGEN_EUNSUPPORTED);
        if (!strstr(err.message, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.message);
    }
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    const struct CMUnitTest tests[] = {cmocka_unit_test(rings_go_round),
                                       cmocka_unit_test(calls_get_the_ring),
                                       cmocka_unit_test(refusals)};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
