/* The CUDA driver's linker, for machines that have only the driver. Like nvJitLink it compiles
 * relocatable code and drops setmaxnreg. It needs a context: the caller's, or the primary one of
 * device 0. */
#include "base/error.h"
#include "base/arch.h"
#include "device/cuda/context.h"
#include "assemble/toolkit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_SIZE = 16384, ACCELERATED = 0x10000, FAMILY = 0x20000 };

typedef struct linker {
    pg_driver *driver;
    pg_cuda_contexts contexts;
} linker;

/* What cuLink reads and writes during one link; values must outlive the link state. */
typedef struct link_buffers {
    char info[LOG_SIZE], error[LOG_SIZE];
    int options[6];
    void *values[6];
} link_buffers;

static void close_linker(pg_toolkit *t)
{
    linker *l = t->opened[PTXGEN_ASSEMBLER_DRIVER];
    pg_cuda_contexts_fini(&l->contexts);
    pg_driver_close(&t->alloc, l->driver);
    pg_free(&t->alloc, l, sizeof *l);
}

/* libcuda.so.1 is a link to libcuda.so.580.159.03: the driver's own version. */
static void take_driver_version(const pg_driver *d, pg_tool *tool)
{
    char *real = realpath(tool->path, NULL);
    const char *version = real ? strstr(real, "libcuda.so.") : NULL;
    if (version && strchr(version + 11, '.'))
        snprintf(tool->version, sizeof tool->version, "%.30s", version + 11);
    else
        snprintf(tool->version, sizeof tool->version, "%d.%d", d->version / 1000,
                 d->version % 1000 / 10);
    free(real);
}

static void find(pg_toolkit *t, pg_tool *tool)
{
    ptxgen_error err = {0};
    linker *l = pg_alloc_zero(&t->alloc, sizeof *l);
    if (!l || pg_driver_open(&t->alloc, t->driver_library, &l->driver, &err) != PTXGEN_OK) {
        if (!l || err.status == PTXGEN_ENOMEM || err.status == PTXGEN_EIO)
            pg_note_search_error(tool, !l || err.status == PTXGEN_ENOMEM ? ENOMEM : EAGAIN);
        snprintf(tool->note, sizeof tool->note, "%.300s", l ? err.message : "out of memory");
        pg_free(&t->alloc, l, sizeof *l);
        return;
    }
    pg_cuda_contexts_init(&l->contexts, &t->alloc, l->driver);
    t->opened[PTXGEN_ASSEMBLER_DRIVER] = l;
    snprintf(tool->path, sizeof tool->path, "%s", pg_driver_path(l->driver));
    tool->found = true;
    take_driver_version(l->driver, tool);
    pg_identify_tool(t, tool, "driver");
}

static void fill_buffers(link_buffers *j, ptxgen_arch arch)
{
    int target = (int)(arch / 10) + (arch % 10 == 1 ? ACCELERATED : arch % 10 == 2 ? FAMILY : 0);
    const struct {
        int option;
        void *value;
    } set[] = {{PG_CU_JIT_INFO_LOG, j->info},
               {PG_CU_JIT_INFO_LOG_SIZE, (void *)(uintptr_t)LOG_SIZE},
               {PG_CU_JIT_ERROR_LOG, j->error},
               {PG_CU_JIT_ERROR_LOG_SIZE, (void *)(uintptr_t)LOG_SIZE},
               {PG_CU_JIT_LOG_VERBOSE, (void *)(uintptr_t)1},
               {PG_CU_JIT_TARGET, (void *)(uintptr_t)target}};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        j->options[i] = set[i].option;
        j->values[i] = set[i].value;
    }
}

static int link_ptx(const pg_driver *d, link_buffers *j, const pg_assembly_request *request,
                    pg_buf *cubin)
{
    pg_cu_link state = NULL;
    void *bytes = NULL;
    size_t size = 0;
    int result = d->cuLinkCreate(6, j->options, j->values, &state);
    if (result != 0)
        return result;
    result = d->cuLinkAddData(state, PG_CU_JIT_INPUT_PTX, request->ptx, request->ptx_size + 1,
                              "ptx", 0, NULL, NULL);
    if (result == 0)
        result = d->cuLinkComplete(state, &bytes, &size);
    if (result == 0)
        pg_buf_append(cubin, bytes, size); /* owned by the link state */
    d->cuLinkDestroy(state);
    return result;
}

static ptxgen_status assemble(pg_toolkit *t, pg_assembly_job *job, ptxgen_error *err)
{
    linker *l = t->opened[PTXGEN_ASSEMBLER_DRIVER];
    pg_cuda_scope scope;
    link_buffers *j = pg_alloc_zero(&t->alloc, sizeof *j);
    if (!j)
        return pg_fail_memory(err, sizeof *j);
    ptxgen_status status = pg_cuda_enter(&l->contexts, &scope, err);
    if (status == PTXGEN_OK) {
        fill_buffers(j, job->request->arch);
        int mode = pg_cuda_relax_capture(l->driver);
        int result = link_ptx(l->driver, j, job->request, job->cubin);
        pg_cuda_restore_capture(l->driver, mode);
        pg_cuda_leave(&scope);
        j->error[LOG_SIZE - 1] = j->info[LOG_SIZE - 1] = 0;
        pg_buf_puts(job->log, j->error);
        pg_buf_puts(job->log, j->info);
        job->refused = result != 0 && j->error[0];
        if (!job->refused)
            status = pg_driver_check(l->driver, result, "link the PTX", err);
    }
    pg_free(&t->alloc, j, sizeof *j);
    return status;
}

const pg_assembler_backend pg_backend_driver = {
    .name = "driver",
    .in_process = true,
    .ability =
        "assembles in process; drops setmaxnreg, so kernels that need it use another assembler",
    .find = find,
    .assemble = assemble,
    .close = close_linker,
};
