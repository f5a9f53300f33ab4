/* The device that emulates: host memory, PTX interpreted. */
#ifndef PG_EMULATOR_DEVICE_H
#define PG_EMULATOR_DEVICE_H

#include "device/device.h"

ptxgen_status pg_emulator_device_create(const pg_alloc *, const pg_log *, pg_device **out,
                                        ptxgen_error *err);

#endif
