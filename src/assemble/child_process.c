/* posix_spawn (which runs no fork handlers and copies no address space) with everything about the child decided
 * here: descriptors, signals, environment. The end is watched through a pidfd where the kernel has them. */
#include "assemble/child_process.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int pg_anonymous_file(void)
{
    int fd = memfd_create("ptxgen", MFD_CLOEXEC);
    if (fd < 0)
        fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    int number = errno;
    close(fd);
    errno = number;
    return high;
}

ptxgen_status pg_read_file(int fd, pg_buf *b, ptxgen_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return pg_fail(err, PTXGEN_EIO, "cannot read a temporary file: error %d", errno);
    size_t size = (size_t)st.st_size, got = 0;
    if (!pg_buf_reserve(b, size))
        return pg_fail_memory(err, size);
    while (got < size) {
        ssize_t n = pread(fd, b->data + b->len, size - got, (off_t)got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return pg_fail(err, PTXGEN_EIO, "cannot read a temporary file: error %d", errno);
        b->len += (size_t)n;
        got += (size_t)n;
    }
    if (b->data)
        b->data[b->len] = 0;
    return PTXGEN_OK;
}

ptxgen_status pg_write_file(int fd, const void *bytes, size_t n, ptxgen_error *err)
{
    size_t done = 0;
    while (done < n) {
        ssize_t w = pwrite(fd, (const char *)bytes + done, n - done, (off_t)done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return pg_fail(
                err, PTXGEN_EIO,
                "cannot write %zu bytes to a temporary file: error %d, %s; free memory or "
                "space in /tmp",
                n, errno, strerrordesc_np(errno));
        done += (size_t)w;
    }
    return PTXGEN_OK;
}

static int add_descriptors(posix_spawn_file_actions_t *actions, const pg_child *child, int output)
{
    const int wanted[] = {-1, output, output, child->fd3, child->fd4};
    int error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    for (int i = 1; i < 5 && !error; i++)
        if (wanted[i] >= 0)
            error = posix_spawn_file_actions_adddup2(actions, wanted[i], i);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    /* The host program's own descriptors without close-on-exec. */
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(actions, child->fd4 >= 0 ? 5 : 3);
#endif
#endif
    return error;
}

/* The host program may block or ignore signals; the child starts with none of that. */
static int add_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error)
        error =
            posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return error;
}

static int start(const pg_child *child, int output, pid_t *pid)
{
    static char lc_all[] = "LC_ALL=C", path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char *environment[] = {lc_all, path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = add_descriptors(&actions, child, output);
        if (!error)
            error = add_signals(&attributes);
        if (!error)
            error = posix_spawn(pid, child->argv[0], &actions, &attributes,
                                (char *const *)child->argv, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* true when the child has ended and *out says how. */
static bool reap(pid_t pid, int flags, pg_child_result *out)
{
    int status = 0;
    pid_t r;
    do
        r = waitpid(pid, &status, flags);
    while (r < 0 && errno == EINTR);
    if (r == 0)
        return false;
    if (r < 0)
        *out =
            (pg_child_result){PG_CHILD_UNKNOWN, 0}; /* SIGCHLD ignored, or someone's waitpid(-1) */
    else if (WIFEXITED(status))
        *out = (pg_child_result){PG_CHILD_EXITED, WEXITSTATUS(status)};
    else
        *out = (pg_child_result){PG_CHILD_KILLED, WTERMSIG(status)};
    return true;
}

static void wait_for(pid_t pid, uint32_t timeout_ms, pg_child_result *out)
{
    int64_t deadline = now_ms() + timeout_ms, left;
    int watch = (int)syscall(SYS_pidfd_open, pid, 0); /* -1 before Linux 5.3 */
    while (!reap(pid, WNOHANG, out)) {
        left = deadline - now_ms();
        if (left <= 0) {
            kill(pid, SIGKILL);
            reap(pid, 0, out);
            out->end = PG_CHILD_TIMEOUT;
            break;
        }
        struct pollfd end = {.fd = watch, .events = POLLIN};
        poll(&end, 1, watch < 0 ? 1 : (int)left); /* without a watch: look again in 1 ms */
    }
    if (watch >= 0)
        close(watch);
}

ptxgen_status pg_child_run(const pg_child *child, pg_buf *output, pg_child_result *out,
                           ptxgen_error *err)
{
    pid_t pid;
    int fd = pg_anonymous_file();
    if (fd < 0)
        return pg_fail(err, PTXGEN_EIO, "cannot make a temporary file: error %d, %s", errno,
                       strerrordesc_np(errno));
    int error = start(child, fd, &pid);
    ptxgen_status status;
    if (error) {
        status = pg_fail(err, PTXGEN_EIO, "cannot start %s: error %d, %s", child->argv[0], error,
                         strerrordesc_np(error));
    } else {
        wait_for(pid, child->timeout_ms, out);
        status = pg_read_file(fd, output, err);
    }
    close(fd);
    return status;
}
