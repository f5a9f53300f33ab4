#include "emulator/clock/chip.h"

#include <string.h>

static const pg_clock_chip hopper = {
    "sm_90", "H200", 90, 7, 13,
#define PG_CLOCK_RATE(field, sm_90, sm_100, source) sm_90,
#include "emulator/clock/rates.def"
#undef PG_CLOCK_RATE
};

static const pg_clock_chip blackwell = {
    "sm_100", "B200", 100, 7, 8,
#define PG_CLOCK_RATE(field, sm_90, sm_100, source) sm_100,
#include "emulator/clock/rates.def"
#undef PG_CLOCK_RATE
};

const pg_clock_chip *pg_clock_chip_named(const char *arch)
{
    const pg_clock_chip *const chips[] = {&hopper, &blackwell};
    for (size_t i = 0; arch && i < sizeof chips / sizeof *chips; i++) {
        const size_t n = strlen(chips[i]->arch);
        if (strncmp(arch, chips[i]->arch, n) == 0 &&
            (arch[n] == 0 || (strchr("af", arch[n]) && arch[n + 1] == 0)))
            return chips[i];
    }
    return NULL;
}

bool pg_clock_chip_runs(const pg_clock_chip *chip, uint32_t sm, char suffix)
{
    if (suffix == 'a')
        return sm == chip->sm;
    return sm <= chip->sm && (!suffix || sm / 10 == chip->sm / 10);
}
