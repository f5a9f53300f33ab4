/* Operands as text of the merged module. Those of the user's functions are printed: their names
 * are new. Those of the kernel are cut out of its text: its parsed form may name a register of a
 * nested scope otherwise. */
#include "ptx/inline/inline.h"

#include "ptx/print.h"
#include "ptx/text/lex.h"

#include <stdio.h>
#include <string.h>

/* What is looked for, in written order: an operand (element < 0), or an element of its brackets. */
typedef struct cut {
    uint32_t operand;
    int element;
    pg_str text; /* found so far; p NULL: nothing yet */
} cut;

static bool is_punct(const pg_token *t, const char *any)
{
    return t->kind == PG_TOKEN_PUNCT && t->text.n == 1 && strchr(any, t->text.p[0]);
}

static void take(cut *c, const pg_token *t, const char *end)
{
    if (!c->text.p)
        c->text.p = t->text.p - (t->kind == PG_TOKEN_SUFFIX); /* whose text is without its dot */
    c->text.n = (size_t)(end - c->text.p);
}

/* Walks the tokens behind the opcode. Commas divide: operands outside of brackets, elements
 * inside. */
static void find(cut *c, pg_lexer *lexer)
{
    uint32_t operand = 0;
    int element = 0, depth = 0;
    pg_token t;
    for (pg_lexer_next(lexer, &t); t.kind != PG_TOKEN_END && !is_punct(&t, ";");
         pg_lexer_next(lexer, &t)) {
        const bool opens = is_punct(&t, "{[("), closes = is_punct(&t, "}])"),
                   divides = is_punct(&t, ",");
        depth -= closes;
        const int inside = depth; /* brackets around this token, not counting its own */
        depth += opens;
        if (divides && inside == 0) {
            operand++;
            element = 0;
        } else if (divides && inside == 1 && c->element >= 0) {
            element++;
        } else if (operand == c->operand &&
                   (c->element < 0 || (inside > 0 && element == c->element))) {
            take(c, &t, lexer->p);
        }
    }
}

/* A lexer at the first operand: behind the guard and the opcode with its suffixes. */
static void find_operands(const pg_caller *c, const pg_ptx_insn *insn, pg_lexer *lexer)
{
    pg_token t;
    pg_lexer_init(lexer, c->text + insn->span.begin, insn->span.end - insn->span.begin);
    pg_lexer_next(lexer, &t);
    if (is_punct(&t, "@"))
        do {
            pg_lexer_next(lexer, &t);
        } while (is_punct(&t, "!"));
    if (insn->guard != PG_PTX_NO_REG)
        pg_lexer_next(lexer, &t);
    pg_lexer_extend_opcode(lexer, &t);
    for (pg_lexer ahead = *lexer;; ahead = *lexer) { /* suffixes may stand apart */
        pg_lexer_next(&ahead, &t);
        if (t.kind != PG_TOKEN_SUFFIX)
            break;
        *lexer = ahead;
    }
}

/* Slots that are absent are not written. */
static uint32_t written_number(const pg_ptx_insn *insn, uint32_t slot)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < slot; i++)
        n += insn->operands[i].kind != PG_OPERAND_NONE;
    return n;
}

static const char *from_text(const pg_caller *c, const pg_ptx_insn *insn, uint32_t slot,
                             int element)
{
    cut wanted = {.operand = written_number(insn, slot), .element = element};
    pg_lexer lexer;
    find_operands(c, insn, &lexer);
    find(&wanted, &lexer);
    return wanted.text.p ? pg_arena_strndup(c->in->arena, wanted.text.p, wanted.text.n) : NULL;
}

const char *pg_inline_operand(const pg_caller *c, const pg_ptx_insn *insn, uint32_t slot,
                              int element)
{
    const pg_ptx_operand *o = &insn->operands[slot];
    if (c->text) {
        const char *text = from_text(c, insn, slot, element);
        return text ? text : "";
    }
    pg_buf buf;
    pg_buf_init(&buf, c->in->alloc);
    pg_ptx_print_operand(c->module, c->f, element < 0 ? o : &o->elems[element], &buf);
    const char *text =
        buf.failed ? NULL : pg_arena_strndup(c->in->arena, pg_buf_text(&buf), buf.len);
    c->in->arena->failed |= buf.failed;
    pg_buf_fini(&buf);
    return text ? text : "";
}

const char *pg_inline_guard(const pg_caller *c, const pg_ptx_insn *insn)
{
    char guard[300], name[256];
    if (insn->guard == PG_PTX_NO_REG)
        return "";
    if (!c->text) {
        pg_ptx_reg_name(c->f, (uint32_t)insn->guard, name, sizeof name);
        snprintf(guard, sizeof guard, "@%s%s ", insn->guard_negated ? "!" : "", name);
    } else {
        pg_lexer lexer;
        pg_token t;
        pg_lexer_init(&lexer, c->text + insn->span.begin, insn->span.end - insn->span.begin);
        do {
            pg_lexer_next(&lexer, &t);
        } while (t.kind == PG_TOKEN_PUNCT);
        snprintf(guard, sizeof guard, "@%s%.*s ", insn->guard_negated ? "!" : "",
                 (int)(t.text.n < 250 ? t.text.n : 250), t.text.p);
    }
    const char *copy = pg_arena_strndup(c->in->arena, guard, strlen(guard));
    return copy ? copy : "";
}
