#include "command/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ptxgen_status cli_read_file(const char *path, char **out, size_t *size, ptxgen_error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file)
        return cli_fail(err, PTXGEN_EIO, "cannot read %s: %s", path, strerror(errno));
    size_t room = 0, used = 0;
    char *bytes = NULL;
    do {
        room = room ? room * 2 : 65536;
        char *more = realloc(bytes, room);
        if (!more) {
            free(bytes);
            return cli_fail(err, PTXGEN_ENOMEM, "out of memory while reading %s", path);
        }
        bytes = more;
        used += fread(bytes + used, 1, room - used - 1, file);
    } while (used == room - 1);
    bytes[used] = '\0';
    const bool failed = ferror(file) != 0;
    const int why = errno;
    if (file != stdin)
        fclose(file);
    if (failed) {
        free(bytes);
        return cli_fail(err, PTXGEN_EIO, "cannot read %s: %s", path, strerror(why));
    }
    *out = bytes;
    *size = used;
    return PTXGEN_OK;
}

ptxgen_status cli_read_text(const char *path, char **out, ptxgen_error *err)
{
    size_t size;
    ptxgen_status status = cli_read_file(path, out, &size, err);
    if (status != PTXGEN_OK || strlen(*out) == size)
        return status;
    free(*out);
    *out = NULL;
    return cli_fail(err, PTXGEN_EINVAL, "%s is no text file", path);
}
