/* The life of a cluster: its memory, its start and its end. */
#ifndef PG_EMULATOR_CLUSTER_H
#define PG_EMULATOR_CLUSTER_H

#include "emulator/machine/launch.h"

/* NULL: out of memory or over the budget; the launch is stopped. */
pg_cluster *pg_cluster_start(pg_worker *worker, uint64_t index);
void pg_cluster_finish(pg_worker *worker, pg_cluster *cluster);
void pg_cluster_free(pg_worker *worker, pg_cluster *cluster);
/* Runs clusters until none is left or the launch stops; schedule.c. */
void pg_worker_run(pg_worker *worker);

#endif
