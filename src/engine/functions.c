/* The list of functions, and how one becomes PTX. */
#include "engine/functions.h"

#include "assemble/nvrtc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { KEY_FORMAT = 1 };

/* ---- keys ---- */

static void put_hash(pg_buf *key, const char *name, const char *text)
{
    char hex[33];
    pg_hash_hex(pg_hash(text, strlen(text)), hex);
    pg_buf_printf(key, "%s=xxh128:%s\n", name, hex);
}

/* Everything that decides the PTX but the architecture and what AUTO means. */
static void put_source_key(const pg_function *f, pg_buf *key)
{
    const ptxgen_function *s = &f->source;
    pg_buf_printf(key, "format=%d\nfamily=function\nlanguage=%s\nfile=%s\nname=%s\n", KEY_FORMAT,
                  s->language == PTXGEN_FUNCTION_CUDA ? "cuda" : "ptx", s->file,
                  s->name ? s->name : "");
    put_hash(key, "source", s->text);
    for (size_t i = 0; i < s->header_count; i++) {
        pg_buf_printf(key, "header.%zu=%s\n", i, s->headers[i].name);
        put_hash(key, "header.text", s->headers[i].text);
    }
    for (size_t i = 0; i < s->option_count; i++)
        pg_buf_printf(key, "option.%zu=%s\n", i, s->options[i]);
    pg_buf_printf(key, "division=%d\ncompiler=%s\nfixed=%s\n", (int)s->division, f->compiler,
                  s->language == PTXGEN_FUNCTION_CUDA ? pg_cuda_fixed_options : "");
}

/* ---- adding ---- */

static const char *copy(pg_arena *a, const char *text)
{
    return text ? pg_arena_strndup(a, text, strlen(text)) : NULL;
}

static bool has_line_break(const char *text)
{
    return text && strpbrk(text, "\n\r\"\\");
}

static ptxgen_status check_fields(const ptxgen_function *f, ptxgen_error *err)
{
    if (f->language != PTXGEN_FUNCTION_CUDA && f->language != PTXGEN_FUNCTION_PTX)
        return pg_fail(err, PTXGEN_EINVAL,
                       "function.language is %d: use PTXGEN_FUNCTION_CUDA or PTXGEN_FUNCTION_PTX",
                       (int)f->language);
    if (!f->text || !*f->text)
        return pg_fail(err, PTXGEN_EINVAL, "function.text is %s", f->text ? "empty" : "NULL");
    if ((unsigned)f->division > PTXGEN_DIVISION_FAST)
        return pg_fail(err, PTXGEN_EINVAL,
                       "function.division is %d: use a PTXGEN_DIVISION_ value, 0 to %d",
                       (int)f->division, (int)PTXGEN_DIVISION_FAST);
    if (has_line_break(f->file) || has_line_break(f->name))
        return pg_fail(err, PTXGEN_EINVAL,
                       "function.file and function.name take no quotes, backslashes, line breaks");
    if (f->language == PTXGEN_FUNCTION_PTX && (f->header_count || f->option_count))
        return pg_fail(err, PTXGEN_EINVAL, "headers and options are for CUDA C++: PTX takes none");
    if ((f->header_count && !f->headers) || (f->option_count && !f->options))
        return pg_fail(err, PTXGEN_EINVAL, "function.%s is NULL but its count is not 0",
                       f->header_count && !f->headers ? "headers" : "options");
    for (size_t i = 0; i < f->header_count; i++)
        if (!f->headers[i].name || !f->headers[i].text || has_line_break(f->headers[i].name))
            return pg_fail(err, PTXGEN_EINVAL, "function.headers[%zu] has no name or no text", i);
    for (size_t i = 0; i < f->option_count; i++)
        if (!f->options[i] || has_line_break(f->options[i]))
            return pg_fail(err, PTXGEN_EINVAL,
                           "function.options[%zu] is NULL or has a quote or a line break", i);
    return PTXGEN_OK;
}

static void copy_source(pg_function *f, const ptxgen_function *from)
{
    pg_arena *a = &f->arena;
    ptxgen_function *s = &f->source;
    *s = *from;
    const char *slash = from->file ? strrchr(from->file, '/') : NULL;
    s->text = copy(a, from->text);
    s->name = copy(a, from->name);
    s->file = copy(a, slash                                    ? slash + 1
                      : from->file                             ? from->file
                      : from->language == PTXGEN_FUNCTION_CUDA ? "function.cu"
                                                               : "function.ptx");
    ptxgen_header *headers = PG_NEW_ARRAY(a, ptxgen_header, from->header_count + 1);
    const char **options = PG_NEW_ARRAY(a, const char *, from->option_count + 1);
    for (size_t i = 0; headers && i < from->header_count; i++)
        headers[i] =
            (ptxgen_header){copy(a, from->headers[i].name), copy(a, from->headers[i].text)};
    for (size_t i = 0; options && i < from->option_count; i++)
        options[i] = copy(a, from->options[i]);
    s->headers = headers;
    s->options = options;
}

static void free_text(const pg_alloc *alloc, pg_function_text *t)
{
    pg_buf_fini(&t->ptx);
    pg_buf_fini(&t->log);
    pg_free(alloc, t, sizeof *t);
}

static void destroy(const pg_alloc *alloc, pg_function *f)
{
    for (pg_function_text *t = atomic_load(&f->texts), *next; t; t = next) {
        next = t->next;
        free_text(alloc, t);
    }
    pg_arena_fini(&f->arena);
    pg_free(alloc, f, sizeof *f);
}

static pg_cuda_request request_of(const pg_function *f)
{
    return (pg_cuda_request){.text = f->source.text,
                             .file = f->source.file,
                             .headers = (const pg_cuda_header *)f->source.headers,
                             .header_count = f->source.header_count,
                             .options = f->source.options,
                             .option_count = f->source.option_count,
                             .timeout_ms = f->source.timeout_ms};
}
_Static_assert(sizeof(pg_cuda_header) == sizeof(ptxgen_header), "the same two pointers");

static ptxgen_status make(pg_engine *e, const ptxgen_function *given, pg_function *f,
                          ptxgen_error *err)
{
    pg_buf key;
    pg_arena_init(&f->arena, &e->alloc);
    copy_source(f, given);
    if (f->arena.failed)
        return pg_fail_memory(err, 0);
    f->compiler = "";
    if (given->language == PTXGEN_FUNCTION_CUDA) {
        const pg_cuda_request request = request_of(f);
        PG_TRY(pg_cuda_check(&request, err));
        PG_TRY(pg_toolkit_nvrtc(e->toolkit, &f->compiler, err));
    }
    pg_buf_init(&key, &e->alloc);
    put_source_key(f, &key);
    f->id = (int64_t)(pg_hash(pg_buf_text(&key), key.len).lo >> 1);
    f->id += f->id == 0;
    const bool failed = key.failed;
    pg_buf_fini(&key);
    return failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

ptxgen_status pg_functions_add(pg_engine *e, const ptxgen_function *given, int64_t *id,
                               ptxgen_error *err)
{
    ptxgen_function taken = {0};
    PG_TRY(pg_sized_take(&taken, sizeof taken, given, "function", "ptxgen_function", err));
    PG_TRY(check_fields(&taken, err));
    pg_function *f = pg_alloc_zero(&e->alloc, sizeof *f);
    if (!f)
        return pg_fail_memory(err, sizeof *f);
    const ptxgen_status status = make(e, &taken, f, err);
    if (status != PTXGEN_OK || pg_functions_find(e, f->id)) {
        *id = f->id;
        destroy(&e->alloc, f);
        return status;
    }
    *id = f->id;
    f->next = atomic_load(&e->functions);
    while (!atomic_compare_exchange_weak(&e->functions, &f->next, f))
        ;
    return PTXGEN_OK;
}

const pg_function *pg_functions_find(const pg_engine *e, int64_t id)
{
    const pg_function *f = atomic_load_explicit(&((pg_engine *)e)->functions, memory_order_acquire);
    while (f && f->id != id)
        f = f->next;
    return f;
}

void pg_functions_destroy(pg_engine *e)
{
    for (pg_function *f = atomic_load(&e->functions), *next; f; f = next) {
        next = f->next;
        destroy(&e->alloc, f);
    }
}

/* ---- PTX ---- */

/* A text under way: the function, what is wanted, its key. */
typedef struct job {
    pg_engine *engine;
    pg_function *f;
    pg_function_text *text;
    pg_buf key;
} job;

/* The name of the function: given, or the only one that is defined and not hidden. */
static ptxgen_status find_name(const job *j, ptxgen_error *err)
{
    const ptxgen_function *s = &j->f->source;
    const pg_ptx_options options = {.file_name = s->file};
    pg_arena arena;
    pg_ptx_module *m;
    const char *found = NULL;
    int count = 0;
    pg_arena_init(&arena, &j->engine->alloc);
    ptxgen_status status =
        pg_ptx_load(&arena, pg_buf_text(&j->text->ptx), j->text->ptx.len, &options, &m, err);
    for (uint32_t i = 0; status == PTXGEN_OK && i < m->n_functions; i++) {
        const pg_ptx_function *f = &m->functions[i];
        const bool wanted = s->name ? !strcmp(s->name, f->name)
                                    : f->linkage == PG_LINKAGE_VISIBLE || m->n_functions == 1;
        if (!wanted || !f->has_body || f->is_entry)
            continue;
        found = f->name;
        count++;
    }
    if (status == PTXGEN_OK && count != 1)
        status =
            s->name ? pg_fail(err, PTXGEN_EINVAL, "%s defines no function '%s'%s", s->file, s->name,
                              s->language == PTXGEN_FUNCTION_CUDA ? ": is it extern \"C\"?" : "")
                    : pg_fail(err, PTXGEN_EINVAL,
                              count ? "%s defines %d functions that it does not hide: name one "
                                      "(function.name, or @FILE:NAME), or make the others static"
                                    : "%s defines %d functions that it does not hide: it must hold "
                                      "the one to call",
                              s->file, count);
    if (status == PTXGEN_OK)
        snprintf(j->text->own_name, sizeof j->text->own_name, "%.127s", found);
    pg_arena_fini(&arena);
    return status;
}

static const char *const fast_options[] = {"-prec-div=false", "-prec-sqrt=false"};

/* ---- the signature, judged by the C++ compiler ---- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The function's name in C++: given, or of the only 'extern "C"' in the text; "" when that is
 * not clear. */
static void name_in_source(const ptxgen_function *s, char *name, size_t size)
{
    static const char mark[] = "extern \"C\"";
    name[0] = 0;
    if (s->name) {
        snprintf(name, size, "%s", s->name);
        return;
    }
    const char *at = strstr(s->text, mark), *end = at ? at + strcspn(at, "({;") : NULL;
    if (!at || *end != '(' || strstr(at + 1, mark))
        return;
    while (end > at && (end[-1] == ' ' || end[-1] == '\n'))
        end--;
    const char *begin = end;
    while (begin > at && is_name(begin[-1]))
        begin--;
    snprintf(name, size, "%.*s", (int)(end - begin), begin);
}

/* One overload per number of parameters that may be given, and one for everything else. */
static void put_signature_check(const job *j, pg_buf *text)
{
    const pg_function_use *u = &j->text->use;
    char name[128];
    name_in_source(&j->f->source, name, sizeof name);
    if (!u->types || !name[0])
        return;
    pg_buf_puts(text, "\n#line 1 \"signature\"\nnamespace ptxgen {");
    const char *parameters = strchr(u->types, ',') + 2, *end = parameters;
    pg_buf_printf(text, "constexpr bool fits(%.*s (*)()) { return true; }",
                  (int)(parameters - 2 - u->types), u->types);
    while (*end) {
        end += strcspn(end, ",");
        pg_buf_printf(text, "constexpr bool fits(%.*s (*)(%.*s)) { return true; }",
                      (int)(parameters - 2 - u->types), u->types, (int)(end - parameters),
                      parameters);
        end += *end == ',';
    }
    pg_buf_printf(text,
                  "template <class T> constexpr bool fits(T) { return false; } }\n"
                  "static_assert(ptxgen::fits(&%s), \"'%s' must be %s; trailing parameters may be "
                  "left out\");\n",
                  name, name, u->signature);
}

static ptxgen_status compile_text(job *j, const pg_cuda_request *request, ptxgen_error *err)
{
    pg_cuda_request whole = *request;
    pg_buf text;
    pg_buf_init(&text, &j->engine->alloc);
    pg_buf_puts(&text, request->text);
    put_signature_check(j, &text);
    whole.text = pg_buf_text(&text);
    const double start = pg_clock_us();
    const ptxgen_status status = text.failed
                                     ? pg_fail_memory(err, 0)
                                     : pg_toolkit_compile_cuda(j->engine->toolkit, &whole,
                                                               &j->text->ptx, &j->text->log, err);
    j->text->compile_us = pg_clock_us() - start;
    pg_buf_fini(&text);
    return status;
}

static ptxgen_status compile(job *j, ptxgen_error *err)
{
    const char *options[64];
    pg_cuda_request request = request_of(j->f);
    size_t n = 0;
    for (size_t i = 0; !j->text->use.exact && i < 2; i++)
        options[n++] = fast_options[i];
    for (size_t i = 0; i < request.option_count && n < 64; i++) /* a later option wins */
        options[n++] = request.options[i];
    if (n == 64)
        return pg_fail(err, PTXGEN_EINVAL, "%zu options, more than 60", request.option_count);
    request.options = options;
    request.option_count = n;
    request.arch = j->text->use.arch;
    j->text->origin = PTXGEN_ORIGIN_ASSEMBLED;
    return compile_text(j, &request, err);
}

/* What the disk keeps; a refusal of NVRTC's too. */
static void store(job *j, ptxgen_status status, const ptxgen_error *err)
{
    pg_cache_entry entry = {.status = status,
                            .family = "function",
                            .params = j->f->source.file,
                            .entry_name = j->f->source.name,
                            .assembler = j->f->compiler,
                            .arch = j->text->use.arch,
                            .log = pg_buf_text(&j->text->log),
                            .assemble_us = j->text->compile_us,
                            .registers = -1,
                            .shared_bytes = -1,
                            .local_bytes = -1,
                            .spill_bytes = -1,
                            .created = (int64_t)time(NULL)};
    if (status != PTXGEN_OK) {
        entry.message = err->message;
        entry.error_file = err->file;
        entry.error_line = err->line;
    } else {
        entry.ptx = pg_buf_text(&j->text->ptx);
        entry.ptx_size = j->text->ptx.len;
    }
    if (status == PTXGEN_OK || status == PTXGEN_EASSEMBLE)
        pg_cache_store(j->engine->cache, pg_buf_text(&j->key), j->key.len, &entry);
}

static bool look_up(job *j, ptxgen_status *status, ptxgen_error *err)
{
    pg_cache_entry entry;
    const pg_cache_found found =
        pg_cache_lookup(j->engine->cache, pg_buf_text(&j->key), j->key.len, &entry);
    if (found == PG_CACHE_MISS)
        return false;
    *status = PTXGEN_OK;
    if (found == PG_CACHE_FAILED) {
        *status =
            pg_fail_at(err, entry.status, entry.error_file, entry.error_line, "%s", entry.message);
    } else {
        pg_buf_append(&j->text->ptx, entry.ptx, entry.ptx_size);
        pg_buf_puts(&j->text->log, entry.log);
        j->text->compile_us = entry.assemble_us;
        j->text->origin = PTXGEN_ORIGIN_DISK;
    }
    pg_cache_entry_release(j->engine->cache, &entry);
    return true;
}

static ptxgen_status from_disk_or_compiler(job *j, ptxgen_error *err)
{
    ptxgen_status status;
    uint64_t token;
    pg_cache *cache = j->engine->cache;
    put_source_key(j->f, &j->key);
    pg_buf_printf(&j->key, "arch=%s\nexact=%d\ntypes=%s\n", ptxgen_arch_name(j->text->use.arch),
                  (int)j->text->use.exact, j->text->use.types ? j->text->use.types : "");
    if (j->key.failed)
        return pg_fail_memory(err, 0);
    if (look_up(j, &status, err))
        return status;
    pg_cache_acquire(cache, pg_buf_text(&j->key), j->key.len, &token);
    if (!look_up(j, &status, err)) {
        ptxgen_error failure = {0};
        pg_cache_take_slot(cache, token);
        status = compile(j, &failure);
        store(j, status, &failure);
        if (status != PTXGEN_OK && err)
            *err = failure;
    }
    pg_cache_release(cache, token);
    return status;
}

static ptxgen_status fill(job *j, ptxgen_error *err)
{
    if (j->f->source.language == PTXGEN_FUNCTION_CUDA)
        PG_TRY(from_disk_or_compiler(j, err));
    else
        pg_buf_puts(&j->text->ptx, j->f->source.text);
    if (j->text->ptx.failed || j->text->log.failed)
        return pg_fail_memory(err, 0);
    PG_TRY(find_name(j, err));
    j->text->name = j->text->own_name;
    return PTXGEN_OK;
}

static bool same_use(const pg_function_use *a, const pg_function_use *b)
{
    return a->arch == b->arch && a->exact == b->exact &&
           !strcmp(a->types ? a->types : "", b->types ? b->types : "");
}

static const pg_function_text *find_text(pg_function *f, const pg_function_use *use)
{
    const pg_function_text *t = atomic_load_explicit(&f->texts, memory_order_acquire);
    while (t && !same_use(&t->use, use))
        t = t->next;
    return t;
}

static ptxgen_status make_text(pg_engine *e, pg_function *f, const pg_function_use *use,
                               pg_function_text **out, ptxgen_error *err)
{
    pg_function_text *t = pg_alloc_zero(&e->alloc, sizeof *t);
    if (!t)
        return pg_fail_memory(err, sizeof *t);
    t->use = *use;
    pg_buf_init(&t->ptx, &e->alloc);
    pg_buf_init(&t->log, &e->alloc);
    job j = {.engine = e, .f = f, .text = t};
    pg_buf_init(&j.key, &e->alloc);
    const ptxgen_status status = fill(&j, err);
    pg_buf_fini(&j.key);
    if (status == PTXGEN_OK)
        *out = t;
    else
        free_text(&e->alloc, t);
    return status;
}

ptxgen_status pg_functions_text(pg_engine *e, int64_t id, const pg_function_use *wanted,
                                const pg_function_text **out, ptxgen_error *err)
{
    pg_function *f = (pg_function *)pg_functions_find(e, id);
    pg_function_use use = *wanted;
    pg_function_text *t = NULL;
    if (!f)
        return pg_fail(
            err, PTXGEN_EINVAL,
            "function %lld is not known to this context: ptxgen_function_add gives its number",
            (long long)id);
    if (f->source.division != PTXGEN_DIVISION_AUTO)
        use.exact = f->source.division == PTXGEN_DIVISION_EXACT;
    *out = find_text(f, &use);
    if (*out)
        return PTXGEN_OK;
    PG_TRY(make_text(e, f, &use, &t, err));
    t->next = atomic_load(&f->texts);
    while (!atomic_compare_exchange_weak(&f->texts, &t->next, t))
        ; /* two threads may have made the same: the first found is used */
    *out = t;
    return PTXGEN_OK;
}
