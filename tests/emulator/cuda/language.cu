// What the language alone makes of a kernel: shared memory, shuffles, atomics, calls, local arrays, math.
#include <assert.h>
#include <stdio.h>

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float x[16][16], y[16][17];
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        x[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0;
        y[threadIdx.y][threadIdx.x] = col < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += x[threadIdx.y][i] * y[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

extern "C" __global__ void reduce(const int *in, long long *out, int n)
{
    __shared__ long long partial[32];
    long long sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int step = 16; step; step /= 2)
            sum += __shfl_down_sync(~0u, sum, step);
        if (threadIdx.x == 0)
            atomicAdd((unsigned long long *)out, (unsigned long long)sum);
    }
}

extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
    __shared__ unsigned own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[data[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (own[i])
            atomicAdd(&bins[i], own[i]);
}

// The last block, by a ticket, adds what all have written.
__device__ unsigned tickets;
extern "C" __global__ void last_block(const int *in, int *partial, int *out)
{
    __shared__ bool last;
    const int mine = __reduce_add_sync(~0u, in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = mine;
        __threadfence();
        last = atomicAdd(&tickets, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            sum += partial[i];
        *out = sum;
        tickets = 0;
    }
}

__device__ __noinline__ int collatz(int x)
{
    int steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }
    return steps;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ int pick(int what, int x)
{
    switch (what) {
    case 0:
        return x + 1;
    case 1:
        return x * 3;
    case 2:
        return x ^ 0x55;
    case 3:
        return collatz(x + 1);
    case 4:
        return -x;
    case 5:
        return x >> 2;
    case 6:
        return __popc(x);
    default:
        return 1000;
    }
}

extern "C" __global__ void calls(int *out)
{
    int stack[24], top = 0; // indexed by data: stays in local memory
    const int t = threadIdx.x;
    for (int i = 0; i < 24; i++)
        stack[(i * 7 + t) % 24] = pick((i + t) % 8, i * t);
    for (int i = 0; i < 24; i++)
        top = top * 31 + stack[(i + t) % 24];
    out[t] = top + (int)ackermann(2, t % 4);
}

struct pair {
    double weight;
    int count;
    char name[5];
};

__device__ __noinline__ pair make_pair_of(int t)
{
    pair p = {t * 0.5, t + 3, {'a', 'b', (char)('c' + t % 3), 'd', 0}};
    return p;
}

extern "C" __global__ void structs(double *out)
{
    const pair p = make_pair_of(threadIdx.x);
    out[threadIdx.x] = p.weight * p.count + p.name[2];
}

typedef int (*function)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int negate(int x) { return -x; }
__device__ function const table[3] = {twice, square, negate};

extern "C" __global__ void pointers(const int *which, int *out)
{
    out[threadIdx.x] = table[which[threadIdx.x]](threadIdx.x + 5);
}

struct shape {
    __device__ virtual int area(int x) const = 0;
};
struct block_shape : shape {
    __device__ int area(int x) const override { return x * x; }
};
struct strip_shape : shape {
    __device__ int area(int x) const override { return 3 * x; }
};

extern "C" __global__ void virtual_calls(int *out)
{
    block_shape b;
    strip_shape s;
    const shape *one = threadIdx.x % 3 ? (const shape *)&b : (const shape *)&s;
    out[threadIdx.x] = one->area(threadIdx.x);
}

extern "C" __global__ void stack_memory(int *out, int n)
{
    int *own = (int *)alloca((n + threadIdx.x % 2) * sizeof(int));
    for (int i = 0; i < n; i++)
        own[i] = i * threadIdx.x;
    int sum = 0;
    for (int i = n - 1; i >= 0; i--)
        sum = sum * 3 + own[i];
    out[threadIdx.x] = sum;
}

extern "C" __global__ void talk(int limit)
{
    if (threadIdx.x == 3)
        printf("block %d: %s %5.2f %lld %c %%\n", blockIdx.x, "text", 2.5, 1ll << 40, 'x');
    assert((int)threadIdx.x < limit);
}

extern "C" __global__ void double_math(const double *in, double *out)
{
    const int t = threadIdx.x;
    const double x = in[t];
    out[8 * t] = sin(x);
    out[8 * t + 1] = exp(x);
    out[8 * t + 2] = log(fabs(x) + 1e-3);
    out[8 * t + 3] = sqrt(fabs(x)) / (1 + x * x);
    out[8 * t + 4] = pow(fabs(x) + 0.5, 1.7);
    out[8 * t + 5] = fma(x, x, -1.0);
    out[8 * t + 6] = rsqrt(fabs(x) + 1);
    out[8 * t + 7] = rint(x * 10) + floor(x) + fmod(x, 0.7);
}

extern "C" __global__ void float_math(const float *in, float *out)
{
    const int t = threadIdx.x;
    const float x = in[t];
    out[8 * t] = sinf(x);
    out[8 * t + 1] = expf(x);
    out[8 * t + 2] = logf(fabsf(x) + 1e-3f);
    out[8 * t + 3] = tanhf(x);
    out[8 * t + 4] = powf(fabsf(x) + 0.5f, 1.7f);
    out[8 * t + 5] = erff(x);
    out[8 * t + 6] = cbrtf(x);
    out[8 * t + 7] = __fdividef(x, 3.0f) + atan2f(x, 2.0f);
}

// One 16 x 8 x 16 product of a warp.
extern "C" __global__ void mma(const unsigned *a, const unsigned *b, float *d)
{
    __shared__ alignas(16) unsigned x[16 * 8], y[8 * 8]; // rows of 16 halves
    const int t = threadIdx.x;
    for (int i = t; i < 16 * 8; i += 32)
        x[i] = a[i];
    for (int i = t; i < 8 * 8; i += 32)
        y[i] = b[i];
    __syncwarp();
    unsigned p[4], q[2];
    float s[4] = {0, 0, 0, 0};
    const unsigned at = (unsigned)__cvta_generic_to_shared(&x[(t % 16) * 8 + t / 16 * 4]);
    const unsigned from = (unsigned)__cvta_generic_to_shared(&y[(t % 8) * 8 + t / 8 % 2 * 4]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3])
                 : "r"(at)
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(q[0]), "=r"(q[1])
                 : "r"(from)
                 : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                 : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
    for (int i = 0; i < 4; i++)
        d[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = s[i];
}
