/* Module scope: header directives, variables, functions; and the public entry points. */
#include "ptx/text/parser.h"

#include "base/error.h"

#include <string.h>

enum {
    DEFAULT_REGISTERS = 1 << 20,
    DEFAULT_NESTING = 256,
    DEFAULT_DIAGNOSTICS = 64,
    DEFAULT_BYTES = 64 << 20
};

/* ---- .version, .target, .address_size, .file, .section ---- */

static bool parse_version(pg_parser *p)
{
    /* "8.8" lexes as a float: read its digits. */
    pg_str t = p->token.text;
    bool ok = p->token.kind == PG_TOKEN_F64 && t.n == 3 && t.p[0] >= '1' && t.p[0] <= '9' &&
              t.p[1] == '.' && t.p[2] >= '0' && t.p[2] <= '9';
    if (!ok)
        return pg_parser_unexpected(p, "a version such as 8.8");
    p->module->version_span.begin = pg_parser_offset(p);
    p->module->version_span.end = p->module->version_span.begin + 3;
    p->module->version = (uint32_t)(t.p[0] - '0') * 10 + (uint32_t)(t.p[2] - '0');
    pg_parser_advance(p);
    return true;
}

/* "sm_90a": the number and the suffix letter. */
static bool read_arch(pg_ptx_module *m, pg_str t)
{
    size_t i = 3;
    if (t.n < 5 || t.n > 8 || memcmp(t.p, "sm_", 3))
        return false;
    for (m->arch = 0; i < t.n && t.p[i] >= '0' && t.p[i] <= '9'; i++)
        m->arch = m->arch * 10 + (uint32_t)(t.p[i] - '0');
    m->arch_suffix = 0;
    if (i < t.n && (t.p[i] == 'a' || t.p[i] == 'f'))
        m->arch_suffix = t.p[i++];
    return i == t.n && m->arch > 0;
}

static bool parse_target(pg_parser *p)
{
    pg_str name;
    const char *options = "";
    pg_token at = p->token;
    if (!pg_parser_name(p, &name))
        return false;
    if (!read_arch(p->module, name))
        return pg_parser_error_at(p, at.line, at.column, "expected a target such as sm_90a");
    p->module->target = pg_parser_copy(p, name);
    while (pg_parser_accept(p, ',')) {
        if (!pg_parser_name(p, &name))
            return false;
        size_t n = strlen(options);
        char *joined = n < 1000 ? pg_parser_alloc(p, n + 2 + name.n + 1, 1) : NULL;
        if (!joined)
            return pg_parser_error(p, "too many target options");
        memcpy(joined, options, n);
        if (n)
            memcpy(joined + n, ", ", 2);
        memcpy(joined + n + (n ? 2 : 0), name.p, name.n);
        options = joined;
    }
    p->module->target_options = options;
    return true;
}

static bool parse_address_size(pg_parser *p)
{
    uint64_t size;
    if (!pg_parser_uint(p, 64, &size))
        return false;
    if (size != 64 && size != 32)
        return pg_parser_error(p, "the address size is 32 or 64, not %u", (unsigned)size);
    p->module->address_size = (uint32_t)size;
    return true;
}

/* ".file 1 \"name\" [, time, size]" */
static bool parse_file(pg_parser *p)
{
    uint64_t number, ignored;
    if (!pg_parser_uint(p, UINT32_MAX, &number))
        return false;
    if (p->token.kind != PG_TOKEN_STRING)
        return pg_parser_unexpected(p, "a file name in quotes");
    *(pg_ptx_file *)pg_list_add(p, &p->files) =
        (pg_ptx_file){(uint32_t)number, pg_parser_copy(p, p->token.text)};
    pg_parser_advance(p);
    while (pg_parser_accept(p, ','))
        if (!pg_parser_uint(p, INT64_MAX, &ignored))
            return false;
    return true;
}

/* Debug data: dropped, up to the brace that closes it. */
static bool skip_section(pg_parser *p)
{
    unsigned depth = 0;
    while (p->token.kind != PG_TOKEN_END && !pg_parser_at(p, '{'))
        pg_parser_advance(p);
    do {
        if (pg_parser_at(p, '{'))
            depth++;
        else if (pg_parser_at(p, '}'))
            depth--;
        pg_parser_advance(p);
    } while (depth && p->token.kind != PG_TOKEN_END);
    return depth == 0 || pg_parser_unexpected(p, "'}'");
}

/* ".alias f, g;" */
static bool parse_alias(pg_parser *p)
{
    uint32_t index[2] = {0};
    for (int i = 0; i < 2; i++) {
        pg_token at = p->token;
        pg_str name;
        if ((i && !pg_parser_expect(p, ',')))
            return false;
        at = p->token;
        if (!pg_parser_name(p, &name))
            return false;
        const pg_binding *b = pg_names_find(&p->names, name, &index[i]);
        if (!b || b->kind != PG_BIND_FUNC)
            return pg_parser_error_at(p, at.line, at.column, "'%.*s' is no function",
                                      (int)(name.n < 60 ? name.n : 60), name.p);
    }
    pg_add_item(p, PG_ITEM_ALIAS, p->aliases.count);
    *(pg_ptx_alias *)pg_list_add(p, &p->aliases) = (pg_ptx_alias){index[0], index[1]};
    return pg_parser_expect(p, ';');
}

/* ".version 9.0", ".target sm_90a", ".address_size 64" */
static bool parse_header(pg_parser *p, bool *ok)
{
    if (pg_parser_accept_suffix(p, "version"))
        *ok = parse_version(p);
    else if (pg_parser_accept_suffix(p, "target"))
        *ok = parse_target(p);
    else if (pg_parser_accept_suffix(p, "address_size"))
        *ok = parse_address_size(p);
    else
        return false;
    p->module->header_end = p->end;
    return true;
}

/* ---- functions ---- */

/* Up to three numbers; missing ones are 1. */
static bool parse_extents(pg_parser *p, uint32_t extents[3])
{
    extents[0] = extents[1] = extents[2] = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t v;
        if (!pg_parser_uint(p, UINT32_MAX, &v))
            return false;
        extents[i] = (uint32_t)v;
        if (!pg_parser_accept(p, ','))
            break;
    }
    return true;
}

static bool parse_limit(pg_parser *p, uint32_t *limit)
{
    uint64_t v;
    if (!pg_parser_uint(p, UINT32_MAX, &v))
        return false;
    *limit = (uint32_t)v;
    return true;
}

static bool parse_performance_directive(pg_parser *p, pg_ptx_directives *d)
{
    uint32_t ignored;
    if (pg_parser_accept_suffix(p, "reqntid"))
        return parse_extents(p, d->reqntid);
    if (pg_parser_accept_suffix(p, "maxntid"))
        return parse_extents(p, d->maxntid);
    if (pg_parser_accept_suffix(p, "reqnctapercluster"))
        return parse_extents(p, d->reqnctapercluster);
    if (pg_parser_accept_suffix(p, "minnctapersm"))
        return parse_limit(p, &d->minnctapersm);
    if (pg_parser_accept_suffix(p, "maxnctapersm"))
        return parse_limit(p, &d->maxnctapersm);
    if (pg_parser_accept_suffix(p, "maxnreg"))
        return parse_limit(p, &d->maxnreg);
    if (pg_parser_accept_suffix(p, "maxclusterrank"))
        return parse_limit(p, &d->maxclusterrank);
    if (pg_parser_accept_suffix(p, "abi_preserve") ||
        pg_parser_accept_suffix(p, "abi_preserve_control"))
        return parse_limit(p, &ignored);
    if (pg_parser_accept_suffix(p, "explicitcluster"))
        return d->explicitcluster = true;
    if (pg_parser_accept_suffix(p, "blocksareclusters"))
        return d->blocksareclusters = true;
    if (pg_parser_accept_suffix(p, "noreturn"))
        return d->noreturn = true;
    return pg_parser_unexpected(p, "'{', ';' or a performance directive");
}

static void begin_function(pg_parser *p, uint32_t index)
{
    pg_function_state *fn = &p->fn;
    pg_names_begin_function(&p->names);
    pg_names_open_scope(&p->names);
    fn->index = index;
    fn->code.count = fn->labels.count = fn->tables.count = fn->protos.count = 0;
    fn->reg_decls.count = fn->reg_types.count = fn->locals.count = fn->label_uses.count = 0;
    fn->loc = 0;
    fn->has_pending_loc = false;
}

static void finish_function(pg_parser *p, pg_ptx_function *f)
{
    const pg_function_state *fn = &p->fn;
    f->code = pg_list_freeze(p, &fn->code, 0);
    f->n_code = fn->code.count;
    f->labels = pg_list_freeze(p, &fn->labels, 0);
    f->n_labels = fn->labels.count;
    f->tables = pg_list_freeze(p, &fn->tables, 0);
    f->n_tables = fn->tables.count;
    f->protos = pg_list_freeze(p, &fn->protos, 0);
    f->n_protos = fn->protos.count;
    f->reg_decls = pg_list_freeze(p, &fn->reg_decls, 0);
    f->n_reg_decls = fn->reg_decls.count;
    f->reg_types = pg_list_freeze(p, &fn->reg_types, 0);
    f->n_regs = fn->reg_types.count;
    f->locals = pg_list_freeze(p, &fn->locals, 0);
    f->n_locals = fn->locals.count;
}

/* The name of the function whose signature begins here: behind the return parameters, if there
 * are any. */
static bool peek_name(pg_parser *p, pg_token *name)
{
    const pg_lexer lexer = p->lexer;
    const pg_token token = p->token;
    if (pg_parser_at(p, '('))
        while (p->token.kind != PG_TOKEN_END && !pg_parser_accept(p, ')'))
            pg_parser_advance(p);
    *name = p->token;
    if (p->token.kind != PG_TOKEN_IDENT)
        return pg_parser_unexpected(p, "the name of a function");
    p->lexer = lexer;
    p->token = token;
    return true;
}

/* Makes the function known, or finds its earlier declaration. */
static bool find_or_add_function(pg_parser *p, const pg_token *name, uint32_t *index)
{
    const pg_binding *b = pg_names_find(&p->names, name->text, index);
    if (b)
        return b->kind == PG_BIND_FUNC ||
               pg_parser_error_at(
                   p, name->line, name->column, "'%.*s' is declared twice: see line %u",
                   (int)(name->text.n < 60 ? name->text.n : 60), name->text.p, b->line);
    *index = p->functions.count;
    pg_ptx_function *f = pg_list_add(p, &p->functions);
    f->name = pg_parser_copy(p, name->text);
    return pg_parser_declare(p, name->text, name,
                             (pg_binding){.kind = PG_BIND_FUNC, .index = *index});
}

/* "(returns) name (parameters) .directives", with the function's scope open. */
static bool parse_signature(pg_parser *p, pg_ptx_function *f)
{
    pg_str name;
    if (pg_parser_at(p, '(') &&
        !pg_parse_parameters(p, PG_ROLE_RETURN, p->fn.index, &f->returns, &f->n_returns))
        return false;
    if (!pg_parser_name(p, &name))
        return false;
    if (pg_parser_at(p, '(') &&
        !pg_parse_parameters(p, PG_ROLE_PARAM, p->fn.index, &f->params, &f->n_params))
        return false;
    while (p->token.kind == PG_TOKEN_SUFFIX)
        if (!parse_performance_directive(p, &f->directives))
            return false;
    return true;
}

/* Enters what was parsed: a definition replaces a declaration, a declaration after another adds
 * nothing. */
static bool enter_function(pg_parser *p, const pg_ptx_function *f, uint32_t first_var)
{
    pg_ptx_function *known = PG_LIST_AT(&p->functions, pg_ptx_function, p->fn.index);
    bool is_new = !known->line;
    if (!is_new && !f->has_body) {
        p->vars.count = first_var;
        return true;
    }
    if (!is_new && known->has_body)
        return pg_parser_error_at(p, f->line, f->column, "'%s' has a body already: see line %u",
                                  known->name, known->line);
    if (!is_new)
        PG_LIST_AT(&p->items, pg_ptx_item, known->item)->is_declaration = true;
    const char *name = known->name;
    *known = *f;
    known->name = name;
    known->item = pg_add_item(p, PG_ITEM_FUNCTION, p->fn.index);
    return true;
}

static bool parse_function_in_scope(pg_parser *p, pg_ptx_function *f, uint32_t first_var)
{
    if (!parse_signature(p, f))
        return false;
    f->has_body = pg_parser_at(p, '{');
    f->span = pg_parser_span(p);
    f->body = f->span.end;
    if (!f->has_body && !pg_parser_expect(p, ';'))
        return false;
    finish_function(p, f); /* so that the body can call itself */
    if (!enter_function(p, f, first_var))
        return false;
    if (!f->has_body)
        return true;
    const uint32_t begin = p->begin;
    pg_parser_advance(p);
    pg_parse_body(p);
    f = PG_LIST_AT(&p->functions, pg_ptx_function, p->fn.index);
    f->span = (pg_ptx_span){begin, pg_parser_span(p).end};
    f->end_line = p->token.line;
    finish_function(p, f);
    pg_parser_accept(p, '}');
    return true;
}

static bool parse_function(pg_parser *p, bool is_entry, pg_ptx_linkage linkage)
{
    pg_ptx_function f = {.is_entry = is_entry, .linkage = (uint8_t)linkage};
    pg_token name;
    uint32_t index, first_var = p->vars.count;
    bool ignored = false;
    while (pg_parser_accept_suffix(p, "attribute"))
        if (!pg_parse_attribute(p, &ignored))
            return false;
    if (!peek_name(p, &name) || !find_or_add_function(p, &name, &index))
        return false;
    f.name = PG_LIST_AT(&p->functions, pg_ptx_function, index)->name;
    f.line = name.line;
    f.column = name.column;
    begin_function(p, index);
    bool ok = parse_function_in_scope(p, &f, first_var);
    pg_names_close_scope(&p->names);
    return ok;
}

/* ---- module ---- */

static pg_ptx_linkage parse_linkage(pg_parser *p)
{
    static const struct {
        const char *word;
        pg_ptx_linkage linkage;
    } words[] = {
        {"extern", PG_LINKAGE_EXTERN},
        {"visible", PG_LINKAGE_VISIBLE},
        {"weak", PG_LINKAGE_WEAK},
        {"common", PG_LINKAGE_COMMON},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pg_parser_accept_suffix(p, words[i].word))
            return words[i].linkage;
    return PG_LINKAGE_NONE;
}

static bool parse_declaration(pg_parser *p)
{
    pg_ptx_linkage linkage = parse_linkage(p);
    if (pg_parser_accept_suffix(p, "entry"))
        return parse_function(p, true, linkage);
    if (pg_parser_accept_suffix(p, "func"))
        return parse_function(p, false, linkage);
    if (p->token.kind != PG_TOKEN_SUFFIX)
        return pg_parser_unexpected(p, "a directive");
    pg_ptx_space space = pg_space_of(p->token.text);
    if (space == PG_SPACE_REG || space == PG_SPACE_LOCAL || space == PG_SPACE_PARAM)
        return pg_parser_error(p, "only .global, .const and .shared variables can stand outside of "
                                  "a function");
    if (space == PG_SPACE_NONE)
        return pg_parser_unexpected(p, "a directive");
    pg_parser_advance(p);
    return pg_parse_variables(p, space, linkage);
}

static bool parse_item(pg_parser *p)
{
    p->begin = pg_parser_offset(p);
    bool ok;
    if (parse_header(p, &ok))
        return ok;
    if (pg_parser_accept_suffix(p, "file"))
        return parse_file(p);
    if (pg_parser_accept_suffix(p, "section"))
        return skip_section(p);
    if (pg_parser_accept_suffix(p, "alias"))
        return parse_alias(p);
    if (pg_parser_accept_suffix(p, "loc"))
        return pg_parse_loc(p);
    if (pg_parser_accept_suffix(p, "pragma"))
        return pg_parse_pragma(p, UINT32_MAX, UINT32_MAX);
    if (pg_parser_at(p, '@')) { /* "@@DWARF ...", of old compilers */
        pg_lexer_skip_line(&p->lexer);
        pg_parser_advance(p);
        return true;
    }
    return parse_declaration(p);
}

/* After an error outside of a body: behind the ';' or the braces that end the declaration. */
static void recover(pg_parser *p)
{
    unsigned depth = 0;
    while (p->token.kind != PG_TOKEN_END) {
        if (pg_parser_accept(p, '{')) {
            depth++;
        } else if (pg_parser_accept(p, '}')) {
            if (depth <= 1) {
                pg_parser_accept(p, ';');
                return;
            }
            depth--;
        } else if (pg_parser_accept(p, ';')) {
            if (!depth)
                return;
        } else {
            pg_parser_advance(p);
        }
    }
}

static void parse_module(pg_parser *p)
{
    pg_parser_advance(p);
    if (!pg_parser_at_suffix(p, "version"))
        pg_parser_error(p, "a PTX module begins with .version");
    while (p->token.kind != PG_TOKEN_END)
        if (!parse_item(p))
            recover(p);
    if (p->fatal == PTXGEN_OK && !p->module->target)
        pg_parser_error(p, "the module has no .target");
    if (!p->module->address_size)
        p->module->address_size = 64;
}

static void finish_module(pg_parser *p)
{
    pg_ptx_module *m = p->module;
    m->vars = pg_list_freeze(p, &p->vars, 0);
    m->n_vars = p->vars.count;
    m->functions = pg_list_freeze(p, &p->functions, 0);
    m->n_functions = p->functions.count;
    m->items = pg_list_freeze(p, &p->items, 0);
    m->n_items = p->items.count;
    m->aliases = pg_list_freeze(p, &p->aliases, 0);
    m->n_aliases = p->aliases.count;
    m->files = pg_list_freeze(p, &p->files, 0);
    m->n_files = p->files.count;
    m->locs = pg_list_freeze(p, &p->locs, 0);
    m->n_locs = p->locs.count;
    m->pragmas = pg_list_freeze(p, &p->pragmas, 0);
    m->n_pragmas = p->pragmas.count;
    m->opcodes = pg_list_freeze(p, &p->opcodes, 0);
    m->n_opcodes = p->opcodes.count;
}

/* ---- entry points ---- */

static pg_ptx_options with_defaults(const pg_ptx_options *given)
{
    pg_ptx_options o = given ? *given : (pg_ptx_options){0};
    if (!o.file_name)
        o.file_name = "<ptx>";
    if (!o.max_bytes)
        o.max_bytes = DEFAULT_BYTES;
    if (!o.max_registers)
        o.max_registers = DEFAULT_REGISTERS;
    if (!o.max_nesting)
        o.max_nesting = DEFAULT_NESTING;
    if (!o.max_diagnostics)
        o.max_diagnostics = DEFAULT_DIAGNOSTICS;
    return o;
}

static void init_parser(pg_parser *p, pg_arena *arena, const pg_ptx_options *options)
{
    memset(p, 0, sizeof *p);
    p->arena = arena;
    p->options = with_defaults(options);
    pg_arena_init(&p->scratch, arena->alloc);
    p->scratch.budget = arena->budget;
    pg_names_init(&p->names, &p->scratch);
    p->vars.size = sizeof(pg_ptx_var);
    p->functions.size = sizeof(pg_ptx_function);
    p->items.size = sizeof(pg_ptx_item);
    p->aliases.size = sizeof(pg_ptx_alias);
    p->files.size = sizeof(pg_ptx_file);
    p->locs.size = sizeof(pg_ptx_loc);
    p->pragmas.size = sizeof(pg_ptx_pragma);
    p->opcodes.size = sizeof(pg_ptx_opcode *);
    p->diagnostics.size = sizeof(pg_ptx_diagnostic);
    p->spellings.size = sizeof(pg_spelling_entry);
    p->elems.size = sizeof(pg_ptx_operand);
    p->fn.code.size = sizeof(pg_ptx_insn);
    p->fn.labels.size = sizeof(pg_ptx_label);
    p->fn.tables.size = sizeof(pg_ptx_table);
    p->fn.protos.size = sizeof(pg_ptx_proto);
    p->fn.reg_decls.size = sizeof(pg_ptx_reg_decl);
    p->fn.reg_types.size = sizeof(uint8_t);
    p->fn.locals.size = sizeof(uint32_t);
    p->fn.label_uses.size = sizeof(pg_label_use);
    p->fn.waiting.size = sizeof(uint32_t);
    p->module = pg_parser_alloc(p, 1, sizeof *p->module);
    pg_list_add(p, &p->locs); /* number 0: no position */
}

static ptxgen_status run(pg_parser *p, const char *text, size_t len)
{
    if (len > p->options.max_bytes) {
        pg_parser_error_at(p, 1, 1, "%zu bytes of PTX, over the limit of %zu", len,
                           p->options.max_bytes);
        return PTXGEN_EBUDGET;
    }
    if (p->fatal != PTXGEN_OK)
        return p->fatal;
    p->text = text;
    pg_lexer_init(&p->lexer, text, len);
    parse_module(p);
    finish_module(p);
    if (p->fatal != PTXGEN_OK)
        return p->fatal;
    if (!p->n_errors && !p->options.no_verify)
        pg_verify(p);
    /* Tables and names fail quietly, the flag stays: a parse that lost one of them is no parse. */
    if (p->scratch.failed || p->arena->failed)
        pg_parser_stop(p, PTXGEN_ENOMEM);
    return p->fatal != PTXGEN_OK ? p->fatal : p->n_errors ? PTXGEN_EPARSE : PTXGEN_OK;
}

ptxgen_status pg_ptx_parse(pg_arena *arena, const char *text, size_t len,
                           const pg_ptx_options *options, pg_ptx_module **out,
                           pg_ptx_diagnostics *diagnostics)
{
    pg_parser p;
    init_parser(&p, arena, options);
    ptxgen_status status = run(&p, text, len);
    diagnostics->items = pg_list_freeze(&p, &p.diagnostics, 0);
    diagnostics->count = diagnostics->items ? p.diagnostics.count : 0;
    diagnostics->n_errors = p.n_errors;
    if (p.fatal != PTXGEN_OK)
        status = p.fatal;
    *out = status == PTXGEN_OK ? p.module : NULL;
    pg_arena_fini(&p.scratch);
    return status;
}

ptxgen_status pg_ptx_load_warned(pg_arena *arena, const char *text, size_t len,
                                 const pg_ptx_options *options, pg_ptx_module **out,
                                 pg_ptx_diagnostics *d, ptxgen_error *err)
{
    const char *file = options && options->file_name ? options->file_name : "<ptx>";
    ptxgen_status status = pg_ptx_parse(arena, text, len, options, out, d);
    if (status == PTXGEN_OK)
        return status;
    for (uint32_t i = 0; i < d->count; i++)
        if (d->items[i].severity == PG_PTX_ERROR)
            return pg_fail_at(err, status, file, (int)d->items[i].line, "%s:%u:%u: %s", file,
                              d->items[i].line, d->items[i].column, d->items[i].message);
    return status == PTXGEN_ENOMEM ? pg_fail_memory(err, 0)
                                   : pg_fail(err, status, "%s: not valid PTX", file);
}

ptxgen_status pg_ptx_load(pg_arena *arena, const char *text, size_t len,
                          const pg_ptx_options *options, pg_ptx_module **out, ptxgen_error *err)
{
    pg_ptx_diagnostics d;
    return pg_ptx_load_warned(arena, text, len, options, out, &d, err);
}
