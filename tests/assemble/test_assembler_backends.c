/* Each assembler that is installed, against what assembler.h promises: a cubin, numbers, an
 * error with the PTX line, no kernel changed in silence, no text that crashes the process. */
#include "runtime_kernels.h"

static const ptxgen_assembler kinds[] = {PTXGEN_ASSEMBLER_PTXAS, PTXGEN_ASSEMBLER_NVPTXCOMPILER,
                                         PTXGEN_ASSEMBLER_NVJITLINK};

/* Runs `body` for every assembler that is there. */
static void for_each_assembler(void (*body)(pg_toolkit *, ptxgen_assembler))
{
    int ran = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pg_toolkit *t = open_toolkit(kinds[i]);
        if (!t)
            continue;
        body(t, kinds[i]);
        pg_toolkit_destroy(t);
        ran++;
    }
    if (!ran)
        skip();
}

static void check_right_kernel(pg_toolkit *t, ptxgen_assembler kind)
{
    pg_assembly a, again;
    ptxgen_error err = {0};
    const pg_assembly_request r = request_for(KERNEL_STORE, 900);
    assembly_init(&a);
    assembly_init(&again);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &a, &err), PTXGEN_OK);
    assert_memory_equal(a.cubin.data, "\177ELF", 4);
    assert_in_range(a.registers, 4, 255);
    assert_int_equal(a.spill_bytes, 0);
    assert_int_equal(a.local_bytes, 0);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &again, &err), PTXGEN_OK);
    assert_int_equal(a.cubin.len, again.cubin.len);
    assert_memory_equal(a.cubin.data, again.cubin.data, a.cubin.len);
    assembly_fini(&a);
    assembly_fini(&again);
}

static void right_kernel_gives_one_cubin_and_its_numbers(void **state)
{
    (void)state;
    for_each_assembler(check_right_kernel);
}

static void check_wrong_kernel(pg_toolkit *t, ptxgen_assembler kind)
{
    pg_assembly a;
    ptxgen_error err = {0};
    const pg_assembly_request r = request_for(KERNEL_WRONG, 900);
    assembly_init(&a);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &a, &err), PTXGEN_EASSEMBLE);
    assert_int_equal(err.line, 8);
    assert_non_null(strstr(err.message, "Arguments mismatch for instruction 'st'"));
    assert_non_null(strstr(pg_buf_text(&a.log), "line 8"));
    assembly_fini(&a);
}

static void wrong_kernel_is_reported_with_its_line(void **state)
{
    (void)state;
    for_each_assembler(check_wrong_kernel);
}

static void check_too_new(pg_toolkit *t, ptxgen_assembler kind)
{
    pg_assembly a;
    ptxgen_error err = {0};
    const pg_assembly_request newer = request_for(".version 9.9\n.target sm_90\n", 900);
    const pg_assembly_request target = request_for(KERNEL_SETMAXNREG, 1001);
    const pg_assembly_request unknown = request_for(KERNEL_STORE, 7770);
    assembly_init(&a);
    assert_int_equal(pg_toolkit_assemble(t, kind, &newer, &a, &err), PTXGEN_EASSEMBLE);
    assert_non_null(strstr(err.message, "9.9"));
    assert_int_equal(pg_toolkit_assemble(t, kind, &target, &a, &err), PTXGEN_EASSEMBLE);
    assert_non_null(strstr(err.message, "sm_90a"));
    assert_int_equal(pg_toolkit_assemble(t, kind, &unknown, &a, &err), PTXGEN_EASSEMBLE);
    assert_non_null(strstr(err.message, "sm_777"));
    assembly_fini(&a);
}

static void too_new_text_and_unknown_targets_are_named(void **state)
{
    (void)state;
    for_each_assembler(check_too_new);
}

static void check_setmaxnreg(pg_toolkit *t, ptxgen_assembler kind)
{
    pg_assembly a;
    ptxgen_error err = {0};
    ptxgen_assembler chosen;
    const char *identity;
    pg_assembly_request r = request_for(KERNEL_SETMAXNREG, 901);
    bool keeps = kind != PTXGEN_ASSEMBLER_NVJITLINK;
    assembly_init(&a);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &a, &err),
                     keeps ? PTXGEN_OK : PTXGEN_EASSEMBLE);
    if (!keeps)
        assert_non_null(strstr(err.message, "(C7504)"));
    assert_int_equal(
        pg_toolkit_choose(t, (pg_assembly_need){.whole_program = true}, &chosen, &identity, &err),
        keeps ? PTXGEN_OK : PTXGEN_EMISSING);
    if (!keeps)
        assert_non_null(strstr(err.message, "ptxas"));
    r.whole_program = true;
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &a, &err),
                     keeps ? PTXGEN_OK : PTXGEN_EMISSING);
    assembly_fini(&a);
}

static void dropped_setmaxnreg_is_an_error(void **state)
{
    (void)state;
    for_each_assembler(check_setmaxnreg);
}

static void check_crashing(pg_toolkit *t, ptxgen_assembler kind)
{
    pg_assembly a;
    ptxgen_error err = {0};
    const pg_assembly_request r = request_for(KERNEL_CRASHING, 1001);
    assembly_init(&a);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &a, &err), PTXGEN_EASSEMBLE);
    assert_int_equal(err.line, 9);
    assert_non_null(strstr(err.message, "register"));
    assembly_fini(&a);
}

static void crashing_text_never_reaches_the_assembler(void **state)
{
    (void)state;
    for_each_assembler(check_crashing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernel_gives_one_cubin_and_its_numbers),
        cmocka_unit_test(wrong_kernel_is_reported_with_its_line),
        cmocka_unit_test(too_new_text_and_unknown_targets_are_named),
        cmocka_unit_test(dropped_setmaxnreg_is_an_error),
        cmocka_unit_test(crashing_text_never_reaches_the_assembler),
    };
    return cmocka_run_group_tests_name("assembler_backends", tests, NULL, NULL);
}
