/* The kernels that a context has in memory: by identity, by recently used text, by recent calls,
 * and the record of what was asked for. A kernel is got here, and built and loaded when it is
 * not there or not ready. */
#ifndef PG_KERNEL_STORE_H
#define PG_KERNEL_STORE_H

#include "engine/build.h"
#include "engine/call_memo.h"
#include "engine/kernel_table.h"
#include "engine/manifest_record.h"
#include "engine/text_memo.h"

typedef struct pg_kernel_store {
    pg_engine *engine; /* borrowed */
    pg_kernel_table *table;
    pg_text_memo *texts;
    pg_call_memo *calls;
    pg_manifest_record *asked; /* for the manifest */
} pg_kernel_store;

/* Zeroed before; pg_kernel_store_fini also after a failure. `engine` outlives the store. */
ptxgen_status pg_kernel_store_init(pg_kernel_store *, pg_engine *engine, ptxgen_error *err);
/* Gives up every kernel. */
void pg_kernel_store_clear(pg_kernel_store *);
void pg_kernel_store_fini(pg_kernel_store *);

/* From the table, the disk or an assembler. */
ptxgen_status pg_kernel_store_get(pg_kernel_store *, const pg_kernel_id *id, pg_build_mode mode,
                                  ptxgen_kernel **out, ptxgen_error *err);
/* Makes a kernel that the caller holds ready on the device: when the driver refuses a cubin that
 * came from the disk, the kernel is compiled again and tried once more, and *k becomes the new
 * one. On failure the caller's reference is given up and *k is NULL. */
ptxgen_status pg_kernel_store_load(pg_kernel_store *, ptxgen_kernel **k, pg_device *,
                                   ptxgen_stream stream, ptxgen_error *err);
/* Both in one, for the kind of device: the emulator runs PTX, no cubin is made for it. Refuses
 * during capture before anything is built. */
ptxgen_status pg_kernel_store_ready(pg_kernel_store *, pg_device *, pg_kernel_id *id,
                                    ptxgen_stream stream, ptxgen_kernel **out, ptxgen_error *err);
/* The kernel with a reference when all that is left to do is to launch it on the device, else
 * NULL. */
ptxgen_kernel *pg_kernel_store_find_ready(pg_kernel_store *, pg_device *, pg_kernel_id *id);

/* Built and loaded with its helper on a thread behind the calls, whatever streams are captured. */
ptxgen_status pg_kernel_store_behind(pg_kernel_store *, pg_device *, pg_kernel_id *id,
                                     ptxgen_kernel **out, ptxgen_error *err);

/* Around fork(): the locks guard data that may be half-changed while they are held, so fork()
 * waits for them; they are held for moments, never while anything is built, loaded, logged or
 * allocated. */
void pg_kernel_store_before_fork(pg_kernel_store *);
void pg_kernel_store_after_fork(pg_kernel_store *, bool child);

#endif
