// Cooperative groups, clusters, cuda::barrier, cuda::pipeline, cp.async, wmma, libcu++ atomics.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;

__global__ void groups(int *out, const int *in)
{
    __shared__ int stage[256];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    cg::memcpy_async(block, stage, in, sizeof(stage));
    cg::wait(block);
    int v = cg::reduce(tile, stage[block.thread_rank()], cg::plus<int>());
    auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0)
        out[block.group_index().x] = v + active.size();
}

__global__ void __cluster_dims__(2, 1, 1) cluster(int *out)
{
    __shared__ int mine;
    cg::cluster_group c = cg::this_cluster();
    if (threadIdx.x == 0)
        mine = c.block_rank();
    c.sync();
    int *other = c.map_shared_rank(&mine, c.block_rank() ^ 1);
    atomicAdd(other, 1);
    c.sync();
    out[c.block_rank()] = mine;
}

__global__ void barriers(float *out, const float *in)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ alignas(128) float data[512];
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&data[threadIdx.x * 4], &in[threadIdx.x * 4], cuda::aligned_size_t<16>(16), bar);
    auto token = bar.arrive();
    bar.wait(std::move(token));
    out[threadIdx.x] = data[threadIdx.x ^ 1];
    cuda::atomic_ref<float, cuda::thread_scope_device> total(out[1024]);
    total.fetch_add(data[3], cuda::memory_order_release);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> seen(*(unsigned long long *)(out + 2048));
    seen.compare_exchange_strong(*(unsigned long long *)(out + 4096), 5ull, cuda::memory_order_acq_rel);
}

__global__ void pipelined(float *out, const float *in, int n)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ float stage[2][128];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0; i < n; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, stage[i & 1], in + i * 128, sizeof(float) * 128, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        out[i * 128 + threadIdx.x] = stage[i & 1][threadIdx.x];
        pipe.consumer_release();
    }
}

__global__ void matrices(const __half *a, const __half *b, float *c)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f);
    load_matrix_sync(fa, a, 16);
    load_matrix_sync(fb, b, 16);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
}
