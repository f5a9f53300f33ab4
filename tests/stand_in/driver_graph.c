/* The driver's graphs and pools, and its names for programs with a default stream for each thread
 * (-DCUDA_API_PER_THREAD_DEFAULT_STREAM): a kernel between two copies and two fills, twice with
 * other parameters. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const CUresult result = (call);                                                            \
        if (result != CUDA_SUCCESS) {                                                              \
            printf("%s: %d\n", #call, (int)result);                                                \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry add(.param .u64 x, .param .u32 by) {\n"
                          ".reg .b32 %r<4>; .reg .b64 %d<3>;\n"
                          "ld.param.u64 %d1, [x]; ld.param.u32 %r1, [by]; mov.u32 %r2, %tid.x;\n"
                          "mad.wide.u32 %d1, %r2, 4, %d1; ld.global.u32 %r3, [%d1];\n"
                          "add.u32 %r3, %r3, %r1; st.global.u32 [%d1], %r3; ret; }\n";

static int seen;
static void see(void *user)
{
    seen += *(int *)user;
}

static CUgraphNode copy_node(CUgraph graph, CUgraphNode after, int *to, CUdeviceptr from)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = from,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to,
                          .WidthInBytes = 32 * sizeof *to,
                          .Height = 1,
                          .Depth = 1};
    CUgraphNode node;
    TRY(cuGraphAddMemcpyNode(&node, graph, &after, 1, &copy, NULL));
    return node;
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CUmemoryPool pool, own;
    CUdeviceptr x;
    CUgraph graph;
    CUgraphExec instance;
    CUgraphNode fill, kernel, copy, host_node, nodes[9];
    CUgraphNodeType type;
    size_t count = 9, roots = 0;
    int by = 5, host[32], one = 1;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    TRY(cuModuleLoadData(&module, ptx));
    TRY(cuModuleGetFunction(&add, module, "add"));
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    cuuint64_t keep = 1 << 20, kept = 0;
    TRY(cuDeviceGetDefaultMemPool(&pool, device));
    TRY(cuMemPoolCreate(&own, &props));
    TRY(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    TRY(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept));
    TRY(cuMemAllocFromPoolAsync(&x, sizeof host, own, NULL));

    TRY(cuGraphCreate(&graph, 0));
    CUDA_MEMSET_NODE_PARAMS value = {
        .dst = x, .value = 100, .elementSize = 4, .width = 32, .height = 1};
    TRY(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &value, context));
    void *args[] = {&x, &by};
    CUDA_KERNEL_NODE_PARAMS launch = {.func = add,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 32,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = args};
    TRY(cuGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
    copy = copy_node(graph, kernel, host, x);
    CUDA_HOST_NODE_PARAMS call = {see, &one};
    TRY(cuGraphAddHostNode(&host_node, graph, &copy, 1, &call));
    TRY(cuGraphGetNodes(graph, nodes, &count));
    TRY(cuGraphGetRootNodes(graph, NULL, &roots));
    TRY(cuGraphNodeGetType(copy, &type));
    TRY(cuGraphInstantiateWithFlags(&instance, graph, 0));
    TRY(cuGraphLaunch(instance, NULL));
    TRY(cuStreamSynchronize(NULL));
    printf("%d %d %d %d %d\n", host[0], host[31], (int)count, (int)roots, (int)type);
    by = 7;
    value.value = 200;
    TRY(cuGraphExecKernelNodeSetParams(instance, kernel, &launch));
    TRY(cuGraphExecMemsetNodeSetParams(instance, fill, &value, context));
    TRY(cuGraphLaunch(instance, NULL));
    TRY(cuGraphNodeSetEnabled(instance, kernel, 0));
    printf("%d %d\n", host[0], seen);
    TRY(cuGraphLaunch(instance, NULL));
    printf("%d %d %d\n", host[31], seen, kept == keep);
    TRY(cuGraphExecDestroy(instance));
    TRY(cuGraphDestroy(graph));
    TRY(cuMemsetD32(x, 9, 32));
    TRY(cuMemcpyDtoH(host, x, sizeof host));
    TRY(cuMemFreeAsync(x, NULL));
    TRY(cuMemPoolDestroy(own));
    printf("%d\n", host[3]);
    return 0;
}
