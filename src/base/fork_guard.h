/* What fork() must not catch in the middle, and what a child must not inherit.
 *
 * - A process that forks while another thread is inside an in-process assembler leaves its child
 *   with that assembler's locks held for ever: the child hangs at its first compilation. So
 *   compilations are counted, and fork() waits for those in flight and holds back new ones
 *   (pthread_atfork). A fork by the compiling thread itself (the driver runs nvidia-modprobe so)
 *   goes through at once.
 * - A lock that another thread holds at the fork stays locked in the child. Whoever has locks
 *   registers as a watcher, takes them before the fork and gives them back after it.
 * - CUDA does not survive a fork. The generation tells a child that its objects were made by its
 *   parent. */
#ifndef PG_FORK_GUARD_H
#define PG_FORK_GUARD_H

#include <stdbool.h>

/* Between these two, a fork() of another thread waits. Many threads at once; not nested. */
void pg_compile_begin(void);
void pg_compile_end(void);

/* Called around every fork() between pg_fork_watch and pg_fork_unwatch, by the forking thread. */
typedef struct pg_fork_watcher {
    void (*before)(void *user);
    void (*after)(void *user, bool child);
    void *user;
    struct pg_fork_watcher *next; /* of all */
} pg_fork_watcher;

/* The watcher stays where it is until it is given up. */
void pg_fork_watch(pg_fork_watcher *);
/* One that was never registered is allowed. */
void pg_fork_unwatch(pg_fork_watcher *);

/* A number that is different in a forked child from what it was in its parent. A few
 * nanoseconds. */
unsigned pg_fork_generation(void);

#endif
