/* NVRTC: in a process of its own where there is the program for it, else in this one. */
#include "assemble/nvrtc.h"

#include "assemble/in_process.h"
#include "assemble/nvrtc_child.h"
#include "assemble/toolkit.h"
#include "base/arch.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_MS = 60000 };

const char pg_cuda_fixed_options[] = "--relocatable-device-code=true --no-source-include "
                                     "--device-as-default-execution-space --generate-line-info";

static void close_library(pg_toolkit *t)
{
    pg_nvrtc_close(t->opened[PG_TOOL_NVRTC], &t->alloc);
}

/* Stays loaded, like nvJitLink: the next context will want it again. */
static ptxgen_status open_library(pg_toolkit *t, const pg_tool *tool, const pg_nvrtc **out,
                                  ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    pthread_mutex_lock(&t->lock);
    pg_nvrtc *lib = t->opened[PG_TOOL_NVRTC];
    if (!lib) {
        status = pg_nvrtc_open(tool->path, &t->alloc, &lib, err);
        t->opened[PG_TOOL_NVRTC] = lib;
        if (lib)
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
    pg_toolkit *toolkit;
    const pg_cuda_request *request;
    pg_nvrtc_job job;
    pg_nvrtc_result result;
    char arch[32], fixed[sizeof pg_cuda_fixed_options];
    pg_buf *ptx, *log;
} compilation;

static uint32_t timeout_ms(const compilation *c)
{
    return c->request->timeout_ms ? c->request->timeout_ms : DEFAULT_TIMEOUT_MS;
}

static ptxgen_status fill_options(compilation *c, ptxgen_error *err)
{
    const pg_cuda_request *r = c->request;
    pg_nvrtc_job *j = &c->job;
    snprintf(c->arch, sizeof c->arch, "-arch=%s", pg_arch_to_text(r->arch).text);
    j->options[j->option_count++] = c->arch;
    memcpy(c->fixed, pg_cuda_fixed_options, sizeof c->fixed);
    for (char *rest, *word = strtok_r(c->fixed, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        j->options[j->option_count++] = word;
    if (r->option_count > (size_t)(PG_NVRTC_MAX_OPTIONS - j->option_count))
        return pg_fail(err, PTXGEN_EINVAL, "%zu NVRTC options, more than %d", r->option_count,
                       PG_NVRTC_MAX_OPTIONS - j->option_count);
    for (size_t i = 0; i < r->option_count; i++)
        j->options[j->option_count++] = r->options[i];
    return PTXGEN_OK;
}

static ptxgen_status fill_job(compilation *c, ptxgen_error *err)
{
    const pg_cuda_request *r = c->request;
    if (r->header_count > PG_NVRTC_MAX_HEADERS)
        return pg_fail(err, PTXGEN_EINVAL, "%zu headers, more than %d", r->header_count,
                       PG_NVRTC_MAX_HEADERS);
    c->job.text = r->text;
    c->job.file = r->file;
    c->job.header_count = (int)r->header_count;
    for (size_t i = 0; i < r->header_count; i++) {
        c->job.header_names[i] = r->headers[i].name;
        c->job.header_texts[i] = r->headers[i].text;
    }
    return fill_options(c, err);
}

/* "silu.cu(3): error: ..." -> file, line and the sentence; else the whole log. */
static ptxgen_status refused(const compilation *c, ptxgen_error *err)
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
    if (c->result.code != PG_NVRTC_COMPILATION || !at)
        return pg_fail(err, PTXGEN_EASSEMBLE, "NVRTC failed with result %d: %.500s", c->result.code,
                       *log ? log : "it gave no reason");
    return pg_fail_at(err, PTXGEN_EASSEMBLE, file, line, "NVRTC: %.640s", begin);
}

/* .file names begin with the working directory; what decides the code is the name that was
 * given. */
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

static ptxgen_status judge(const compilation *c, ptxgen_error *err)
{
    const char *file = c->request->file;
    if (c->result.no_program)
        return pg_fail(err, PTXGEN_EASSEMBLE, "NVRTC failed with result %d before it read %s",
                       c->result.code, file);
    if (c->result.late)
        return pg_fail(err, PTXGEN_EBUDGET, "NVRTC had not compiled %s after %u ms and was stopped",
                       file, timeout_ms(c));
    if (c->result.code != PG_NVRTC_SUCCESS)
        return refused(c, err);
    if (c->ptx->failed || c->log->failed)
        return pg_fail_memory(err, 0);
    if (c->result.no_ptx)
        return pg_fail(err, PTXGEN_EASSEMBLE, "NVRTC gave no PTX for %s", file);
    strip_folders(c->ptx, file);
    return PTXGEN_OK;
}

static ptxgen_status compile_here(void *user, ptxgen_error *err)
{
    compilation *c = user;
    const pg_nvrtc *lib;
    PG_TRY(open_library(c->toolkit, &c->toolkit->tools[PG_TOOL_NVRTC], &lib, err));
    c->job.deadline_us = pg_clock_us() + 1000.0 * timeout_ms(c);
    pg_nvrtc_compile(lib, &c->job, &c->result, c->ptx, c->log);
    return PTXGEN_OK;
}

static ptxgen_status compile(compilation *c, ptxgen_error *err)
{
    char program[1024];
    pg_nvrtc_outcome done = {.ptx = c->ptx, .log = c->log};
    PG_TRY(fill_job(c, err));
    if (pg_nvrtc_child_find(program, sizeof program)) {
        const pg_nvrtc_process p = {program, c->toolkit->tools[PG_TOOL_NVRTC].path, timeout_ms(c),
                                    &c->toolkit->log};
        PG_TRY(pg_nvrtc_child_compile(&p, &c->job, &done, err));
        c->result = done.result;
    }
    if (!done.ran)
        PG_TRY(pg_run_in_process(compile_here, c, err));
    return judge(c, err);
}

ptxgen_status pg_toolkit_compile_cuda(pg_toolkit *t, const pg_cuda_request *request, pg_buf *ptx,
                                      pg_buf *log, ptxgen_error *err)
{
    const char *identity;
    PG_TRY(pg_toolkit_nvrtc(t, &identity, err));
    PG_TRY(pg_cuda_check(request, err));
    compilation *c = pg_alloc_zero(&t->alloc, sizeof *c);
    if (!c)
        return pg_fail_memory(err, sizeof *c);
    c->toolkit = t;
    c->request = request;
    c->ptx = ptx;
    c->log = log;
    pg_buf_truncate(ptx, 0);
    pg_buf_truncate(log, 0);
    const ptxgen_status status = compile(c, err);
    pg_free(&t->alloc, c, sizeof *c);
    return status;
}
