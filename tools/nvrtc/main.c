/* ptxgen-nvrtc: one compilation of CUDA C++ to PTX, for a library that wants to be able to end it.
 * Descriptor 3 holds the request, 4 takes the answer (src/assemble/nvrtc_child.h). Exit status 0:
 * there is an answer; 2: no request, or no NVRTC. Not meant to be started by hand. */
#include "assemble/child_process.h"
#include "assemble/nvrtc_child.h"

#include <stdio.h>

enum { REQUEST = 3, ANSWER = 4 };

static int fail(const ptxgen_error *err)
{
    fprintf(stderr, "ptxgen-nvrtc: %s\n", err->message);
    return 2;
}

int main(void)
{
    static pg_nvrtc_job job;
    ptxgen_error err = {.message =
                            "descriptor 3 holds no request: the library starts this program"};
    pg_buf request, ptx, log, answer;
    pg_nvrtc_result result;
    pg_nvrtc *lib;
    const char *library;
    pg_buf_init(&request, &pg_alloc_libc);
    pg_buf_init(&ptx, &pg_alloc_libc);
    pg_buf_init(&log, &pg_alloc_libc);
    pg_buf_init(&answer, &pg_alloc_libc);
    if (pg_read_file(REQUEST, &request, &err) != PTXGEN_OK ||
        !pg_wire_take_job(request.data, request.data + request.len, &library, &job))
        return fail(&err);
    if (pg_nvrtc_open(library, &pg_alloc_libc, &lib, &err) != PTXGEN_OK)
        return fail(&err);
    pg_nvrtc_compile(lib, &job, &result, &ptx, &log);
    pg_wire_put_result(&answer, &result, &ptx, &log);
    if (answer.failed || ptx.failed || log.failed)
        return 2;
    return pg_write_file(ANSWER, answer.data, answer.len, &err) == PTXGEN_OK ? 0 : fail(&err);
}
