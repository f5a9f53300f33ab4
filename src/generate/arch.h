/* The architectures that PTX can be written for: one row each. */
#ifndef PG_ARCH_H
#define PG_ARCH_H

#include "base/error.h"
#include "ptxgen/ptxgen.h"

typedef struct pg_arch {
    ptxgen_arch id;          /* SM version * 10 + suffix */
    const char *name;        /* "sm_90a" */
    int sm;                  /* 90 */
    char suffix;             /* 0, 'a', 'f' */
    const char *ptx_version; /* the oldest PTX ISA that knows the target */
    int max_shared_bytes;    /* per block, opt-in */
} pg_arch;

/* NULL for an unknown id. */
const pg_arch *pg_arch_find(ptxgen_arch id);
/* Row i, NULL past the last. */
const pg_arch *pg_arch_at(size_t i);
/* All names, NULL-terminated. */
const char *const *pg_arch_names(void);

#endif
