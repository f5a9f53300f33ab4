/* A stand-in for libcuda.so.1: keeps contexts, libraries, memory and links as counters and host
 * memory, records calls and launches, and fails a chosen call. Built as a shared library of its
 * own, so that the library under test finds it the way it finds the real one; a test reaches the
 * state below by dlsym. */
#ifndef PG_STUB_LIBCUDA_H
#define PG_STUB_LIBCUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STUB_DEVICES = 4, STUB_MAX_ARGS = 24 };

typedef struct stub_context {
    int device;
    unsigned long long id;
    bool dead;
} stub_context;

typedef struct stub_launch {
    unsigned grid[3], block[3], cluster[3], shared_bytes;
    void *stream, *function;
    /* the first four bytes of the first `argument_count` arguments */
    uint32_t values[STUB_MAX_ARGS];
} stub_launch;

typedef struct stub {
    /* set by the test */
    int version, devices, cc_major, cc_minor;
    int fail_code, fail_at; /* the fail_at-th call from now fails (counted in `calls`); 0: none */
    const char *_Atomic fail_name;      /* the call of this name fails, or NULL */
    int capture_status, capture_result; /* what cuStreamIsCapturing answers */
    int event_result;                   /* ... cuEventQuery */
    int argument_count;                 /* how many arguments to look at in a launch */
    const void *cubin;                  /* what cuLinkComplete gives */
    size_t cubin_size;
    const char *info_log,
        *error_log; /* what a link writes; an error log makes cuLinkAddData fail with 218 */
    /* filled by the stub */
    int calls, waits;
    int retains, releases, pushes, pops, loads, module_loads, resolves, launches, function_loads;
    int live_libraries, live_modules, live_memory, live_links, live_streams, live_pools;
    int link_target;     /* of the last cuLinkCreate */
    int attribute_value; /* of the last cuFuncSetAttribute */
    stub_launch last;
    unsigned long long next_id;
    stub_context primary[STUB_DEVICES];
    int capture_mode;
} stub;

/* Functions of the library for the test, by dlsym: */
typedef stub *stub_get_fn(void);  /* "stub_get" */
typedef void stub_reset_fn(void); /* "stub_reset": a 13.0 driver with one sm_90 device */
typedef void stub_set_current_fn(stub_context *); /* "stub_set_current": of the calling thread */
typedef stub_context *stub_get_current_fn(void);  /* "stub_get_current" */

#endif
