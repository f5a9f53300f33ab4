#include "command/child.h"

#include "command/command.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int cli_memory_file(const void *bytes, size_t n)
{
    const int fd = memfd_create("ptxgen", 0);
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

const char *cli_descriptor_path(int fd, char *path)
{
    snprintf(path, CLI_DESCRIPTOR_PATH, "/proc/self/fd/%d", fd);
    return path;
}

ptxgen_status cli_memory_read(int fd, char **out, size_t *n, ptxgen_error *err)
{
    struct stat s;
    if (fstat(fd, &s) != 0)
        return cli_fail(err, PTXGEN_EIO, "cannot read back what was written: %s", strerror(errno));
    *n = 0;
    *out = cli_calloc((size_t)s.st_size + 1, 1);
    while (*n < (size_t)s.st_size) {
        const ssize_t r = pread(fd, *out + *n, (size_t)s.st_size - *n, (off_t)*n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        *n += (size_t)r;
    }
    return PTXGEN_OK;
}

/* With the signals that this command ignores as they usually are. */
static int spawn_plain(pid_t *pid, const cli_child *c, posix_spawn_file_actions_t *actions)
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
        error = posix_spawnp(pid, c->argv[0], actions, &attributes, c->argv, environ);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static int start(const cli_child *c, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, c->to, STDOUT_FILENO);
    if (!error && c->errors >= 0)
        error = posix_spawn_file_actions_adddup2(&actions, c->errors, STDERR_FILENO);
    if (!error)
        error = spawn_plain(pid, c, &actions);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

ptxgen_status cli_run_child(const cli_child *c, int *code, ptxgen_error *err)
{
    pid_t pid;
    int status;
    const char *program = c->argv[0];
    const int error = start(c, &pid);
    if (error)
        return cli_fail(err, PTXGEN_EIO, "cannot start %s: %s", program, strerror(error));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cli_fail(err, PTXGEN_EIO, "%s: %s", program, strerror(errno));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) /* `| head` has seen enough */
        return PTXGEN_OK;
    if (WIFEXITED(status) && (code || WEXITSTATUS(status) == 0)) {
        if (code)
            *code = WEXITSTATUS(status);
        return PTXGEN_OK;
    }
    return cli_fail(err, PTXGEN_EIO, "%s failed with %s %d", program,
                    WIFEXITED(status) ? "exit code" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}
