/* Links texts: see link.h. Each text is parsed for what it declares, then copied token by token:
 * the parser takes a declaration beside its definition, so order does not matter. */
#include "ptx/link.h"

#include "base/error.h"
#include "ptx/text/lex.h"
#include "ptx/text/names.h"

#include <stdlib.h>
#include <string.h>

/* A name of module scope. */
typedef struct symbol {
    uint32_t text;    /* of the definition that stays */
    uint32_t texts;   /* how many declare it */
    uint32_t counted; /* the last of them, plus 1 */
    uint32_t line;    /* of that definition; 0: none so far */
    bool weak, is_function;
    bool private; /* some text keeps it for itself */
} symbol;

typedef struct unit {
    pg_link_text in;
    pg_ptx_module *module;
    uint32_t file_base; /* added to the numbers of its .file directives */
} unit;

/* A definition or header that is not copied. */
typedef struct cut {
    pg_ptx_span span;
    bool declare; /* a function's body: its head stays */
} cut;

typedef struct linker {
    pg_arena arena;
    pg_names names; /* bindings: index into symbols */
    symbol *symbols;
    uint32_t n_symbols, cap_symbols;
    unit *units;
    uint32_t n_units;
    cut *cuts; /* of the unit being copied, ascending */
    uint32_t n_cuts;
    pg_buf *out;
    ptxgen_error *err;
} linker;

/* A declaration of module scope as its text has it. */
typedef struct declared {
    const char *name;
    uint32_t line;
    uint8_t linkage;
    bool is_function, is_entry, defines;
} declared;

static declared of_var(const pg_ptx_var *v)
{
    return (declared){.name = v->name,
                      .line = v->line,
                      .linkage = v->linkage,
                      .defines = v->linkage != PG_LINKAGE_EXTERN};
}

static declared of_function(const pg_ptx_function *f)
{
    return (declared){.name = f->name,
                      .line = f->line,
                      .linkage = f->linkage,
                      .is_function = true,
                      .is_entry = f->is_entry,
                      .defines = f->has_body};
}

static bool is_private(const declared *d)
{
    return d->linkage == PG_LINKAGE_NONE && !d->is_entry && d->defines;
}

static bool is_weak(const declared *d)
{
    return d->linkage == PG_LINKAGE_WEAK || d->linkage == PG_LINKAGE_COMMON;
}

static symbol *find(const linker *l, pg_str name)
{
    uint32_t index;
    const pg_binding *b = pg_names_find(&l->names, name, &index);
    return b ? &l->symbols[b->index] : NULL;
}

/* NULL: out of memory. */
static symbol *enter(linker *l, const char *name)
{
    symbol *known = find(l, pg_str_of(name));
    if (known)
        return known;
    const pg_binding binding = {.kind = PG_BIND_VAR, .index = l->n_symbols};
    pg_names_declare(&l->names, pg_str_of(name), &binding);
    if (l->n_symbols == l->cap_symbols) {
        const uint32_t cap = l->cap_symbols ? 2 * l->cap_symbols : 256;
        symbol *more = PG_NEW_ARRAY(&l->arena, symbol, cap);
        if (!more)
            return NULL;
        if (l->n_symbols)
            memcpy(more, l->symbols, l->n_symbols * sizeof *more);
        l->symbols = more;
        l->cap_symbols = cap;
    }
    l->symbols[l->n_symbols] = (symbol){.line = 0};
    return &l->symbols[l->n_symbols++];
}

static ptxgen_status note(linker *l, uint32_t text, const declared *d)
{
    symbol *s = enter(l, d->name);
    if (!s)
        return pg_fail_memory(l->err, 0);
    s->texts += s->counted != text + 1;
    s->counted = text + 1;
    s->private |= is_private(d);
    if (!d->defines || is_private(d))
        return PTXGEN_OK;
    const bool first = !s->line, weak = is_weak(d);
    if (!first && !weak && (!s->weak || !d->is_function))
        return pg_fail(l->err, PTXGEN_EPARSE,
                       "%s:%u: '%s' is defined in %s:%u too: one of them can be .extern",
                       l->units[text].in.name, d->line, d->name, l->units[s->text].in.name,
                       s->line);
    if (first || (s->weak && !weak))
        *s = (symbol){text, s->texts, s->counted, d->line, weak, d->is_function, s->private};
    return PTXGEN_OK;
}

static ptxgen_status read_unit(linker *l, uint32_t text)
{
    unit *u = &l->units[text];
    const pg_ptx_options options = {.file_name = u->in.name};
    PG_TRY(pg_ptx_load(&l->arena, u->in.text, u->in.length, &options, &u->module, l->err));
    const pg_ptx_module *m = u->module;
    for (uint32_t i = 0; i < m->n_vars; i++)
        if (m->vars[i].role == PG_ROLE_MODULE) {
            const declared d = of_var(&m->vars[i]);
            PG_TRY(note(l, text, &d));
        }
    for (uint32_t i = 0; i < m->n_functions; i++) {
        const declared d = of_function(&m->functions[i]);
        PG_TRY(note(l, text, &d));
    }
    uint32_t largest = 0;
    for (uint32_t i = 0; i < m->n_files; i++)
        largest = m->files[i].number > largest ? m->files[i].number : largest;
    if (text + 1 < l->n_units)
        u[1].file_base = u->file_base + largest;
    return PTXGEN_OK;
}

/* ---- what is left out ---- */

static bool is_kept(const linker *l, uint32_t text, const declared *d)
{
    const symbol *s = find(l, pg_str_of(d->name));
    return !d->defines || is_private(d) || s->text == text;
}

static int by_place(const void *a, const void *b)
{
    const uint32_t x = ((const cut *)a)->span.begin, y = ((const cut *)b)->span.begin;
    return (x > y) - (x < y);
}

static ptxgen_status find_cuts(linker *l, uint32_t text)
{
    const pg_ptx_module *m = l->units[text].module;
    l->cuts = PG_NEW_ARRAY(&l->arena, cut, m->n_vars + m->n_functions + 1);
    l->n_cuts = 0;
    if (!l->cuts)
        return pg_fail_memory(l->err, 0);
    l->cuts[l->n_cuts++] = (cut){{0, m->header_end}, false};
    for (uint32_t i = 0; i < m->n_vars; i++) {
        const declared d = of_var(&m->vars[i]);
        if (m->vars[i].role == PG_ROLE_MODULE && !is_kept(l, text, &d))
            l->cuts[l->n_cuts++] = (cut){m->vars[i].span, false};
    }
    for (uint32_t i = 0; i < m->n_functions; i++) {
        const pg_ptx_function *f = &m->functions[i];
        const declared d = of_function(f);
        if (!is_kept(l, text, &d))
            l->cuts[l->n_cuts++] = (cut){{f->body - 1, f->span.end}, true};
    }
    qsort(l->cuts, l->n_cuts, sizeof *l->cuts, by_place);
    return PTXGEN_OK;
}

/* ---- copying ---- */

/* The newest version, and the newest target, which has what the others have. */
static ptxgen_status put_header(linker *l)
{
    const pg_ptx_module *newest = l->units[0].module;
    uint32_t version = newest->version;
    for (uint32_t i = 1; i < l->n_units; i++) {
        const pg_ptx_module *m = l->units[i].module;
        version = m->version > version ? m->version : version;
        if (m->arch > newest->arch || (m->arch == newest->arch && m->arch_suffix == 'a'))
            newest = m;
        if (m->address_size != newest->address_size)
            return pg_fail(l->err, PTXGEN_EPARSE, "%s has another .address_size than %s",
                           l->units[i].in.name, l->units[0].in.name);
    }
    pg_buf_printf(l->out, ".version %u.%u .target %s .address_size %u", version / 10, version % 10,
                  newest->target, newest->address_size);
    return PTXGEN_OK;
}

/* Lines stay where they are. */
static void put_line_breaks(linker *l, const char *text, pg_ptx_span span)
{
    for (uint32_t i = span.begin; i < span.end; i++)
        if (text[i] == '\n')
            pg_buf_putc(l->out, '\n');
}

typedef enum change { COPIED, RENAMED, RENUMBERED } change;

/* *is_file: the token before says that the next number is one of a .file directive. */
static change change_of(const linker *l, const unit *u, const pg_token *t, bool *is_file)
{
    const bool file = *is_file;
    *is_file = t->kind == PG_TOKEN_SUFFIX ? pg_str_is(t->text, "file") || pg_str_is(t->text, "loc")
                                          : pg_str_is(t->text, "inlined_at");
    if (file && u->file_base && t->kind == PG_TOKEN_INT)
        return RENUMBERED;
    const symbol *s = t->kind == PG_TOKEN_IDENT ? find(l, t->text) : NULL;
    return s && s->private && s->texts > 1 ? RENAMED : COPIED;
}

static void put_changed(linker *l, const unit *u, const pg_token *t, change how)
{
    if (how == RENUMBERED)
        pg_buf_put_u64(l->out, t->value + u->file_base);
    else
        pg_buf_printf(l->out, "%.*s$%u", (int)t->text.n, t->text.p, (unsigned)(u - l->units));
}

/* Copies up to the cuts that end before `begin`, without them. */
static void pass_cuts(linker *l, const unit *u, uint32_t begin, uint32_t *from)
{
    for (; l->n_cuts && begin >= l->cuts->span.end; l->cuts++, l->n_cuts--) {
        const cut *c = l->cuts;
        if (c->span.begin < *from)
            continue; /* the same statement declares several */
        pg_buf_append(l->out, u->in.text + *from, c->span.begin - *from);
        if (c->declare)
            pg_buf_putc(l->out, ';');
        put_line_breaks(l, u->in.text, c->span);
        *from = c->span.end;
    }
}

static void copy_unit(linker *l, const unit *u)
{
    const char *text = u->in.text;
    pg_lexer lexer;
    pg_token token;
    uint32_t from = 0;
    bool is_file = false;
    pg_lexer_init(&lexer, text, u->in.length);
    do {
        pg_lexer_next(&lexer, &token);
        const uint32_t begin = (uint32_t)(token.text.p - text);
        pass_cuts(l, u, begin, &from);
        const change how = change_of(l, u, &token, &is_file);
        if (how == COPIED || (l->n_cuts && begin >= l->cuts->span.begin))
            continue;
        pg_buf_append(l->out, text + from, begin - from);
        put_changed(l, u, &token, how);
        from = begin + (uint32_t)token.text.n;
    } while (token.kind != PG_TOKEN_END);
    pg_buf_append(l->out, text + from, u->in.length - from);
    if (u->in.length && text[u->in.length - 1] != '\n')
        pg_buf_putc(l->out, '\n');
}

static ptxgen_status link_units(linker *l)
{
    for (uint32_t i = 0; i < l->n_units; i++)
        PG_TRY(read_unit(l, i));
    PG_TRY(put_header(l));
    for (uint32_t i = 0; i < l->n_units; i++) {
        PG_TRY(find_cuts(l, i));
        copy_unit(l, &l->units[i]);
    }
    return l->out->failed || l->arena.failed ? pg_fail_memory(l->err, 0) : PTXGEN_OK;
}

ptxgen_status pg_ptx_link(const pg_alloc *alloc, const pg_link_text *texts, size_t count,
                          pg_buf *out, ptxgen_error *err)
{
    linker l = {.n_units = (uint32_t)count, .out = out, .err = err};
    pg_arena_init(&l.arena, alloc);
    pg_names_init(&l.names, &l.arena);
    l.units = PG_NEW_ARRAY(&l.arena, unit, count + 1);
    ptxgen_status status = PTXGEN_ENOMEM;
    if (l.units) {
        for (size_t i = 0; i < count; i++)
            l.units[i].in = texts[i];
        status = link_units(&l);
    } else {
        pg_fail_memory(err, 0);
    }
    pg_arena_fini(&l.arena);
    return status;
}
