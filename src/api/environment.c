/* Reads the environment, once per context. Nothing is read in a setuid or setgid process, whose environment
 * belongs to somebody else. */
#include "api/context.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *absolute(const char *path)
{
    return path && path[0] == '/' ? path : NULL;
}

/* PTXGEN_CACHE_DIR, XDG_CACHE_HOME/ptxgen, HOME/.cache/ptxgen, the password entry's home;
 * a relative path is not followed, since it would mean another folder in every working directory:
 * that of PTXGEN_CACHE_DIR is kept, for ptxgen_create to refuse. */
static void find_cache_dir(char *out, size_t size)
{
    const char *dir = secure_getenv("PTXGEN_CACHE_DIR");
    out[0] = 0;
    int n = 0;
    if (dir) {
        n = snprintf(out, size, "%s", dir);
    } else if ((dir = absolute(secure_getenv("XDG_CACHE_HOME")))) {
        n = snprintf(out, size, "%s/ptxgen", dir);
    } else if ((dir = absolute(secure_getenv("HOME")))) {
        n = snprintf(out, size, "%s/.cache/ptxgen", dir);
    } else {
        struct passwd entry, *found = NULL;
        char buffer[4096];
        if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found &&
            absolute(entry.pw_dir))
            n = snprintf(out, size, "%s/.cache/ptxgen", entry.pw_dir);
    }
    if (n < 0 || (size_t)n >= size)
        out[0] = 0;
}

void pg_environment_read(pg_environment *out)
{
    find_cache_dir(out->cache_dir, sizeof out->cache_dir);
    out->cache = secure_getenv("PTXGEN_CACHE");
    out->assembler = secure_getenv("PTXGEN_ASSEMBLER");
    out->device = secure_getenv("PTXGEN_DEVICE");
    out->toolkit = secure_getenv("PTXGEN_TOOLKIT");
    out->log_level = secure_getenv("PTXGEN_LOG");
    out->cuda_home = secure_getenv("CUDA_HOME");
    out->path = secure_getenv("PATH");
}
