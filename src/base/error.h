/* Status and error helpers. A function that can fail returns ptxgen_status and takes
 * ptxgen_error * last (NULL allowed); it fills the record once, where the fault is known best,
 * and callers forward it. */
#ifndef PG_ERROR_H
#define PG_ERROR_H

#include "ptxgen/status.h"

#include <stddef.h>

/* Fills *err (if not NULL) and returns `status`. The message says the value, the limit and the
 * remedy. */
ptxgen_status pg_fail(ptxgen_error *err, ptxgen_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a source position. */
ptxgen_status pg_fail_at(ptxgen_error *err, ptxgen_status status, const char *file, int line,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
/* ENOMEM with a message that says how many bytes were asked for (0: unknown). */
ptxgen_status pg_fail_memory(ptxgen_error *err, size_t bytes);

/* Forwards a failure to the caller. */
#define PG_TRY(expr)                                                                               \
    do {                                                                                           \
        ptxgen_status pg_try_status_ = (expr);                                                     \
        if (pg_try_status_ != PTXGEN_OK)                                                           \
            return pg_try_status_;                                                                 \
    } while (0)

#endif
