/* Where the parts of a CUDA toolkit are looked for. A folder that the caller named is the only
 * place; otherwise CUDA_HOME, the user's, /usr/local/cuda, the newest /usr/local/cuda-*, then
 * PATH for programs and the dynamic linker for libraries. Of programs the newest is taken, but
 * CUDA_HOME's if it takes every kernel. Each place may be a toolkit or a folder of NVIDIA's pip
 * wheels. */
#include "assemble/toolkit.h"

#include "assemble/child_process.h"
#include "assemble/release.h"
#include "assemble/tool_identity.h"
#include "base/dynamic.h"
#include "base/error.h"
#include "base/file.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A toolkit may have libraries for several kinds of hosts side by side. */
#if defined(__aarch64__)
#define HOST_LIBRARIES "targets/sbsa-linux/lib", "targets/aarch64-linux/lib"
#else
#define HOST_LIBRARIES "targets/x86_64-linux/lib"
#endif

enum { MOST_ROOTS = 8, ROOT_SIZE = 512 };

typedef struct roots {
    char paths[MOST_ROOTS][ROOT_SIZE];
    int count;
} roots;

/* A relative one would run what lies in the working directory. */
static void add_root(roots *r, const char *path)
{
    if (path && path[0] == '/' && r->count < MOST_ROOTS && strlen(path) < ROOT_SIZE)
        snprintf(r->paths[r->count++], ROOT_SIZE, "%s", path);
}

/* The newest of the versions side by side; "13.0" is newer than "12.9" and "9.2". */
static void add_newest_versioned(pg_tool *tool, roots *r)
{
    char best[256] = "", path[ROOT_SIZE];
    DIR *d = opendir("/usr/local");
    if (!d)
        pg_note_search_error(tool, errno);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "cuda-", 5) == 0 && strverscmp(e->d_name, best) > 0)
            snprintf(best, sizeof best, "%s", e->d_name);
    if (d)
        closedir(d);
    if (best[0]) {
        snprintf(path, sizeof path, "/usr/local/%s", best);
        add_root(r, path);
    }
}

static void fill_roots(const pg_toolkit *t, pg_tool *tool, roots *r)
{
    r->count = 0;
    if (t->dir) {
        add_root(r, t->dir);
        return;
    }
    add_root(r, t->cuda_home);
    add_root(r, t->user_dir);
    add_root(r, "/usr/local/cuda");
    add_newest_versioned(tool, r);
}

void pg_note_search_error(pg_tool *tool, int error)
{
    if (!pg_errno_is_lasting(error))
        tool->error = error;
}

static bool is_file(pg_tool *tool, int access_mode)
{
    struct stat st;
    if (stat(tool->path, &st) == 0 && S_ISREG(st.st_mode) && access(tool->path, access_mode) == 0)
        return true;
    pg_note_search_error(tool, errno);
    return false;
}

/* true when root/folder/name is such a file; the path is then in tool->path. */
static bool try_path(pg_tool *tool, const char *root, const char *folder, const char *name,
                     int mode)
{
    int n = snprintf(tool->path, sizeof tool->path, "%s%s%s/%s", root, folder[0] ? "/" : "", folder,
                     name);
    return n > 0 && (size_t)n < sizeof tool->path && is_file(tool, mode);
}

static bool search_path_variable(const pg_toolkit *t, pg_tool *tool, const char *name)
{
    char folder[ROOT_SIZE];
    for (const char *p = t->dir ? NULL : t->path; p && *p;) {
        size_t n = strcspn(p, ":");
        /* Relative entries would make the answer depend on the working directory. */
        if (*p == '/' && n < sizeof folder) {
            snprintf(folder, sizeof folder, "%.*s", (int)n, p);
            if (try_path(tool, folder, "", name, X_OK))
                return true;
        }
        p += n + (p[n] == ':');
    }
    return false;
}

/* A wrapper script may run any program, today this one and tomorrow that: its answer to
 * --version counts. */
static void add_answer(pg_toolkit *t, pg_tool *tool, pg_tool_identity *id)
{
    const char *const argv[] = {tool->path, "--version", NULL};
    const pg_child child = {
        .argv = argv, .fd3 = -1, .fd4 = -1, .timeout_ms = 10000, .log = &t->log};
    pg_child_result result;
    pg_buf answer;
    pg_buf_init(&answer, &t->alloc);
    if (pg_child_run(&child, &answer, &result, NULL) == PTXGEN_OK)
        pg_identify_text(pg_buf_text(&answer), id);
    else /* without its answer it is not known */
        pg_note_search_error(tool, EAGAIN);
    pg_buf_fini(&answer);
}

static bool try_program_in(pg_tool *tool, const char *root, const char *name)
{
    static const char *const folders[] = {
        "bin", "nvidia/cu13/bin", "cu13/bin", "nvidia/cuda_nvcc/bin", "cuda_nvcc/bin", ""};
    for (size_t f = 0; f < sizeof folders / sizeof folders[0]; f++)
        if (try_path(tool, root, folders[f], name, X_OK))
            return true;
    return false;
}

/* The newest of those at tool->path and *best, in tool. */
static void keep_newer(pg_tool *tool, const pg_tool *best)
{
    pg_tool_identity a, b;
    if (!best->found)
        return;
    if (!tool->found || pg_identify_file(best->path, &a, NULL) != 0 ||
        pg_identify_file(tool->path, &b, NULL) != 0 ||
        pg_release_of(a.version) >= pg_release_of(b.version)) {
        const int error = tool->error;
        *tool = *best;
        tool->error = error;
    }
}

/* Whether no other place is asked: the folder is the only one, or CUDA_HOME's takes every kernel
 * (or does not say). */
static bool is_settled(const pg_toolkit *t, const pg_tool *tool)
{
    pg_tool_identity id;
    if (!tool->found)
        return false;
    if (t->dir)
        return true;
    if (!t->cuda_home || strncmp(tool->path, t->cuda_home, strlen(t->cuda_home)) != 0 ||
        pg_identify_file(tool->path, &id, NULL) != 0)
        return false;
    const int release = pg_release_of(id.version);
    return release == 0 || release >= PG_RELEASE_FOR_ALL;
}

void pg_search_program(pg_toolkit *t, pg_tool *tool, const char *name)
{
    roots r;
    fill_roots(t, tool, &r);
    for (int i = 0; i < r.count && !is_settled(t, tool); i++) {
        const pg_tool best = *tool;
        tool->found = try_program_in(tool, r.paths[i], name);
        keep_newer(tool, &best);
    }
    if (!is_settled(t, tool)) {
        const pg_tool best = *tool;
        tool->found = search_path_variable(t, tool, name);
        keep_newer(tool, &best);
    }
    pg_identify_tool(t, tool, name);
}

/* A toolkit of another kind of host may be mounted, or lie beside the right one. */
static bool is_for_this_host(const char *path)
{
    Elf64_Ehdr e = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : pread(fd, &e, sizeof e, 0);
    if (fd >= 0)
        close(fd);
    if (n != (ssize_t)sizeof e || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return true; /* loading it will say what it is */
#if defined(__aarch64__)
    return e.e_machine == EM_AARCH64;
#elif defined(__x86_64__)
    return e.e_machine == EM_X86_64;
#else
    return true;
#endif
}

static bool try_library_in(pg_tool *tool, const char *root, const pg_library_query *q)
{
    char wheel[64];
    snprintf(wheel, sizeof wheel, "nvidia/%s/lib", q->wheel);
    const char *const folders[] = {"lib64",
                                   "lib",
                                   HOST_LIBRARIES,
                                   "nvidia/cu13/lib",
                                   "cu13/lib",
                                   wheel,
                                   wheel + strlen("nvidia/"),
                                   ""};
    for (size_t n = 0; q->names[n]; n++)
        for (size_t f = 0; f < sizeof folders / sizeof folders[0]; f++)
            if (try_path(tool, root, folders[f], q->names[n], R_OK) && is_for_this_host(tool->path))
                return true;
    return false;
}

/* The last resort: only the dynamic linker knows its own search path, and it tells by loading. */
static bool ask_dynamic_linker(pg_tool *tool, const pg_library_query *q)
{
    struct link_map *map = NULL;
    for (size_t n = 0; q->names[n] && !tool->handle; n++) {
        tool->handle = dlopen(q->names[n], RTLD_LAZY | RTLD_LOCAL);
        if (!tool->handle)
            pg_note_search_error(tool, pg_dlopen_errno(dlerror()));
    }
    if (!tool->handle || dlinfo(tool->handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
        return false;
    return snprintf(tool->path, sizeof tool->path, "%s", map->l_name) < (int)sizeof tool->path;
}

void pg_search_library(pg_toolkit *t, pg_tool *tool, const pg_library_query *q)
{
    roots r;
    fill_roots(t, tool, &r);
    for (int i = 0; i < r.count && !tool->found; i++)
        tool->found = try_library_in(tool, r.paths[i], q);
    if (!tool->found && !t->dir)
        tool->found = ask_dynamic_linker(tool, q);
    pg_identify_tool(t, tool, q->name);
}

void pg_identify_tool(pg_toolkit *t, pg_tool *tool, const char *name)
{
    pg_tool_identity id;
    ptxgen_error err;
    const int error = tool->found ? pg_identify_file(tool->path, &id, &err) : 0;
    if (error) {
        pg_note_search_error(tool, error);
        snprintf(tool->note, sizeof tool->note, "%.300s", err.message);
        tool->found = false;
    }
    if (tool->found && !id.is_elf)
        add_answer(t, tool, &id);
    if (!tool->found) {
        tool->path[0] = 0;
        return;
    }
    if (!tool->version[0])
        snprintf(tool->version, sizeof tool->version, "%s", id.version);
    snprintf(tool->identity, sizeof tool->identity, "%s %s%s%s", name, tool->version,
             tool->version[0] ? " " : "", id.build);
}
