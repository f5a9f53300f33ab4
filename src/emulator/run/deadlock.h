/* What a launch says in which no warp can go on. */
#ifndef PG_EMULATOR_DEADLOCK_H
#define PG_EMULATOR_DEADLOCK_H

#include "emulator/machine/launch.h"

/* No warp of the cluster can run and nothing is pending: stops the launch. */
void pg_stop_deadlock(pg_cluster *cluster);

#endif
