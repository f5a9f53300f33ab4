/* Operands of 8 and 32 bits on the kernels of Hopper and Blackwell, on the emulator: whole calls
 * through ptxgen_call, with the automatic kernel and with schedules that differ, against the plain
 * C answer. */
#include "test.h"

#include "ptxgen/ptxgen.h"

#include <math.h>

typedef struct shape {
    int64_t m, n, k;
    const char *params;
} shape;

static ptxgen *ctx;

static uint32_t random_bits(void)
{
    static uint64_t state = 99;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* Finite, of either sign, from 1/16 to 1. */
static void fill(void *p, ptxgen_dtype dtype, int64_t elements)
{
    for (int64_t i = 0; i < elements; i++) {
        const uint32_t r = random_bits(), step = r >> 8 & 3;
        if (dtype == PTXGEN_E4M3)
            ((uint8_t *)p)[i] = (uint8_t)((r & 0x87) | (3 + step) << 3);
        else if (dtype == PTXGEN_E5M2)
            ((uint8_t *)p)[i] = (uint8_t)((r & 0x83) | (11 + step) << 2);
        else {
            const uint32_t bits = (r & 0x807fffff) | (123 + step) << 23;
            memcpy((char *)p + 4 * i, &bits, sizeof bits);
        }
    }
}

static void *on_device(const void *host, size_t bytes)
{
    void *p;
    ptxgen_error err;
    assert_int_equal(ptxgen_device_alloc(ctx, bytes, &p, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_device_upload(ctx, p, host, bytes, &err), PTXGEN_OK);
    return p;
}

static void run(ptxgen_dtype dtype, const shape *s)
{
    const int bytes = ptxgen_dtype_bits(dtype) / 8;
    const int64_t a_shape[] = {s->m, s->k}, b_shape[] = {s->k, s->n}, d_shape[] = {s->m, s->n};
    const int64_t b_strides[] = {1, s->k};
    const size_t sizes[] = {(size_t)(s->m * s->k * bytes), (size_t)(s->k * s->n * bytes),
                            (size_t)(s->m * s->n * 4), (size_t)(s->m * s->n * 4)};
    void *host[4], *device[4];
    ptxgen_error err = {0};
    ptxgen_call_verdict verdict = {.size = sizeof verdict};
    for (int i = 0; i < 4; i++) {
        host[i] = calloc(1, sizes[i]);
        fill(host[i], i < 2 ? dtype : PTXGEN_F32, i < 2 ? (int64_t)sizes[i] / bytes : s->m * s->n);
        device[i] = on_device(host[i], sizes[i]);
    }
    ptxgen_tensor t[] = {{device[0], dtype, 2, a_shape, NULL},
                         {device[1], dtype, 2, b_shape, b_strides},
                         {device[2], PTXGEN_F32, 2, d_shape, NULL},
                         {device[3], PTXGEN_F32, 2, d_shape, NULL}};
    if (ptxgen_call(ctx, "matmul_accumulate", s->params, t, 4, NULL, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    float *got = malloc(sizes[3]);
    assert_int_equal(ptxgen_device_download(ctx, got, device[3], sizes[3], &err), PTXGEN_OK);
    for (int i = 0; i < 4; i++)
        t[i].data = host[i];
    ptxgen_tensor after[] = {t[0], t[1], t[2], t[3]};
    after[3].data = got;
    if (ptxgen_call_check("matmul_accumulate", NULL, t, after, 4, &verdict, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    if (verdict.wrong)
        fail_msg("%s %s: %lld wrong, worst %g of %g", ptxgen_dtype_name(dtype), s->params,
                 (long long)verdict.wrong, verdict.worst_error, verdict.worst_bound);
    for (int i = 0; i < 4; i++) {
        free(host[i]);
        ptxgen_device_free(ctx, device[i]);
    }
    free(got);
}

static void operands_of_8_and_32_bits(void **state)
{
    (void)state;
    static const ptxgen_dtype dtypes[] = {PTXGEN_E4M3, PTXGEN_E5M2, PTXGEN_F32};
    static const shape shapes[] = {
        {100, 72, 160, ""},
        {17, 33, 16, ""},
        {300, 100, 304, "schedule=pingpong block_m=64 block_n=64 c_load=ring"},
        {130, 70, 512, "warpgroups=1 block_n=64 splits=2"},
        {10, 200, 272, "warpgroups=1 swap=yes block_n=16 slices=3"},
        {300, 130, 144, "ctas=2 block_n=64 block_k=64"},
        {100, 72, 160, "arch=sm_100a"},
        {17, 33, 16, "arch=sm_100a"},
        {260, 130, 304, "arch=sm_100a ctas=2 block_n=64 swizzle=64"},
        {130, 200, 528, "arch=sm_100a splits=2 block_n=128"},
        {300, 130, 144, "arch=sm_100a ctas_n=2 block_n=64 block_k=64"},
        {130, 72, 96, "arch=sm_100a schedule=seed block_n=64 block_k=32 swizzle=32"},
    };
    for (size_t d = 0; d < 3; d++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            run(dtypes[d], &shapes[i]);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    char text[1024];
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_canonical("matmul_accumulate", "arch=sm_90a dtype=e4m3 b=transposed",
                                      text, sizeof text, &err),
                     PTXGEN_OK);
    assert_non_null(strstr(text, "block_k=128"));
    assert_int_equal(
        ptxgen_canonical("matmul_accumulate", "arch=sm_90a dtype=e4m3", text, sizeof text, &err),
        PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "b=transposed"));
    assert_int_equal(
        ptxgen_canonical("matmul_accumulate", "arch=sm_100a dtype=f32", text, sizeof text, &err),
        PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "b=transposed"));
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(operands_of_8_and_32_bits),
                                       cmocka_unit_test(what_does_not_fit_is_refused)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
