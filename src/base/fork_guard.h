/* What fork() must not catch in the middle, and what a child must not inherit.
 *
 * - A process that forks while another thread is inside an in-process assembler leaves its child with that
 *   assembler's locks held for ever: the child hangs at its first compilation. So compilations are counted,
 *   and fork() waits for those in flight and holds back new ones (pthread_atfork).
 *   A fork by the compiling thread itself (the driver runs nvidia-modprobe so) goes through at once.
 * - CUDA does not survive a fork. The generation tells a child that its objects were made by its parent. */
#ifndef PG_FORK_GUARD_H
#define PG_FORK_GUARD_H

/* Between these two, a fork() of another thread waits. Many threads at once; not nested. */
void pg_compile_begin(void);
void pg_compile_end(void);

/* A number that is different in a forked child from what it was in its parent. A few nanoseconds. */
unsigned pg_fork_generation(void);

#endif
