/* matmul_accumulate in the emulator's checking mode: right, and without a report, over seeds of
 * order=isa. */
#include "emulated_call.h"
#include "matmul_case.h"

static ptxgen *context;

static int open_context(void **state)
{
    (void)state;
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    return ptxgen_create(&config, &context, NULL) == PTXGEN_OK ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    ptxgen_destroy(context);
    return 0;
}

static void add_number(char *text, size_t size, const char *name, int64_t value)
{
    const size_t used = strlen(text);
    if (value)
        snprintf(text + used, size - used, " %s=%lld", name, (long long)value);
}

static void run_case(const matmul_case *problem, const char *arch, bool check, uint64_t seed)
{
    const ptxgen_matmul_tiling *t = &problem->tiling;
    char params[256];
    matmul_data x;
    matmul_case_make(problem, &x);
    snprintf(params, sizeof params, "arch=%s dtype=%s b=%s", arch, problem->bf16 ? "bf16" : "f16",
             problem->b_transposed ? "transposed" : "row_major");
    add_number(params, sizeof params, "block_n", t->block_n);
    add_number(params, sizeof params, "block_k", t->block_k);
    add_number(params, sizeof params, "stages", t->stages);
    add_number(params, sizeof params, "group_m", t->group_m);
    add_number(params, sizeof params, "swizzle", t->swizzle);
    add_number(params, sizeof params, "ctas", t->ctas);
    const emulated_buffer buffers[] = {{"a", x.a, x.a_bytes, false},
                                       {"b", x.b, x.b_bytes, false},
                                       {"c", x.c, x.c_bytes, problem->in_place},
                                       {"d", x.d, x.d_bytes, true}};
    const emulated_call call = {
        "matmul_accumulate", params, &x.args, buffers, 4, 4, check, seed, false};
    emulate_call(context, &call);
    matmul_case_compare(&x, x.args.d);
    matmul_case_free(&x);
}

static void hopper_kernels_have_no_race(void **state)
{
    (void)state;
    static const matmul_case small[] = {
        {.m = 150,
         .n = 70,
         .k = 200,
         .tiling = {.block_n = 64, .block_k = 32, .stages = 2},
         .d_pad = 1},
        {.m = 260,
         .n = 70,
         .k = 200,
         .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2},
         .in_place = true},
    };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        for (uint64_t seed = 0; seed <= 10; seed++)
            run_case(&small[i], "sm_90a", true, seed);
}

/* Every case of the Hopper kernels, where the Blackwell kernels have the tiling. */
static void blackwell_kernels_are_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < matmul_case_count; i++)
        run_case(&matmul_cases[i], "sm_100a", false, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hopper_kernels_have_no_race),
        cmocka_unit_test(blackwell_kernels_are_right),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
