/* NVIDIA's static PTX compiler, linked in when CMake finds it (PG_HAVE_NVPTXCOMPILER): in
 * process, whole programs, no driver. The prototypes are ours (PTX Compiler APIs, 13.0). */
#include "base/error.h"
#include "base/arch.h"
#include "assemble/toolkit.h"

#include <stdio.h>
#include <string.h>

#ifdef PG_HAVE_NVPTXCOMPILER

typedef struct nvPTXCompiler *nvPTXCompilerHandle;
int nvPTXCompilerGetVersion(unsigned *major, unsigned *minor);
int nvPTXCompilerCreate(nvPTXCompilerHandle *handle, size_t size, const char *ptx);
int nvPTXCompilerDestroy(nvPTXCompilerHandle *handle);
int nvPTXCompilerCompile(nvPTXCompilerHandle handle, int count, const char *const *options);
int nvPTXCompilerGetCompiledProgramSize(nvPTXCompilerHandle handle, size_t *size);
int nvPTXCompilerGetCompiledProgram(nvPTXCompilerHandle handle, void *cubin);
int nvPTXCompilerGetErrorLogSize(nvPTXCompilerHandle handle, size_t *size);
int nvPTXCompilerGetErrorLog(nvPTXCompilerHandle handle, char *log);
int nvPTXCompilerGetInfoLogSize(nvPTXCompilerHandle handle, size_t *size);
int nvPTXCompilerGetInfoLog(nvPTXCompilerHandle handle, char *log);

/* What CMake found: a short hash of the static library. */
#ifndef PG_NVPTXCOMPILER_BUILD
#define PG_NVPTXCOMPILER_BUILD "unknown"
#endif

enum { UNSUPPORTED_VERSION = 7 };

static void find(pg_toolkit *t, pg_tool *tool)
{
    unsigned major = 0, minor = 0;
    (void)t;
    if (nvPTXCompilerGetVersion(&major, &minor) != 0) {
        snprintf(tool->note, sizeof tool->note, "built in, but it does not answer");
        return;
    }
    tool->found = true;
    snprintf(tool->path, sizeof tool->path, "built in");
    snprintf(tool->version, sizeof tool->version, "%u.%u", major, minor);
    snprintf(tool->identity, sizeof tool->identity, "nvptxcompiler %u.%u %s", major, minor,
             PG_NVPTXCOMPILER_BUILD);
}

typedef int get_size(nvPTXCompilerHandle, size_t *);
typedef int get_log(nvPTXCompilerHandle, char *);

static void append_log(nvPTXCompilerHandle h, get_size *size_of, get_log *log_of, pg_buf *out)
{
    size_t size = 0;
    if (size_of(h, &size) != 0 || size == 0 || !pg_buf_reserve(out, size + 1))
        return;
    char *at = out->data + out->len;
    at[0] = at[size] = 0;
    if (log_of(h, at) != 0)
        at[0] = 0;
    out->len += strlen(at);
}

static ptxgen_status take_cubin(nvPTXCompilerHandle h, pg_buf *out, ptxgen_error *err)
{
    size_t size = 0;
    int result = nvPTXCompilerGetCompiledProgramSize(h, &size);
    if (result == 0 && !pg_buf_reserve(out, size))
        return pg_fail_memory(err, size);
    if (result == 0)
        result = nvPTXCompilerGetCompiledProgram(h, out->data + out->len);
    if (result != 0)
        return pg_fail(err, PTXGEN_EASSEMBLE, "nvptxcompiler gave no cubin (result %d)", result);
    out->len += size;
    return PTXGEN_OK;
}

static ptxgen_status assemble(pg_toolkit *t, pg_assembly_job *job, ptxgen_error *err)
{
    const pg_assembly_request *request = job->request;
    nvPTXCompilerHandle h = NULL;
    char arch[32];
    (void)t;
    int result = nvPTXCompilerCreate(&h, request->ptx_size, request->ptx);
    if (result != 0)
        return pg_fail(err, PTXGEN_EASSEMBLE, "nvptxcompiler refused the PTX (result %d)%s", result,
                       result == UNSUPPORTED_VERSION ? ": its .version is newer than the compiler"
                                                     : "");
    snprintf(arch, sizeof arch, "--gpu-name=%s", pg_arch_to_text(request->arch).text);
    const char *const options[] = {arch, "--verbose"};
    job->refused = nvPTXCompilerCompile(h, 2, options) != 0;
    ptxgen_status status = PTXGEN_OK;
    if (!job->refused)
        status = take_cubin(h, job->cubin, err);
    append_log(h, nvPTXCompilerGetErrorLogSize, nvPTXCompilerGetErrorLog, job->log);
    append_log(h, nvPTXCompilerGetInfoLogSize, nvPTXCompilerGetInfoLog, job->log);
    nvPTXCompilerDestroy(&h);
    return status;
}

#else

static void find(pg_toolkit *t, pg_tool *tool)
{
    (void)t;
    snprintf(tool->note, sizeof tool->note,
             "not built in: libnvptxcompiler_static.a was not there when ptxgen was built");
}

static ptxgen_status assemble(pg_toolkit *t, pg_assembly_job *job, ptxgen_error *err)
{
    (void)job;
    return pg_fail(err, PTXGEN_EMISSING, "nvptxcompiler: %s",
                   t->tools[PTXGEN_ASSEMBLER_NVPTXCOMPILER].note);
}

#endif

const pg_assembler_backend pg_backend_nvptxcompiler = {
    .name = "nvptxcompiler",
    .keeps_setmaxnreg = true,
    .in_process = true,
    .ability = "assembles whole programs in process",
    .find = find,
    .assemble = assemble,
};
