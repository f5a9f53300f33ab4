/* Special registers that are rows, filled when a warp starts. */
#ifndef PG_EMULATOR_SPECIAL_H
#define PG_EMULATOR_SPECIAL_H

#include "emulator/machine/launch.h"

void pg_fill_specials(pg_warp *w);

#endif
