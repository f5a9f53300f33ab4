/* glibc 2.32 has functions for this; before it, and elsewhere, strerror_l in the C locale says
 * the same of errors, and the signals that end an assembler are named here. */
#include "base/system_words.h"

#include <string.h>

#ifdef PG_HAVE_STRERRORDESC

const char *pg_error_words(int number)
{
    const char *words = strerrordesc_np(number);
    return words ? words : "unknown error";
}

const char *pg_signal_words(int number)
{
    const char *words = sigdescr_np(number);
    return words ? words : "unknown";
}

#else

#include <locale.h>
#include <signal.h>
#include <stdatomic.h>

const char *pg_error_words(int number)
{
    static _Atomic(locale_t) plain; /* kept for the process */
    locale_t none = (locale_t)0;
    if (!atomic_load(&plain)) {
        const locale_t made = newlocale(LC_ALL_MASK, "C", none);
        if (!made)
            return "error";
        if (!atomic_compare_exchange_strong(&plain, &none, made))
            freelocale(made);
    }
    return strerror_l(number, atomic_load(&plain));
}

const char *pg_signal_words(int number)
{
    static const struct {
        int number;
        const char *words;
    } known[] = {{SIGHUP, "Hangup"},
                 {SIGINT, "Interrupt"},
                 {SIGQUIT, "Quit"},
                 {SIGILL, "Illegal instruction"},
                 {SIGABRT, "Aborted"},
                 {SIGBUS, "Bus error"},
                 {SIGFPE, "Floating point exception"},
                 {SIGKILL, "Killed"},
                 {SIGSEGV, "Segmentation fault"},
                 {SIGPIPE, "Broken pipe"},
                 {SIGALRM, "Alarm clock"},
                 {SIGTERM, "Terminated"},
                 {SIGXCPU, "CPU time limit exceeded"},
                 {SIGXFSZ, "File size limit exceeded"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number)
            return known[i].words;
    return "unknown";
}

#endif
