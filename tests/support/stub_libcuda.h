/* Opens the stand-in for the CUDA driver (stub_libcuda/) and a device on it. */
#ifndef PG_TEST_STUB_LIBCUDA_H
#define PG_TEST_STUB_LIBCUDA_H

#include "test.h"

#include "device/cuda/device.h"
#include "stub_libcuda/stub_libcuda.h"

#define STUB_PATH PTXGEN_BINARY_DIR "/tests/stub_libcuda.so"

stub *stub_state(void);
/* The state, with everything from earlier tests forgotten. */
stub *stub_open(void);
/* The same, and a device. */
pg_device *stub_device(const pg_alloc *alloc);
/* A small cubin for an SM, without kernels: whole, and so good enough for the stub. */
typedef struct stub_cubin {
    char bytes[320];
} stub_cubin;
stub_cubin stub_make_cubin(int sm);
void stub_make_current(stub_context *context);
stub_context *stub_current(void);

#endif
