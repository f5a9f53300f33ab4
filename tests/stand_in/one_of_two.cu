// One of two modules of a program, built twice from this text: both have a race in the same lines of their PTX.
#include <cstdio>

__global__ void KERNEL(int *out)
{
    __shared__ int words[64];
    words[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = words[63 - threadIdx.x];
}

void NEXT(int *x);
void LAUNCH(int *x)
{
    KERNEL<<<1, 64>>>(x);
    cudaDeviceSynchronize();
}

#ifdef MAIN
int main()
{
    int *x;
    if (cudaMalloc(&x, 256) != cudaSuccess)
        return 3;
    LAUNCH(x);
    NEXT(x);
    printf("done\n");
}
#endif
