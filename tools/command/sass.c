/* SASS of a cubin: NVIDIA's disassembler, a program of the CUDA toolkit, reads it and writes to
 * the output. */
#include "command/sass.h"

#include "command/output.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* EMISSING with what to install, unless there is one. */
static ptxgen_status find_disassembler(ptxgen *ctx, const char **path, ptxgen_error *err)
{
    ptxgen_part p;
    for (size_t i = 0; ptxgen_part_at(ctx, i, &p); i++)
        if (strcmp(p.name, "disassembler") == 0) {
            *path = p.path;
            return p.found ? PTXGEN_OK
                           : cli_fail(err, PTXGEN_EMISSING, "no disassembler: %s", p.note);
        }
    return cli_fail(err, PTXGEN_EMISSING, "this libptxgen knows no disassembler");
}

/* A file of no folder: the program opens it through its descriptor. */
static int hold_in_memory(const void *bytes, size_t n)
{
    const int fd = memfd_create("cubin", 0);
    for (size_t done = 0; fd >= 0 && done < n;) {
        const ssize_t w = write(fd, (const char *)bytes + done, n - done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)w;
    }
    return fd;
}

/* With the signals that this command ignores as they usually are. */
static int spawn_plain(pid_t *pid, const char *program, posix_spawn_file_actions_t *actions,
                       char *const *argv)
{
    posix_spawnattr_t attributes;
    sigset_t usual;
    int error = posix_spawnattr_init(&attributes);
    if (error)
        return error;
    sigemptyset(&usual);
    sigaddset(&usual, SIGXFSZ);
    sigaddset(&usual, SIGPIPE);
    error = posix_spawnattr_setsigdefault(&attributes, &usual);
    if (!error)
        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawn(pid, program, actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Runs "PROGRAM OPTION /proc/self/fd/N" with its standard output at `to`. */
static ptxgen_status run_program(const char *program, int cubin, int to, ptxgen_error *err)
{
    char option[] = "-c", whole[] = "-sass", file[40];
    const char *name = strrchr(program, '/');
    const bool cuobjdump = strcmp(name ? name + 1 : program, "cuobjdump") == 0;
    snprintf(file, sizeof file, "/proc/self/fd/%d", cubin);
    char *const argv[] = {(char *)program, cuobjdump ? whole : option, file, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status, error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
        if (!error)
            error = spawn_plain(&pid, program, &actions, argv);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (error)
        return cli_fail(err, PTXGEN_EIO, "cannot start %s: %s", program, strerror(error));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cli_fail(err, PTXGEN_EIO, "%s: %s", program, strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PTXGEN_OK;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) /* `| head` has seen enough */
        return PTXGEN_OK;
    return cli_fail(err, PTXGEN_EIO, "%s failed with %s %d", program,
                    WIFEXITED(status) ? "exit code" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static ptxgen_status write_sass(const char *program, const char *path, const void *bytes, size_t n,
                                ptxgen_error *err)
{
    cli_output out;
    const int cubin = hold_in_memory(bytes, n);
    if (cubin < 0)
        return cli_fail(err, PTXGEN_EIO, "cannot hold %zu bytes in memory: %s", n, strerror(errno));
    ptxgen_status status = cli_output_open(&out, path, false, err);
    if (status == PTXGEN_OK) {
        fflush(out.file);
        status = run_program(program, cubin, fileno(out.file), err);
        if (status == PTXGEN_OK)
            status = cli_output_commit(&out, err);
        else
            cli_output_discard(&out);
    }
    close(cubin);
    return status;
}

ptxgen_status cli_output_sass(const cli_settings *set, const void *cubin, size_t n,
                              ptxgen_error *err)
{
    ptxgen *ctx;
    const char *program = "";
    cli_settings memory_only = *set;
    memory_only.cache_dir = "";
    ptxgen_status status = cli_context(&memory_only, &ctx, err);
    if (status != PTXGEN_OK)
        return status;
    status = find_disassembler(ctx, &program, err);
    if (status == PTXGEN_OK)
        status = write_sass(program, set->output, cubin, n, err);
    ptxgen_destroy(ctx);
    return status;
}
