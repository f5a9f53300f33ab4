/* Runtime API: arrays, textures and surfaces. */
#include "stand_in/array.h"
#include "stand_in/runtime.h"

#include <string.h>

PG_API(cudaChannelFormatDesc) cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (cudaChannelFormatDesc){x, y, z, w, kind};
}

PG_API(cudaError_t) cudaGetChannelDesc(cudaChannelFormatDesc *out, cudaArray_t array)
{
    PG_NEED(out && array);
    *out = pg_desc_of(array);
    return PG_CUDA_Success;
}

static CUDA_ARRAY3D_DESCRIPTOR shape_of(const cudaChannelFormatDesc *desc, cudaExtent extent,
                                        unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    shape.Format = pg_format_of(desc, &shape.NumChannels);
    return shape;
}

PG_API(cudaError_t)
cudaMalloc3DArray(cudaArray_t *out, const cudaChannelFormatDesc *desc, cudaExtent extent,
                  unsigned flags)
{
    PG_NEED(out && desc);
    const CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(desc, extent, flags);
    return pg_set_error(pg_array_new(&shape, out));
}

PG_API(cudaError_t)
cudaMallocArray(cudaArray_t *out, const cudaChannelFormatDesc *desc, size_t width, size_t height,
                unsigned flags)
{
    return cudaMalloc3DArray(out, desc, (cudaExtent){width, height, 0}, flags);
}

PG_API(cudaError_t) cudaFreeArray(cudaArray_t array)
{
    pg_array_free(array);
    return PG_CUDA_Success;
}

PG_API(cudaError_t)
cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned *flags,
                 cudaArray_t array)
{
    PG_NEED(array);
    if (desc)
        *desc = pg_desc_of(array);
    if (extent)
        *extent = array->extent;
    if (flags)
        *flags = array->flags;
    return PG_CUDA_Success;
}

PG_API(cudaError_t)
cudaMallocMipmappedArray(pg_mipmapped_t *out, const cudaChannelFormatDesc *desc, cudaExtent extent,
                         unsigned levels, unsigned flags)
{
    PG_NEED(out && desc);
    const CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(desc, extent, flags);
    return pg_set_error(pg_mipmapped_new(&shape, levels, out));
}

PG_API(cudaError_t)
cudaGetMipmappedArrayLevel(cudaArray_t *out, pg_mipmapped_t mipmapped, unsigned level)
{
    PG_NEED(out && mipmapped && level < mipmapped->levels);
    *out = mipmapped->level[level];
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaFreeMipmappedArray(pg_mipmapped_t mipmapped)
{
    pg_mipmapped_free(mipmapped);
    return PG_CUDA_Success;
}

/* ---- copies ---- */

static cudaError_t copy(pg_side to, pg_side from, cudaExtent bytes, cudaStream_t stream)
{
    const pg_work work = {.kind = PG_WORK_COPY, .copy = pg_copy_of(to, from, bytes)};
    PG_NEED((to.at && from.at) || !bytes.width || !bytes.height);
    return pg_set_error(pg_submit(stream, &work));
}

/* The side of an array that a rectangle of bytes begins at; false: it does not lie in it. */
static bool rectangle(cudaArray_t array, const size_t at[2], const size_t bytes[2], pg_side *out)
{
    if (!array || !pg_array_holds(array, at[0], at[1], bytes[0], bytes[1]))
        return false;
    *out = pg_array_side(array, at[0], at[1], 0);
    return true;
}

PG_API(cudaError_t)
cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                         size_t width, size_t height, int kind, cudaStream_t stream)
{
    pg_side side;
    PG_NEED(rectangle(to, (size_t[]){x, y}, (size_t[]){width, height}, &side));
    if (width > pitch)
        return pg_set_error(PG_CUDA_InvalidPitchValue);
    return copy(side, (pg_side){(char *)(uintptr_t)from, pitch, 0}, (cudaExtent){width, height, 1},
                stream);
}
PG_SAME(cudaMemcpy2DToArrayAsync_ptsz, cudaMemcpy2DToArrayAsync);

PG_API(cudaError_t)
cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                    size_t width, size_t height, int kind)
{
    return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, NULL);
}
PG_SAME(cudaMemcpy2DToArray_ptds, cudaMemcpy2DToArray);

PG_API(cudaError_t)
cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y,
                           size_t width, size_t height, int kind, cudaStream_t stream)
{
    pg_side side;
    PG_NEED(rectangle(from, (size_t[]){x, y}, (size_t[]){width, height}, &side));
    if (width > pitch)
        return pg_set_error(PG_CUDA_InvalidPitchValue);
    return copy((pg_side){to, pitch, 0}, side, (cudaExtent){width, height, 1}, stream);
}
PG_SAME(cudaMemcpy2DFromArrayAsync_ptsz, cudaMemcpy2DFromArrayAsync);

PG_API(cudaError_t)
cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width,
                      size_t height, int kind)
{
    return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, NULL);
}
PG_SAME(cudaMemcpy2DFromArray_ptds, cudaMemcpy2DFromArray);

PG_API(cudaError_t)
cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from, size_t x,
                         size_t y, size_t width, size_t height, int kind)
{
    pg_side left, right;
    PG_NEED(rectangle(to, (size_t[]){to_x, to_y}, (size_t[]){width, height}, &left));
    PG_NEED(rectangle(from, (size_t[]){x, y}, (size_t[]){width, height}, &right));
    return copy(left, right, (cudaExtent){width, height, 1}, NULL);
}
PG_SAME(cudaMemcpy2DArrayToArray_ptds, cudaMemcpy2DArrayToArray);

/* Bytes in the order of rows, from (x bytes, row y) on; NULL: they leave the array. */
static char *run_of(cudaArray_t a, size_t x, size_t y, size_t bytes)
{
    if (!a || !pg_array_holds(a, x, y, 0, 0))
        return NULL;
    char *at = pg_array_side(a, x, y, 0).at;
    const size_t whole = a->width * a->texel_bytes * a->height * a->depth;
    return bytes <= whole - (size_t)(at - a->data) ? at : NULL;
}

static cudaError_t copy_run(char *to, const void *from, size_t bytes, cudaStream_t stream)
{
    PG_NEED(to && from);
    return copy((pg_side){to, 0, 0}, (pg_side){(char *)(uintptr_t)from, 0, 0},
                (cudaExtent){bytes, 1, 1}, stream);
}

PG_API(cudaError_t)
cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, int kind,
                       cudaStream_t stream)
{
    return copy_run(run_of(to, x, y, bytes), from, bytes, stream);
}
PG_SAME(cudaMemcpyToArrayAsync_ptsz, cudaMemcpyToArrayAsync);

PG_API(cudaError_t)
cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, int kind)
{
    return cudaMemcpyToArrayAsync(to, x, y, from, bytes, kind, NULL);
}
PG_SAME(cudaMemcpyToArray_ptds, cudaMemcpyToArray);

PG_API(cudaError_t)
cudaMemcpyFromArrayAsync(void *to, cudaArray_t from, size_t x, size_t y, size_t bytes, int kind,
                         cudaStream_t stream)
{
    return copy_run(to, run_of(from, x, y, bytes), bytes, stream);
}
PG_SAME(cudaMemcpyFromArrayAsync_ptsz, cudaMemcpyFromArrayAsync);

PG_API(cudaError_t)
cudaMemcpyFromArray(void *to, cudaArray_t from, size_t x, size_t y, size_t bytes, int kind)
{
    return cudaMemcpyFromArrayAsync(to, from, x, y, bytes, kind, NULL);
}
PG_SAME(cudaMemcpyFromArray_ptds, cudaMemcpyFromArray);

PG_API(cudaError_t)
cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from, size_t x,
                       size_t y, size_t bytes, int kind)
{
    return copy_run(run_of(to, to_x, to_y, bytes), run_of(from, x, y, bytes), bytes, NULL);
}
PG_SAME(cudaMemcpyArrayToArray_ptds, cudaMemcpyArrayToArray);

/* ---- textures and surfaces ---- */

/* In the driver's form; false: a channel description that names no format. */
static bool resource_of(const cudaResourceDesc *what, CUDA_RESOURCE_DESC *out)
{
    enum { LINEAR = 2, PITCH2D = 3 };
    *out = (CUDA_RESOURCE_DESC){.resType = what->resType};
    if (what->resType != LINEAR && what->resType != PITCH2D) {
        out->res.array.hArray = what->res.array.array;
        return true;
    }
    /* both kinds begin alike */
    out->res.linear.devPtr = (CUdeviceptr)(uintptr_t)what->res.linear.devPtr;
    out->res.linear.format = pg_format_of(&what->res.linear.desc, &out->res.linear.numChannels);
    if (what->resType == LINEAR) {
        out->res.linear.sizeInBytes = what->res.linear.sizeInBytes;
    } else {
        out->res.pitch2D.width = what->res.pitch2D.width;
        out->res.pitch2D.height = what->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = what->res.pitch2D.pitchInBytes;
    }
    return out->res.linear.format != 0;
}

PG_API(cudaError_t)
cudaCreateTextureObject(uint64_t *out, const cudaResourceDesc *what, const cudaTextureDesc *how,
                        const void *view)
{
    CUDA_RESOURCE_DESC resource;
    PG_NEED(out && what && how && resource_of(what, &resource));
    if (view)
        return pg_refuse("cudaCreateTextureObject with a resource view", "pass NULL for it");
    CUDA_TEXTURE_DESC sampler = {.filterMode = how->filterMode,
                                 .flags = (how->readMode ? 0 : 1u) |
                                          (how->normalizedCoords ? 2u : 0) | (how->sRGB ? 16u : 0)};
    memcpy(sampler.addressMode, how->addressMode, sizeof sampler.addressMode);
    memcpy(sampler.borderColor, how->borderColor, sizeof sampler.borderColor);
    return pg_set_error(pg_texture_new(&resource, &sampler, out));
}

PG_API(cudaError_t) cudaDestroyTextureObject(uint64_t handle)
{
    return pg_set_error(handle ? pg_texture_free(handle) : PG_CUDA_Success);
}

PG_API(cudaError_t) cudaCreateSurfaceObject(uint64_t *out, const cudaResourceDesc *what)
{
    CUDA_RESOURCE_DESC resource;
    PG_NEED(out && what && resource_of(what, &resource));
    return pg_set_error(pg_texture_new(&resource, NULL, out));
}
PG_SAME(cudaDestroySurfaceObject, cudaDestroyTextureObject);
