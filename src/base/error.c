/* Names and texts of the status codes, and the one place where error records are written. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ptxgen_status_name(ptxgen_status status)
{
    switch (status) {
#define NAME(name, number, text)                                                                   \
    case PTXGEN_##name:                                                                            \
        return #name;
        PTXGEN_STATUS_MAP(NAME)
#undef NAME
    }
    return "UNKNOWN";
}

const char *ptxgen_status_text(ptxgen_status status)
{
    switch (status) {
#define TEXT(name, number, text)                                                                   \
    case PTXGEN_##name:                                                                            \
        return text;
        PTXGEN_STATUS_MAP(TEXT)
#undef TEXT
    }
    return "unknown status";
}

static void fill(ptxgen_error *err, ptxgen_status status, const char *file, int line,
                 const char *format, va_list args)
{
    if (!err)
        return;
    /* Build apart: an argument may point into the record that is being replaced. */
    ptxgen_error e = {.status = status, .line = line};
    snprintf(e.file, sizeof e.file, "%s", file);
    vsnprintf(e.message, sizeof e.message, format, args);
    *err = e;
}

ptxgen_status pg_fail(ptxgen_error *err, ptxgen_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, "", 0, format, args);
    va_end(args);
    return status;
}

ptxgen_status pg_fail_at(ptxgen_error *err, ptxgen_status status, const char *file, int line,
                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, file, line, format, args);
    va_end(args);
    return status;
}

ptxgen_status pg_fail_memory(ptxgen_error *err, size_t bytes)
{
    if (bytes)
        return pg_fail(err, PTXGEN_ENOMEM, "out of memory: %zu bytes were refused", bytes);
    return pg_fail(err, PTXGEN_ENOMEM, "out of memory");
}
