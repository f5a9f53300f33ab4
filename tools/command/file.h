/* Reading a whole file. */
#ifndef PTXGEN_FILE_H
#define PTXGEN_FILE_H

#include "command/fail.h"

#include <stdbool.h>
#include <stddef.h>

/* All bytes of a file ("-": standard input) with a NUL after them; the caller frees. EIO. */
ptxgen_status cli_read_file(const char *path, char **out, size_t *size, ptxgen_error *err);
/* The same for text: EINVAL when a NUL is in it. */
ptxgen_status cli_read_text(const char *path, char **out, ptxgen_error *err);

#endif
