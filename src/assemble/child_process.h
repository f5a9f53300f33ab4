/* Runs a program and waits for it: no shell, no inherited descriptors, a fixed environment
 * (LC_ALL=C and a plain PATH: nothing in the caller's can change what the tool writes), nothing on
 * the caller's terminal. Works whatever the host program does with SIGCHLD, and from any thread.
 *
 * The child leads a process group of its own, so that a signal to the host's group (a closed
 * terminal, ^C) is the host's to handle or ignore. The group ends with the call, and with the
 * host however that ends. */
#ifndef PG_CHILD_PROCESS_H
#define PG_CHILD_PROCESS_H

#include "base/buf.h"
#include "base/log.h"
#include "ptxgen/status.h"

#include <stdint.h>

/* What is kept of a child's output: its first and its last bytes, when it is more than both. */
enum { PG_CHILD_OUTPUT_HEAD = 64 << 10, PG_CHILD_OUTPUT_TAIL = 64 << 10 };
/* No file of a child grows beyond this. */
enum { PG_CHILD_FILE_MAX = 256 << 20 };

typedef struct pg_child {
    const char *const *argv; /* [0]: absolute path; NULL-terminated */
    int fd3, fd4;            /* the child's descriptors 3 and 4, each 10 or higher; -1: none */
    uint32_t timeout_ms;
    const pg_log *log; /* is told after a second of waiting; NULL: nobody */
} pg_child;

typedef enum pg_child_end {
    PG_CHILD_EXITED,  /* code: exit status */
    PG_CHILD_KILLED,  /* code: signal */
    PG_CHILD_TIMEOUT, /* was killed by us */
    PG_CHILD_UNKNOWN  /* ended; the host program took its exit status */
} pg_child_end;

typedef struct pg_child_result {
    pg_child_end end;
    int code;
} pg_child_result;

/* stdout and stderr of the child are appended to `output`. EIO when it could not be started. */
ptxgen_status pg_child_run(const pg_child *child, pg_buf *output, pg_child_result *out,
                           ptxgen_error *err);

/* An anonymous file in memory (or an unlinked one in /tmp), close-on-exec, numbered 10 or higher
 * so that it never collides with the child's 0..5. -1 when there is none to be had (errno). */
int pg_anonymous_file(void);
/* Appends the whole file to b. EIO on a read error. */
ptxgen_status pg_read_file(int fd, pg_buf *b, ptxgen_error *err);
/* Writes all of it from offset 0. EIO on a write error. */
ptxgen_status pg_write_file(int fd, const void *bytes, size_t n, ptxgen_error *err);

#endif
