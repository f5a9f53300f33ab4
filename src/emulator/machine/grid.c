/* What the clusters of a grid share: which is next, where each lies, and the adversary's random
 * bits. */
#include "emulator/machine/launch.h"

uint64_t pg_worker_random(pg_worker *worker)
{
    uint64_t x = worker->random += UINT64_C(0x9e3779b97f4a7c15); /* SplitMix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void pg_cluster_first_ctaid(const pg_grid_run *launch, uint64_t index, uint32_t id[3])
{
    const uint32_t *g = launch->grid, *n = launch->cluster;
    const uint64_t across = g[0] / n[0], down = g[1] / n[1];
    id[0] = (uint32_t)(index % across) * n[0];
    id[1] = (uint32_t)(index / across % down) * n[1];
    id[2] = (uint32_t)(index / across / down) * n[2];
}

bool pg_cluster_claim(pg_grid_run *launch, uint64_t *index)
{
    if (launch->choose_cluster)
        return launch->choose_cluster(launch, index);
    *index = atomic_fetch_add(&launch->next_cluster, 1);
    if (*index < launch->cluster_count)
        return true;
    atomic_store(&launch->next_cluster, launch->cluster_count);
    return false;
}
