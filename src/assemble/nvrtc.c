/* NVRTC, in process and without a driver (NVRTC User Guide 13.0; the prototypes are ours). */
#include "assemble/nvrtc.h"

#include "assemble/in_process.h"
#include "assemble/toolkit.h"
#include "base/arch.h"
#include "base/clock.h"
#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program nvrtc_program;

enum {
    COMPILATION = 6,
    CANCELLED = 13,
    DEFAULT_TIMEOUT_MS = 60000,
    MAX_OPTIONS = 64,
    MAX_HEADERS = 256
};

const char pg_cuda_fixed_options[] = "--relocatable-device-code=true --no-source-include "
                                     "--device-as-default-execution-space --generate-line-info";

#define NVRTC_FUNCTIONS(X)                                                                         \
    X(CreateProgram, (nvrtc_program * *program, const char *text, const char *name, int n,         \
                      const char *const *texts, const char *const *names))                         \
    X(DestroyProgram, (nvrtc_program * *program))                                                  \
    X(CompileProgram, (nvrtc_program * program, int n, const char *const *options))                \
    X(GetPTXSize, (nvrtc_program * program, size_t * size))                                        \
    X(GetPTX, (nvrtc_program * program, char *ptx))                                                \
    X(GetProgramLogSize, (nvrtc_program * program, size_t * size))                                 \
    X(GetProgramLog, (nvrtc_program * program, char *log))

typedef struct nvrtc {
    void *library;
#define MEMBER(name, parameters) int(*name) parameters;
    NVRTC_FUNCTIONS(MEMBER)
#undef MEMBER
    int (*SetFlowCallback)(nvrtc_program *, int (*)(void *, void *), void *); /* NULL before 12.8 */
} nvrtc;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define ENTRY(name, parameters) {"nvrtc" #name, offsetof(nvrtc, name)},
    NVRTC_FUNCTIONS(ENTRY)
#undef ENTRY
};

static ptxgen_status load(const pg_tool *tool, nvrtc *lib, ptxgen_error *err)
{
    lib->library = dlopen(tool->path, RTLD_NOW | RTLD_LOCAL);
    if (!lib->library) {
        const char *why = dlerror();
        return pg_fail(err, PTXGEN_EMISSING, "NVRTC could not be loaded: %s",
                       why ? why : tool->path);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *p = dlsym(lib->library, functions[i].name);
        if (!p)
            return pg_fail(err, PTXGEN_EMISSING, "%s lacks %s: install NVRTC 12.0 or newer",
                           tool->path, functions[i].name);
        memcpy((char *)lib + functions[i].offset, &p, sizeof p);
    }
    void *flow = dlsym(lib->library, "nvrtcSetFlowCallback");
    memcpy(&lib->SetFlowCallback, &flow, sizeof flow);
    return PTXGEN_OK;
}

static void close_library(pg_toolkit *t)
{
    pg_free(&t->alloc, t->opened[PG_TOOL_NVRTC], sizeof(nvrtc));
}

/* Stays loaded, like nvJitLink: the next context will want it again. */
static ptxgen_status open_library(pg_toolkit *t, const pg_tool *tool, const nvrtc **out,
                                  ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    pthread_mutex_lock(&t->lock);
    nvrtc *lib = t->opened[PG_TOOL_NVRTC];
    if (!lib) {
        lib = pg_alloc_zero(&t->alloc, sizeof *lib);
        status = lib ? load(tool, lib, err) : pg_fail_memory(err, sizeof *lib);
        if (status != PTXGEN_OK)
            pg_free(&t->alloc, lib, sizeof *lib);
        else
            t->opened[PG_TOOL_NVRTC] = lib;
        if (status == PTXGEN_OK)
            t->close_nvrtc = close_library;
    }
    pthread_mutex_unlock(&t->lock);
    *out = lib;
    return status;
}

ptxgen_status pg_toolkit_nvrtc(pg_toolkit *t, const char **identity, ptxgen_error *err)
{
    pg_tool passing;
    const pg_tool *tool = pg_toolkit_find(t, PG_TOOL_NVRTC, &passing);
    if (!tool->found && tool->error)
        return pg_fail(err, tool->error == ENOMEM ? PTXGEN_ENOMEM : PTXGEN_EIO, "NVRTC %s",
                       tool->note);
    if (!tool->found)
        return pg_fail(err, PTXGEN_EMISSING,
                       "NVRTC, which compiles CUDA C++, is not in %.200s: install a CUDA toolkit "
                       "12 or newer or the "
                       "pip package nvidia-cuda-nvrtc, or give the function as PTX",
                       t->dir ? t->dir
                              : "CUDA_HOME, /usr/local/cuda* or the dynamic linker's path");
    *identity = tool->identity;
    return PTXGEN_OK;
}

/* ---- one compilation ---- */

typedef struct compilation {
    const nvrtc *lib;
    const pg_cuda_request *request;
    nvrtc_program *program;
    pg_buf *ptx, *log;
    double deadline_us;
    bool late;
} compilation;

static int check_deadline(void *user, void *reserved)
{
    compilation *c = user;
    (void)reserved;
    c->late = pg_clock_us() > c->deadline_us;
    return c->late;
}

static ptxgen_status create(compilation *c, ptxgen_error *err)
{
    const char *names[MAX_HEADERS], *texts[MAX_HEADERS];
    const pg_cuda_request *r = c->request;
    if (r->header_count > MAX_HEADERS)
        return pg_fail(err, PTXGEN_EINVAL, "%zu headers, more than %d", r->header_count,
                       MAX_HEADERS);
    for (size_t i = 0; i < r->header_count; i++) {
        names[i] = r->headers[i].name;
        texts[i] = r->headers[i].text;
    }
    const int result =
        c->lib->CreateProgram(&c->program, r->text, r->file, (int)r->header_count, texts, names);
    return result == 0 ? PTXGEN_OK
                       : pg_fail(err, PTXGEN_EASSEMBLE,
                                 "NVRTC failed with result %d before it read %s", result, r->file);
}

static int run(compilation *c, ptxgen_error *err)
{
    const char *options[MAX_OPTIONS];
    char arch[32], fixed[sizeof pg_cuda_fixed_options];
    int n = 0;
    snprintf(arch, sizeof arch, "-arch=%s", pg_arch_to_text(c->request->arch).text);
    options[n++] = arch;
    memcpy(fixed, pg_cuda_fixed_options, sizeof fixed);
    for (char *rest, *word = strtok_r(fixed, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        options[n++] = word;
    if (c->request->option_count > (size_t)(MAX_OPTIONS - n)) {
        pg_fail(err, PTXGEN_EINVAL, "%zu NVRTC options, more than %d", c->request->option_count,
                MAX_OPTIONS - n);
        return -1;
    }
    for (size_t i = 0; i < c->request->option_count; i++)
        options[n++] = c->request->options[i];
    c->deadline_us = pg_clock_us() + 1000.0 * (c->request->timeout_ms ? c->request->timeout_ms
                                                                      : DEFAULT_TIMEOUT_MS);
    if (c->lib->SetFlowCallback)
        c->lib->SetFlowCallback(c->program, check_deadline, c);
    return c->lib->CompileProgram(c->program, n, options);
}

static bool take(nvrtc_program *program, int (*size_of)(nvrtc_program *, size_t *),
                 int (*get)(nvrtc_program *, char *), pg_buf *out)
{
    size_t size = 0;
    if (size_of(program, &size) != 0 || !size)
        return false;
    if (!pg_buf_reserve(out, size))
        return false;
    out->data[0] = out->data[size - 1] = 0;
    if (get(program, out->data) != 0)
        return false;
    out->len = strlen(out->data);
    return true;
}

/* "silu.cu(3): error: ..." -> file, line and the sentence; else the whole log. */
static ptxgen_status refused(const compilation *c, int result, ptxgen_error *err)
{
    const char *log = pg_buf_text(c->log);
    const char *at = strstr(log, "error:"); /* "catastrophic error:" as well */
    const char *begin = at;
    char file[128] = "";
    int line = 0;
    while (begin && begin > log && begin[-1] != '\n')
        begin--;
    const char *open = begin ? memchr(begin, '(', (size_t)(at - begin)) : NULL;
    if (open) {
        snprintf(file, sizeof file, "%.*s", (int)(open - begin < 100 ? open - begin : 100), begin);
        line = atoi(open + 1);
    }
    if (result != COMPILATION || !at)
        return pg_fail(err, PTXGEN_EASSEMBLE, "NVRTC failed with result %d: %.500s", result,
                       *log ? log : "it gave no reason");
    return pg_fail_at(err, PTXGEN_EASSEMBLE, file, line, "NVRTC: %.640s", begin);
}

/* .file names begin with the working directory; what decides the code is the name that was given. */
static void strip_folders(pg_buf *ptx, const char *file)
{
    const size_t n = strlen(file);
    char *at = ptx->data;
    while (at && (at = strstr(at, ".file\t")) != NULL) {
        char *open = strchr(at, '"'), *close = open ? strchr(open + 1, '"') : NULL;
        at += 6;
        if (!close || (size_t)(close - open) <= n + 1 || memcmp(close - n, file, n) != 0 ||
            close[-1 - (long)n] != '/')
            continue;
        memmove(open + 1, close - n, (size_t)(ptx->data + ptx->len - (close - n)) + 1);
        ptx->len -= (size_t)(close - (long)n - (open + 1));
    }
}

static ptxgen_status compile(compilation *c, ptxgen_error *err)
{
    PG_TRY(create(c, err));
    const int result = run(c, err);
    if (result < 0)
        return PTXGEN_EINVAL;
    take(c->program, c->lib->GetProgramLogSize, c->lib->GetProgramLog, c->log);
    if (c->late)
        return pg_fail(err, PTXGEN_EBUDGET, "NVRTC had not compiled %s after %u ms and was stopped",
                       c->request->file,
                       c->request->timeout_ms ? c->request->timeout_ms : DEFAULT_TIMEOUT_MS);
    if (result != 0)
        return refused(c, result, err);
    if (!take(c->program, c->lib->GetPTXSize, c->lib->GetPTX, c->ptx))
        return c->ptx->failed
                   ? pg_fail_memory(err, 0)
                   : pg_fail(err, PTXGEN_EASSEMBLE, "NVRTC gave no PTX for %s", c->request->file);
    strip_folders(c->ptx, c->request->file);
    return c->log->failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

static ptxgen_status compile_guarded(void *user, ptxgen_error *err)
{
    compilation *c = user;
    const ptxgen_status status = compile(c, err);
    if (c->program)
        c->lib->DestroyProgram(&c->program);
    return status;
}

ptxgen_status pg_toolkit_compile_cuda(pg_toolkit *t, const pg_cuda_request *request, pg_buf *ptx,
                                      pg_buf *log, ptxgen_error *err)
{
    const char *identity;
    compilation c = {.request = request, .ptx = ptx, .log = log};
    PG_TRY(pg_toolkit_nvrtc(t, &identity, err));
    PG_TRY(pg_cuda_check(request, err));
    PG_TRY(open_library(t, &t->tools[PG_TOOL_NVRTC], &c.lib, err));
    pg_buf_truncate(ptx, 0);
    pg_buf_truncate(log, 0);
    return pg_run_in_process(compile_guarded, &c, err);
}
