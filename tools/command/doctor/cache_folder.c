/* The cache folder. Whether it is used is the library's decision; here it is described and
 * tried. */
#include "command/cache/cache.h"
#include "command/doctor/findings.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char remedy[] = "Name another folder with PTXGEN_CACHE_DIR or --cache-dir";

static void add_folder_facts(finding *a, const char *dir, const struct stat *s)
{
    struct statvfs space;
    finding_text(a, "path", dir);
    if (!s)
        return;
    finding_number(a, "owner", s->st_uid);
    char *mode = cli_format("%04o", (unsigned)s->st_mode & 07777);
    finding_text(a, "mode", mode);
    free(mode);
    if (statvfs(dir, &space) == 0)
        finding_number(a, "free_bytes", (int64_t)(space.f_bavail * space.f_frsize));
}

static char *describe(const char *dir, const struct stat *s)
{
    const struct passwd *who = getpwuid(s->st_uid);
    char *owner = who ? cli_format("%s", who->pw_name) : cli_format("user %u", (unsigned)s->st_uid);
    char *text = cli_format("%s, owner %s, mode %04o", dir, owner, (unsigned)s->st_mode & 07777);
    free(owner);
    return text;
}

/* A folder that the library does not use: its own words, and what to do about them. */
static void say_why_unused(findings *f, const char *dir)
{
    ptxgen_error err = {0};
    ptxgen_cache *cache = NULL;
    struct stat s;
    const bool there = lstat(dir, &s) == 0;
    const ptxgen_status status = ptxgen_cache_open(dir, NULL, &cache, &err);
    finding *a;
    if (status == PTXGEN_OK && ptxgen_cache_is_pack(cache)) {
        a = finding_add(f, "cache", BROKEN, "%s is a pack, which is read only. %s", dir, remedy);
    } else if (there && !S_ISDIR(s.st_mode) && !S_ISLNK(s.st_mode)) {
        a = finding_add(f, "cache", BROKEN, "%s is no folder. %s", dir, remedy);
    } else if (there && S_ISDIR(s.st_mode)) {
        char *base = describe(dir, &s);
        a = finding_add(f, "cache", BROKEN, "%s (%s). %s", err.message, base + strlen(dir) + 2,
                        remedy);
        free(base);
    } else {
        a = finding_add(f, "cache", BROKEN, "%s. %s", err.message, remedy);
    }
    add_folder_facts(a, dir, there ? &s : NULL);
    ptxgen_cache_close(cache);
}

/* Makes a folder in `above` and removes it; 0 or an errno. Asking for rights says too much:
 * /proc. */
static int try_to_make(const char *above)
{
    char *trial = cli_format("%s/.ptxgen-trial.XXXXXX", strcmp(above, "/") ? above : "");
    const int why = mkdtemp(trial) ? 0 : errno;
    if (!why)
        rmdir(trial);
    free(trial);
    return why;
}

/* A folder that is not there: is it possible to make it, where the nearest one that exists is? */
static void look_above(findings *f, const char *dir)
{
    char *above = cli_format("%s", dir);
    struct stat s;
    while (strcmp(above, "/") != 0 && lstat(above, &s) != 0 &&
           (errno == ENOENT || errno == ENOTDIR)) {
        char *slash = strrchr(above, '/');
        slash[slash == above] = '\0';
    }
    const int why = try_to_make(above);
    finding *a =
        why ? finding_add(f, "cache", BROKEN, "the folder '%s' cannot be made in %s: %s. %s", dir,
                          above, strerror(why), remedy)
            : finding_add(f, "cache", WORKS,
                          "%s is not there yet; it is made when the first kernel is compiled", dir);
    add_folder_facts(a, dir, NULL);
    free(above);
}

/* What lies in the place of one of the cache's own files. */
static const char *odd_file(const char *dir)
{
    static const char *const names[] = {"lock", "usage", "stats"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stat s;
        char *path = cli_format("%s/%s", dir, names[i]);
        const bool odd = lstat(path, &s) == 0 && !S_ISREG(s.st_mode);
        free(path);
        if (odd)
            return names[i];
    }
    return NULL;
}

static void try_folder(findings *f, const char *dir, const char *base, finding *a)
{
    ptxgen_error err = {0};
    ptxgen_cache *cache = NULL;
    bool locks = false;
    ptxgen_status status = ptxgen_cache_open(dir, NULL, &cache, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_cache_try(cache, &locks, &err);
    ptxgen_cache_close(cache);
    if (status != PTXGEN_OK) {
        free(a->text);
        a->state = BROKEN;
        a->text = cli_format("%s: %s", base, err.message);
        return;
    }
    if (locks)
        finding_add(f, "locks", WORKS, "processes keep each other from compiling the same kernel");
    else
        finding_add(f, "locks", MISSING,
                    "none on this file system: a kernel may be compiled by several processes at "
                    "once; a folder on a local disk avoids that");
}

static void look_at_used(findings *f, const char *dir, const struct stat *s)
{
    char *base = describe(dir, s);
    struct statvfs space;
    const double free_gib =
        statvfs(dir, &space) == 0 ? (double)space.f_bavail * (double)space.f_frsize / 0x1p30 : -1;
    const char *odd = odd_file(dir);
    finding *a;
    if (odd) {
        a = finding_add(f, "cache", BROKEN, "%s: %s/%s is no file: remove it", base, dir, odd);
    } else if (access(dir, W_OK | X_OK) == 0) {
        a = finding_add(f, "cache", WORKS, "%s, %.1f GiB free; an entry was stored and read back",
                        base, free_gib);
        try_folder(f, dir, base, a);
    } else if (s->st_uid == geteuid()) {
        a = finding_add(f, "cache", BROKEN,
                        "%s: entries are read, but not writable, so nothing is kept. chmod u+wx %s",
                        base, dir);
    } else {
        a = finding_add(f, "cache", WORKS,
                        "%s: entries are read; it is not yours, so new kernels are not kept", base);
    }
    add_folder_facts(a, dir, s);
    free(base);
}

void findings_look_at_cache(findings *f, const cli_settings *set, ptxgen *ctx)
{
    ptxgen_cache_info info = {.size = sizeof info};
    struct stat s;
    ptxgen_cache_get_info(ctx, &info);
    if (!info.dir || info.dir[0] == '\0')
        finding_add(f, "cache", MISSING, "memory only, every process assembles anew: %s",
                    cache_why_none(set));
    else if (lstat(info.dir, &s) != 0 && errno == ENOENT)
        look_above(f, info.dir);
    else if (info.on_disk && stat(info.dir, &s) == 0)
        look_at_used(f, info.dir, &s);
    else
        say_why_unused(f, info.dir);
}

void findings_look_at_remote(findings *f, ptxgen *ctx)
{
    ptxgen_error err = {0};
    double us = 0;
    const char *place = cli_remote_place(ctx);
    if (place) {
        const bool there = ptxgen_cache_remote_ping(ctx, &us, &err) == PTXGEN_OK;
        finding *a =
            there ? finding_add(f, "remote", WORKS, "%s answers in %.1f ms", place, us / 1000)
                  : finding_add(f, "remote", BROKEN,
                                "%s: %s. Kernels are compiled here meanwhile, and it is "
                                "tried again",
                                place, err.message);
        finding_text(a, "place", place);
        if (there)
            finding_number(a, "microseconds", (int64_t)us);
    }
}
