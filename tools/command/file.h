/* Reading a whole file. */
#ifndef PTXGEN_FILE_H
#define PTXGEN_FILE_H

#include "command/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* What a program reads whole has a limit: a cubin, a text. */
enum { CLI_FILE_MAX = 256 << 20 };

/* All bytes of a file ("-": standard input) with a NUL after them; the caller frees. A file, a
 * pipe or a terminal, of at most CLI_FILE_MAX bytes: EINVAL for more, and for devices and
 * folders. EIO. */
ptxgen_status cli_read_file(const char *path, char **out, size_t *size, ptxgen_error *err);
/* The same for text: EINVAL when a NUL is in it. */
ptxgen_status cli_read_text(const char *path, char **out, ptxgen_error *err);
/* Whether these have read this regular file, which the command then does not write over. */
bool cli_was_read(const struct stat *file);

#endif
