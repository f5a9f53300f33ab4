/* nvJitLink reads decimal floats with the process's locale: where the decimal separator is a
 * comma, 1234.5678 became 1234. Every assembler must write the same cubin in every locale,
 * process-wide or per-thread. The locales are made here with localedef, so nothing has to be
 * installed but their sources (package locales). */
#include "runtime_kernels.h"

#include <locale.h>

#define LOCALES PTXGEN_BINARY_DIR "/tests/locales"

static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8"};

static int make_locales(void **state)
{
    char command[1024];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(command, sizeof command,
                 "mkdir -p %s; test -d %s/%s || localedef --no-archive -c -i %.5s -f UTF-8 %s/%s "
                 ">/dev/null 2>&1",
                 LOCALES, LOCALES, names[i], names[i], LOCALES, names[i]);
        if (system(command) != 0)
            print_message("%s could not be made\n", names[i]);
    }
    return setenv("LOCPATH", LOCALES, 1);
}

/* The test would prove nothing in a locale that writes a point. */
static bool writes_a_comma(void)
{
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    return strcmp(text, "0,5") == 0;
}

static void assert_same_cubin(pg_toolkit *t, ptxgen_assembler kind, const pg_assembly *expected)
{
    pg_assembly a;
    const pg_assembly_request r = request_for(KERNEL_STORE, 900);
    assembly_init(&a);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &a, NULL), PTXGEN_OK);
    assert_int_equal(a.cubin.len, expected->cubin.len);
    assert_memory_equal(a.cubin.data, expected->cubin.data, a.cubin.len);
    assembly_fini(&a);
}

static int check_locales(pg_toolkit *t, ptxgen_assembler kind, const pg_assembly *expected)
{
    int checked = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const bool there = setlocale(LC_ALL, names[i]) != NULL;
        if (there && writes_a_comma()) {
            assert_same_cubin(t, kind, expected);
            assert_true(writes_a_comma()); /* and the locale is as it was */
            checked++;
        }
        setlocale(LC_ALL, "C");
        locale_t own = there ? newlocale(LC_ALL_MASK, names[i], (locale_t)0) : (locale_t)0;
        if (!own) /* and not asked for in vain: glibc 2.39 leaks then */
            continue;
        locale_t before = uselocale(own);
        assert_same_cubin(t, kind, expected);
        assert_true(uselocale((locale_t)0) == own);
        uselocale(before);
        freelocale(own);
    }
    return checked;
}

static void check_assembler(ptxgen_assembler kind)
{
    pg_assembly expected;
    const pg_assembly_request r = request_for(KERNEL_STORE, 900);
    pg_toolkit *t = open_toolkit(kind);
    if (!t)
        skip();
    assembly_init(&expected);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &expected, NULL), PTXGEN_OK);
    int checked = check_locales(t, kind, &expected);
    assembly_fini(&expected);
    pg_toolkit_destroy(t);
    if (!checked) {
        print_message("skipped: no locale with a decimal comma; install the package locales\n");
        skip();
    }
}

static void nvjitlink_ignores_the_locale(void **state)
{
    (void)state;
    check_assembler(PTXGEN_ASSEMBLER_NVJITLINK);
}

static void ptxas_ignores_the_locale(void **state)
{
    (void)state;
    check_assembler(PTXGEN_ASSEMBLER_PTXAS);
}

static void nvptxcompiler_ignores_the_locale(void **state)
{
    (void)state;
    check_assembler(PTXGEN_ASSEMBLER_NVPTXCOMPILER);
}

static void driver_ignores_the_locale(void **state)
{
    (void)state;
    check_assembler(PTXGEN_ASSEMBLER_DRIVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvjitlink_ignores_the_locale),
        cmocka_unit_test(ptxas_ignores_the_locale),
        cmocka_unit_test(nvptxcompiler_ignores_the_locale),
        cmocka_unit_test(driver_ignores_the_locale),
    };
    return cmocka_run_group_tests_name("assembler_locale", tests, make_locales, NULL);
}
