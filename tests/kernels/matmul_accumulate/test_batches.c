/* Strided batches on the emulator: every matrix right by itself and nothing beside it written, with
 * operands that are the same for all, in any order of batch and rows; the three kernels; checked
 * over seeds; and what is refused. */
#include "batch_case.h"
#include "draw.h"
#include "test_context.h"

static void every_way_through_hopper(void **state)
{
    (void)state;
    static const batch_case cases[] = {
        {.batch = 3, .m = 130, .n = 72, .k = 100},
        {.batch = 4, .m = 65, .n = 64, .k = 64, .same = BATCH_B, .inside = BATCH_A | BATCH_D},
        {.batch = 2,
         .m = 70,
         .n = 96,
         .k = 70,
         .params = "schedule=pingpong block_n=64 "
                   "block_m=64 c_load=ring"},
        {.batch = 3,
         .m = 70,
         .n = 64,
         .k = 70,
         .same = BATCH_C,
         .alpha = 2,
         .beta = 3,
         .params = "schedule=pingpong block_n=32 block_m=64 c_load=ring"},
        {.batch = 3,
         .m = 140,
         .n = 72,
         .k = 70,
         .same = BATCH_C,
         .alpha = 2,
         .beta = 3,
         .params = "block_n=64 c_load=late"},
        {.batch = 2,
         .m = 140,
         .n = 72,
         .k = 70,
         .alpha = 0x1p-50F,
         .beta = 3,
         .params = "block_n=64 c_load=late"},
        {.batch = 2, .m = 130, .n = 64, .k = 200, .params = "ctas=2 block_n=64"},
        {.batch = 3,
         .m = 20,
         .n = 80,
         .k = 300,
         .b_transposed = true,
         .alpha = 0.5F,
         .beta = 1,
         .params = "warpgroups=1 block_n=64 splits=2"},
        {.batch = 3,
         .m = 20,
         .n = 80,
         .k = 300,
         .d_dtype = PTXGEN_F16,
         .inside = BATCH_C,
         .params = "warpgroups=1 block_n=64 slices=3"},
        {.batch = 3,
         .m = 21,
         .n = 83,
         .k = 301,
         .d_dtype = PTXGEN_F16,
         .pad = 1,
         .epilogue = PTXGEN_EPILOGUE_RELU,
         .params = "warpgroups=1 block_n=64 slices=2 copy=both"},
        {.batch = 3,
         .m = 9,
         .n = 130,
         .k = 100,
         .same = BATCH_A,
         .params = "warpgroups=1 swap=yes block_n=16"},
        {.batch = 2,
         .m = 33,
         .n = 40,
         .k = 35,
         .pad = 1,
         .a_transposed = true,
         .same = BATCH_A,
         .params = "block_n=64 copy=both"},
        {.batch = 3, .m = 33, .n = 40, .k = 0, .params = "block_n=64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed < 3; seed++)
            batch_case_check(context, &cases[i], "sm_90a", seed);
}

static void every_way_through_blackwell(void **state)
{
    (void)state;
    static const batch_case cases[] = {
        {.batch = 3, .m = 130, .n = 72, .k = 100},
        {.batch = 3, .m = 130, .n = 72, .k = 100, .params = "schedule=seed block_n=64"},
        {.batch = 3,
         .m = 40,
         .n = 64,
         .k = 64,
         .same = BATCH_A | BATCH_C,
         .inside = BATCH_B,
         .params = "schedule=seed block_n=64"},
        {.batch = 3,
         .m = 300,
         .n = 64,
         .k = 70,
         .params = "ctas=2 block_n=64",
         .d_dtype = PTXGEN_BF16,
         .inside = BATCH_D},
        {.batch = 5,
         .m = 60,
         .n = 40,
         .k = 70,
         .alpha = 2,
         .beta = 0.5F,
         .same = BATCH_B,
         .epilogue = PTXGEN_EPILOGUE_RELU},
        {.batch = 2, .m = 60, .n = 40, .k = 0, .no_c = true},
        {.batch = 3, .m = 130, .n = 200, .k = 70, .same = BATCH_B, .params = "ctas_n=2 block_n=64"},
        {.batch = 3,
         .m = 60,
         .n = 100,
         .k = 300,
         .same = BATCH_C,
         .alpha = 2,
         .beta = 1,
         .params = "splits=2 block_n=128"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed < 3; seed++)
            batch_case_check(context, &cases[i], "sm_100a", seed);
}

static void drawn_batches(void **state)
{
    (void)state;
    const char *text = getenv("PTXGEN_DRAWS");
    const int count = text ? atoi(text) : 12;
    uint64_t draws = 20261201;
    for (int i = 0; i < count; i++) {
        batch_case c = batch_case_draw(&draws, true);
        batch_case_check(context, &c, "sm_100a", (uint64_t)i % 3);
        batch_case_check(context, &c, "sm_90a", (uint64_t)i % 3);
        c = batch_case_draw(&draws, false);
        batch_case_check(context, &c, "sm_120a", (uint64_t)i % 3);
    }
}

static void says(const ptxgen_tensor *t, size_t count, const char *word)
{
    char text[1200];
    ptxgen_error err = {0};
    if (ptxgen_call_params(context, "matmul_accumulate", "arch=sm_90a", t, count, text, sizeof text,
                           &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    if (!strstr(text, word))
        fail_msg("\"%s\" does not say %s", text, word);
}

/* Rows that follow each other and meet one B are one product: right, and not a batch. */
static void one_product(void **state)
{
    (void)state;
    static float memory[1 << 14] __attribute__((aligned(256)));
    ptxgen *device;
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    static const batch_case cases[] = {
        {.batch = 5, .m = 30, .n = 40, .k = 24, .same = BATCH_B, .folds = true},
        {.batch = 70,
         .m = 1,
         .n = 40,
         .k = 24,
         .same = BATCH_B,
         .folds = true,
         .epilogue = PTXGEN_EPILOGUE_RELU},
        {.batch = 6, .m = 1, .n = 40, .k = 24, .same = BATCH_B, .inside = BATCH_A | BATCH_D},
        {.batch = 5, .m = 30, .n = 40, .k = 24, .same = BATCH_B | BATCH_C, .folds = true},
    };
    assert_int_equal(ptxgen_create(&config, &device, NULL), PTXGEN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        batch_case_run(device, &cases[i]);
    ptxgen_destroy(device);
    const int64_t a[] = {4, 16, 16}, b[] = {16, 16}, gap[] = {272, 16, 1};
    ptxgen_tensor t[] = {{memory, PTXGEN_F16, 3, a, NULL},
                         {memory + 2048, PTXGEN_F16, 2, b, NULL},
                         {0},
                         {memory + 4096, PTXGEN_F32, 3, a, NULL}};
    says(t, 4, "batched=no");
    t[0].strides = gap;
    says(t, 4, "batched=yes");
}

static void expect(const char *params, const ptxgen_tensor *t, size_t count, const char *word)
{
    ptxgen_error err = {0};
    assert_int_not_equal(ptxgen_call_oracle("matmul_accumulate", params, t, count, &err),
                         PTXGEN_OK);
    if (!strstr(err.message, word))
        fail_msg("\"%s\" does not say %s", err.message, word);
}

static void what_no_batch_is(void **state)
{
    (void)state;
    static float memory[4096];
    const int64_t three[] = {4, 8, 8}, two[] = {8, 8}, other[] = {3, 8, 8}, still[] = {0, 8, 1};
    const ptxgen_tensor a = {memory, PTXGEN_F16, 3, three, NULL},
                        b = {memory, PTXGEN_F16, 2, two, NULL},
                        d = {memory + 1024, PTXGEN_F32, 3, three, NULL};
    ptxgen_tensor t[] = {a, b, {0}, d};
    ptxgen_error err;
    assert_int_equal(ptxgen_call_oracle("matmul_accumulate", "", t, 4, &err), PTXGEN_OK);
    t[1] = (ptxgen_tensor){memory, PTXGEN_F16, 3, other, NULL};
    expect("", t, 4, "batch=3");
    t[1] = b;
    t[3] = (ptxgen_tensor){memory + 1024, PTXGEN_F32, 2, two, NULL};
    expect("", t, 4, "batch=1");
    t[3] = (ptxgen_tensor){memory + 1024, PTXGEN_F32, 3, three, still};
    expect("", t, 4, "stride 0");
    t[3] = d;
    ptxgen_tensor all[PG_MAX_OPERANDS] = {a, b, {0}, d};
    size_t count = 0;
    const pg_family *f;
    assert_int_equal(pg_family_find("matmul_accumulate", &f, NULL), PTXGEN_OK);
    while (strcmp(f->operands.rows[count].name, "aux") != 0)
        count++;
    all[count] = (ptxgen_tensor){memory + 2048, PTXGEN_F32, 2, two, NULL};
    expect("", all, count + 1, "aux has batch=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_through_hopper),
        cmocka_unit_test(every_way_through_blackwell),
        cmocka_unit_test(drawn_batches),
        cmocka_unit_test(one_product),
        cmocka_unit_test(what_no_batch_is),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
