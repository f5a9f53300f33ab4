/* The memory of a running cluster: one block that holds its CTAs, warps, register files, local
 * and shared memory; a finished cluster's block serves the next one. Everything starts as zero. */
#include "emulator/run/cluster.h"

#include "emulator/machine/async.h"
#include "emulator/machine/observer.h"
#include "emulator/flow/control.h"
#include "emulator/machine/stop.h"
#include "emulator/machine/special.h"
#include "emulator/tensor/tensor_memory.h"

enum { BLOCK_ALIGN = 64 };

/* Hands out consecutive parts of a block; with base NULL it only counts. */
typedef struct carver {
    char *base;
    size_t used;
} carver;

static void *carve(carver *c, size_t bytes)
{
    void *at = c->base ? c->base + c->used : NULL;
    c->used += (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
    return at;
}

/* The parts of one CTA, in the order in which they are used together. */
static void carve_cta(carver *c, const pg_grid_run *launch, pg_cta *cta)
{
    const pg_program *program = launch->program;
    pg_warp *warps = carve(c, launch->warps_per_cta * sizeof *warps);
    for (uint32_t i = 0; i < launch->warps_per_cta; i++) {
        char *regs = carve(c, program->regs_bytes);
        uint32_t *preds = carve(c, (program->pred_count + 1) * sizeof *preds);
        uint32_t *frame = carve(c, PG_LANES * sizeof *frame);
        char *local = carve(c, (size_t)PG_LANES * launch->local_bytes);
        if (warps) {
            warps[i].regs = regs;
            warps[i].preds = preds;
            warps[i].frame = frame;
            warps[i].local = local;
        }
    }
    uint8_t *shared = carve(c, launch->shared_bytes);
    uint16_t *slots = carve(c, (launch->shared_bytes / PG_MBARRIER_BYTES + 1) * sizeof *slots);
    if (cta) {
        cta->warps = warps;
        cta->shared = shared;
        cta->mbarrier_slots = slots;
    }
}

static size_t carve_cluster(char *base, const pg_grid_run *launch)
{
    carver c = {.base = base};
    pg_cluster *cluster = carve(&c, sizeof *cluster);
    pg_cta *ctas = carve(&c, launch->ctas_per_cluster * sizeof *ctas);
    for (uint32_t i = 0; i < launch->ctas_per_cluster; i++)
        carve_cta(&c, launch, base ? &ctas[i] : NULL);
    if (base)
        cluster->ctas = ctas;
    return c.used;
}

static void start_warp(pg_cta *cta, pg_warp *w, uint32_t index)
{
    pg_grid_run *launch = cta->cluster->launch;
    const uint32_t first = index * PG_LANES, left = launch->threads_per_cta - first;
    w->cta = cta;
    w->launch = launch;
    w->index = index;
    w->consts = launch->program->consts;
    w->born = left >= PG_LANES ? PG_ALL_LANES : (1u << left) - 1;
    w->live = w->born;
    w->preds[0] = PG_ALL_LANES; /* PG_TRUE_PRED */
    w->groups[0] = (pg_group){.lanes = w->born, .pc = launch->entry->first_op};
    w->group_count = 1;
    w->runnable = true;
    pg_fill_specials(w);
}

static void start_cta(pg_cluster *cluster, uint32_t rank)
{
    const pg_grid_run *launch = cluster->launch;
    pg_cta *cta = &cluster->ctas[rank];
    const uint32_t *n = launch->cluster;
    const uint32_t inside[3] = {rank % n[0], rank / n[0] % n[1], rank / n[0] / n[1]};
    cta->cluster = cluster;
    cta->rank = rank;
    cta->warp_count = launch->warps_per_cta;
    cta->live_warps = launch->warps_per_cta;
    cta->shared_bytes = launch->shared_bytes;
    cta->shared_address = rank << PG_SHARED_RANK_SHIFT;
    pg_cluster_first_ctaid(launch, cluster->index, cta->id);
    for (int i = 0; i < 3; i++)
        cta->id[i] += inside[i];
    for (uint32_t i = 0; i < cta->warp_count; i++)
        start_warp(cta, &cta->warps[i], i);
}

static pg_cluster *take_block(pg_worker *worker, size_t bytes)
{
    pg_grid_run *launch = worker->launch;
    pg_cluster *spare = worker->spare;
    if (spare) {
        worker->spare = NULL;
        memset((void *)spare, 0, bytes);
        return spare;
    }
    const uint64_t used = atomic_fetch_add(&launch->memory_used, bytes) + bytes;
    void *block = launch->memory_budget && used > launch->memory_budget
                      ? NULL
                      : pg_alloc_zero(launch->alloc, bytes);
    if (!block) {
        atomic_fetch_sub(&launch->memory_used, bytes);
        pg_stop_memory(launch, bytes);
    }
    return block;
}

pg_cluster *pg_cluster_start(pg_worker *worker, uint64_t index)
{
    pg_grid_run *launch = worker->launch;
    const size_t bytes = carve_cluster(NULL, launch);
    pg_cluster *cluster = take_block(worker, bytes);
    if (!cluster)
        return NULL;
    carve_cluster((char *)cluster, launch);
    cluster->memory_bytes = bytes;
    cluster->launch = launch;
    cluster->worker = worker;
    cluster->index = index;
    cluster->cta_count = launch->ctas_per_cluster;
    cluster->live_ctas = launch->ctas_per_cluster;
    for (uint32_t i = 0; i < cluster->cta_count; i++)
        start_cta(cluster, i);
    if (launch->observer && launch->observer->cluster_start &&
        !launch->observer->cluster_start(cluster)) {
        pg_stop_memory(launch, 0);
        pg_cluster_free(worker, cluster);
        return NULL;
    }
    return cluster;
}

/* What lies outside the block. */
static void release(pg_cluster *cluster)
{
    const pg_alloc *alloc = cluster->launch->alloc;
    pg_async_drop_all(cluster);
    PG_OBSERVE(cluster->launch, cluster_free, cluster);
    for (uint32_t i = 0; i < cluster->cta_count; i++) {
        pg_cta *cta = &cluster->ctas[i];
        if (cta->mbarriers)
            pg_free(alloc, cta->mbarriers, cta->mbarrier_capacity * sizeof *cta->mbarriers);
        cta->mbarriers = NULL;
        pg_tensor_memory_free(cta);
        for (uint32_t k = 0; k < cta->warp_count; k++) {
            pg_call_stack_free(&cta->warps[k]);
            if (cta->warps[k].async)
                pg_free(alloc, cta->warps[k].async, sizeof(pg_warp_async));
            cta->warps[k].async = NULL;
        }
    }
}

void pg_cluster_finish(pg_worker *worker, pg_cluster *cluster)
{
    PG_OBSERVE(worker->launch, cluster_end, cluster);
    if (worker->spare) {
        pg_cluster_free(worker, cluster);
        return;
    }
    release(cluster);
    worker->spare = cluster;
}

void pg_cluster_free(pg_worker *worker, pg_cluster *cluster)
{
    const size_t bytes = cluster->memory_bytes;
    release(cluster);
    atomic_fetch_sub(&worker->launch->memory_used, bytes);
    pg_free(worker->launch->alloc, cluster, bytes);
}
