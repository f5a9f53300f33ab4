/* Fills an error record the way the library does, for the parts of the command that do not need
 * it. */
#ifndef PTXGEN_FAIL_H
#define PTXGEN_FAIL_H

#include "ptxgen/status.h"

#include <stdarg.h>

/* Fills *err and returns `status`. The arguments may quote err->message itself. */
ptxgen_status cli_fail(ptxgen_error *err, ptxgen_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
ptxgen_status cli_vfail(ptxgen_error *err, ptxgen_status status, const char *format, va_list args);

#endif
