// The headers that people use: half precision, wmma, pipelines, cooperative groups, CUB.
#include <cooperative_groups.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <mma.h>

namespace cg = cooperative_groups;

extern "C" __global__ void scan(const int *in, int *out)
{
    typedef cub::BlockScan<int, 128> Scan;
    __shared__ typename Scan::TempStorage storage;
    int x[4];
    for (int i = 0; i < 4; i++)
        x[i] = in[blockIdx.x * 512 + threadIdx.x * 4 + i];
    Scan(storage).ExclusiveSum(x, x);
    for (int i = 0; i < 4; i++)
        out[blockIdx.x * 512 + threadIdx.x * 4 + i] = x[i];
}

extern "C" __global__ void sort(unsigned *keys)
{
    typedef cub::BlockRadixSort<unsigned, 128, 4> Sort;
    __shared__ typename Sort::TempStorage storage;
    unsigned x[4];
    for (int i = 0; i < 4; i++)
        x[i] = keys[threadIdx.x * 4 + i];
    Sort(storage).Sort(x);
    for (int i = 0; i < 4; i++)
        keys[threadIdx.x * 4 + i] = x[i];
}

extern "C" __global__ void half_math(const __half2 *a, const __half2 *b, __half2 *out)
{
    const int t = threadIdx.x;
    out[5 * t] = __hfma2(a[t], b[t], __float2half2_rn(0.25f));
    out[5 * t + 1] = __hmul2_sat(a[t], b[t]);
    out[5 * t + 2] = __hmax2(a[t], __hneg2(b[t]));
    out[5 * t + 3] = __hsub2_rn(a[t], __lowhigh2highlow(b[t]));
    out[5 * t + 4] = __halves2half2(__hlt(a[t].x, b[t].x) ? a[t].x : b[t].y,
                                    __float2half(__bfloat162float(__float2bfloat16(__half2float(a[t].y)))));
}

extern "C" __global__ void half_predicates(const __half2 *a, const __half2 *b, unsigned *out)
{
    const int t = threadIdx.x;
    out[t] = (unsigned)__hbeq2(a[t], b[t]) | (unsigned)__hble2(a[t], b[t]) << 1 | __hgt2_mask(a[t], b[t]) << 2;
}

extern "C" __global__ void fp8(const float *in, float *out)
{
    const int t = threadIdx.x;
    out[2 * t] = (float)__nv_fp8_e4m3(in[t]);
    out[2 * t + 1] = (float)__nv_fp8_e5m2(in[t]);
}

extern "C" __global__ void warp_matrix(const __half *a, const __half *b, const float *c, float *d)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> x;
    fragment<matrix_b, 16, 16, 16, __half, col_major> y;
    fragment<accumulator, 16, 16, 16, float> s;
    load_matrix_sync(x, a, 16);
    load_matrix_sync(y, b, 16);
    load_matrix_sync(s, c, 16, mem_row_major);
    mma_sync(s, x, y, s);
    store_matrix_sync(d, s, 16, mem_row_major);
}

// Four stages of cp.async in front of the sum.
extern "C" __global__ void pipeline(const float4 *in, float *out, int steps)
{
    __shared__ float4 stage[4][64];
    const int t = threadIdx.x;
    for (int i = 0; i < 3; i++) {
        if (i < steps)
            __pipeline_memcpy_async(&stage[i][t], &in[i * 64 + t], sizeof(float4));
        __pipeline_commit();
    }
    float sum = 0;
    for (int i = 0; i < steps; i++) {
        __pipeline_wait_prior(2);
        __syncthreads();
        const float4 x = stage[i % 4][63 - t];
        sum += x.x + 2 * x.y + 3 * x.z + 4 * x.w;
        if (i + 3 < steps)
            __pipeline_memcpy_async(&stage[(i + 3) % 4][t], &in[(i + 3) * 64 + t], sizeof(float4));
        __pipeline_commit();
    }
    out[t] = sum;
}

// Each CTA of a cluster adds what the next one holds.
extern "C" __global__ void cluster_ring(const int *in, int *out)
{
    __shared__ int own[32];
    cg::cluster_group cluster = cg::this_cluster();
    own[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
    cluster.sync();
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    const int *theirs = cluster.map_shared_rank(own, next);
    out[blockIdx.x * 32 + threadIdx.x] = own[threadIdx.x] * 1000 + theirs[31 - threadIdx.x];
    cluster.sync();
}

extern "C" __global__ void groups(const int *in, int *out)
{
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int x = in[threadIdx.x];
    int sum = x;
    for (int step = 4; step; step /= 2)
        sum += tile.shfl_xor(sum, step);
    if (x & 1) {
        cg::coalesced_group odd = cg::coalesced_threads();
        sum += 100 * odd.thread_rank() + 10000 * odd.size();
    }
    out[threadIdx.x] = sum + (tile.any(x > 90) ? 1000000 : 0);
}
