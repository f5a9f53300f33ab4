/* The plain C answers refuse what the calls refuse, and touch nothing then: no pointer that is
 * NULL or too small for its shape is read. */
#include "test.h"

#include "ptxgen/matmul.h"

static _Alignas(16) unsigned char bytes[4][8192];

static const ptxgen_matmul_accumulate_args accumulate = {.size = sizeof accumulate,
                                                         .dtype = PTXGEN_F16,
                                                         .m = 2,
                                                         .n = 2,
                                                         .k = 2,
                                                         .a = bytes[0],
                                                         .b = bytes[1],
                                                         .c = (const float *)bytes[2],
                                                         .d = (float *)bytes[3]};
static const ptxgen_matmul_scaled_args scaled = {.size = sizeof scaled,
                                                 .out = PTXGEN_F32,
                                                 .m = 2,
                                                 .n = 2,
                                                 .k = 32,
                                                 .a = bytes[0],
                                                 .b = bytes[1],
                                                 .a_scales = bytes[2],
                                                 .b_scales = bytes[2] + 2048,
                                                 .d = bytes[3]};
static const ptxgen_tcgen05_copy_args copy = {
    .size = sizeof copy, .dtype = PTXGEN_F32, .m = 128, .n = 16, .out = bytes[0], .in = bytes[1]};
static const ptxgen_scatter_add_args scatter = {.size = sizeof scatter,
                                                .dtype = PTXGEN_F32,
                                                .rows = 2,
                                                .out_rows = 2,
                                                .n = 3,
                                                .out = bytes[0],
                                                .src = bytes[1],
                                                .index = bytes[2]};

/* Each line: one field made wrong, and the status. */
#define REFUSES(family, given, wrong, want)                                                        \
    do {                                                                                           \
        ptxgen_##family##_args x = given;                                                          \
        ptxgen_error err = {0};                                                                    \
        x.wrong;                                                                                   \
        assert_int_equal(ptxgen_##family##_oracle(&x, &err), want);                                \
        assert_true(err.message[0] != 0);                                                          \
    } while (0)

static void accumulate_refuses(void **state)
{
    (void)state;
    assert_int_equal(ptxgen_matmul_accumulate_oracle(NULL, NULL), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_matmul_accumulate_oracle(&accumulate, NULL), PTXGEN_OK);
    REFUSES(matmul_accumulate, accumulate, size = 0, PTXGEN_EINVAL);
    REFUSES(matmul_accumulate, accumulate, dtype = 99, PTXGEN_EINVAL);
    REFUSES(matmul_accumulate, accumulate, dtype = PTXGEN_S32, PTXGEN_EUNSUPPORTED);
    REFUSES(matmul_accumulate, accumulate, m = -1, PTXGEN_EINVAL);
    REFUSES(matmul_accumulate, accumulate, n = -1, PTXGEN_EINVAL);
    REFUSES(matmul_accumulate, accumulate, k = INT64_MAX, PTXGEN_EUNSUPPORTED);
    REFUSES(matmul_accumulate, accumulate, a = NULL, PTXGEN_EINVAL);
    REFUSES(matmul_accumulate, accumulate, b = NULL, PTXGEN_EINVAL);
    REFUSES(matmul_accumulate, accumulate, d = NULL, PTXGEN_EINVAL);
    REFUSES(matmul_accumulate, accumulate, d_stride = 1, PTXGEN_EINVAL);
    REFUSES(matmul_accumulate, accumulate, a_stride = INT64_MAX, PTXGEN_EINVAL);
}

static void scaled_refuses(void **state)
{
    (void)state;
    assert_int_equal(ptxgen_matmul_scaled_oracle(NULL, NULL), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_matmul_scaled_oracle(&scaled, NULL), PTXGEN_OK);
    REFUSES(matmul_scaled, scaled, size = 0, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, a_format = 99, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, b_format = 99, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, out = 99, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, out = PTXGEN_S32, PTXGEN_EUNSUPPORTED);
    REFUSES(matmul_scaled, scaled, k = 0, PTXGEN_EUNSUPPORTED);
    REFUSES(matmul_scaled, scaled, m = -1, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, n = INT64_MAX, PTXGEN_EUNSUPPORTED);
    REFUSES(matmul_scaled, scaled, a = NULL, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, b = NULL, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, a_scales = NULL, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, b_scales = NULL, PTXGEN_EINVAL);
    REFUSES(matmul_scaled, scaled, d = NULL, PTXGEN_EINVAL);
}

static void copy_refuses(void **state)
{
    (void)state;
    assert_int_equal(ptxgen_tcgen05_copy_oracle(NULL, NULL), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_tcgen05_copy_oracle(&copy, NULL), PTXGEN_OK);
    REFUSES(tcgen05_copy, copy, size = 0, PTXGEN_EINVAL);
    REFUSES(tcgen05_copy, copy, dtype = 99, PTXGEN_EINVAL);
    REFUSES(tcgen05_copy, copy, dtype = PTXGEN_F16, PTXGEN_EUNSUPPORTED);
    REFUSES(tcgen05_copy, copy, n = 3, PTXGEN_EUNSUPPORTED); /* no kernel copies such a tile */
    REFUSES(tcgen05_copy, copy, m = -1, PTXGEN_EINVAL);
    REFUSES(tcgen05_copy, copy, n = INT64_MAX, PTXGEN_EUNSUPPORTED);
    REFUSES(tcgen05_copy, copy, in = NULL, PTXGEN_EINVAL);
    REFUSES(tcgen05_copy, copy, out = NULL, PTXGEN_EINVAL);
    REFUSES(tcgen05_copy, copy, in_stride = -7, PTXGEN_EUNSUPPORTED);
    REFUSES(tcgen05_copy, copy, in_stride = 1, PTXGEN_EINVAL);
}

static void scatter_refuses(void **state)
{
    (void)state;
    assert_int_equal(ptxgen_scatter_add_oracle(NULL, NULL), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_scatter_add_oracle(&scatter, NULL), PTXGEN_OK);
    REFUSES(scatter_add, scatter, size = 0, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, dtype = 99, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, index_type = 99, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, rows = -1, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, n = -1, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, out_rows = 0, PTXGEN_EINDEX);
    REFUSES(scatter_add, scatter, out_rows = INT64_MAX, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, out = NULL, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, src = NULL, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, index = NULL, PTXGEN_EINVAL);
    REFUSES(scatter_add, scatter, src_stride = 1, PTXGEN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulate_refuses),
        cmocka_unit_test(scaled_refuses),
        cmocka_unit_test(copy_refuses),
        cmocka_unit_test(scatter_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
