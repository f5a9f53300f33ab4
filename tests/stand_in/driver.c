/* A program of the driver API that compiles its kernel with NVRTC, and one that launches by
 * every way it knows. */
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const int e = (int)(call);                                                                 \
        if (e)                                                                                     \
            printf("%s: %d\n", #call, e), exit(3);                                                 \
    } while (0)

static const char source[] = "__device__ int total;\n"
                             "extern \"C\" __global__ void add(int *x, int n, long long by)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n) { x[i] += (int)by; atomicAdd(&total, 1); }\n"
                             "}\n"
                             "extern \"C\" __global__ void fail(void) { __trap(); }\n";

/* As PTX, or as a cubin by one of the ways to name an architecture. */
static char *compile(const char *as)
{
    nvrtcProgram program;
    size_t bytes;
    const char *options[] = {"--gpu-architecture=compute_90", "-lineinfo"};
    const char *whole[] = {"-lineinfo", "-arch=sm_90"}, *apart[] = {"--gpu-architecture", "sm_90"};
    const int cubin = strcmp(as, "ptx") != 0;
    const char **chosen = strcmp(as, "cubin") == 0 ? whole : cubin ? apart : options;
    TRY(nvrtcCreateProgram(&program, source, "add.cu", 0, NULL, NULL));
    TRY(nvrtcCompileProgram(program, 2, chosen));
    TRY(cubin ? nvrtcGetCUBINSize(program, &bytes) : nvrtcGetPTXSize(program, &bytes));
    char *image = malloc(bytes);
    TRY(cubin ? nvrtcGetCUBIN(program, image) : nvrtcGetPTX(program, image));
    TRY(nvrtcDestroyProgram(&program));
    return image;
}

/* PTX through the driver's linker, with a second text; one that defines the same is refused. */
static char *linked(char *ptx)
{
    char more[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .u32 more;\n";
    CUlinkState link;
    void *image;
    size_t bytes;
    TRY(cuLinkCreate(0, NULL, NULL, &link));
    TRY(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, strlen(ptx) + 1, "add", 0, NULL, NULL));
    TRY(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, strlen(ptx) + 1, "again", 0, NULL, NULL));
    if (cuLinkComplete(link, &image, &bytes) != CUDA_ERROR_INVALID_PTX)
        exit(4);
    TRY(cuLinkDestroy(link));
    TRY(cuLinkCreate(0, NULL, NULL, &link));
    TRY(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, strlen(ptx) + 1, "add", 0, NULL, NULL));
    TRY(cuLinkAddData(link, CU_JIT_INPUT_PTX, more, sizeof more, "more", 0, NULL, NULL));
    TRY(cuLinkComplete(link, &image, &bytes));
    char *kept = malloc(bytes);
    memcpy(kept, image, bytes);
    TRY(cuLinkDestroy(link));
    free(ptx);
    return kept;
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CUdeviceptr x, total;
    CUstream stream;
    size_t bytes;
    int n = 100, host[100], sum;
    long long by = 7;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    const int link = argc > 1 && strcmp(argv[1], "linked") == 0;
    char *ptx = compile(argc > 1 && !link ? argv[1] : "ptx");
    if (link)
        ptx = linked(ptx);
    TRY(cuModuleLoadData(&module, ptx));
    TRY(cuModuleGetFunction(&add, module, "add"));
    TRY(cuMemAlloc(&x, sizeof host));
    TRY(cuMemsetD32(x, 1, 100));
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    void *args[] = {&x, &n, &by};
    TRY(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, stream, args, NULL));
    struct {
        CUdeviceptr x;
        int n;
        long long by;
    } packed = {x, n, 10};
    size_t packed_bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &packed_bytes, CU_LAUNCH_PARAM_END};
    TRY(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, stream, NULL, extra));
    CUlaunchConfig config = {.gridDimX = 4,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream};
    TRY(cuLaunchKernelEx(&config, add, args, NULL));
    TRY(cuStreamSynchronize(stream));
    TRY(cuMemcpyDtoH(host, x, sizeof host));
    TRY(cuModuleGetGlobal(&total, &bytes, module, "total"));
    TRY(cuMemcpyDtoH(&sum, total, bytes));
    printf("%d %d %d\n", host[0], host[99], sum);
    printf("%d\n", (int)cuMemcpyDtoH(host, x + 4, sizeof host)); /* four bytes past the end */
    const char *name;
    const CUresult none = cuModuleGetFunction(&add, module, "nothing");
    TRY(cuGetErrorName(none, &name));
    printf("%s\n", name);
    void *entry = NULL;
    CUdriverProcAddressQueryResult found;
    TRY(cuGetProcAddress("cuMemAlloc", &entry, 13000, 0, &found));
    printf("%d\n", entry == (void *)cuMemAlloc);
    free(ptx);
    int grid = 0, block = 0, blocks = 0;
    TRY(cuModuleGetFunction(&add, module, "add"));
    TRY(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 300));
    TRY(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, block, 0));
    printf("%d %d\n", block <= 300 && block % 32 == 0 && blocks * block >= 1024,
           grid == 132 * blocks);
    /* A kernel that fails was accepted; who waits for it is told, and everybody after. */
    TRY(cuModuleGetFunction(&add, module, "fail"));
    printf("%d", (int)cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    printf(" %d", (int)cuStreamSynchronize(stream));
    printf(" %d\n", (int)cuCtxSynchronize());
    return 0;
}
