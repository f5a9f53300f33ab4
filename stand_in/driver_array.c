/* Driver API: arrays, textures and surfaces, and copies that arrays may take part in. */
#include "stand_in/array.h"
#include "stand_in/runtime.h"

typedef pg_cuda_error CUresult;

PG_API(CUresult) cuArray3DCreate_v2(cudaArray_t *out, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    return out && shape ? pg_array_new(shape, out) : PG_CUDA_InvalidValue;
}

PG_API(CUresult) cuArrayCreate_v2(cudaArray_t *out, const CUDA_ARRAY_DESCRIPTOR *shape)
{
    if (!shape)
        return PG_CUDA_InvalidValue;
    return cuArray3DCreate_v2(out, &(CUDA_ARRAY3D_DESCRIPTOR){.Width = shape->Width,
                                                              .Height = shape->Height,
                                                              .Format = shape->Format,
                                                              .NumChannels = shape->NumChannels});
}

PG_API(CUresult) cuArrayDestroy(cudaArray_t array)
{
    if (!array)
        return PG_CUDA_InvalidResourceHandle;
    pg_array_free(array);
    return PG_CUDA_Success;
}

PG_API(CUresult) cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, cudaArray_t array)
{
    if (!out || !array)
        return PG_CUDA_InvalidValue;
    *out = (CUDA_ARRAY3D_DESCRIPTOR){array->extent.width, array->extent.height, array->extent.depth,
                                     array->format,       array->channels,      array->flags};
    return PG_CUDA_Success;
}

PG_API(CUresult) cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, cudaArray_t array)
{
    if (!out || !array)
        return PG_CUDA_InvalidValue;
    *out = (CUDA_ARRAY_DESCRIPTOR){array->extent.width, array->extent.height, array->format,
                                   array->channels};
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuMipmappedArrayCreate(pg_mipmapped_t *out, const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    return out && shape ? pg_mipmapped_new(shape, levels, out) : PG_CUDA_InvalidValue;
}

PG_API(CUresult)
cuMipmappedArrayGetLevel(cudaArray_t *out, pg_mipmapped_t mipmapped, unsigned level)
{
    if (!out || !mipmapped || level >= mipmapped->levels)
        return PG_CUDA_InvalidValue;
    *out = mipmapped->level[level];
    return PG_CUDA_Success;
}

PG_API(CUresult) cuMipmappedArrayDestroy(pg_mipmapped_t mipmapped)
{
    pg_mipmapped_free(mipmapped);
    return PG_CUDA_Success;
}

/* ---- textures and surfaces ---- */

PG_API(CUresult)
cuTexObjectCreate(uint64_t *out, const CUDA_RESOURCE_DESC *what, const CUDA_TEXTURE_DESC *how,
                  const void *view)
{
    if (!out || !what || !how)
        return PG_CUDA_InvalidValue;
    if (view)
        return pg_refuse("cuTexObjectCreate with a resource view", "pass NULL for it");
    return pg_texture_new(what, how, out);
}

PG_API(CUresult) cuTexObjectDestroy(uint64_t handle)
{
    return pg_texture_free(handle);
}

PG_API(CUresult) cuSurfObjectCreate(uint64_t *out, const CUDA_RESOURCE_DESC *what)
{
    return out && what ? pg_texture_new(what, NULL, out) : PG_CUDA_InvalidValue;
}
PG_SAME(cuSurfObjectDestroy, cuTexObjectDestroy);

/* ---- copies ---- */

static CUresult submit_copy(pg_copy c, cudaStream_t stream)
{
    if ((!c.to || !c.from) && c.width && c.height && c.depth)
        return PG_CUDA_InvalidValue;
    return pg_submit(stream, &(pg_work){.kind = PG_WORK_COPY, .copy = c});
}

static CUresult submit(pg_side to, pg_side from, cudaExtent bytes, cudaStream_t stream)
{
    return submit_copy(pg_copy_of(to, from, bytes), stream);
}

/* One end of a copy as the driver's structs give it. */
typedef struct end {
    int type; /* 1 host, 2 device, 3 array, 4 unified */
    const void *host;
    CUdeviceptr device;
    cudaArray_t array;
    size_t x, y, z, pitch, rows;
} end;

static pg_side side_of(end e)
{
    enum { HOST = 1, ARRAY = 3 };
    if (e.type == ARRAY)
        return e.array ? pg_array_side(e.array, e.x, e.y, e.z) : (pg_side){0};
    char *base = (char *)(e.type == HOST ? (uintptr_t)e.host : (uintptr_t)e.device);
    const size_t slice = e.pitch * e.rows;
    return (pg_side){base ? base + e.z * slice + e.y * e.pitch + e.x : NULL, e.pitch, slice};
}

PG_API(CUresult) cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, cudaStream_t stream)
{
    if (!p)
        return PG_CUDA_InvalidValue;
    const end to = {
        p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, 0,
        p->dstPitch,      0};
    const end from = {
        p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY, 0,
        p->srcPitch,      0};
    return submit(side_of(to), side_of(from), (cudaExtent){p->WidthInBytes, p->Height, 1}, stream);
}
PG_SAME(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);

PG_API(CUresult) cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
    return cuMemcpy2DAsync_v2(p, NULL);
}
PG_SAME(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
PG_SAME(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);

pg_copy pg_copy_of_driver(const CUDA_MEMCPY3D *p)
{
    const end to = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes,
                    p->dstY,          p->dstZ,    p->dstPitch,  p->dstHeight};
    const end from = {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes,
                      p->srcY,          p->srcZ,    p->srcPitch,  p->srcHeight};
    return pg_copy_of(side_of(to), side_of(from),
                      (cudaExtent){p->WidthInBytes, p->Height, p->Depth});
}

PG_API(CUresult) cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, cudaStream_t stream)
{
    return p ? submit_copy(pg_copy_of_driver(p), stream) : PG_CUDA_InvalidValue;
}
PG_SAME(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);

PG_API(CUresult) cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
    return cuMemcpy3DAsync_v2(p, NULL);
}
PG_SAME(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);

/* Bytes of an array in the order of its rows, from byte `at` on; NULL: they leave it. */
static char *run_of(cudaArray_t a, size_t at, size_t bytes)
{
    const size_t whole = a ? a->width * a->texel_bytes * a->height * a->depth : 0;
    return at <= whole && bytes <= whole - at && a ? a->data + at : NULL;
}

static CUresult copy_run(char *to, const void *from, size_t bytes, cudaStream_t stream)
{
    return submit((pg_side){to, 0, 0}, (pg_side){(char *)(uintptr_t)from, 0, 0},
                  (cudaExtent){bytes, 1, 1}, stream);
}

PG_API(CUresult)
cuMemcpyHtoAAsync_v2(cudaArray_t to, size_t at, const void *from, size_t bytes, cudaStream_t stream)
{
    return copy_run(run_of(to, at, bytes), from, bytes, stream);
}
PG_SAME(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync_v2);
PG_API(CUresult) cuMemcpyHtoA_v2(cudaArray_t to, size_t at, const void *from, size_t bytes)
{
    return copy_run(run_of(to, at, bytes), from, bytes, NULL);
}
PG_SAME(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA_v2);
PG_API(CUresult)
cuMemcpyAtoHAsync_v2(void *to, cudaArray_t from, size_t at, size_t bytes, cudaStream_t stream)
{
    return copy_run(to, run_of(from, at, bytes), bytes, stream);
}
PG_SAME(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync_v2);
PG_API(CUresult) cuMemcpyAtoH_v2(void *to, cudaArray_t from, size_t at, size_t bytes)
{
    return copy_run(to, run_of(from, at, bytes), bytes, NULL);
}
PG_SAME(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH_v2);
PG_API(CUresult) cuMemcpyDtoA_v2(cudaArray_t to, size_t at, CUdeviceptr from, size_t bytes)
{
    return copy_run(run_of(to, at, bytes), (const void *)(uintptr_t)from, bytes, NULL);
}
PG_SAME(cuMemcpyDtoA_v2_ptds, cuMemcpyDtoA_v2);
PG_API(CUresult) cuMemcpyAtoD_v2(CUdeviceptr to, cudaArray_t from, size_t at, size_t bytes)
{
    return copy_run((char *)(uintptr_t)to, run_of(from, at, bytes), bytes, NULL);
}
PG_SAME(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoD_v2);
PG_API(CUresult)
cuMemcpyAtoA_v2(cudaArray_t to, size_t to_at, cudaArray_t from, size_t at, size_t bytes)
{
    return copy_run(run_of(to, to_at, bytes), run_of(from, at, bytes), bytes, NULL);
}
PG_SAME(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA_v2);
