/* Operands that lie anywhere, read by phases of their rows, on a GPU of Hopper: the emulator's
 * cases, and large ones as the automatic choice takes them. An argument is the one test to run. */
#include "phase_cases.h"

#include "ptxgen/ptxgen.h"
#include "test_context.h"

static void run(batch_case c)
{
    c.batch = 1;
    batch_case_run(context, &c);
}

static void every_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof phase_cases / sizeof *phase_cases; i++)
        run(phase_cases[i]);
}

static void large_ones(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {
        {7011, 34, 1395}, {2903, 42, 2547}, {9001, 17, 333}, {1025, 128, 3001}, {5000, 90, 1210}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int shift = 0; shift < 8; shift += 3) {
            batch_case c = {.m = sizes[i][0],
                            .n = sizes[i][1],
                            .k = sizes[i][2],
                            .pad = 1 + shift,
                            .shift = shift,
                            .b_transposed = true};
            run(c);
            c.b_transposed = false;
            run(c);
            c.b_transposed = true;
            c.m = sizes[i][1];
            c.n = sizes[i][0];
            run(c);
        }
}

int main(int argc, char **argv)
{
    ptxgen_device_info info;
    if (!open_gpu(&info))
        return TEST_SKIPPED;
    if (info.arch != 901) {
        printf("skipped: %s is no Hopper\n", info.name);
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_way), cmocka_unit_test(large_ones)};
    if (argc > 1) /* for compute-sanitizer */
        cmocka_set_test_filter(argv[1]);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(context);
    return failed;
}
