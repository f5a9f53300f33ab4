/* The device that a context launches on: facts, memory, waiting. The conventions of ptxgen.h
 * hold. */
#ifndef PTXGEN_DEVICE_H
#define PTXGEN_DEVICE_H

#include "ptxgen/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- device ---------------------------------------------------------------------------------- */

typedef struct ptxgen_device_info {
    size_t size; /* set by the caller */
    ptxgen_device_kind kind;
    char name[128];
    ptxgen_arch arch;                      /* the most specific one: sm_90a on a Hopper */
    int ordinal, sm_count, driver_version; /* driver_version as CUDA says it: 13000 */
    size_t shared_bytes_per_block, l2_bytes;
} ptxgen_device_info;
/* The device that a call from this thread would use now. EMISSING when there is none of the
 * wanted kind. */
PTXGEN_API ptxgen_status ptxgen_device_get_info(ptxgen *ctx, ptxgen_device_info *info,
                                                ptxgen_error *err);

/* Device memory for tests, tools and first steps; a runtime passes its own pointers. Copies are
 * synchronous with respect to the host. */
PTXGEN_API ptxgen_status ptxgen_device_alloc(ptxgen *ctx, size_t bytes, void **out,
                                             ptxgen_error *err);
PTXGEN_API void ptxgen_device_free(ptxgen *ctx, void *p);
PTXGEN_API ptxgen_status ptxgen_device_upload(ptxgen *ctx, void *device, const void *host,
                                              size_t bytes, ptxgen_error *err);
PTXGEN_API ptxgen_status ptxgen_device_download(ptxgen *ctx, void *host, const void *device,
                                                size_t bytes, ptxgen_error *err);
/* Waits for all work of the stream. */
PTXGEN_API ptxgen_status ptxgen_synchronize(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err);

#ifdef __cplusplus
}
#endif

#endif
