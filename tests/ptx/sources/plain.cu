// Ordinary CUDA: templates, structs, shared and constant memory, device functions, recursion, switch tables,
// function pointers, 64-bit and float arithmetic, atomics, warp intrinsics, printf, assert.
#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdio.h>

struct __align__(16) particle {
    float x, y, z, w;
    double mass;
    long long id;
    unsigned char tag[5];
};

__constant__ float coefficients[16] = {1.0f, 0.5f, -0.25f};
__constant__ particle prototype = {1, 2, 3, 4, 5.5, 6, {1, 2, 3, 4, 5}};
__device__ int counter = 7;
__device__ const char *names[3] = {"alpha", "beta", "gamma"};
__device__ int *where = &counter;
__managed__ float managed_value = 2.0f;

template <typename T, int N> __device__ T horner(const T (&c)[N], T x)
{
    T r = c[N - 1];
#pragma unroll 4
    for (int i = N - 2; i >= 0; i--)
        r = r * x + c[i];
    return r;
}

__device__ __noinline__ unsigned long long fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ particle move(particle p, float dt)
{
    p.x += p.w * dt;
    p.id ^= (long long)p.tag[2] << 40;
    return p;
}

typedef float (*unary)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float root(float x) { return sqrtf(x); }
__device__ unary table[2] = {twice, root};

__global__ void particles(particle *p, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    assert(dt > 0);
    p[i] = move(p[i], dt);
    p[i].y = table[i & 1](p[i].y);
    if (p[i].mass < 0)
        printf("particle %d: mass %f, id %lld, %s\n", i, p[i].mass, p[i].id, names[i % 3]);
    atomicAdd(&counter, 1);
}

template <typename T> __global__ void reduce(const T *in, T *out, int n)
{
    extern __shared__ unsigned char raw[];
    T *s = reinterpret_cast<T *>(raw);
    __shared__ T total[32];
    T v = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        v += in[i];
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0)
        total[threadIdx.x / 32] = v;
    s[threadIdx.x] = v;
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(out, total[0] + s[31]);
}
template __global__ void reduce<float>(const float *, float *, int);
template __global__ void reduce<double>(const double *, double *, int);
template __global__ void reduce<int>(const int *, int *, int);
template __global__ void reduce<unsigned long long>(const unsigned long long *, unsigned long long *, int);

__global__ void integers(unsigned *u, int *s, unsigned long long *q, unsigned short *h, signed char *c, int op)
{
    int i = threadIdx.x;
    switch (op) {
    case 0: u[i] = __popc(u[i]); break;
    case 1: u[i] = __clz(u[i]) + __ffs(s[i]); break;
    case 2: u[i] = __brev(u[i]); break;
    case 3: u[i] = __byte_perm(u[i], s[i], 0x5410); break;
    case 4: q[i] = __umul64hi(q[i], q[i + 1]); break;
    case 5: s[i] = __mulhi(s[i], s[i + 1]); break;
    case 6: s[i] = s[i] / s[i + 1] + s[i] % s[i + 2]; break;
    case 7: q[i] = q[i] / q[i + 1]; break;
    case 8: h[i] = h[i] * h[i + 1] >> 3; break;
    case 9: c[i] = c[i] - c[i + 1]; break;
    case 10: s[i] = __sad(s[i], s[i + 1], u[i]); break;
    case 11: u[i] = __funnelshift_l(u[i], u[i + 1], 7); break;
    case 12: s[i] = __dp4a(s[i], s[i + 1], s[i + 2]); break;
    case 13: s[i] = max(min(s[i], 100), -100); break;
    case 14: u[i] = (unsigned)fibonacci(u[i]); break;
    case 15: s[i] = abs(s[i]) + __mul24(s[i], s[i + 1]); break;
    case 16: u[i] = __vadd2(u[i], u[i + 1]); break;
    case 17: u[i] = __reduce_add_sync(~0u, u[i]) + __match_any_sync(~0u, u[i]); break;
    case 18: u[i] = __ballot_sync(~0u, s[i] > 0) + __all_sync(~0u, s[i]) + __activemask(); break;
    case 19: __nanosleep(20); q[i] = clock64() ^ clock(); break;
    case 20: atomicCAS(&u[i], 1u, 2u); atomicExch(&u[i + 1], 3u); atomicInc(&u[i + 2], 9u); break;
    case 21: atomicMin(&s[i], 4); atomicMax(&q[i], 5ull); atomicAnd(&u[i], 6u); atomicOr(&u[i], 1u); break;
    case 22: __threadfence(); __threadfence_block(); __threadfence_system(); break;
    case 23: __syncwarp(); u[i] = __syncthreads_count(s[i]) + __syncthreads_or(s[i]); break;
    default: asm volatile("{ .reg .u32 t; mov.u32 t, %%smid; add.u32 %0, t, 1; }" : "=r"(u[i])); break;
    }
}

__global__ void floats(float *f, double *d, __half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2)
{
    int i = threadIdx.x;
    const float c[4] = {1, 2, 3, coefficients[i & 15]};
    f[i] = horner(c, f[i]) + sinf(f[i]) * __expf(f[i]) / __logf(f[i]);
    f[i + 1] = __fdividef(f[i], f[i + 1]) + rsqrtf(f[i]) + __frcp_rn(f[i]) + fmaf(f[i], f[i], 1.0f);
    f[i + 2] = copysignf(f[i], f[i + 1]) + (isnan(f[i]) ? 0.0f : 1.5f) + tanhf(f[i]) + __saturatef(f[i]);
    f[i + 3] = __fadd_rz(f[i], f[i + 1]) + __fmul_ru(f[i], 3.0f) + truncf(f[i]) + rintf(f[i]) + floorf(f[i]);
    d[i] = sqrt(d[i]) + fma(d[i], d[i + 1], 0.1) + 1.0 / d[i] + pow(d[i], 1.5) + (double)f[i] + (int)d[i];
    h[i] = __hadd(h[i], h[i + 1]) + __float2half(f[i]) * hexp(h[i]);
    h2[i] = __hfma2(h2[i], h2[i + 1], h2[i + 2]) + __hmax2(h2[i], h2[i + 1]);
    b[i] = __hmul(b[i], __float2bfloat16(f[i]));
    b2[i] = __hfma2_relu(b2[i], b2[i + 1], b2[i + 2]);
    atomicAdd(&h2[i + 3], h2[i]);
    atomicAdd(&b2[i + 3], b2[i]);
    reinterpret_cast<__nv_fp8_e4m3 *>(f)[i + 64] = __nv_fp8_e4m3(f[i]);
    f[i + 4] = float(reinterpret_cast<__nv_fp8_e5m2 *>(f)[i + 65]);
    f[i + 5] = h[i] > h[i + 1] ? (float)(unsigned)f[i] : (float)(long long)d[i];
}

__global__ void __launch_bounds__(128, 2) vectors(const float4 *__restrict__ in, float4 *out, const int2 *idx,
                                                  volatile int *flag)
{
    float4 v = __ldg(&in[threadIdx.x]);
    int2 k = idx[threadIdx.x];
    while (*flag == 0)
        ;
    out[k.x] = make_float4(v.w, v.z, v.y, v.x);
    __stcs(&out[k.y], v);
    float local[40];
    for (int i = 0; i < 40; i++)
        local[(i * k.x) % 40] = v.x + i;
    out[0].x = local[k.y % 40];
    int *heap = (int *)malloc(64);
    heap[k.x & 15] = 1;
    out[1].x = heap[k.y & 15];
    free(heap);
}
