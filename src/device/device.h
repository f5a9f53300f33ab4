/* A device: the CUDA driver, or the emulator, behind one table of functions.
 *
 * The CUDA one (cuda/) uses the caller's current context, else retains the primary context of
 * device 0; it never creates, resets or switches a context. The emulator one is in emulated/.
 * Every function may be called from any thread. */
#ifndef PG_DEVICE_H
#define PG_DEVICE_H

#include "base/alloc.h"
#include "device/launch.h"
#include "device/record.h"
#include "base/log.h"
#include "ptxgen/ptxgen.h"

typedef struct pg_device pg_device;
/* an image made ready on a device; opaque, belongs to the device */
typedef struct pg_loaded pg_loaded;

/* What can be loaded. All borrowed during the call, except what the device copies. */
typedef struct pg_image {
    const char *entry; /* .entry name */
    /* NULL: one entry; else the entries are entry_part (generate/family.h) */
    const char *const *parts;
    const void *cubin;
    size_t cubin_size;
    const char *ptx; /* NUL-terminated; what the emulator runs */
    size_t ptx_size;
    /* of the cubin: refused before the driver sees it when the device cannot run it */
    ptxgen_arch arch;
    uint32_t shared_bytes; /* dynamic shared memory of the largest launch */
    bool user_code;        /* a function of the user's is in it, which may never end */
} pg_image;

/* Puts work into a stream. */
typedef ptxgen_status pg_enqueue(void *user, ptxgen_stream stream, ptxgen_error *);
/* What is timed: so many calls of it. */
typedef struct pg_timed {
    pg_enqueue *enqueue;
    void *user;
    int repeat;
} pg_timed;

/* A look at a bad-index record that waits for nothing (device/cuda/watch.c). Zeros at first. */
typedef struct pg_watch {
    pg_bad_index *seen; /* host memory */
    void *event;
} pg_watch;

typedef struct pg_device_ops {
    ptxgen_device_kind kind;
    void (*destroy)(pg_device *);
    /* Facts of the device that a call from this thread would use. Cached: about 100 ns when
     * warm. */
    ptxgen_status (*info)(pg_device *, const ptxgen_device_info **out, ptxgen_error *);
    /* true when the stream is being captured: then nothing may be loaded, allocated or
     * synchronized. */
    ptxgen_status (*capturing)(pg_device *, ptxgen_stream, bool *out, ptxgen_error *);
    /* *out NULL: loads for all contexts and resolves the function in the current one. Else: the
     * same image, already loaded, is resolved in the current context too. One thread at a time
     * per image. */
    ptxgen_status (*load)(pg_device *, const pg_image *, pg_loaded **out, ptxgen_error *);
    /* The context of a call from this thread, for another one to load for it: between enter and
     * leave that thread works in it. It must live until then. */
    ptxgen_status (*where)(pg_device *, void **out, ptxgen_error *);
    ptxgen_status (*enter)(pg_device *, void *where, ptxgen_error *);
    void (*leave)(pg_device *, void *where);
    /* true when launch would not have to load or resolve anything in the current context. */
    bool (*ready)(pg_device *, const pg_loaded *);
    void (*unload)(pg_device *, pg_loaded *);
    ptxgen_status (*launch)(pg_device *, pg_loaded *, const pg_launch *, ptxgen_stream,
                            ptxgen_error *);
    /* Memory for the launches that follow in the stream, until it is given back there. A capture
     * keeps it as the graph's own. Aligned to 256 bytes. */
    ptxgen_status (*borrow)(pg_device *, size_t bytes, ptxgen_stream, void **out, ptxgen_error *);
    ptxgen_status (*give_back)(pg_device *, void *, ptxgen_stream, ptxgen_error *);
    ptxgen_status (*alloc)(pg_device *, size_t bytes, void **out, ptxgen_error *);
    void (*free)(pg_device *, void *);
    ptxgen_status (*upload)(pg_device *, void *device, const void *host, size_t, ptxgen_error *);
    ptxgen_status (*download)(pg_device *, void *host, const void *device, size_t, ptxgen_error *);
    ptxgen_status (*synchronize)(pg_device *, ptxgen_stream, ptxgen_error *);
    /* Microseconds of one `enqueue` among `repeat` in a row, on a stream of the device's own;
     * waits. */
    ptxgen_status (*time)(pg_device *, const pg_timed *, double *us, ptxgen_error *);
    /* Waits for the stream, then returns the current device's record and empties it. */
    ptxgen_status (*take_bad_index)(pg_device *, ptxgen_stream, pg_bad_index *out, ptxgen_error *);
    /* In stream order: what the record holds goes to host memory, then it is empty. */
    ptxgen_status (*watch)(pg_device *, pg_watch *, void *record, ptxgen_stream, ptxgen_error *);
    /* Whether the stream has come there; then what there was. */
    ptxgen_status (*watched)(pg_device *, const pg_watch *, bool *done, pg_bad_index *out,
                             ptxgen_error *);
    void (*unwatch)(pg_device *, pg_watch *);
} pg_device_ops;

/* Every device starts with its table. */
struct pg_device {
    const pg_device_ops *ops;
};

/* true when `load` failed because of the image's bytes: they are no whole cubin (EPARSE), or the
 * driver did not like them (CUDA errors 200, 209, 218). A fresh image may be better then; with
 * any other failure not. */
bool pg_is_bad_image(const ptxgen_error *err);

/* Opens libcuda and finds a device. EMISSING with the remedy when there is no driver or no
 * device. */
ptxgen_status pg_cuda_device_create(const pg_alloc *, const pg_log *, pg_device **out,
                                    ptxgen_error *);

#endif
