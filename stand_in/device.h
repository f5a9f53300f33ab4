/* The device that programs see: the emulator in the shape of a chosen GPU. One a process. */
#ifndef PG_STAND_IN_DEVICE_H
#define PG_STAND_IN_DEVICE_H

#include "stand_in/abi.h"
#include "ptxgen/emulator.h"

#include <pthread.h>
#include <stdbool.h>

/* Set by `ptxgen emulate` in the environment of the program, read once. */
typedef struct pg_settings {
    unsigned sm;        /* 90, 100: compute capability times ten */
    unsigned sm_count;  /* multiprocessors that properties report */
    uint64_t memory;    /* bytes of device memory that properties report and allocations may take */
    const char *report; /* file that reports are appended to; NULL: standard error */
    bool verbose;       /* a line a launch */
    bool silent_reports; /* written to `report` alone */
    ptxgen_emulator_config emulator;
} pg_settings;

typedef struct pg_device {
    pg_settings settings;
    ptxgen_emulator *emulator;
    pthread_mutex_t lock;    /* guards the tables of this library; never held while a kernel runs */
    pthread_mutex_t running; /* held by whoever executes work: streams run one after another */
    size_t reports_seen;     /* of checking mode; under `running` */
    uint64_t left_out_seen;
    size_t times_seen; /* of the clock */
} pg_device;

/* Made at the first call. NULL: the emulator could not be made (pg_complain has said why). */
pg_device *pg_device_get(void);

/* An attribute by its number (cudaDeviceAttr, CUdevice_attribute); 0 for those that a GPU
 * without the feature reports as 0. */
int pg_device_attribute(int attribute);
void pg_device_properties(cudaDeviceProp *out);

/* One line on standard error: "ptxgen emulate: ...". */
void pg_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The error of the calling thread, as cudaGetLastError knows it; returns `error`. A failed
 * kernel sticks. */
pg_cuda_error pg_set_error(pg_cuda_error error);
pg_cuda_error pg_last_error(bool clear);
/* A kernel failed: every later call answers with this, as on a GPU whose context is lost. */
void pg_set_lost(pg_cuda_error error);
pg_cuda_error pg_lost(void);
const char *pg_error_name(int error);
const char *pg_driver_error_name(int error);
const char *pg_error_text(int error);

/* Says once a name that it is not provided; NotSupported. */
pg_cuda_error pg_refuse(const char *name, const char *why);

#endif
