/* ptxgen doctor: what is here, what works, what does not and why. */
#include "command/cache/cache.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* One answer: what was looked at, whether it works, what there is to know or to do. */
typedef struct finding {
    const char *topic;
    enum { WORKS, MISSING, BROKEN } state;
    char *text; /* owned */
} finding;

enum { MAX_FINDINGS = 24 };

typedef struct findings {
    finding all[MAX_FINDINGS];
    size_t count;
} findings;

static void add(findings *f, const char *topic, int state, char *text)
{
    if (f->count == MAX_FINDINGS)
        free(text);
    else
        f->all[f->count++] = (finding){.topic = topic, .state = state, .text = text};
}

static void look_at_parts(findings *f, ptxgen *ctx)
{
    ptxgen_part p;
    for (size_t i = 0; ptxgen_part_at(ctx, i, &p); i++) {
        const char *note = p.note ? p.note : "";
        if (p.found)
            add(f, p.name, WORKS,
                cli_format("%s%s%s%s%s", p.version, p.path[0] ? ", " : "", p.path,
                           note[0] ? "; " : "", note));
        else
            add(f, p.name, MISSING, cli_format("%s", note));
    }
}

static void look_at_device(findings *f, ptxgen *ctx)
{
    ptxgen_error err = {0};
    ptxgen_device_info d = {.size = sizeof d};
    if (ptxgen_device_get_info(ctx, &d, &err) != PTXGEN_OK) {
        add(f, "device", MISSING, cli_format("%s", err.message));
        return;
    }
    if (d.kind == PTXGEN_DEVICE_EMULATOR)
        add(f, "device", WORKS,
            cli_format("%s: kernels run on the CPU (no GPU was found or wanted)",
                       d.name[0] ? d.name : "emulator"));
    else
        add(f, "device", WORKS,
            cli_format("%s (device %d), %s, %d SMs, driver for CUDA %d.%d", d.name, d.ordinal,
                       ptxgen_arch_name(d.arch), d.sm_count, d.driver_version / 1000,
                       d.driver_version % 1000 / 10));
}

static char *owner_name(uid_t uid)
{
    const struct passwd *who = getpwuid(uid);
    return who ? cli_format("%s", who->pw_name) : cli_format("user %u", (unsigned)uid);
}

/* A folder that the library does not use: its own words, and what to do about them. */
static void say_why_unused(findings *f, const char *dir)
{
    ptxgen_error err = {0};
    ptxgen_cache *cache = NULL;
    const ptxgen_cache_options options = {.size = sizeof options, .create = true};
    const char *remedy = "Name another folder with PTXGEN_CACHE_DIR or --cache-dir";
    struct stat s;
    if (ptxgen_cache_open(dir, &options, &cache, &err) == PTXGEN_OK && ptxgen_cache_is_pack(cache))
        add(f, "cache", BROKEN, cli_format("%s is a pack, which is read only. %s", dir, remedy));
    else if (cache)
        add(f, "cache", BROKEN, cli_format("%s was not usable a moment ago; try again", dir));
    else if (lstat(dir, &s) == 0 && !S_ISDIR(s.st_mode) && !S_ISLNK(s.st_mode))
        add(f, "cache", BROKEN, cli_format("%s is no folder. %s", dir, remedy));
    else if (lstat(dir, &s) == 0 && S_ISDIR(s.st_mode)) {
        char *owner = owner_name(s.st_uid);
        add(f, "cache", BROKEN,
            cli_format("%s (owner %s, mode %04o). %s", err.message, owner,
                       (unsigned)s.st_mode & 07777, remedy));
        free(owner);
    } else
        add(f, "cache", BROKEN, cli_format("%s. %s", err.message, remedy));
    ptxgen_cache_close(cache);
}

/* Whether the folder is used is the library's decision; here it is only described. */
static void look_at_cache(findings *f, const cli_settings *set, ptxgen *ctx)
{
    ptxgen_cache_info info = {.size = sizeof info};
    ptxgen_cache_get_info(ctx, &info);
    struct stat s;
    struct statvfs space;
    if (!info.dir || info.dir[0] == '\0') {
        add(f, "cache", MISSING,
            cli_format("memory only, every process assembles anew: %s", cache_why_none(set)));
        return;
    }
    if (!info.on_disk || stat(info.dir, &s) != 0) {
        say_why_unused(f, info.dir);
        return;
    }
    char *owner = owner_name(s.st_uid);
    char *base =
        cli_format("%s, owner %s, mode %04o", info.dir, owner, (unsigned)s.st_mode & 07777);
    const double free_gib = statvfs(info.dir, &space) == 0
                                ? (double)space.f_bavail * (double)space.f_frsize / 0x1p30
                                : -1;
    if (access(info.dir, W_OK | X_OK) == 0)
        add(f, "cache", WORKS, cli_format("%s, %.1f GiB free", base, free_gib));
    else if (s.st_uid == geteuid())
        add(f, "cache", BROKEN,
            cli_format("%s: entries are read, but not writable, so nothing is kept. chmod u+wx %s",
                       base, info.dir));
    else
        add(f, "cache", WORKS,
            cli_format("%s: entries are read; it is not yours, so new kernels are not kept", base));
    free(base);
    free(owner);
}

/* Does the whole way from a problem to a cubin work? A kernel of the first family, nothing kept. */
static void try_compile(findings *f, const cli_settings *set)
{
    ptxgen_error err = {0};
    ptxgen *ctx;
    ptxgen_kernel *kernel = NULL;
    cli_settings memory_only = *set;
    memory_only.cache_dir = "";
    if (ptxgen_family_count() == 0)
        return;
    if (cli_context(&memory_only, &ctx, &err) != PTXGEN_OK ||
        ptxgen_emit(ctx, ptxgen_family_name(0), "", &kernel, &err) != PTXGEN_OK) {
        add(f, "emit", BROKEN, cli_format("%s", err.message));
        ptxgen_destroy(ctx);
        return;
    }
    add(f, "emit", WORKS, cli_format("kernels are written"));
    ptxgen_kernel_unref(kernel);
    kernel = NULL;
    if (ptxgen_compile(ctx, ptxgen_family_name(0), "", &kernel, &err) != PTXGEN_OK) {
        add(f, "compile", err.status == PTXGEN_EMISSING ? MISSING : BROKEN,
            cli_format("%s", err.message));
    } else {
        ptxgen_kernel_info info = {.size = sizeof info};
        ptxgen_kernel_describe(kernel, &info);
        add(f, "compile", WORKS,
            cli_format("kernels are assembled, by %s in %.0f ms", info.assembler,
                       info.assemble_us / 1000));
    }
    ptxgen_kernel_unref(kernel);
    ptxgen_destroy(ctx);
}

static int print(const cli_settings *set, findings *f)
{
    static const char *const states[] = {"ok", "missing", "broken"};
    int code = CLI_OK;
    cJSON *root = set->json ? cJSON_CreateObject() : NULL;
    cJSON *list = NULL;
    if (root) {
        cJSON_AddStringToObject(root, "version", ptxgen_version());
        list = cJSON_AddArrayToObject(root, "findings");
    } else {
        printf("ptxgen %s\n", ptxgen_version());
    }
    for (size_t i = 0; i < f->count; i++) {
        const finding *a = &f->all[i];
        if (a->state == BROKEN)
            code = CLI_NO;
        if (root) {
            cJSON *o = cJSON_CreateObject();
            cJSON_AddStringToObject(o, "topic", a->topic);
            cJSON_AddStringToObject(o, "state", states[a->state]);
            cJSON_AddStringToObject(o, "text", a->text);
            cJSON_AddItemToArray(list, o);
        } else {
            printf("%-14s %-8s %s\n", a->topic, states[a->state], a->text);
        }
        free(a->text);
    }
    if (root)
        cli_json_print(root);
    return code;
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    ptxgen *ctx;
    findings f = {0};
    if (args->count > 0)
        return cli_usage_error(&args->set, "'%s': doctor takes options only", args->words[0]);
    if (cli_context(&args->set, &ctx, &err) != PTXGEN_OK)
        return cli_report(&args->set, &err);
    look_at_parts(&f, ctx);
    look_at_device(&f, ctx);
    look_at_cache(&f, &args->set, ctx);
    try_compile(&f, &args->set);
    int code = print(&args->set, &f); /* before the context goes: it owns the parts' names */
    ptxgen_destroy(ctx);
    return code;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "say what is installed, what works, what does not and why",
    .text = "Looks at the CUDA driver and device, the toolkit parts and where they are,\n"
            "and the cache folder with its owner and mode; then writes and assembles one\n"
            "kernel. A missing part is no fault (exit code 0): its line says what to\n"
            "install. Something broken is exit code 1.\n",
    .examples = "  ptxgen doctor\n"
                "  ptxgen doctor --json\n",
    .options = "device assembler toolkit cache-dir json log help",
    .run = run,
};
