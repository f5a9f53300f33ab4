/* See heap.h. */
#include "emulator/flow/heap.h"

#include "emulator/flow/control.h"
#include "emulator/machine/launch.h"
#include "emulator/machine/stop.h"

#include <string.h>

enum { HEAP_ALIGN = 256, UNIT = 16, FIRST_BLOCKS = 64 };

pg_heap *pg_heap_new(const pg_alloc *alloc)
{
    pg_heap *heap = pg_alloc_zero(alloc, sizeof *heap);
    if (!heap)
        return NULL;
    heap->alloc = alloc;
    heap->whole = pg_alloc_zero(alloc, PG_HEAP_BYTES + HEAP_ALIGN);
    if (!heap->whole) {
        pg_free(alloc, heap, sizeof *heap);
        return NULL;
    }
    const uintptr_t at = (uintptr_t)heap->whole;
    heap->memory = (uint8_t *)heap->whole + (HEAP_ALIGN - at % HEAP_ALIGN) % HEAP_ALIGN;
    pthread_mutex_init(&heap->lock, NULL);
    return heap;
}

void pg_heap_free(pg_heap *heap)
{
    if (!heap)
        return;
    pthread_mutex_destroy(&heap->lock);
    pg_free(heap->alloc, heap->whole, PG_HEAP_BYTES + HEAP_ALIGN);
    if (heap->blocks)
        pg_free(heap->alloc, heap->blocks, heap->capacity * sizeof *heap->blocks);
    pg_free(heap->alloc, heap, sizeof *heap);
}

static bool has_room(pg_heap *h)
{
    if (h->count < h->capacity)
        return true;
    const uint32_t grown = h->capacity ? 2 * h->capacity : FIRST_BLOCKS;
    pg_heap_block *more = h->alloc->realloc(h->alloc->user, h->blocks, h->capacity * sizeof *more,
                                            grown * sizeof *more);
    if (!more)
        return false;
    h->blocks = more;
    h->capacity = grown;
    return true;
}

/* Puts a block into the first gap, in front of blocks[at]. */
static uint64_t insert(pg_heap *h, uint32_t bytes)
{
    uint32_t at = 0, offset = 0;
    while (at < h->count && h->blocks[at].offset - offset < bytes) {
        offset = h->blocks[at].offset + h->blocks[at].bytes;
        at++;
    }
    if (PG_HEAP_BYTES - offset < bytes || !has_room(h))
        return 0;
    memmove(h->blocks + at + 1, h->blocks + at, (h->count - at) * sizeof *h->blocks);
    h->blocks[at] = (pg_heap_block){offset, bytes};
    h->count++;
    return (uint64_t)(uintptr_t)(h->memory + offset);
}

uint64_t pg_heap_take(pg_heap *heap, uint64_t bytes)
{
    if (!bytes || bytes > PG_HEAP_BYTES)
        return 0;
    pthread_mutex_lock(&heap->lock);
    const uint64_t address = insert(heap, (uint32_t)((bytes + UNIT - 1) / UNIT * UNIT));
    pthread_mutex_unlock(&heap->lock);
    return address;
}

bool pg_heap_give_back(pg_heap *heap, uint64_t address)
{
    const uint64_t offset = address - (uint64_t)(uintptr_t)heap->memory;
    bool found = false;
    pthread_mutex_lock(&heap->lock);
    for (uint32_t i = 0; i < heap->count && !found; i++) {
        found = heap->blocks[i].offset == offset;
        if (found)
            memmove(heap->blocks + i, heap->blocks + i + 1,
                    (--heap->count - i) * sizeof *heap->blocks);
    }
    pthread_mutex_unlock(&heap->lock);
    return found;
}

/* ---- the calls ---- */

pg_step pg_op_malloc(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_call_target *t = op->extra;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t bytes = pg_call_argument(w, &t->args[0], l);
        pg_call_return(w, t, l, pg_heap_take(w->launch->heap, bytes));
    }
    return PG_NEXT;
}

pg_step pg_op_free(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_call_target *t = op->extra;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t address = pg_call_argument(w, &t->args[0], l);
        if (address && !pg_heap_give_back(w->launch->heap, address))
            return pg_stop(w, op, PTXGEN_EEMULATOR,
                           "lane %d frees 0x%llx, which malloc has not given or was freed before",
                           l, (unsigned long long)address);
    }
    return PG_NEXT;
}
