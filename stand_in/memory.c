/* Memory: see memory.h. The table is sorted by address; the emulator has one of its own for what
 * kernels may touch. */
#include "stand_in/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, GUARD = 256, PATTERN = 0xcd, PATTERN_MOST = 256 << 20 };

static pg_allocation *table; /* under the device's lock */
static size_t count, capacity;
static uint64_t used;

/* How many begin at or below `address`. */
static size_t place_of(const void *address)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)table[middle].address <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const char *kind_name(const pg_allocation *a)
{
    if (a->registered)
        return "registered memory";
    return a->kind == PG_MEMORY_DEVICE ? "device memory"
           : a->kind == PG_MEMORY_HOST ? "pinned memory"
                                       : "managed memory";
}

static pg_cuda_error insert(pg_device *d, const pg_allocation *a)
{
    ptxgen_error err;
    if (count == capacity) {
        const size_t grown = capacity ? 2 * capacity : 64;
        pg_allocation *more = realloc(table, grown * sizeof *more);
        if (!more)
            return PG_CUDA_MemoryAllocation;
        table = more;
        capacity = grown;
    }
    if (ptxgen_emulator_add_buffer(d->emulator, kind_name(a), a->address, a->bytes,
                                   PTXGEN_EMULATOR_WRITABLE, &err) != PTXGEN_OK) {
        pg_complain("%s", err.message);
        return PG_CUDA_InvalidValue;
    }
    const size_t at = place_of(a->address);
    memmove(&table[at + 1], &table[at], (count - at) * sizeof *table);
    table[at] = *a;
    count++;
    used += a->kind == PG_MEMORY_HOST ? 0 : a->bytes;
    return PG_CUDA_Success;
}

pg_cuda_error pg_memory_allocate(size_t bytes, pg_memory_kind kind, unsigned flags, void **out)
{
    pg_device *d = pg_device_get();
    void *address;
    *out = NULL;
    if (!d)
        return PG_CUDA_InitializationError;
    if (!bytes || pg_lost())
        return pg_lost();
    pthread_mutex_lock(&d->lock);
    pg_cuda_error error = PG_CUDA_MemoryAllocation;
    const bool fits = kind == PG_MEMORY_HOST ||
                      (bytes <= d->settings.memory && used <= d->settings.memory - bytes);
    if (fits && !posix_memalign(&address, ALIGNMENT, bytes + GUARD)) {
        if (bytes <= PATTERN_MOST)
            memset(address, PATTERN, bytes + GUARD);
        error = insert(d, &(pg_allocation){address, bytes, kind, false, flags});
        if (error)
            free(address);
        else
            *out = address;
    }
    pthread_mutex_unlock(&d->lock);
    return error;
}

static void take_out(pg_device *d, size_t at)
{
    used -= table[at].kind == PG_MEMORY_HOST ? 0 : table[at].bytes;
    ptxgen_emulator_remove_buffer(d->emulator, table[at].address);
    if (!table[at].registered)
        free(table[at].address);
    count--;
    memmove(&table[at], &table[at + 1], (count - at) * sizeof *table);
}

static bool same_kind(const pg_allocation *a, pg_memory_kind kind)
{
    if (a->registered)
        return false;
    /* cudaFree takes managed memory as well. */
    return kind == PG_MEMORY_NONE || a->kind == kind ||
           (kind == PG_MEMORY_DEVICE && a->kind == PG_MEMORY_MANAGED);
}

pg_cuda_error pg_memory_free(void *address, pg_memory_kind kind)
{
    pg_device *d = pg_device_get();
    if (!d || !address)
        return d ? PG_CUDA_Success : PG_CUDA_InitializationError;
    pthread_mutex_lock(&d->running); /* a kernel of another thread may use it still */
    pthread_mutex_lock(&d->lock);
    const size_t at = place_of(address);
    const bool found = at && table[at - 1].address == address && same_kind(&table[at - 1], kind);
    if (found)
        take_out(d, at - 1);
    pthread_mutex_unlock(&d->lock);
    pthread_mutex_unlock(&d->running);
    return found ? PG_CUDA_Success : PG_CUDA_InvalidValue;
}

pg_cuda_error pg_memory_register(void *address, size_t bytes, unsigned flags)
{
    pg_device *d = pg_device_get();
    pg_allocation known;
    if (!d || !address || !bytes)
        return d ? PG_CUDA_InvalidValue : PG_CUDA_InitializationError;
    if (pg_memory_find(address, &known))
        return PG_CUDA_HostMemoryAlreadyRegistered;
    pthread_mutex_lock(&d->lock);
    const pg_cuda_error error =
        insert(d, &(pg_allocation){address, bytes, PG_MEMORY_HOST, true, flags});
    pthread_mutex_unlock(&d->lock);
    return error;
}

pg_cuda_error pg_memory_unregister(void *address)
{
    pg_device *d = pg_device_get();
    if (!d)
        return PG_CUDA_InitializationError;
    pthread_mutex_lock(&d->running);
    pthread_mutex_lock(&d->lock);
    const size_t at = place_of(address);
    const bool found = at && table[at - 1].address == address && table[at - 1].registered;
    if (found)
        take_out(d, at - 1);
    pthread_mutex_unlock(&d->lock);
    pthread_mutex_unlock(&d->running);
    return found ? PG_CUDA_Success : PG_CUDA_HostMemoryNotRegistered;
}

bool pg_memory_find(const void *address, pg_allocation *out)
{
    pg_device *d = pg_device_get();
    if (!d)
        return false;
    pthread_mutex_lock(&d->lock);
    const size_t at = place_of(address);
    const bool found =
        at && (uintptr_t)address - (uintptr_t)table[at - 1].address < table[at - 1].bytes;
    if (found)
        *out = table[at - 1];
    pthread_mutex_unlock(&d->lock);
    return found;
}

bool pg_memory_holds(const char *what, const void *address, size_t bytes)
{
    pg_allocation a;
    if (!pg_memory_find(address, &a))
        return true;
    const size_t left = a.bytes - (size_t)((const char *)address - (const char *)a.address);
    if (bytes <= left)
        return true;
    pg_complain("a copy of %zu bytes: its %s has %zu left of an allocation of %zu", bytes, what,
                left, a.bytes);
    return false;
}

uint64_t pg_memory_used(void)
{
    pg_device *d = pg_device_get();
    if (!d)
        return 0;
    pthread_mutex_lock(&d->lock);
    const uint64_t bytes = used;
    pthread_mutex_unlock(&d->lock);
    return bytes;
}

void pg_copy_run(const pg_copy *c)
{
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memmove(c->to + z * c->to_slice + y * c->to_pitch,
                    c->from + z * c->from_slice + y * c->from_pitch, c->width);
}

void pg_fill_run(const pg_fill *f)
{
    for (size_t z = 0; z < f->depth; z++)
        for (size_t y = 0; y < f->height; y++) {
            char *row = f->to + z * f->slice + y * f->pitch;
            if (f->element_bytes == 1)
                memset(row, (int)f->value, f->width);
            else
                for (size_t x = 0; x < f->width; x++)
                    memcpy(row + x * f->element_bytes, &f->value, f->element_bytes);
        }
}
