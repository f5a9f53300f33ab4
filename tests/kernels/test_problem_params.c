/* A problem as a manifest's line asks for the kernel that a call of it takes. */
#include "test.h"

#include "ptxgen/kernel.h"
#include "ptxgen/matmul.h"
#include "ptxgen/ptxgen.h"

#include <string.h>

static ptxgen *ctx;

static void params_of_line(const char *family, const char *line, char out[1024])
{
    ptxgen_error err;
    if (ptxgen_problem_params(ctx, family, line, out, 1024, &err) != PTXGEN_OK)
        fail_msg("%s %s: %s", family, line, err.message);
}

static void *at(uintptr_t place)
{
    return (void *)(place << 32);
}

static void matmul_lines_are_calls(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 60; i++) {
        char line[256], wanted[1024], got[1024];
        ptxgen_error err;
        const int64_t m = 1 + i * i * 7 % 5000, n = 8 + i * 808 % 16000, k = 8 + i * 568 % 9000;
        const ptxgen_matmul_accumulate_args args = {.size = sizeof args,
                                                    .dtype = i % 2 ? PTXGEN_BF16 : PTXGEN_F16,
                                                    .m = m,
                                                    .n = n,
                                                    .k = k,
                                                    .b_transposed = i % 3 == 0,
                                                    .a = at(1),
                                                    .b = at(2),
                                                    .c = i % 5 ? at(3) : NULL,
                                                    .d = at(4)};
        if (ptxgen_matmul_accumulate_params(ctx, &args, got, sizeof got, &err) != PTXGEN_OK)
            fail_msg("%s", err.message);
        snprintf(line, sizeof line, "m=%lld n=%lld k=%lld dtype=%s%s%s", (long long)m, (long long)n,
                 (long long)k, i % 2 ? "bf16" : "f16", i % 3 == 0 ? " b=transposed" : "",
                 i % 5 ? " c=f32" : "");
        params_of_line("matmul_accumulate", line, wanted);
        assert_string_equal(wanted, got);
    }
}

static void the_device_is_the_default_architecture(void **state)
{
    (void)state;
    char device[1024], named[1024], other[1024];
    params_of_line("matmul_accumulate", "m=4096 n=4096 k=4096 dtype=bf16", device);
    params_of_line("matmul_accumulate", "k=4096 arch=sm_90 n=4096 dtype=bf16 m=4096", named);
    params_of_line("matmul_accumulate", "m=4096 n=4096 k=4096 dtype=bf16 arch=sm_100", other);
    assert_string_equal(device, named);
    assert_string_not_equal(device, other);
    assert_non_null(strstr(other, "arch=sm_100a"));
}

static void lines_without_extents_are_kernels(void **state)
{
    (void)state;
    char a[1024], b[1024];
    params_of_line("scatter_add", "n=512 dtype=bf16", a);
    assert_int_equal(ptxgen_canonical("scatter_add", "dtype=bf16 n=512", b, sizeof b, NULL),
                     PTXGEN_OK);
    assert_string_equal(a, b);
    params_of_line("scatter_add", "n=dynamic dtype=bf16", a);
    assert_non_null(strstr(a, "n=dynamic"));
}

static void packed_scales_follow(void **state)
{
    (void)state;
    char a[1024];
    params_of_line("matmul_scaled", "m=512 n=768 k=1024 a=e2m1 b=e2m1 out=bf16", a);
    assert_non_null(strstr(a, "a=mxfp4 b=mxfp4 out=bf16"));
    params_of_line("matmul_scaled", "m=512 n=768 k=1024 a=e2m1 b=e2m1 a_scales=e4m3 b_scales=e4m3",
                   a);
    assert_non_null(strstr(a, "a=nvfp4 b=nvfp4 out=f32"));
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *family, *line, *says;
    } cases[] = {
        {"matmul_accumulate", "m=4 k=4", "needs n="},
        {"matmul_accumulate", "m=4 n=4 k=4 dtyp=bf16", "dtyp"},
        {"matmul_accumulate", "m=-4 n=4 k=4", "m=-4"},
        {"gather_rows", "rows=4 src_rows=9 n=9223372036854775807", "64 bits"},
        {"matmul_accumulate", "m=4 n=4 k=4 m=8", "m is given twice"},
        {"matmul_accumulate", "m=x n=4 k=4", "m=x: an extent is a whole number"},
        {"scatter_add", "rows=9 n=64 rows=9", "rows is given twice"},
        {"nothing", "m=4", "family"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[1024];
        ptxgen_error err = {0};
        assert_true(ptxgen_problem_params(ctx, cases[i].family, cases[i].line, out, sizeof out,
                                          &err) != PTXGEN_OK);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: expected \"%s\": %s", cases[i].line, cases[i].says, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_lines_are_calls),
        cmocka_unit_test(the_device_is_the_default_architecture),
        cmocka_unit_test(lines_without_extents_are_kernels),
        cmocka_unit_test(packed_scales_follow),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = "", .device = PTXGEN_DEVICE_EMULATOR};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const int failed = cmocka_run_group_tests_name("problem_params", tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
