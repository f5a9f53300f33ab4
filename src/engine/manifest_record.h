/* What a context was asked for: a set of lines "FAMILY name=value ...", in canonical text,
 * written as a manifest that `ptxgen prewarm` replays. It only grows, up to a limit; clearing
 * the cache does not empty it. */
#ifndef PG_MANIFEST_RECORD_H
#define PG_MANIFEST_RECORD_H

#include "base/alloc.h"
#include "base/error.h"

typedef struct pg_manifest_record pg_manifest_record;

ptxgen_status pg_manifest_record_create(const pg_alloc *, pg_manifest_record **out,
                                        ptxgen_error *err);
void pg_manifest_record_destroy(pg_manifest_record *); /* NULL is allowed */
/* Adds a line that is not there yet. Out of memory: it is not added, and writing says so. */
void pg_manifest_record_add(pg_manifest_record *, const char *family, const char *params);
/* Sorted lines into the file `path`, in one step: another process sees the old file or the new
 * one. Mode 0600. EIO when it cannot be written, ENOMEM also when lines had to be left out. */
ptxgen_status pg_manifest_record_write(pg_manifest_record *, const char *path, ptxgen_error *err);

/* Around fork(): takes the lock; gives it back. */
void pg_manifest_record_before_fork(pg_manifest_record *);
void pg_manifest_record_after_fork(pg_manifest_record *);

#endif
