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

/* ---- the workspace: copies of A and B, then the slices' results ---- */

enum { WORKSPACE_ALIGNMENT = 256 };

static bool is_copied(const pg_problem *problem, int operand)
{
    const pg_hopper_plan *p = problem->plan;
    const int bit = operand == PG_MATMUL_A ? PG_COPY_A : PG_COPY_B;
    return problem->symbol[PG_MATMUL_K] && (p->copy & bit);
}

/* Elements from row to row of an operand's copy. */
static int64_t copy_stride(const pg_view *v)
{
    return divide_up(v->shape[pg_view_along(v)], PG_ALIGNED_ROW) * PG_ALIGNED_ROW;
}

static int64_t copy_bytes(const pg_problem *problem, int operand)
{
    const pg_view *v = &problem->operand[operand];
    const int64_t bytes = v->shape[!pg_view_along(v)] * copy_stride(v) * OPERAND_BYTES;
    return is_copied(problem, operand) ? divide_up(bytes, WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
                                       : 0;
}

/* The operand as the multiplication reads it. */
static pg_view aligned_view(const pg_problem *problem, int operand, char *workspace)
{
    pg_view v = problem->operand[operand];
    if (!is_copied(problem, operand))
        return v;
    v.data = workspace + (operand == PG_MATMUL_B ? copy_bytes(problem, PG_MATMUL_A) : 0);
    v.stride[!pg_view_along(&v)] = copy_stride(&v);
    return v;
}

static char *slices_at(const pg_problem *problem, char *workspace)
{
    return workspace + copy_bytes(problem, PG_MATMUL_A) + copy_bytes(problem, PG_MATMUL_B);
}

pg_sequence pg_hopper_sequence(const pg_problem *problem)
{
    const pg_hopper_plan *p = problem->plan;
    const bool a = is_copied(problem, PG_MATMUL_A), b = is_copied(problem, PG_MATMUL_B);
    int64_t bytes = copy_bytes(problem, PG_MATMUL_A) + copy_bytes(problem, PG_MATMUL_B);
    if (p->slices > 1)
        bytes += p->slices * slice_bytes(problem);
    return (pg_sequence){.launches = 1U + a + b + (p->slices > 1),
                         .workspace_bytes = (size_t)bytes};
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
    pg_arg_pointer(l, slices_at(problem, workspace));
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
    const pg_view a = aligned_view(problem, PG_MATMUL_A, workspace),
                  b = aligned_view(problem, PG_MATMUL_B, workspace);
    add_operand(problem, &p->left, p->swapped ? &b : &a, l);
    add_operand(problem, &p->right, p->swapped ? &a : &b, l);
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
    l->part = PG_PART_SUM;
    l->grid[0] =
        (uint32_t)divide_up(m * columns * ACCUMULATOR_BYTES / VECTOR_BYTES, PG_SLICE_THREADS);
    pg_arg_pointer(l, slices_at(problem, workspace));
    pg_arg_u64(l, (uint64_t)(columns * ACCUMULATOR_BYTES));
    pg_arg_u64(l, (uint64_t)slice_bytes(problem));
    add_matrix(&v[PG_MATMUL_C], l);
    add_matrix(&v[PG_MATMUL_D], l);
    pg_arg_u32(l, m);
    pg_arg_u32(l, problem->symbol[PG_MATMUL_N]);
    pg_arg_u32(l, takes_vectors(&v[PG_MATMUL_C]));
    pg_arg_u32(l, takes_vectors(&v[PG_MATMUL_D]));
}

static void launch_align(const pg_problem *problem, int operand, char *workspace, pg_launch *l)
{
    enum { CHUNK = 8 };
    const pg_view *from = &problem->operand[operand];
    const pg_view to = aligned_view(problem, operand, workspace);
    const int along = pg_view_along(from);
    const int64_t rows = from->shape[!along], columns = from->shape[along];
    begin_launch(l, PG_ALIGN_THREADS);
    l->part = PG_PART_ALIGN;
    l->grid[0] = (uint32_t)divide_up(rows * divide_up(columns, CHUNK), PG_ALIGN_THREADS);
    pg_arg_pointer(l, from->data);
    pg_arg_u64(l, (uint64_t)(from->stride[!along] * OPERAND_BYTES));
    pg_arg_pointer(l, to.data);
    pg_arg_u64(l, (uint64_t)(to.stride[!along] * OPERAND_BYTES));
    pg_arg_u32(l, rows);
    pg_arg_u32(l, columns);
}

/* Copies of A and of B, the multiplication, the sum of slices: those that the call takes, in
 * order. */
void pg_hopper_launch(const pg_problem *problem, const pg_step *step, pg_launch *l)
{
    uint32_t left = step->number;
    for (int operand = PG_MATMUL_A; operand <= PG_MATMUL_B; operand++)
        if (is_copied(problem, operand) && left-- == 0) {
            launch_align(problem, operand, step->workspace, l);
            return;
        }
    if (left == 0)
        launch_multiply(problem, step->workspace, l);
    else
        launch_sum(problem, step->workspace, l);
}
