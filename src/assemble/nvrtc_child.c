/* See nvrtc_child.h. */
#include "assemble/nvrtc_child.h"

#include "assemble/child_process.h"
#include "base/error.h"
#include "base/system_words.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The file that holds this code: the library, or the program that it is linked into, whose name
 * the dynamic linker may only know as it was typed. */
static bool own_file(char *out, size_t size)
{
    static const char here = 0;
    Dl_info info;
    if (dladdr(&here, &info) && info.dli_fname && info.dli_fname[0] == '/')
        return (size_t)snprintf(out, size, "%s", info.dli_fname) < size;
    const ssize_t n = readlink("/proc/self/exe", out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    return out[0] == '/';
}

bool pg_nvrtc_child_find(char *out, size_t size)
{
    static const char *const places[] = {"ptxgen", "../ptxgen", "../lib/ptxgen"};
    char self[1024];
    if (!own_file(self, sizeof self))
        return false;
    const int folder = (int)(strrchr(self, '/') - self);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const int n = snprintf(out, size, "%.*s/%s/ptxgen-nvrtc", folder, self, places[i]);
        if (n > 0 && (size_t)n < size && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

static ptxgen_status judge(const pg_child_result *r, const pg_buf *answer, pg_nvrtc_outcome *out,
                           ptxgen_error *err)
{
    if (r->end == PG_CHILD_TIMEOUT) {
        out->ran = out->result.late = true;
        return PTXGEN_OK;
    }
    if (r->end == PG_CHILD_KILLED) {
        out->ran = true;
        return pg_fail(err, PTXGEN_EASSEMBLE,
                       "NVRTC was killed by signal %d (%s): the text crashes it, or memory was "
                       "short",
                       r->code, pg_signal_words(r->code));
    }
    const char *at = pg_buf_text(answer);
    out->ran = pg_wire_take_result(at, at + answer->len, &out->result, out->ptx, out->log);
    return PTXGEN_OK;
}

static ptxgen_status run(const pg_nvrtc_process *p, const pg_nvrtc_job *job, pg_child *child,
                         pg_nvrtc_outcome *out, ptxgen_error *err)
{
    const char *argv[] = {p->program, NULL};
    pg_child_result result;
    pg_buf request, answer, said;
    pg_buf_init(&request, out->ptx->alloc);
    pg_buf_init(&answer, out->ptx->alloc);
    pg_buf_init(&said, out->ptx->alloc);
    child->argv = argv;
    pg_wire_put_job(&request, p->library, job);
    ptxgen_status status = request.failed
                               ? pg_fail_memory(err, 0)
                               : pg_write_file(child->fd3, request.data, request.len, err);
    if (status == PTXGEN_OK && pg_child_run(child, &said, &result, NULL) == PTXGEN_OK)
        status = pg_read_file(child->fd4, &answer, err) == PTXGEN_OK
                     ? judge(&result, &answer, out, err)
                     : PTXGEN_EIO;
    pg_buf_fini(&request);
    pg_buf_fini(&answer);
    pg_buf_fini(&said);
    return status;
}

ptxgen_status pg_nvrtc_child_compile(const pg_nvrtc_process *p, const pg_nvrtc_job *job,
                                     pg_nvrtc_outcome *out, ptxgen_error *err)
{
    pg_child child = {.fd3 = pg_anonymous_file(),
                      .fd4 = pg_anonymous_file(),
                      .timeout_ms = p->timeout_ms,
                      .log = p->log};
    ptxgen_status status = PTXGEN_OK;
    out->ran = false;
    out->result = (pg_nvrtc_result){0};
    if (child.fd3 >= 0 && child.fd4 >= 0)
        status = run(p, job, &child, out, err);
    if (child.fd3 >= 0)
        close(child.fd3);
    if (child.fd4 >= 0)
        close(child.fd4);
    return status;
}
