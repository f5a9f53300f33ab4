/* The assemblers behind assembler.h: the table, the choice, and what every assembly has in
 * common. */
#include "assemble/in_process.h"
#include "assemble/toolkit.h"

#include "base/error.h"
#include "ptxgen/inspect.h"
#include "assemble/assembly_log.h"
#include "assemble/release.h"
#include "base/file.h"
#include "base/fork_guard.h"
#include "base/system_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const pg_assembler_backend *const backends[] = {
    [PTXGEN_ASSEMBLER_PTXAS] = &pg_backend_ptxas,
    [PTXGEN_ASSEMBLER_NVPTXCOMPILER] = &pg_backend_nvptxcompiler,
    [PTXGEN_ASSEMBLER_NVJITLINK] = &pg_backend_nvjitlink,
    [PTXGEN_ASSEMBLER_DRIVER] = &pg_backend_driver,
};

static ptxgen_status copy_text(const pg_alloc *alloc, const char *text, char **out,
                               ptxgen_error *err)
{
    if (!text || !text[0])
        return PTXGEN_OK;
    size_t size = strlen(text) + 1;
    *out = pg_alloc_zero(alloc, size);
    if (!*out)
        return pg_fail_memory(err, size);
    memcpy(*out, text, size);
    return PTXGEN_OK;
}

static void free_text(const pg_alloc *alloc, char *text)
{
    if (text)
        pg_free(alloc, text, strlen(text) + 1);
}

static ptxgen_status copy_config(pg_toolkit *t, const pg_toolkit_config *config, ptxgen_error *err)
{
    t->wanted = config->wanted;
    t->timeout_ms = config->timeout_ms ? config->timeout_ms : 300000;
    PG_TRY(copy_text(&t->alloc, config->toolkit_dir, &t->dir, err));
    PG_TRY(copy_text(&t->alloc, config->cuda_home, &t->cuda_home, err));
    PG_TRY(copy_text(&t->alloc, config->user_dir, &t->user_dir, err));
    PG_TRY(copy_text(&t->alloc, config->path, &t->path, err));
    return copy_text(&t->alloc, config->driver_library, &t->driver_library, err);
}

ptxgen_status pg_toolkit_create(const pg_alloc *alloc, const pg_log *log,
                                const pg_toolkit_config *config, pg_toolkit **out,
                                ptxgen_error *err)
{
    *out = NULL;
    if ((unsigned)config->wanted > PTXGEN_ASSEMBLER_DRIVER)
        return pg_fail(err, PTXGEN_EINVAL, "assembler %d; 0 (auto) to %d are known",
                       (int)config->wanted, (int)PTXGEN_ASSEMBLER_DRIVER);
    pg_toolkit *t = pg_alloc_zero(alloc, sizeof *t);
    if (!t)
        return pg_fail_memory(err, sizeof *t);
    t->alloc = *alloc;
    t->log = *log;
    pthread_mutex_init(&t->lock, NULL);
    ptxgen_status status = copy_config(t, config, err);
    if (status == PTXGEN_OK)
        *out = t;
    else
        pg_toolkit_destroy(t);
    return status;
}

void pg_toolkit_destroy(pg_toolkit *t)
{
    if (!t)
        return;
    for (int kind = 1; kind <= PTXGEN_ASSEMBLER_DRIVER; kind++)
        if (backends[kind]->close && t->opened[kind])
            backends[kind]->close(t);
    if (t->close_nvrtc)
        t->close_nvrtc(t);
    free_text(&t->alloc, t->dir);
    free_text(&t->alloc, t->cuda_home);
    free_text(&t->alloc, t->user_dir);
    free_text(&t->alloc, t->path);
    free_text(&t->alloc, t->driver_library);
    pthread_mutex_destroy(&t->lock);
    pg_alloc alloc = t->alloc;
    pg_free(&alloc, t, sizeof *t);
}

static const char *where(const pg_toolkit *t)
{
    return t->dir ? t->dir : "CUDA_HOME, /usr/local/cuda* or PATH";
}

static void find_nvrtc(pg_toolkit *t, pg_tool *tool)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    pg_search_library(t, tool, &(pg_library_query){"nvrtc", names, "cuda_nvrtc"});
    snprintf(tool->note, sizeof tool->note, "%s",
             tool->found ? "compiles CUDA C++ parts of kernels"
                         : "not found: only needed for kernels with CUDA C++ parts");
}

static void find_disassembler(pg_toolkit *t, pg_tool *tool)
{
    pg_search_program(t, tool, "nvdisasm");
    if (!tool->found)
        pg_search_program(t, tool, "cuobjdump");
    if (tool->found)
        snprintf(tool->note, sizeof tool->note, "shows SASS");
    else
        snprintf(tool->note, sizeof tool->note,
                 "no nvdisasm or cuobjdump in %.160s: only needed to see SASS; pip package "
                 "nvidia-cuda-nvdisasm or a CUDA toolkit",
                 where(t));
}

/* The parts that are no assemblers. */
static const struct {
    const char *name;
    void (*find)(pg_toolkit *, pg_tool *);
} others[] = {{"nvrtc", find_nvrtc}, {"disassembler", find_disassembler}};

static const char *part_name(int kind)
{
    return kind >= PG_TOOL_NVRTC ? others[kind - PG_TOOL_NVRTC].name : backends[kind]->name;
}

/* Under the toolkit's lock. */
static void search(pg_toolkit *t, int kind, pg_tool *tool)
{
    if (kind >= PG_TOOL_NVRTC)
        others[kind - PG_TOOL_NVRTC].find(t, tool);
    else
        backends[kind]->find(t, tool);
    if (tool->found && kind < PG_TOOL_NVRTC)
        snprintf(tool->note, sizeof tool->note, "%s", backends[kind]->ability);
}

const pg_tool *pg_toolkit_find(pg_toolkit *t, int kind, pg_tool *passing)
{
    if (atomic_load_explicit(&t->searched[kind], memory_order_acquire))
        return &t->tools[kind];
    *passing = (pg_tool){0};
    pg_compile_begin(); /* a child forked now would find the lock held for ever */
    pthread_mutex_lock(&t->lock);
    const bool first = !atomic_load(&t->searched[kind]);
    if (first)
        search(t, kind, passing);
    const bool known = !first || passing->found || !passing->error;
    if (first && known) {
        t->tools[kind] = *passing;
        atomic_store_explicit(&t->searched[kind], true, memory_order_release);
    }
    pthread_mutex_unlock(&t->lock);
    pg_compile_end();
    if (!known)
        snprintf(passing->note, sizeof passing->note,
                 "cannot be looked for in %.150s: error %d, %s", where(t), passing->error,
                 pg_error_words(passing->error));
    const pg_tool *tool = known ? &t->tools[kind] : passing;
    if (first)
        pg_log_line(&t->log, PTXGEN_LOG_DEBUG, "%s: %s", part_name(kind),
                    tool->found ? tool->path : tool->note);
    return tool;
}

static ptxgen_status check_keeps(const pg_assembler_backend *b, bool whole_program,
                                 ptxgen_error *err)
{
    if (!whole_program || b->keeps_setmaxnreg)
        return PTXGEN_OK;
    return pg_fail(
        err, PTXGEN_EMISSING,
        "this kernel needs setmaxnreg, which the assembler %s drops: choose ptxas (pip package "
        "nvidia-cuda-nvcc or a CUDA toolkit) or nvptxcompiler",
        b->name);
}

static ptxgen_status fail_to_look(const pg_assembler_backend *b, const pg_tool *tool,
                                  ptxgen_error *err)
{
    return pg_fail(err, tool->error == ENOMEM ? PTXGEN_ENOMEM : PTXGEN_EIO,
                   "the assembler %s %s; it is looked for again at the next call", b->name,
                   tool->note);
}

/* Refused before it is started: an old assembler would speak of a line or an option that nobody
 * wrote. */
static ptxgen_status check_release(const pg_toolkit *t, const pg_assembler_backend *b,
                                   const pg_tool *tool, int needed, ptxgen_error *err)
{
    const int release = b == backends[PTXGEN_ASSEMBLER_DRIVER] ? 0 : pg_release_of(tool->version);
    if (release == 0 || release >= needed)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EMISSING,
                   "this kernel needs an assembler of CUDA %d.%d or later, and %s (%s) is of %s: "
                   "install a newer toolkit, or the pip package %s, and name its folder with "
                   "PTXGEN_TOOLKIT%s",
                   needed / 100, needed % 100, b->name, tool->path, tool->version,
                   b == backends[PTXGEN_ASSEMBLER_NVJITLINK] ? "nvidia-nvjitlink"
                                                             : "nvidia-cuda-nvcc",
                   t->dir ? " (the folder named now is the only one that is searched)" : "");
}

static ptxgen_status choose_wanted(pg_toolkit *t, pg_assembly_need need, ptxgen_error *err)
{
    const pg_assembler_backend *b = backends[t->wanted];
    PG_TRY(check_keeps(b, need.whole_program, err));
    pg_tool passing;
    const pg_tool *tool = pg_toolkit_find(t, t->wanted, &passing);
    if (!tool->found && tool->error)
        return fail_to_look(b, tool, err);
    if (!tool->found)
        return pg_fail(err, PTXGEN_EMISSING, "the assembler %s was asked for but is not there: %s",
                       b->name, tool->note);
    return check_release(t, b, tool, need.release, err);
}

/* The first in the order of the enum that is there and does what the kernel needs; 0: none, and
 * *err is set when one was too old. While the process is short of something none is passed over:
 * a worse one would take its place. */
static ptxgen_status choose_first(pg_toolkit *t, pg_assembly_need need, int *found,
                                  ptxgen_error *old)
{
    pg_tool passing;
    *found = 0;
    for (int i = 1; i <= PTXGEN_ASSEMBLER_DRIVER && !*found; i++) {
        if (need.whole_program && !backends[i]->keeps_setmaxnreg)
            continue;
        const pg_tool *tool = pg_toolkit_find(t, i, &passing);
        if (!tool->found && pg_errno_is_shortage(tool->error))
            return fail_to_look(backends[i], tool, old);
        ptxgen_error this_one = {0};
        if (tool->found &&
            check_release(t, backends[i], tool, need.release, &this_one) == PTXGEN_OK)
            *found = i;
        else if (tool->found && old->status == PTXGEN_OK)
            *old = this_one;
    }
    return PTXGEN_OK;
}

static ptxgen_status fail_without(const pg_toolkit *t, pg_assembly_need need, ptxgen_error *err)
{
    const int release = need.release ? need.release : PG_RELEASE_FOR_ALL;
    return pg_fail(
        err, PTXGEN_EMISSING,
        "no assembler %sin %s: install a CUDA toolkit (%d.%d or newer), or the pip package "
        "nvidia-cuda-nvcc (ptxas)%s, and name its folder with PTXGEN_TOOLKIT",
        need.whole_program ? "that keeps setmaxnreg " : "", where(t), release / 100, release % 100,
        need.whole_program ? "" : " or nvidia-nvjitlink");
}

ptxgen_status pg_toolkit_choose(pg_toolkit *t, pg_assembly_need need, ptxgen_assembler *kind,
                                const char **identity, ptxgen_error *err)
{
    int found = t->wanted;
    ptxgen_error old = {0};
    ptxgen_status status = PTXGEN_OK;
    if (found)
        PG_TRY(choose_wanted(t, need, err));
    else
        status = choose_first(t, need, &found, &old);
    if (status == PTXGEN_OK && !found && old.status == PTXGEN_OK)
        return fail_without(t, need, err);
    if (!found) {
        if (err)
            *err = old;
        return old.status;
    }
    *kind = (ptxgen_assembler)found;
    *identity = t->tools[found].identity;
    return PTXGEN_OK;
}

bool pg_assembler_is_accepted(const char *identity, pg_assembly_need need)
{
    const size_t n = strcspn(identity, " ");
    for (int i = 1; i <= PTXGEN_ASSEMBLER_DRIVER; i++)
        if (strlen(backends[i]->name) == n && memcmp(backends[i]->name, identity, n) == 0)
            return !need.whole_program || backends[i]->keeps_setmaxnreg;
    return false;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

typedef struct backend_run {
    pg_toolkit *toolkit;
    const pg_assembler_backend *backend;
    pg_assembly_job *job;
} backend_run;

static ptxgen_status run_here(void *user, ptxgen_error *err)
{
    const backend_run *r = user;
    return r->backend->assemble(r->toolkit, r->job, err);
}

static ptxgen_status run_backend(pg_toolkit *t, const pg_assembler_backend *b, pg_assembly_job *job,
                                 ptxgen_error *err)
{
    backend_run r = {t, b, job};
    return b->in_process ? pg_run_in_process(run_here, &r, err) : run_here(&r, err);
}

/* What the kernels of the cubin use; only the log knows about spills. */
static ptxgen_status read_numbers(pg_assembly *out, const char *identity, ptxgen_error *err)
{
    ptxgen_error wrong;
    ptxgen_cubin_info info = {.size = sizeof info};
    ptxgen_cubin_kernel k = {.size = sizeof k};
    const void *cubin = out->cubin.data;
    if (ptxgen_cubin_inspect(cubin, out->cubin.len, &info, &wrong) != PTXGEN_OK)
        return pg_fail(err, PTXGEN_EASSEMBLE, "%s reported success but what it wrote is %s",
                       identity, wrong.message);
    for (size_t i = 0; ptxgen_cubin_kernel_at(cubin, out->cubin.len, i, &k); i++) {
        out->registers = larger(out->registers, k.registers);
        out->shared_bytes = larger(out->shared_bytes, k.shared_bytes);
        out->local_bytes = larger(out->local_bytes, k.local_bytes);
    }
    out->spill_bytes = pg_spill_bytes(pg_buf_text(&out->log));
    return PTXGEN_OK;
}

ptxgen_status pg_toolkit_assemble(pg_toolkit *t, ptxgen_assembler kind,
                                  const pg_assembly_request *request, pg_assembly *out,
                                  ptxgen_error *err)
{
    if (kind == PTXGEN_ASSEMBLER_AUTO || (unsigned)kind > PTXGEN_ASSEMBLER_DRIVER)
        return pg_fail(err, PTXGEN_EINVAL, "assembler %d; take it from pg_toolkit_choose",
                       (int)kind);
    const pg_assembler_backend *b = backends[kind];
    pg_tool passing;
    const pg_tool *tool = pg_toolkit_find(t, kind, &passing);
    pg_assembly_job job = {.request = request, .cubin = &out->cubin, .log = &out->log};
    if (!tool->found)
        return pg_fail(err, PTXGEN_EMISSING, "%s: %s", b->name, tool->note);
    PG_TRY(check_keeps(b, request->whole_program, err));
    PG_TRY(check_release(t, b, tool, pg_release_for_text(request->ptx, request->ptx_size), err));
    pg_buf_truncate(&out->cubin, 0);
    pg_buf_truncate(&out->log, 0);
    out->registers = out->shared_bytes = out->local_bytes = out->spill_bytes = -1;
    out->text_at_fault = true;
    PG_TRY(pg_refuse_crashing_text(request->ptx, request->ptx_size, err));
    out->text_at_fault = false;
    PG_TRY(run_backend(t, b, &job, err));
    if (out->cubin.failed || out->log.failed)
        return pg_fail_memory(err, 0);
    const pg_log_verdict verdict = pg_judge_log(pg_buf_text(&out->log), job.refused, b->name, err);
    out->text_at_fault = verdict == PG_LOG_REFUSED || verdict == PG_LOG_CHANGED;
    if (verdict != PG_LOG_GOOD)
        return PTXGEN_EASSEMBLE;
    return read_numbers(out, tool->identity, err);
}

const char *pg_toolkit_program(pg_toolkit *t, ptxgen_assembler kind)
{
    pg_tool passing;
    const pg_tool *tool = pg_toolkit_find(t, kind, &passing);
    return tool != &passing && tool->found && !backends[kind]->in_process ? tool->path : "";
}

bool pg_toolkit_part(pg_toolkit *t, size_t i, ptxgen_part *out)
{
    if (i + 1 >= PG_TOOL_END)
        return false;
    const int kind = (int)i + 1;
    pg_tool passing;
    const pg_tool *tool = pg_toolkit_find(t, kind, &passing);
    *out = (ptxgen_part){.name = part_name(kind),
                         .found = tool->found,
                         .path = tool->path,
                         .version = tool->version,
                         .note = tool->note};
    if (tool == &passing) { /* what is returned outlives it */
        out->path = out->version = "";
        out->note = pg_errno_is_shortage(passing.error)
                        ? "cannot be looked for: no more descriptors or memory; try again"
                        : "cannot be looked for: a place where it may be cannot be read; try again";
    }
    return true;
}
