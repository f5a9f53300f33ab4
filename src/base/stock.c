/* A free list without a lock (Treiber, 1986). Which slot follows stands beside the slots and not
 * in them: it is read while another thread may have taken the slot. */
#include "base/stock.h"

#include <string.h>

void pg_stock_init(pg_stock *s, const pg_alloc *alloc, size_t slot_size, uint32_t slots)
{
    s->alloc = *alloc;
    s->slot_size = slot_size;
    s->slots = slots;
    atomic_init(&s->begun, false);
    atomic_init(&s->memory, NULL);
    atomic_init(&s->head, 0);
}

static size_t bytes_of(const pg_stock *s)
{
    return (s->slot_size + sizeof(atomic_uint)) * s->slots;
}

static atomic_uint *next_of(const pg_stock *s, unsigned char *memory, uint32_t slot)
{
    return (atomic_uint *)(void *)(memory + s->slot_size * s->slots) + (slot - 1);
}

void pg_stock_fill(pg_stock *s)
{
    if (atomic_exchange(&s->begun, true))
        return;
    unsigned char *const memory = s->alloc.realloc(s->alloc.user, NULL, 0, bytes_of(s));
    if (!memory)
        return;
    memset(memory, 0, bytes_of(s)); /* and so the last has none behind it */
    for (uint32_t slot = 1; slot < s->slots; slot++)
        atomic_init(next_of(s, memory, slot), slot + 1);
    atomic_store(&s->memory, memory);
    atomic_store(&s->head, 1);
}

void *pg_stock_take(pg_stock *s, size_t size)
{
    uint_fast64_t head = atomic_load(&s->head);
    unsigned char *const memory = atomic_load(&s->memory);
    while (size <= s->slot_size && (uint32_t)head) {
        const uint32_t first = (uint32_t)head;
        const uint_fast64_t rest =
            ((head >> 32) + 1) << 32 | atomic_load(next_of(s, memory, first));
        if (atomic_compare_exchange_weak(&s->head, &head, rest))
            return memory + s->slot_size * (first - 1);
    }
    return s->alloc.realloc(s->alloc.user, NULL, 0, size);
}

void pg_stock_give(pg_stock *s, void *p, size_t size)
{
    unsigned char *const memory = atomic_load(&s->memory);
    const uintptr_t offset = (uintptr_t)p - (uintptr_t)memory;
    if (!memory || offset >= s->slot_size * s->slots) {
        pg_free(&s->alloc, p, size);
        return;
    }
    const uint32_t slot = (uint32_t)(offset / s->slot_size) + 1;
    uint_fast64_t head = atomic_load(&s->head);
    do
        atomic_store(next_of(s, memory, slot), (uint32_t)head);
    while (!atomic_compare_exchange_weak(&s->head, &head, (head >> 32) << 32 | slot));
}

void pg_stock_fini(pg_stock *s)
{
    pg_free(&s->alloc, atomic_exchange(&s->memory, NULL), bytes_of(s));
    atomic_store(&s->head, 0);
}
