/* The family contract: what a folder under templates/ gives to the rest. One const struct per
 * family; templates/families.def lists them.
 *
 * From a key (the parameters), `resolve` refuses with a reason or turns every automatic choice
 * into a number, `plan` works out the kernel's numbers, `emit` writes the PTX from the plan
 * alone, and `launch` fills a launch record from one call's problem (operands, plan, device).
 * Parameters and operands are tables; whatever meets a family reads them. */
#ifndef PG_FAMILY_H
#define PG_FAMILY_H

#include "device/launch.h"
#include "base/arch.h"
#include "generate/emit.h"
#include "generate/operands/problem.h"
#include "generate/params.h"

enum { PG_PLAN_MAX_BYTES = 1536 };

/* Every plan begins with this. */
typedef struct pg_plan_head {
    char entry[64];        /* the .entry name: what profilers show */
    uint32_t shared_bytes; /* dynamic shared memory; of the entry that needs most */
    /* NULL: the module has this one entry. Else its entries are named entry_part, one for each
     * of these at most PG_MAX_PARTS words, NULL after the last. */
    const char *const *parts;
} pg_plan_head;

/* What a kernel with a user function calls: PTX's name of it, which the template declares
 * (.extern .func). */
#define PG_FUNCTION_SYMBOL "ptxgen_function"

/* Where a family takes a user function (ptxgen/function.h). */
typedef struct pg_function_seam {
    const char *signature; /* in C: "float f(float value, long long row, int column)" */
    const char *types;     /* the same, types alone, the result first: "float, float, int" */
    /* Instead of these, where they depend on the key; static texts. The family's plain C answer
     * then applies the function (pg_problem.map). */
    void (*shape)(const void *key, const char **signature, const char **types);
    int64_t (*number)(const void *key);
    bool (*exact)(const void *key); /* what PTXGEN_DIVISION_AUTO means for this kernel */
} pg_function_seam;

static inline void pg_seam_signature(const pg_function_seam *seam, const void *key,
                                     const char **signature, const char **types)
{
    *signature = seam->signature;
    *types = seam->types;
    if (seam->shape)
        seam->shape(key, signature, types);
}

/* A call as a sequence of launches, each after the one before, with device memory that lives as
 * long. */
typedef struct pg_sequence {
    uint32_t launches;
    size_t workspace_bytes;
} pg_sequence;

/* Which launch of the sequence is wanted. workspace: workspace_bytes, 256-byte aligned. */
typedef struct pg_step {
    uint32_t number;
    char *workspace;
} pg_step;

/* A kernel that could serve a problem: its key, not resolved, and what it would take by the
 * family's model. */
typedef struct pg_candidate {
    int64_t key[PG_KEY_MAX_BYTES / sizeof(int64_t)];
    double us;
} pg_candidate;
enum { PG_MOST_CANDIDATES = 256 };

typedef struct pg_family {
    const char *name, *summary;
    pg_param_table params; /* keys and plans fit PG_KEY_MAX_BYTES and PG_PLAN_MAX_BYTES */
    size_t plan_size;
    ptxgen_arch default_arch; /* when neither the caller nor a device says one */
    bool arch_specific;       /* needs an `a` target: on a device, its `a` arch is the default */
    const pg_function_seam *function; /* NULL: takes no user function */
    bool whole_program;               /* needs an assembler that keeps setmaxnreg */

    /* EUNSUPPORTED or EINVAL with the reason, or the key with no automatic value left. */
    ptxgen_status (*resolve)(void *key, const pg_arch *, ptxgen_error *);
    void (*plan)(const void *key, const pg_arch *, void *plan);
    void (*emit)(pg_emit *E, const void *plan);

    /* The parameters of an entry, in order; part: which of the plan's (pg_plan_head.parts). */
    pg_param_list (*parameters)(const void *plan, uint32_t part);

    pg_operand_table operands;
    /* The problem is checked and its plan and device are known. */
    void (*launch)(const pg_problem *, pg_launch *);
    /* Instead of `launch`, where a call takes several launches: how many, and each of them. */
    pg_sequence (*sequence)(const pg_problem *);
    void (*launch_step)(const pg_problem *, const pg_step *, pg_launch *);
    /* The family whose kernels do a part of the sequence (pg_launch.helper), and its key; NULL:
     * none. */
    const struct pg_family *(*helper)(const void *key, void *helper_key);
    /* The plain C answer, and the problem's bounds where they are asked for. The problem is
     * checked, of host memory, its key bound but not resolved. ENOMEM; EINDEX, and then nothing is
     * written. */
    ptxgen_status (*oracle)(const pg_problem *, ptxgen_error *);
    bool inexact; /* a result may be off by the answer's bounds; false: equal bits */

    /* Work of a call, for rates; fills *flop, and *bytes where it is not all operands once. May
     * be NULL. */
    void (*work)(const pg_problem *, double *flop, double *bytes);

    /* Where the tables do not say it; each may be NULL. They read no memory but that of scalars,
     * and of addresses the low 8 bits (engine/call_memo.h). */
    void (*bind)(const pg_problem *, void *key); /* fills the parameters marked PG_FROM_HOOK */
    /* Automatic values that depend on extents and device. It may run after the call, with
     * scalars as they were. */
    void (*choose)(const pg_problem *, void *key);
    /* Instead of `choose`, at once: the kernel that serves this call and every other extent. It
     * runs while the call's own is made (stall=never). NULL: there is none. The pack that is
     * shipped has them (generic.manifest). */
    void (*generic)(const pg_problem *, void *key);
    const char *no_generic; /* where there is none: why; only tests ask */
    /* What `choose` follows from beside the bound key, extents, element types, strides and
     * alignments: values of scalars. NULL: nothing. */
    uint64_t (*facts)(const pg_problem *, const void *key);
    /* Whether the call's own kernel may give other bits than this generic one; NULL: it never
     * does. */
    bool (*other_bits)(const void *generic_key);
    /* The best `most` kernels for a problem, best first, that agree with what is not 0 in the key;
     * how many. */
    size_t (*candidates)(const pg_problem *, const void *key, pg_candidate *out, size_t most);
    /* What one kernel cannot do of what the table allows; p->key is resolved unless p->host. */
    ptxgen_status (*limits)(const pg_problem *, ptxgen_error *);
    /* Sets p->empty instead of the rule "no result or no index has an element". */
    ptxgen_status (*empty)(pg_problem *, ptxgen_error *);
} pg_family;

/* How a family is defined: by the hooks that it must have, named, and then the other fields. Of
 * the family `row_scale` they are pg_row_scale_resolve, pg_row_scale_plan_from, ..._emit,
 * ..._params, ..._oracle, ..._launch: one without a plain C answer, say, does not build.
 * templates/families.def takes only families that are defined so. */
#define PG_DEFINE_FAMILY(folder, ...)                                                              \
    PG_DEFINE_WITH_ORACLE(folder, .launch = pg_##folder##_launch, __VA_ARGS__)
/* The same, of one whose every call is a sequence: ..._sequence and ..._launch_step. */
#define PG_DEFINE_SEQUENCE(folder, ...)                                                            \
    PG_DEFINE_WITH_ORACLE(folder, .sequence = pg_##folder##_sequence,                              \
                          .launch_step = pg_##folder##_launch_step, __VA_ARGS__)
#define PG_DEFINE_WITH_ORACLE(folder, ...)                                                         \
    const pg_family *const pg_defined_##folder = &pg_family_##folder;                              \
    PG_DEFINE_HELPER(folder, .oracle = pg_##folder##_oracle, __VA_ARGS__)
/* A helper (PG_HELPER of families.def) has kernels and no calls of its own. */
#define PG_DEFINE_HELPER(folder, ...)                                                              \
    const pg_family pg_family_##folder = {.name = #folder,                                         \
                                          .resolve = pg_##folder##_resolve,                        \
                                          .plan = pg_##folder##_plan_from,                         \
                                          .emit = pg_##folder##_emit,                              \
                                          .parameters = pg_##folder##_params,                      \
                                          __VA_ARGS__}

/* Row i of templates/families.def, NULL past the last. */
const pg_family *pg_family_at(size_t i);
/* EINVAL names the nearest family. */
ptxgen_status pg_family_find(const char *name, const pg_family **out, ptxgen_error *err);
/* The one architecture that a family's kernel is built for when `device_arch` is asked for:
 * without a suffix unless the family needs one, and then with 'a' where none is given. */
ptxgen_arch pg_family_arch_on(const pg_family *, ptxgen_arch device_arch);

#endif
