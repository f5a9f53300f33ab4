/* How much the clusters beside the sample multiply. Of a persistent grid the first clusters have a
 * tile more than the last ones, and the sample is the first: so the last cluster runs too, and if
 * it has less to do, a few more say where that begins (those before have as much as the first,
 * those behind as much as the last). Nothing else is taken from them. */
#ifndef PG_CLOCK_PROBE_H
#define PG_CLOCK_PROBE_H

#include "emulator/clock/record.h"

/* Which cluster runs next, after the sample. False: it is known. */
bool pg_clock_probe_next(pg_clock *, uint64_t cluster_count, uint64_t *index);
/* What all clusters multiply, in operations of the sample's. */
double pg_clock_probe_scale(const pg_clock *, uint64_t cluster_count);

#endif
