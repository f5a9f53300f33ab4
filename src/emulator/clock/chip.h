/* The GPUs that the clock knows, and their rates (rates.def). */
#ifndef PG_CLOCK_CHIP_H
#define PG_CLOCK_CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pg_clock_chip {
    const char *arch, *gpu;
    uint32_t sm;                      /* 90: that of `arch` */
    double error_tensor, error_other; /* mean of the points in docs/clock.md, percent */
#define PG_CLOCK_RATE(field, sm_90, sm_100, source) double field;
#include "emulator/clock/rates.def"
#undef PG_CLOCK_RATE
} pg_clock_chip;

/* "sm_90", "sm_100a", ...; NULL: none of that name. */
const pg_clock_chip *pg_clock_chip_named(const char *arch);
/* Whether the GPU runs PTX of this .target: number, and 'a', 'f' or 0. */
bool pg_clock_chip_runs(const pg_clock_chip *, uint32_t sm, char suffix);

#endif
