/* The CUDA driver as a table of functions, found at run time: libcuda.so.1 by dlopen, each
 * function by cuGetProcAddress (by dlsym where a driver lacks that). The names and prototypes
 * are ours (driver.def); no CUDA header is used anywhere. driver.c is the only file that knows
 * how the driver is found.
 *
 * A pg_driver is immutable once opened and may be used from any thread. The library stays loaded
 * for the life of the process: the driver keeps threads and exit handlers that do not survive a
 * dlclose. */
#ifndef PG_DRIVER_H
#define PG_DRIVER_H

#include "base/alloc.h"
#include "ptxgen/ptxgen.h"

typedef struct pg_cu_context_object *pg_cu_context;
typedef struct pg_cu_library_object *pg_cu_library;
typedef struct pg_cu_kernel_object *pg_cu_kernel;
typedef struct pg_cu_module_object *pg_cu_module;
typedef struct pg_cu_function_object *pg_cu_function;
typedef struct pg_cu_link_object *pg_cu_link;
typedef struct pg_cu_pool_object *pg_cu_pool;
typedef struct pg_cu_event_object *pg_cu_event;
typedef struct pg_cu_graph_object *pg_cu_graph;
typedef struct pg_cu_runnable_object *pg_cu_runnable;
typedef unsigned long long pg_cu_pointer; /* a device address */

/* CUmemPoolProps: memory of one device, for this process only. */
typedef struct pg_cu_pool_settings {
    int allocation; /* PG_CU_ALLOCATION_PINNED */
    int handles;    /* 0: none */
    int location;   /* PG_CU_LOCATION_DEVICE */
    int device;
    void *security;
    size_t max_bytes; /* 0: as the driver likes */
    unsigned char reserved[56];
} pg_cu_pool_settings;

/* CUlaunchAttribute with the attributes that we set; padded to the driver's size. */
typedef struct pg_cu_launch_attribute {
    int id; /* PG_CU_LAUNCH_CLUSTER, PG_CU_LAUNCH_EARLY */
    int pad;
    union {
        unsigned cluster[3];
        int flag;
        char size[64];
    };
} pg_cu_launch_attribute;

/* CUlaunchConfig */
typedef struct pg_cu_launch {
    unsigned grid[3], block[3], shared_bytes;
    ptxgen_stream stream;
    pg_cu_launch_attribute *attributes;
    unsigned attribute_count;
} pg_cu_launch;

/* The driver's numbers that we use. */
enum {
    PG_DRIVER_OLDEST = 11040, /* of CUDA, 1000 * major + 10 * minor */

    PG_CU_ERROR_OUT_OF_MEMORY = 2,
    PG_CU_ERROR_NOT_INITIALIZED = 3,
    PG_CU_ERROR_NO_DEVICE = 100,
    PG_CU_ERROR_INVALID_IMAGE = 200,
    PG_CU_ERROR_INVALID_CONTEXT = 201,
    PG_CU_ERROR_NO_BINARY_FOR_GPU = 209,
    PG_CU_ERROR_INVALID_PTX = 218,
    PG_CU_ERROR_NOT_READY = 600,
    PG_CU_ERROR_CONTEXT_IS_DESTROYED = 709,
    PG_CU_ERROR_CAPTURE_UNSUPPORTED = 900,
    PG_CU_ERROR_CAPTURE_IMPLICIT = 906,

    PG_CU_DEVICE_SM_COUNT = 16,
    PG_CU_DEVICE_L2_BYTES = 38,
    PG_CU_DEVICE_CC_MAJOR = 75,
    PG_CU_DEVICE_CC_MINOR = 76,
    PG_CU_DEVICE_SHARED_BYTES_OPTIN = 97,

    PG_CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    PG_CU_LAUNCH_CLUSTER = 4,
    PG_CU_LAUNCH_EARLY = 6, /* programmatic stream serialization */
    PG_CU_CAPTURE_MODE_RELAXED = 2,
    PG_CU_STREAM_NON_BLOCKING = 1,
    PG_CU_HOST_PORTABLE = 1,
    PG_CU_EVENT_WITHOUT_TIME = 2,
    PG_CU_ALLOCATION_PINNED = 1,
    PG_CU_LOCATION_DEVICE = 1,
    PG_CU_POOL_RELEASE_THRESHOLD = 4,

    PG_CU_JIT_INFO_LOG = 3,
    PG_CU_JIT_INFO_LOG_SIZE = 4,
    PG_CU_JIT_ERROR_LOG = 5,
    PG_CU_JIT_ERROR_LOG_SIZE = 6,
    PG_CU_JIT_TARGET = 9,
    PG_CU_JIT_LOG_VERBOSE = 12,
    PG_CU_JIT_INPUT_PTX = 1
};

typedef struct pg_driver {
    void *library;
    int version; /* the newest CUDA version it supports: 13000 */
#define PG_DRIVER_FUNCTION(name, symbol, since, parameters) int(*name) parameters;
#include "device/cuda/driver.def"
#undef PG_DRIVER_FUNCTION
} pg_driver;

/* Opens and initializes the driver. `library` NULL means libcuda.so.1; tests pass a stub's path.
 * EMISSING when there is no driver or it is too old, EDRIVER when it cannot start. Free with
 * pg_driver_close. */
ptxgen_status pg_driver_open(const pg_alloc *alloc, const char *library, pg_driver **out,
                             ptxgen_error *err);
void pg_driver_close(const pg_alloc *alloc, pg_driver *driver);
/* The file the driver was loaded from; "" if unknown. Borrowed from the dynamic linker. */
const char *pg_driver_path(const pg_driver *driver);

/* Turns a driver's result into a status and a message: what failed, the number and name, what to
 * do. 0 is PTXGEN_OK. `doing` completes "CUDA could not ...". err->driver_error keeps the
 * number. */
ptxgen_status pg_driver_check(const pg_driver *driver, int result, const char *doing,
                              ptxgen_error *err);
/* EMISSING: the driver lacks a function of CUDA version `since`, which `what` needs. */
ptxgen_status pg_driver_too_old(const pg_driver *driver, int since, const char *what,
                                ptxgen_error *err);

#endif
