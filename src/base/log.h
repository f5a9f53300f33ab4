/* The log hook. The library never prints: what a user may want to see goes here, one line a
 * call. */
#ifndef PG_LOG_H
#define PG_LOG_H

#include "ptxgen/status.h"

typedef struct pg_log {
    void (*write)(void *user, ptxgen_log_level level, const char *line); /* NULL: silent */
    void *user;
    ptxgen_log_level level; /* lines above it are dropped before they are formatted */
} pg_log;

void pg_log_line(const pg_log *log, ptxgen_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
