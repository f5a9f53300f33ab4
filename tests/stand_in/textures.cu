// Arrays, textures and surfaces by the runtime and by the driver: each line says what was read and what must be.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const int e = (int)(call);                                                                 \
        if (e)                                                                                     \
            printf("%s: %d\n", #call, e), exit(3);                                                 \
    } while (0)

enum { W = 8, H = 6, D = 4 };

__global__ void read_2d(cudaTextureObject_t t, float dx, float *out)
{
    out[threadIdx.y * W + threadIdx.x] = tex2D<float>(t, threadIdx.x + dx, threadIdx.y + 0.5f);
}
__global__ void read_3d(cudaTextureObject_t t, int *out)
{
    out[(threadIdx.z * H + threadIdx.y) * W + threadIdx.x] =
        tex3D<int>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f, threadIdx.z + 0.5f);
}
__global__ void read_layers(cudaTextureObject_t t, int *out)
{
    out[(threadIdx.z * H + threadIdx.y) * W + threadIdx.x] =
        tex2DLayered<int>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f, threadIdx.z);
}
__global__ void read_linear(cudaTextureObject_t t, uchar4 *out)
{
    out[threadIdx.x] = tex1Dfetch<uchar4>(t, threadIdx.x - 1);
}
__global__ void read_cube(cudaTextureObject_t t, float *out)
{
    const float x[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    out[threadIdx.x] = texCubemap<float>(t, x[threadIdx.x][0], x[threadIdx.x][1], x[threadIdx.x][2]);
}
__global__ void write_surface(cudaSurfaceObject_t s)
{
    surf2Dwrite(100.f * threadIdx.y + threadIdx.x, s, threadIdx.x * 4, threadIdx.y);
}

static cudaTextureObject_t texture(const cudaResourceDesc &what, bool linear = false)
{
    cudaTextureDesc how = {};
    cudaTextureObject_t t;
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
    how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    TRY(cudaCreateTextureObject(&t, &what, &how, nullptr));
    return t;
}

static cudaResourceDesc of(cudaArray_t a)
{
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    return r;
}

static void two_dimensions(float *out)
{
    float host[H][W], back[H][W];
    cudaArray_t a;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    for (int i = 0; i < H * W; i++)
        host[i / W][i % W] = 10 * (i / W) + i % W;
    TRY(cudaMallocArray(&a, &desc, W, H, cudaArraySurfaceLoadStore));
    TRY(cudaMemcpy2DToArray(a, 0, 0, host, sizeof host[0], sizeof host[0], H, cudaMemcpyHostToDevice));
    cudaTextureObject_t t = texture(of(a), true);
    read_2d<<<1, dim3(W, H)>>>(t, 1.0f, out);
    TRY(cudaDeviceSynchronize());
    printf("linear %g %g %g\n", out[0], out[W + 2], out[5 * W + 7]); // 0.5 12.5 57: clamped
    TRY(cudaDestroyTextureObject(t));
    cudaSurfaceObject_t s;
    const cudaResourceDesc r = of(a);
    TRY(cudaCreateSurfaceObject(&s, &r));
    write_surface<<<1, dim3(W, H)>>>(s);
    TRY(cudaMemcpy2DFromArray(back, sizeof back[0], a, 0, 0, sizeof back[0], H, cudaMemcpyDeviceToHost));
    printf("surface %g %g\n", back[1][2], back[5][7]);
    TRY(cudaDestroySurfaceObject(s));
    cudaExtent extent;
    cudaChannelFormatDesc found;
    unsigned flags;
    TRY(cudaArrayGetInfo(&found, &extent, &flags, a));
    printf("info %zu %zu %zu %d %d %u\n", extent.width, extent.height, extent.depth, found.x, (int)found.f, flags);
    printf("outside %d\n", (int)cudaMemcpy2DToArray(a, 4, 0, host, sizeof host[0], sizeof host[0], H,
                                                    cudaMemcpyHostToDevice));
    TRY(cudaFreeArray(a));
}

static void volume(int *out, unsigned flags)
{
    std::vector<int> host(D * H * W);
    cudaArray_t a;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
    for (int i = 0; i < D * H * W; i++)
        host[i] = 7 * i;
    TRY(cudaMalloc3DArray(&a, &desc, make_cudaExtent(W, H, D), flags));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(host.data(), W * sizeof(int), W, H);
    p.dstArray = a;
    p.extent = make_cudaExtent(W, H, D);
    p.kind = cudaMemcpyHostToDevice;
    TRY(cudaMemcpy3D(&p));
    cudaTextureObject_t t = texture(of(a));
    if (flags)
        read_layers<<<1, dim3(W, H, D)>>>(t, out);
    else
        read_3d<<<1, dim3(W, H, D)>>>(t, out);
    TRY(cudaDeviceSynchronize());
    printf("%s %d\n", flags ? "layers" : "volume", memcmp(out, host.data(), host.size() * sizeof(int)));
    TRY(cudaDestroyTextureObject(t));
    TRY(cudaFreeArray(a));
}

static void linear_memory(uchar4 *out)
{
    uchar4 *x;
    TRY(cudaMallocManaged(&x, 16 * sizeof *x));
    for (int i = 0; i < 16; i++)
        x[i] = make_uchar4(i + 1, 2, 3, 4);
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = x;
    r.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    r.res.linear.sizeInBytes = 16 * sizeof *x;
    cudaTextureObject_t t = texture(r);
    read_linear<<<1, 18>>>(t, out);
    TRY(cudaDeviceSynchronize());
    printf("fetch %d %d %d %d %d\n", out[0].x, out[1].x, out[16].x, out[16].w, out[17].x); // 0 1 16 4 0
    TRY(cudaDestroyTextureObject(t));
}

static void pitched(float *out)
{
    float *x, host[H][W];
    size_t pitch;
    for (int i = 0; i < H * W; i++)
        host[i / W][i % W] = i;
    TRY(cudaMallocPitch(&x, &pitch, W * 4, H));
    TRY(cudaMemcpy2D(x, pitch, host, W * 4, W * 4, H, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = x;
    r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    r.res.pitch2D.width = W;
    r.res.pitch2D.height = H;
    r.res.pitch2D.pitchInBytes = pitch;
    read_2d<<<1, dim3(W, H)>>>(texture(r), 0.5f, out);
    TRY(cudaDeviceSynchronize());
    printf("pitched %d\n", memcmp(out, host, sizeof host));
}

static void cube(float *out)
{
    float host[6][16];
    cudaArray_t a;
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    for (int i = 0; i < 96; i++)
        host[i / 16][i % 16] = i / 16 + 1;
    TRY(cudaMalloc3DArray(&a, &desc, make_cudaExtent(4, 4, 6), cudaArrayCubemap));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(host, 16, 4, 4);
    p.dstArray = a;
    p.extent = make_cudaExtent(4, 4, 6);
    TRY(cudaMemcpy3D(&p));
    read_cube<<<1, 6>>>(texture(of(a)), out);
    TRY(cudaDeviceSynchronize());
    printf("cube %g %g %g %g %g %g\n", out[0], out[1], out[2], out[3], out[4], out[5]);
}

static void by_driver(float *out)
{
    float host[H][W], back[W];
    CUarray a;
    CUtexObject t;
    for (int i = 0; i < H * W; i++)
        host[i / W][i % W] = 3 * i;
    CUDA_ARRAY_DESCRIPTOR shape = {W, H, CU_AD_FORMAT_FLOAT, 1};
    TRY(cuArrayCreate(&a, &shape));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.srcPitch = W * 4;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = a;
    copy.WidthInBytes = W * 4;
    copy.Height = H;
    TRY(cuMemcpy2D(&copy));
    TRY(cuMemcpyAtoH(back, a, 2 * W * 4, W * 4));
    CUDA_RESOURCE_DESC r = {};
    r.resType = CU_RESOURCE_TYPE_ARRAY;
    r.res.array.hArray = a;
    CUDA_TEXTURE_DESC how = {};
    how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    TRY(cuTexObjectCreate(&t, &r, &how, nullptr));
    read_2d<<<1, dim3(W, H)>>>(t, 0.5f, out);
    TRY(cudaDeviceSynchronize());
    printf("driver %d %g\n", memcmp(out, host, sizeof host), back[1]);
    TRY(cuTexObjectDestroy(t));
    TRY(cuArrayDestroy(a));
}

int main()
{
    void *out;
    TRY(cudaMallocManaged(&out, D * H * W * 4));
    two_dimensions((float *)out);
    volume((int *)out, 0);
    volume((int *)out, cudaArrayLayered);
    linear_memory((uchar4 *)out);
    pitched((float *)out);
    cube((float *)out);
    by_driver((float *)out);
    return 0;
}
