/* The CUDA device's inside, shared by the cuda_*.c files; everyone else sees device.h. */
#ifndef PG_CUDA_DEVICE_H
#define PG_CUDA_DEVICE_H

#include "device/cuda/context.h"
#include "device/device.h"

typedef struct pg_cuda {
    pg_device base;
    pg_alloc alloc;
    pg_log log;
    pg_driver *driver;
    pg_cuda_contexts contexts;
} pg_cuda;

/* A loaded image's function in one context. */
typedef struct pg_cuda_function {
    struct pg_cuda_function *next;
    const pg_cuda_context *context;
    pg_cu_module module; /* drivers before CUDA 12.0; else NULL */
    pg_cu_function handles[PG_MAX_PARTS];
} pg_cuda_function;

/* pg_loaded of the CUDA device: one library for all contexts (CUDA 12.0), or the image kept to
 * load a module in each. Adding a function takes the lock; looking one up does not. */
struct pg_loaded {
    pg_cu_library library;
    pg_cu_kernel kernels[PG_MAX_PARTS];
    const char *const *parts; /* as in pg_image; the strings are static */
    uint32_t part_count;      /* at least 1 */
    void *image;              /* drivers before CUDA 12.0: our copy, `image_size` bytes */
    size_t image_size;
    ptxgen_arch arch;
    uint32_t shared_bytes;
    _Atomic(pg_cuda_function *) first;
    pthread_mutex_t lock;
    char entry[]; /* NUL-terminated */
};

/* device.h's pg_cuda_device_create with another library than libcuda.so.1 (tests: a stub). */
ptxgen_status pg_cuda_device_open(const pg_alloc *alloc, const pg_log *log, const char *library,
                                  pg_device **out, ptxgen_error *err);

/* module.c */
ptxgen_status pg_cuda_load(pg_device *, const pg_image *, pg_loaded **out, ptxgen_error *);
bool pg_cuda_ready(pg_device *, const pg_loaded *);
void pg_cuda_unload(pg_device *, pg_loaded *);
/* The functions in the scope's context, resolved now if need be (which a capture forbids:
 * ECAPTURE). */
ptxgen_status pg_cuda_resolve(pg_cuda *, pg_loaded *, const pg_cuda_scope *,
                              const pg_cuda_function **out, ptxgen_error *);

/* launch.c */
ptxgen_status pg_cuda_launch(pg_device *, pg_loaded *, const pg_launch *, ptxgen_stream,
                             ptxgen_error *);

/* workspace.c */
ptxgen_status pg_cuda_borrow(pg_device *, size_t bytes, ptxgen_stream, void **out, ptxgen_error *);
ptxgen_status pg_cuda_give_back(pg_device *, void *, ptxgen_stream, ptxgen_error *);

/* memory.c */
ptxgen_status pg_cuda_alloc(pg_device *, size_t bytes, void **out, ptxgen_error *);
void pg_cuda_free(pg_device *, void *);
ptxgen_status pg_cuda_upload(pg_device *, void *to, const void *from, size_t bytes, ptxgen_error *);
ptxgen_status pg_cuda_download(pg_device *, void *to, const void *from, size_t bytes,
                               ptxgen_error *);
ptxgen_status pg_cuda_time(pg_device *, const pg_timed *, double *us, ptxgen_error *);
ptxgen_status pg_cuda_synchronize(pg_device *, ptxgen_stream, ptxgen_error *);

/* record.c: the bad-index record of a context */
/* Makes the scope's context have an empty record. Not while its stream is captured. */
ptxgen_status pg_cuda_make_record(pg_cuda *, const pg_cuda_scope *, ptxgen_error *);
ptxgen_status pg_cuda_take_bad_index(pg_device *, ptxgen_stream, pg_bad_index *out, ptxgen_error *);

/* watch.c */
ptxgen_status pg_cuda_watch(pg_device *, pg_watch *, void *record, ptxgen_stream, ptxgen_error *);
ptxgen_status pg_cuda_watched(pg_device *, const pg_watch *, bool *done, pg_bad_index *out,
                              ptxgen_error *);
void pg_cuda_unwatch(pg_device *, pg_watch *);

/* tensor_map.c: 128 bytes at `map` (64-byte aligned) from the spec, checked against the limits that
 * the driver would answer with a bare error 1. Needs a current context. */
ptxgen_status pg_cuda_encode_tensor(const pg_driver *, const pg_tensor_spec *, void *map,
                                    ptxgen_error *);

#endif
