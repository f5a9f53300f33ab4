/* A program of two files, linked by nvcc -rdc=true: PART=1 has main and a kernel, FILE=2 what that
 * uses. Both have a static function and a string of one name. */
#include <cstdio>

struct Table {
    int at[4];
};
extern __device__ int scaled(int x);
extern __constant__ Table table;
extern __device__ int calls;

#if PART == 1
static __device__ int own(int x)
{
    return x + 1;
}

__global__ void both(int *out)
{
    out[threadIdx.x] = scaled(own(threadIdx.x)) + table.at[threadIdx.x % 4];
    if (threadIdx.x == 0)
        printf("first file %d\n", own(0));
}

void fill();

int main()
{
    int *out, host[32], count = 0;
    cudaMalloc(&out, sizeof host);
    fill();
    both<<<1, 32>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&count, calls, sizeof count);
    printf("%d %d %d %s\n", host[0], host[31], count, cudaGetErrorName(cudaGetLastError()));
    return 0;
}
#else
__constant__ Table table;
__device__ int calls;

static __device__ int own(int x)
{
    return 10 * x;
}

__device__ int scaled(int x)
{
    if (atomicAdd(&calls, 1) == 0)
        printf("second file %d\n", own(1));
    return own(x);
}

void fill()
{
    const Table host = {{1, 2, 3, 4}};
    cudaMemcpyToSymbol(table, &host, sizeof host);
}
#endif
