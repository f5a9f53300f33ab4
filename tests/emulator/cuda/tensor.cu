// Tensor copies and mbarriers through cuda::ptx: two stages, doubled in shared memory, stored and reduced.
#include <cuda.h>
#include <cuda/ptx>

namespace ptx = cuda::ptx;

extern "C" __global__ void double_tiles(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                                        float *sum, int tiles)
{
    __shared__ alignas(128) float tile[2][8][32];
    __shared__ uint64_t full[2];
    const int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&full[0], 1);
        ptx::mbarrier_init(&full[1], 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    for (int i = 0; i < tiles + 1; i++) {
        if (t == 0 && i < tiles) {
            const int32_t at[2] = {(int)blockIdx.x * 32, i * 8};
            if (i >= 2)
                ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile[i % 2], &from, at, &full[i % 2]);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[i % 2],
                                           sizeof tile[0]);
        }
        if (i == 0)
            continue;
        const int j = i - 1;
        while (!ptx::mbarrier_try_wait_parity(&full[j % 2], j / 2 % 2))
            ;
        float *x = &tile[j % 2][0][0] + t;
        *x *= 2;
        atomicAdd(sum, *x);
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            const int32_t at[2] = {(int)blockIdx.x * 32, j * 8};
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, tile[j % 2]);
            ptx::cp_async_bulk_commit_group();
        }
    }
    if (t == 0)
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
