/* Libraries named libnvJitLink that are not the one we know: older names, missing functions,
 * return codes that contradict each other, files that are no library. Each is used rightly or
 * refused with one precise error. */
#include "runtime_kernels.h"

#include "stub_libcuda.h"

#include <unistd.h>

#define STUB(name) PTXGEN_BINARY_DIR "/tests/stub_nvjitlink_" name ".so"

/* Assembles (the stand-in gives back what it gets) with `library` as the only libnvJitLink. */
static ptxgen_status assemble_with(const char *library, pg_assembly *out, ptxgen_error *err)
{
    static const pg_log silent;
    const stub_cubin cubin = stub_make_cubin(90);
    char folder[] = "/tmp/ptxgen-test-XXXXXX", path[64], text[sizeof cubin.bytes + 1] = "";
    memcpy(text, cubin.bytes, sizeof cubin.bytes);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libnvJitLink.so.13", folder);
    assert_int_equal(symlink(library, path), 0);
    const pg_toolkit_config config = {.toolkit_dir = folder, .wanted = PTXGEN_ASSEMBLER_NVJITLINK};
    const pg_assembly_request request = {.ptx = text, .ptx_size = sizeof cubin.bytes, .arch = 900};
    pg_toolkit *t;
    assert_int_equal(pg_toolkit_create(&pg_alloc_libc, &silent, &config, &t, NULL), PTXGEN_OK);
    *err = (ptxgen_error){0};
    const ptxgen_status status =
        pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_NVJITLINK, &request, out, err);
    pg_toolkit_destroy(t);
    unlink(path);
    rmdir(folder);
    return status;
}

static void functions_are_found_under_plain_and_versioned_names(void **state)
{
    (void)state;
    const char *const libraries[] = {STUB("plain"), STUB("versioned")};
    const stub_cubin cubin = stub_make_cubin(90);
    for (int i = 0; i < 2; i++) {
        pg_assembly a;
        ptxgen_error err;
        assembly_init(&a);
        if (assemble_with(libraries[i], &a, &err) != PTXGEN_OK)
            fail_msg("%s: %s", libraries[i], err.message);
        assert_int_equal(a.cubin.len, sizeof cubin.bytes);
        assert_memory_equal(a.cubin.data, cubin.bytes, sizeof cubin.bytes);
        assembly_fini(&a);
    }
}

static void a_failed_step_is_a_failure_whatever_the_next_one_says(void **state)
{
    (void)state;
    pg_assembly a;
    ptxgen_error err;
    assembly_init(&a);
    assert_int_equal(assemble_with(STUB("deaf"), &a, &err), PTXGEN_EASSEMBLE);
    assert_int_equal(a.cubin.len, 0);
    assert_false(a.text_at_fault); /* it names no line */
    assembly_fini(&a);
}

static void what_is_no_nvjitlink_is_named(void **state)
{
    (void)state;
    const struct {
        const char *library, *words;
    } cases[] = {
        {STUB("partial"), "lacks nvJitLinkComplete"},
        {STUB_PATH, "lacks nvJitLinkCreate"},
        {"/etc/passwd", "could not be loaded"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pg_assembly a;
        ptxgen_error err;
        assembly_init(&a);
        assert_int_equal(assemble_with(cases[i].library, &a, &err), PTXGEN_EMISSING);
        if (!strstr(err.message, cases[i].words) || !strstr(err.message, "libnvJitLink.so.13"))
            fail_msg("%s", err.message);
        assembly_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found_under_plain_and_versioned_names),
        cmocka_unit_test(a_failed_step_is_a_failure_whatever_the_next_one_says),
        cmocka_unit_test(what_is_no_nvjitlink_is_named),
    };
    return cmocka_run_group_tests_name("assembler_nvjitlink", tests, NULL, NULL);
}
