/* The tuning file: texts by texts. A key says all that an entry depends on; the value is the
 * parameters of a kernel. The file is read whole and never half believed. */
#ifndef PG_TUNING_H
#define PG_TUNING_H

#include "base/alloc.h"
#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct pg_tuning {
    pg_alloc alloc;
    char *path; /* owned; NULL: none is set */
    pthread_mutex_t lock;
    bool read;
    char *text; /* owned: the file's lines, each with NULs for its tabs and its end */
    size_t size, count;
    const char **keys; /* owned, in order; the value is the text after the key's NUL */
} pg_tuning;

/* `path` NULL or "": no file. */
ptxgen_status pg_tuning_init(pg_tuning *t, const pg_alloc *, const char *path, ptxgen_error *err);
void pg_tuning_fini(pg_tuning *t);
/* Reads the file again; one that does not exist has no entries. EPARSE: refused, with the reason;
 * there are no entries then. */
ptxgen_status pg_tuning_read(pg_tuning *t, ptxgen_error *err);
/* The parameters kept for a key, of the file as it was at first use; NULL: none. Copied to out. */
bool pg_tuning_find(pg_tuning *t, const char *key, char *out, size_t size, ptxgen_error *err);
/* Adds or replaces an entry of the file as it is now. */
ptxgen_status pg_tuning_keep(pg_tuning *t, const char *key, const char *params, double us,
                             ptxgen_error *err);
/* Entries, and those whose key begins with `prefix`. */
void pg_tuning_count(pg_tuning *t, const char *prefix, size_t *all, size_t *with_prefix);

#endif
