/* Runs an instruction test on a GPU, through the driver table; see ptx_case.h. */
#include "ptx_case.h"
#include "ptx_case_image.h"

#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's arguments: device pointers and tensor maps. */
typedef struct arguments {
    pg_cu_pointer buffers[PTX_CASE_MAX_PARAMS];
    struct {
        _Alignas(64) uint8_t bytes[128];
    } maps[PTX_CASE_MAX_PARAMS];
    void *pointers[PTX_CASE_MAX_PARAMS];
    ptx_case_image images[PTX_CASE_MAX_PARAMS];
} arguments;

/* Of the driver, but of no use to the library. */
typedef int encode_im2col(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                          const uint64_t *strides, const int *lower, const int *upper,
                          uint32_t channels, uint32_t pixels, const uint32_t *element_strides,
                          int interleave, int swizzle, int l2_promotion, int oob_fill);

static int encode_im2col_map(const ptx_case_param *m, void *address, void *out)
{
    encode_im2col *encode;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&encode = library ? dlsym(library, "cuTensorMapEncodeIm2col") : NULL;
    return encode ? encode(out, m->type, m->rank, address, m->dims, m->strides, m->lower, m->upper,
                           m->box[0], m->pixels, m->element_strides, 0, m->swizzle, 0, m->fill_nan)
                  : 1;
}

static int encode_map(const pg_driver *d, ptx_case *c, const ptx_case_param *m, arguments *a,
                      void *out)
{
    const ptx_case_param *over = ptx_case_buffer(c, m->over);
    if (!over)
        return 1;
    const pg_cu_pointer address = a->buffers[over - c->params];
    if (m->pixels)
        return encode_im2col_map(m, (void *)(uintptr_t)address, out);
    return d->cuTensorMapEncodeTiled(out, m->type, m->rank, (void *)(uintptr_t)address, m->dims,
                                     m->strides, m->box, m->element_strides, 0, m->swizzle, 0,
                                     m->fill_nan);
}

static pg_cu_pointer buffer_under(ptx_case *c, const ptx_case_param *p, const arguments *a)
{
    const ptx_case_param *over = ptx_case_buffer(c, p->over);
    return over ? a->buffers[over - c->params] : 0;
}

static int make_image(ptx_case *c, const ptx_case_param *p, arguments *a, size_t at)
{
    uint64_t handle = 0;
    const int result = ptx_case_make_image(p, buffer_under(c, p, a), &a->images[at], &handle);
    a->buffers[at] = handle;
    return result;
}

static int upload(const pg_driver *d, ptx_case *c, arguments *a)
{
    int result = 0;
    for (size_t i = 0; i < c->param_count && !result; i++) {
        const ptx_case_param *p = &c->params[i];
        a->pointers[i] =
            p->is_map && !p->is_image ? (void *)a->maps[i].bytes : (void *)&a->buffers[i];
        if (p->is_map)
            continue;
        result = d->cuMemAlloc(&a->buffers[i], p->size + 1);
        if (!result)
            result = d->cuMemcpyHtoD(a->buffers[i], p->bytes, p->size);
    }
    for (size_t i = 0; i < c->param_count && !result; i++)
        if (c->params[i].is_image)
            result = make_image(c, &c->params[i], a, i);
        else if (c->params[i].is_map)
            result = encode_map(d, c, &c->params[i], a, a->maps[i].bytes);
    return result;
}

static int start(const pg_driver *d, const ptx_case *c, pg_cu_function function, arguments *a)
{
    pg_cu_launch_attribute cluster = {.id = PG_CU_LAUNCH_CLUSTER,
                                      .cluster = {c->cluster[0], c->cluster[1], c->cluster[2]}};
    pg_cu_launch launch = {.grid = {c->grid[0], c->grid[1], c->grid[2]},
                           .block = {c->block[0], c->block[1], c->block[2]},
                           .shared_bytes = c->shared,
                           .attributes = &cluster,
                           .attribute_count = c->cluster[0] * c->cluster[1] * c->cluster[2] > 1};
    int result = d->cuFuncSetAttribute(function, PG_CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)c->shared);
    if (!result)
        result = d->cuLaunchKernelEx(&launch, function, a->pointers, NULL);
    return result ? result : d->cuStreamSynchronize(NULL);
}

static int download(const pg_driver *d, ptx_case *c, const arguments *a)
{
    int result = 0;
    for (size_t i = 0; i < c->param_count && !result; i++)
        if (c->params[i].is_surface)
            result =
                ptx_case_read_image(&c->params[i], &a->images[i],
                                    a->buffers[ptx_case_buffer(c, c->params[i].over) - c->params]);
    for (size_t i = 0; i < c->param_count && !result; i++)
        if (!c->params[i].is_map)
            result = d->cuMemcpyDtoH(c->params[i].bytes, a->buffers[i], c->params[i].size);
    return result;
}

const pg_driver *ptx_case_open_gpu(char *message, size_t size)
{
    pg_driver *d;
    pg_cu_context context;
    ptxgen_error err = {0};
    int major = 0, minor = 0;
    if (pg_driver_open(&pg_alloc_libc, NULL, &d, &err) != PTXGEN_OK ||
        pg_driver_check(d, d->cuDevicePrimaryCtxRetain(&context, 0), "use device 0", &err) !=
            PTXGEN_OK ||
        pg_driver_check(d, d->cuCtxPushCurrent(context), "enter its context", &err) != PTXGEN_OK) {
        snprintf(message, size, "%s", err.message);
        return NULL;
    }
    d->cuDeviceGetAttribute(&major, PG_CU_DEVICE_CC_MAJOR, 0);
    d->cuDeviceGetAttribute(&minor, PG_CU_DEVICE_CC_MINOR, 0);
    if (major == 9 && minor == 0)
        return d;
    snprintf(message, size, "the device has compute capability %d.%d, 9.0 is needed", major, minor);
    return NULL;
}

bool ptx_case_launch(ptx_case *c, const pg_driver *d, const void *cubin, char *message, size_t size)
{
    pg_cu_module module = NULL;
    pg_cu_function function;
    ptxgen_error err = {0};
    arguments *a = aligned_alloc(_Alignof(arguments), sizeof *a);
    memset(a, 0, sizeof *a);
    const char *doing = "load the cubin";
    int result = d->cuModuleLoadData(&module, cubin);
    if (!result)
        result = d->cuModuleGetFunction(&function, module, "kernel");
    if (!result)
        doing = "make the arguments", result = upload(d, c, a);
    if (!result)
        doing = "run the kernel", result = start(d, c, function, a);
    if (!result)
        doing = "read the buffers", result = download(d, c, a);
    const bool ok = pg_driver_check(d, result, doing, &err) == PTXGEN_OK;
    if (!ok)
        snprintf(message, size, "%s", err.message);
    for (size_t i = 0; i < c->param_count; i++)
        if (c->params[i].is_image)
            ptx_case_free_image(&c->params[i], &a->images[i]);
        else if (a->buffers[i])
            d->cuMemFree(a->buffers[i]);
    if (module)
        d->cuModuleUnload(module);
    free(a);
    return ok;
}
