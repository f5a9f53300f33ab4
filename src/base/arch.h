/* Architectures as numbers (ptxgen_arch: SM * 10 + suffix, 0 none, 1 'a', 2 'f'): those that PTX
 * can be written for, a row each; their text; and which device runs which cubin (CUDA C++
 * Programming Guide, "Compute Capabilities"; PTX ISA, ".target"). */
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

/* Clusters of `size` CTAs, one an SM, that run at a time. A cluster lies in one part of the chip,
 * so those of more than two leave SMs over: an H200's 132 hold 30 of 4 and 15 of 8. */
int pg_clusters_at_once(int size, int sm_count);

typedef struct pg_arch_text {
    char text[16]; /* "sm_90a" */
} pg_arch_text;

/* Any positive number has a text, also one that no table knows. */
pg_arch_text pg_arch_to_text(ptxgen_arch arch);
/* The most specific architecture of a device: 9.0 -> sm_90a; no suffix below 9.0. */
ptxgen_arch pg_arch_of_device(int major, int minor);
/* OK when a device of architecture `device` (from pg_arch_of_device) runs a cubin built for
 * `image`: same major and no smaller minor for a plain or 'f' one, the same SM for an 'a' one.
 * EUNSUPPORTED names both and the remedy. */
ptxgen_status pg_arch_check(ptxgen_arch image, ptxgen_arch device, ptxgen_error *err);

#endif
