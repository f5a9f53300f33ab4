/* Runs every tests/emulator/cases PTX file (ptx_case.h has the format), the last of three times
 * in checking mode, where it must be silent; fails when a row of opcodes.def that the emulator
 * executes is in no file. Set PTX_CASE to a part of a file name to run only those. */
#include "test.h"

#include "emulator/decode/decode.h"
#include "ptx_case.h"
#include "ptx/ptx.h"

#include <glob.h>

/* What is still to be done; these only go down. */
enum { MAX_NOT_EXECUTED = 0, MAX_UNCOVERED = 0 };

static bool covered[PG_PTX_OP_COUNT];

static bool selected(const char *path)
{
    const char *only = getenv("PTX_CASE");
    return !only || strstr(path, only);
}

/* Every row of the opcode table that the file's code uses counts as tested by it. */
static void mark_covered(const ptx_case *c)
{
    pg_arena arena;
    pg_arena_init(&arena, &pg_alloc_libc);
    pg_ptx_module *m = NULL;
    if (pg_ptx_load(&arena, c->text, c->length, NULL, &m, NULL) == PTXGEN_OK)
        for (uint32_t i = 0; i < m->n_opcodes; i++)
            covered[m->opcodes[i]->op] = true;
    pg_arena_fini(&arena);
}

static void run_all_cases(void **state)
{
    (void)state;
    glob_t files = {0};
    int failures = 0, not_executed = 0;
    assert_int_equal(glob(PTXGEN_SOURCE_DIR "/tests/emulator/cases/*.ptx", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *path = files.gl_pathv[i];
        for (uint64_t seed = 0; seed < 3 && selected(path); seed++) {
            ptx_case c;
            char message[1200];
            bool ok = ptx_case_read(path, &c);
            if (!ok)
                snprintf(message, sizeof message, "%s", c.error);
            else
                ok = ptx_case_emulate(&c, (ptx_case_mode){.isa_seed = seed, .check = seed == 2},
                                      message, sizeof message);
            if (!ok && strstr(message, "is not one that the emulator executes")) {
                not_executed++;
                ok = true;
            }
            if (!ok) {
                print_error("%s (seed %d): %s\n", strrchr(path, '/') + 1, (int)seed, message);
                failures++;
            }
            if (seed == 0)
                mark_covered(&c);
            ptx_case_free(&c);
        }
    }
    globfree(&files);
    assert_int_equal(failures, 0);
    assert_true(not_executed <= MAX_NOT_EXECUTED);
}

static void every_claimed_form_has_a_case(void **state)
{
    (void)state;
    int missing = 0;
    if (getenv("PTX_CASE"))
        skip();
    for (int op = 0; op < PG_PTX_OP_COUNT; op++)
        if (pg_decode_function((pg_ptx_op)op) && !covered[op]) {
            print_error("no case tests %s\n", pg_ptx_op_describe((pg_ptx_op)op)->name);
            missing++;
        }
    assert_true(missing <= MAX_UNCOVERED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_all_cases),
        cmocka_unit_test(every_claimed_form_has_a_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
