/* config.clock: the clock of a launch, and what it found. */
#ifndef PG_CLOCK_RESULTS_H
#define PG_CLOCK_RESULTS_H

#include "emulator/run/context.h"

/* Makes the clock the launch's observer; NULL: out of memory. */
pg_clock *pg_clock_attach(const ptxgen_emulator_entry *entry, pg_grid_run *launch);
/* Adds the time of a launch that has run to the emulator's; frees the clock. */
void pg_clock_keep(ptxgen_emulator *emu, pg_grid_run *launch);
void pg_clock_forget(ptxgen_emulator *emu);

#endif
