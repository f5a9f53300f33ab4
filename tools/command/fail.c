#include "command/fail.h"

#include <stdio.h>

ptxgen_status cli_vfail(ptxgen_error *err, ptxgen_status status, const char *format, va_list args)
{
    ptxgen_error made = {.status = status};
    vsnprintf(made.message, sizeof made.message, format, args);
    *err = made;
    return status;
}

ptxgen_status cli_fail(ptxgen_error *err, ptxgen_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cli_vfail(err, status, format, args);
    va_end(args);
    return status;
}
