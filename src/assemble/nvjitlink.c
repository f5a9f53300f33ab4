/* nvJitLink, in process and without a driver. It compiles PTX as relocatable code and so drops
 * setmaxnreg. Every return code counts: Complete has answered success after AddData had failed.
 * The prototypes are ours (nvJitLink API reference, 13.0); the options are -no-cache, since its
 * own cache hides the log of a second compilation, and -verbose for the log. */
#include "base/error.h"
#include "base/arch.h"
#include "assemble/toolkit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct nvjitlink_handle nvjitlink_handle;

enum { INPUT_PTX = 2, REFUSED_PTX = 4 };

#define NVJITLINK_FUNCTIONS(X)                                                                     \
    X(Create, (nvjitlink_handle * *handle, uint32_t count, const char *const *options))            \
    X(Destroy, (nvjitlink_handle * *handle))                                                       \
    X(AddData,                                                                                     \
      (nvjitlink_handle * handle, int type, const void *data, size_t size, const char *name))      \
    X(Complete, (nvjitlink_handle * handle))                                                       \
    X(GetLinkedCubinSize, (nvjitlink_handle * handle, size_t * size))                              \
    X(GetLinkedCubin, (nvjitlink_handle * handle, void *cubin))                                    \
    X(GetErrorLogSize, (nvjitlink_handle * handle, size_t * size))                                 \
    X(GetErrorLog, (nvjitlink_handle * handle, char *log))                                         \
    X(GetInfoLogSize, (nvjitlink_handle * handle, size_t * size))                                  \
    X(GetInfoLog, (nvjitlink_handle * handle, char *log))

typedef struct nvjitlink {
    void *library;
#define MEMBER(name, parameters) int(*name) parameters;
    NVJITLINK_FUNCTIONS(MEMBER)
#undef MEMBER
} nvjitlink;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define ENTRY(name, parameters) {#name, offsetof(nvjitlink, name)},
    NVJITLINK_FUNCTIONS(ENTRY)
#undef ENTRY
};

static void find(pg_toolkit *t, pg_tool *tool)
{
    static const char *const names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", NULL};
    pg_search_library(t, tool, &(pg_library_query){"nvjitlink", names, "nvjitlink"});
    if (!tool->found && !tool->note[0])
        snprintf(tool->note, sizeof tool->note,
                 "libnvJitLink.so.13 or .12 not found in %.150s: install a CUDA toolkit or the pip "
                 "package "
                 "nvidia-nvjitlink",
                 t->dir ? t->dir : "CUDA_HOME, /usr/local/cuda* or the dynamic linker's path");
}

/* nvJitLinkCreate, or where only the versioned names are exported, __nvJitLinkCreate_13_0 and so
 * on. */
static void *find_function(void *library, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "nvJitLink%s", name);
    void *p = dlsym(library, symbol);
    for (int major = 13; major >= 12 && !p; major--) {
        for (int minor = 0; minor <= 9 && !p; minor++) {
            snprintf(symbol, sizeof symbol, "__nvJitLink%s_%d_%d", name, major, minor);
            p = dlsym(library, symbol);
        }
    }
    return p;
}

static ptxgen_status load(pg_toolkit *t, nvjitlink *lib, ptxgen_error *err)
{
    const char *path = t->tools[PTXGEN_ASSEMBLER_NVJITLINK].path;
    lib->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib->library) {
        const char *why = dlerror();
        return pg_fail(err, PTXGEN_EMISSING, "nvJitLink could not be loaded: %s", why ? why : path);
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *p = find_function(lib->library, functions[i].name);
        if (!p)
            return pg_fail(err, PTXGEN_EMISSING,
                           "%s lacks nvJitLink%s: install nvJitLink 12.0 or newer", path,
                           functions[i].name);
        memcpy((char *)lib + functions[i].offset, &p, sizeof p);
    }
    return PTXGEN_OK;
}

/* The library stays loaded: it is 99 MB, and the next context of the process will want it again. */
static void close_library(pg_toolkit *t)
{
    pg_free(&t->alloc, t->opened[PTXGEN_ASSEMBLER_NVJITLINK], sizeof(nvjitlink));
}

static ptxgen_status open_library(pg_toolkit *t, const nvjitlink **out, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    pthread_mutex_lock(&t->lock);
    nvjitlink *lib = t->opened[PTXGEN_ASSEMBLER_NVJITLINK];
    if (!lib) {
        lib = pg_alloc_zero(&t->alloc, sizeof *lib);
        status = lib ? load(t, lib, err) : pg_fail_memory(err, sizeof *lib);
        if (status != PTXGEN_OK)
            pg_free(&t->alloc, lib, sizeof *lib);
        else
            t->opened[PTXGEN_ASSEMBLER_NVJITLINK] = lib;
    }
    pthread_mutex_unlock(&t->lock);
    *out = lib;
    return status;
}

typedef int get_size(nvjitlink_handle *, size_t *);
typedef int get_log(nvjitlink_handle *, char *);

static void append_log(nvjitlink_handle *h, get_size *size_of, get_log *log_of, pg_buf *out)
{
    size_t size = 0;
    if (size_of(h, &size) != 0 || size <= 1 || !pg_buf_reserve(out, size + 1))
        return;
    char *at = out->data + out->len;
    at[0] = at[size] = 0;
    if (log_of(h, at) != 0)
        at[0] = 0;
    out->len += strlen(at);
}

static ptxgen_status take_cubin(const nvjitlink *lib, nvjitlink_handle *h, pg_buf *out, int *result,
                                ptxgen_error *err)
{
    size_t size = 0;
    *result = lib->GetLinkedCubinSize(h, &size);
    if (*result)
        return PTXGEN_OK;
    if (!pg_buf_reserve(out, size))
        return pg_fail_memory(err, size);
    *result = lib->GetLinkedCubin(h, out->data + out->len);
    if (*result == 0)
        out->len += size;
    return PTXGEN_OK;
}

static ptxgen_status link(const nvjitlink *lib, nvjitlink_handle *h, pg_assembly_job *job,
                          ptxgen_error *err)
{
    const pg_assembly_request *request = job->request;
    /* With the NUL: without it the library reads past the end. */
    int added = lib->AddData(h, INPUT_PTX, request->ptx, request->ptx_size + 1, "ptx");
    int result = added ? added : lib->Complete(h);
    ptxgen_status status = PTXGEN_OK;
    if (result == 0)
        status = take_cubin(lib, h, job->cubin, &result, err);
    append_log(h, lib->GetErrorLogSize, lib->GetErrorLog, job->log);
    append_log(h, lib->GetInfoLogSize, lib->GetInfoLog, job->log);
    if (status != PTXGEN_OK || result == 0)
        return status;
    job->refused = result == REFUSED_PTX;
    if (job->refused)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EASSEMBLE, "nvJitLink failed with result %d: %.400s", result,
                   job->log->len ? pg_buf_text(job->log) : "it gave no reason");
}

static ptxgen_status assemble(pg_toolkit *t, pg_assembly_job *job, ptxgen_error *err)
{
    const nvjitlink *lib;
    nvjitlink_handle *h = NULL;
    char arch[32];
    PG_TRY(open_library(t, &lib, err));
    snprintf(arch, sizeof arch, "-arch=%s", pg_arch_to_text(job->request->arch).text);
    const char *const options[] = {arch, "-no-cache", "-verbose"};
    ptxgen_status status;
    int result = lib->Create(&h, sizeof options / sizeof options[0], options);
    if (result == 0)
        status = link(lib, h, job, err);
    else
        status =
            pg_fail(err, PTXGEN_EASSEMBLE,
                    "nvJitLink %s refused the architecture %s (result %d): install a newer CUDA "
                    "toolkit",
                    t->tools[PTXGEN_ASSEMBLER_NVJITLINK].version, arch + 6, result);
    if (h) /* also after a failed Create */
        lib->Destroy(&h);
    return status;
}

const pg_assembler_backend pg_backend_nvjitlink = {
    .name = "nvjitlink",
    .in_process = true,
    .ability =
        "assembles in process; drops setmaxnreg, so kernels that need it use another assembler",
    .find = find,
    .assemble = assemble,
    .close = close_library,
};
