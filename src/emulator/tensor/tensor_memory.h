/* Tensor memory of a CTA: 128 lanes x 512 columns of 32-bit words, and who has which columns. An
 * address is lane << 16 | column. Words lie lane by lane, so that a row of an accumulator is
 * contiguous on the host.
 *
 * Columns are handed out in units of 32, over all lanes, by tcgen05.alloc (tcgen05_alloc.c); the
 * allocator below is plain data without a warp or a launch. A pg_tensor_memory exists from the
 * CTA's first tcgen05.alloc on and belongs to it; only the host thread that runs the cluster
 * touches it. Source: PTX ISA 9.0, section 9.7.16.1. */
#ifndef PG_EMULATOR_TENSOR_MEMORY_H
#define PG_EMULATOR_TENSOR_MEMORY_H

#include "emulator/machine/launch.h"

enum {
    PG_TENSOR_LANES = 128,
    PG_TENSOR_COLUMNS = 512,
    PG_TENSOR_UNIT = 32, /* columns that are allocated together */
    PG_TENSOR_UNITS = PG_TENSOR_COLUMNS / PG_TENSOR_UNIT,
    PG_TENSOR_LANE_SHIFT = 16
};

static inline uint32_t pg_tensor_lane(uint32_t address)
{
    return address >> PG_TENSOR_LANE_SHIFT;
}
static inline uint32_t pg_tensor_column(uint32_t address)
{
    return address & 0xffff;
}

typedef struct pg_tensor_allocator {
    uint16_t used; /* a bit per unit */
    /* columns of the allocation that begins at a unit; 0: none begins there */
    uint16_t size[PG_TENSOR_UNITS];
    uint32_t last_columns; /* of the latest allocation; 0: there was none */
    bool relinquished;
} pg_tensor_allocator;

/* The first column of the lowest run of `columns` columns whose units are clear in `used`; -1:
 * there is none. */
int pg_tensor_find(uint32_t used, uint32_t columns);
void pg_tensor_take(pg_tensor_allocator *a, uint32_t first, uint32_t columns);
/* Takes back exactly one allocation; false: none of this size begins at `first`. */
bool pg_tensor_give_back(pg_tensor_allocator *a, uint32_t first, uint32_t columns);
uint32_t pg_tensor_free_columns(const pg_tensor_allocator *a);
/* Whether all of `count` columns from `first` on are allocated. */
bool pg_tensor_is_allocated(const pg_tensor_allocator *a, uint32_t first, uint32_t count);

/* What a warp does together with a warp of the other CTA of its pair (cta_group::2): at most one
 * at a time. */
typedef enum pg_tensor_call {
    PG_TENSOR_NO_CALL,
    PG_TENSOR_ALLOC,
    PG_TENSOR_DEALLOC,
    PG_TENSOR_RELINQUISH
} pg_tensor_call;
typedef struct pg_tensor_pair_call {
    pg_tensor_call call; /* the warp has arrived at it */
    pg_warp *warp;
    uint32_t columns;
    uint32_t address; /* of dealloc; the result of alloc */
    bool done;        /* the other CTA has carried it out for both */
} pg_tensor_pair_call;

typedef struct pg_tensor_memory {
    uint32_t word[PG_TENSOR_LANES][PG_TENSOR_COLUMNS];
    pg_tensor_allocator allocator;
    pg_tensor_pair_call pair;
    /* 1 or 2, of every instruction of the kernel that has one; 0: none executed yet */
    uint8_t cta_group;
} pg_tensor_memory;

/* The CTA's tensor memory, made on first use; NULL: out of memory, the launch is stopped. */
pg_tensor_memory *pg_tensor_memory_of(pg_warp *w);
void pg_tensor_memory_free(pg_cta *cta);

/* Lanes and columns that an operand reaches, from its address on. */
typedef struct pg_tensor_extent {
    uint32_t address;
    uint32_t lanes, columns;
} pg_tensor_extent;
/* False: it is not all in columns that the CTA has allocated; the launch is stopped. `what`
 * names the operand. */
bool pg_tensor_reachable(pg_warp *w, const pg_op *op, const pg_cta *cta,
                         const pg_tensor_extent *extent, const char *what);
/* False: the kernel has used the other .cta_group before, or its cluster has no pairs; the
 * launch is stopped. */
bool pg_tensor_group(pg_warp *w, const pg_op *op, uint32_t cta_group);
/* The other CTA of the pair: ranks that differ in the last bit. NULL: the cluster has no such
 * CTA. */
static inline pg_cta *pg_pair_of(const pg_cta *cta)
{
    const uint32_t rank = cta->rank ^ 1;
    return rank < cta->cluster->cta_count ? &cta->cluster->ctas[rank] : NULL;
}

#endif
