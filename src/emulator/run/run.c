/* A launch from the caller's arguments to the end of the last cluster. */
#include "base/sized.h"
#include "emulator/check/check.h"
#include "emulator/flow/heap.h"
#include "emulator/run/clock_results.h"
#include "emulator/run/cluster.h"
#include "emulator/profile/profile.h"
#include "emulator/run/context.h"
#include "emulator/number/formats.h"
#include "emulator/matrix/wgmma.h"

#include <string.h>
#include <unistd.h>

enum { MAX_THREADS_PER_CTA = 1024, MAX_HOST_THREADS = 256, MAX_GRID_YZ = 65535, PARAM_ALIGN = 128 };

static uint64_t product(const uint32_t v[3])
{
    return (uint64_t)v[0] * v[1] * v[2];
}

static void copy_dimensions(uint32_t to[3], const uint32_t from[3])
{
    for (int i = 0; i < 3; i++)
        to[i] = from[i] ? from[i] : 1;
}

static ptxgen_status check_block(const pg_entry *e, const pg_grid_run *y, ptxgen_error *err)
{
    const uint64_t threads = product(y->block);
    if (y->block[0] > MAX_THREADS_PER_CTA || y->block[1] > MAX_THREADS_PER_CTA ||
        threads > MAX_THREADS_PER_CTA)
        return pg_fail(err, PTXGEN_EINVAL, "a block of %ux%ux%u threads: a CTA has at most %d",
                       y->block[0], y->block[1], y->block[2], MAX_THREADS_PER_CTA);
    uint32_t required[3];
    copy_dimensions(required, e->reqntid);
    if (e->reqntid[0] && product(required) != threads)
        return pg_fail(
            err, PTXGEN_EINVAL, "%s requires %ux%ux%u threads (.reqntid), the launch has %ux%ux%u",
            e->name, required[0], required[1], required[2], y->block[0], y->block[1], y->block[2]);
    if (e->maxntid && threads > e->maxntid)
        return pg_fail(err, PTXGEN_EINVAL, "%s allows %u threads (.maxntid), the launch has %llu",
                       e->name, e->maxntid, (unsigned long long)threads);
    return PTXGEN_OK;
}

static ptxgen_status check_grid(const pg_entry *e, const pg_grid_run *y, ptxgen_error *err)
{
    if (y->grid[0] > INT32_MAX || y->grid[1] > MAX_GRID_YZ || y->grid[2] > MAX_GRID_YZ)
        return pg_fail(err, PTXGEN_EINVAL,
                       "a grid of %ux%ux%u CTAs: at most 2147483647 x 65535 x 65535", y->grid[0],
                       y->grid[1], y->grid[2]);
    for (int i = 0; i < 3; i++) {
        if (y->grid[i] % y->cluster[i])
            return pg_fail(err, PTXGEN_EINVAL,
                           "grid dimension %d is %u, no multiple of the cluster's %u", i,
                           y->grid[i], y->cluster[i]);
        if (e->reqcluster[0] && (e->reqcluster[i] ? e->reqcluster[i] : 1) != y->cluster[i])
            return pg_fail(err, PTXGEN_EINVAL,
                           "%s requires a cluster of %u CTAs in dimension %d, the launch has %u",
                           e->name, e->reqcluster[i], i, y->cluster[i]);
    }
    if (product(y->cluster) > PG_MAX_CTAS_IN_CLUSTER)
        return pg_fail(err, PTXGEN_EINVAL, "a cluster of %llu CTAs: at most %d",
                       (unsigned long long)product(y->cluster), PG_MAX_CTAS_IN_CLUSTER);
    return PTXGEN_OK;
}

static ptxgen_status check_shared(const pg_entry *e, pg_grid_run *y, size_t dynamic,
                                  ptxgen_error *err)
{
    const uint64_t begin = dynamic ? ((uint64_t)e->static_shared + e->dynamic_align - 1) /
                                         e->dynamic_align * e->dynamic_align
                                   : e->static_shared;
    if (begin + dynamic > PG_SHARED_BASE + (uint64_t)PG_SHARED_LIMIT)
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s needs %llu bytes of shared memory: a CTA has at most %d", e->name,
                       (unsigned long long)(begin + dynamic - PG_SHARED_BASE), PG_SHARED_LIMIT);
    y->dynamic_shared = (uint32_t)dynamic;
    y->shared_bytes = (uint32_t)(begin + dynamic);
    return PTXGEN_OK;
}

static ptxgen_status shape(const ptxgen_emulator_launch *in, const pg_entry *e, pg_grid_run *y,
                           ptxgen_error *err)
{
    copy_dimensions(y->grid, in->grid);
    copy_dimensions(y->block, in->block);
    copy_dimensions(y->cluster, in->cluster[0] ? in->cluster : e->reqcluster);
    PG_TRY(check_block(e, y, err));
    PG_TRY(check_grid(e, y, err));
    PG_TRY(check_shared(e, y, in->dynamic_shared, err));
    y->threads_per_cta = (uint32_t)product(y->block);
    y->warps_per_cta = (y->threads_per_cta + PG_LANES - 1) / PG_LANES;
    y->ctas_per_cluster = (uint32_t)product(y->cluster);
    y->cluster_count = product(y->grid) / y->ctas_per_cluster;
    y->local_bytes = e->frame_bytes;
    return PTXGEN_OK;
}

static ptxgen_status copy_params(const ptxgen_emulator_launch *in, const pg_entry *e,
                                 uint8_t *block, ptxgen_error *err)
{
    if (in->arg_count != e->param_count)
        return pg_fail(err, PTXGEN_EINVAL, "%s has %u parameters, the launch %zu arguments",
                       e->name, e->param_count, in->arg_count);
    for (uint32_t i = 0; i < e->param_count; i++) {
        if (!in->args[i])
            return pg_fail(err, PTXGEN_EINVAL,
                           "argument %u (%s) is NULL: each is a pointer to the value", i,
                           e->params[i].name);
        memcpy(block + e->params[i].offset, in->args[i], e->params[i].bytes);
    }
    return PTXGEN_OK;
}

/* ---- workers ---- */

static bool worker_init(pg_worker *worker, pg_grid_run *launch, uint32_t index)
{
    worker->launch = launch;
    worker->random = launch->seed * UINT64_C(0x9e3779b97f4a7c15) + index;
    worker->resident =
        pg_alloc_zero(launch->alloc, launch->resident_clusters * sizeof *worker->resident);
    worker->op_counts =
        pg_alloc_zero(launch->alloc, (launch->program->op_count + 1) * sizeof *worker->op_counts);
    if (launch->profile || launch->clock)
        worker->op_lanes = pg_alloc_zero(launch->alloc, (launch->program->op_count + 1) *
                                                            sizeof *worker->op_lanes);
    return worker->resident && worker->op_counts &&
           ((!launch->profile && !launch->clock) || worker->op_lanes);
}

static void worker_fini(pg_worker *worker)
{
    pg_grid_run *launch = worker->launch;
    for (uint32_t i = 0; i < worker->resident_count; i++)
        pg_cluster_free(worker, worker->resident[i]);
    if (worker->spare)
        pg_cluster_free(worker, worker->spare);
    if (worker->resident)
        pg_free(launch->alloc, worker->resident,
                launch->resident_clusters * sizeof *worker->resident);
    if (worker->mma_scratch)
        pg_free(launch->alloc, worker->mma_scratch, PG_MMA_SCRATCH_BYTES);
    if (worker->op_counts)
        pg_free(launch->alloc, worker->op_counts,
                (launch->program->op_count + 1) * sizeof *worker->op_counts);
    if (worker->op_lanes)
        pg_free(launch->alloc, worker->op_lanes,
                (launch->program->op_count + 1) * sizeof *worker->op_lanes);
}

static void *worker_main(void *argument)
{
    pg_worker *worker = argument;
    fenv_t saved;
    pg_float_env_enter(&saved);
    pg_worker_run(worker);
    pg_float_env_leave(&saved);
    return NULL;
}

/* Runs the workers: the caller's thread is the first. A thread that cannot start is done
 * without. */
static void run_workers(pg_worker *workers, uint32_t count)
{
    pthread_t threads[MAX_HOST_THREADS];
    bool started[MAX_HOST_THREADS] = {false};
    for (uint32_t i = 1; i < count; i++)
        started[i] = !pthread_create(&threads[i], NULL, worker_main, &workers[i]);
    worker_main(&workers[0]);
    for (uint32_t i = 1; i < count; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}

static void add_stats(ptxgen_emulator *emu, const pg_worker *worker)
{
    const pg_program *p = worker->launch->program;
    ptxgen_emulator_stats *s = &emu->stats;
    for (uint32_t i = 0; i < p->op_count; i++) {
        emu->op_counts[p->ops[i].opcode] += worker->op_counts[i];
        s->warp_instructions += worker->op_counts[i];
    }
    s->global_read += worker->space_read[PG_MEM_GLOBAL] + worker->space_read[PG_MEM_GENERIC];
    s->global_written +=
        worker->space_written[PG_MEM_GLOBAL] + worker->space_written[PG_MEM_GENERIC];
    s->shared_read += worker->space_read[PG_MEM_SHARED] + worker->space_read[PG_MEM_CLUSTER];
    s->shared_written +=
        worker->space_written[PG_MEM_SHARED] + worker->space_written[PG_MEM_CLUSTER];
    s->local_read += worker->space_read[PG_MEM_LOCAL];
    s->local_written += worker->space_written[PG_MEM_LOCAL];
    for (uint32_t i = 0; worker->launch->profile && i < p->op_count; i++) {
        worker->launch->profile->ops[i].executions += worker->op_counts[i];
        worker->launch->profile->ops[i].lanes += worker->op_lanes[i];
    }
}

static uint32_t host_threads(const ptxgen_emulator_config *c, uint64_t clusters)
{
    if (c->order == PTXGEN_EMULATOR_ORDER_ISA || c->check || c->profile || c->clock)
        return 1;
    const long online = c->threads ? (long)c->threads : sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t n = online < 1 ? 1 : (uint64_t)online;
    const uint64_t most = n < clusters ? n : clusters;
    return most > MAX_HOST_THREADS ? MAX_HOST_THREADS : (uint32_t)most;
}

static void execute(ptxgen_emulator *emu, pg_grid_run *launch)
{
    pg_worker *workers = pg_alloc_zero(launch->alloc, launch->host_threads * sizeof *workers);
    if (!workers) {
        pg_fail_memory(&launch->error, launch->host_threads * sizeof *workers);
        return;
    }
    bool ready = true;
    for (uint32_t i = 0; i < launch->host_threads; i++)
        ready &= worker_init(&workers[i], launch, i);
    if (ready)
        run_workers(workers, launch->host_threads);
    else
        pg_fail_memory(&launch->error, 0);
    pthread_mutex_lock(&emu->lock);
    for (uint32_t i = 0; ready && i < launch->host_threads; i++)
        add_stats(emu, &workers[i]);
    emu->stats.launches++;
    pthread_mutex_unlock(&emu->lock);
    for (uint32_t i = 0; i < launch->host_threads; i++)
        worker_fini(&workers[i]);
    pg_free(launch->alloc, workers, launch->host_threads * sizeof *workers);
}

static void configure(const ptxgen_emulator *emu, pg_grid_run *launch)
{
    const ptxgen_emulator_config *c = &emu->config;
    launch->alloc = &emu->alloc;
    launch->textures = emu->textures;
    launch->log = &emu->log;
    launch->print = emu->config.print;
    launch->print_user = emu->config.user;
    launch->seed = c->seed;
    launch->isa_order = c->order == PTXGEN_EMULATOR_ORDER_ISA;
    launch->exact = c->arithmetic == PTXGEN_EMULATOR_EXACT && !c->clock;
    if (!launch->instruction_budget)
        launch->instruction_budget = c->instruction_budget;
    launch->memory_budget = c->memory_budget;
    launch->findings = emu->findings;
    launch->host_threads = host_threads(c, launch->cluster_count);
    const uint64_t share =
        (launch->cluster_count + launch->host_threads - 1) / launch->host_threads;
    launch->resident_clusters =
        share < c->resident_clusters ? (uint32_t)share : c->resident_clusters;
    if (launch->cooperative)
        launch->resident_clusters = (uint32_t)launch->cluster_count;
    launch->memory.trust_pointers = c->trust_pointers;
}

/* The buffers as they are now: others may be added while the launch runs. */
static ptxgen_status snapshot_buffers(ptxgen_emulator *emu, pg_arena *arena, pg_grid_run *launch,
                                      ptxgen_error *err)
{
    pthread_mutex_lock(&emu->lock);
    const uint32_t n = emu->buffer_count;
    pg_buffer *buffers = PG_NEW_ARRAY(arena, pg_buffer, n + 1);
    for (uint32_t i = 0; buffers && i < n; i++) {
        buffers[i] = emu->buffers[i];
        buffers[i].name =
            pg_arena_strndup(arena, emu->buffers[i].name, strlen(emu->buffers[i].name));
    }
    pthread_mutex_unlock(&emu->lock);
    launch->memory.buffers = buffers;
    launch->memory.count = n;
    return arena->failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

/* The heap of malloc, from the first launch that needs it on. The lock of the emulator is not
 * held. */
static ptxgen_status provide_heap(ptxgen_emulator *emu, pg_grid_run *launch, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    if (!launch->program->uses_heap)
        return PTXGEN_OK;
    pthread_mutex_lock(&emu->lock);
    if (!emu->heap) {
        emu->heap = pg_heap_new(&emu->alloc);
        const pg_buffer buffer = {.address = emu->heap ? (uint64_t)(uintptr_t)emu->heap->memory : 0,
                                  .bytes = PG_HEAP_BYTES,
                                  .name = "heap of malloc",
                                  .writable = true};
        status =
            emu->heap ? pg_buffers_insert(emu, &buffer, err) : pg_fail_memory(err, PG_HEAP_BYTES);
        if (status != PTXGEN_OK) {
            pg_heap_free(emu->heap);
            emu->heap = NULL;
        }
    }
    launch->heap = emu->heap;
    pthread_mutex_unlock(&emu->lock);
    return status;
}

enum { WORKSPACE_BYTES = 256 };

/* What the driver gives a cooperative launch: a zeroed block that %envreg1 and 2 point to, and
 * that all may write. */
static ptxgen_status provide_workspace(pg_arena *arena, pg_grid_run *launch, ptxgen_error *err)
{
    if (!launch->cooperative)
        return PTXGEN_OK;
    pg_memory *m = &launch->memory;
    uint8_t *block = pg_arena_alloc(arena, 2 * WORKSPACE_BYTES);
    pg_buffer *buffers = PG_NEW_ARRAY(arena, pg_buffer, m->count + 1);
    if (!block || !buffers)
        return pg_fail_memory(err, WORKSPACE_BYTES);
    block += (WORKSPACE_BYTES - (uintptr_t)block % WORKSPACE_BYTES) % WORKSPACE_BYTES;
    memset(block, 0, WORKSPACE_BYTES);
    const uint64_t address = (uint64_t)(uintptr_t)block;
    uint32_t at = 0;
    while (at < m->count && m->buffers[at].address < address)
        at++;
    if (at)
        memcpy(buffers, m->buffers, at * sizeof *buffers);
    if (m->count > at)
        memcpy(buffers + at + 1, m->buffers + at, (m->count - at) * sizeof *buffers);
    buffers[at] = (pg_buffer){.address = address,
                              .bytes = WORKSPACE_BYTES,
                              .name = "workspace of the grid",
                              .writable = true};
    m->buffers = buffers;
    m->count++;
    launch->grid_workspace = block;
    return PTXGEN_OK;
}

static ptxgen_status run_in(pg_arena *arena, ptxgen_emulator_entry *entry,
                            const ptxgen_emulator_launch *in, ptxgen_error *err)
{
    ptxgen_emulator *emu = entry->module->emu;
    const pg_entry *e = &entry->program->entries[0];
    pg_grid_run *launch = PG_NEW(arena, pg_grid_run);
    uint8_t *params = pg_arena_alloc(arena, (size_t)e->param_bytes + PARAM_ALIGN + 16);
    if (!launch || !params)
        return pg_fail_memory(err, e->param_bytes);
    params += (PARAM_ALIGN - (uintptr_t)params % PARAM_ALIGN) % PARAM_ALIGN;
    launch->program = entry->program;
    launch->entry = e;
    launch->params = params;
    PG_TRY(shape(in, e, launch, err));
    PG_TRY(copy_params(in, e, params, err));
    PG_TRY(provide_heap(emu, launch, err));
    PG_TRY(snapshot_buffers(emu, arena, launch, err));
    launch->cooperative = in->cooperative;
    launch->instruction_budget = in->instruction_budget;
    PG_TRY(provide_workspace(arena, launch, err));
    configure(emu, launch);
    pthread_mutex_init(&launch->lock, NULL);
    if (emu->config.check) {
        launch->observer = &pg_checker_observer;
        launch->checker = pg_checker_new(launch);
    }
    if (emu->config.profile) {
        launch->observer = &pg_profile_observer;
        launch->profile = pg_profile_new(launch);
        if (launch->profile) {
            launch->profile->trace = emu->config.trace;
            launch->profile->user = emu->config.user;
            pthread_mutex_lock(&emu->lock);
            launch->profile->launch = (uint32_t)emu->stats.launches;
            pthread_mutex_unlock(&emu->lock);
        }
    }
    if (emu->config.clock)
        launch->clock = pg_clock_attach(entry, launch);
    if ((emu->config.check && !launch->checker) || (emu->config.profile && !launch->profile) ||
        (emu->config.clock && !launch->clock))
        pg_fail_memory(&launch->error, 0);
    else
        execute(emu, launch);
    pg_clock_keep(emu, launch);
    pg_profile_keep(entry->module, launch);
    pg_profile_free(launch->profile, launch);
    pg_checker_free(launch->checker);
    pthread_mutex_destroy(&launch->lock);
    if (launch->error.status != PTXGEN_OK && err)
        *err = launch->error;
    return launch->error.status;
}

ptxgen_status ptxgen_emulator_run(ptxgen_emulator_entry *entry,
                                  const ptxgen_emulator_launch *launch, ptxgen_error *err)
{
    ptxgen_emulator_launch whole = {.size = sizeof whole};
    if (!entry || !launch)
        return pg_fail(err, PTXGEN_EINVAL, "a kernel and a launch are needed");
    PG_TRY(pg_sized_take(&whole, sizeof whole, launch, "launch", "ptxgen_emulator_launch", err));
    if (whole.arg_count && !whole.args)
        return pg_fail(err, PTXGEN_EINVAL, "launch.args is NULL, launch.arg_count is %zu",
                       whole.arg_count);
    pg_arena arena;
    pg_arena_init(&arena, &entry->module->emu->alloc);
    const ptxgen_status status = run_in(&arena, entry, &whole, err);
    pg_arena_fini(&arena);
    return status;
}
