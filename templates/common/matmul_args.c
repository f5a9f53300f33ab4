/* Launch arguments of the matrix multiplication families. */
#include "common/matmul.h"

#include "common/tcgen05.h"
#include "common/warp_roles.h"
#include "generate/dtype.h"

pg_tensor_spec pg_matrix_spec(const pg_matrix_map *m)
{
    enum { STRIDE_UNIT = 32, L2_PROMOTION_128 = 2, L2_PROMOTION_256 = 3, SECTOR_PAIR = 256 };
    int64_t stride = m->stride;
    if (m->rows == 1)
        stride = (stride + STRIDE_UNIT - 1) / STRIDE_UNIT * STRIDE_UNIT;
    const int64_t batch_stride = m->batches > 1 ? m->batch_stride : m->batches ? stride : 0;
    const bool whole =
        ((uintptr_t)m->address | (uintptr_t)stride | (uintptr_t)batch_stride) % SECTOR_PAIR == 0;
    return (pg_tensor_spec){
        .type = m->type,
        .rank = m->batches ? 3 : 2,
        .address = (void *)(uintptr_t)m->address,
        .dims = {(uint64_t)m->columns, (uint64_t)m->rows, (uint64_t)m->batches},
        .strides = {(uint64_t)stride, (uint64_t)batch_stride},
        .box = {(uint32_t)m->box_columns, (uint32_t)m->box_rows, m->batches ? 1 : 0},
        .swizzle = m->swizzle,
        .l2_promotion = whole ? L2_PROMOTION_256 : L2_PROMOTION_128,
    };
}

void pg_set_matrix(pg_launch *l, int place, const pg_matrix_map *m)
{
    const pg_tensor_spec spec = pg_matrix_spec(m);
    pg_set_tensor(l, place, &spec);
}

void pg_set_sub_tiles(pg_launch *l, int place, const pg_epilogue *e, int splits, pg_matrix_map map)
{
    enum { WARP_ROWS = 32, NIBBLES = 2 };
    const bool nibbles = pg_dtype_bits(e->out) == 4;
    map.type = nibbles ? PG_TENSOR_U8 : pg_dtype_find(e->out)->tensor_type;
    map.columns /= nibbles ? NIBBLES : 1;
    map.box_columns = pg_sub_tile_columns(e, splits);
    map.box_rows = WARP_ROWS;
    map.swizzle = pg_swizzle_of(pg_sub_tile_row(e, splits));
    pg_set_matrix(l, place, &map);
}

int pg_vector_bytes(const void *base, int64_t stride)
{
    const uintptr_t both = (uintptr_t)base | (uintptr_t)stride;
    return both % 32 == 0 ? 32 : both % 16 == 0 ? 16 : 4;
}
