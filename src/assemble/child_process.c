/* Waiting for a child and reading what it says, in bounded memory. The end is watched through a
 * pidfd where the kernel has them. */
#include "assemble/child_process.h"

#include "assemble/child_start.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/system_words.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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
    const int r = pg_file_write_all(&pg_files_libc, fd, bytes, n, 0);
    return r == 0 ? PTXGEN_OK
                  : pg_fail(err, PTXGEN_EIO,
                            "cannot write %zu bytes to a temporary file: error %d, %s; free memory "
                            "or space in /tmp",
                            n, -r, pg_error_words(-r));
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

/* ---- output ---- */

/* Keeps the first and the last bytes of what comes; `left_out` lie between them. */
typedef struct capture {
    pg_buf *to;
    size_t start; /* where the child's output begins in it */
    uint64_t left_out;
} capture;

static void drop_middle(capture *c)
{
    const size_t have = c->to->len - c->start;
    const size_t most = PG_CHILD_OUTPUT_HEAD + PG_CHILD_OUTPUT_TAIL;
    if (have <= most)
        return;
    char *cut = c->to->data + c->start + PG_CHILD_OUTPUT_HEAD;
    memmove(cut, cut + (have - most), PG_CHILD_OUTPUT_TAIL);
    c->left_out += have - most;
    pg_buf_truncate(c->to, c->start + most);
}

/* Takes what there is, or a part of it (a child that never stops writing has its deadline too);
 * false at the end of the output. Without memory the rest is read and dropped. */
static bool take_output(capture *c, int fd)
{
    char bytes[4096];
    for (int i = 0; i < 64; i++) {
        const ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno == EAGAIN;
        pg_buf_append(c->to, bytes, (size_t)n);
        drop_middle(c);
    }
    return true;
}

static void mark_left_out(const capture *c)
{
    char mark[64];
    const size_t at = c->start + PG_CHILD_OUTPUT_HEAD;
    const int n = snprintf(mark, sizeof mark, "\n... %llu bytes left out ...\n",
                           (unsigned long long)c->left_out);
    if (c->left_out == 0 || !pg_buf_reserve(c->to, (size_t)n))
        return;
    char *cut = c->to->data + at;
    memmove(cut + n, cut, c->to->len - at + 1);
    memcpy(cut, mark, (size_t)n);
    c->to->len += (size_t)n;
}

/* ---- waiting ---- */

/* The two pipes of a child; -1: closed. Each end is numbered 10 or higher. */
typedef struct pipes {
    int output[2]; /* [1] is the child's */
    int alive[2];  /* [0] is the child's */
} pipes;

static int raise_number(int fd)
{
    const int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    const int number = errno;
    close(fd);
    errno = number;
    return high;
}

static bool open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return false;
    }
    ends[0] = raise_number(ends[0]);
    ends[1] = raise_number(ends[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void say_who_is_awaited(const pg_child *child, pid_t pid)
{
    if (child->log)
        pg_log_line(child->log, PTXGEN_LOG_WARNING,
                    "waiting for %s (process %d), which has run for over a second; it is stopped "
                    "after %u s",
                    child->argv[0], (int)pid, child->timeout_ms / 1000);
}

static void kill_group(pid_t pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
}

/* Until the child has ended; what it left running may hold the pipe open, so that is not waited
 * for. */
static void wait_for(const pg_child *child, pid_t pid, int output, capture *c, pg_child_result *out)
{
    enum { SAY_AFTER_MS = 1000 };
    const int64_t start = pg_clock_ms();
    bool said = false;
    int watch = (int)syscall(SYS_pidfd_open, pid, 0); /* -1 before Linux 5.3 */
    while (!reap(pid, WNOHANG, out)) {
        const int64_t passed = pg_clock_ms() - start, left = (int64_t)child->timeout_ms - passed;
        if (left <= 0) {
            kill_group(pid);
            reap(pid, 0, out);
            out->end = PG_CHILD_TIMEOUT;
            break;
        }
        if (!said && passed >= SAY_AFTER_MS) {
            said = true;
            say_who_is_awaited(child, pid);
        }
        int64_t pause = said || left < SAY_AFTER_MS - passed ? left : SAY_AFTER_MS - passed;
        if (watch < 0) /* without a watch: look again in 1 ms */
            pause = 1;
        struct pollfd events[] = {{.fd = watch, .events = POLLIN},
                                  {.fd = output, .events = POLLIN}};
        poll(events, 2, (int)pause);
        if (events[1].revents && !take_output(c, output))
            output = -1;
    }
    if (output >= 0)
        take_output(c, output);
    if (watch >= 0)
        close(watch);
}

ptxgen_status pg_child_run(const pg_child *child, pg_buf *output, pg_child_result *out,
                           ptxgen_error *err)
{
    pid_t pid;
    pipes p = {{-1, -1}, {-1, -1}};
    ptxgen_status status = PTXGEN_OK;
    if (!open_pipe(p.output) || !open_pipe(p.alive))
        status = pg_fail(err, PTXGEN_EIO, "cannot make a pipe for %s: error %d, %s", child->argv[0],
                         errno, pg_error_words(errno));
    const int error =
        status == PTXGEN_OK ? pg_child_start(child, p.output[1], p.alive[0], &pid) : 0;
    close_end(&p.output[1]);
    close_end(&p.alive[0]);
    if (error) {
        status = pg_fail(err, PTXGEN_EIO, "cannot start %s: error %d, %s", child->argv[0], error,
                         pg_error_words(error));
    } else if (status == PTXGEN_OK) {
        capture c = {.to = output, .start = output->len};
        fcntl(p.output[0], F_SETFL, O_NONBLOCK);
        wait_for(child, pid, p.output[0], &c, out);
        mark_left_out(&c);
    }
    close_end(&p.output[0]);
    close_end(&p.alive[1]); /* ends what the child left running */
    return status;
}
