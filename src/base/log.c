/* Formats a line on the stack and hands it to the hook; a longer line is cut and says so. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pg_log_line(const pg_log *log, ptxgen_log_level level, const char *format, ...)
{
    if (!log || !log->write || level > log->level)
        return;
    char line[2048];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n >= (int)sizeof line)
        memcpy(line + sizeof line - 5, " ...", 5);
    log->write(log->user, level, line);
}
