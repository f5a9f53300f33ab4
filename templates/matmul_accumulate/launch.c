/* From one call's operands, which were checked, to a launch record. */
#include "matmul_accumulate/hopper.h"
#include "matmul_accumulate/mma_sync.h"

#include "common/groups.h"
#include "common/matmul.h"

enum { C_BOX_COLUMNS = 32, MAP_ALIGNMENT = 16 };

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

enum { PG_ACCUMULATE_PARAMS(PG_PARAM_PLACE) COUNT };

pg_param_list pg_matmul_accumulate_params(const void *plan, uint32_t part)
{
    static const pg_kernel_param rows[] = {PG_ACCUMULATE_PARAMS(PG_PARAM_ROW){NULL, 0}};
    static const uint32_t map = 1U << at_c_map_,
                          rows_of_c = 1U << at_c_ | 1U << at_c_stride_ | 1U << at_c_vector_bytes_;
    static const uint32_t absent[] = {
        [PG_C_FILLED] = map, [PG_C_TILE] = rows_of_c, [PG_C_ABSENT] = map | rows_of_c};
    const pg_matmul_plan_base *p = plan;
    if (p->engine == PG_ENGINE_WGMMA)
        return pg_hopper_params(plan, part);
    if (p->engine == PG_ENGINE_MMA_SYNC)
        return pg_mma_params(plan);
    const pg_matmul_accumulate_plan *own = plan;
    const uint32_t factors = own->scales ? 0 : 1U << at_alpha_ | 1U << at_c_scale_;
    const uint32_t batches = !own->batched
                                 ? 1U << at_batch_maps_ | 1U << at_c_batch_ | 1U << at_d_batch_
                             : own->c_from == PG_C_FILLED ? 0
                                                          : 1U << at_c_batch_;
    const uint32_t stores =
        own->d_ring ? 1U << at_d_ | 1U << at_d_stride_ | 1U << at_d_batch_ | 1U << at_vector_bytes_
                    : 1U << at_d_map_;
    const uint64_t groups = 1U << at_groups_ | 1U << at_group_rows_,
                   by_tiles = 1U << at_tiles_m_ | 1U << at_tiles_;
    return (pg_param_list){rows, absent[own->c_from] | factors | batches | stores |
                                     (own->group_type ? by_tiles : groups) |
                                     pg_epilogue_absent(&own->steps) << at_row_scale_};
}

/* As it is stored: rows of adjacent elements. */
static void set_matrix(pg_matrix_map *map, const pg_view *v)
{
    const int across = pg_matmul_across(v);
    map->address = v->data;
    map->columns = v->shape[pg_view_along(v)];
    map->rows = v->shape[across];
    map->stride = v->stride[across] * v->bits / 8;
    if (map->batches)
        map->batches = pg_matmul_batch_bytes(v) ? v->shape[PG_BATCH] : 1;
    map->batch_stride = pg_matmul_batch_bytes(v);
}

/* K = 0 loads nothing of A and B, and a tensor map needs an extent and a multiple of 16: theirs is
 * one element at D then. */
static void set_operands(const pg_problem *problem, pg_launch *l)
{
    const pg_matmul_accumulate_plan *p = problem->plan;
    const bool loads = pg_matmul_depth(problem) != 0;
    const uintptr_t d = (uintptr_t)problem->operand[PG_MATMUL_D].data;
    pg_matrix_map map = {.type = p->dtype->tensor_type,
                         .swizzle = pg_swizzle_of(p->swizzle),
                         .address = (const void *)(d / MAP_ALIGNMENT * MAP_ALIGNMENT),
                         .columns = 1,
                         .rows = 1,
                         .stride = 1,
                         .batches = p->batched,
                         .box_columns = p->swizzle / p->operand_bytes,
                         .box_rows = p->a_box_rows};
    if (loads)
        set_matrix(&map, &problem->operand[PG_MATMUL_A]);
    pg_set_matrix(l, at_a_map_, &map);
    map.box_rows = p->b_box_rows;
    map.batches = p->batched;
    if (loads)
        set_matrix(&map, &problem->operand[PG_MATMUL_B]);
    pg_set_matrix(l, at_b_map_, &map);
}

/* How wide the rows of C or D can be accessed. */
static int vector_bytes(const pg_view *v)
{
    return pg_vector_bytes(v->data, pg_matmul_row_bytes(v) | pg_matmul_batch_bytes(v));
}

static void set_accumulators(const pg_problem *problem, pg_launch *l)
{
    const pg_matmul_accumulate_plan *p = problem->plan;
    const pg_view *c = &problem->operand[PG_MATMUL_C];
    if (p->c_from == PG_C_TILE) {
        pg_matrix_map map = {.type = PG_TENSOR_F32,
                             .box_columns = C_BOX_COLUMNS,
                             .box_rows = p->block_m,
                             .swizzle = PG_SWIZZLE_128B,
                             .batches = p->batched};
        set_matrix(&map, c);
        pg_set_matrix(l, at_c_map_, &map);
    }
    if (p->c_from == PG_C_FILLED) {
        pg_set_pointer(l, at_c_, c->data);
        pg_set_u64(l, at_c_stride_, (uint64_t)(c->stride[PG_ROW] * c->bits / 8));
        pg_set_u64(l, at_c_batch_, (uint64_t)pg_matmul_batch_bytes(c));
        pg_set_u32(l, at_c_vector_bytes_, vector_bytes(c));
    }
    pg_set_f32(l, at_alpha_, pg_matmul_begin_factors(problem).alpha);
    pg_set_f32(l, at_c_scale_, pg_matmul_begin_factors(problem).c);
}

static void set_result(const pg_problem *problem, pg_launch *l)
{
    const pg_matmul_accumulate_plan *p = problem->plan;
    const pg_view *d = &problem->operand[PG_MATMUL_D];
    pg_matrix_map map = {.batches = p->batched};
    if (p->d_ring) {
        set_matrix(&map, d);
        pg_set_sub_tiles(l, at_d_map_, &p->steps, p->parts.splits, map);
    }
    pg_set_pointer(l, at_d_, d->data);
    pg_set_u64(l, at_d_stride_, (uint64_t)(d->stride[PG_ROW] * d->bits / 8));
    pg_set_u64(l, at_d_batch_, (uint64_t)pg_matmul_batch_bytes(d));
    pg_set_u32(l, at_vector_bytes_, vector_bytes(d));
}

static void set_batches(const pg_problem *problem, pg_launch *l)
{
    static const struct {
        int operand, bit;
    } maps[] = {{PG_MATMUL_A, PG_MAP_A}, {PG_MATMUL_B, PG_MAP_B}, {PG_MATMUL_C, PG_MAP_C}};
    int steps = 0;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        const pg_view *v = &problem->operand[maps[i].operand];
        steps |= v->present && pg_matmul_batch_bytes(v) ? maps[i].bit : 0;
    }
    const pg_view *counts = &problem->operand[PG_MATMUL_GROUP_ROWS];
    pg_set_u32(l, at_batch_maps_, steps | pg_matmul_rows_follow(problem) << PG_GROUPS_FOLLOW);
    if (counts->present) {
        pg_set_u32(l, at_groups_, problem->symbol[PG_MATMUL_BATCH]);
        pg_set_pointer(l, at_group_rows_, counts->data);
    }
}

pg_sequence pg_matmul_accumulate_sequence(const pg_problem *problem)
{
    const pg_matmul_plan_base *p = problem->plan;
    return p->engine == PG_ENGINE_WGMMA ? pg_hopper_sequence(problem)
                                        : (pg_sequence){.launches = 1};
}

static void launch_tcgen05(const pg_problem *problem, pg_launch *l)
{
    const pg_matmul_accumulate_plan *p = problem->plan;
    const int64_t m = problem->symbol[PG_MATMUL_M], n = problem->symbol[PG_MATMUL_N];
    /* As clusters take them. Where K is split, each takes one. */
    const int64_t tiles_m = divide_up(m, p->tile_rows);
    const int64_t tiles_n = divide_up(n, p->block_n * p->parts.tiles_n);
    const int64_t matrices = problem->symbol[PG_MATMUL_BATCH];
    /* Groups in one matrix are at most as many tiles as it has, and one more for each. */
    const bool follow = p->group_type && pg_matmul_rows_follow(problem);
    const int64_t tiles = (follow ? tiles_m + matrices : tiles_m * matrices) * tiles_n;
    const int64_t workers = p->parts.splits > 1 || p->walk.dynamic
                                ? tiles
                                : pg_clusters_at_once(p->cluster, problem->device->sm_count);
    pg_launch_line(l, (tiles < workers ? tiles : workers) * p->cluster, p->threads, COUNT,
                   pg_matmul_accumulate_params(p, 0).absent);
    if (p->cluster > 1) {
        l->cluster[0] = (uint32_t)p->cluster;
        l->cluster[1] = l->cluster[2] = 1;
    }
    l->shared_bytes = p->head.shared_bytes;
    l->early = true;
    set_operands(problem, l);
    set_accumulators(problem, l);
    set_result(problem, l);
    pg_set_u32(l, at_m_, m);
    pg_set_u32(l, at_n_, n);
    pg_set_u32(l, at_k_blocks_, divide_up(pg_matmul_depth(problem), p->block_k));
    pg_set_u32(l, at_tiles_m_, tiles_m);
    pg_set_u32(l, at_tiles_n_, tiles_n);
    pg_set_u32(l, at_tiles_, tiles);
    set_batches(problem, l);
    pg_epilogue_set(problem, PG_MATMUL_STEPS, &p->steps, l, at_row_scale_);
}

void pg_matmul_accumulate_launch_step(const pg_problem *problem, const pg_step *step, pg_launch *l)
{
    const pg_matmul_plan_base *p = problem->plan;
    if (p->engine == PG_ENGINE_WGMMA)
        pg_hopper_launch(problem, step, l);
    else if (p->engine == PG_ENGINE_MMA_SYNC)
        pg_mma_launch(problem, l);
    else
        launch_tcgen05(problem, l);
}
