/* scatter_add on the emulator, through the same calls as on a GPU, against the oracle.
 *
 *     test_emulator_scatter_add [STRIDE (13)]     every STRIDE-th combination */
#include "scatter_suite.h"
#include "test.h"

static scatter_suite suite = {.every = 13, .elements = 9000};

static void every_combination_equals_the_oracle(void **state)
{
    (void)state;
    scatter_every_combination(&suite);
}

static void every_distribution(void **state)
{
    (void)state;
    scatter_every_distribution(&suite);
}

static void small_and_single_rows(void **state)
{
    (void)state;
    scatter_small_and_single_rows(&suite);
}

static void narrow_rows(void **state)
{
    (void)state;
    scatter_narrow_rows(&suite);
}

static void a_bad_index_is_skipped_and_reported(void **state)
{
    (void)state;
    scatter_bad_indices(&suite);
}

/* The trap of a bad index stops the launch and is an error that names the PTX line; the next
 * call works. */
static void a_trap_is_an_error_not_the_end(void **state)
{
    (void)state;
    const scatter_case good = {
        .dtype = PTXGEN_F32, .n = 8, .rows = 40, .out_rows = 9, .contig = true, .seed = 1};
    float out[9 * 8] = {0}, src[3 * 8] = {0};
    const int64_t index[3] = {0, 9, 1};
    const ptxgen_scatter_add_args a = {.size = sizeof a,
                                       .dtype = PTXGEN_F32,
                                       .rows = 3,
                                       .out_rows = 9,
                                       .n = 8,
                                       .out = out,
                                       .src = src,
                                       .index = index,
                                       .oob = PTXGEN_OOB_TRAP};
    for (int schedule = PTXGEN_SCHEDULE_SEED; schedule <= PTXGEN_SCHEDULE_VECTOR; schedule++) {
        ptxgen_scatter_add_args b = a;
        ptxgen_error err = {0};
        b.schedule = (ptxgen_schedule)schedule;
        assert_int_equal(ptxgen_scatter_add(suite.ctx, &b, NULL, &err), PTXGEN_EEMULATOR);
        assert_non_null(strstr(err.message, "trap"));
        run_scatter_case(suite.ctx, &good);
    }
}

int main(int argc, char **argv)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    if (argc > 1 && atoi(argv[1]) > 0)
        suite.every = (size_t)atoi(argv[1]);
    if (ptxgen_create(&config, &suite.ctx, NULL) != PTXGEN_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_equals_the_oracle),
        cmocka_unit_test(every_distribution),
        cmocka_unit_test(small_and_single_rows),
        cmocka_unit_test(narrow_rows),
        cmocka_unit_test(a_bad_index_is_skipped_and_reported),
        cmocka_unit_test(a_trap_is_an_error_not_the_end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(suite.ctx);
    return failed;
}
