/* Bodies of functions: scopes, labels, instructions and the directives between them. */
#include "ptx/text/parser.h"

#include <string.h>

/* ---- labels ---- */

/* Gives the labels of the closing scope to the uses inside it; other uses go on waiting for an
 * outer scope. */
static void resolve_labels(pg_parser *p, uint32_t first_use)
{
    for (uint32_t i = p->names.n_bindings; i-- > 0;) {
        const pg_binding *b = &p->names.bindings[i];
        if (b->depth != p->names.depth)
            break;
        if (b->kind != PG_BIND_LABEL || b->key >= p->fn.waiting.count)
            continue;
        uint32_t *newest = PG_LIST_AT(&p->fn.waiting, uint32_t, b->key);
        while (*newest > first_use) {
            pg_label_use *use = PG_LIST_AT(&p->fn.label_uses, pg_label_use, *newest - 1);
            *use->where = b->index;
            use->done = true;
            *newest = use->next;
        }
    }
}

static void report_missing_labels(pg_parser *p)
{
    for (uint32_t i = 0; i < p->fn.label_uses.count; i++) {
        const pg_label_use *use = PG_LIST_AT(&p->fn.label_uses, pg_label_use, i);
        if (use->done)
            continue;
        *PG_LIST_AT(&p->fn.waiting, uint32_t, use->key) = 0;
        pg_parser_error_at(p, use->line, use->column, "label '%.*s' is not declared here",
                           (int)(use->name.n < 60 ? use->name.n : 60), use->name.p);
    }
}

/* The name that a label, table or prototype of this function gets. */
static const char *unique(pg_parser *p, pg_str name)
{
    const pg_unique_name what = {.is_parameter = false};
    const char *s = pg_names_unique(&p->names, p->arena, name, &what);
    if (!s)
        pg_parser_stop(p, PTXGEN_ENOMEM);
    return s;
}

static bool declare_label(pg_parser *p, const pg_token *name)
{
    const pg_binding b = {.kind = PG_BIND_LABEL, .index = p->fn.labels.count};
    if (!pg_parser_declare(p, name->text, name, b))
        return p->fatal == PTXGEN_OK; /* reported; the next statement is fine */
    pg_ptx_label *label = pg_list_add(p, &p->fn.labels);
    *label = (pg_ptx_label){.name = unique(p, name->text),
                            .target = p->fn.code.count,
                            .line = name->line,
                            .column = name->column};
    return true;
}

/* ---- name: .branchtargets, .calltargets, .callprototype ---- */

static bool use_target(pg_parser *p, const pg_token *at, bool is_calls, uint32_t *target)
{
    if (!is_calls) {
        pg_use_label(p, at->text, at, target);
        return true;
    }
    uint32_t index;
    const pg_binding *b = pg_names_find(&p->names, at->text, &index);
    if (!b || b->kind != PG_BIND_FUNC)
        return pg_parser_error_at(p, at->line, at->column, "'%.*s' is no function",
                                  (int)(at->text.n < 60 ? at->text.n : 60), at->text.p);
    *target = index;
    return true;
}

static bool parse_targets(pg_parser *p, const pg_token *name, bool is_calls)
{
    pg_list names = {.size = sizeof(pg_token)};
    do {
        if (p->token.kind != PG_TOKEN_IDENT)
            return pg_parser_unexpected(p, is_calls ? "a function" : "a label");
        *(pg_token *)pg_list_add(p, &names) = p->token;
        pg_parser_advance(p);
    } while (pg_parser_accept(p, ','));
    uint32_t *targets = pg_parser_alloc(p, names.count, sizeof *targets);
    if (!targets)
        return false;
    for (uint32_t i = 0; i < names.count; i++)
        if (!use_target(p, PG_LIST_AT(&names, pg_token, i), is_calls, &targets[i]))
            return false;
    const pg_binding b = {.kind = PG_BIND_TABLE, .index = p->fn.tables.count};
    if (!pg_parser_declare(p, name->text, name, b))
        return false;
    pg_ptx_table *t = pg_list_add(p, &p->fn.tables);
    *t = (pg_ptx_table){unique(p, name->text), is_calls, targets, names.count};
    return pg_parser_expect(p, ';');
}

static bool parse_named_prototype(pg_parser *p, const pg_token *name)
{
    pg_ptx_proto proto = {0};
    if (!pg_parse_prototype(p, &proto))
        return false;
    const pg_binding b = {.kind = PG_BIND_PROTO, .index = p->fn.protos.count};
    if (!pg_parser_declare(p, name->text, name, b))
        return false;
    proto.name = unique(p, name->text);
    *(pg_ptx_proto *)pg_list_add(p, &p->fn.protos) = proto;
    return true;
}

/* "name:" is read; the current token is what follows. */
static bool parse_labelled(pg_parser *p, const pg_token *name)
{
    if (pg_parser_accept_suffix(p, "branchtargets"))
        return parse_targets(p, name, false);
    if (pg_parser_accept_suffix(p, "calltargets"))
        return parse_targets(p, name, true);
    if (pg_parser_accept_suffix(p, "callprototype"))
        return parse_named_prototype(p, name);
    return declare_label(p, name);
}

/* ---- instructions ---- */

/* "add .u32": suffixes may stand apart. The joined spelling is made in scratch memory. */
static bool join_suffixes(pg_parser *p, pg_token *opcode)
{
    while (p->token.kind == PG_TOKEN_SUFFIX && p->fatal == PTXGEN_OK) {
        size_t n = opcode->text.n;
        char *text = pg_arena_alloc(&p->scratch, n + 1 + p->token.text.n);
        if (!text) {
            pg_parser_stop(p, PTXGEN_ENOMEM);
            return false;
        }
        memcpy(text, opcode->text.p, n);
        text[n] = '.';
        memcpy(text + n + 1, p->token.text.p, p->token.text.n);
        opcode->text = (pg_str){text, n + 1 + p->token.text.n};
        if (opcode->text.n > 1000)
            return pg_parser_error(p, "an instruction with more than 1000 characters of suffixes");
        pg_parser_advance(p);
    }
    return true;
}

static void set_loc(pg_parser *p, pg_ptx_insn *insn)
{
    const pg_ptx_loc *last = PG_LIST_AT(&p->locs, pg_ptx_loc, p->locs.count - 1);
    if (p->fn.has_pending_loc) {
        if (memcmp(last, &p->fn.pending_loc, sizeof *last))
            *(pg_ptx_loc *)pg_list_add(p, &p->locs) = p->fn.pending_loc;
        p->fn.loc = p->locs.count - 1;
        p->fn.has_pending_loc = false;
    }
    insn->loc = p->fn.loc;
}

static bool parse_operands(pg_parser *p, const pg_spelling_entry *e, pg_ptx_operand *operands,
                           uint32_t *n)
{
    *n = 0;
    if (pg_parser_at(p, ';'))
        return true;
    do {
        if (*n == PG_MAX_OPERANDS)
            return pg_parser_error(p, "more than %d operands", PG_MAX_OPERANDS);
        if (!pg_parse_operand(p, e, &operands[(*n)++]))
            return false;
        if (operands[*n - 1].kind == PG_OPERAND_LABEL)
            return true;
    } while (pg_parser_accept(p, ','));
    return true;
}

/* The opcode is read; the current token is the first of the operands. */
static bool parse_instruction(pg_parser *p, pg_token *opcode, int32_t guard, bool negated)
{
    pg_ptx_operand operands[PG_MAX_OPERANDS];
    uint32_t n;
    if (p->token.kind == PG_TOKEN_SUFFIX && !join_suffixes(p, opcode))
        return false;
    const pg_spelling_entry *e = pg_find_spelling(p, opcode->text);
    if (!e)
        return false;
    if (!e->candidates) {
        char why[400];
        pg_form_explain(opcode->text, why, sizeof why);
        return pg_parser_error_at(p, opcode->line, opcode->column, "%s", why);
    }
    if (!parse_operands(p, e, operands, &n))
        return false;
    pg_ptx_insn insn = {
        .guard = guard, .guard_negated = negated, .line = opcode->line, .column = opcode->column};
    const pg_token label = p->token;
    if (n == 1 && operands[0].kind == PG_OPERAND_LABEL)
        pg_parser_advance(p);
    if (!pg_match_operands(p, e, operands, n, &insn))
        return false;
    if (n == 1 && operands[0].kind == PG_OPERAND_LABEL)
        pg_use_label(p, label.text, &label, (uint32_t *)&insn.operands[0].index);
    set_loc(p, &insn);
    insn.span = pg_parser_span(p);
    *(pg_ptx_insn *)pg_list_add(p, &p->fn.code) = insn;
    return pg_parser_expect(p, ';');
}

/* A name: an opcode or a label. */
static bool parse_named_statement(pg_parser *p)
{
    pg_token name = p->token;
    pg_lexer_extend_opcode(&p->lexer, &name);
    bool plain = name.text.n == p->token.text.n;
    pg_parser_advance(p);
    if (plain && pg_parser_accept(p, ':'))
        return parse_labelled(p, &name);
    return parse_instruction(p, &name, PG_PTX_NO_REG, false);
}

static bool parse_guarded(pg_parser *p)
{
    int32_t guard;
    bool negated;
    pg_parser_advance(p);
    if (!pg_parse_guard(p, &guard, &negated))
        return false;
    pg_token opcode = p->token;
    if (opcode.kind != PG_TOKEN_IDENT)
        return pg_parser_unexpected(p, "an instruction");
    pg_lexer_extend_opcode(&p->lexer, &opcode);
    pg_parser_advance(p);
    return parse_instruction(p, &opcode, guard, negated);
}

/* ---- directives ---- */

/* ".loc 1 5 3, function_name L + 4, inlined_at 1 7 9": what follows the three numbers is
 * dropped. */
bool pg_parse_loc(pg_parser *p)
{
    uint32_t v[3];
    for (int i = 0; i < 3; i++) {
        if (p->token.kind != PG_TOKEN_INT || p->token.value > UINT32_MAX)
            return pg_parser_unexpected(p, "file, line and column");
        v[i] = (uint32_t)p->token.value;
        pg_parser_advance(p);
    }
    while (pg_parser_accept(p, ',')) {
        pg_str word;
        if (!pg_parser_name(p, &word))
            return false;
        bool is_function = pg_str_is(word, "function_name");
        if (is_function && !pg_parser_name(p, &word))
            return false;
        if (is_function && pg_parser_accept(p, '+'))
            pg_parser_advance(p);
        while (!is_function && p->token.kind == PG_TOKEN_INT)
            pg_parser_advance(p);
    }
    p->fn.pending_loc = (pg_ptx_loc){v[0], v[1], v[2]};
    p->fn.has_pending_loc = true;
    return true;
}

bool pg_parse_pragma(pg_parser *p, uint32_t function, uint32_t insn)
{
    do {
        if (p->token.kind != PG_TOKEN_STRING)
            return pg_parser_unexpected(p, "a string");
        *(pg_ptx_pragma *)pg_list_add(p, &p->pragmas) =
            (pg_ptx_pragma){pg_parser_copy(p, p->token.text), function, insn};
        pg_parser_advance(p);
    } while (pg_parser_accept(p, ','));
    return pg_parser_expect(p, ';');
}

static bool parse_directive(pg_parser *p)
{
    pg_ptx_space space = pg_space_of(p->token.text);
    if (space == PG_SPACE_REG) {
        pg_parser_advance(p);
        return pg_parse_registers(p);
    }
    if (space != PG_SPACE_NONE) {
        pg_parser_advance(p);
        return pg_parse_variables(p, space, PG_LINKAGE_NONE);
    }
    if (pg_parser_accept_suffix(p, "loc"))
        return pg_parse_loc(p);
    if (pg_parser_accept_suffix(p, "pragma"))
        return pg_parse_pragma(p, p->fn.index, p->fn.code.count);
    return pg_parser_unexpected(p, "a statement");
}

/* ---- statements ---- */

/* At '{' after an error: skips a vector, "{a, b}". False, and nothing skipped, if it is a scope. */
static bool skip_vector(pg_parser *p)
{
    const pg_lexer lexer = p->lexer;
    const pg_token token = p->token;
    do {
        pg_parser_advance(p);
        if (pg_parser_accept(p, '}'))
            return true;
    } while (p->token.kind != PG_TOKEN_END && !pg_parser_at(p, ';') && !pg_parser_at(p, '{'));
    if (p->fatal == PTXGEN_OK) {
        p->lexer = lexer;
        p->token = token;
    }
    return false;
}

/* After an error: behind the next ';', or at the next brace of a scope. */
static void recover(pg_parser *p)
{
    while (p->token.kind != PG_TOKEN_END && !pg_parser_at(p, '}')) {
        if (pg_parser_accept(p, ';'))
            return;
        if (!pg_parser_at(p, '{'))
            pg_parser_advance(p);
        else if (!skip_vector(p))
            return;
    }
}

static void parse_statement(pg_parser *p)
{
    bool ok;
    p->begin = pg_parser_offset(p);
    if (p->token.kind == PG_TOKEN_IDENT)
        ok = parse_named_statement(p);
    else if (p->token.kind == PG_TOKEN_SUFFIX)
        ok = parse_directive(p);
    else if (pg_parser_at(p, '@'))
        ok = parse_guarded(p);
    else
        ok = pg_parser_unexpected(p, "a statement");
    if (!ok)
        recover(p);
}

/* Opens a nested scope; *uses gets how many label uses there were before. */
static bool open_scope(pg_parser *p, pg_list *uses)
{
    if (uses->count >= p->options.max_nesting) {
        pg_parser_error(p, "scopes nested deeper than %u", p->options.max_nesting);
        pg_parser_stop(p, PTXGEN_EBUDGET);
        return false;
    }
    *(uint32_t *)pg_list_add(p, uses) = p->fn.label_uses.count;
    pg_names_open_scope(&p->names);
    return true;
}

void pg_parse_body(pg_parser *p)
{
    pg_list uses = {.size = sizeof(uint32_t)}; /* by nested scope that is open */
    while (p->token.kind != PG_TOKEN_END) {
        if (pg_parser_at(p, '{')) {
            if (open_scope(p, &uses))
                pg_parser_advance(p);
        } else if (!pg_parser_at(p, '}')) {
            parse_statement(p);
        } else if (uses.count) {
            resolve_labels(p, *PG_LIST_AT(&uses, uint32_t, --uses.count));
            pg_names_close_scope(&p->names);
            pg_parser_advance(p);
        } else {
            break;
        }
    }
    if (p->token.kind == PG_TOKEN_END)
        pg_parser_unexpected(p, "'}'");
    while (uses.count && uses.count--)
        pg_names_close_scope(&p->names);
    resolve_labels(p, 0);
    report_missing_labels(p);
}
