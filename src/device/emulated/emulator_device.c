/* The emulator as a device (device/device.h): host memory is device memory, a launch runs the
 * PTX on the CPU and returns when the grid has ended, streams mean nothing. It calls the public
 * emulator API only, so it is also an example of it. */
#include "device/emulated/emulator_device.h"

#include "base/clock.h"
#include "base/error.h"
#include "ptxgen/emulator.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A GPU of few multiprocessors: every one of them makes threads that the CPU has to run. */
enum {
    SM_COUNT = 8,
    L2_BYTES = 50 << 20,
    ALIGNMENT = 256,
    TENSOR_MAP_BYTES = 128,
    WARP_LANES = 32
};

typedef struct emulator_device {
    pg_device device;
    pg_alloc alloc;
    ptxgen_emulator *emulator;
    ptxgen_device_info info;
    pthread_mutex_t record_lock;
    _Alignas(16) pg_bad_index record;
} emulator_device;

struct pg_loaded {
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entries[PG_MAX_PARTS];
    bool user_code;
};

static emulator_device *of(pg_device *d)
{
    return (emulator_device *)d;
}

static void destroy(pg_device *d)
{
    emulator_device *e = of(d);
    const pg_alloc alloc = e->alloc;
    ptxgen_emulator_destroy(e->emulator);
    pthread_mutex_destroy(&e->record_lock);
    pg_free(&alloc, e, sizeof *e);
}

static ptxgen_status info(pg_device *d, const ptxgen_device_info **out, ptxgen_error *err)
{
    (void)err;
    *out = &of(d)->info;
    return PTXGEN_OK;
}

static ptxgen_status capturing(pg_device *d, ptxgen_stream stream, bool *out, ptxgen_error *err)
{
    (void)d;
    (void)stream;
    (void)err;
    *out = false;
    return PTXGEN_OK;
}

static bool ready(pg_device *d, const pg_loaded *loaded)
{
    (void)d;
    (void)loaded;
    return true;
}

static void unload(pg_device *d, pg_loaded *loaded)
{
    ptxgen_emulator_unload(loaded->module);
    pg_free(&of(d)->alloc, loaded, sizeof *loaded);
}

static ptxgen_status find_entries(const pg_image *image, pg_loaded *loaded, ptxgen_error *err)
{
    char name[128];
    if (!image->parts)
        return ptxgen_emulator_find(loaded->module, image->entry, &loaded->entries[0], err);
    for (int i = 0; image->parts[i]; i++) {
        snprintf(name, sizeof name, "%s_%s", image->entry, image->parts[i]);
        PG_TRY(ptxgen_emulator_find(loaded->module, name, &loaded->entries[i], err));
    }
    return PTXGEN_OK;
}

static ptxgen_status load(pg_device *d, const pg_image *image, pg_loaded **out, ptxgen_error *err)
{
    emulator_device *e = of(d);
    if (*out)
        return PTXGEN_OK;
    pg_loaded *loaded = pg_alloc_zero(&e->alloc, sizeof *loaded);
    if (!loaded)
        return pg_fail_memory(err, sizeof *loaded);
    loaded->user_code = image->user_code;
    ptxgen_status status = ptxgen_emulator_load(e->emulator, image->ptx, image->ptx_size,
                                                image->entry, &loaded->module, err);
    if (status == PTXGEN_OK)
        status = find_entries(image, loaded, err);
    if (status != PTXGEN_OK) {
        unload(d, loaded);
        return status;
    }
    *out = loaded;
    return PTXGEN_OK;
}

static ptxgen_status encode(const pg_tensor_spec *spec, void *out, ptxgen_error *err)
{
    ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                      .data_type = (int)spec->type,
                                      .rank = spec->rank,
                                      .address = spec->address,
                                      .swizzle = (int)spec->swizzle,
                                      .l2_promotion = (int)spec->l2_promotion,
                                      .oob_fill = (int)spec->nan_fill};
    memcpy(map.dims, spec->dims, sizeof map.dims);
    memcpy(map.strides, spec->strides, sizeof map.strides);
    memcpy(map.box, spec->box, sizeof map.box);
    return ptxgen_emulator_encode_tensor_map(&map, out, err);
}

/* Warp instructions after which a kernel with a function of the user's is stopped: beyond what
 * results of memory's size take, and soon enough where the function does not end. */
static uint64_t most_instructions(const pg_launch *l)
{
    const uint64_t start = 100000000, warp = 20000000;
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
                   threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    return start + warp * blocks * ((threads + WARP_LANES - 1) / WARP_LANES);
}

static ptxgen_status run(const pg_loaded *loaded, const pg_launch *l,
                         ptxgen_emulator_launch *launch, ptxgen_error *err)
{
    if (loaded->user_code)
        launch->instruction_budget = most_instructions(l);
    const ptxgen_status status = ptxgen_emulator_run(loaded->entries[l->part], launch, err);
    if (status != PTXGEN_EBUDGET)
        return status;
    return pg_fail(err, PTXGEN_EBUDGET,
                   "the emulator stopped the kernel after %llu warp instructions: its user "
                   "function seems not to end for some element; bound its loops",
                   (unsigned long long)launch->instruction_budget);
}

static ptxgen_status launch(pg_device *d, pg_loaded *loaded, const pg_launch *l,
                            ptxgen_stream stream, ptxgen_error *err)
{
    emulator_device *e = of(d);
    pg_bad_index *record = &e->record;
    void *args[PG_LAUNCH_MAX_ARGS];
    _Alignas(64) unsigned char maps[PG_LAUNCH_MAX_ARGS][TENSOR_MAP_BYTES];
    (void)stream;
    for (uint32_t i = 0; i < l->nargs; i++) {
        const pg_arg *a = &l->args[i];
        switch (a->kind) {
        case PG_ARG_TENSOR:
            PG_TRY(encode(&a->tensor, maps[i], err));
            args[i] = maps[i];
            break;
        case PG_ARG_RECORD:
            args[i] = &record;
            break;
        case PG_ARG_U32:
            args[i] = (void *)&a->u32;
            break;
        case PG_ARG_U64:
        case PG_ARG_POINTER:
            args[i] = (void *)&a->u64;
            break;
        }
    }
    ptxgen_emulator_launch launch = {.size = sizeof launch,
                                     .dynamic_shared = l->shared_bytes,
                                     .args = args,
                                     .arg_count = l->nargs};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    memcpy(launch.cluster, l->cluster, sizeof launch.cluster);
    return run(loaded, l, &launch, err);
}

/* ---- memory: an aligned block with its size before it ---- */

typedef struct block_head {
    void *block;
    size_t size; /* of the whole block */
} block_head;

static ptxgen_status device_alloc(pg_device *d, size_t bytes, void **out, ptxgen_error *err)
{
    const pg_alloc *a = &of(d)->alloc;
    const size_t extra = ALIGNMENT + sizeof(block_head);
    if (bytes > SIZE_MAX - extra)
        return pg_fail_memory(err, bytes);
    char *block = a->realloc(a->user, NULL, 0, bytes + extra);
    if (!block)
        return pg_fail_memory(err, bytes + extra);
    char *p = block + sizeof(block_head);
    p += (ALIGNMENT - (uintptr_t)p % ALIGNMENT) % ALIGNMENT;
    const block_head head = {block, bytes + extra};
    memcpy(p - sizeof head, &head, sizeof head);
    *out = p;
    return PTXGEN_OK;
}

static void device_free(pg_device *d, void *p)
{
    block_head head;
    memcpy(&head, (char *)p - sizeof head, sizeof head);
    pg_free(&of(d)->alloc, head.block, head.size);
}

static ptxgen_status borrow(pg_device *d, size_t bytes, ptxgen_stream stream, void **out,
                            ptxgen_error *err)
{
    (void)stream;
    return device_alloc(d, bytes, out, err);
}

static ptxgen_status give_back(pg_device *d, void *p, ptxgen_stream stream, ptxgen_error *err)
{
    (void)stream;
    (void)err;
    device_free(d, p);
    return PTXGEN_OK;
}

static ptxgen_status copy(pg_device *d, void *to, const void *from, size_t bytes, ptxgen_error *err)
{
    (void)d;
    (void)err;
    memcpy(to, from, bytes);
    return PTXGEN_OK;
}

static ptxgen_status synchronize(pg_device *d, ptxgen_stream stream, ptxgen_error *err)
{
    (void)d;
    (void)stream;
    (void)err;
    return PTXGEN_OK;
}

static ptxgen_status take_bad_index(pg_device *d, ptxgen_stream stream, pg_bad_index *out,
                                    ptxgen_error *err)
{
    emulator_device *e = of(d);
    (void)stream;
    (void)err;
    pthread_mutex_lock(&e->record_lock);
    *out = e->record;
    e->record = PG_BAD_INDEX_EMPTY;
    pthread_mutex_unlock(&e->record_lock);
    return PTXGEN_OK;
}

/* Launches are carried out at once, so there is nothing to wait for. */
static ptxgen_status watch(pg_device *d, pg_watch *w, void *record, ptxgen_stream stream,
                           ptxgen_error *err)
{
    pg_bad_index *const from = record;
    (void)stream;
    if (!w->seen)
        w->seen = pg_alloc_zero(&of(d)->alloc, sizeof *w->seen);
    if (!w->seen)
        return pg_fail_memory(err, sizeof *w->seen);
    *w->seen = *from;
    *from = PG_BAD_INDEX_EMPTY;
    return PTXGEN_OK;
}

static ptxgen_status watched(pg_device *d, const pg_watch *w, bool *done, pg_bad_index *out,
                             ptxgen_error *err)
{
    (void)d;
    (void)err;
    *done = true;
    *out = *w->seen;
    return PTXGEN_OK;
}

static void unwatch(pg_device *d, pg_watch *w)
{
    pg_free(&of(d)->alloc, w->seen, w->seen ? sizeof *w->seen : 0);
}

/* There are no contexts here. */
static ptxgen_status where(pg_device *device, void **out, ptxgen_error *err)
{
    (void)err;
    *out = device;
    return PTXGEN_OK;
}

static ptxgen_status enter(pg_device *device, void *context, ptxgen_error *err)
{
    (void)context;
    return device ? PTXGEN_OK : pg_fail(err, PTXGEN_EINVAL, "no device");
}

static void leave(pg_device *device, void *context)
{
    (void)device;
    (void)context;
}

/* Launches are carried out at once: by the clock. */
static ptxgen_status time_calls(pg_device *device, pg_enqueue *enqueue, void *user, int repeat,
                                double *us, ptxgen_error *err)
{
    (void)device;
    const int64_t start = pg_clock_ns();
    for (int i = 0; i < repeat; i++)
        PG_TRY(enqueue(user, NULL, err));
    *us = 1e-3 * (double)(pg_clock_ns() - start) / repeat;
    return PTXGEN_OK;
}

static const pg_device_ops ops = {
    .kind = PTXGEN_DEVICE_EMULATOR,
    .destroy = destroy,
    .info = info,
    .capturing = capturing,
    .load = load,
    .ready = ready,
    .unload = unload,
    .where = where,
    .enter = enter,
    .leave = leave,
    .launch = launch,
    .borrow = borrow,
    .give_back = give_back,
    .alloc = device_alloc,
    .free = device_free,
    .upload = copy,
    .download = copy,
    .synchronize = synchronize,
    .time = time_calls,
    .take_bad_index = take_bad_index,
    .watch = watch,
    .watched = watched,
    .unwatch = unwatch,
};

ptxgen_status pg_emulator_device_create(const pg_alloc *alloc, const pg_log *log, uint32_t sm_count,
                                        pg_device **out, ptxgen_error *err)
{
    emulator_device *e = pg_alloc_zero(alloc, sizeof *e);
    if (!e)
        return pg_fail_memory(err, sizeof *e);
    /* One `user` serves both hooks, here as in ptxgen_config; libc needs none. */
    const bool own_alloc = alloc->realloc != pg_alloc_libc.realloc;
    /* Pointers are the caller's, as on a GPU: what they reach is not known here. */
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .trust_pointers = true,
                                           .realloc = own_alloc ? alloc->realloc : NULL,
                                           .log = log->write,
                                           .user = own_alloc ? alloc->user : log->user,
                                           .log_level = log->level};
    const ptxgen_status status = ptxgen_emulator_create(&config, &e->emulator, err);
    if (status != PTXGEN_OK) {
        pg_free(alloc, e, sizeof *e);
        return status;
    }
    e->device.ops = &ops;
    e->alloc = *alloc;
    e->info = (ptxgen_device_info){.size = sizeof e->info,
                                   .kind = PTXGEN_DEVICE_EMULATOR,
                                   .arch = 901,
                                   .sm_count = sm_count ? (int)sm_count : SM_COUNT,
                                   .shared_bytes_per_block = 227 << 10,
                                   .l2_bytes = L2_BYTES};
    snprintf(e->info.name, sizeof e->info.name, "emulator (CPU)");
    e->record = PG_BAD_INDEX_EMPTY;
    pthread_mutex_init(&e->record_lock, NULL);
    *out = &e->device;
    return PTXGEN_OK;
}
