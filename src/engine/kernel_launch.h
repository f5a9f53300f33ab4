/* From a loaded kernel and one call's problem to launches: one, or a sequence with a workspace. */
#ifndef PG_KERNEL_LAUNCH_H
#define PG_KERNEL_LAUNCH_H

#include "engine/kernel.h"

/* The plans of a kernel and its helper, made from an id alone; the problem points at them. */
typedef struct pg_plans {
    _Alignas(16) unsigned char own[PG_PLAN_MAX_BYTES];
    _Alignas(16) unsigned char helper[PG_PLAN_MAX_BYTES];
    const pg_family *helper_family; /* NULL: none */
    int64_t helper_key[PG_KEY_MAX_BYTES / sizeof(int64_t)];
} pg_plans;
void pg_plans_make(const pg_kernel_id *id, pg_plans *plans, pg_problem *p);
/* What a call takes. The problem has its plans and its device. */
pg_sequence pg_sequence_of(const pg_problem *p);
/* One of its launches. */
void pg_launch_of(const pg_problem *p, const pg_step *step, pg_launch *l);
/* The caller's workspace; NULL when there is none. */
const pg_view *pg_workspace_of(const pg_problem *p);
/* The launches of one call, in order. The workspace is the problem's PG_WORKSPACE operand
 * (EINVAL when that is too small), else memory borrowed in stream order. The kernel and its
 * helper are loaded. */
ptxgen_status pg_kernel_launch(ptxgen_kernel *, pg_problem *, pg_device *, ptxgen_stream,
                               ptxgen_error *);

#endif
