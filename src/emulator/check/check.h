/* Checking mode: what finds races, missing fences and misuse. It is an observer (observer.h):
 * what it reports never stops a launch, and values stay those of fast mode. */
#ifndef PG_EMULATOR_CHECK_H
#define PG_EMULATOR_CHECK_H

#include "emulator/machine/observer.h"

extern const pg_observer pg_checker_observer;

/* Its state, one per launch; NULL: out of memory. */
pg_checker *pg_checker_new(pg_grid_run *launch);
void pg_checker_free(pg_checker *checker);

#endif
