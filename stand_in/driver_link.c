/* Driver API: linking. One text of PTX is taken as it is and given back in place of the cubin,
 * which cuModuleLoadData takes; nothing here could join several. */
#include "stand_in/runtime.h"

#include "stand_in/fatbin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef pg_cuda_error CUresult;

typedef struct pg_link {
    char *text; /* NULL: nothing was added */
    size_t length;
} pg_link;

PG_API(CUresult) cuLinkCreate_v2(unsigned count, int *options, void **values, pg_link **out)
{
    if (!out)
        return PG_CUDA_InvalidValue;
    *out = calloc(1, sizeof **out);
    return *out ? PG_CUDA_Success : PG_CUDA_MemoryAllocation;
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
    if (link->text)
        return pg_refuse("cuLinkAddData of a second input", "programs are not linked here");
    if (type != CUBIN && type != PTX && type != FATBINARY)
        return pg_refuse("cuLinkAddData of an object or a library", "give it PTX");
    if (!pg_ptx_from_image(data, d->settings.sm, &image)) {
        pg_complain("%s: %s", name ? name : "cuLinkAddData", image.why);
        return PG_CUDA_NoKernelImageForDevice;
    }
    link->text = image.text;
    link->length = image.length;
    return PG_CUDA_Success;
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
    if (!link || !cubin || !link->text)
        return PG_CUDA_InvalidValue;
    *cubin = link->text;
    if (bytes)
        *bytes = link->length + 1;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuLinkDestroy(pg_link *link)
{
    if (link)
        free(link->text);
    free(link);
    return PG_CUDA_Success;
}
