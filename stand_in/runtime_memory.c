/* Runtime API: memory, copies and fills. */
#include "stand_in/array.h"
#include "stand_in/runtime.h"

#include <string.h>

static cudaError_t allocate(void **out, size_t bytes, pg_memory_kind kind, unsigned flags)
{
    PG_NEED(out);
    return pg_set_error(pg_memory_allocate(bytes, kind, flags, out));
}

PG_API(cudaError_t) cudaMalloc(void **out, size_t bytes)
{
    return allocate(out, bytes, PG_MEMORY_DEVICE, 0);
}

PG_API(cudaError_t) cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    return allocate(out, bytes, PG_MEMORY_MANAGED, flags);
}

PG_API(cudaError_t) cudaMallocHost(void **out, size_t bytes)
{
    return allocate(out, bytes, PG_MEMORY_HOST, 0);
}

PG_API(cudaError_t) cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    return allocate(out, bytes, PG_MEMORY_HOST, flags);
}

PG_API(cudaError_t) cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream)
{
    if (pg_stream_of(stream)->capture)
        return pg_refuse("cudaMallocAsync in a capture", "allocate before it begins");
    return cudaMalloc(out, bytes);
}
PG_SAME(cudaMallocAsync_ptsz, cudaMallocAsync);

PG_API(cudaError_t)
cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocAsync(out, bytes, stream);
}
PG_SAME(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync);

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

PG_API(cudaError_t) cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    PG_NEED(out && pitch);
    *pitch = round_up(width, 512);
    return cudaMalloc(out, *pitch * height);
}

PG_API(cudaError_t) cudaMalloc3D(cudaPitchedPtr *out, cudaExtent extent)
{
    PG_NEED(out);
    out->pitch = round_up(extent.width, 512);
    out->xsize = extent.width;
    out->ysize = extent.height;
    return cudaMalloc(&out->ptr, out->pitch * extent.height * extent.depth);
}

PG_API(cudaError_t) cudaFree(void *address)
{
    return pg_set_error(pg_memory_free(address, PG_MEMORY_DEVICE));
}

PG_API(cudaError_t) cudaFreeHost(void *address)
{
    return pg_set_error(pg_memory_free(address, PG_MEMORY_HOST));
}

PG_API(cudaError_t) cudaFreeAsync(void *address, cudaStream_t stream)
{
    if (pg_stream_of(stream)->capture)
        return pg_refuse("cudaFreeAsync in a capture", "free after it has ended");
    return cudaFree(address);
}
PG_SAME(cudaFreeAsync_ptsz, cudaFreeAsync);

PG_API(cudaError_t) cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
    return pg_set_error(pg_memory_register(address, bytes, flags));
}

PG_API(cudaError_t) cudaHostUnregister(void *address)
{
    return pg_set_error(pg_memory_unregister(address));
}

PG_API(cudaError_t) cudaHostGetDevicePointer(void **out, void *address, unsigned flags)
{
    pg_allocation a;
    PG_NEED(out && pg_memory_find(address, &a));
    *out = address;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaHostGetFlags(unsigned *flags, void *address)
{
    pg_allocation a;
    PG_NEED(flags && pg_memory_find(address, &a) && a.kind == PG_MEMORY_HOST);
    *flags = a.flags;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaPointerGetAttributes(cudaPointerAttributes *out, const void *address)
{
    pg_allocation a;
    PG_NEED(out);
    memset(out, 0, sizeof *out);
    out->device = -2;
    out->hostPointer = (void *)address;
    if (!pg_memory_find(address, &a))
        return PG_CUDA_Success; /* unregistered host memory */
    out->type = (int)a.kind;
    out->device = 0;
    out->devicePointer = (void *)address;
    if (a.kind == PG_MEMORY_DEVICE)
        out->hostPointer = NULL;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaMemGetInfo(size_t *left, size_t *total)
{
    const pg_device *d = pg_device_get();
    PG_NEED(d && left && total);
    *total = d->settings.memory;
    *left = *total - pg_memory_used();
    return PG_CUDA_Success;
}

#define ACCEPTED(name, ...)                                                                        \
    PG_API(cudaError_t) name(__VA_ARGS__)                                                          \
    {                                                                                              \
        return PG_CUDA_Success;                                                                    \
    }
/* Hints. Their last arguments changed between CUDA 12 and 13; none is read. */
ACCEPTED(cudaMemAdvise, const void *address, size_t bytes, int advice)
ACCEPTED(cudaMemPrefetchAsync, const void *address, size_t bytes)
ACCEPTED(cudaStreamAttachMemAsync, cudaStream_t stream, void *address, size_t bytes, unsigned flags)

/* ---- copies ---- */

static cudaError_t copy(const pg_copy *c, cudaStream_t stream)
{
    PG_NEED((c->to && c->from) || !c->width || !c->height || !c->depth);
    return pg_set_error(pg_submit(stream, &(pg_work){.kind = PG_WORK_COPY, .copy = *c}));
}

static pg_copy flat(void *to, const void *from, size_t bytes)
{
    return (pg_copy){.to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
}

PG_API(cudaError_t)
cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream)
{
    const pg_copy c = flat(to, from, bytes);
    if (kind < 0 || kind > 4)
        return pg_set_error(PG_CUDA_InvalidMemcpyDirection);
    PG_NEED(pg_memory_holds("destination", to, bytes) && pg_memory_holds("source", from, bytes));
    return copy(&c, stream);
}
PG_SAME(cudaMemcpyAsync_ptsz, cudaMemcpyAsync);

PG_API(cudaError_t) cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, NULL);
}
PG_SAME(cudaMemcpy_ptds, cudaMemcpy);

PG_API(cudaError_t)
cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                    cudaStream_t stream)
{
    return cudaMemcpyAsync(to, from, bytes, 3, stream);
}

PG_API(cudaError_t)
cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return cudaMemcpyAsync(to, from, bytes, 3, NULL);
}

PG_API(cudaError_t)
cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                  size_t height, int kind, cudaStream_t stream)
{
    if (width > to_pitch || width > from_pitch)
        return pg_set_error(PG_CUDA_InvalidPitchValue);
    const pg_copy c = {.to = to,
                       .from = from,
                       .to_pitch = to_pitch,
                       .from_pitch = from_pitch,
                       .width = width,
                       .height = height,
                       .depth = 1};
    return copy(&c, stream);
}
PG_SAME(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);

PG_API(cudaError_t)
cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
             size_t height, int kind)
{
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, NULL);
}
PG_SAME(cudaMemcpy2D_ptds, cudaMemcpy2D);

PG_API(cudaError_t) cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream)
{
    PG_NEED(p);
    const pg_copy c = pg_copy_of_3d(p);
    return copy(&c, stream);
}
PG_SAME(cudaMemcpy3DAsync_ptsz, cudaMemcpy3DAsync);

PG_API(cudaError_t) cudaMemcpy3D(const cudaMemcpy3DParms *p)
{
    return cudaMemcpy3DAsync(p, NULL);
}
PG_SAME(cudaMemcpy3D_ptds, cudaMemcpy3D);

/* ---- symbols ---- */

PG_API(cudaError_t) cudaGetSymbolAddress(void **out, const void *symbol)
{
    size_t bytes;
    PG_NEED(out);
    return pg_set_error(pg_symbol_variable(symbol, out, &bytes));
}

PG_API(cudaError_t) cudaGetSymbolSize(size_t *out, const void *symbol)
{
    void *address;
    PG_NEED(out);
    return pg_set_error(pg_symbol_variable(symbol, &address, out));
}

/* The variable's bytes [offset, offset + bytes), or an error. */
static cudaError_t symbol_bytes(const void *symbol, size_t bytes, size_t offset, char **out)
{
    void *address;
    size_t whole;
    const pg_cuda_error error = pg_symbol_variable(symbol, &address, &whole);
    if (error)
        return error;
    if (offset > whole || bytes > whole - offset)
        return PG_CUDA_InvalidValue;
    *out = (char *)address + offset;
    return PG_CUDA_Success;
}

PG_API(cudaError_t)
cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
                        cudaStream_t stream)
{
    char *to = NULL;
    const cudaError_t error = symbol_bytes(symbol, bytes, offset, &to);
    return error ? pg_set_error(error) : cudaMemcpyAsync(to, from, bytes, 4, stream);
}
PG_SAME(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync);

PG_API(cudaError_t)
cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, NULL);
}
PG_SAME(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);

PG_API(cudaError_t)
cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                          cudaStream_t stream)
{
    char *from = NULL;
    const cudaError_t error = symbol_bytes(symbol, bytes, offset, &from);
    return error ? pg_set_error(error) : cudaMemcpyAsync(to, from, bytes, 4, stream);
}
PG_SAME(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync);

PG_API(cudaError_t)
cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind)
{
    return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, NULL);
}
PG_SAME(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);

/* ---- fills ---- */

static cudaError_t fill(const pg_fill *f, cudaStream_t stream)
{
    PG_NEED(f->to || !f->width || !f->height || !f->depth);
    return pg_set_error(pg_submit(stream, &(pg_work){.kind = PG_WORK_FILL, .fill = *f}));
}

PG_API(cudaError_t) cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    const pg_fill f = {.to = to,
                       .value = (unsigned)value,
                       .element_bytes = 1,
                       .width = bytes,
                       .height = 1,
                       .depth = 1};
    return fill(&f, stream);
}
PG_SAME(cudaMemsetAsync_ptsz, cudaMemsetAsync);

PG_API(cudaError_t) cudaMemset(void *to, int value, size_t bytes)
{
    return cudaMemsetAsync(to, value, bytes, NULL);
}
PG_SAME(cudaMemset_ptds, cudaMemset);

PG_API(cudaError_t)
cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                  cudaStream_t stream)
{
    const pg_fill f = {.to = to,
                       .pitch = pitch,
                       .value = (unsigned)value,
                       .element_bytes = 1,
                       .width = width,
                       .height = height,
                       .depth = 1};
    return fill(&f, stream);
}
PG_SAME(cudaMemset2DAsync_ptsz, cudaMemset2DAsync);

PG_API(cudaError_t)
cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(to, pitch, value, width, height, NULL);
}
PG_SAME(cudaMemset2D_ptds, cudaMemset2D);

PG_API(cudaError_t)
cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream)
{
    const pg_fill f = {.to = to.ptr,
                       .pitch = to.pitch,
                       .slice = to.pitch * to.ysize,
                       .value = (unsigned)value,
                       .element_bytes = 1,
                       .width = extent.width,
                       .height = extent.height,
                       .depth = extent.depth};
    return fill(&f, stream);
}
PG_SAME(cudaMemset3DAsync_ptsz, cudaMemset3DAsync);

PG_API(cudaError_t) cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent)
{
    return cudaMemset3DAsync(to, value, extent, NULL);
}
PG_SAME(cudaMemset3D_ptds, cudaMemset3D);

/* ---- pools: every allocation is made and freed at once, so a pool only remembers its settings  */

enum { POOL_ATTRIBUTES = 16 };
typedef struct pg_pool {
    uint64_t attributes[POOL_ATTRIBUTES];
} pg_pool;

static pg_pool default_pool = {.attributes = {0, 1, 1, 1, 0}};

static cudaError_t give_pool(cudaMemPool_t *out)
{
    PG_NEED(out);
    *out = &default_pool;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device)
{
    return give_pool(out);
}

PG_API(cudaError_t) cudaDeviceGetMemPool(cudaMemPool_t *out, int device)
{
    return give_pool(out);
}

PG_API(cudaError_t) cudaMemPoolCreate(cudaMemPool_t *out, const void *properties)
{
    return give_pool(out);
}

PG_API(cudaError_t)
cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, const void *value)
{
    PG_NEED(pool && value && attribute > 0 && attribute < POOL_ATTRIBUTES);
    /* 1 to 3 are ints, the rest 64 bits wide */
    memcpy(&pool->attributes[attribute], value, attribute <= 3 ? sizeof(int) : sizeof(uint64_t));
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *value)
{
    PG_NEED(pool && value && attribute > 0 && attribute < POOL_ATTRIBUTES);
    memcpy(value, &pool->attributes[attribute], attribute <= 3 ? sizeof(int) : sizeof(uint64_t));
    return PG_CUDA_Success;
}

ACCEPTED(cudaDeviceSetMemPool, int device, cudaMemPool_t pool)
ACCEPTED(cudaMemPoolDestroy, cudaMemPool_t pool)
ACCEPTED(cudaMemPoolTrimTo, cudaMemPool_t pool, size_t bytes)
ACCEPTED(cudaMemPoolSetAccess, cudaMemPool_t pool, const void *access, size_t count)
