/* From one call's operands, which were checked, to the launch records of the Hopper kernels. */
#include "matmul_accumulate/hopper_model.h"

#include "common/matmul.h"

enum {
    COPIED_BYTES = 2, /* of an element that the copies move */
    ACCUMULATOR_BYTES = 4,
    VECTOR_BYTES = 16,
    VECTOR = 4,
    MAP_ALIGNMENT = 16
};

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Not the same matrix for the whole batch. */
static bool steps_by_batch(const pg_view *v)
{
    return pg_matmul_batch_bytes(v) != 0;
}

/* K = 0 loads nothing of A and B, and a tensor map needs an extent and a multiple of 16: theirs is
 * one element at D then. */
static pg_matrix_map operand_map(const pg_problem *problem, const pg_hopper_operand *o,
                                 const pg_view *v)
{
    const pg_hopper_plan *p = problem->plan;
    const bool loads = pg_matmul_depth(problem) != 0;
    const int along = pg_view_along(v), across = pg_matmul_across(v);
    const uintptr_t d = (uintptr_t)problem->operand[PG_MATMUL_D].data;
    const void *const somewhere = (const void *)(d / MAP_ALIGNMENT * MAP_ALIGNMENT);
    return (pg_matrix_map){.type = p->operand_map,
                           .swizzle = pg_swizzle_of(o->swizzle),
                           .address = loads ? v->data : somewhere,
                           .columns = loads ? v->shape[along] : 1,
                           .rows = loads ? v->shape[across] : 1,
                           .stride = loads ? v->stride[across] * p->operand_bytes : 1,
                           .box_columns = o->box_columns,
                           .box_rows = o->box_rows,
                           .batches = !o->has_matrices             ? 0
                                      : loads && steps_by_batch(v) ? v->shape[PG_BATCH]
                                                                   : 1,
                           .batch_stride = pg_matmul_batch_bytes(v)};
}

/* Rows of one of the left operand's phases, from the multiple of 16 bytes before the first one on
 * to each one's end; one that has no rows is never loaded. */
static pg_matrix_map phase_map(const pg_problem *problem, const pg_view *v, int phase)
{
    const pg_hopper_plan *p = problem->plan;
    const int along = pg_view_along(v), across = pg_matmul_across(v);
    const bool exists = phase < v->shape[across];
    const int head = exists ? pg_hopper_head(v, phase) : pg_hopper_head(v, 0);
    pg_matrix_map map = operand_map(problem, &p->left, v);
    if (!pg_matmul_depth(problem))
        return map;
    map.address = (const char *)v->data + (exists ? phase : 0) * pg_matmul_row_bytes(v) -
                  head * p->operand_bytes;
    map.columns = v->shape[along] + head;
    map.rows = exists ? divide_up(v->shape[across] - phase, p->phases) : 1;
    map.stride = p->phases * pg_matmul_row_bytes(v);
    return map;
}

/* Of C, of the residual or of D, `rows` rows of a slot at a time. */
static pg_matrix_map ring_map(const pg_hopper_plan *p, const pg_view *v, int rows)
{
    return (pg_matrix_map){.type = p->ring_type->tensor_type,
                           .address = v->data,
                           .columns = v->shape[v->rank - 1],
                           .rows = v->shape[v->rank - 2],
                           .stride = v->stride[v->rank - 2] * p->ring_type->bytes,
                           .box_columns = p->chunk_columns,
                           .box_rows = rows,
                           .swizzle = PG_SWIZZLE_128B,
                           .batches = !p->batched         ? 0
                                      : steps_by_batch(v) ? v->shape[PG_BATCH]
                                                          : 1,
                           .batch_stride = pg_matmul_batch_bytes(v)};
}

static bool takes_map(const pg_view *v)
{
    return pg_matmul_low_bits(v) % MAP_ALIGNMENT == 0;
}

/* Of D, or, where it takes none, of nothing that is ever stored to. */
static pg_matrix_map result_map(const pg_hopper_plan *p, const pg_view *d)
{
    pg_view stand_in = *d;
    if (takes_map(d))
        return ring_map(p, d, PG_WARP_ROWS);
    stand_in.data = (void *)((uintptr_t)d->data / MAP_ALIGNMENT * MAP_ALIGNMENT);
    for (int i = 0; i < d->rank; i++) {
        stand_in.shape[i] = 1;
        stand_in.stride[i] = MAP_ALIGNMENT;
    }
    return ring_map(p, &stand_in, PG_WARP_ROWS);
}

/* Whole vectors of 4 columns lie in the rows of C or D. */
static bool takes_vectors(const pg_view *v)
{
    if (!v->present)
        return false;
    const uintptr_t vector = VECTOR * v->bits / 8;
    return pg_matmul_low_bits(v) % vector == 0 && v->shape[PG_COLUMN] % VECTOR == 0;
}

/* The same of D and of all that its steps read: what four columns of the sum become is a vector. */
static bool stores_vectors(const pg_problem *problem)
{
    const pg_hopper_plan *p = problem->plan;
    const pg_view *d = &problem->operand[PG_MATMUL_D];
    if (!pg_hopper_has_steps(p))
        return takes_vectors(d);
    const uintptr_t vector = VECTOR * d->bits / 8 / (p->epilogue.gate ? 2 : 1);
    return problem->symbol[PG_MATMUL_N] % VECTOR == 0 && pg_matmul_low_bits(d) % vector == 0 &&
           pg_epilogue_takes_vectors(problem, PG_MATMUL_STEPS, &p->epilogue);
}

/* C or D at two places: where it is, and its stride. */
static void set_matrix(pg_launch *l, int place, const pg_view *v)
{
    pg_set_pointer(l, place, v->present ? v->data : NULL);
    pg_set_u64(l, place + 1, v->present ? (uint64_t)(v->stride[PG_ROW] * v->bits / 8) : 0);
}

/* C or D of a problem in phases: places of its stride and of what is from matrix to matrix; bytes
 * of a row and of an element. Rows of the left operand that follow each other are of different
 * phases; with swap they are columns. */
typedef struct phase_steps {
    int stride, matrix;
    int64_t row_bytes, element_bytes;
} phase_steps;

static void step_by_phases(const pg_hopper_plan *p, pg_launch *l, const phase_steps *s)
{
    pg_set_u64(l, s->stride, (uint64_t)(p->swapped ? s->row_bytes : s->row_bytes * p->phases));
    pg_set_u64(l, s->matrix, (uint64_t)(p->swapped ? s->element_bytes : s->row_bytes));
}

/* Where C comes behind the multiplications, it is not multiplied by alpha any more. */
static pg_matmul_factors factors_of(const pg_problem *problem)
{
    const pg_hopper_plan *p = problem->plan;
    if (p->splits > 1 || p->slices > 1 || p->adds_late)
        return (pg_matmul_factors){pg_matmul_beta(problem), pg_matmul_alpha(problem)};
    return pg_matmul_begin_factors(problem);
}

static int64_t padded_columns(const pg_problem *problem)
{
    return divide_up(problem->symbol[PG_MATMUL_N], VECTOR_BYTES / ACCUMULATOR_BYTES) *
           (VECTOR_BYTES / ACCUMULATOR_BYTES);
}

/* Of one matrix of a slice's result in the workspace; of all of them. */
static int64_t slice_matrix_bytes(const pg_problem *problem)
{
    return problem->symbol[PG_MATMUL_M] * padded_columns(problem) * ACCUMULATOR_BYTES;
}

static int64_t slice_bytes(const pg_problem *problem)
{
    return problem->symbol[PG_MATMUL_BATCH] * slice_matrix_bytes(problem);
}

/* ---- the workspace: copies of A and B, then the slices' results ---- */

enum { WORKSPACE_ALIGNMENT = 256 };

static bool is_copied(const pg_problem *problem, int operand)
{
    const pg_hopper_plan *p = problem->plan;
    const int bit = operand == PG_MATMUL_A ? PG_COPY_A : PG_COPY_B;
    return pg_matmul_depth(problem) && (p->copy & bit);
}

/* Elements of a row of an operand's copy, and from row to row; a phase's begins behind its head, or
 * is its part of K. */
static int64_t copy_columns(const pg_hopper_plan *p, const pg_view *v)
{
    const int64_t columns = v->shape[pg_view_along(v)];
    if (pg_hopper_phases_of_k(p))
        return p->right.k_major ? divide_up(columns, p->phases) : columns;
    return columns + (pg_hopper_copies_phases(p) ? PG_MOST_HEAD : 0);
}

static int64_t copy_stride(const pg_hopper_plan *p, const pg_view *v)
{
    return divide_up(copy_columns(p, v), PG_ALIGNED_ROW) * PG_ALIGNED_ROW;
}

/* Copies of an operand's matrix, one behind the other: of all its matrices, where one stands for
 * all that are the same, or for each phase. */
static int64_t copy_matrices(const pg_hopper_plan *p, const pg_view *v)
{
    if (pg_hopper_copies_phases(p))
        return p->phases;
    return steps_by_batch(v) ? v->shape[PG_BATCH] : 1;
}

/* Of one of them, of all. */
static int64_t copy_matrix_rows(const pg_hopper_plan *p, const pg_view *v)
{
    const int64_t rows = v->shape[pg_matmul_across(v)];
    return pg_hopper_phases_of_k(p) && !p->right.k_major ? divide_up(rows, p->phases) : rows;
}

static int64_t copy_rows(const pg_hopper_plan *p, const pg_view *v)
{
    return copy_matrix_rows(p, v) * copy_matrices(p, v);
}

static int64_t copy_bytes(const pg_problem *problem, int operand)
{
    const pg_view *v = &problem->operand[operand];
    const pg_hopper_plan *p = problem->plan;
    const int64_t bytes = copy_rows(p, v) * copy_stride(p, v) * COPIED_BYTES;
    return is_copied(problem, operand) ? divide_up(bytes, WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
                                       : 0;
}

/* The operand as the multiplication reads it. */
static pg_view aligned_view(const pg_problem *problem, int operand, char *workspace)
{
    const pg_hopper_plan *p = problem->plan;
    pg_view v = problem->operand[operand];
    if (!is_copied(problem, operand))
        return v;
    v.data = workspace + (operand == PG_MATMUL_B ? copy_bytes(problem, PG_MATMUL_A) : 0);
    const int across = pg_matmul_across(&v);
    const int64_t matrices = copy_matrices(p, &v);
    v.stride[across] = copy_stride(p, &v);
    v.shape[pg_view_along(&v)] = copy_columns(p, &v);
    v.shape[across] = copy_matrix_rows(p, &v);
    if (matrices > 1) {
        v.shape[PG_BATCH] = matrices;
        v.stride[PG_BATCH] = v.shape[across] * v.stride[across];
    }
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
    return (pg_sequence){.launches = 1U + (a || b) + (p->slices > 1),
                         .workspace_bytes = (size_t)bytes};
}

/* Places `first` and the two behind it, of kernels of one matrix. */
static uint64_t without_matrices(bool matrices, int first)
{
    return matrices ? 0 : UINT64_C(7) << first;
}

/* The places of the two factors, of kernels that do not scale. */
static uint32_t without_factors(const pg_hopper_plan *p, int alpha, int c_scale)
{
    return p->scales ? 0 : 1U << alpha | 1U << c_scale;
}

static pg_param_list sum_params(const pg_hopper_plan *p)
{
    enum { PG_SUM_PARAMS(PG_PARAM_PLACE) COUNT };
    static const pg_kernel_param rows[] = {PG_SUM_PARAMS(PG_PARAM_ROW){NULL, 0}};
    const pg_epilogue steps = pg_hopper_sum_steps(p);
    return (pg_param_list){rows, without_factors(p, at_alpha_, at_c_scale_) |
                                     without_matrices(p->batched, at_rows_) |
                                     pg_epilogue_absent(&steps) << at_row_scale_};
}

/* Bytes from matrix to matrix of C, and of D at the next place. */
static void set_batches(pg_launch *l, int place, const pg_problem *problem)
{
    const pg_view *c = &problem->operand[PG_MATMUL_C];
    pg_set_u64(l, place, c->present ? (uint64_t)pg_matmul_batch_bytes(c) : 0);
    pg_set_u64(l, place + 1, (uint64_t)pg_matmul_batch_bytes(&problem->operand[PG_MATMUL_D]));
}

static void launch_sum(const pg_problem *problem, char *workspace, pg_launch *l)
{
    enum { PG_SUM_PARAMS(PG_PARAM_PLACE) COUNT };
    const pg_hopper_plan *p = problem->plan;
    const pg_view *v = problem->operand;
    const int64_t m = problem->symbol[PG_MATMUL_M], columns = padded_columns(problem);
    const int64_t rows = problem->symbol[PG_MATMUL_BATCH] * m;
    const int64_t vectors = rows * columns * ACCUMULATOR_BYTES / VECTOR_BYTES;
    pg_launch_line(l, divide_up(vectors, PG_SLICE_THREADS), PG_SLICE_THREADS, COUNT,
                   sum_params(p).absent);
    l->part = PG_PART_SUM;
    l->early = true;
    pg_set_pointer(l, at_slices_, slices_at(problem, workspace));
    pg_set_u64(l, at_slices_stride_, (uint64_t)(columns * ACCUMULATOR_BYTES));
    pg_set_u64(l, at_slice_bytes_, (uint64_t)slice_bytes(problem));
    set_matrix(l, at_c_, &v[PG_MATMUL_C]);
    set_matrix(l, at_d_, &v[PG_MATMUL_D]);
    pg_set_u32(l, at_m_, m);
    pg_set_u32(l, at_n_, problem->symbol[PG_MATMUL_N]);
    pg_set_f32(l, at_alpha_, factors_of(problem).alpha);
    pg_set_f32(l, at_c_scale_, factors_of(problem).c);
    pg_set_u32(l, at_c_vectors_, takes_vectors(&v[PG_MATMUL_C]));
    pg_set_u32(l, at_d_vectors_, stores_vectors(problem));
    pg_set_u32(l, at_rows_, rows);
    set_batches(l, at_c_batch_, problem);
    pg_epilogue_set(problem, PG_MATMUL_STEPS, &p->epilogue, l, at_row_scale_);
}

enum { PG_ALIGN_PARAMS(PG_PARAM_PLACE) ALIGN_COUNT };

static pg_param_list align_params(const pg_hopper_plan *p)
{
    static const pg_kernel_param rows[] = {PG_ALIGN_PARAMS(PG_PARAM_ROW){NULL, 0}};
    static const uint32_t batches = 1U << at_batch_rows_ | 1U << at_from_batch_ |
                                    1U << at_second_batch_rows_ | 1U << at_second_from_batch_;
    static const uint32_t heads = 1U << at_zeros_ | 1U << at_zeros_step_, depth = 1U << at_depth_;
    /* Its kernel has no second operand. */
    static const uint32_t others = heads | 1U << at_from_batch_ | 0x1ffU << at_second_from_;
    const bool phases = pg_hopper_copies_phases(p);
    if (pg_hopper_phases_of_k(p))
        return (pg_param_list){rows, others};
    return (pg_param_list){rows,
                           (p->batched || phases ? 0 : batches) | (phases ? 0 : heads) | depth};
}

static const pg_view *left_of(const pg_problem *problem)
{
    const pg_hopper_plan *p = problem->plan;
    return &problem->operand[p->swapped ? PG_MATMUL_B : PG_MATMUL_A];
}

/* At two places: the first phase's head, and what is added for each one behind it. */
static void set_heads(const pg_problem *problem, pg_launch *l, int place)
{
    const pg_view *left = left_of(problem);
    const int first = pg_hopper_head(left, 0), second = pg_hopper_head(left, 1);
    pg_set_u32(l, place, first);
    pg_set_u32(l, place + 1, (second - first) & PG_MOST_HEAD);
}

/* One operand's copy at its places, of so many blocks. */
static int64_t set_copy(const pg_problem *problem, int operand, char *workspace, pg_launch *l,
                        int place)
{
    enum { CHUNK = 8 };
    const pg_view *from = &problem->operand[operand];
    const pg_view to = aligned_view(problem, operand, workspace);
    const int across = pg_matmul_across(from), second = place - at_from_;
    const pg_hopper_plan *p = problem->plan;
    const int64_t rows = copy_rows(p, from);
    const int64_t columns =
        pg_hopper_phases_of_k(p) ? copy_columns(p, from) : from->shape[pg_view_along(from)];
    pg_set_pointer(l, second + at_from_, from->data);
    pg_set_u64(l, second + at_from_stride_, (uint64_t)(from->stride[across] * COPIED_BYTES));
    pg_set_pointer(l, second + at_to_, to.data);
    pg_set_u64(l, second + at_to_stride_, (uint64_t)(to.stride[across] * COPIED_BYTES));
    pg_set_u32(l, second + at_rows_, rows);
    pg_set_u32(l, second + at_columns_, columns);
    pg_set_u32(l, second + at_batch_rows_, copy_matrix_rows(p, from));
    pg_set_u64(l, second + at_from_batch_, (uint64_t)pg_matmul_batch_bytes(from));
    return divide_up(rows * divide_up(copy_columns(p, from), CHUNK), PG_ALIGN_THREADS);
}

/* Of A, of B, or of both in one launch; a second that is the first has no blocks. */
static void launch_align(const pg_problem *problem, char *workspace, pg_launch *l)
{
    const int first = is_copied(problem, PG_MATMUL_A) ? PG_MATMUL_A : PG_MATMUL_B,
              second = is_copied(problem, PG_MATMUL_B) ? PG_MATMUL_B : PG_MATMUL_A;
    pg_launch_line(l, 1, PG_ALIGN_THREADS, ALIGN_COUNT, align_params(problem->plan).absent);
    l->part = PG_PART_ALIGN;
    l->early = true;
    const int64_t blocks = set_copy(problem, first, workspace, l, at_from_),
                  more = set_copy(problem, second, workspace, l, at_second_from_);
    pg_set_u32(l, at_second_block_, blocks);
    if (pg_hopper_copies_phases(problem->plan))
        set_heads(problem, l, at_zeros_);
    pg_set_u32(l, at_depth_, problem->symbol[PG_MATMUL_K]);
    l->grid[0] = (uint32_t)(blocks + (first == second ? 0 : more));
}

enum { PG_MULTIPLY_PARAMS(PG_PARAM_PLACE) MULTIPLY_COUNT };

pg_param_list pg_hopper_params(const pg_hopper_plan *p, uint32_t part)
{
    static const pg_kernel_param multiply[] = {PG_MULTIPLY_PARAMS(PG_PARAM_ROW){NULL, 0}};
    const uint32_t maps =
                       (p->c_slots ? 0 : 1U << at_c_map_) | (p->stores_slots ? 0 : 1U << at_d_map_),
                   slices = p->slices > 1 ? 0 : 1U << at_slice_bytes_;
    /* of those of the phases behind the first, the ones that there are */
    const uint64_t other_maps = (UINT64_C(1) << (PG_MOST_PHASES - 1)) - 1,
                   all_phases = UINT64_C(3) << at_head_ | other_maps << at_left_map_1,
                   phases = p->phases ? other_maps << (p->phases - 1) & other_maps : 0;
    static const uint64_t groups = UINT64_C(1) << at_groups_ | UINT64_C(1) << at_group_rows_,
                          by_units = 1U << at_tiles_m_ | 1U << at_units_;
    if (part == PG_PART_SUM)
        return sum_params(p);
    if (part == PG_PART_ALIGN)
        return align_params(p);
    const uint64_t steps = /* of slices, the sum's */
        p->slices > 1 ? pg_epilogue_all_absent : pg_epilogue_absent(&p->epilogue);
    return (pg_param_list){multiply, maps | slices | without_factors(p, at_alpha_, at_c_scale_) |
                                         without_matrices(p->matrices, at_batch_maps_) |
                                         (p->group_type ? by_units : groups) |
                                         (p->phases ? phases << at_left_map_1 : all_phases) |
                                         steps << at_row_scale_};
}

/* The grid of the multiplication, of `units` tiles or slices of tiles. */
static void begin_multiply(const pg_hopper_plan *p, int64_t units, int sm_count, pg_launch *l)
{
    const int cluster = pg_hopper_cluster(p);
    int64_t workers = pg_clusters_at_once(cluster, sm_count);
    if (p->splits > 1) /* one tile a cluster */
        workers = units;
    pg_launch_line(l, (units < workers ? units : workers) * cluster, p->threads, MULTIPLY_COUNT,
                   pg_hopper_params(p, PG_PART_MULTIPLY).absent);
    if (cluster > 1) {
        l->cluster[0] = (uint32_t)cluster;
        l->cluster[1] = l->cluster[2] = 1;
    }
    l->shared_bytes = p->head.shared_bytes;
    l->early = true;
}

static void set_phase_steps(const pg_problem *problem, pg_launch *l)
{
    const pg_hopper_plan *p = problem->plan;
    const pg_view *c = &problem->operand[PG_MATMUL_C], *d = &problem->operand[PG_MATMUL_D];
    const int64_t d_bytes = p->out->bytes, d_row = p->slices > 1 ? padded_columns(problem) * d_bytes
                                                                 : d->stride[PG_ROW] * d_bytes;
    const phase_steps to = {at_d_stride_, at_d_batch_, d_row, d_bytes};
    if (c->present) {
        const int64_t c_bytes = p->c_type->bytes;
        const phase_steps from = {at_c_stride_, at_c_batch_, c->stride[PG_ROW] * c_bytes, c_bytes};
        step_by_phases(p, l, &from);
    }
    step_by_phases(p, l, &to);
}

static void set_left(const pg_problem *problem, const pg_view *left, pg_launch *l)
{
    const pg_hopper_plan *p = problem->plan;
    const pg_matrix_map only = operand_map(problem, &p->left, left);
    if (!p->phases)
        pg_set_matrix(l, at_left_map_, &only);
    for (int i = 0; i < p->phases; i++) {
        const pg_matrix_map map = phase_map(problem, left, i);
        pg_set_matrix(l, i ? at_left_map_1 + i - 1 : at_left_map_, &map);
    }
    if (p->phases)
        set_heads(problem, l, at_head_);
}

/* The operands, and where the results go: into D, or one for each slice into the workspace. */
static void set_operands(const pg_problem *problem, char *workspace, pg_launch *l)
{
    const pg_hopper_plan *p = problem->plan;
    const pg_view *c = &problem->operand[PG_MATMUL_C], *d = &problem->operand[PG_MATMUL_D];
    const pg_view a = aligned_view(problem, PG_MATMUL_A, workspace),
                  b = aligned_view(problem, PG_MATMUL_B, workspace);
    const pg_view *left = p->swapped ? &b : &a, *right = p->swapped ? &a : &b;
    const pg_matrix_map right_map = operand_map(problem, &p->right, right);
    set_left(problem, left, l);
    pg_set_matrix(l, at_right_map_, &right_map);
    const pg_view *ring =
        p->residual_ring ? &problem->operand[PG_MATMUL_STEPS + PG_SIDE_RESIDUAL] : c;
    if (p->c_slots) {
        const pg_matrix_map map = ring_map(p, ring, p->block_m);
        pg_set_matrix(l, at_c_map_, &map);
    }
    if (p->stores_slots) {
        const pg_matrix_map map = result_map(p, d);
        pg_set_matrix(l, at_d_map_, &map);
    }
    set_matrix(l, at_c_, c);
    set_matrix(l, at_d_, d);
    pg_set_u32(l, at_c_vectors_, takes_vectors(c));
    pg_set_u32(l, at_d_vectors_,
               p->stores_slots ? takes_map(d) : p->slices > 1 || stores_vectors(problem));
    pg_set_u32(l, at_batch_maps_,
               steps_by_batch(left) << PG_LEFT_STEPS | steps_by_batch(right) << PG_RIGHT_STEPS |
                   (p->c_slots && steps_by_batch(ring)) << PG_C_STEPS |
                   pg_matmul_rows_follow(problem) << PG_GROUPS_FOLLOW);
    if (p->group_type) {
        pg_set_u32(l, at_groups_, problem->symbol[PG_MATMUL_BATCH]);
        pg_set_pointer(l, at_group_rows_, problem->operand[PG_MATMUL_GROUP_ROWS].data);
    }
    set_batches(l, at_c_batch_, problem);
    if (p->slices == 1)
        pg_epilogue_set(problem, PG_MATMUL_STEPS, &p->epilogue, l, at_row_scale_);
    if (p->slices > 1) {
        pg_set_pointer(l, at_d_, slices_at(problem, workspace));
        pg_set_u64(l, at_d_stride_, (uint64_t)(padded_columns(problem) * ACCUMULATOR_BYTES));
        pg_set_u64(l, at_d_batch_, (uint64_t)slice_matrix_bytes(problem));
    }
    if (pg_hopper_phases_of_k(p)) /* whose slices are all of one matrix */
        pg_set_u64(l, at_d_batch_, 0);
    else if (p->phases)
        set_phase_steps(problem, l);
}

/* What tiles cover of the rows of the left operand and of K, in each of the matrices, or phases,
 * that they are of. */
typedef struct extents {
    int64_t rows, depth, matrices;
} extents;

static extents extents_of(const pg_problem *problem)
{
    const pg_hopper_plan *p = problem->plan;
    const int64_t head = pg_hopper_longest_head(left_of(problem), p->phases);
    extents e = {problem->symbol[p->swapped ? PG_MATMUL_N : PG_MATMUL_M], pg_matmul_depth(problem),
                 problem->symbol[PG_MATMUL_BATCH]};
    if (pg_hopper_phases_of_k(p)) {
        e.rows += head;
        e.depth = divide_up(e.depth, p->phases);
    } else if (p->phases) {
        e.rows = divide_up(e.rows, p->phases);
        e.depth += e.depth ? head : 0;
        e.matrices = p->phases;
    }
    return e;
}

static void launch_multiply(const pg_problem *problem, char *workspace, pg_launch *l)
{
    const pg_hopper_plan *p = problem->plan;
    const int64_t m = problem->symbol[PG_MATMUL_M], n = problem->symbol[PG_MATMUL_N];
    const int64_t rows = p->swapped ? n : m, columns = p->swapped ? m : n;
    const extents e = extents_of(problem);
    const int64_t tiles_m = divide_up(e.rows, p->block_m * p->cluster_m),
                  tiles_n = divide_up(columns, p->block_n * p->cluster_n);
    /* Groups in one matrix are at most as many tiles as it has, and one more for each. */
    const bool follow = p->group_type && pg_matmul_rows_follow(problem);
    const int64_t units =
        follow ? (tiles_m + e.matrices) * tiles_n : tiles_m * tiles_n * p->slices * e.matrices;
    const bool padded = p->slices > 1 && !p->swapped;
    begin_multiply(p, units, problem->device->sm_count, l);
    set_operands(problem, workspace, l);
    pg_set_u32(l, at_m_, rows);
    pg_set_u32(l, at_n_, padded ? padded_columns(problem) : columns);
    pg_set_u32(l, at_k_blocks_, divide_up(e.depth, p->block_k));
    pg_set_u32(l, at_tiles_m_, tiles_m);
    pg_set_u32(l, at_tiles_n_, tiles_n);
    pg_set_u32(l, at_units_, units);
    pg_set_u64(l, at_slice_bytes_, (uint64_t)slice_bytes(problem));
    pg_set_f32(l, at_alpha_, factors_of(problem).alpha);
    pg_set_f32(l, at_c_scale_, factors_of(problem).c);
}

/* Copies of A and B, the multiplication, the sum of slices: those that the call takes, in
 * order. */
void pg_hopper_launch(const pg_problem *problem, const pg_step *step, pg_launch *l)
{
    const bool copies = is_copied(problem, PG_MATMUL_A) || is_copied(problem, PG_MATMUL_B);
    if (copies && step->number == 0)
        launch_align(problem, step->workspace, l);
    else if (step->number == copies)
        launch_multiply(problem, step->workspace, l);
    else
        launch_sum(problem, step->workspace, l);
}
