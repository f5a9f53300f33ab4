/* Sectors, banks and asynchronous bytes. */
#include "emulator/profile/profile.h"

#include "emulator/matrix/matrix_descriptor.h"
#include "emulator/matrix/mma_op.h"
#include "emulator/matrix/wgmma_op.h"

enum { SECTOR_SHIFT = 5, WORD_SHIFT = 2, BANKS = 32, ROW_BYTES = 128, MOST_PIECES = 128 };

pg_profile *pg_profile_new(const pg_grid_run *launch)
{
    pg_profile *p = pg_alloc_zero(launch->alloc, sizeof *p);
    const size_t bytes = (launch->program->op_count + 1) * sizeof *p->ops;
    if (p)
        p->ops = pg_alloc_zero(launch->alloc, bytes);
    if (p && !p->ops) {
        pg_free(launch->alloc, p, sizeof *p);
        return NULL;
    }
    return p;
}

void pg_profile_free(pg_profile *p, const pg_grid_run *launch)
{
    if (!p)
        return;
    pg_free(launch->alloc, p->ops, (launch->program->op_count + 1) * sizeof *p->ops);
    pg_free(launch->alloc, p, sizeof *p);
}

/* ---- sectors and banks ---- */

/* Pieces of 1 << shift bytes, each once. */
typedef struct pieces {
    uint64_t number[MOST_PIECES];
    uint32_t count;
} pieces;

static void add_pieces(pieces *p, uint64_t address, uint32_t bytes, uint32_t shift)
{
    for (uint64_t n = address >> shift; n <= (address + bytes - 1) >> shift; n++) {
        uint32_t i = 0;
        while (i < p->count && p->number[i] != n)
            i++;
        if (i == p->count && p->count < MOST_PIECES)
            p->number[p->count++] = n;
    }
}

/* The most words that one bank has to give. */
static uint32_t wavefronts_of(const pieces *words)
{
    uint32_t of_bank[BANKS] = {0}, most = 0;
    for (uint32_t i = 0; i < words->count; i++) {
        const uint32_t n = ++of_bank[words->number[i] % BANKS];
        most = n > most ? n : most;
    }
    return most;
}

/* Where a lane's access goes: global or shared memory, or neither. */
static pg_space space_of(const pg_op *op, uint64_t address, uint64_t *within)
{
    *within = address;
    if (op->space == PG_MEM_GENERIC)
        return pg_generic_space(address, within);
    return (pg_space)op->space;
}

/* Sectors of global memory, or words of shared memory of any CTA, that these lanes access. */
static pieces pieces_of(const pg_op *op, const pg_checked_access *a, uint32_t lanes, bool global)
{
    pieces found = {.count = 0};
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint64_t at;
        const pg_space space = space_of(op, a->address[__builtin_ctz(left)], &at);
        if (global ? space == PG_MEM_GLOBAL : space == PG_MEM_SHARED || space == PG_MEM_CLUSTER)
            add_pieces(&found, at, a->bytes, global ? SECTOR_SHIFT : WORD_SHIFT);
    }
    return found;
}

/* The lanes that shared memory serves together. */
static void count_part(pg_op_profile *p, const pg_op *op, const pg_checked_access *a,
                       uint32_t lanes)
{
    const pieces words = pieces_of(op, a, lanes, false);
    p->shared_wavefronts += wavefronts_of(&words);
    p->shared_ideal += words.count ? (words.count + BANKS - 1) / BANKS : 0;
}

/* Whether every lane has the address of the lane `step` away, where that takes part. */
static bool share_addresses(const pg_checked_access *a, uint32_t step)
{
    for (uint32_t left = a->lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left), other = lane ^ step;
        if ((a->lanes >> other & 1) && a->address[lane] != a->address[other])
            return false;
    }
    return true;
}

/* How many lanes shared memory serves together: those whose bytes fill its banks; of a load, two
 * such parts when all lanes share addresses in pairs. So counts an H200. */
static uint32_t lanes_together(const pg_op *op, const pg_checked_access *a)
{
    if (a->bytes <= 4 || a->bytes > 32)
        return PG_LANES;
    const bool load = a->kind == PG_ACCESS_READ && op->run != pg_op_ldmatrix;
    const bool paired = load && (share_addresses(a, 1) || share_addresses(a, 2));
    return ROW_BYTES / a->bytes * (paired ? 2 : 1);
}

static void profile_access(pg_warp *w, const pg_op *op, const pg_checked_access *a)
{
    pg_op_profile *p = pg_profile_of(w, op);
    uint64_t at;
    const pg_space space = space_of(op, a->address[__builtin_ctz(a->lanes ? a->lanes : 1)], &at);
    p->global_requests += space == PG_MEM_GLOBAL;
    p->global_sectors += pieces_of(op, a, a->lanes, true).count;
    p->shared_requests += space == PG_MEM_SHARED || space == PG_MEM_CLUSTER;
    if (a->kind != PG_ACCESS_READ && (space == PG_MEM_SHARED || space == PG_MEM_CLUSTER))
        pg_trace_write(w, op);
    const uint32_t together = lanes_together(op, a);
    for (uint32_t from = 0; from < PG_LANES; from += together) {
        const uint32_t part = together == PG_LANES ? PG_ALL_LANES : ((1u << together) - 1) << from;
        if (a->lanes & part)
            count_part(p, op, a, a->lanes & part);
    }
}

/* ---- asynchronous operations ---- */

/* wgmma is one operation of four warps, each of which issues its part. */
static bool is_part(const pg_async *a)
{
    return a->kind == &pg_kind_mma && a->warp->index % 4 != 0;
}

static void profile_issue(pg_async *a)
{
    if (is_part(a))
        return;
    pg_engine_use use = {.operations = 1};
    const pg_engine engine = pg_engine_use_of(a, &use);
    pg_engine_use *sum = &a->warp->launch->profile->engines[engine];
    sum->operations++;
    sum->global_read += use.global_read;
    sum->global_written += use.global_written;
    sum->shared_read += use.shared_read;
    sum->shared_written += use.shared_written;
    pg_op_profile *p = pg_profile_of(a->warp, a->op);
    p->async_operations++;
    p->async_bytes += use.global_read + use.global_written +
                      (use.global_read + use.global_written ? 0 : use.shared_written);
    pg_trace_issue(a, engine, &use);
}

/* An operand in shared memory, of wgmma or tcgen05.cp: its elements, not the gaps between. */
static void profile_operand(pg_async *a, const pg_matrix_layout *layout,
                            const pg_matrix_shape *shape)
{
    pg_engine_use use = {0};
    (void)layout;
    if (is_part(a))
        return;
    const uint64_t bytes = (uint64_t)shape->rows * shape->depth * shape->elem_bits / 8;
    a->warp->launch->profile->engines[pg_engine_use_of(a, &use)].shared_read += bytes;
    pg_profile_of(a->warp, a->op)->async_bytes += bytes;
}

const pg_observer pg_profile_observer = {
    .access = profile_access,
    .async_issue = profile_issue,
    .matrix_operand = profile_operand,
    .tensor_move = pg_profile_tensor_move,
    .tensor_use = pg_profile_tensor_use,
    .tensor_mma = pg_profile_tensor_mma,
    .tensor_alloc = pg_trace_tensor_alloc,
    .tensor_dealloc = pg_trace_tensor_dealloc,
    .bulk_wait = pg_trace_bulk_wait,
    .copy_wait = pg_trace_copy_wait,
    .mma_wait = pg_trace_mma_wait,
    .exit = pg_trace_exit,
    .proxy_fence = pg_trace_proxy_fence,
    .barrier = pg_trace_barrier,
    .barrier_passed = pg_trace_barrier_passed,
    .mbarrier_phase = pg_trace_mbarrier_phase,
    .mbarrier_wait = pg_trace_mbarrier_wait,
    .async_arriving = pg_trace_arriving,
    .async_done = pg_trace_done,
    .cluster_start = pg_trace_cluster_start,
    .cluster_free = pg_trace_cluster_free,
};
