/* What programs built by nvcc hand over and expect back: types, numbers and struct layouts of
 * CUDA 13's runtime and driver on x86-64 and aarch64, declared here since the build needs no
 * CUDA headers. Names are NVIDIA's, so that their manuals explain them (CUDA Runtime API and
 * CUDA Driver API, release 13.0). Objects behind handles are ours. */
#ifndef PG_STAND_IN_ABI_H
#define PG_STAND_IN_ABI_H

#include <stddef.h>
#include <stdint.h>

#define PG_EXPORT __attribute__((visibility("default")))

/* Errors of both: the runtime's cudaError_t and the driver's CUresult share these numbers. */
#define PG_CUDA_ERRORS(X)                                                                          \
    X(Success, SUCCESS, 0, "no error")                                                             \
    X(InvalidValue, INVALID_VALUE, 1, "invalid argument")                                          \
    X(MemoryAllocation, OUT_OF_MEMORY, 2, "out of memory")                                         \
    X(InitializationError, NOT_INITIALIZED, 3, "initialization error")                             \
    X(InvalidConfiguration, INVALID_CONFIGURATION_, 9, "invalid configuration argument")           \
    X(InvalidPitchValue, INVALID_PITCH_, 12, "invalid pitch argument")                             \
    X(InvalidSymbol, INVALID_SYMBOL_, 13, "invalid device symbol")                                 \
    X(InvalidMemcpyDirection, INVALID_DIRECTION_, 21, "invalid copy direction for memcpy")         \
    X(InvalidDeviceFunction, INVALID_FUNCTION_, 98, "invalid device function")                     \
    X(NoDevice, NO_DEVICE, 100, "no CUDA-capable device is detected")                              \
    X(InvalidDevice, INVALID_DEVICE, 101, "invalid device ordinal")                                \
    X(InvalidKernelImage, INVALID_IMAGE, 200, "device kernel image is invalid")                    \
    X(DeviceUninitialized, INVALID_CONTEXT, 201, "invalid device context")                         \
    X(NoKernelImageForDevice, NO_BINARY_FOR_GPU, 209,                                              \
      "no kernel image is available for execution on the device")                                  \
    X(InvalidPtx, INVALID_PTX, 218, "a PTX JIT compilation failed")                                \
    X(FileNotFound, FILE_NOT_FOUND, 301, "file not found")                                         \
    X(InvalidResourceHandle, INVALID_HANDLE, 400, "invalid resource handle")                       \
    X(SymbolNotFound, NOT_FOUND, 500, "named symbol not found")                                    \
    X(NotReady, NOT_READY, 600, "device not ready")                                                \
    X(IllegalAddress, ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered")            \
    X(LaunchOutOfResources, LAUNCH_OUT_OF_RESOURCES, 701,                                          \
      "too many resources requested for launch")                                                   \
    X(LaunchTimeout, LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated")               \
    X(PeerAccessAlreadyEnabled, PEER_ACCESS_ALREADY_ENABLED, 704,                                  \
      "peer access is already enabled")                                                            \
    X(HostMemoryAlreadyRegistered, HOST_MEMORY_ALREADY_REGISTERED, 712,                            \
      "part or all of the requested memory range is already mapped")                               \
    X(HostMemoryNotRegistered, HOST_MEMORY_NOT_REGISTERED, 713,                                    \
      "pointer does not correspond to a registered memory region")                                 \
    X(Assert, ASSERT, 710, "device-side assert triggered")                                         \
    X(IllegalInstruction, ILLEGAL_INSTRUCTION, 715, "an illegal instruction was encountered")      \
    X(MisalignedAddress, MISALIGNED_ADDRESS, 716, "misaligned address")                            \
    X(LaunchFailure, LAUNCH_FAILED, 719, "unspecified launch failure")                             \
    X(CooperativeLaunchTooLarge, COOPERATIVE_LAUNCH_TOO_LARGE, 720,                                \
      "too many blocks in cooperative launch")                                                     \
    X(NotSupported, NOT_SUPPORTED, 801, "operation not supported")                                 \
    X(StreamCaptureUnsupported, STREAM_CAPTURE_UNSUPPORTED, 900,                                   \
      "operation not permitted when stream is capturing")                                          \
    X(StreamCaptureUnjoined, STREAM_CAPTURE_UNJOINED, 904, "capturing stream has unjoined work")   \
    X(IllegalState, ILLEGAL_STATE, 401, "the operation cannot be performed in the present state")  \
    X(Unknown, UNKNOWN, 999, "unknown error")

typedef enum pg_cuda_error {
#define PG_CUDA_ERROR_ENUM(runtime, driver, number, text) PG_CUDA_##runtime = number,
    PG_CUDA_ERRORS(PG_CUDA_ERROR_ENUM)
#undef PG_CUDA_ERROR_ENUM
} pg_cuda_error;

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

/* Handles: the same objects serve the runtime and the driver. */
typedef struct pg_stream *cudaStream_t;
typedef struct pg_event *cudaEvent_t;
typedef struct pg_function *cudaFunction_t;
typedef struct pg_module *cudaModule_t;
typedef struct pg_graph *cudaGraph_t;
typedef struct pg_node *cudaGraphNode_t;
typedef struct pg_graph_exec *cudaGraphExec_t;
typedef struct pg_array *cudaArray_t;
typedef struct pg_mipmapped *pg_mipmapped_t;
typedef struct pg_pool *cudaMemPool_t;
typedef struct pg_context *CUcontext;
typedef uint64_t CUdeviceptr;
typedef int CUdevice;

#define PG_STREAM_LEGACY     ((cudaStream_t)0x1)
#define PG_STREAM_PER_THREAD ((cudaStream_t)0x2)

typedef void (*pg_host_function)(void *user);

/* ---- of the runtime ---- */

typedef struct cudaDeviceProp {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int multiProcessorCount, integrated, canMapHostMemory;
    int maxTexture1D, maxTexture1DMipmap, maxTexture2D[2], maxTexture2DMipmap[2];
    int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3];
    int maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3];
    int maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
    int asyncEngineCount, unifiedAddressing, memoryBusWidth, l2CacheSize;
    int persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
    int globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
    int hostNativeAtomicSupported, pageableMemoryAccess, concurrentManagedAccess;
    int computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch;
    int unifiedFunctionPointers, deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
    unsigned gpuPciDeviceID, gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported, reserved[56];
} cudaDeviceProp;

typedef struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
    int maxDynamicSharedSizeBytes, preferredShmemCarveout, clusterDimMustBeSet;
    int requiredClusterWidth, requiredClusterHeight, requiredClusterDepth;
    int clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
} cudaFuncAttributes;

typedef struct cudaPointerAttributes {
    int type; /* 0 unregistered, 1 host, 2 device, 3 managed */
    int device;
    void *devicePointer, *hostPointer;
    long reserved[8];
} cudaPointerAttributes;

typedef struct cudaExtent {
    size_t width, height, depth;
} cudaExtent;
typedef struct cudaPos {
    size_t x, y, z;
} cudaPos;
typedef struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
} cudaPitchedPtr;
typedef struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    int kind;
} cudaMemcpy3DParms;

typedef struct cudaChannelFormatDesc {
    int x, y, z, w; /* bits */
    int f;          /* 0 signed, 1 unsigned, 2 float */
} cudaChannelFormatDesc;
typedef struct cudaResourceDesc {
    int resType; /* 0 array, 1 mipmapped array, 2 linear, 3 pitch2D */
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            pg_mipmapped_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
} cudaResourceDesc;
typedef struct cudaTextureDesc {
    int addressMode[3], filterMode;
    int readMode; /* 0 element type, 1 normalized float */
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
} cudaTextureDesc;

typedef struct cudaKernelNodeParams {
    const void *func; /* the runtime's host stub, or a cudaKernel_t */
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
} cudaKernelNodeParams;
typedef struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
} cudaMemsetParams;
typedef struct cudaHostNodeParams {
    pg_host_function fn;
    void *userData;
} cudaHostNodeParams;

/* Launch attributes that mean something here; the value is a union of 64 bytes. */
enum {
    PG_ATTRIBUTE_COOPERATIVE = 2,
    PG_ATTRIBUTE_CLUSTER = 4,
};
typedef struct cudaLaunchAttribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        unsigned cluster[3];
        int number;
    } value;
} cudaLaunchAttribute;
typedef struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

/* ---- of the driver ---- */

typedef struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    cudaStream_t hStream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

typedef struct CUDA_MEMCPY2D {
    size_t srcXInBytes, srcY;
    int srcMemoryType; /* 1 host, 2 device, 3 array, 4 unified */
    const void *srcHost;
    CUdeviceptr srcDevice;
    cudaArray_t srcArray;
    size_t srcPitch, dstXInBytes, dstY;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    cudaArray_t dstArray;
    size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct CUDA_MEMCPY3D {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    cudaArray_t srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    cudaArray_t dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_ARRAY_DESCRIPTOR {
    size_t Width, Height;
    int Format; /* CU_AD_FORMAT_...: as ptxgen_emulator_texture.format */
    unsigned NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct CUDA_ARRAY3D_DESCRIPTOR {
    size_t Width, Height, Depth;
    int Format;
    unsigned NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;
typedef struct CUDA_RESOURCE_DESC {
    int resType; /* as the runtime's */
    union {
        struct {
            cudaArray_t hArray;
        } array;
        struct {
            pg_mipmapped_t hMipmappedArray;
        } mipmap;
        struct {
            CUdeviceptr devPtr;
            int format;
            unsigned numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            CUdeviceptr devPtr;
            int format;
            unsigned numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
} CUDA_RESOURCE_DESC;
typedef struct CUDA_TEXTURE_DESC {
    int addressMode[3], filterMode;
    unsigned flags; /* 1 read as integer, 2 normalized coordinates, 16 sRGB */
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
} CUDA_TEXTURE_DESC;

typedef struct CUDA_KERNEL_NODE_PARAMS {
    cudaFunction_t func;
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams, **extra;
    cudaFunction_t kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct CUDA_MEMSET_NODE_PARAMS {
    CUdeviceptr dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

/* cuLaunchKernel's `extra`: a list of (key, value), ended by END. */
#define PG_LAUNCH_PARAM_END     ((void *)0x0)
#define PG_LAUNCH_PARAM_POINTER ((void *)0x1)
#define PG_LAUNCH_PARAM_SIZE    ((void *)0x2)

#endif
