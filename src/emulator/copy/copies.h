/* The copies: what an issued one carries, the kinds, the handlers. Bulk and tensor copies,
 * cp.async, st.async and red.async, clusterlaunchcontrol.try_cancel. PTX ISA 9.0, sections
 * 9.7.9.25, 9.7.9.12 and 9.7.13.7. */
#ifndef PG_EMULATOR_COPIES_H
#define PG_EMULATOR_COPIES_H

#include "emulator/copy/cluster_control.h"
#include "emulator/copy/tensor_map.h"
#include "emulator/machine/async.h"
#include "emulator/memory/barrier.h"

/* Of pg_async_bulk: bytes into shared memory, signalling mbarriers; from shared to global
 * memory, in a bulk group; the same, combining; combining into shared memory, signalling. Of
 * pg_async_tensor. Of the others. */
extern const pg_async_kind pg_kind_bulk_load, pg_kind_bulk_store, pg_kind_bulk_reduce,
    pg_kind_bulk_reduce_shared;
extern const pg_async_kind pg_kind_tensor_load, pg_kind_tensor_store, pg_kind_tensor_reduce;
extern const pg_async_kind pg_kind_copy;   /* cp.async: up to 16 bytes a lane; cp.async group */
extern const pg_async_kind pg_kind_arrive; /* cp.async.mbarrier.arrive */
extern const pg_async_kind pg_kind_remote; /* st.async, red.async */
extern const pg_async_kind pg_kind_cancel; /* clusterlaunchcontrol.try_cancel */

typedef struct pg_async_bulk {
    pg_async head;
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
} pg_async_bulk;

typedef struct pg_async_tensor {
    pg_async head;
    pg_tensor_map map;
    uint64_t map_address; /* as the program wrote it */
    int32_t coords[PG_TENSOR_MAX_RANK];
    uint16_t offsets[PG_TENSOR_MAX_RANK - 2]; /* im2col; of im2col::w the halo and W's offset */
    bool four_rows;       /* tile::gather4, tile::scatter4: coords is the column and four rows */
    bool pair;            /* cta_group::2: the barrier is in the target CTA or in its peer */
    uint32_t box_address; /* shared offset */
    pg_cta *target_cta;
    uint16_t cta_mask;
    pg_mbarrier_signal signal;
    pg_reduce_op reduce;
} pg_async_tensor;

typedef struct pg_async_cancel {
    pg_async head;
    uint32_t offset; /* where the response goes in shared memory */
    uint8_t response[PG_CANCEL_RESPONSE_BYTES];
    pg_cta *target_cta;
    uint16_t cta_mask; /* of .multicast::cluster::all: every CTA of the cluster; 0: target_cta */
    pg_mbarrier_signal signal;
} pg_async_cancel;

typedef struct pg_async_copy {
    pg_async head;
    uint32_t lanes, bytes;
    uint8_t *target[PG_LANES];
    const uint8_t *source[PG_LANES];
    uint8_t source_bytes[PG_LANES]; /* the rest up to `bytes` is zero */
    uint64_t target_address[PG_LANES], source_address[PG_LANES];
    uint32_t group[PG_LANES];
} pg_async_copy;

typedef struct pg_async_remote {
    pg_async head;
    uint8_t *target;
    uint64_t target_address;
    uint8_t data[16];
    uint32_t bytes;
    pg_reduce_op reduce;
    pg_tensor_type type;
    bool is_reduction;
    pg_mbarrier_signal signal;
} pg_async_remote;

typedef struct pg_async_arrive {
    pg_async head;
    pg_mbarrier_signal signal;
} pg_async_arrive;

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
    bool im2col;    /* also im2col_no_offs and im2col::w */
    pg_im2col_wide wide;
    pg_row offsets[PG_TENSOR_MAX_RANK - 2]; /* u16 rows, where offset_count says so */
    uint32_t offset_count;
    pg_reduce_op reduce;
    pg_tensor_type type;
    bool is_reduction;
} pg_bulk_operands;
static inline uint32_t pg_tensor_coordinates(const pg_bulk_operands *o)
{
    return o->four_rows ? 1 + PG_TENSOR_ROWS : o->rank;
}

#endif
