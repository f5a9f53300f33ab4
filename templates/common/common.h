/* PTX that several families share, as C functions that write it. Registers named in the comments
 * must be declared by the caller. */
#ifndef PG_TEMPLATES_COMMON_H
#define PG_TEMPLATES_COMMON_H

#include "device/launch.h"
#include "base/arch.h"
#include "generate/emit.h"

/* The lines between the parentheses of an entry. */
void pg_entry_params(pg_emit *E, pg_param_list list);

/* .version (the later of the target's first and `version`), .target, .address_size. */
void pg_module_header(pg_emit *E, const pg_arch *arch, const char *version);

/* Waits until the phase with `parity` of the mbarrier at shared address `barrier` has completed
 * (PTX ISA 9.7.13.15.16). Both are operands: registers or address expressions. */
void pg_mbarrier_wait(pg_emit *E, const char *barrier, const char *parity);
/* The bad index that a kernel reports (bad_index.ptxc). */
void pg_keep_bad_index(pg_emit *E, const char *index, const char *position);
void pg_offer_bad_index(pg_emit *E, const pg_arch *arch);

/* Of kernels whose launches may be early (pg_launch.early); nothing before sm_90, whose launches
 * wait. pg_wait_for_grid: until the kernels before have ended; comes before every access to what
 * they wrote or read. pg_release_next: the next kernel's CTAs may come. */
void pg_wait_for_grid(pg_emit *E, const pg_arch *arch);
void pg_release_next(pg_emit *E, const pg_arch *arch);

/* Every thread of every CTA of the cluster; what they did before is visible to all after it. */
void pg_cluster_barrier(pg_emit *E);

#endif
