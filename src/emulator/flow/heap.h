/* malloc and free of device code: a heap in host memory, of one emulator, that lives as long as
 * it does, so that one kernel can free what another one has allocated. CUDA C++ Programming
 * Guide, "Dynamic Global Memory Allocation". */
#ifndef PG_EMULATOR_HEAP_H
#define PG_EMULATOR_HEAP_H

#include "base/alloc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { PG_HEAP_BYTES = 8 << 20 }; /* what a CUDA context has unless it says otherwise */

typedef struct pg_heap_block {
    uint32_t offset, bytes; /* multiples of 16 */
} pg_heap_block;

typedef struct pg_heap {
    const pg_alloc *alloc;
    pthread_mutex_t lock;
    uint8_t *memory;       /* PG_HEAP_BYTES, aligned to 256 */
    void *whole;           /* what was allocated for it */
    pg_heap_block *blocks; /* in use, by offset */
    uint32_t count, capacity;
} pg_heap;

/* NULL: out of memory. */
pg_heap *pg_heap_new(const pg_alloc *alloc);
void pg_heap_free(pg_heap *heap);
/* The lowest gap that is large enough, 16-byte aligned; 0: there is none, or no bytes were asked
 * for. */
uint64_t pg_heap_take(pg_heap *heap, uint64_t bytes);
/* False: nothing begins there. */
bool pg_heap_give_back(pg_heap *heap, uint64_t address);

#endif
