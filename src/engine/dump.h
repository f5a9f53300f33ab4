/* Files that a context leaves for people: the PTX, log and cubin of every assembly, in the
 * folder that the configuration names. Trouble with it is a log line, never a failed call. */
#ifndef PG_DUMP_H
#define PG_DUMP_H

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"

typedef struct pg_dump {
    const pg_alloc *alloc;
    const pg_log *log;
    char *dir; /* NULL: nothing is dumped */
    size_t size;
} pg_dump;

/* false: no memory. `dir` NULL or "": nothing is dumped. */
bool pg_dump_init(pg_dump *, const pg_alloc *, const pg_log *, const char *dir);
void pg_dump_fini(pg_dump *);
/* Writes DIR/NAME, in one step; its path goes into path[size]. false: not wanted, or not
 * possible. */
bool pg_dump_write(const pg_dump *, const char *name, pg_str bytes, char *path, size_t size);

#endif
