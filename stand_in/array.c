/* Arrays, textures and surfaces: see array.h. */
#include "stand_in/array.h"

#include <stdlib.h>
#include <string.h>

/* CU_AD_FORMAT_..., the kind and the bits of a channel. */
static const struct {
    int format, kind, bits;
} formats[] = {{1, 1, 8},  {2, 1, 16},  {3, 1, 32},  {8, 0, 8},
               {9, 0, 16}, {10, 0, 32}, {16, 2, 16}, {32, 2, 32}};
enum { FORMATS = sizeof formats / sizeof *formats };

int pg_format_of(const cudaChannelFormatDesc *d, unsigned *channels)
{
    const int bits[4] = {d->x, d->y, d->z, d->w};
    unsigned count = 0;
    while (count < 4 && bits[count])
        if (bits[count++] != d->x)
            return 0;
    *channels = count;
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].kind == d->f && formats[i].bits == d->x)
            return formats[i].format;
    return 0;
}

static size_t format_bytes(int format)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].format == format)
            return (size_t)formats[i].bits / 8;
    return 0;
}

cudaChannelFormatDesc pg_desc_of(const pg_array *a)
{
    cudaChannelFormatDesc d = {0};
    const int bits = (int)format_bytes(a->format) * 8;
    d.x = bits;
    d.y = a->channels > 1 ? bits : 0;
    d.z = d.w = a->channels > 2 ? bits : 0;
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].format == a->format)
            d.f = formats[i].kind;
    return d;
}

pg_cuda_error pg_array_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, cudaArray_t *out)
{
    const size_t bytes = format_bytes(shape->Format) * shape->NumChannels;
    const unsigned n = shape->NumChannels;
    *out = NULL;
    if (!pg_device_get())
        return PG_CUDA_InitializationError;
    if (!bytes || (n != 1 && n != 2 && n != 4) || !shape->Width)
        return PG_CUDA_InvalidValue;
    if ((shape->Flags & PG_ARRAY_CUBEMAP) && (shape->Width != shape->Height || shape->Depth % 6))
        return PG_CUDA_InvalidValue;
    pg_array a = {.width = shape->Width,
                  .height = shape->Height ? shape->Height : 1,
                  .depth = shape->Depth ? shape->Depth : 1,
                  .texel_bytes = bytes,
                  .extent = {shape->Width, shape->Height, shape->Depth},
                  .format = shape->Format,
                  .channels = n,
                  .flags = shape->Flags};
    size_t whole;
    if (__builtin_mul_overflow(a.width, a.height, &whole) ||
        __builtin_mul_overflow(whole, a.depth, &whole) ||
        __builtin_mul_overflow(whole, bytes, &whole))
        return PG_CUDA_MemoryAllocation;
    *out = malloc(sizeof **out);
    a.data = calloc(1, whole);
    if (!*out || !a.data) {
        free(*out);
        free(a.data);
        *out = NULL;
        return PG_CUDA_MemoryAllocation;
    }
    **out = a;
    return PG_CUDA_Success;
}

void pg_array_free(cudaArray_t array)
{
    if (array)
        free(array->data);
    free(array);
}

static size_t halved(size_t extent)
{
    return extent > 1 ? extent / 2 : extent;
}

pg_cuda_error pg_mipmapped_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels,
                               pg_mipmapped_t *out)
{
    CUDA_ARRAY3D_DESCRIPTOR level = *shape;
    *out = NULL;
    if (!levels || levels > PG_MOST_LEVELS)
        return PG_CUDA_InvalidValue;
    pg_mipmapped_t made = calloc(1, sizeof *made);
    if (!made)
        return PG_CUDA_MemoryAllocation;
    while (made->levels < levels) {
        const pg_cuda_error error = pg_array_new(&level, &made->level[made->levels]);
        if (error) {
            pg_mipmapped_free(made);
            return error;
        }
        made->levels++;
        if (level.Width <= 1 && level.Height <= 1)
            break;
        level.Width = halved(level.Width);
        level.Height = halved(level.Height);
        if (!(level.Flags & (PG_ARRAY_LAYERED | PG_ARRAY_CUBEMAP)))
            level.Depth = halved(level.Depth);
    }
    *out = made;
    return PG_CUDA_Success;
}

void pg_mipmapped_free(pg_mipmapped_t mipmapped)
{
    for (unsigned i = 0; mipmapped && i < mipmapped->levels; i++)
        pg_array_free(mipmapped->level[i]);
    free(mipmapped);
}

/* ---- copies ---- */

pg_side pg_array_side(cudaArray_t a, size_t x, size_t y, size_t z)
{
    const size_t pitch = a->width * a->texel_bytes, slice = pitch * a->height;
    return (pg_side){a->data + z * slice + y * pitch + x, pitch, slice};
}

bool pg_array_holds(const pg_array *a, size_t x, size_t y, size_t width, size_t height)
{
    const size_t row = a->width * a->texel_bytes, rows = a->height * a->depth;
    return x <= row && width <= row - x && y <= rows && height <= rows - y;
}

pg_copy pg_copy_of(pg_side to, pg_side from, cudaExtent bytes)
{
    return (pg_copy){.to = to.at,
                     .from = from.at,
                     .to_pitch = to.pitch,
                     .to_slice = to.slice,
                     .from_pitch = from.pitch,
                     .from_slice = from.slice,
                     .width = bytes.width,
                     .height = bytes.height,
                     .depth = bytes.depth};
}

static pg_side side_of(cudaArray_t array, cudaPos pos, cudaPitchedPtr pointer)
{
    if (array)
        return pg_array_side(array, pos.x * array->texel_bytes, pos.y, pos.z);
    const size_t slice = pointer.pitch * pointer.ysize;
    return (pg_side){(char *)pointer.ptr + pos.z * slice + pos.y * pointer.pitch + pos.x,
                     pointer.pitch, slice};
}

pg_copy pg_copy_of_3d(const cudaMemcpy3DParms *p)
{
    const cudaArray_t array = p->dstArray ? p->dstArray : p->srcArray;
    cudaExtent bytes = p->extent;
    bytes.width *= array ? array->texel_bytes : 1;
    return pg_copy_of(side_of(p->dstArray, p->dstPos, p->dstPtr),
                      side_of(p->srcArray, p->srcPos, p->srcPtr), bytes);
}

/* ---- textures ---- */

enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCH2D };
enum { READ_INTEGER = 1, NORMALIZED = 2, SRGB = 16, BORDER = 3 };

static ptxgen_emulator_texture image_of_array(const pg_array *a)
{
    const bool layered = a->flags & (PG_ARRAY_LAYERED | PG_ARRAY_CUBEMAP);
    const size_t pitch = a->width * a->texel_bytes;
    return (ptxgen_emulator_texture){.format = a->format,
                                     .channels = a->channels,
                                     .width = (uint32_t)a->width,
                                     .height = (uint32_t)a->height,
                                     .depth = layered ? 1 : (uint32_t)a->depth,
                                     .layers = layered ? (uint32_t)a->depth : 0,
                                     .cube = (a->flags & PG_ARRAY_CUBEMAP) != 0,
                                     .memory = a->data,
                                     .pitch = {pitch, pitch * a->height}};
}

static pg_cuda_error image_of(const CUDA_RESOURCE_DESC *what, ptxgen_emulator_texture *out)
{
    const size_t texel = format_bytes(what->res.pitch2D.format) * what->res.pitch2D.numChannels;
    switch (what->resType) {
    case RESOURCE_ARRAY:
        if (!what->res.array.hArray)
            return PG_CUDA_InvalidResourceHandle;
        *out = image_of_array(what->res.array.hArray);
        return PG_CUDA_Success;
    case RESOURCE_MIPMAPPED:
        if (!what->res.mipmap.hMipmappedArray)
            return PG_CUDA_InvalidResourceHandle;
        if (what->res.mipmap.hMipmappedArray->levels > 1)
            return pg_refuse("a texture of a mipmapped array",
                             "textures have one level here: take cudaGetMipmappedArrayLevel's");
        *out = image_of_array(what->res.mipmap.hMipmappedArray->level[0]);
        return PG_CUDA_Success;
    case RESOURCE_LINEAR:
        if (!texel)
            return PG_CUDA_InvalidValue;
        *out = (ptxgen_emulator_texture){.format = what->res.linear.format,
                                         .channels = what->res.linear.numChannels,
                                         .width = (uint32_t)(what->res.linear.sizeInBytes / texel),
                                         .memory = (void *)(uintptr_t)what->res.linear.devPtr};
        return PG_CUDA_Success;
    case RESOURCE_PITCH2D:
        *out = (ptxgen_emulator_texture){.format = what->res.pitch2D.format,
                                         .channels = what->res.pitch2D.numChannels,
                                         .width = (uint32_t)what->res.pitch2D.width,
                                         .height = (uint32_t)what->res.pitch2D.height,
                                         .memory = (void *)(uintptr_t)what->res.pitch2D.devPtr,
                                         .pitch = {what->res.pitch2D.pitchInBytes}};
        return PG_CUDA_Success;
    default:
        return PG_CUDA_InvalidValue;
    }
}

/* 32-bit integers are never read as fractions, and linear memory knows no sampler: what lies
 * outside reads as 0. */
static void sample(const CUDA_RESOURCE_DESC *what, const CUDA_TEXTURE_DESC *how,
                   ptxgen_emulator_texture *t)
{
    const bool linear = what->resType == RESOURCE_LINEAR;
    for (int i = 0; i < 3; i++)
        t->address_mode[i] = linear ? BORDER : how->addressMode[i];
    t->linear = !linear && how->filterMode;
    t->normalized = !linear && (how->flags & NORMALIZED);
    t->read_integers = (how->flags & READ_INTEGER) || t->format == 3 || t->format == 10;
    for (int i = 0; i < 4; i++)
        t->border[i] = linear ? 0 : how->borderColor[i];
}

pg_cuda_error pg_texture_new(const CUDA_RESOURCE_DESC *what, const CUDA_TEXTURE_DESC *how,
                             uint64_t *handle)
{
    pg_device *d = pg_device_get();
    ptxgen_emulator_texture t;
    ptxgen_error err;
    if (!d)
        return PG_CUDA_InitializationError;
    if (how && (how->flags & SRGB))
        return pg_refuse("a texture with sRGB conversion", NULL);
    const pg_cuda_error error = image_of(what, &t);
    if (error)
        return error;
    t.size = sizeof t;
    if (how)
        sample(what, how, &t);
    if (ptxgen_emulator_add_texture(d->emulator, &t, handle, &err) == PTXGEN_OK)
        return PG_CUDA_Success;
    pg_complain("%s: %s", how ? "a texture object" : "a surface object", err.message);
    return PG_CUDA_InvalidValue;
}

pg_cuda_error pg_texture_free(uint64_t handle)
{
    pg_device *d = pg_device_get();
    if (!d)
        return PG_CUDA_InitializationError;
    pthread_mutex_lock(&d->running); /* a kernel of another thread may use it still */
    const bool found = ptxgen_emulator_remove_texture(d->emulator, handle);
    pthread_mutex_unlock(&d->running);
    return found ? PG_CUDA_Success : PG_CUDA_InvalidValue;
}
