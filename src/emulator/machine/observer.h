/* What a checker or a profile hears: a table of calls that the rooms make while a program runs.
 * launch->observer is NULL in fast mode, which tests that pointer once per memory or
 * synchronising instruction and pays nothing else. An observer never stops a launch and never
 * changes a value. check/ and profile/ are those that exist; no other room knows them. NULL: it
 * does not listen. */
#ifndef PG_EMULATOR_OBSERVER_H
#define PG_EMULATOR_OBSERVER_H

#include "emulator/machine/memory.h"

struct pg_matrix_layout;
struct pg_matrix_shape;

/* A test of an mbarrier by a lane. */
typedef struct pg_observed_wait {
    uint64_t wanted; /* parity or state */
    bool done;
} pg_observed_wait;

/* Part of tensor memory: the lanes, 16 in each word, of some columns. */
typedef struct pg_tensor_area {
    uint16_t lanes[8];
    uint32_t column, columns;
    bool reads, writes;
} pg_tensor_area;
/* `count` lanes, a multiple of 16, and `columns` columns from an address on. */
static inline pg_tensor_area pg_tensor_area_at(uint32_t address, uint32_t count, uint32_t columns)
{
    pg_tensor_area area = {.column = address & 0xffff, .columns = columns};
    for (uint32_t i = 0; i < count / 16; i++)
        area.lanes[((address >> 16) / 16 + i) % 8] = 0xffff;
    return area;
}

typedef struct pg_observer {
    /* A warp instruction has run, and what it told the scheduler. With a profile or a clock
     * only. */
    void (*stepped)(pg_warp *w, const pg_op *op, pg_step step);

    /* A plain access, resolved and about to be made. */
    void (*access)(pg_warp *w, const pg_op *op, const pg_checked_access *access);
    /* Threads end. */
    void (*exit)(pg_warp *w, const pg_op *op, uint32_t lanes);

    /* fence and membar (op->flags say which of acquire and release they are); fence.proxy.async;
     * fence.mbarrier_init; griddepcontrol.wait. */
    void (*fence)(pg_warp *w, const pg_op *op, uint32_t lanes);
    void (*proxy_fence)(pg_warp *w, const pg_op *op, uint32_t lanes);
    void (*init_fence)(pg_warp *w, const pg_op *op, uint32_t lanes);
    void (*grid_wait)(pg_warp *w, uint32_t lanes);

    /* bar.warp.sync and what acts like one. */
    void (*warp_barrier)(pg_warp *w, const pg_op *op, uint32_t lanes);
    /* An arrival at a named barrier; then, for every group that waited and the last to arrive,
     * before it goes on; then once when all have. */
    void (*barrier)(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t id);
    void (*barrier_passed)(pg_warp *w, uint32_t lanes, uint32_t id);
    void (*barrier_done)(pg_cta *cta, uint32_t id);
    void (*cluster_arrive)(pg_warp *w, const pg_op *op, uint32_t lanes);
    void (*cluster_done)(pg_cluster *c);
    void (*cluster_wait)(pg_warp *w, const pg_op *op, uint32_t lanes);

    /* mbarriers; `cta`: where it lives. */
    void (*mbarrier_init)(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b, bool was_valid);
    void (*mbarrier_inval)(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b);
    void (*mbarrier_arrive)(pg_warp *w, const pg_op *op, int lane, pg_cta *cta, pg_mbarrier *b);
    void (*mbarrier_expect)(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b);
    void (*mbarrier_phase)(pg_cta *cta, pg_mbarrier *b);
    void (*mbarrier_wait)(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                          pg_observed_wait wait);

    /* Asynchronous operations: issued; data moved and no barrier signalled yet. Waits for
     * groups. */
    void (*async_issue)(pg_async *a);
    void (*async_arriving)(pg_async *a);
    void (*async_done)(pg_async *a); /* whether or not it signals; it is freed next */
    void (*bulk_wait)(pg_warp *w, const pg_op *op, uint32_t lanes);
    void (*copy_wait)(pg_warp *w, const pg_op *op, uint32_t lanes);
    /* Shared addresses first .. end - 1 are read by an issued wgmma. */
    void (*mma_read)(pg_async *a, uint32_t first, uint32_t end);
    void (*mma_wait)(pg_warp *w, const pg_op *op, uint32_t lanes);

    /* Registers of wgmma and tcgen05.ld: wgmma's fence, its issue; the issue of a tcgen05.ld and
     * the wait for it; any other instruction that touches them, before it runs. */
    void (*matrix_fence)(pg_warp *w);
    void (*matrix_issue)(pg_async *a);
    void (*matrix_load)(pg_warp *w, const pg_op *op);
    void (*matrix_load_wait)(pg_warp *w);
    void (*matrix_use)(pg_warp *w, const pg_op *op, uint32_t lanes);

    /* Tensor memory: columns of the CTA have been allocated, for all its lanes; the warp gives
     * some back; ld and st, of one or two areas, and when its address named other lanes than the
     * warp's own; wait::ld and ::st; tcgen05.fence. */
    void (*tensor_alloc)(pg_cta *cta, uint32_t column, uint32_t columns);
    void (*tensor_dealloc)(pg_warp *w, const pg_op *op, uint32_t column, uint32_t columns);
    void (*tensor_move)(pg_warp *w, const pg_op *op, const pg_tensor_area *areas, uint32_t count);
    void (*tensor_lane)(pg_warp *w, const pg_op *op, uint32_t named, uint32_t own);
    void (*tensor_wait)(pg_warp *w, bool store);
    void (*tensor_fence)(pg_warp *w, const pg_op *op, uint32_t lanes, bool after);
    /* An issued mma, with all its operands. An issued cp or shift uses tensor memory, or reads
     * shared addresses first .. end - 1, of a CTA. */
    void (*tensor_mma)(pg_async *a);
    void (*tensor_use)(pg_async *a, pg_cta *cta, const pg_tensor_area *area);
    void (*tensor_read)(pg_async *a, pg_cta *cta, uint32_t first, uint32_t end);

    /* An operand in shared memory, as its matrix descriptor says. */
    void (*matrix_operand)(pg_async *a, const struct pg_matrix_layout *layout,
                           const struct pg_matrix_shape *shape);

    /* Registers that may hold nothing (decode/watch.h): an instruction that touches some, before
     * it runs; a shfl in these lanes, of which some get the value of a lane that does not take
     * part. A frame of local memory of a lane is filled. setmaxnreg. */
    void (*watch)(pg_warp *w, const pg_op *op, uint32_t lanes);
    void (*shuffle)(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t undefined);
    void (*local_write)(pg_warp *w, uint32_t lane, uint64_t address, uint64_t bytes);
    void (*setmaxnreg)(pg_warp *w, const pg_op *op, uint32_t lanes);

    /* The life of a cluster; false: out of memory. `cluster_end`: it has run to its end; then,
     * and after a stop, `cluster_free`. */
    bool (*cluster_start)(pg_cluster *c);
    void (*stuck)(pg_cluster *c); /* a deadlock, about to be reported */
    void (*cluster_end)(pg_cluster *c);
    void (*cluster_free)(pg_cluster *c);
} pg_observer;

/* PG_OBSERVE(launch, event, arguments): tells whoever listens to it. */
#define PG_OBSERVE(launch, event, ...)                                                             \
    do {                                                                                           \
        if ((launch)->observer && (launch)->observer->event)                                       \
            (launch)->observer->event(__VA_ARGS__);                                                \
    } while (0)

#endif
