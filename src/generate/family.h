/* The family contract: what a folder under templates/ gives to the rest. One const struct per family;
 * templates/families.def lists them.
 *
 * From a key (the parameters), `resolve` refuses with a reason or turns every automatic choice into a
 * number, `plan` works out the kernel's numbers, `emit` writes the PTX from the plan alone, and `launch`
 * fills a launch record from the plan and one call's arguments. */
#ifndef PG_FAMILY_H
#define PG_FAMILY_H

#include "device/launch.h"
#include "generate/arch.h"
#include "generate/emit.h"
#include "generate/params.h"

enum { PG_PLAN_MAX_BYTES = 512 };

/* Every plan begins with this. */
typedef struct pg_plan_head {
    char entry[64];        /* the .entry name: what profilers show */
    uint32_t shared_bytes; /* dynamic shared memory */
} pg_plan_head;

typedef struct pg_family {
    const char *name, *summary;
    pg_param_table params; /* keys and plans fit PG_KEY_MAX_BYTES and PG_PLAN_MAX_BYTES */
    size_t plan_size;
    ptxgen_arch default_arch; /* when neither the caller nor a device says one */
    bool arch_specific;       /* needs an `a` target: on a device, its `a` arch is the default */
    bool whole_program;       /* needs an assembler that keeps setmaxnreg */

    /* EUNSUPPORTED or EINVAL with the reason, or the key with no automatic value left. */
    ptxgen_status (*resolve)(void *key, const pg_arch *, ptxgen_error *);
    void (*plan)(const void *key, const pg_arch *, void *plan);
    void (*emit)(pg_emit *E, const void *plan);
    /* args: the family's public argument struct, checked before. */
    void (*launch)(const void *plan, const void *args, const ptxgen_device_info *, pg_launch *);
} pg_family;

/* Row i of templates/families.def, NULL past the last. */
const pg_family *pg_family_at(size_t i);
/* EINVAL names the nearest family. */
ptxgen_status pg_family_find(const char *name, const pg_family **out, ptxgen_error *err);
/* The architecture a family is built for on a device of `device_arch` (as ptxgen_device_info says it). */
ptxgen_arch pg_family_arch_on(const pg_family *, ptxgen_arch device_arch);

#endif
