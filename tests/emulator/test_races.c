/* Planted defects: every NAME.bad.ptx of tests/emulator/races must be found by checking mode within 20 seeds of
 * order=isa, with the report that its `report` line names; its repaired twin NAME.good.ptx must be right and
 * silent on all 20, and with order=hw. Set PTX_CASE to a part of a file name to run only those. */
#include "test.h"

#include "ptx_case.h"

#include <glob.h>

enum { SEEDS = 20, LEAST_PAIRS = 100 };

static bool selected(const char *path)
{
    const char *only = getenv("PTX_CASE");
    return !only || strstr(path, only);
}

/* Runs a file once; true when it was right and silent. */
static bool run_file(const char *path, uint64_t seed, bool *expected, char *message, size_t size)
{
    ptx_case c;
    bool ok = ptx_case_read(path, &c);
    if (!ok)
        snprintf(message, size, "%s", c.error);
    else
        ok = ptx_case_emulate(&c, (ptx_case_mode){.isa_seed = seed, .check = true}, message, size);
    *expected = !ok && ptx_case_expects(&c, message);
    ptx_case_free(&c);
    return ok;
}

static int check_bad(const char *path)
{
    char message[1500] = "";
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool expected;
        char now[1500] = "";
        if (!run_file(path, seed, &expected, now, sizeof now) && expected)
            return 0;
        if (now[0])
            memcpy(message, now, sizeof message);
    }
    print_error("%s: not found within %d seeds; last outcome: %s\n", strrchr(path, '/') + 1, SEEDS,
                message);
    return 1;
}

static int check_good(const char *path)
{
    for (uint64_t seed = 0; seed <= SEEDS; seed++) {
        bool expected;
        char message[1500] = "";
        if (!run_file(path, seed, &expected, message, sizeof message)) {
            print_error("%s (seed %d): %s\n", strrchr(path, '/') + 1, (int)seed, message);
            return 1;
        }
    }
    return 0;
}

static void planted_defects_are_found(void **state)
{
    (void)state;
    glob_t files = {0};
    int failures = 0, pairs = 0;
    assert_int_equal(glob(PTXGEN_SOURCE_DIR "/tests/emulator/races/*.ptx", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *path = files.gl_pathv[i];
        const bool bad = strstr(path, ".bad.ptx") != NULL;
        pairs += bad;
        if (selected(path))
            failures += bad ? check_bad(path) : check_good(path);
    }
    globfree(&files);
    assert_int_equal(failures, 0);
    assert_true(pairs >= LEAST_PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_defects_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
