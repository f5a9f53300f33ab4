/* Files of no folder, and programs that read and write them: NVIDIA's tools take paths, and get
 * those of descriptors. */
#ifndef PTXGEN_CHILD_H
#define PTXGEN_CHILD_H

#include "command/fail.h"

#include <stddef.h>

enum { CLI_DESCRIPTOR_PATH = 40 };

/* A descriptor of bytes[n] (none: an empty file to write); -1 with errno. The caller closes it. */
int cli_memory_file(const void *bytes, size_t n);
/* What a program reads or writes as that file, CLI_DESCRIPTOR_PATH bytes. */
const char *cli_descriptor_path(int fd, char *path);
/* All of it from the begin, with a NUL after it; the caller frees. EIO. */
ptxgen_status cli_memory_read(int fd, char **out, size_t *n, ptxgen_error *err);

/* Runs argv to its end, argv[0] being a program's path, or a name that PATH has, with standard
 * output at `to` and standard error at `errors` (-1: ours). `code` gets the exit code; NULL:
 * another than 0 is EIO. SIGPIPE is an end like any other. EIO. */
typedef struct cli_child {
    char *const *argv; /* NULL-terminated */
    int to, errors;
} cli_child;
ptxgen_status cli_run_child(const cli_child *child, int *code, ptxgen_error *err);

#endif
