/* Planted defects: every NAME.bad.ptx of tests/emulator/races must be found by checking mode
 * with order=hw and with each of 20 seeds of order=isa (or in as many runs as its `seeds` line
 * says), with the report that its `report` line names, at the place that its `at` line names;
 * its repaired twin NAME.good.ptx must be right and silent on all of them. Set PTX_CASE to a
 * part of a file name to run only those, PTX_SHOW to see what is found where. */
#include "test.h"

#include "ptx_case.h"

#include <glob.h>

enum { SEEDS = 20, LEAST_PAIRS = 100 };

static bool selected(const char *path)
{
    const char *only = getenv("PTX_CASE");
    return !only || strstr(path, only);
}

typedef struct run_result {
    bool silent;    /* right, and nothing reported */
    bool expected;  /* reported as asked for */
    unsigned seeds; /* runs that must find it */
    char message[1500];
} run_result;

/* Runs a file once. */
static void run_file(const char *path, uint64_t seed, run_result *r)
{
    ptx_case c;
    *r = (run_result){.silent = ptx_case_read(path, &c)};
    if (!r->silent)
        snprintf(r->message, sizeof r->message, "%s", c.error);
    else
        r->silent = ptx_case_emulate(&c, (ptx_case_mode){.isa_seed = seed, .check = true},
                                     r->message, sizeof r->message);
    r->expected =
        !r->silent && strncmp(r->message, "at another", 10) && ptx_case_expects(&c, r->message);
    r->seeds = c.seeds ? c.seeds : SEEDS + 1;
    ptx_case_free(&c);
    if (getenv("PTX_SHOW"))
        print_message("%s seed %d: %s\n", strrchr(path, '/') + 1, (int)seed, r->message);
}

static int check_bad(const char *path)
{
    run_result r;
    char last[1500] = "nothing is reported";
    unsigned found = 0;
    for (uint64_t seed = 0; seed <= SEEDS; seed++) {
        run_file(path, seed, &r);
        found += r.expected;
        if (!r.expected)
            snprintf(last, sizeof last, "seed %d: %.1400s", (int)seed, r.message);
    }
    if (found >= r.seeds)
        return 0;
    print_error("%s: found in %u of %d runs; %s\n", strrchr(path, '/') + 1, found, SEEDS + 1, last);
    return 1;
}

static int check_good(const char *path)
{
    run_result r;
    for (uint64_t seed = 0; seed <= SEEDS; seed++) {
        run_file(path, seed, &r);
        if (!r.silent) {
            print_error("%s (seed %d): %s\n", strrchr(path, '/') + 1, (int)seed, r.message);
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
