/* From one call's operands, which were checked, to a launch record. */
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
                        const pg_view *v, pg_launch *l)
{
    const pg_matrix_map map = {
        .type = o->padded ? PG_TENSOR_16U4_ALIGN16B : PG_TENSOR_U8,
        .address = v->data,
        .columns = o->padded ? v->shape[1] : v->shape[1] * o->element_bits / 8,
        .rows = v->shape[0],
        .stride = v->stride[0] * o->element_bits / 8,
        .box_columns = o->box_columns,
        .box_rows = o->rows,
        .swizzle = pg_swizzle_of(p->swizzle),
    };
    pg_arg_matrix(l, &map);
}

/* Packed scales [1, blocks, words, 2, 256]. */
static void add_scales(const pg_matmul_scaled_plan *p, const pg_scaled_operand *o,
                       const void *address, const int64_t shape[2], pg_launch *l)
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

void pg_matmul_scaled_launch(const pg_problem *problem, pg_launch *l)
{
    const pg_matmul_scaled_plan *p = problem->plan;
    const pg_view *v = problem->operand, *d = &v[PG_SCALED_D];
    const int64_t m = problem->symbol[PG_SCALED_M], n = problem->symbol[PG_SCALED_N];
    const int64_t tiles_m = divide_up(m, p->block_m), tiles_n = divide_up(n, p->block_n);
    const int64_t tiles = tiles_m * tiles_n, sms = problem->device->sm_count;
    const int64_t d_stride = d->stride[0] * p->out->bytes;
    memset(l, 0, offsetof(pg_launch, args));
    l->grid[0] = (uint32_t)(tiles < sms ? tiles : sms);
    l->grid[1] = l->grid[2] = 1;
    l->block[0] = PG_ROLE_THREADS;
    l->block[1] = l->block[2] = 1;
    l->shared_bytes = p->head.shared_bytes;
    add_operand(p, &p->a, &v[PG_SCALED_A], l);
    add_operand(p, &p->b, &v[PG_SCALED_B], l);
    add_scales(p, &p->a, v[PG_SCALED_A_SCALES].data, v[PG_SCALED_A].shape, l);
    add_scales(p, &p->b, v[PG_SCALED_B_SCALES].data, v[PG_SCALED_B].shape, l);
    pg_arg_pointer(l, d->data);
    pg_arg_u64(l, (uint64_t)d_stride);
    pg_arg_u32(l, m);
    pg_arg_u32(l, n);
    pg_arg_u32(l, divide_up(problem->symbol[PG_SCALED_K], p->block_k));
    pg_arg_u32(l, tiles_m);
    pg_arg_u32(l, tiles_n);
    pg_arg_u32(l, tiles);
    pg_arg_u32(l, pg_vector_bytes(d->data, m > 1 ? d_stride : 0));
}
