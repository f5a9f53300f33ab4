/* See ptx_case_image.h. The library needs none of these functions of the driver, so they are
 * looked up here. */
#include "ptx_case_image.h"

#include <dlfcn.h>
#include <string.h>

enum { LAYERED = 1, SURFACE = 2, CUBE = 4, GATHER = 8, DEVICE_MEMORY = 2, ARRAY_MEMORY = 3 };

typedef struct array_descriptor {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array_descriptor;

typedef struct end {
    size_t x, y, z, level;
    int kind;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} end;
typedef struct copy {
    end from, to;
    size_t bytes, height, depth;
} copy;

typedef struct resource {
    int kind; /* 0: an array */
    union {
        void *array;
        int reserved[32];
    } of;
    unsigned flags;
} resource;

typedef struct sampling {
    int address[3], filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float bias, least, most, border[4];
    int reserved[12];
} sampling;

static void *function(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}

static size_t rows_of(const ptx_case_param *p)
{
    return p->extent[1] > 1 ? p->extent[1] : 1;
}

static size_t slices_of(const ptx_case_param *p)
{
    return p->layers ? p->layers : p->extent[2] > 1 ? p->extent[2] : 1;
}

static size_t row_bytes(const ptx_case_param *p)
{
    const size_t bytes = p->format == 1 || p->format == 8                      ? 1
                         : p->format == 2 || p->format == 9 || p->format == 16 ? 2
                                                                               : 4;
    return p->extent[0] * p->channels * bytes;
}

static int move(const ptx_case_param *p, void *array, uint64_t buffer, bool to_array)
{
    int (*run)(const copy *);
    *(void **)&run = function("cuMemcpy3D_v2");
    const end image = {.kind = ARRAY_MEMORY, .array = array};
    const end memory = {
        .kind = DEVICE_MEMORY, .device = buffer, .pitch = row_bytes(p), .height = rows_of(p)};
    const copy c = {.from = to_array ? memory : image,
                    .to = to_array ? image : memory,
                    .bytes = row_bytes(p),
                    .height = rows_of(p),
                    .depth = slices_of(p)};
    return run ? run(&c) : 1;
}

int ptx_case_make_image(const ptx_case_param *p, uint64_t buffer, ptx_case_image *image,
                        uint64_t *handle)
{
    int (*create)(void **, const array_descriptor *);
    int (*texture)(uint64_t *, const resource *, const sampling *, const void *);
    int (*surface)(uint64_t *, const resource *);
    *(void **)&create = function("cuArray3DCreate_v2");
    *(void **)&texture = function("cuTexObjectCreate");
    *(void **)&surface = function("cuSurfObjectCreate");
    const bool gathers = !p->is_surface && p->extent[1] > 1 && p->extent[2] <= 1 && !p->layers;
    const array_descriptor d = {.width = p->extent[0],
                                .height = p->extent[1] > 1 ? p->extent[1] : 0,
                                .depth = p->layers          ? p->layers
                                         : p->extent[2] > 1 ? p->extent[2]
                                                            : 0,
                                .format = (int)p->format,
                                .channels = p->channels,
                                .flags = (p->layers && (!p->cube || p->layers > 6) ? LAYERED : 0) |
                                         (p->cube ? CUBE : 0) | (p->is_surface ? SURFACE : 0) |
                                         (gathers ? GATHER : 0)};
    int result = create && texture && surface ? create(&image->array, &d) : 1;
    if (!result)
        result = move(p, image->array, buffer, true);
    const resource r = {.of.array = image->array};
    sampling s = {.filter = (int)p->linear, .flags = p->integers | p->normalized << 1};
    for (int i = 0; i < 3; i++)
        s.address[i] = p->address[i];
    for (int i = 0; i < 4; i++)
        s.border[i] = (float)p->border[i];
    if (!result)
        result =
            p->is_surface ? surface(&image->object, &r) : texture(&image->object, &r, &s, NULL);
    *handle = image->object;
    return result;
}

int ptx_case_read_image(const ptx_case_param *p, const ptx_case_image *image, uint64_t buffer)
{
    return move(p, image->array, buffer, false);
}

void ptx_case_free_image(const ptx_case_param *p, ptx_case_image *image)
{
    int (*destroy_object)(uint64_t), (*destroy_array)(void *);
    *(void **)&destroy_object =
        function(p->is_surface ? "cuSurfObjectDestroy" : "cuTexObjectDestroy");
    *(void **)&destroy_array = function("cuArrayDestroy");
    if (image->object && destroy_object)
        destroy_object(image->object);
    if (image->array && destroy_array)
        destroy_array(image->array);
}
