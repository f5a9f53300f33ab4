/* See nvrtc_library.h (NVRTC User Guide 13.0; the prototypes are ours). */
#include "assemble/nvrtc_library.h"

#include "base/clock.h"
#include "base/error.h"

#include <dlfcn.h>
#include <string.h>

typedef struct nvrtc_program nvrtc_program;

#define NVRTC_FUNCTIONS(X)                                                                         \
    X(CreateProgram, (nvrtc_program * *program, const char *text, const char *name, int n,         \
                      const char *const *texts, const char *const *names))                         \
    X(DestroyProgram, (nvrtc_program * *program))                                                  \
    X(CompileProgram, (nvrtc_program * program, int n, const char *const *options))                \
    X(GetPTXSize, (nvrtc_program * program, size_t * size))                                        \
    X(GetPTX, (nvrtc_program * program, char *ptx))                                                \
    X(GetProgramLogSize, (nvrtc_program * program, size_t * size))                                 \
    X(GetProgramLog, (nvrtc_program * program, char *log))

struct pg_nvrtc {
    void *library;
#define MEMBER(name, parameters) int(*name) parameters;
    NVRTC_FUNCTIONS(MEMBER)
#undef MEMBER
    int (*SetFlowCallback)(nvrtc_program *, int (*)(void *, void *), void *); /* NULL before 12.8 */
};

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define ENTRY(name, parameters) {"nvrtc" #name, offsetof(pg_nvrtc, name)},
    NVRTC_FUNCTIONS(ENTRY)
#undef ENTRY
};

static ptxgen_status load(const char *path, pg_nvrtc *lib, ptxgen_error *err)
{
    lib->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib->library) {
        const char *why = dlerror();
        return pg_fail(err, PTXGEN_EMISSING, "NVRTC could not be loaded: %s", why ? why : path);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *p = dlsym(lib->library, functions[i].name);
        if (!p)
            return pg_fail(err, PTXGEN_EMISSING, "%s lacks %s: install NVRTC 12.0 or newer", path,
                           functions[i].name);
        memcpy((char *)lib + functions[i].offset, &p, sizeof p);
    }
    void *flow = dlsym(lib->library, "nvrtcSetFlowCallback");
    memcpy(&lib->SetFlowCallback, &flow, sizeof flow);
    return PTXGEN_OK;
}

ptxgen_status pg_nvrtc_open(const char *path, const pg_alloc *alloc, pg_nvrtc **out,
                            ptxgen_error *err)
{
    *out = pg_alloc_zero(alloc, sizeof **out);
    if (!*out)
        return pg_fail_memory(err, sizeof **out);
    const ptxgen_status status = load(path, *out, err);
    if (status != PTXGEN_OK) {
        pg_nvrtc_close(*out, alloc);
        *out = NULL;
    }
    return status;
}

void pg_nvrtc_close(pg_nvrtc *lib, const pg_alloc *alloc)
{
    pg_free(alloc, lib, sizeof *lib);
}

/* ---- one compilation ---- */

typedef struct deadline {
    double us;
    bool late;
} deadline;

static int check_deadline(void *user, void *reserved)
{
    deadline *d = user;
    (void)reserved;
    d->late = pg_clock_us() > d->us;
    return d->late;
}

static bool take(nvrtc_program *program, int (*size_of)(nvrtc_program *, size_t *),
                 int (*get)(nvrtc_program *, char *), pg_buf *out)
{
    size_t size = 0;
    const size_t before = out->len;
    if (size_of(program, &size) != 0 || !size)
        return false;
    if (!pg_buf_reserve(out, size))
        return false;
    char *at = out->data + before;
    at[0] = at[size - 1] = 0;
    if (get(program, at) != 0)
        return false;
    out->len = before + strlen(at);
    return true;
}

void pg_nvrtc_compile(const pg_nvrtc *lib, const pg_nvrtc_job *job, pg_nvrtc_result *out,
                      pg_buf *ptx, pg_buf *log)
{
    nvrtc_program *program = NULL;
    deadline d = {.us = job->deadline_us};
    *out = (pg_nvrtc_result){0};
    out->code = lib->CreateProgram(&program, job->text, job->file, job->header_count,
                                   job->header_texts, job->header_names);
    out->no_program = out->code != PG_NVRTC_SUCCESS;
    if (out->no_program)
        return;
    if (lib->SetFlowCallback && job->deadline_us > 0)
        lib->SetFlowCallback(program, check_deadline, &d);
    out->code = lib->CompileProgram(program, job->option_count, job->options);
    out->late = d.late;
    take(program, lib->GetProgramLogSize, lib->GetProgramLog, log);
    if (!d.late && out->code == PG_NVRTC_SUCCESS)
        out->no_ptx = !take(program, lib->GetPTXSize, lib->GetPTX, ptx);
    lib->DestroyProgram(&program);
}
