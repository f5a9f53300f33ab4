/* See sized.h. */
#include "base/sized.h"

#include <string.h>

enum { LARGEST = 4096 }; /* bytes; no version of a struct gets there, uninitialised memory does */

ptxgen_status pg_sized_take(void *to, size_t bytes, const void *from, const char *what,
                            const char *type, ptxgen_error *err)
{
    size_t size = 0;
    if (from)
        memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > LARGEST)
        return pg_fail(err, PTXGEN_EINVAL, "%s.size is %zu: set it to sizeof(%s)", what, size,
                       type);
    memcpy(to, from, size < bytes ? size : bytes);
    return PTXGEN_OK;
}

void pg_sized_give(void *to, const void *from, size_t bytes)
{
    size_t size;
    memcpy(&size, to, sizeof size);
    if (size > bytes)
        size = bytes;
    if (size < sizeof size)
        return;
    memcpy(to, from, size);
    memcpy(to, &size, sizeof size);
}
