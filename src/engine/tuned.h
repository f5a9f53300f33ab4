/* What the tuning file says of a problem. */
#ifndef PG_TUNED_H
#define PG_TUNED_H

#include "engine/engine.h"
#include "engine/kernel_id.h"
#include "generate/operands/problem.h"

/* Fills what is open of the key from the problem's entry, if there is one that fits what is
 * fixed. */
void pg_tuned_apply(const pg_problem *p, pg_kernel_id *id, pg_engine *engine);

enum { PG_TUNING_KEY_BYTES = 1024 };
/* What the keys of all entries of this device, driver and generator begin with. As snprintf. */
int pg_tuned_place(const ptxgen_device_info *d, const pg_family *f, char *out, size_t size);
/* false: it does not fit, and the problem has no entry. The workspace is no part of a problem. */
bool pg_tuned_key(const pg_problem *problem, const void *key, char *out, size_t size);

#endif
