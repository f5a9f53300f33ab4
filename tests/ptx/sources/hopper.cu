// Tensor maps, bulk copies, mbarriers through cuda::ptx, and wgmma as inline assembly with local names that repeat.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;

__device__ inline void wait(uint64_t *bar, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra done;\n"
                 "bra again;\n"
                 "done:\n"
                 "}" ::"r"((unsigned)__cvta_generic_to_shared(bar)),
                 "r"(parity)
                 : "memory");
}

__global__ void load(const __grid_constant__ CUtensorMap map, float *out, const __grid_constant__ CUtensorMap to)
{
    __shared__ alignas(1024) float tile[64 * 32];
    __shared__ uint64_t full, empty;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::mbarrier_init(&empty, 128);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        int32_t at[2] = {(int)blockIdx.x * 32, 0};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    __syncthreads();
    wait(&full, 0);
    tile[threadIdx.x] *= 2;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    wait(&full, 0);
    if (threadIdx.x == 0) {
        int32_t at[2] = {(int)blockIdx.x * 32, 64};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, tile);
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, sizeof tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
    }
}

__global__ void __launch_bounds__(128) multiply(float *out, unsigned long long a, unsigned long long b)
{
    float d[8] = {0};
    for (int k = 0; k < 4; k++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "setp.ne.b32 p, %10, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 0, 0;\n"
                     "}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                       "+f"(d[7])
                     : "l"(a + 2 * k), "l"(b + 2 * k), "r"(k));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 8; i++)
        out[threadIdx.x * 8 + i] = d[i];
    unsigned lane;
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; @p add.u32 %0, %0, 1; }" : "=r"(lane));
    out[lane] = 1;
    asm volatile("griddepcontrol.launch_dependents;");
}
