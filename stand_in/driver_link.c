/* Driver API: linking. Texts of PTX are joined, and the result is given back in place of the
 * cubin: cuModuleLoadData takes it. */
#include "stand_in/runtime.h"

#include "stand_in/fatbin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef pg_cuda_error CUresult;

typedef struct pg_link {
    ptxgen_emulator_text *texts; /* each owned, with its name */
    size_t count;
    char *joined; /* NULL: not complete */
} pg_link;

PG_API(CUresult) cuLinkCreate_v2(unsigned count, int *options, void **values, pg_link **out)
{
    if (!out)
        return PG_CUDA_InvalidValue;
    *out = calloc(1, sizeof **out);
    return *out ? PG_CUDA_Success : PG_CUDA_MemoryAllocation;
}

/* Takes the text. */
static CUresult add_text(pg_link *link, const pg_ptx_image *image, const char *name)
{
    ptxgen_emulator_text *more = realloc(link->texts, (link->count + 1) * sizeof *more);
    char *own_name = strdup(name);
    if (more)
        link->texts = more;
    if (!more || !own_name) {
        free(own_name);
        free(image->text);
        return PG_CUDA_MemoryAllocation;
    }
    more[link->count++] = (ptxgen_emulator_text){image->text, image->length, own_name};
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuLinkAddData_v2(pg_link *link, int type, void *data, size_t bytes, const char *name,
                 unsigned count, int *options, void **values)
{
    enum { CUBIN, PTX, FATBINARY };
    const pg_device *d = pg_device_get();
    pg_ptx_image image;
    if (!link || !data || !d)
        return PG_CUDA_InvalidValue;
    if (type != CUBIN && type != PTX && type != FATBINARY)
        return pg_refuse("cuLinkAddData of an object or a library", "give it PTX");
    if (!pg_ptx_from_image(data, d->settings.sm, &image)) {
        pg_complain("%s: %s", name ? name : "cuLinkAddData", image.why);
        return PG_CUDA_NoKernelImageForDevice;
    }
    return add_text(link, &image, name ? name : "cuLinkAddData");
}

PG_API(CUresult)
cuLinkAddFile_v2(pg_link *link, int type, const char *path, unsigned count, int *options,
                 void **values)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file)
        return PG_CUDA_FileNotFound;
    CUresult error = PG_CUDA_FileNotFound;
    char *data = NULL;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) >= 0) {
        const size_t bytes = (size_t)ftell(file);
        rewind(file);
        data = calloc(1, bytes + 1); /* PTX is text: it ends with a zero */
        if (data && fread(data, 1, bytes, file) == bytes)
            error = cuLinkAddData_v2(link, type, data, bytes, path, 0, NULL, NULL);
    }
    free(data);
    fclose(file);
    return error;
}

PG_API(CUresult) cuLinkComplete(pg_link *link, void **cubin, size_t *bytes)
{
    pg_device *d = pg_device_get();
    ptxgen_emulator_module *module;
    ptxgen_error err;
    size_t length;
    if (!d || !link || !cubin || !link->count || link->joined)
        return PG_CUDA_InvalidValue;
    if (ptxgen_emulator_load_linked(d->emulator, link->texts, link->count, "cuLinkComplete",
                                    &module, &err) != PTXGEN_OK) {
        pg_complain("%s", err.message);
        return PG_CUDA_InvalidPtx;
    }
    link->joined = strdup(ptxgen_emulator_linked_text(module, &length));
    ptxgen_emulator_unload(module);
    if (!link->joined)
        return PG_CUDA_MemoryAllocation;
    *cubin = link->joined;
    if (bytes)
        *bytes = length + 1;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuLinkDestroy(pg_link *link)
{
    for (size_t i = 0; link && i < link->count; i++) {
        free((char *)link->texts[i].text);
        free((char *)link->texts[i].name);
    }
    if (link) {
        free(link->texts);
        free(link->joined);
    }
    free(link);
    return PG_CUDA_Success;
}
