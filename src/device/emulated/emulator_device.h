/* The device that emulates: host memory, PTX interpreted. */
#ifndef PG_EMULATOR_DEVICE_H
#define PG_EMULATOR_DEVICE_H

#include "device/device.h"

/* sm_count 0: 8. */
ptxgen_status pg_emulator_device_create(const pg_alloc *, const pg_log *, uint32_t sm_count,
                                        pg_device **out, ptxgen_error *err);

#endif
