/* glibc ends the text with strerror's words where a system call failed. It translates them; the
 * numbers that matter are looked for in both the C locale's words and the thread's. */
#include "base/dynamic.h"
#include "base/system_words.h"

#include <errno.h>
#include <string.h>

int pg_dlopen_errno(const char *text)
{
    static const int numbers[] = {ENOENT, EMFILE, ENFILE,  ENOMEM, EACCES,
                                  EIO,    ELOOP,  ENOTDIR, EPERM,  ESTALE};
    char translated[128];
    if (!text)
        return EAGAIN;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *plain = pg_error_words(numbers[i]);
        const char *here = strerror_r(numbers[i], translated, sizeof translated);
        if (strstr(text, plain) || (here && strstr(text, here)))
            return numbers[i];
    }
    /* "cannot allocate memory in static TLS block" and the like pass; a wrong or damaged file
     * does not. */
    return strstr(text, "annot allocate") || strstr(text, "cannot create") ||
                   strstr(text, "failed to map") || strstr(text, "cannot map")
               ? EAGAIN
               : EINVAL;
}
