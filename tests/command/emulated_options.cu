/* What the options of `ptxgen emulate` change: device queries, a race, a loop, an inexact sum in a tensor core. */
#include <cstdio>

__global__ void race(int *p)
{
    p[0] = threadIdx.x;
}

__global__ void loop(int *p)
{
    for (int i = 0; i < 1000; i++)
        atomicAdd(p, 1);
}

/* Row 0 of A is 2^13, 2, -2^13, 0 ...; column 0 of B is 2^13, 3, 2^13, 0 ...: 2^26 + 6 - 2^26, which float makes 8. */
__global__ void multiply(float *d)
{
    unsigned a[4] = {0, 0, 0, 0}, b[2] = {0, 0};
    if (threadIdx.x == 0) {
        a[0] = 0x40007000u;
        b[0] = 0x42007000u;
    }
    if (threadIdx.x == 1) {
        a[0] = 0x0000f000u;
        b[0] = 0x00007000u;
    }
    float c[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    if (threadIdx.x == 0)
        *d = c[0];
}

int main()
{
    cudaDeviceProp d;
    cudaGetDeviceProperties(&d, 0);
    size_t left, all;
    cudaMemGetInfo(&left, &all);
    printf("sm_%d%d, %d multiprocessors, %zu MiB\n", d.major, d.minor, d.multiProcessorCount, all >> 20);
    int *p, last;
    float *q, sum;
    cudaMalloc(&p, 8);
    cudaMalloc(&q, 4);
    race<<<1, 512>>>(p);
    loop<<<2, 32>>>(p + 1);
    multiply<<<1, 32>>>(q);
    cudaMemcpy(&last, p, 4, cudaMemcpyDefault);
    cudaMemcpy(&sum, q, 4, cudaMemcpyDefault);
    printf("last %d, sum %g, %s\n", last, sum, cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
