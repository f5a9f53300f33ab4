/* From one call's operands, which were checked, to a launch record. */
#include "matmul_scaled/matmul_scaled.h"

#include "common/matmul.h"
#include "common/warp_roles.h"
#include "matmul_scaled/scales.h"

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Packed 4-bit elements travel as bytes, unpacked ones as what they are. */
static pg_tensor_spec operand_map(const pg_matmul_scaled_plan *p, const pg_scaled_operand *o,
                                  const pg_view *v)
{
    const pg_matrix_map map = {
        .type = o->padded ? PG_TENSOR_16U4_ALIGN16B : PG_TENSOR_U8,
        .address = v->data,
        .columns = o->padded ? v->shape[1] : v->shape[1] * o->element_bits / 8,
        .rows = v->shape[0],
        .stride = v->stride[0] * o->element_bits / 8,
        .box_columns = o->box_columns,
        .box_rows = o->box_rows,
        .swizzle = pg_swizzle_of(p->swizzle),
    };
    return pg_matrix_spec(&map);
}

/* Packed scales [1, blocks, words, 2, 256]. */
static pg_tensor_spec scale_map(const pg_matmul_scaled_plan *p, const pg_scaled_operand *o,
                                const void *address, const int64_t shape[2])
{
    enum { HALF = PG_SCALE_CHUNK_BYTES / 2 };
    const int64_t blocks = pg_scale_blocks(shape[0]);
    const int64_t words = pg_scale_words(divide_up(shape[1], p->group));
    const uint64_t chunk = PG_SCALE_CHUNK_BYTES, row = chunk * (uint64_t)words;
    return (pg_tensor_spec){
        .type = PG_TENSOR_U8,
        .rank = 5,
        .address = (void *)(uintptr_t)address,
        .dims = {HALF, 2, (uint64_t)words, (uint64_t)blocks, 1},
        .strides = {HALF, chunk, row, row * (uint64_t)blocks},
        .box = {HALF, 2, (uint32_t)p->scale_words, (uint32_t)o->loaded_blocks, 1},
    };
}

enum { PG_SCALED_PARAMS(PG_PARAM_PLACE) COUNT };

pg_param_list pg_matmul_scaled_params(const void *plan, uint32_t part)
{
    static const pg_kernel_param rows[] = {PG_SCALED_PARAMS(PG_PARAM_ROW){NULL, 0}};
    const pg_matmul_scaled_plan *p = plan;
    (void)part;
    const uint64_t stores =
        p->d_ring ? 1U << at_d_ | 1U << at_d_stride_ | 1U << at_vector_bytes_ : 1U << at_d_map_;
    return (pg_param_list){rows, stores | pg_epilogue_absent(&p->steps) << at_row_scale_};
}

void pg_matmul_scaled_launch(const pg_problem *problem, pg_launch *l)
{
    const pg_matmul_scaled_plan *p = problem->plan;
    const pg_view *v = problem->operand, *d = &v[PG_SCALED_D];
    const int64_t m = problem->symbol[PG_SCALED_M], n = problem->symbol[PG_SCALED_N];
    /* As clusters take them. Where K is split, each takes one. */
    const int64_t tiles_m = divide_up(m, p->block_m * p->ctas * p->parts.tiles_m);
    const int64_t tiles_n = divide_up(n, p->block_n * p->parts.tiles_n);
    const int64_t tiles = tiles_m * tiles_n;
    const int64_t workers = p->parts.splits > 1 || p->walk.dynamic
                                ? tiles
                                : pg_clusters_at_once(p->cluster, problem->device->sm_count);
    const int64_t d_stride = d->stride[0] * d->bits / 8;
    const pg_tensor_spec a_map = operand_map(p, &p->a, &v[PG_SCALED_A]),
                         b_map = operand_map(p, &p->b, &v[PG_SCALED_B]),
                         a_scale_map =
                             scale_map(p, &p->a, v[PG_SCALED_A_SCALES].data, v[PG_SCALED_A].shape),
                         b_scale_map =
                             scale_map(p, &p->b, v[PG_SCALED_B_SCALES].data, v[PG_SCALED_B].shape);
    pg_launch_line(l, (tiles < workers ? tiles : workers) * p->cluster, PG_ROLE_THREADS, COUNT,
                   pg_matmul_scaled_params(p, 0).absent);
    if (p->cluster > 1) {
        l->cluster[0] = (uint32_t)p->cluster;
        l->cluster[1] = l->cluster[2] = 1;
    }
    l->shared_bytes = p->head.shared_bytes;
    l->early = true;
    pg_set_tensor(l, at_a_map_, &a_map);
    pg_set_tensor(l, at_b_map_, &b_map);
    pg_set_tensor(l, at_a_scale_map_, &a_scale_map);
    pg_set_tensor(l, at_b_scale_map_, &b_scale_map);
    if (p->d_ring)
        pg_set_sub_tiles(l, at_d_map_, &p->steps, p->parts.splits,
                         (pg_matrix_map){.address = d->data,
                                         .columns = d->shape[1],
                                         .rows = d->shape[0],
                                         .stride = d_stride});
    pg_set_pointer(l, at_d_, d->data);
    pg_set_u64(l, at_d_stride_, (uint64_t)d_stride);
    pg_set_u32(l, at_m_, m);
    pg_set_u32(l, at_n_, n);
    pg_set_u32(l, at_k_blocks_, divide_up(problem->symbol[PG_SCALED_K], p->block_k));
    pg_set_u32(l, at_tiles_m_, tiles_m);
    pg_set_u32(l, at_tiles_n_, tiles_n);
    pg_set_u32(l, at_tiles_, tiles);
    pg_set_u32(l, at_vector_bytes_, pg_vector_bytes(d->data, m > 1 ? d_stride : 0));
    pg_epilogue_set(problem, PG_SCALED_STEPS, &p->steps, l, at_row_scale_);
}
