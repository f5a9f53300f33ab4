/* The table of settings and the readers of their kinds. A field of ptxgen_config that is zero is
 * open. */
#include "api/settings.h"

#include "api/environment.h"
#include "api/shipped.h"
#include "base/error.h"
#include "base/str.h"
#include "remote/address.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef enum kind {
    WORD,          /* an enum: the word's place in the list */
    SWITCH,        /* bool: on, off, true, false */
    SIZE,          /* uint64_t: a number of bytes, or 64K, 10M, 2G */
    NUMBER,        /* uint64_t */
    SECONDS,       /* uint32_t */
    SECONDS_IN_MS, /* uint32_t of milliseconds, written in seconds */
    MILLISECONDS,  /* uint32_t */
    ADDRESS,       /* shown without its password */
    PATH,          /* absolute */
    PATHS          /* absolute ones, separated by ':' in the environment */
} kind;

typedef struct row {
    const char *name, *variable;
    kind kind;
    size_t offset; /* in ptxgen_config */
    const char *const *words;
    const char *usual; /* what the library's rule is, as text */
} row;

static const char *const cache_words[] = {"", "on", "off", NULL}; /* as the enum; "" is open */
static const char *const trust_words[] = {"owner", "any", "signed", NULL};
static const char *const accept_words[] = {"auto", "exact", "any", NULL};
static const char *const stall_words[] = {"", "wait", "never", NULL};
static const char *const device_words[] = {"auto", "cuda", "emulator", NULL};
static const char *const assembler_words[] = {"auto",      "ptxas",  "nvptxcompiler",
                                              "nvjitlink", "driver", NULL};
static const char *const log_words[] = {"error", "warning", "info", "debug", NULL};

#define FIELD(name) offsetof(ptxgen_config, name)

static const row rows[] = {
    {"cache", "PTXGEN_CACHE", WORD, FIELD(cache), cache_words, "on"},
    {"cache_dir", "PTXGEN_CACHE_DIR", PATH, FIELD(cache_dir), NULL, ""},
    {"cache_layers", "PTXGEN_CACHE_LAYERS", PATHS, FIELD(cache_layers), NULL, ""},
    {"cache_max_bytes", "PTXGEN_CACHE_MAX_BYTES", SIZE, FIELD(cache_max_bytes), NULL, "2G"},
    {"cache_max_entries", "PTXGEN_CACHE_MAX_ENTRIES", NUMBER, FIELD(cache_max_entries), NULL,
     "100000"},
    {"cache_trust", "PTXGEN_CACHE_TRUST", WORD, FIELD(cache_trust), trust_words, "owner"},
    {"cache_keys", "PTXGEN_CACHE_KEYS", PATH, FIELD(cache_keys), NULL, ""},
    {"cache_assembler", "PTXGEN_CACHE_ASSEMBLER", WORD, FIELD(cache_assembler), accept_words,
     "auto"},
    {"cache_readable", "PTXGEN_CACHE_READABLE", SWITCH, FIELD(cache_readable), NULL, "off"},
    {"cache_wait_s", "PTXGEN_CACHE_WAIT", SECONDS_IN_MS, FIELD(cache_wait_ms), NULL, "30"},
    {"cache_failure_s", "PTXGEN_CACHE_FAILURE", SECONDS, FIELD(cache_failure_s), NULL, "600"},
    {"cache_remote", "PTXGEN_CACHE_REMOTE", ADDRESS, FIELD(cache_remote), NULL, ""},
    {"cache_remote_timeout_ms", "PTXGEN_CACHE_REMOTE_TIMEOUT_MS", MILLISECONDS,
     FIELD(cache_remote_timeout_ms), NULL, "500"},
    {"cache_sign_key", "PTXGEN_CACHE_SIGN_KEY", PATH, FIELD(cache_sign_key), NULL, ""},
    {"cache_mac_key", "PTXGEN_CACHE_MAC_KEY", PATH, FIELD(cache_mac_key), NULL, ""},
    {"assembler", "PTXGEN_ASSEMBLER", WORD, FIELD(assembler), assembler_words, "auto"},
    {"assembler_timeout_s", "PTXGEN_ASSEMBLER_TIMEOUT", SECONDS_IN_MS, FIELD(assembler_timeout_ms),
     NULL, "300"},
    {"toolkit", "PTXGEN_TOOLKIT", PATH, FIELD(toolkit_dir), NULL, ""},
    {"device", "PTXGEN_DEVICE", WORD, FIELD(device), device_words, "auto"},
    {"record_manifest", "PTXGEN_RECORD", PATH, FIELD(record_manifest), NULL, ""},
    {"shipped_pack", "PTXGEN_SHIPPED_PACK", WORD, FIELD(shipped_pack), cache_words, "on"},
    {"stall", "PTXGEN_STALL", WORD, FIELD(stall), stall_words, "wait"},
    {"dump_dir", "PTXGEN_DUMP_DIR", PATH, FIELD(dump_dir), NULL, ""},
    {"tuning_file", "PTXGEN_TUNING_FILE", PATH, FIELD(tuning_file), NULL, ""},
    {"log", "PTXGEN_LOG", WORD, FIELD(log_level), log_words, "error"},
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS <= (int)PG_SETTINGS_MAX, "each has its place in pg_settings");

/* A text and where it stands. */
typedef struct given {
    const char *text;   /* NULL: nowhere */
    const char *origin; /* "environment" or the file's path */
    const char *name;   /* as it is called there */
    char separator;     /* of a list */
} given;

static ptxgen_status refuse(const given *g, const char *takes, ptxgen_error *err)
{
    const bool variable = strcmp(g->origin, "environment") == 0;
    return pg_fail(err, PTXGEN_EINVAL, "%s%s%s=%.200s is not %s", variable ? "" : g->origin,
                   variable ? "" : ": ", g->name, g->text, takes);
}

/* ---- kinds ---- */

static ptxgen_status read_word(const row *r, const given *g, int *out, ptxgen_error *err)
{
    char takes[160] = "one of: ";
    const size_t start = strlen(takes);
    for (int i = 0; r->words[i]; i++) {
        if (strcmp(r->words[i], g->text) == 0) {
            *out = i;
            return PTXGEN_OK;
        }
        const size_t used = strlen(takes);
        snprintf(takes + used, sizeof takes - used, "%s%s", used > start ? ", " : "", r->words[i]);
    }
    return refuse(g, takes, err);
}

static ptxgen_status read_switch(const given *g, bool *out, ptxgen_error *err)
{
    *out = strcmp(g->text, "on") == 0 || strcmp(g->text, "true") == 0;
    if (*out || strcmp(g->text, "off") == 0 || strcmp(g->text, "false") == 0)
        return PTXGEN_OK;
    return refuse(g, "one of: on, off", err);
}

/* A whole number above 0, with K, M or G behind it when it is a size. */
static bool parse_number(const char *text, bool size, uint64_t *out)
{
    static const char units[] = "KMG";
    pg_str s = pg_str_of(text);
    int64_t value;
    const char *unit = size && s.n ? strchr(units, s.p[s.n - 1]) : NULL;
    if (unit && *unit)
        s.n--;
    if (!pg_str_i64(s, &value) || value <= 0)
        return false;
    *out = (uint64_t)value;
    return !unit || !*unit ||
           !__builtin_mul_overflow(*out, (uint64_t)1 << 10 * (unit - units + 1), out);
}

static ptxgen_status read_span(const given *g, uint32_t factor, const char *what, uint32_t *out,
                               ptxgen_error *err)
{
    uint64_t value;
    if (!parse_number(g->text, false, &value) || value > UINT32_MAX / factor)
        return refuse(g, what, err);
    *out = (uint32_t)value * factor;
    return PTXGEN_OK;
}

static ptxgen_status read_path(const given *g, const char **out, ptxgen_error *err)
{
    const size_t n = strlen(g->text);
    if (n && g->text[0] != '/')
        return refuse(g, "an absolute path: write it from / on", err);
    if (n > PG_PATH_MAX)
        return pg_fail(err, PTXGEN_EINVAL, "%s %.60s... has %zu bytes; a path has at most %d",
                       g->name, g->text, n, (int)PG_PATH_MAX);
    *out = g->text;
    return PTXGEN_OK;
}

static ptxgen_status read_paths(pg_settings *s, const pg_alloc *alloc, const given *g,
                                ptxgen_config *c, ptxgen_error *err)
{
    size_t count = 0;
    s->layers_size = strlen(g->text) + 1;
    s->layers_text = pg_alloc_zero(alloc, s->layers_size);
    if (!s->layers_text)
        return pg_fail_memory(err, s->layers_size);
    memcpy(s->layers_text, g->text, s->layers_size);
    for (char *p = s->layers_text; *p;) {
        char *end = strchr(p, g->separator);
        if (end)
            *end = 0;
        given one = *g;
        one.text = p;
        if (count == PG_LAYERS_MAX)
            return refuse(g, "a list of at most 32 paths", err);
        if (*p)
            PG_TRY(read_path(&one, &s->layers[count++], err));
        p = end ? end + 1 : p + strlen(p);
    }
    c->cache_layers = s->layers;
    c->cache_layer_count = count;
    return PTXGEN_OK;
}

static ptxgen_status read_given(pg_settings *s, const row *r, const given *g, ptxgen_config *c,
                                ptxgen_error *err)
{
    void *field = (char *)c + r->offset;
    switch (r->kind) {
    case WORD:
        return read_word(r, g, field, err);
    case SWITCH:
        return read_switch(g, field, err);
    case SIZE:
    case NUMBER:
        if (parse_number(g->text, r->kind == SIZE, field))
            return PTXGEN_OK;
        return refuse(g,
                      r->kind == SIZE ? "a size: a number of bytes above 0, or 64K, 10M, 2G"
                                      : "a number above 0",
                      err);
    case SECONDS:
        return read_span(g, 1, "a number of seconds above 0", field, err);
    case SECONDS_IN_MS:
        return read_span(g, 1000, "a number of seconds above 0", field, err);
    case MILLISECONDS:
        return read_span(g, 1, "a number of milliseconds above 0", field, err);
    case ADDRESS:
        *(const char **)field = g->text;
        return PTXGEN_OK;
    case PATH:
        return read_path(g, field, err);
    case PATHS:
        return read_paths(s, s->texts.alloc, g, c, err);
    }
    return PTXGEN_OK;
}

/* ---- where a setting comes from ---- */

static bool is_open(const row *r, const ptxgen_config *c)
{
    static const char zero[sizeof(uint64_t)];
    static const size_t sizes[] = {[WORD] = sizeof(int),
                                   [SWITCH] = sizeof(bool),
                                   [SIZE] = sizeof(uint64_t),
                                   [NUMBER] = sizeof(uint64_t),
                                   [SECONDS] = sizeof(uint32_t),
                                   [SECONDS_IN_MS] = sizeof(uint32_t),
                                   [MILLISECONDS] = sizeof(uint32_t),
                                   [ADDRESS] = sizeof(char *),
                                   [PATH] = sizeof(char *),
                                   [PATHS] = sizeof(char **)};
    /* Without a folder by the program's wish there are no layers either, but its own. */
    if (r->kind == PATHS)
        return c->cache_layer_count == 0 && !(c->cache_dir && !c->cache_dir[0]);
    return memcmp((const char *)c + r->offset, zero, sizes[r->kind]) == 0;
}

/* An empty text is as none, but for the cache folder, where it means memory only, and the tuning
 * file, where it means none. */
static bool counts(const row *r, const char *text)
{
    return text && (*text || r->offset == FIELD(cache_dir) || r->offset == FIELD(tuning_file));
}

static given find_given(const pg_settings *s, const row *r)
{
    const char *text = pg_environment(r->variable);
    if (counts(r, text))
        return (given){text, "environment", r->variable, ':'};
    for (size_t f = 0; f < 2; f++)
        for (size_t i = 0; i < s->files[f].count; i++)
            if (strcmp(pg_config_file_name(&s->files[f], i), r->name) == 0 &&
                counts(r, pg_config_file_value(&s->files[f], i)))
                return (given){pg_config_file_value(&s->files[f], i), s->files[f].path, r->name,
                               PG_CONFIG_SEPARATOR};
    return (given){.origin = "default"};
}

static void print_text(const row *r, const char *text, pg_buf *out)
{
    char shown[PG_ADDRESS_TEXT];
    if (r->kind == ADDRESS)
        pg_address_show(text, shown);
    pg_buf_puts(out, r->kind == ADDRESS ? shown : text);
}

/* The program's value as text. */
static void print_field(const row *r, const ptxgen_config *c, pg_buf *out)
{
    const char *field = (const char *)c + r->offset;
    int word;
    uint32_t number;
    uint64_t large;
    const char *path;
    switch (r->kind) {
    case WORD:
        memcpy(&word, field, sizeof word);
        pg_buf_puts(out, r->words[word]);
        break;
    case SWITCH:
        pg_buf_puts(out, "on");
        break;
    case SIZE:
    case NUMBER:
        memcpy(&large, field, sizeof large);
        pg_buf_put_u64(out, large);
        break;
    case SECONDS:
    case MILLISECONDS:
        memcpy(&number, field, sizeof number);
        pg_buf_put_u64(out, number);
        break;
    case SECONDS_IN_MS:
        memcpy(&number, field, sizeof number);
        pg_buf_printf(out, "%u.%03u", number / 1000, number % 1000);
        break;
    case ADDRESS:
    case PATH:
        memcpy(&path, field, sizeof path);
        print_text(r, path, out);
        break;
    case PATHS:
        for (size_t i = 0; i < c->cache_layer_count; i++)
            pg_buf_printf(out, "%s%s", i ? ":" : "",
                          c->cache_layers && c->cache_layers[i] ? c->cache_layers[i] : "");
        break;
    }
}

static ptxgen_status fill_row(pg_settings *s, size_t i, ptxgen_config *c, ptxgen_error *err)
{
    const row *r = &rows[i];
    s->of[i].value = s->texts.len;
    if (is_open(r, c)) {
        const given g = find_given(s, r);
        /* With the cache off nobody looks at where it would be. */
        const bool idle = c->cache == PTXGEN_CACHE_OFF && strncmp(r->name, "cache_", 6) == 0;
        if (g.text && !idle)
            PG_TRY(read_given(s, r, &g, c, err));
        s->of[i].origin = g.origin;
        print_text(r, g.text ? g.text : r->usual, &s->texts);
    } else {
        s->of[i].origin = "program";
        print_field(r, c, &s->texts);
    }
    pg_buf_putc(&s->texts, 0);
    return s->texts.failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

/* ---- files ---- */

static const char *name_at(const void *table, size_t i)
{
    (void)table;
    return i < ROWS ? rows[i].name : NULL;
}

static ptxgen_status check_names(const pg_config_file *f, ptxgen_error *err)
{
    char end[400];
    for (size_t i = 0; i < f->count; i++) {
        const char *nearest = "", *name = pg_config_file_name(f, i);
        if (pg_str_find(pg_str_of(name), name_at, NULL, &nearest) == SIZE_MAX)
            return pg_fail(err, PTXGEN_EINVAL, "%.300s: there is no setting '%.60s'; %s", f->path,
                           name, pg_str_suggest(nearest, name_at, NULL, end, sizeof end));
    }
    return PTXGEN_OK;
}

/* PTXGEN_CONFIG names the only file, "" none; else there are two. */
static ptxgen_status read_files(pg_settings *s, const pg_alloc *alloc, ptxgen_error *err)
{
    const char *only = pg_environment("PTXGEN_CONFIG");
    if (only) {
        const given g = {only, "environment", "PTXGEN_CONFIG", 0};
        const char *path = "";
        PG_TRY(read_path(&g, &path, err));
        strcpy(s->file_paths[0], path);
    } else {
        pg_user_config_path(s->file_paths[0]);
        strcpy(s->file_paths[1], "/etc/ptxgen/config.json");
    }
    for (size_t f = 0; f < 2; f++) {
        if (!s->file_paths[f][0])
            continue;
        PG_TRY(pg_config_file_read(&s->files[f], alloc, s->file_paths[f], only != NULL, err));
        PG_TRY(check_names(&s->files[f], err));
    }
    return PTXGEN_OK;
}

/* ---- the whole ---- */

static ptxgen_status check_enums(const ptxgen_config *c, ptxgen_error *err)
{
    const struct {
        const char *name, *prefix;
        unsigned value, most;
    } enums[] = {
        {"device", "DEVICE", c->device, PTXGEN_DEVICE_EMULATOR},
        {"assembler", "ASSEMBLER", c->assembler, PTXGEN_ASSEMBLER_DRIVER},
        {"cache", "CACHE", c->cache, PTXGEN_CACHE_OFF},
        {"cache_trust", "CACHE_TRUST", c->cache_trust, PTXGEN_CACHE_TRUST_SIGNED},
        {"cache_assembler", "CACHE_ASSEMBLER", c->cache_assembler, PTXGEN_CACHE_ASSEMBLER_ANY},
        {"shipped_pack", "CACHE", c->shipped_pack, PTXGEN_CACHE_OFF},
        {"stall", "STALL", c->stall, PTXGEN_STALL_NEVER},
        {"log_level", "LOG", c->log_level, PTXGEN_LOG_DEBUG}};
    for (size_t i = 0; i < sizeof enums / sizeof *enums; i++)
        if (enums[i].value > enums[i].most)
            return pg_fail(err, PTXGEN_EINVAL, "config.%s is %d: use a PTXGEN_%s_ value, 0 to %u",
                           enums[i].name, (int)enums[i].value, enums[i].prefix, enums[i].most);
    return PTXGEN_OK;
}

/* The shipped pack is the last layer. */
static void add_shipped(pg_settings *s, ptxgen_config *c)
{
    s->shipped[0] = 0;
    if (c->shipped_pack == PTXGEN_CACHE_OFF || c->cache_layer_count > PG_LAYERS_MAX ||
        (c->cache_layer_count && !c->cache_layers))
        return;
    pg_shipped_path("generic.pack", s->shipped);
    if (!s->shipped[0])
        return;
    for (size_t i = 0; i < c->cache_layer_count; i++)
        s->layers[i] = c->cache_layers[i];
    s->layers[c->cache_layer_count++] = s->shipped;
    c->cache_layers = s->layers;
}

/* What several settings mean together. */
static ptxgen_status settle_cache(pg_settings *s, ptxgen_config *c, ptxgen_error *err)
{
    /* A context in memory only, by its own word, looks at nothing. */
    const bool memory_only =
        c->cache == PTXGEN_CACHE_OFF || (c->cache_dir && !c->cache_dir[0] && !c->cache_layer_count);
    if (c->cache == PTXGEN_CACHE_OFF) {
        c->cache_dir = "";
        c->cache_layer_count = 0;
    } else if (!c->cache_dir) {
        pg_default_cache_dir(s->cache_dir);
        c->cache_dir = s->cache_dir;
    }
    if (!memory_only)
        add_shipped(s, c);
    if (!c->tuning_file) {
        if (c->cache_dir[0])
            snprintf(s->tuning_file, sizeof s->tuning_file, "%s/tuning", c->cache_dir);
        c->tuning_file = s->tuning_file;
    }
    const given tuning = {c->tuning_file, "environment", "tuning_file", 0};
    const given dir = {c->cache_dir, "environment", "cache_dir", 0};
    const given toolkit = {c->toolkit_dir ? c->toolkit_dir : "", "environment", "toolkit_dir", 0};
    const given dump = {c->dump_dir ? c->dump_dir : "", "environment", "dump_dir", 0};
    const char *path;
    PG_TRY(read_path(&dir, &path, err));
    PG_TRY(read_path(&toolkit, &path, err));
    PG_TRY(read_path(&tuning, &path, err));
    return read_path(&dump, &path, err);
}

ptxgen_status pg_settings_fill(pg_settings *s, const pg_alloc *alloc, ptxgen_config *c,
                               ptxgen_error *err)
{
    *s = (pg_settings){.files = {{.path = ""}, {.path = ""}}};
    pg_buf_init(&s->texts, alloc);
    PG_TRY(check_enums(c, err));
    PG_TRY(read_files(s, alloc, err));
    for (size_t i = 0; i < ROWS; i++)
        PG_TRY(fill_row(s, i, c, err));
    return settle_cache(s, c, err);
}

void pg_settings_free(pg_settings *s)
{
    for (size_t f = 0; f < 2; f++)
        if (s->files[f].texts.alloc)
            pg_config_file_free(&s->files[f]);
    if (s->texts.alloc) {
        pg_free(s->texts.alloc, s->layers_text, s->layers_size);
        pg_buf_fini(&s->texts);
    }
}

bool pg_setting_at(const pg_settings *s, size_t i, ptxgen_setting *out)
{
    if (i >= ROWS)
        return false;
    *out = (ptxgen_setting){.name = rows[i].name,
                            .variable = rows[i].variable,
                            .value = pg_buf_text(&s->texts) + s->of[i].value,
                            .origin = s->of[i].origin};
    if (rows[i].offset == FIELD(cache_dir) && strcmp(out->origin, "default") == 0)
        out->value = s->cache_dir;
    if (rows[i].offset == FIELD(tuning_file) && strcmp(out->origin, "default") == 0)
        out->value = s->tuning_file;
    return true;
}
