/* A relative XDG path or HOME is not followed: it would mean another folder in every working
 * directory. */
#include "api/environment.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *pg_environment(const char *variable)
{
    return secure_getenv(variable);
}

static const char *absolute(const char *path)
{
    return path && path[0] == '/' ? path : NULL;
}

/* base/tail, or "" when base is no absolute path or the result is too long. */
static void join(char out[PG_PATH_MAX + 1], const char *base, const char *tail)
{
    const int n = base ? snprintf(out, PG_PATH_MAX + 1, "%s%s", base, tail) : -1;
    if (n < 0 || n > PG_PATH_MAX)
        out[0] = 0;
}

/* $xdg/tail, else home/below/tail. */
static void user_path(char out[PG_PATH_MAX + 1], const char *xdg, const char *below,
                      const char *tail)
{
    char under[128], buffer[4096];
    struct passwd entry, *found = NULL;
    const char *base = absolute(secure_getenv(xdg)), *home = absolute(secure_getenv("HOME"));
    snprintf(under, sizeof under, "%s%s", below, tail);
    if (!base && !home && getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found)
        home = absolute(entry.pw_dir);
    join(out, base ? base : home, base ? tail : under);
}

void pg_default_cache_dir(char out[PG_PATH_MAX + 1])
{
    user_path(out, "XDG_CACHE_HOME", "/.cache", "/ptxgen");
}

void pg_user_config_path(char out[PG_PATH_MAX + 1])
{
    user_path(out, "XDG_CONFIG_HOME", "/.config", "/ptxgen/config.json");
}

void pg_user_toolkit_dir(char out[PG_PATH_MAX + 1])
{
    user_path(out, "XDG_DATA_HOME", "/.local/share", "/ptxgen/cuda");
}
