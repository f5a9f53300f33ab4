// Programs of the runtime API, one per word of the command line; each prints what its test compares.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t e = (call);                                                                    \
        if (e != cudaSuccess)                                                                      \
            printf("%s: %s\n", #call, cudaGetErrorName(e)), exit(3);                               \
    } while (0)

__constant__ float factors[4];
__device__ int counter;
__managed__ int shared_with_host = 5;

__global__ void scale(float *x, int n, float add)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * factors[1] + add;
    atomicAdd(&counter, 1);
}

__global__ void use_dynamic(int *out)
{
    extern __shared__ int words[];
    words[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

__global__ void say(int n) { printf("thread %u of %d, %.2f %s\n", threadIdx.x, n, 0.25 * n, "ok"); }
__global__ void write_far(int *x) { x[1 << 20] = 1; }
__global__ void write_between(int *x) { *(int *)((char *)x + 2) = 1; }
__global__ void vote_without_itself(int *x) { *x = __ballot_sync(1u << (threadIdx.x ^ 1), 1); }
__global__ void check(int n)
{
    if (n != 7)
        __trap();
}
__global__ void __launch_bounds__(64) small(int *x) { x[threadIdx.x] = 1; }
__global__ void bump(int *x) { *x += 1; }
__global__ void twice(int *x) { *x *= 2; }

__global__ void __cluster_dims__(2, 1, 1) in_clusters(int *out)
{
    const auto c = cooperative_groups::this_cluster();
    __shared__ int word;
    word = 100 + c.block_rank();
    c.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = *c.map_shared_rank(&word, c.block_rank() ^ 1);
    c.sync();
}

// every CTA sees what all others wrote before the grid's barrier
__global__ void in_a_grid(int *x)
{
    x[blockIdx.x] = blockIdx.x + 1;
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0)
        x[8 + blockIdx.x] = x[gridDim.x - 1 - blockIdx.x];
}

// two warps write and read without a barrier
__global__ void racing(int *out)
{
    __shared__ int words[64];
    words[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = words[63 - threadIdx.x];
}

static int memory()
{
    std::vector<float> host(1000);
    for (int i = 0; i < 1000; i++)
        host[i] = i;
    const float values[4] = {1, 2, 3, 4};
    float *x;
    int count;
    TRY(cudaMemcpyToSymbol(factors, values, sizeof values));
    TRY(cudaMalloc(&x, 4000));
    TRY(cudaMemcpy(x, host.data(), 4000, cudaMemcpyHostToDevice));
    scale<<<4, 256>>>(x, 1000, 0.5f);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(host.data(), x, 4000, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    printf("%g %g %d\n", host[3], host[999], count);
    float2 *pitched;
    size_t pitch;
    TRY(cudaMallocPitch(&pitched, &pitch, 24, 5));
    TRY(cudaMemset2D(pitched, pitch, 0x11, 24, 5));
    unsigned rows[5][6];
    TRY(cudaMemcpy2D(rows, 24, pitched, pitch, 24, 5, cudaMemcpyDeviceToHost));
    printf("%x %x %d\n", rows[0][0], rows[4][5], pitch >= 24);
    cudaPointerAttributes a;
    TRY(cudaPointerGetAttributes(&a, x + 10));
    printf("%d\n", a.type == cudaMemoryTypeDevice);
    printf("%s\n", cudaGetErrorName(cudaMemcpy(x, host.data(), 5000, cudaMemcpyHostToDevice)));
    TRY(cudaFree(x));
    printf("%s\n", cudaGetErrorName(cudaFree(host.data())));
    printf("%d ", shared_with_host);
    bump<<<1, 1>>>(&shared_with_host);
    TRY(cudaDeviceSynchronize());
    printf("%d\n", shared_with_host);
    return 0;
}

static int graphs()
{
    int *x, value = 0;
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    TRY(cudaMalloc(&x, 8));
    TRY(cudaMemset(x, 0, 8));
    TRY(cudaStreamCreate(&a));
    TRY(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&fork));
    TRY(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    TRY(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    bump<<<1, 1, 0, a>>>(x);
    TRY(cudaEventRecord(fork, a));
    TRY(cudaStreamWaitEvent(b, fork, 0));
    twice<<<1, 1, 0, b>>>(x);
    TRY(cudaEventRecord(join, b));
    TRY(cudaStreamWaitEvent(a, join, 0));
    bump<<<1, 1, 0, a>>>(x);
    TRY(cudaStreamEndCapture(a, &graph));
    TRY(cudaMemcpy(&value, x, 4, cudaMemcpyDeviceToHost));
    printf("%d ", value); // nothing has run
    size_t nodes = 0;
    TRY(cudaGraphGetNodes(graph, nullptr, &nodes));
    TRY(cudaGraphInstantiate(&instance, graph, 0));
    for (int i = 0; i < 3; i++)
        TRY(cudaGraphLaunch(instance, a));
    TRY(cudaStreamSynchronize(a));
    TRY(cudaMemcpy(&value, x, 4, cudaMemcpyDeviceToHost));
    printf("%zu %d\n", nodes, value); // ((0+1)*2+1 = 3; 9; 21)
    TRY(cudaGraphExecDestroy(instance));
    TRY(cudaGraphDestroy(graph));
    // by hand, the second node before the first
    cudaGraphNode_t first, second;
    void *args[] = {&x};
    cudaKernelNodeParams p = {};
    p.func = (void *)twice, p.gridDim = p.blockDim = dim3(1), p.kernelParams = args;
    TRY(cudaGraphCreate(&graph, 0));
    TRY(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &p));
    p.func = (void *)bump;
    TRY(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &p));
    TRY(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
    TRY(cudaGraphInstantiate(&instance, graph, 0));
    TRY(cudaGraphLaunch(instance, 0));
    TRY(cudaMemcpy(&value, x, 4, cudaMemcpyDeviceToHost));
    printf("%d\n", value); // (21+1)*2
    return 0;
}

static int launches()
{
    int *x, host[64];
    TRY(cudaMalloc(&x, sizeof host));
    use_dynamic<<<1, 64, 256>>>(x);
    TRY(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    printf("%d %d\n", host[0], host[63]);
    use_dynamic<<<1, 64, 60000>>>(x);
    printf("%s ", cudaGetErrorName(cudaGetLastError()));
    TRY(cudaFuncSetAttribute(use_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    use_dynamic<<<1, 64, 60000>>>(x);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    small<<<1, 65>>>(x);
    printf("%d ", cudaGetLastError() != cudaSuccess);
    small<<<0, 64>>>(x);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    in_clusters<<<4, 32>>>(x);
    TRY(cudaMemcpy(host, x, 16, cudaMemcpyDeviceToHost));
    printf("%d %d %d %d\n", host[0], host[1], host[2], host[3]);
    void *grid_args[] = {&x};
    TRY(cudaLaunchCooperativeKernel((const void *)in_a_grid, dim3(8), dim3(32), grid_args));
    TRY(cudaMemcpy(host, x, 64, cudaMemcpyDeviceToHost));
    printf("%d %d\n", host[8], host[15]);
    cudaFuncAttributes a;
    TRY(cudaFuncGetAttributes(&a, racing));
    int blocks;
    TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, racing, 1024, 0));
    printf("%zu %d\n", a.sharedSizeBytes, blocks);
    say<<<1, 2>>>(3);
    TRY(cudaDeviceSynchronize());
    return 0;
}

static int threads()
{
    std::vector<std::thread> all;
    int *x, value;
    TRY(cudaMalloc(&x, 4 * 8));
    TRY(cudaMemset(x, 0, 4 * 8));
    for (int t = 0; t < 8; t++)
        all.emplace_back([=] {
            cudaStream_t s;
            TRY(cudaStreamCreate(&s));
            for (int i = 0; i < 50; i++)
                bump<<<1, 1, 0, s>>>(x + t);
            TRY(cudaStreamSynchronize(s));
            TRY(cudaStreamDestroy(s));
        });
    for (auto &t : all)
        t.join();
    int sum = 0;
    for (int t = 0; t < 8; t++) {
        TRY(cudaMemcpy(&value, x + t, 4, cudaMemcpyDefault));
        sum += value;
    }
    printf("%d\n", sum);
    return 0;
}

static int failures(const char *which)
{
    int *x;
    TRY(cudaMalloc(&x, 256));
    if (!strcmp(which, "far"))
        write_far<<<1, 1>>>(x);
    else if (!strcmp(which, "between"))
        write_between<<<1, 1>>>(x);
    else if (!strcmp(which, "vote"))
        vote_without_itself<<<1, 32>>>(x);
    else if (!strcmp(which, "trap"))
        check<<<1, 1>>>(3);
    else if (!strcmp(which, "race"))
        racing<<<1, 64>>>(x);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("%s\n", cudaGetErrorName(cudaMalloc(&x, 16)));
    return 0;
}

static int device()
{
    cudaDeviceProp p;
    int sms;
    TRY(cudaGetDeviceProperties(&p, 0));
    TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    printf("%d.%d %d %d %zu %d %d\n", p.major, p.minor, p.multiProcessorCount, sms, p.totalGlobalMem >> 20,
           p.maxBlocksPerMultiProcessor, p.clusterLaunch);
    printf("%s\n", cudaGetErrorName(cudaSetDevice(1)));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "memory"))
        return memory();
    if (!strcmp(what, "graphs"))
        return graphs();
    if (!strcmp(what, "launches"))
        return launches();
    if (!strcmp(what, "threads"))
        return threads();
    if (!strcmp(what, "device"))
        return device();
    if (!strcmp(what, "unknown")) { // a call that the stand-in lacks
        void *handle = nullptr;
        printf("%s\n", cudaGetErrorName(cudaIpcOpenMemHandle(&handle, cudaIpcMemHandle_t{}, 0)));
        return 9;
    }
    return failures(what);
}
