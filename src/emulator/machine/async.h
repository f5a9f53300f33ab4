/* Asynchronous operations: a queue per cluster of what has been issued and not completed. Issuing resolves
 * and checks addresses (a fault names the issuing instruction); completing moves the data and signals the
 * barrier. With order=hw everything pending completes, in order, after each scheduling round; with order=isa
 * the seed decides, within what the ISA promises: operations of one warp's wgmma queue, an arrival that
 * follows cp.async, and the pairs of pg_tcgen05_follows keep their order, nothing else does. */
#ifndef PG_EMULATOR_ASYNC_H
#define PG_EMULATOR_ASYNC_H

#include "emulator/memory/barrier.h"
#include "emulator/copy/cluster_control.h"
#include "emulator/tensor/tcgen05.h"
#include "emulator/copy/tensor_map.h"

typedef enum pg_async_kind {
    PG_ASYNC_BULK_LOAD,   /* bytes into shared memory; signals mbarriers */
    PG_ASYNC_BULK_STORE,  /* bytes from shared to global memory; bulk group */
    PG_ASYNC_BULK_REDUCE, /* the same, combining */
    PG_ASYNC_TENSOR_LOAD,
    PG_ASYNC_TENSOR_STORE,
    PG_ASYNC_TENSOR_REDUCE,
    PG_ASYNC_COPY,   /* cp.async: up to 16 bytes a lane; cp.async group */
    PG_ASYNC_ARRIVE, /* cp.async.mbarrier.arrive */
    PG_ASYNC_REMOTE, /* st.async, red.async */
    PG_ASYNC_CANCEL, /* clusterlaunchcontrol.try_cancel */
    PG_ASYNC_MMA,    /* wgmma.mma_async; wgmma group */
    PG_ASYNC_TCGEN05_CP,
    PG_ASYNC_TCGEN05_MMA,
    PG_ASYNC_TCGEN05_SHIFT,
    PG_ASYNC_TCGEN05_COMMIT
} pg_async_kind;

typedef struct pg_async_bulk {
    const uint8_t *source;
    uint8_t *target;
    uint64_t source_address, target_address; /* for the checker: global, or cluster address */
    uint32_t bytes;
    pg_cta *target_cta; /* of shared targets */
    uint16_t cta_mask;  /* multicast: CTAs that receive a copy; 0: target_cta alone */
    uint16_t byte_mask; /* stores: which bytes of each 16 are copied */
    pg_mbarrier_signal signal;
    pg_reduce_op reduce;
    pg_tensor_type type;
    bool to_shared;
} pg_async_bulk;

typedef struct pg_async_tensor {
    pg_tensor_map map;
    int32_t coords[PG_TENSOR_MAX_RANK];
    bool four_rows;       /* tile::gather4, tile::scatter4: coords is the column and four rows */
    bool pair;            /* cta_group::2: the barrier is in the target CTA or in its peer */
    uint32_t box_address; /* shared offset */
    pg_cta *target_cta;
    uint16_t cta_mask;
    pg_mbarrier_signal signal;
    pg_reduce_op reduce;
} pg_async_tensor;

/* clusterlaunchcontrol.try_cancel */
typedef struct pg_async_cancel {
    uint32_t offset; /* where the response goes in shared memory */
    uint8_t response[PG_CANCEL_RESPONSE_BYTES];
    pg_cta *target_cta;
    uint16_t cta_mask; /* of .multicast::cluster::all: every CTA of the cluster; 0: target_cta */
    pg_mbarrier_signal signal;
} pg_async_cancel;

typedef struct pg_async_copy {
    uint32_t lanes, bytes;
    uint8_t *target[PG_LANES];
    const uint8_t *source[PG_LANES];
    uint8_t source_bytes[PG_LANES]; /* the rest up to `bytes` is zero */
    uint64_t target_address[PG_LANES], source_address[PG_LANES];
    uint32_t group[PG_LANES];
} pg_async_copy;

typedef struct pg_async_remote {
    uint8_t *target;
    uint64_t target_address;
    uint8_t data[16];
    uint32_t bytes;
    pg_reduce_op reduce;
    pg_tensor_type type;
    bool is_reduction;
    pg_mbarrier_signal signal;
} pg_async_remote;

/* What an issued wgmma has read from registers. */
typedef struct pg_async_mma {
    uint64_t a, b; /* descriptors */
    bool zero_d;
    bool executed; /* carried out together with another warp's part */
} pg_async_mma;

struct pg_async {
    pg_async *previous, *next;
    pg_async_kind kind;
    pg_warp *warp; /* issuer */
    const pg_op *op;
    uint32_t lane;
    uint32_t group;    /* number of the bulk or wgmma group that it belongs to */
    uint32_t check_id; /* what the checker knows it by */
    bool read_done;    /* the source may be overwritten; order=isa: the target is not yet written */
    bool lazy;         /* order=isa: completes when nothing else can run */
    uint8_t *staging;  /* order=isa: data between reading and writing */
    union {
        pg_async_bulk bulk;
        pg_async_tensor tensor;
        pg_async_copy copy;
        pg_async_remote remote;
        pg_async_cancel cancel;
        pg_mbarrier_signal arrive;
        pg_async_mma mma;
        pg_async_tcgen05_cp tcgen05_cp;
        pg_async_tcgen05_mma tcgen05_mma;
        pg_async_tcgen05_shift tcgen05_shift;
        pg_async_tcgen05_commit tcgen05_commit;
    } u;
};

/* Group counters of a warp. A group's number is the count of commits before it. */
typedef struct pg_warp_async {
    uint32_t bulk_commits[PG_LANES];
    uint32_t copy_commits[PG_LANES];
    uint32_t mma_commits;
} pg_warp_async;

/* A zeroed operation, not yet queued; NULL: out of memory, the launch is stopped. */
pg_async *pg_async_new(pg_warp *w, const pg_op *op, pg_async_kind kind, uint32_t lane);
static inline bool pg_async_is_tcgen05(const pg_async *a)
{
    return a->kind >= PG_ASYNC_TCGEN05_CP;
}
/* Queues it. */
void pg_async_issue(pg_async *a);
/* The warp's counters, created on first use; NULL: out of memory, the launch is stopped. */
pg_warp_async *pg_async_counters(pg_warp *w);
/* Frees what is still queued (a stopped launch). */
void pg_async_drop_all(pg_cluster *c);
void pg_async_free(pg_cluster *c, pg_async *a);

/* Moves the data of one operation and signals; false: the launch has been stopped (async_complete.c). */
bool pg_async_complete(pg_async *a);
/* order=isa: only the reading half of a copy out of shared memory. */
bool pg_async_read(pg_async *a);

/* The CTAs of a multicast; 0: the operation has one target. */
uint16_t pg_async_cta_mask(const pg_async *a);
/* The CTA whose barrier `signal` means for the target CTA of rank `rank`. */
pg_cta *pg_async_signalled_cta(const pg_async *a, const pg_mbarrier_signal *signal, uint32_t rank);
/* Starts the walk over a tensor copy's box, and the bytes that it covers in shared memory. */
void pg_async_tensor_walk(const pg_async_tensor *t, pg_tensor_walk *walk);
uint32_t pg_async_tensor_box_bytes(const pg_async_tensor *t);

/* Handlers. */
pg_step pg_op_bulk_load(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_bulk_store(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_bulk_reduce_cluster(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tensor_load(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tensor_store(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_bulk_commit(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_bulk_wait(pg_warp *w, const pg_op *op,
                        uint32_t lanes); /* imm: groups; mode: 1 .read */
pg_step pg_op_cp_async(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_cp_async_commit(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_cp_async_wait(pg_warp *w, const pg_op *op,
                            uint32_t lanes); /* imm: groups; UINT64_MAX: all */
pg_step pg_op_cp_async_arrive(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_remote_async(pg_warp *w, const pg_op *op, uint32_t lanes);

/* Operands of the copies beyond the first address: see pg_bulk_operands in bulk.c. */
typedef struct pg_bulk_operands {
    pg_op source, barrier; /* address operands, in the form that pg_addresses takes */
    bool has_barrier;
    pg_row bytes;     /* u32 */
    pg_row multicast; /* u16 rows */
    bool has_multicast;
    pg_row byte_mask; /* u16 rows */
    bool has_byte_mask;
    pg_row coords[PG_TENSOR_MAX_RANK];
    uint32_t rank;
    bool four_rows; /* tile::gather4, tile::scatter4: five coordinates, whatever the rank */
    bool pair;      /* cta_group::2 */
    pg_reduce_op reduce;
    pg_tensor_type type;
    bool is_reduction;
} pg_bulk_operands;
static inline uint32_t pg_tensor_coordinates(const pg_bulk_operands *o)
{
    return o->four_rows ? 1 + PG_TENSOR_ROWS : o->rank;
}

#endif
