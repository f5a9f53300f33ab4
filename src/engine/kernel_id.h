/* A kernel's identity in memory. */
#ifndef PG_KERNEL_ID_H
#define PG_KERNEL_ID_H

#include "base/error.h"
#include "generate/family.h"
#include "ptxgen/ptxgen.h"

/* What was asked for, resolved. */
typedef struct pg_kernel_id {
    const pg_family *family;
    bool assembled;                                  /* false: PTX only */
    int64_t key[PG_KEY_MAX_BYTES / sizeof(int64_t)]; /* resolved; unused bytes are zero */
} pg_kernel_id;

/* Parses, defaults and resolves. `arch` 0: the family's default. */
ptxgen_status pg_kernel_id_parse(const char *family, const char *params, ptxgen_arch arch,
                                 pg_kernel_id *out, ptxgen_error *err);
/* The architecture that a family's kernels are built for on a device of `device_arch`. The
 * emulator runs PTX of every target, so there a family that is not made for that one is built
 * for its own default. */
ptxgen_arch pg_kernel_id_arch(const pg_family *family, ptxgen_device_kind device,
                              ptxgen_arch device_arch);
/* Resolves the key of `id` in place. */
ptxgen_status pg_kernel_id_resolve(pg_kernel_id *id, ptxgen_error *err);
/* The number of the user function in it; 0: none. */
int64_t pg_kernel_id_function(const pg_kernel_id *id);
bool pg_kernel_id_same(const pg_kernel_id *a, const pg_kernel_id *b);

#endif
