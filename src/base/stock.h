/* Memory that is there before it is asked for: slots of one size, taken from the allocator and
 * touched ahead by a thread that has time, so that a call that may not stall meets neither the
 * allocator's growth nor a page fault. Any number of threads may take and give; none waits. */
#ifndef PG_STOCK_H
#define PG_STOCK_H

#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct pg_stock {
    pg_alloc alloc;
    size_t slot_size;
    uint32_t slots;
    atomic_bool begun;               /* somebody fills it, or has */
    _Atomic(unsigned char *) memory; /* the slots, behind them next[]; NULL: not filled */
    /* The first free slot, counted from 1, and above it how often one was taken: a slot that was
     * taken and given back in between is seen. */
    atomic_uint_fast64_t head;
} pg_stock;

/* slot_size: a multiple of 16. */
void pg_stock_init(pg_stock *, const pg_alloc *, size_t slot_size, uint32_t slots);
/* Once; without memory the stock stays empty. */
void pg_stock_fill(pg_stock *);
/* `size` bytes that hold anything, from a slot or, where none is free or large enough, from the
 * allocator; NULL: out of memory. `size` again when they are given back. */
void *pg_stock_take(pg_stock *, size_t size);
void pg_stock_give(pg_stock *, void *p, size_t size);
/* What was taken from it is gone with it. */
void pg_stock_fini(pg_stock *);

#endif
