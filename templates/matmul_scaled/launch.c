/* From one call's arguments to a launch record. The arguments were checked
 * (src/api/matmul_scaled.c). */
#include "matmul_scaled/matmul_scaled.h"

#include "common/matmul.h"
#include "common/warp_roles.h"
#include "matmul_scaled/scales.h"

#include <string.h>

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Packed 4-bit elements travel as bytes, unpacked ones as what they are. */
static void add_operand(const pg_matmul_scaled_plan *p, const pg_scaled_operand *o,
                        const void *address, const int64_t shape[2], int64_t stride, pg_launch *l)
{
    const pg_matrix_map map = {
        .type = o->padded ? PG_TENSOR_16U4_ALIGN16B : PG_TENSOR_U8,
        .address = address,
        .columns = o->padded ? shape[1] : shape[1] * o->element_bits / 8,
        .rows = shape[0],
        .stride = stride * o->element_bits / 8,
        .box_columns = o->box_columns,
        .box_rows = o->rows,
        .swizzle = pg_swizzle_of(p->swizzle),
    };
    pg_arg_matrix(l, &map);
}

/* Packed scales [1, blocks, words, 2, 256]. */
static void add_scales(const pg_matmul_scaled_plan *p, const pg_scaled_operand *o,
                       const uint8_t *address, const int64_t shape[2], pg_launch *l)
{
    enum { HALF = PG_SCALE_CHUNK_BYTES / 2 };
    const int64_t blocks = pg_scale_blocks(shape[0]);
    const int64_t words = pg_scale_words(divide_up(shape[1], p->group));
    const uint64_t chunk = PG_SCALE_CHUNK_BYTES, row = chunk * (uint64_t)words;
    const pg_tensor_spec spec = {
        .type = PG_TENSOR_U8,
        .rank = 5,
        .address = (void *)(uintptr_t)address,
        .dims = {HALF, 2, (uint64_t)words, (uint64_t)blocks, 1},
        .strides = {HALF, chunk, row, row * (uint64_t)blocks},
        .box = {HALF, 2, (uint32_t)p->scale_words, (uint32_t)o->scale_blocks, 1},
    };
    pg_arg_tensor(l, &spec);
}

void pg_matmul_scaled_launch(const void *plan, const void *args, const ptxgen_device_info *device,
                             pg_launch *l)
{
    const pg_matmul_scaled_plan *p = plan;
    const ptxgen_matmul_scaled_args *a = args;
    const int64_t a_shape[2] = {a->m, a->k}, b_shape[2] = {a->n, a->k};
    const int64_t tiles_m = divide_up(a->m, p->block_m), tiles_n = divide_up(a->n, p->block_n);
    const int64_t tiles = tiles_m * tiles_n, d_stride = a->d_stride * p->out->bytes;
    memset(l, 0, offsetof(pg_launch, args));
    l->grid[0] = (uint32_t)(tiles < device->sm_count ? tiles : device->sm_count);
    l->grid[1] = l->grid[2] = 1;
    l->block[0] = PG_ROLE_THREADS;
    l->block[1] = l->block[2] = 1;
    l->shared_bytes = p->head.shared_bytes;
    add_operand(p, &p->a, a->a, a_shape, a->a_stride, l);
    add_operand(p, &p->b, a->b, b_shape, a->b_stride, l);
    add_scales(p, &p->a, a->a_scales, a_shape, l);
    add_scales(p, &p->b, a->b_scales, b_shape, l);
    pg_arg_u64(l, (uintptr_t)a->d);
    pg_arg_u64(l, (uint64_t)d_stride);
    pg_arg_u32(l, a->m);
    pg_arg_u32(l, a->n);
    pg_arg_u32(l, divide_up(a->k, p->block_k));
    pg_arg_u32(l, tiles_m);
    pg_arg_u32(l, tiles_n);
    pg_arg_u32(l, tiles);
    pg_arg_u32(l, pg_vector_bytes(a->d, a->m > 1 ? d_stride : 0));
}
