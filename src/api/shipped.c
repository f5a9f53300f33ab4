/* dladdr says where the library, or the program that it is linked into, was loaded from; so a moved
 * tree, a wheel and a container find their own. */
#include "api/shipped.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PTXGEN_LIBRARY_FOLDER
#define PTXGEN_LIBRARY_FOLDER "lib"
#endif

/* The folder of this code's file, without links; false when it cannot be told. */
static bool own_folder(char out[PG_PATH_MAX + 1])
{
    Dl_info info;
    char *real;
    if (!dladdr((const void *)pg_shipped_path, &info) || !info.dli_fname ||
        !(real = realpath(info.dli_fname, NULL)))
        return false;
    char *slash = strrchr(real, '/');
    const bool fits = slash && (size_t)(slash - real) <= PG_PATH_MAX;
    if (fits)
        snprintf(out, PG_PATH_MAX + 1, "%.*s", (int)(slash - real), real);
    free(real);
    return fits;
}

void pg_shipped_path(const char *name, char out[PG_PATH_MAX + 1])
{
    static const char *const places[] = {"ptxgen", ".", "../" PTXGEN_LIBRARY_FOLDER "/ptxgen",
                                         "../lib/ptxgen"};
    char folder[PG_PATH_MAX + 1], path[PG_PATH_MAX + 1];
    out[0] = 0;
    if (!own_folder(folder))
        return;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const int n = snprintf(path, sizeof path, "%s/%s/%s", folder, places[i], name);
        char *real = n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0
                         ? realpath(path, NULL)
                         : NULL;
        if (real && strlen(real) <= PG_PATH_MAX)
            strcpy(out, real);
        free(real);
        if (out[0])
            return;
    }
}
