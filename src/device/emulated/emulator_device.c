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

/* Device memory: an aligned block with its head before it. */
typedef struct block_head {
    struct block_head *before, *after; /* of all there are */
    void *block;
    size_t size; /* of the whole block */
    size_t bytes;
} block_head;

/* TRUSTING takes every address of a kernel as good, as pointers may be of any memory. A kernel
 * with a function of the user's may make up addresses: CONFINED knows the device's allocations, the
 * call's operands and the variables of the kernel, and stops a kernel that leaves them. */
typedef enum side { TRUSTING, CONFINED, SIDES } side;

typedef struct emulator_device {
    pg_device device;
    pg_alloc alloc;
    ptxgen_emulator *emulators[SIDES];
    ptxgen_device_info info;
    pthread_mutex_t block_lock, guest_lock;
    block_head *blocks;
    pthread_mutex_t record_lock;
    _Alignas(16) pg_bad_index record;
} emulator_device;

struct pg_loaded {
    side on;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entries[PG_MAX_PARTS];
};

static emulator_device *of(pg_device *d)
{
    return (emulator_device *)d;
}

static void destroy(pg_device *d)
{
    emulator_device *e = of(d);
    const pg_alloc alloc = e->alloc;
    for (int i = 0; i < SIDES; i++)
        ptxgen_emulator_destroy(e->emulators[i]);
    pthread_mutex_destroy(&e->block_lock);
    pthread_mutex_destroy(&e->guest_lock);
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

static ptxgen_status find_entries(const pg_image *image, ptxgen_emulator_module *module,
                                  ptxgen_emulator_entry **entries, ptxgen_error *err)
{
    char name[128];
    if (!image->parts)
        return ptxgen_emulator_find(module, image->entry, &entries[0], err);
    for (int i = 0; image->parts[i]; i++) {
        snprintf(name, sizeof name, "%s_%s", image->entry, image->parts[i]);
        PG_TRY(ptxgen_emulator_find(module, name, &entries[i], err));
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
    loaded->on = image->user_code ? CONFINED : TRUSTING;
    ptxgen_status status = ptxgen_emulator_load(
        e->emulators[loaded->on], image->ptx, image->ptx_size, image->entry, &loaded->module, err);
    if (status == PTXGEN_OK)
        status = find_entries(image, loaded->module, loaded->entries, err);
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

/* Whether the device has allocated what is at the address. */
static bool allocated_here(emulator_device *e, uint64_t address)
{
    pthread_mutex_lock(&e->block_lock);
    const block_head *b = e->blocks;
    while (b && address - (uint64_t)(uintptr_t)(b + 1) >= b->bytes)
        b = b->after;
    pthread_mutex_unlock(&e->block_lock);
    return b != NULL;
}

/* Lets the confined kernel use the caller's memory for the time of a launch; how many of the ranges
 * are in. Those of the device's allocations are. */
static uint32_t admit(emulator_device *e, const pg_launch *l, ptxgen_error *err)
{
    for (uint32_t i = 0; i < l->range_count; i++) {
        const pg_range *r = &l->ranges[i];
        const unsigned flags = r->written ? PTXGEN_EMULATOR_WRITABLE : 0;
        if (!allocated_here(e, (uintptr_t)r->first) &&
            ptxgen_emulator_add_buffer(e->emulators[CONFINED], "operand", r->first, r->bytes, flags,
                                       err) != PTXGEN_OK)
            return i;
    }
    return l->range_count;
}

static void dismiss(emulator_device *e, const pg_launch *l, uint32_t admitted)
{
    for (uint32_t i = 0; i < admitted; i++)
        if (!allocated_here(e, (uintptr_t)l->ranges[i].first))
            ptxgen_emulator_remove_buffer(e->emulators[CONFINED], l->ranges[i].first);
}

static ptxgen_status run_confined(emulator_device *e, const pg_loaded *loaded, const pg_launch *l,
                                  ptxgen_emulator_launch *launch, ptxgen_error *err)
{
    launch->instruction_budget = most_instructions(l);
    pthread_mutex_lock(&e->guest_lock); /* two calls may pass the same memory */
    const uint32_t admitted = admit(e, l, err);
    const ptxgen_status status = admitted == l->range_count
                                     ? ptxgen_emulator_run(loaded->entries[l->part], launch, err)
                                     : err->status;
    dismiss(e, l, admitted);
    pthread_mutex_unlock(&e->guest_lock);
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
    return loaded->on == CONFINED ? run_confined(e, loaded, l, &launch, err)
                                  : ptxgen_emulator_run(loaded->entries[l->part], &launch, err);
}

/* ---- memory ---- */

static void link_block(emulator_device *e, block_head *b)
{
    pthread_mutex_lock(&e->block_lock);
    b->before = NULL;
    b->after = e->blocks;
    if (b->after)
        b->after->before = b;
    e->blocks = b;
    pthread_mutex_unlock(&e->block_lock);
}

static void unlink_block(emulator_device *e, const block_head *b)
{
    pthread_mutex_lock(&e->block_lock);
    if (b->after)
        b->after->before = b->before;
    if (b->before)
        b->before->after = b->after;
    else
        e->blocks = b->after;
    pthread_mutex_unlock(&e->block_lock);
}

static ptxgen_status device_alloc(pg_device *d, size_t bytes, void **out, ptxgen_error *err)
{
    emulator_device *e = of(d);
    const pg_alloc *a = &e->alloc;
    const size_t extra = ALIGNMENT + sizeof(block_head);
    if (bytes > SIZE_MAX - extra)
        return pg_fail_memory(err, bytes);
    char *block = a->realloc(a->user, NULL, 0, bytes + extra);
    if (!block)
        return pg_fail_memory(err, bytes + extra);
    char *p = block + sizeof(block_head);
    p += (ALIGNMENT - (uintptr_t)p % ALIGNMENT) % ALIGNMENT;
    block_head *head = (block_head *)(void *)p - 1;
    *head = (block_head){.block = block, .size = bytes + extra, .bytes = bytes ? bytes : 1};
    const ptxgen_status status = ptxgen_emulator_add_buffer(
        e->emulators[CONFINED], "device memory", p, head->bytes, PTXGEN_EMULATOR_WRITABLE, err);
    if (status != PTXGEN_OK) {
        pg_free(a, block, bytes + extra);
        return status;
    }
    link_block(e, head);
    *out = p;
    return PTXGEN_OK;
}

static void device_free(pg_device *d, void *p)
{
    emulator_device *e = of(d);
    const block_head *head = (const block_head *)p - 1;
    ptxgen_emulator_remove_buffer(e->emulators[CONFINED], p);
    unlink_block(e, head);
    pg_free(&e->alloc, head->block, head->size);
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
static ptxgen_status time_calls(pg_device *device, const pg_timed *what, double *us,
                                ptxgen_error *err)
{
    (void)device;
    const int64_t start = pg_clock_ns();
    for (int i = 0; i < what->repeat; i++)
        PG_TRY(what->enqueue(what->user, NULL, err));
    *us = 1e-3 * (double)(pg_clock_ns() - start) / what->repeat;
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
    ptxgen_emulator_config config = {.size = sizeof config,
                                     .realloc = own_alloc ? alloc->realloc : NULL,
                                     .log = log->write,
                                     .user = own_alloc ? alloc->user : log->user,
                                     .log_level = log->level};
    ptxgen_status status = ptxgen_emulator_create(&config, &e->emulators[CONFINED], err);
    config.trust_pointers = true;
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_create(&config, &e->emulators[TRUSTING], err);
    e->record = PG_BAD_INDEX_EMPTY;
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_add_buffer(e->emulators[CONFINED], "record", &e->record,
                                            sizeof e->record, PTXGEN_EMULATOR_WRITABLE, err);
    if (status != PTXGEN_OK) {
        for (int i = 0; i < SIDES; i++)
            ptxgen_emulator_destroy(e->emulators[i]);
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
    pthread_mutex_init(&e->block_lock, NULL);
    pthread_mutex_init(&e->guest_lock, NULL);
    pthread_mutex_init(&e->record_lock, NULL);
    *out = &e->device;
    return PTXGEN_OK;
}
