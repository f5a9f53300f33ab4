/* Which row of the opcode table an instruction is: its spelling narrows it down (looked up once
 * per distinct spelling), the kinds of its operands decide. */
#include "ptx/text/parser.h"

#include "base/hash.h"
#include "ptx/table/vocabulary.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_TABLE = 256, MAX_DESCRIPTION = 160, EMPTY_SLOT = 0xFF };

/* ---- spellings ---- */

static bool grow_table(pg_parser *p)
{
    pg_list wider = {.size = sizeof(pg_spelling_entry),
                     .cap = p->spellings.cap ? p->spellings.cap * 2 : FIRST_TABLE};
    wider.items = pg_arena_array(&p->scratch, wider.cap, wider.size);
    if (!wider.items) {
        pg_parser_stop(p, PTXGEN_ENOMEM);
        return false;
    }
    for (uint32_t i = 0; i < p->spellings.cap; i++) {
        const pg_spelling_entry *e = PG_LIST_AT(&p->spellings, pg_spelling_entry, i);
        if (!e->text.p)
            continue;
        uint32_t s = e->hash & (wider.cap - 1);
        while (PG_LIST_AT(&wider, pg_spelling_entry, s)->text.p)
            s = (s + 1) & (wider.cap - 1);
        *PG_LIST_AT(&wider, pg_spelling_entry, s) = *e;
    }
    p->spellings = wider;
    return true;
}

/* Fills a new entry: all rows that the spelling fits. */
static void match_rows(pg_parser *p, pg_spelling_entry *e)
{
    unsigned row = 0;
    pg_ptx_opcode opcode;
    pg_candidate **tail = &e->candidates;
    while (pg_form_match(e->text, &row, &opcode)) {
        pg_candidate *c = pg_arena_alloc(&p->scratch, sizeof *c);
        pg_ptx_opcode *o = pg_parser_alloc(p, 1, sizeof *o);
        if (!c || !o) {
            pg_parser_stop(p, PTXGEN_ENOMEM);
            return;
        }
        *o = opcode;
        c->opcode = o;
        pg_form_of(o, &c->form);
        *tail = c;
        tail = &c->next;
        e->is_call |= o->op == PG_OP_CALL;
        e->is_parts |= o->op >= PG_OP_VADD2 && o->op <= PG_OP_VSET4;
        e->takes_label |= c->form.n_slots > 0 && c->form.slots[0].alternatives[0].letter == 'l';
    }
}

const pg_spelling_entry *pg_find_spelling(pg_parser *p, pg_str text)
{
    if (p->n_spellings >= p->spellings.cap / 2 && !grow_table(p))
        return NULL;
    uint32_t hash = (uint32_t)pg_hash64(text.p, text.n), mask = p->spellings.cap - 1;
    uint32_t s = hash & mask;
    for (;; s = (s + 1) & mask) {
        pg_spelling_entry *e = PG_LIST_AT(&p->spellings, pg_spelling_entry, s);
        if (!e->text.p)
            break;
        if (e->hash == hash && pg_str_eq(e->text, text))
            return e;
    }
    pg_spelling_entry *e = PG_LIST_AT(&p->spellings, pg_spelling_entry, s);
    *e = (pg_spelling_entry){.text = text, .hash = hash};
    p->n_spellings++;
    match_rows(p, e);
    return e;
}

/* ---- operands ---- */

static bool is_predicate(const pg_parser *p, const pg_ptx_operand *o)
{
    return *PG_LIST_AT(&p->fn.reg_types, uint8_t, o->index) == PG_T_PRED;
}

/* Kinds only, and predicates against other registers: both tell rows apart. Types are the
 * verifier's. */
static bool accepts(const pg_parser *p, const pg_slot_alternative *a, const pg_ptx_operand *o)
{
    if (!(a->kinds & PG_KIND_BIT(o->kind)))
        return false;
    if (o->kind != PG_OPERAND_REG)
        return !o->negated;
    if (is_predicate(p, o) != a->predicate && (a->predicate || a->type != PG_T_NONE))
        return false;
    return !o->negated || (a->predicate && strchr("pPsx", a->letter));
}

static bool slot_accepts(const pg_parser *p, const pg_slot *slot, const pg_ptx_operand *o)
{
    for (unsigned i = 0; i < slot->n_alternatives; i++)
        if (accepts(p, &slot->alternatives[i], o))
            return true;
    return false;
}

/* The operand as the slot takes it: NULL: not at all. Braces around a single register say
 * nothing where no vector is due: compilers write them around loads and stores of one element. */
static const pg_ptx_operand *as_taken(const pg_parser *p, const pg_slot *slot,
                                      const pg_ptx_operand *o)
{
    if (slot_accepts(p, slot, o))
        return o;
    return o->kind == PG_OPERAND_VECTOR && o->n_elems == 1 && slot_accepts(p, slot, &o->elems[0])
               ? &o->elems[0]
               : NULL;
}

/* What went wrong when a row did not fit: the operand (from 0) and the slot it met; slot
 * n_slots: one too many; operand n: one too few. */
typedef struct misfit {
    unsigned operand, slot;
} misfit;

/* What stands in the text. */
typedef struct written {
    const pg_ptx_operand *operands;
    unsigned n;
} written;

static unsigned required_slots(const pg_form *form)
{
    unsigned n = 0;
    for (unsigned s = 0; s < form->n_slots; s++)
        n += form->slots[s].need == PG_SLOT_REQUIRED;
    return n;
}

static bool fit(const pg_parser *p, const pg_form *form, const written *w, uint8_t *where,
                misfit *why)
{
    const unsigned n = w->n;
    unsigned next = 0, required = required_slots(form); /* still to come */
    for (unsigned s = 0; s < form->n_slots; s++) {
        const pg_slot *slot = &form->slots[s];
        bool optional = slot->need == PG_SLOT_OPTIONAL;
        where[s] = EMPTY_SLOT;
        if (slot->need == PG_SLOT_ABSENT || (optional && n - next <= required))
            continue;
        bool fits = next < n && as_taken(p, slot, &w->operands[next]);
        if (!optional && !fits) {
            *why = (misfit){next, s};
            return false;
        }
        required -= !optional;
        if (fits)
            where[s] = (uint8_t)next++;
    }
    *why = (misfit){next, form->n_slots};
    return next == n;
}

static bool finish(pg_parser *p, pg_candidate *c, const pg_ptx_operand *operands,
                   const uint8_t *where, pg_ptx_insn *insn)
{
    if (!c->used) {
        c->used = true;
        c->opcode->id = p->opcodes.count;
        *(const pg_ptx_opcode **)pg_list_add(p, &p->opcodes) = c->opcode;
    }
    insn->opcode = c->opcode;
    insn->n_operands = c->form.n_slots;
    if (!c->form.n_slots)
        return p->fatal == PTXGEN_OK;
    pg_ptx_operand *slots = pg_parser_alloc(p, c->form.n_slots, sizeof *slots);
    for (unsigned s = 0; slots && s < c->form.n_slots; s++)
        if (where[s] != EMPTY_SLOT)
            slots[s] = *as_taken(p, &c->form.slots[s], &operands[where[s]]);
    insn->operands = slots;
    return p->fatal == PTXGEN_OK;
}

/* ---- messages ---- */

static const char *kind_name(const pg_parser *p, const pg_ptx_operand *o)
{
    static const char *const names[] = {
        [PG_OPERAND_REG] = "a register",
        [PG_OPERAND_IMM] = "a constant",
        [PG_OPERAND_SPECIAL] = "a special register",
        [PG_OPERAND_SINK] = "_",
        [PG_OPERAND_VECTOR] = "a vector",
        [PG_OPERAND_PAIR] = "a pair",
        [PG_OPERAND_ADDRESS] = "an address",
        [PG_OPERAND_VAR] = "a variable",
        [PG_OPERAND_FUNC] = "a function",
        [PG_OPERAND_LABEL] = "a label",
        [PG_OPERAND_TABLE] = "a target list",
        [PG_OPERAND_PROTO] = "a prototype",
        [PG_OPERAND_LIST] = "a list",
    };
    if (o->negated)
        return "a negated predicate";
    return o->kind == PG_OPERAND_REG && is_predicate(p, o) ? "a predicate" : names[o->kind];
}

static const char *letter_name(const pg_slot_alternative *a)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {
        {'d', "a register"},
        {'o', "a register or _"},
        {'_', "_"},
        {'e', "a register or register|predicate"},
        {'c', "register|predicate"},
        {'q', "a predicate or predicate|predicate"},
        {'V', "a vector {..}"},
        {'w', "a vector {..}"},
        {'v', "a vector {..}"},
        {'s', "a register or a constant"},
        {'r', "a register"},
        {'i', "a constant"},
        {'p', "a predicate"},
        {'P', "a predicate or a constant"},
        {'y', "a register, a constant or a special register"},
        {'x', "a register, a constant or a symbol"},
        {'a', "an address [..]"},
        {'l', "a label"},
        {'f', "a function"},
        {'(', "a list (..)"},
        {'t', "a list of targets or a prototype"},
    };
    if (a->type == PG_T_PRED && a->letter == 'd')
        return "a predicate";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].letter == a->letter)
            return names[i].name;
    return "another operand";
}

static void describe_slot(const pg_slot *slot, char *buf, size_t size)
{
    size_t n = 0;
    buf[0] = 0;
    for (unsigned i = 0; i < slot->n_alternatives && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? " or " : "",
                              letter_name(&slot->alternatives[i]));
}

/* The row that fitted best, and where it did not. */
typedef struct failure {
    const pg_spelling_entry *spelling;
    const pg_candidate *candidate;
    misfit why;
} failure;

static bool report(pg_parser *p, const failure *f, const written *w, const pg_ptx_insn *insn)
{
    char expected[MAX_DESCRIPTION];
    const pg_str text = f->spelling->text;
    const misfit why = f->why;
    int len = text.n < 100 ? (int)text.n : 100;
    uint32_t column = why.operand < w->n ? w->operands[why.operand].column : insn->column;
    if (why.slot == f->candidate->form.n_slots)
        return pg_parser_error_at(p, insn->line, column, "'%.*s' takes no more than %u operands",
                                  len, text.p, why.operand);
    describe_slot(&f->candidate->form.slots[why.slot], expected, sizeof expected);
    if (why.operand >= w->n)
        return pg_parser_error_at(p, insn->line, column, "'%.*s' lacks operand %u: %s", len, text.p,
                                  why.operand + 1, expected);
    return pg_parser_error_at(p, insn->line, column, "operand %u of '%.*s' must be %s, not %s",
                              why.operand + 1, len, text.p, expected,
                              kind_name(p, &w->operands[why.operand]));
}

bool pg_match_operands(pg_parser *p, const pg_spelling_entry *e, const pg_ptx_operand *operands,
                       uint32_t n, pg_ptx_insn *insn)
{
    const written w = {operands, n};
    uint8_t where[PG_MAX_SLOTS];
    const pg_candidate *best = NULL;
    misfit best_why = {0}, why;
    for (pg_candidate *c = e->candidates; c; c = c->next) {
        if (fit(p, &c->form, &w, where, &why))
            return finish(p, c, operands, where, insn);
        if (!best || why.operand > best_why.operand)
            best = c, best_why = why;
    }
    return report(p, &(failure){e, best, best_why}, &w, insn);
}
