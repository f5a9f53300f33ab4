/* ptxgen prewarm: many kernels into the cache, several at a time. */
#include "command/file.h"
#include "command/json.h"
#include "command/command.h"
#include "command/progress.h"

#include "ptxgen/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One kernel of the manifest, and what became of it. */
typedef struct request {
    char *family, *params; /* owned */
    int line;
    char *kernel; /* owned; family and canonical parameters, NULL when it is refused */
    bool again;   /* an earlier line names the same kernel */
    ptxgen_status status;
    char *message; /* owned; of a failure, else NULL */
} request;

typedef struct manifest {
    request *requests;     /* owned */
    size_t count, kernels; /* kernels: without those that come again */
} manifest;

/* ---- the file -------------------------------------------------------------------------------- */

/* `params` without the word arch=..., and with ` arch=` + arch (n bytes) when arch is given. */
static char *with_arch(const char *params, const char *arch, size_t n)
{
    char *out = cli_calloc(strlen(params) + n + 8, 1), *at = out;
    for (const char *p = params; *p;) {
        p += strspn(p, " \t");
        const size_t length = strcspn(p, " \t");
        if (length > 0 && !(arch && strncmp(p, "arch=", 5) == 0))
            at += sprintf(at, "%s%.*s", at == out ? "" : " ", (int)length, p);
        p += length;
    }
    if (arch)
        sprintf(at, "%sarch=%.*s", at == out ? "" : " ", (int)n, arch);
    return out;
}

static size_t arch_count(const char *list)
{
    size_t n = 1;
    for (const char *p = list; p && *p; p++)
        n += *p == ',';
    return n;
}

/* Receives the lines of a manifest. */
typedef struct reader {
    manifest *m;
    const char *archs; /* NULL: as the line says */
    size_t room;
} reader;

/* The requests of one line: one, or one for each architecture of the list. */
static bool add_requests(void *user, const ptxgen_manifest_line *line)
{
    reader *r = user;
    manifest *m = r->m;
    if (m->count + arch_count(r->archs) > r->room) {
        r->room = r->room * 2 + arch_count(r->archs);
        request *more = cli_calloc(r->room, sizeof *more);
        if (m->count > 0)
            memcpy(more, m->requests, m->count * sizeof *more);
        free(m->requests);
        m->requests = more;
    }
    const char *arch = r->archs;
    do {
        const size_t n = arch ? strcspn(arch, ",") : 0;
        m->requests[m->count++] = (request){.family = cli_format("%s", line->family),
                                            .params = with_arch(line->params, arch, n),
                                            .line = line->number};
        arch = arch && arch[n] == ',' ? arch + n + 1 : NULL;
    } while (arch);
    return true;
}

static ptxgen_status read_manifest(const char *path, const char *archs, manifest *m,
                                   ptxgen_error *err)
{
    char *text;
    size_t size;
    reader r = {m, archs, 0};
    ptxgen_status status = cli_read_file(path, &text, &size, err);
    if (status != PTXGEN_OK)
        return status;
    status = ptxgen_manifest_parse(text, size, add_requests, &r, err);
    free(text);
    if (status == PTXGEN_EPARSE) /* an input file is wrong, no PTX */
        return cli_fail(err, PTXGEN_EINVAL, "%s: %s", path, err->message);
    if (status == PTXGEN_OK && m->count == 0)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s names no kernel: one \"FAMILY name=value ...\" a line", path);
    return status;
}

static int by_kernel(const void *a, const void *b)
{
    const request *x = *(request *const *)a, *y = *(request *const *)b;
    if (!x->kernel || !y->kernel)
        return (x->kernel != NULL) - (y->kernel != NULL);
    const int d = strcmp(x->kernel, y->kernel);
    return d ? d : (x > y) - (x < y);
}

/* Lines that are written differently may name one kernel. */
static void find_repetitions(manifest *m, ptxgen *chooser)
{
    request **sorted = cli_calloc(m->count, sizeof *sorted);
    for (size_t i = 0; i < m->count; i++) {
        char canonical[1024];
        request *r = sorted[i] = &m->requests[i];
        if (ptxgen_problem_params(chooser, r->family, r->params, canonical, sizeof canonical,
                                  NULL) == PTXGEN_OK)
            r->kernel = cli_format("%s %s", r->family, canonical);
    }
    qsort(sorted, m->count, sizeof *sorted, by_kernel);
    m->kernels = m->count;
    for (size_t i = 1; i < m->count; i++) {
        if (sorted[i]->kernel && sorted[i - 1]->kernel &&
            strcmp(sorted[i]->kernel, sorted[i - 1]->kernel) == 0) {
            sorted[i]->again = true;
            m->kernels--;
        }
    }
    free(sorted);
}

static void free_manifest(manifest *m)
{
    for (size_t i = 0; i < m->count; i++) {
        free(m->requests[i].family);
        free(m->requests[i].params);
        free(m->requests[i].kernel);
        free(m->requests[i].message);
    }
    free(m->requests);
}

/* ---- compiling ------------------------------------------------------------------------------- */

typedef struct crew {
    const cli_args *args;
    manifest *m;
    ptxgen *ctx;          /* NULL in a dry run: the lines are only checked */
    ptxgen *chooser;      /* in memory only: what kernel a problem takes */
    pthread_mutex_t lock; /* of all below */
    size_t next, assembled, cached, failed;
    int code; /* of the first failure */
    cli_progress bar;
} crew;

static void note(crew *c, request *r, const ptxgen_kernel *kernel, const ptxgen_error *err)
{
    pthread_mutex_lock(&c->lock);
    if (r->status != PTXGEN_OK) {
        r->message = cli_format("%s", err->message);
        cli_progress_clear(&c->bar);
        cli_say("%s:%d: %s %s: %s", c->args->words[0], r->line, r->family, r->params, err->message);
        c->failed++;
        if (c->code == CLI_OK)
            c->code = cli_exit_for(r->status);
    } else if (kernel) {
        ptxgen_kernel_info info = {.size = sizeof info};
        ptxgen_kernel_describe(kernel, &info);
        const bool assembled = info.origin == PTXGEN_ORIGIN_ASSEMBLED;
        c->assembled += assembled;
        c->cached += !assembled;
        if (c->args->set.verbose) {
            cli_progress_clear(&c->bar);
            cli_say("%s %s: %s", info.family, info.params, assembled ? "assembled" : "was there");
        }
    }
    cli_progress_step(&c->bar, r->params);
    pthread_mutex_unlock(&c->lock);
}

static const char *params_of(const request *r)
{
    return r->kernel + strlen(r->family) + 1;
}

/* With a remote store machines that have one list take each what the others have not begun, and the
 * rest as it comes: that is for the threads behind the calls, who get all of the list. */
static void begin_ahead(crew *c)
{
    for (size_t i = 0; c->ctx && cli_remote_place(c->ctx) && i < c->m->count; i++) {
        const request *r = &c->m->requests[i];
        if (r->kernel && !r->again &&
            ptxgen_prefetch(c->ctx, r->family, params_of(r), NULL) != PTXGEN_OK)
            return; /* the queue is full: each is asked for again below */
    }
}

static void wait_ahead(const crew *c, const request *r)
{
    if (!cli_remote_place(c->ctx) ||
        ptxgen_prefetch(c->ctx, r->family, params_of(r), NULL) != PTXGEN_OK)
        return;
    while (ptxgen_poll(c->ctx, r->family, params_of(r), NULL) == PTXGEN_EPENDING)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static ptxgen_status compile(const crew *c, const request *r, ptxgen_kernel **kernel,
                             ptxgen_error *err)
{
    wait_ahead(c, r);
    return ptxgen_compile(c->ctx, r->family, params_of(r), kernel, err);
}

static void *work(void *user)
{
    crew *c = user;
    for (;;) {
        pthread_mutex_lock(&c->lock);
        const size_t i = c->next < c->m->count ? c->next++ : c->m->count;
        pthread_mutex_unlock(&c->lock);
        if (i == c->m->count)
            return NULL;
        request *r = &c->m->requests[i];
        if (r->again)
            continue;
        ptxgen_error err = {0};
        ptxgen_kernel *kernel = NULL;
        char canonical[1024];
        if (!r->kernel) /* refused before; for the reason */
            r->status = ptxgen_problem_params(c->chooser, r->family, r->params, canonical,
                                              sizeof canonical, &err);
        else if (c->ctx)
            r->status = compile(c, r, &kernel, &err);
        note(c, r, kernel, &err);
        ptxgen_kernel_unref(kernel);
    }
}

static int64_t jobs_of(const cli_args *args)
{
    return args->set.jobs ? args->set.jobs : sysconf(_SC_NPROCESSORS_ONLN);
}

static void work_together(crew *c)
{
    int64_t jobs = jobs_of(c->args);
    if (jobs > (int64_t)c->m->count)
        jobs = (int64_t)c->m->count;
    if (jobs < 1)
        jobs = 1;
    pthread_t *threads = cli_calloc((size_t)jobs, sizeof *threads);
    int64_t started = 0;
    begin_ahead(c);
    while (started < jobs - 1 && pthread_create(&threads[started], NULL, work, c) == 0)
        started++;
    work(c); /* this thread is one of them */
    for (int64_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

/* A run that keeps nothing would look like a success: the folder is judged before anything is
 * compiled. */
static ptxgen_status check_cache(ptxgen *ctx, ptxgen_error *err)
{
    ptxgen_cache *cache = NULL;
    ptxgen_cache_info info = {.size = sizeof info};
    const ptxgen_cache_options options = {.size = sizeof options, .create = true};
    ptxgen_cache_get_info(ctx, &info);
    if (!info.dir || info.dir[0] == '\0')
        return cli_fail(err, PTXGEN_EIO,
                        "there is no cache folder to compile into (--cache-dir \"\", "
                        "PTXGEN_CACHE=off, or no home): name one with --cache-dir");
    ptxgen_status status = ptxgen_cache_open(info.dir, &options, &cache, err);
    const bool pack = status == PTXGEN_OK && ptxgen_cache_is_pack(cache);
    ptxgen_cache_close(cache);
    if (pack || status == PTXGEN_EPARSE)
        return cli_fail(err, PTXGEN_EIO, "%s is a file; name a folder with --cache-dir", info.dir);
    if (status == PTXGEN_OK && access(info.dir, W_OK | X_OK) != 0)
        return cli_fail(err, PTXGEN_EIO, "the cache folder '%s' cannot be written: %s", info.dir,
                        strerror(errno));
    return status;
}

/* Full disk and the like: kernels were assembled and not kept. */
static ptxgen_status check_stored(const crew *c, ptxgen_error *err)
{
    ptxgen_cache_info info = {.size = sizeof info};
    ptxgen_cache_get_info(c->ctx, &info);
    if (info.disk_errors == 0)
        return PTXGEN_OK;
    return cli_fail(err, PTXGEN_EIO,
                    "%llu files of the cache folder %s could not be read or written; --log warning "
                    "says why",
                    (unsigned long long)info.disk_errors, info.dir);
}

static cJSON *failures_json(const manifest *m)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->count; i++) {
        const request *r = &m->requests[i];
        if (r->status == PTXGEN_OK)
            continue;
        cJSON *o = cJSON_CreateObject();
        cli_json_integer(o, "line", r->line);
        cJSON_AddStringToObject(o, "family", r->family);
        cJSON_AddStringToObject(o, "params", r->params);
        cJSON_AddStringToObject(o, "status", ptxgen_status_name(r->status));
        cJSON_AddStringToObject(o, "message", r->message);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static void print_result(const crew *c)
{
    const cli_settings *set = &c->args->set;
    if (set->json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddBoolToObject(root, "dry_run", set->dry_run);
        cli_json_integer(root, "lines", (int64_t)c->m->count);
        cli_json_integer(root, "kernels", (int64_t)c->m->kernels);
        cli_json_integer(root, "assembled", (int64_t)c->assembled);
        cli_json_integer(root, "cached", (int64_t)c->cached);
        cli_json_integer(root, "failed", (int64_t)c->failed);
        cJSON_AddItemToObject(root, "failures", failures_json(c->m));
        cli_json_print(root);
    } else if (set->dry_run) {
        printf("%s would be compiled, %zu refused\n",
               cli_count(c->m->kernels - c->failed, "kernel", "kernels"), c->failed);
    } else {
        printf("%s: %zu assembled, %zu in the cache already, %zu failed\n",
               cli_count(c->m->kernels, "kernel", "kernels"), c->assembled, c->cached, c->failed);
    }
    if (!set->json && c->m->kernels < c->m->count)
        printf("%s of the manifest named a kernel again\n",
               cli_count(c->m->count - c->m->kernels, "line", "lines"));
}

static int run(const cli_args *args)
{
    if (args->count != 1)
        return cli_usage_error(&args->set,
                               "which kernels? `ptxgen prewarm FILE`, a line of it is \"FAMILY "
                               "name=value ...\"");
    ptxgen_error err = {0};
    manifest m = {0};
    crew c = {.args = args, .m = &m, .lock = PTHREAD_MUTEX_INITIALIZER};
    ptxgen_status status = read_manifest(args->words[0], args->set.arch, &m, &err);
    cli_settings memory_only = args->set, set = args->set;
    memory_only.cache_dir = "";
    set.jobs = jobs_of(args);
    if (status == PTXGEN_OK)
        status = cli_context(&memory_only, &c.chooser, &err);
    if (status == PTXGEN_OK && !args->set.dry_run)
        status = cli_context_for_folder(&set, &c.ctx, &err);
    if (status == PTXGEN_OK && c.ctx)
        status = check_cache(c.ctx, &err);
    if (status == PTXGEN_OK) {
        find_repetitions(&m, c.chooser);
        c.bar = cli_progress_begin("compiling", m.kernels);
        work_together(&c);
        cli_progress_end(&c.bar);
        if (c.ctx)
            status = check_stored(&c, &err);
    }
    if (status == PTXGEN_OK)
        print_result(&c);
    ptxgen_destroy(c.ctx);
    ptxgen_destroy(c.chooser);
    free_manifest(&m);
    return status == PTXGEN_OK ? c.code : cli_report(&args->set, &err);
}

/* A dry run opens nothing. */
static const char *reads(const cli_args *args)
{
    return args->set.dry_run ? "arch jobs dry-run verbose json" : NULL;
}

const cli_command cli_prewarm = {
    .name = "prewarm",
    .usage = "FILE [--arch LIST] [-j N]",
    .summary = "compile many kernels into the cache",
    .text = "Compiles the kernels that FILE names into the cache, so that no process has to\n"
            "assemble them later. A line is \"FAMILY name=value ...\": a kernel's parameters,\n"
            "or a problem's extents (m=4096 n=14336 k=4096), which stand for the kernel that\n"
            "a call of them takes; a value may be a list (dtype=f16,bf16); # is a comment;\n"
            "FILE may be -, standard input. A program writes its lines to PTXGEN_RECORD.\n"
            "--arch compiles each line for each of a list of architectures (sm_90 and sm_90a\n"
            "are one: a kernel has the target that it needs). A line that fails is reported\n"
            "and the others go on; the exit code is the first failure's; 5, before anything\n"
            "is compiled, when the cache folder cannot be used. Needs an assembler, no GPU.\n",
    .examples = "  ptxgen prewarm kernels.txt --cache-dir /srv/ptxgen\n"
                "  ptxgen prewarm kernels.txt --arch sm_90,sm_100 -j 8\n"
                "  echo 'gather_rows rows=9 src_rows=9 n=512' | ptxgen prewarm -\n",
    .options = "arch jobs readable dry-run verbose assembler toolkit cache-dir json log help",
    .reads = reads,
    .run = run,
};
