/* ptxas as a child process: whatever it does, the host program lives. PTX goes in and the cubin
 * comes out through anonymous files with the same names in every run (/proc/self/fd/3 and 4),
 * since ptxas writes its command line into the cubin. */
#include "base/error.h"
#include "ptxgen/inspect.h"
#include "base/arch.h"
#include "base/system_words.h"
#include "assemble/child_process.h"
#include "assemble/toolkit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void find(pg_toolkit *t, pg_tool *tool)
{
    pg_search_program(t, tool, "ptxas");
    if (!tool->found && !tool->note[0])
        snprintf(tool->note, sizeof tool->note,
                 "not found in %.200s: install a CUDA toolkit or the pip package nvidia-cuda-nvcc",
                 t->dir ? t->dir : "CUDA_HOME, /usr/local/cuda* or PATH");
}

/* A signal of its own doing tells of the PTX; one from outside does not. */
static ptxgen_status fail_killed(const char *path, int number, ptxgen_error *err)
{
    static const struct {
        int number;
        const char *why;
    } known[] = {
        {SIGKILL,
         "by the system for lack of memory, or by another process; the PTX need not be the "
         "reason, try again"},
        {SIGSEGV, "the PTX crashes it: report that to NVIDIA, or use another version"},
        {SIGBUS, "the PTX crashes it, or its file was replaced while it ran: try again"},
        {SIGABRT, "it gave up: out of memory, or the PTX crashes it"},
        {SIGFPE, "the PTX crashes it: report that to NVIDIA, or use another version"},
        {SIGILL, "it was built for another processor, or the PTX crashes it"},
        {SIGXFSZ, "it wrote more than the limit on file sizes allows (ulimit -f, at most 256 MiB)"},
        {SIGXCPU, "the limit on processor time was reached (ulimit -t)"},
    };
    const char *why = "another process sent it; the PTX is not the reason, try again";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number)
            why = known[i].why;
    return pg_fail(err, PTXGEN_EASSEMBLE, "%s was killed by signal %d (%s): %s", path, number,
                   pg_signal_words(number), why);
}

static ptxgen_status judge(const pg_toolkit *t, const pg_child_result *r, pg_assembly_job *job,
                           ptxgen_error *err)
{
    const char *path = t->tools[PTXGEN_ASSEMBLER_PTXAS].path;
    ptxgen_cubin_info info = {.size = sizeof info};
    switch (r->end) {
    case PG_CHILD_TIMEOUT:
        return pg_fail(err, PTXGEN_EASSEMBLE, "%s ran longer than %u.%03u s and was stopped", path,
                       t->timeout_ms / 1000, t->timeout_ms % 1000);
    case PG_CHILD_KILLED:
        return fail_killed(path, r->code, err);
    /* the cubin has to tell: an assembler that was cut off leaves none that is whole */
    case PG_CHILD_UNKNOWN:
        job->refused =
            ptxgen_cubin_inspect(job->cubin->data, job->cubin->len, &info, NULL) != PTXGEN_OK;
        return PTXGEN_OK;
    case PG_CHILD_EXITED:
        break;
    }
    job->refused = r->code != 0;
    if (r->code == 126 || r->code == 127)
        return pg_fail(err, PTXGEN_EMISSING, "%s could not be run: exit status %d: %.300s", path,
                       r->code, pg_buf_text(job->log));
    return PTXGEN_OK;
}

static ptxgen_status run(const pg_toolkit *t, pg_child *child, pg_assembly_job *job,
                         ptxgen_error *err)
{
    pg_child_result result;
    const pg_assembly_request *request = job->request;
    const pg_arch_text arch = pg_arch_to_text(request->arch);
    const char *argv[] = {t->tools[PTXGEN_ASSEMBLER_PTXAS].path,
                          "-arch",
                          arch.text,
                          "-v",
                          "/proc/self/fd/3",
                          "-o",
                          "/proc/self/fd/4",
                          NULL};
    child->argv = argv;
    PG_TRY(pg_write_file(child->fd3, request->ptx, request->ptx_size, err));
    PG_TRY(pg_child_run(child, job->log, &result, err));
    PG_TRY(pg_read_file(child->fd4, job->cubin, err));
    return judge(t, &result, job, err);
}

static ptxgen_status assemble(pg_toolkit *t, pg_assembly_job *job, ptxgen_error *err)
{
    pg_child child = {.fd3 = pg_anonymous_file(),
                      .fd4 = pg_anonymous_file(),
                      .timeout_ms = t->timeout_ms,
                      .log = &t->log};
    int number = errno;
    ptxgen_status status;
    if (child.fd3 < 0 || child.fd4 < 0)
        status = pg_fail(err, PTXGEN_EIO, "cannot make a temporary file: error %d, %s", number,
                         pg_error_words(number));
    else
        status = run(t, &child, job, err);
    if (child.fd3 >= 0)
        close(child.fd3);
    if (child.fd4 >= 0)
        close(child.fd4);
    return status;
}

const pg_assembler_backend pg_backend_ptxas = {
    .name = "ptxas",
    .keeps_setmaxnreg = true,
    .ability = "assembles whole programs in a child process",
    .find = find,
    .assemble = assemble,
};
