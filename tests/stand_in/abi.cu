// The layouts that stand_in/abi.h declares beside NVIDIA's own: sizes and offsets are compared by the compiler.
#include <cstddef>
#include <cuda.h>
#include <cuda_runtime.h>
#define dim3 pg_dim3
#define cudaStream_t pg_cudaStream_t
#define cudaEvent_t pg_cudaEvent_t
#define cudaFunction_t pg_cudaFunction_t
#define cudaModule_t pg_cudaModule_t
#define cudaGraph_t pg_cudaGraph_t
#define cudaGraphNode_t pg_cudaGraphNode_t
#define cudaGraphExec_t pg_cudaGraphExec_t
#define cudaArray_t pg_cudaArray_t
#define cudaMemPool_t pg_cudaMemPool_t
#define CUcontext pg_CUcontext
#define CUdeviceptr pg_CUdeviceptr
#define CUdevice pg_CUdevice
namespace ours {
#include "stand_in/abi.h"
}

#define SAME_SIZE(theirs, type) static_assert(sizeof(theirs) == sizeof(ours::type), #type)
#define SAME(theirs, type, member)                                                                 \
    static_assert(offsetof(theirs, member) == offsetof(ours::type, member), #type "." #member)

SAME_SIZE(cudaDeviceProp, cudaDeviceProp);
SAME(cudaDeviceProp, cudaDeviceProp, totalGlobalMem);
SAME(cudaDeviceProp, cudaDeviceProp, major);
SAME(cudaDeviceProp, cudaDeviceProp, multiProcessorCount);
SAME(cudaDeviceProp, cudaDeviceProp, surfaceAlignment);
SAME(cudaDeviceProp, cudaDeviceProp, l2CacheSize);
SAME(cudaDeviceProp, cudaDeviceProp, cooperativeLaunch);
SAME(cudaDeviceProp, cudaDeviceProp, reservedSharedMemPerBlock);
SAME(cudaDeviceProp, cudaDeviceProp, clusterLaunch);
SAME(cudaDeviceProp, cudaDeviceProp, reserved);
SAME_SIZE(cudaFuncAttributes, cudaFuncAttributes);
SAME(cudaFuncAttributes, cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME(cudaFuncAttributes, cudaFuncAttributes, reserved);
SAME_SIZE(cudaPointerAttributes, cudaPointerAttributes);
SAME(cudaPointerAttributes, cudaPointerAttributes, hostPointer);
SAME_SIZE(cudaMemcpy3DParms, cudaMemcpy3DParms);
SAME(cudaMemcpy3DParms, cudaMemcpy3DParms, kind);
SAME_SIZE(cudaKernelNodeParams, cudaKernelNodeParams);
SAME(cudaKernelNodeParams, cudaKernelNodeParams, extra);
SAME_SIZE(cudaMemsetParams, cudaMemsetParams);
SAME(cudaMemsetParams, cudaMemsetParams, height);
SAME_SIZE(cudaHostNodeParams, cudaHostNodeParams);
SAME_SIZE(cudaLaunchAttribute, cudaLaunchAttribute);
static_assert(offsetof(cudaLaunchAttribute, val) == offsetof(ours::cudaLaunchAttribute, value), "");
SAME_SIZE(cudaLaunchConfig_t, cudaLaunchConfig_t);
SAME(cudaLaunchConfig_t, cudaLaunchConfig_t, numAttrs);
SAME_SIZE(CUlaunchConfig, CUlaunchConfig);
SAME(CUlaunchConfig, CUlaunchConfig, numAttrs);
SAME_SIZE(CUDA_MEMCPY2D, CUDA_MEMCPY2D);
SAME(CUDA_MEMCPY2D, CUDA_MEMCPY2D, Height);
SAME_SIZE(CUDA_MEMCPY3D, CUDA_MEMCPY3D);
SAME(CUDA_MEMCPY3D, CUDA_MEMCPY3D, Depth);
SAME_SIZE(cudaChannelFormatDesc, cudaChannelFormatDesc);
SAME(cudaResourceDesc, cudaResourceDesc, res.linear.sizeInBytes);
SAME(cudaResourceDesc, cudaResourceDesc, res.pitch2D.pitchInBytes);
SAME(cudaTextureDesc, cudaTextureDesc, normalizedCoords);
SAME_SIZE(CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY_DESCRIPTOR);
SAME_SIZE(CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR);
SAME_SIZE(CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC);
SAME(CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes);
SAME_SIZE(CUDA_TEXTURE_DESC, CUDA_TEXTURE_DESC);
SAME(CUDA_TEXTURE_DESC, CUDA_TEXTURE_DESC, borderColor);
SAME_SIZE(CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS);
SAME_SIZE(CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS);
static_assert((int)cudaLaunchAttributeCooperative == ours::PG_ATTRIBUTE_COOPERATIVE, "");
static_assert((int)cudaLaunchAttributeClusterDimension == ours::PG_ATTRIBUTE_CLUSTER, "");
#define SAME_NUMBER(runtime, driver, number, text) static_assert((int)cudaError##runtime == number, #runtime);
enum { cudaErrorSuccess = cudaSuccess };
PG_CUDA_ERRORS(SAME_NUMBER)
