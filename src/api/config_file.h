/* A configuration file: a JSON object of names and values, at most 64 KiB, of this user or root
 * and writable by nobody else. What the names mean is settings.c's business. */
#ifndef PG_CONFIG_FILE_H
#define PG_CONFIG_FILE_H

#include "base/alloc.h"
#include "base/buf.h"
#include "ptxgen/status.h"

enum { PG_CONFIG_ITEMS_MAX = 64 };

typedef struct pg_config_file {
    const char *path; /* borrowed; "": there is none */
    pg_buf texts;     /* names and values, each with a NUL */
    struct {
        size_t name, value; /* offsets in texts */
    } items[PG_CONFIG_ITEMS_MAX];
    size_t count;
} pg_config_file;

/* What stands between the elements of a list in a value. */
enum { PG_CONFIG_SEPARATOR = '\n' };

/* A file that does not exist has no items, unless it is `required` (EMISSING). EINVAL: it is not
 * understood, or others may write to it. EIO: it cannot be read. */
ptxgen_status pg_config_file_read(pg_config_file *, const pg_alloc *, const char *path,
                                  bool required, ptxgen_error *err);
void pg_config_file_free(pg_config_file *);
const char *pg_config_file_name(const pg_config_file *, size_t i);
const char *pg_config_file_value(const pg_config_file *, size_t i);

#endif
