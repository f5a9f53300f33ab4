/* posix_spawn cannot tie a child's life to its parent's, so the child is made by clone() as
 * posix_spawn makes it: the address space is shared and this thread waits until the child has
 * executed the program, so no fork handler runs and nothing is copied. The child has a stack of its
 * own and makes system calls only.
 *
 * Two ties: PR_SET_PDEATHSIG for the child itself, whatever it executes; and for what it starts
 * (a wrapper script's programs) a pipe that raises SIGKILL in the whole group when the parent's
 * end closes, by whatever means. */
#include "assemble/child_start.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A sanitizer's bookkeeping knows nothing of a second thread of control on a foreign stack. */
#define PLAIN __attribute__((no_sanitize("address", "thread", "undefined")))

/* ThreadSanitizer takes every clone() for a fork: in the child it forgets all threads but one,
 * which in a shared address space is the parent's memory. Under it the child gets a copy. */
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#ifdef THREAD_SANITIZER
enum { SHARED_MEMORY = 0 };
#else
enum { SHARED_MEMORY = CLONE_VM };
#endif

enum { STACK_BYTES = 64 << 10, MOST_DESCRIPTORS = 65536, ALIVE = 5 };

typedef struct start {
    const pg_child *child;
    int output, alive;
    pid_t parent;
    int error; /* the child's, 0: the program runs */
} start;

/* glibc keeps two signals for itself and does not let them be blocked; the child must not run
 * their handlers. */
PLAIN static void set_mask(const uint64_t *mask, uint64_t *before)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, before, sizeof *mask);
}

/* The host program may handle, block or ignore signals; the program starts with none of that. */
PLAIN static void reset_signals(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int s = 1; s < NSIG; s++)
        sigaction(s, &usual, NULL); /* refused for SIGKILL and the like */
}

PLAIN static bool tie_to_parent(const start *s)
{
    const pid_t self = getpid(), parent = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? getppid() : -1;
    /* Another one: it died before the call. 0: in another namespace of processes. */
    return (parent == s->parent || parent == 0) && setpgid(0, 0) == 0 &&
           dup2(s->alive, ALIVE) == ALIVE && fcntl(ALIVE, F_SETOWN, -self) == 0 &&
           fcntl(ALIVE, F_SETSIG, SIGKILL) == 0 && fcntl(ALIVE, F_SETFL, O_ASYNC) == 0;
}

PLAIN static void limit_files(void)
{
    struct rlimit files, none = {0, 0};
    if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur > PG_CHILD_FILE_MAX) {
        files.rlim_cur = PG_CHILD_FILE_MAX;
        setrlimit(RLIMIT_FSIZE, &files);
    }
    setrlimit(RLIMIT_CORE, &none); /* a crash leaves no file in the host's working directory */
}

/* The host program's own descriptors without close-on-exec. */
PLAIN static void close_from(unsigned first)
{
    struct rlimit most;
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur > MOST_DESCRIPTORS)
        most.rlim_cur = MOST_DESCRIPTORS;
    for (unsigned fd = first; fd < most.rlim_cur; fd++) /* before Linux 5.9 */
        close((int)fd);
}

PLAIN static bool set_descriptors(const start *s)
{
    const int null = open("/dev/null", O_RDONLY);
    bool good = null >= 0 && (null == 0 || dup2(null, 0) == 0);
    good = good && dup2(s->output, 1) == 1 && dup2(s->output, 2) == 2;
    for (int i = 3; good && i <= 4; i++) {
        const int from = i == 3 ? s->child->fd3 : s->child->fd4;
        if (from >= 0)
            good = dup2(from, i) == i;
        else
            close(i);
    }
    if (good)
        close_from(ALIVE + 1);
    return good;
}

PLAIN static int run_child(void *user)
{
    static char lc_all[] = "LC_ALL=C", path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char *environment[] = {lc_all, path, NULL};
    start *s = user;
    const uint64_t none = 0;
    reset_signals();
    if (tie_to_parent(s) && set_descriptors(s)) {
        limit_files();
        set_mask(&none, NULL);
        execve(s->child->argv[0], (char *const *)s->child->argv, environment);
    }
    s->error = errno ? errno : ECHILD;
    _exit(127);
}

int pg_child_start(const pg_child *child, int output, int alive, pid_t *pid)
{
    /* What the child says stands at the low end of its stack, which both see in any case. */
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return errno;
    start *const s = (start *)(void *)stack;
    *s = (start){.child = child, .output = output, .alive = alive, .parent = getpid()};
    const uint64_t all = ~(uint64_t)0;
    uint64_t before;
    set_mask(&all, &before);
    *pid = clone(run_child, stack + STACK_BYTES, SHARED_MEMORY | CLONE_VFORK | SIGCHLD, s);
    const int error = *pid < 0 ? errno : s->error;
    set_mask(&before, NULL);
    munmap(stack, STACK_BYTES);
    if (*pid >= 0 && error) {
        while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    return error;
}
