/* Words for error and signal numbers: those of this build, and the fallback for older C
 * libraries, which is compiled here under other names. They must agree. */
#include "test.h"

#include "base/system_words.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>

#undef PG_HAVE_STRERRORDESC
#define pg_error_words  fallback_error_words
#define pg_signal_words fallback_signal_words
const char *fallback_error_words(int number);
const char *fallback_signal_words(int number);
#include "base/system_words.c"
#undef pg_error_words
#undef pg_signal_words

static void errors(void **state)
{
    (void)state;
    static const int numbers[] = {ENOENT, EACCES, ENOMEM, EMFILE, ENOSPC, ESTALE, EIO};
    assert_string_equal(pg_error_words(ENOENT), "No such file or directory");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_string_equal(pg_error_words(numbers[i]), fallback_error_words(numbers[i]));
    assert_non_null(pg_error_words(12345));
    assert_non_null(fallback_error_words(12345));
}

static void signals(void **state)
{
    (void)state;
    static const int numbers[] = {SIGKILL, SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,
                                  SIGILL,  SIGXFSZ, SIGXCPU, SIGTERM};
    assert_string_equal(pg_signal_words(SIGSEGV), "Segmentation fault");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_string_equal(pg_signal_words(numbers[i]), fallback_signal_words(numbers[i]));
    assert_string_equal(pg_signal_words(999), "unknown");
    assert_string_equal(fallback_signal_words(999), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors), cmocka_unit_test(signals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
