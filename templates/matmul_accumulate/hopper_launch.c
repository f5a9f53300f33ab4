/* From one call's operands, which were checked, to the launch records of the Hopper kernels. */
#include "matmul_accumulate/hopper_model.h"

#include "common/matmul.h"

#include <string.h>

enum { OPERAND_BYTES = 2, ACCUMULATOR_BYTES = 4, VECTOR_BYTES = 16, MAP_ALIGNMENT = 16 };

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* K = 0 loads nothing of A and B, and a tensor map needs an extent and a multiple of 16: theirs is
 * one element at D then. */
static void add_operand(const pg_problem *problem, const pg_hopper_operand *o, const pg_view *v,
                        pg_launch *l)
{
    const pg_hopper_plan *p = problem->plan;
    const bool loads = problem->symbol[PG_MATMUL_K] != 0;
    const int along = pg_view_along(v); /* as it is stored: rows of adjacent elements */
    const uintptr_t d = (uintptr_t)problem->operand[PG_MATMUL_D].data;
    const void *const somewhere = (const void *)(d / MAP_ALIGNMENT * MAP_ALIGNMENT);
    const pg_matrix_map map = {.type = p->dtype->tensor_type,
                               .swizzle = pg_swizzle_of(o->swizzle),
                               .address = loads ? v->data : somewhere,
                               .columns = loads ? v->shape[along] : 1,
                               .rows = loads ? v->shape[!along] : 1,
                               .stride = loads ? v->stride[!along] * OPERAND_BYTES : 1,
                               .box_columns = o->box_columns,
                               .box_rows = o->box_rows};
    pg_arg_matrix(l, &map);
}

static void add_c_map(const pg_hopper_plan *p, const pg_view *c, pg_launch *l)
{
    const pg_matrix_map map = {.type = PG_TENSOR_F32,
                               .address = c->data,
                               .columns = c->shape[1],
                               .rows = c->shape[0],
                               .stride = c->stride[0] * ACCUMULATOR_BYTES,
                               .box_columns = PG_C_CHUNK_COLUMNS,
                               .box_rows = p->block_m,
                               .swizzle = PG_SWIZZLE_128B};
    pg_arg_matrix(l, &map);
}

/* Whole vectors of 4 columns lie in the rows of C or D. */
static bool takes_vectors(const pg_view *v)
{
    const int64_t stride = v->shape[0] > 1 ? v->stride[0] * ACCUMULATOR_BYTES : 0;
    return v->present && ((uintptr_t)v->data | (uintptr_t)stride) % VECTOR_BYTES == 0 &&
           v->shape[1] * ACCUMULATOR_BYTES % VECTOR_BYTES == 0;
}

static void add_matrix(const pg_view *v, pg_launch *l)
{
    pg_arg_pointer(l, v->present ? v->data : NULL);
    pg_arg_u64(l, v->present ? (uint64_t)(v->stride[0] * ACCUMULATOR_BYTES) : 0);
}

static int64_t padded_columns(const pg_problem *problem)
{
    return divide_up(problem->symbol[PG_MATMUL_N], VECTOR_BYTES / ACCUMULATOR_BYTES) *
           (VECTOR_BYTES / ACCUMULATOR_BYTES);
}

/* Bytes of one slice's result in the workspace. */
static int64_t slice_bytes(const pg_problem *problem)
{
    return problem->symbol[PG_MATMUL_M] * padded_columns(problem) * ACCUMULATOR_BYTES;
}

pg_sequence pg_hopper_sequence(const pg_problem *problem)
{
    const pg_hopper_plan *p = problem->plan;
    if (p->slices == 1)
        return (pg_sequence){.launches = 1};
    return (pg_sequence){.launches = 2, .workspace_bytes = (size_t)(p->slices * slice_bytes(problem))};
}

static void begin_launch(pg_launch *l, int threads)
{
    memset(l, 0, offsetof(pg_launch, args));
    l->grid[1] = l->grid[2] = 1;
    l->block[0] = (uint32_t)threads;
    l->block[1] = l->block[2] = 1;
    l->early = 1;
}

static void set_grid(const pg_hopper_plan *p, int64_t units, const ptxgen_device_info *device,
                     pg_launch *l)
{
    const int cluster = pg_hopper_cluster(p);
    int64_t workers = pg_hopper_clusters(cluster, device->sm_count);
    if (p->splits > 1) /* one tile a cluster */
        workers = units;
    l->grid[0] = (uint32_t)((units < workers ? units : workers) * cluster);
    if (cluster > 1) {
        l->cluster[0] = (uint32_t)cluster;
        l->cluster[1] = l->cluster[2] = 1;
    }
    l->shared_bytes = p->head.shared_bytes;
}

/* Where the first kernel puts its results: into D, or one for each slice into the workspace. */
static void add_results(const pg_problem *problem, char *workspace, pg_launch *l)
{
    const pg_hopper_plan *p = problem->plan;
    add_matrix(&problem->operand[PG_MATMUL_C], l);
    if (p->slices == 1) {
        add_matrix(&problem->operand[PG_MATMUL_D], l);
        return;
    }
    pg_arg_pointer(l, workspace);
    pg_arg_u64(l, (uint64_t)(padded_columns(problem) * ACCUMULATOR_BYTES));
}

static void launch_multiply(const pg_problem *problem, char *workspace, pg_launch *l)
{
    const pg_hopper_plan *p = problem->plan;
    const pg_view *v = problem->operand;
    const int64_t m = problem->symbol[PG_MATMUL_M], n = problem->symbol[PG_MATMUL_N];
    const int64_t rows = p->swapped ? n : m, columns = p->swapped ? m : n;
    const int64_t tiles_m = divide_up(rows, p->block_m * p->cluster_m),
                  tiles_n = divide_up(columns, p->block_n * p->cluster_n);
    const bool to_d = p->slices == 1;
    begin_launch(l, p->threads);
    set_grid(p, tiles_m * tiles_n * p->slices, problem->device, l);
    add_operand(problem, &p->left, &v[p->swapped ? PG_MATMUL_B : PG_MATMUL_A], l);
    add_operand(problem, &p->right, &v[p->swapped ? PG_MATMUL_A : PG_MATMUL_B], l);
    if (p->c_slots)
        add_c_map(p, &v[PG_MATMUL_C], l);
    add_results(problem, workspace, l);
    pg_arg_u32(l, rows);
    pg_arg_u32(l, to_d || p->swapped ? columns : padded_columns(problem));
    pg_arg_u32(l, divide_up(problem->symbol[PG_MATMUL_K], p->block_k));
    pg_arg_u32(l, tiles_m);
    pg_arg_u32(l, tiles_n);
    pg_arg_u32(l, tiles_m * tiles_n * p->slices);
    if (!to_d)
        pg_arg_u64(l, (uint64_t)slice_bytes(problem));
    pg_arg_u32(l, takes_vectors(&v[PG_MATMUL_C]));
    pg_arg_u32(l, !to_d || takes_vectors(&v[PG_MATMUL_D]));
}

static void launch_sum(const pg_problem *problem, char *workspace, pg_launch *l)
{
    const pg_view *v = problem->operand;
    const int64_t m = problem->symbol[PG_MATMUL_M], columns = padded_columns(problem);
    begin_launch(l, PG_SLICE_THREADS);
    l->part = 1;
    l->grid[0] = (uint32_t)divide_up(m * columns * ACCUMULATOR_BYTES / VECTOR_BYTES, PG_SLICE_THREADS);
    pg_arg_pointer(l, workspace);
    pg_arg_u64(l, (uint64_t)(columns * ACCUMULATOR_BYTES));
    pg_arg_u64(l, (uint64_t)slice_bytes(problem));
    add_matrix(&v[PG_MATMUL_C], l);
    add_matrix(&v[PG_MATMUL_D], l);
    pg_arg_u32(l, m);
    pg_arg_u32(l, problem->symbol[PG_MATMUL_N]);
    pg_arg_u32(l, takes_vectors(&v[PG_MATMUL_C]));
    pg_arg_u32(l, takes_vectors(&v[PG_MATMUL_D]));
}

void pg_hopper_launch(const pg_problem *problem, const pg_step *step, pg_launch *l)
{
    if (step->number)
        launch_sum(problem, step->workspace, l);
    else
        launch_multiply(problem, step->workspace, l);
}
