/* Driver API: memory, copies, fills, tensor maps. */
#include "stand_in/runtime.h"

#include <string.h>

typedef pg_cuda_error CUresult;

static void *at(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

static CUresult allocate(CUdeviceptr *out, size_t bytes, pg_memory_kind kind)
{
    void *address;
    if (!out || !bytes)
        return PG_CUDA_InvalidValue;
    const CUresult error = pg_memory_allocate(bytes, kind, 0, &address);
    *out = (CUdeviceptr)(uintptr_t)address;
    return error;
}

PG_API(CUresult) cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    return allocate(out, bytes, PG_MEMORY_DEVICE);
}

PG_API(CUresult) cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    return allocate(out, bytes, PG_MEMORY_MANAGED);
}

PG_API(CUresult) cuMemAllocAsync(CUdeviceptr *out, size_t bytes, cudaStream_t stream)
{
    if (pg_stream_of(stream)->capture)
        return pg_refuse("cuMemAllocAsync in a capture", "allocate before it begins");
    return allocate(out, bytes, PG_MEMORY_DEVICE);
}
PG_SAME(cuMemAllocAsync_ptsz, cuMemAllocAsync);

PG_API(CUresult)
cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned element)
{
    if (!pitch)
        return PG_CUDA_InvalidValue;
    *pitch = (width + 511) / 512 * 512;
    return allocate(out, *pitch * height, PG_MEMORY_DEVICE);
}

PG_API(CUresult) cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    return out ? pg_memory_allocate(bytes, PG_MEMORY_HOST, flags, out) : PG_CUDA_InvalidValue;
}

PG_API(CUresult) cuMemAllocHost_v2(void **out, size_t bytes)
{
    return cuMemHostAlloc(out, bytes, 0);
}

PG_API(CUresult) cuMemFree_v2(CUdeviceptr address)
{
    return pg_memory_free(at(address), PG_MEMORY_DEVICE);
}

PG_API(CUresult) cuMemFreeAsync(CUdeviceptr address, cudaStream_t stream)
{
    if (pg_stream_of(stream)->capture)
        return pg_refuse("cuMemFreeAsync in a capture", "free after it has ended");
    return cuMemFree_v2(address);
}
PG_SAME(cuMemFreeAsync_ptsz, cuMemFreeAsync);

PG_API(CUresult) cuMemFreeHost(void *address)
{
    return pg_memory_free(address, PG_MEMORY_HOST);
}

PG_API(CUresult) cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    return pg_memory_register(address, bytes, flags);
}

PG_API(CUresult) cuMemHostUnregister(void *address)
{
    return pg_memory_unregister(address);
}

PG_API(CUresult) cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *address, unsigned flags)
{
    pg_allocation a;
    if (!out || !pg_memory_find(address, &a))
        return PG_CUDA_InvalidValue;
    *out = (CUdeviceptr)(uintptr_t)address;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuMemGetInfo_v2(size_t *left, size_t *total)
{
    const pg_device *d = pg_device_get();
    if (!d || !left || !total)
        return PG_CUDA_InvalidValue;
    *total = d->settings.memory;
    *left = *total - pg_memory_used();
    return PG_CUDA_Success;
}

PG_API(CUresult) cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    pg_allocation a;
    if (!pg_memory_find(at(address), &a))
        return PG_CUDA_InvalidValue;
    if (base)
        *base = (CUdeviceptr)(uintptr_t)a.address;
    if (bytes)
        *bytes = a.bytes;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuPointerGetAttribute(void *out, int attribute, CUdeviceptr address)
{
    enum {
        CONTEXT = 1,
        MEMORY_TYPE,
        DEVICE_POINTER,
        HOST_POINTER,
        IS_MANAGED = 8,
        ORDINAL = 9,
        RANGE_START = 11,
        RANGE_SIZE = 12,
        MAPPED = 13
    };
    pg_allocation a;
    if (!out || !pg_memory_find(at(address), &a))
        return PG_CUDA_InvalidValue;
    switch (attribute) {
    case MEMORY_TYPE:
        *(unsigned *)out = a.kind == PG_MEMORY_HOST ? 1 : 2;
        break;
    case DEVICE_POINTER:
    case HOST_POINTER:
        memcpy(out, &address, sizeof address);
        break;
    case IS_MANAGED:
        *(unsigned *)out = a.kind == PG_MEMORY_MANAGED;
        break;
    case ORDINAL:
        *(int *)out = 0;
        break;
    case RANGE_START:
        memcpy(out, &a.address, sizeof a.address);
        break;
    case RANGE_SIZE:
        memcpy(out, &a.bytes, sizeof a.bytes);
        break;
    case MAPPED:
        *(unsigned char *)out = 1;
        break;
    default:
        return pg_refuse("cuPointerGetAttribute of this attribute", NULL);
    }
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuPointerGetAttributes(unsigned count, int *attributes, void **out, CUdeviceptr address)
{
    for (unsigned i = 0; i < count; i++) {
        const CUresult error = cuPointerGetAttribute(out[i], attributes[i], address);
        if (error && error != PG_CUDA_InvalidValue)
            return error;
    }
    return PG_CUDA_Success;
}

/* Hints: their arguments changed between releases; none is read. */
PG_API(CUresult) cuMemAdvise_v2(CUdeviceptr address, size_t bytes, int advice)
{
    return PG_CUDA_Success;
}
PG_API(CUresult) cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes)
{
    return PG_CUDA_Success;
}
PG_SAME(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2);

/* ---- copies ---- */

static CUresult copy(const pg_copy *c, cudaStream_t stream)
{
    if ((!c->to || !c->from) && c->width && c->height && c->depth)
        return PG_CUDA_InvalidValue;
    return pg_submit(stream, &(pg_work){.kind = PG_WORK_COPY, .copy = *c});
}

static CUresult copy_flat(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    const pg_copy c = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
    if (!pg_memory_holds("destination", to, bytes) || !pg_memory_holds("source", from, bytes))
        return PG_CUDA_InvalidValue;
    return copy(&c, stream);
}

PG_API(CUresult)
cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream)
{
    return copy_flat(at(to), at(from), bytes, stream);
}
PG_SAME(cuMemcpyAsync_ptsz, cuMemcpyAsync);
PG_API(CUresult) cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_flat(at(to), at(from), bytes, NULL);
}
PG_SAME(cuMemcpy_ptds, cuMemcpy);
PG_API(CUresult)
cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, cudaStream_t stream)
{
    return copy_flat(at(to), from, bytes, stream);
}
PG_SAME(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);
PG_API(CUresult) cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_flat(at(to), from, bytes, NULL);
}
PG_SAME(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);
PG_API(CUresult)
cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, cudaStream_t stream)
{
    return copy_flat(to, at(from), bytes, stream);
}
PG_SAME(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);
PG_API(CUresult) cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_flat(to, at(from), bytes, NULL);
}
PG_SAME(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);
PG_API(CUresult)
cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream)
{
    return copy_flat(at(to), at(from), bytes, stream);
}
PG_SAME(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);
PG_API(CUresult) cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_flat(at(to), at(from), bytes, NULL);
}
PG_SAME(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);

/* ---- fills: element size and shape in the name ---- */

static CUresult fill(pg_fill f, cudaStream_t stream)
{
    f.depth = 1;
    return pg_submit(stream, &(pg_work){.kind = PG_WORK_FILL, .fill = f});
}

#define FILL(suffix, type, bytes)                                                                  \
    PG_API(CUresult)                                                                               \
    cuMemset##suffix##Async(CUdeviceptr to, type value, size_t count, cudaStream_t stream)         \
    {                                                                                              \
        return fill((pg_fill){.to = at(to),                                                        \
                              .value = value,                                                      \
                              .element_bytes = bytes,                                              \
                              .width = count,                                                      \
                              .height = 1},                                                        \
                    stream);                                                                       \
    }                                                                                              \
    PG_API(CUresult) cuMemset##suffix##_v2(CUdeviceptr to, type value, size_t count)               \
    {                                                                                              \
        return cuMemset##suffix##Async(to, value, count, NULL);                                    \
    }                                                                                              \
    PG_SAME(cuMemset##suffix##Async_ptsz, cuMemset##suffix##Async);                                \
    PG_SAME(cuMemset##suffix##_v2_ptds, cuMemset##suffix##_v2);
FILL(D8, unsigned char, 1);
FILL(D16, unsigned short, 2);
FILL(D32, unsigned, 4);

#define FILL_2D(suffix, type, bytes)                                                               \
    PG_API(CUresult)                                                                               \
    cuMemset##suffix##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, \
                            cudaStream_t stream)                                                   \
    {                                                                                              \
        return fill((pg_fill){.to = at(to),                                                        \
                              .pitch = pitch,                                                      \
                              .value = value,                                                      \
                              .element_bytes = bytes,                                              \
                              .width = width,                                                      \
                              .height = height},                                                   \
                    stream);                                                                       \
    }                                                                                              \
    PG_API(CUresult)                                                                               \
    cuMemset##suffix##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height)   \
    {                                                                                              \
        return cuMemset##suffix##Async(to, pitch, value, width, height, NULL);                     \
    }                                                                                              \
    PG_SAME(cuMemset##suffix##Async_ptsz, cuMemset##suffix##Async);                                \
    PG_SAME(cuMemset##suffix##_v2_ptds, cuMemset##suffix##_v2);
FILL_2D(D2D8, unsigned char, 1);
FILL_2D(D2D16, unsigned short, 2);
FILL_2D(D2D32, unsigned, 4);

/* ---- tensor maps ---- */

PG_API(CUresult)
cuTensorMapEncodeTiled(void *out, int type, unsigned rank, void *address, const uint64_t *dims,
                       const uint64_t *strides, const unsigned *box,
                       const unsigned *element_strides, int interleave, int swizzle, int promotion,
                       int fill_kind)
{
    ptxgen_error err;
    ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                      .data_type = type,
                                      .rank = rank,
                                      .address = address,
                                      .interleave = interleave,
                                      .swizzle = swizzle,
                                      .l2_promotion = promotion,
                                      .oob_fill = fill_kind};
    if (!out || !dims || !box || !element_strides || rank < 1 || rank > 5 || (rank > 1 && !strides))
        return PG_CUDA_InvalidValue;
    for (unsigned i = 0; i < rank; i++) {
        map.dims[i] = dims[i];
        map.box[i] = box[i];
        map.element_strides[i] = element_strides[i];
        if (i + 1 < rank)
            map.strides[i] = strides[i];
    }
    if (ptxgen_emulator_encode_tensor_map(&map, out, &err) == PTXGEN_OK)
        return PG_CUDA_Success;
    pg_complain("cuTensorMapEncodeTiled: %s", err.message);
    return PG_CUDA_InvalidValue;
}

PG_API(CUresult)
cuTensorMapEncodeIm2col(void *out, int type, unsigned rank, void *address, const uint64_t *dims,
                        const uint64_t *strides, const int *lower, const int *upper,
                        unsigned channels, unsigned pixels, const unsigned *element_strides,
                        int interleave, int swizzle, int promotion, int fill_kind)
{
    ptxgen_error err;
    ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                      .data_type = type,
                                      .rank = rank,
                                      .address = address,
                                      .interleave = interleave,
                                      .swizzle = swizzle,
                                      .l2_promotion = promotion,
                                      .oob_fill = fill_kind,
                                      .box = {channels},
                                      .im2col_pixels = pixels};
    if (!out || !dims || !strides || !lower || !upper || !element_strides || rank < 3 || rank > 5 ||
        !pixels)
        return PG_CUDA_InvalidValue;
    for (unsigned i = 0; i < rank; i++) {
        map.dims[i] = dims[i];
        map.element_strides[i] = element_strides[i];
        if (i + 1 < rank)
            map.strides[i] = strides[i];
        if (i + 2 < rank) {
            map.im2col_lower[i] = lower[i];
            map.im2col_upper[i] = upper[i];
        }
    }
    if (ptxgen_emulator_encode_tensor_map(&map, out, &err) == PTXGEN_OK)
        return PG_CUDA_Success;
    pg_complain("cuTensorMapEncodeIm2col: %s", err.message);
    return PG_CUDA_InvalidValue;
}

PG_API(CUresult) cuTensorMapReplaceAddress(void *map, void *address)
{
    if (!map)
        return PG_CUDA_InvalidValue;
    return pg_refuse("cuTensorMapReplaceAddress", "encode the map again");
}
