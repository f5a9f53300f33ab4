/* Starts a program in a process group of its own that ends when its starter does (see
 * child_process.h). */
#ifndef PG_CHILD_START_H
#define PG_CHILD_START_H

#include "assemble/child_process.h"

#include <sys/types.h>

/* `output`: the child's 1 and 2. `alive`: the reading end of a pipe whose writing end only this
 * process has; when that is closed, the child's group is killed. Both are numbered 10 or higher.
 * 0, or an errno. */
int pg_child_start(const pg_child *child, int output, int alive, pid_t *pid);

#endif
