/* Tensor maps: the emulator's own 128-byte encoding of what cuTensorMapEncodeTiled takes, and the
 * walk over the box that a tensor copy moves.
 *
 * The driver's encoding is opaque, so a map made by pg_tensor_map_encode works on the emulator only
 * (and a driver-made map is refused by its missing magic). The checks are the driver's; each
 * refusal names the value and the limit. The walk knows nothing about memory: it hands out rows (a
 * global address range that exists, and fill on both sides of it), which the caller resolves,
 * checks and copies with pg_swizzle_store/_load. Pure; any thread. Source: CUDA driver API
 * (cuTensorMapEncodeTiled), PTX ISA 9.0, section 5.5. */
#ifndef PG_EMULATOR_TENSOR_MAP_H
#define PG_EMULATOR_TENSOR_MAP_H

#include "emulator/memory/swizzle.h"
#include "ptxgen/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PG_TENSOR_MAX_RANK = 5,
    PG_TENSOR_MAP_BYTES = 128,
    PG_TENSOR_ROWS = 4 /* of tile::gather4 and tile::scatter4 */
};

/* The numbers are those of the driver's data-type enumeration. */
typedef enum pg_tensor_type {
    PG_TENSOR_U8,
    PG_TENSOR_U16,
    PG_TENSOR_U32,
    PG_TENSOR_S32,
    PG_TENSOR_U64,
    PG_TENSOR_S64,
    PG_TENSOR_F16,
    PG_TENSOR_F32,
    PG_TENSOR_F64,
    PG_TENSOR_BF16,
    PG_TENSOR_F32_FTZ,
    PG_TENSOR_TF32,
    PG_TENSOR_TF32_FTZ,
    PG_TENSOR_16U4_ALIGN8B,  /* 16 4-bit values in 8 bytes, everywhere */
    PG_TENSOR_16U4_ALIGN16B, /* 16 4-bit values: 8 bytes in global, 16 in shared memory */
    /* 16 6-bit values: 12 bytes in global, 16 in shared memory. Loads append 4 bytes; stores
     * take the low 6 bits of each byte */
    PG_TENSOR_16U6_ALIGN16B,
    PG_TENSOR_TYPE_COUNT
} pg_tensor_type;

/* How pixels follow each other (im2col.h); the driver's numbers, plus 1. */
typedef enum pg_im2col_wide { PG_IM2COL_WHOLE, PG_IM2COL_W, PG_IM2COL_W128 } pg_im2col_wide;

typedef enum pg_tensor_interleave {
    PG_INTERLEAVE_NONE,
    PG_INTERLEAVE_16B,
    PG_INTERLEAVE_32B
} pg_tensor_interleave;

/* What a map says. Dimension 0 is the innermost; strides[i] is of dimension i + 1, in bytes. */
typedef struct pg_tensor_map {
    pg_tensor_type type;
    uint32_t rank;
    uint64_t address;
    uint64_t dims[PG_TENSOR_MAX_RANK];            /* elements, 1..2^32 */
    uint64_t strides[PG_TENSOR_MAX_RANK - 1];     /* bytes, multiples of 16, below 2^40 */
    uint32_t box[PG_TENSOR_MAX_RANK];             /* elements, 1..256 */
    uint32_t element_strides[PG_TENSOR_MAX_RANK]; /* 1..8 */
    pg_tensor_interleave interleave;
    pg_swizzle swizzle;
    uint32_t l2_promotion; /* 0..3, without effect here */
    bool fill_nan;         /* out-of-bounds elements of loads are NaN, not zero */
    /* im2col.h: pixels of a copy; 0: the map is tiled. box[0] is then its channels, the other
     * boxes are 1, and element strides are those from pixel to pixel. */
    uint32_t pixels;
    /* Of the pixel box along dimensions 1 .. rank - 2: its first place, and its end as seen from
     * the tensor's end. */
    int32_t lower[PG_TENSOR_MAX_RANK - 2], upper[PG_TENSOR_MAX_RANK - 2];
    pg_im2col_wide wide;
    uint32_t halo; /* of the instruction, not of the map: im2col::w's wHalo */
} pg_tensor_map;

typedef struct pg_tensor_type_info {
    const char *name;
    uint32_t bits;     /* of an element in global memory */
    bool is_float;     /* NaN fill allowed */
    uint64_t fill_nan; /* 8 bytes of NaN elements */
} pg_tensor_type_info;

extern const pg_tensor_type_info pg_tensor_types[PG_TENSOR_TYPE_COUNT];

/* Checks like the driver and writes PG_TENSOR_MAP_BYTES bytes (64-byte aligned for a kernel
 * parameter; not needed here). PTXGEN_EINVAL with the reason. */
ptxgen_status pg_tensor_map_encode(const pg_tensor_map *map, void *bytes, ptxgen_error *err);
/* Reads them back; PTXGEN_EINVAL when they are not such an encoding or were changed. */
ptxgen_status pg_tensor_map_decode(const void *bytes, pg_tensor_map *map, ptxgen_error *err);

/* A field of tensormap.replace. */
typedef enum pg_tensor_field {
    PG_FIELD_ADDRESS,
    PG_FIELD_RANK, /* rank - 1 */
    PG_FIELD_BOX_DIM,
    PG_FIELD_GLOBAL_DIM,
    PG_FIELD_GLOBAL_STRIDE, /* bytes; index 0 is of dimension 1 */
    PG_FIELD_ELEMENT_STRIDE,
    PG_FIELD_TYPE, /* in the ISA's numbers, as the next three */
    PG_FIELD_INTERLEAVE,
    PG_FIELD_SWIZZLE,
    PG_FIELD_FILL
} pg_tensor_field;
/* Changes one field in place; the whole is checked when the map is used. Bytes that are all zero
 * are a map to be filled. PTXGEN_EINVAL: no such map, index or value. */
ptxgen_status pg_tensor_map_replace(void *bytes, pg_tensor_field field, uint32_t index,
                                    uint64_t value, ptxgen_error *err);

/* Bytes that the box covers in shared memory, with the padding of padded types and of rows that are
 * narrower than the span of the swizzle. */
uint32_t pg_tensor_box_bytes(const pg_tensor_map *map);
/* Bytes of its elements: what a load takes from the barrier's byte count, also where parts are
 * out of bounds. Padding does not count: it is not copied (PTX ISA 9.0, section 5.5.1.1). */
uint32_t pg_tensor_data_bytes(const pg_tensor_map *map);

/* One row of the box (or several adjacent ones, when they are adjacent in both memories). */
typedef struct pg_tensor_row {
    uint64_t global;      /* address of the first byte that exists; meaningless if valid == 0 */
    uint32_t shared;      /* offset of the row in the linear (unswizzled) box */
    uint32_t bytes;       /* of the row in shared memory */
    uint32_t fill_before; /* shared bytes out of bounds before the valid part; a load fills, a store
                             skips */
    /* shared bytes that exist in global memory; the rest after them is out of bounds */
    uint32_t valid;
} pg_tensor_row;

/* PTXGEN_EEMULATOR when coordinate 0 is not a multiple of 16 bytes (an H200 stops with an illegal
 * instruction), or of what a padded type needs. */
ptxgen_status pg_tensor_check_coordinates(const pg_tensor_map *map, const int32_t *coords,
                                          ptxgen_error *err);

/* The walk. Fields are private. */
typedef struct pg_tensor_walk {
    const pg_tensor_map *map;
    int64_t origin[PG_TENSOR_MAX_RANK]; /* coordinates of the box */
    uint32_t count[PG_TENSOR_MAX_RANK]; /* steps along each dimension (box / element stride, rounded
                                           up) */
    uint32_t at[PG_TENSOR_MAX_RANK];
    int32_t rows[PG_TENSOR_ROWS];        /* tile::gather4, tile::scatter4: the row coordinates */
    int32_t offsets[PG_TENSOR_MAX_RANK]; /* im2col: origin is the pixel's place without them */
    uint32_t pixels_left;                /* 0: tiled */
    uint32_t pixel; /* im2col::w: pixels done, and where the next block begins */
    int64_t resume[PG_TENSOR_MAX_RANK];
    uint32_t next_shared, row_bytes, row_pitch;
    bool merge, listed, done; /* listed: rows says where the rows are */
} pg_tensor_walk;

/* Starts at coords[0..rank-1] (elements, may be negative or past the end). */
void pg_tensor_walk_start(pg_tensor_walk *w, const pg_tensor_map *map, const int32_t *coords);
/* Over the pixels of a map for im2col (im2col.h). offsets: of W, H, D as far as the map has them,
 * added to every pixel's place; with im2col::w the halo and the offset of W. */
void pg_tensor_walk_start_pixels(pg_tensor_walk *w, const pg_tensor_map *map, const int32_t *coords,
                                 const uint16_t *offsets);
/* The four rows of tile::gather4 and tile::scatter4 as one box: coords holds the column, then
 * four row numbers. The map has two dimensions and a box of one row (PTX ISA 9.0, section
 * 5.5.3.4). */
void pg_tensor_walk_start_rows(pg_tensor_walk *w, const pg_tensor_map *map, const int32_t *coords);
/* The next row in shared-memory order; false at the end. */
bool pg_tensor_walk_next(pg_tensor_walk *w, pg_tensor_row *row);

/* Moves one row. `shared_base` is the host address of shared address 0, `box_address` the shared
 * address of the box, `global` the host address of row->global. Padded types are unpacked by loads
 * and, those of 6 bits, packed by stores; tf32 loads round to nearest. */
typedef struct pg_tensor_copy {
    const pg_tensor_map *map;
    uint8_t *shared_base;
    uint32_t box_address;
    bool contended; /* other host threads may reduce into the same memory */
} pg_tensor_copy;
void pg_tensor_load_row(const pg_tensor_copy *c, const pg_tensor_row *row, const uint8_t *global);
void pg_tensor_store_row(const pg_tensor_copy *c, const pg_tensor_row *row, uint8_t *global);

/* Global bytes that the valid part of the row covers (less than row->valid for padded types). */
uint32_t pg_tensor_row_global_bytes(const pg_tensor_map *map, const pg_tensor_row *row);

/* Reductions of cp.reduce.async.bulk and cp.reduce.async.bulk.tensor. */
typedef enum pg_reduce_op {
    PG_REDUCE_ADD,
    PG_REDUCE_MIN,
    PG_REDUCE_MAX,
    PG_REDUCE_INC,
    PG_REDUCE_DEC,
    PG_REDUCE_AND,
    PG_REDUCE_OR,
    PG_REDUCE_XOR,
    PG_REDUCE_OP_COUNT
} pg_reduce_op;

/* global[i] = global[i] op shared[i] for `bytes` bytes of `type`. Float add rounds to nearest
 * and keeps subnormals, as an H200 does (PTX has cp.reduce...add.f32 flush them). False when the
 * pair is not one PTX has. */
bool pg_reduce_bytes(pg_reduce_op op, pg_tensor_type type, uint8_t *global, const uint8_t *linear,
                     uint32_t bytes);
/* The same while other host threads may change `global`: each element is updated as one atomic
 * step. `global` is 8-byte aligned and `bytes` a multiple of 8. */
bool pg_reduce_bytes_atomic(pg_reduce_op op, pg_tensor_type type, uint8_t *global,
                            const uint8_t *linear, uint32_t bytes);
/* The row of a tensor reduction: gathers through the swizzle, then the above. */
bool pg_tensor_reduce_row(const pg_tensor_copy *c, pg_reduce_op op, const pg_tensor_row *row,
                          uint8_t *global);

#endif
