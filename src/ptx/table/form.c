/* Reads opcodes.def once into rows of bit sets, then matches spellings against the rows of their
 * root word.
 *
 * Suffixes of different fields may stand in any order (ptxas takes them so), types keep theirs:
 * each suffix goes to the first item of the row that takes it and is still free. */
#include "ptx/table/form.h"

#include "base/hash.h"
#include "ptx/table/fragment.h"
#include "ptx/table/syntax.h"
#include "ptx/table/vocabulary.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_ITEMS = 16,
    MAX_WORDS = 24, /* of one spelling */
    MOD_SETS = (PG_PTX_MODIFIER_COUNT + 63) / 64,
    ROOT_SLOTS = 512,
    WORD_SLOTS = 1024,
    NO_ROW = 0xFFFF,
    NO_FIELD = -1
};
_Static_assert((int)PG_PTX_OP_COUNT < (int)NO_ROW, "row numbers are 16 bits");
_Static_assert(PG_PTX_TYPE_COUNT <= 64, "sets of types are 64 bits");

/* One item of a row's modifier list: what it takes. */
typedef struct item {
    bool optional;
    int8_t with;   /* field with which it must stand, or NO_FIELD */
    pg_str shapes; /* "m16n8k8|m64n*k16", or empty */
    uint64_t types;
    uint64_t mods[MOD_SETS];
} item;

typedef struct row {
    uint8_t n_items, n_words; /* words of the mnemonic */
    uint16_t next;            /* row of the same root word */
    item items[MAX_ITEMS];
} row;

typedef struct type_group {
    const char *name, *types;
} type_group;

/* Groups that opcodes.def names with a '$'. */
static const type_group groups[] = {
#define PG_PTX_TYPE_GROUP(name, types) {name, types},
#include "ptx/table/type_groups.def"
#undef PG_PTX_TYPE_GROUP
};

static struct {
    row rows[PG_PTX_OP_COUNT];
    uint16_t roots[ROOT_SLOTS];           /* first row + 1 */
    uint16_t words[WORD_SLOTS];           /* first modifier of a spelling */
    uint16_t same[PG_PTX_MODIFIER_COUNT]; /* next modifier of the same spelling; 0: none */
    uint8_t types[WORD_SLOTS];
    char fault[160];
} table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* ---- splitting text ---- */

/* Cuts the text before the next `separator` off *rest. */
static pg_str cut(pg_str *rest, char separator)
{
    const char *p = memchr(rest->p, separator, rest->n);
    size_t n = p ? (size_t)(p - rest->p) : rest->n;
    pg_str word = {rest->p, n};
    rest->p += p ? n + 1 : n;
    rest->n -= p ? n + 1 : n;
    return word;
}

static void fault(const char *what, pg_str where, const char *row_name)
{
    if (!table.fault[0])
        snprintf(table.fault, sizeof table.fault, "%s: %s '%.*s'", row_name, what, (int)where.n,
                 where.p);
}

/* ---- words ---- */

static unsigned slot_of(pg_str word, unsigned n_slots)
{
    return (unsigned)pg_hash64(word.p, word.n) & (n_slots - 1);
}

static void add_word(unsigned modifier)
{
    pg_str word = pg_str_of(pg_modifier_table[modifier].spelling);
    unsigned s = slot_of(word, WORD_SLOTS);
    for (; table.words[s]; s = (s + 1) % WORD_SLOTS)
        if (pg_str_is(word, pg_modifier_table[table.words[s]].spelling)) {
            table.same[modifier] = table.words[s];
            break;
        }
    table.words[s] = (uint16_t)modifier;
}

static void add_type(unsigned type)
{
    unsigned s = slot_of(pg_str_of(pg_type_table[type].spelling), WORD_SLOTS);
    while (table.types[s])
        s = (s + 1) % WORD_SLOTS;
    table.types[s] = (uint8_t)type;
}

static unsigned find_word(pg_str word)
{
    for (unsigned s = slot_of(word, WORD_SLOTS); table.words[s]; s = (s + 1) % WORD_SLOTS)
        if (pg_str_is(word, pg_modifier_table[table.words[s]].spelling))
            return table.words[s];
    return 0;
}

static pg_ptx_type find_type(pg_str word)
{
    for (unsigned s = slot_of(word, WORD_SLOTS); table.types[s]; s = (s + 1) % WORD_SLOTS)
        if (pg_str_is(word, pg_type_table[table.types[s]].spelling))
            return table.types[s];
    return PG_T_NONE;
}

/* ---- reading opcodes.def ---- */

static int find_field(pg_str name)
{
    for (int f = 0; f < PG_PTX_FIELD_COUNT; f++)
        if (pg_str_is(name, pg_field_table[f]))
            return f;
    return -1;
}

static void add_mod(item *it, unsigned modifier)
{
    it->mods[modifier / 64] |= (uint64_t)1 << modifier % 64;
}

static bool add_field(item *it, int field)
{
    for (unsigned m = 1; m < PG_PTX_MODIFIER_COUNT; m++)
        if ((int)pg_modifier_table[m].field == field)
            add_mod(it, m);
    return true;
}

static bool add_group(item *it, pg_str name)
{
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        if (!pg_str_is(name, groups[g].name))
            continue;
        pg_str rest = pg_str_of(groups[g].types);
        while (rest.n)
            it->types |= (uint64_t)1 << find_type(cut(&rest, '|'));
        return !(it->types & 1);
    }
    return false;
}

/* One alternative of an item; `field` is what stands before the ':', or -1. */
static bool add_alternative(item *it, pg_str word, int field)
{
    if (word.n && word.p[0] == '$')
        return add_group(it, (pg_str){word.p + 1, word.n - 1});
    pg_ptx_type type = find_type(word);
    if (type != PG_T_NONE && field < 0) {
        it->types |= (uint64_t)1 << type;
        return true;
    }
    unsigned m = find_word(word);
    while (m && field >= 0 && (int)pg_modifier_table[m].field != field)
        m = table.same[m];
    if (m) {
        add_mod(it, m);
        return field >= 0 || !table.same[m]; /* several fields have it: say which */
    }
    int whole = find_field(word);
    return whole >= 0 && add_field(it, whole);
}

/* Cuts "?" or "?FIELD" off the end of the text. */
static bool read_condition(item *it, pg_str *text)
{
    const char *mark = memchr(text->p, '?', text->n);
    it->with = NO_FIELD;
    if (!mark)
        return true;
    pg_str field = {mark + 1, (size_t)(text->p + text->n - mark - 1)};
    text->n = (size_t)(mark - text->p);
    it->optional = true;
    if (field.n)
        it->with = (int8_t)find_field(field);
    return !field.n || it->with >= 0;
}

static bool read_item(item *it, pg_str text)
{
    if (!read_condition(it, &text) || !text.n)
        return false;
    if (text.n > 1 && text.p[0] == 'm' && text.p[1] >= '0' && text.p[1] <= '9') {
        it->shapes = text;
        return true;
    }
    /* "FIELD:" is followed by one colon; "::" belongs to a spelling. */
    const char *colon = memchr(text.p, ':', text.n);
    int field = NO_FIELD;
    if (colon && colon + 1 < text.p + text.n && colon[1] != ':') {
        field = find_field((pg_str){text.p, (size_t)(colon - text.p)});
        if (field < 0)
            return false;
        text = (pg_str){colon + 1, (size_t)(text.p + text.n - colon - 1)};
    }
    while (text.n)
        if (!add_alternative(it, cut(&text, '|'), field))
            return false;
    return true;
}

/* The field of an item that sets one, or NO_FIELD. */
static int field_of(const item *it)
{
    for (unsigned set = 0; set < MOD_SETS; set++)
        if (it->mods[set])
            return (int)pg_modifier_table[set * 64 + (unsigned)__builtin_ctzll(it->mods[set])]
                .field;
    return NO_FIELD;
}

/* Whether the last item of a row sets the field of an earlier one. */
static bool repeats_field(const row *r)
{
    int field = field_of(&r->items[r->n_items - 1]);
    for (unsigned i = 0; field != NO_FIELD && i + 1u < r->n_items; i++)
        if (field_of(&r->items[i]) == field)
            return true;
    return false;
}

static void read_row(unsigned op)
{
    const pg_ptx_op_info *info = pg_ptx_op_describe(op);
    row *r = &table.rows[op];
    for (pg_str rest = pg_str_of(info->mnemonic); rest.n; r->n_words++)
        cut(&rest, '.');
    pg_str rest = pg_str_of(info->modifiers), text;
    while ((text = pg_str_word(&rest)).n) {
        if (r->n_items == MAX_ITEMS)
            fault("too many items at", text, info->name);
        else if (!read_item(&r->items[r->n_items++], text))
            fault("cannot read", text, info->name);
        else if (repeats_field(r))
            fault("a field of an earlier item at", text, info->name);
    }
}

static pg_str root_of(const char *mnemonic)
{
    pg_str rest = pg_str_of(mnemonic);
    return cut(&rest, '.');
}

/* Puts the rows into the hash table by root word, chained in table order. */
static void index_rows(void)
{
    for (unsigned op = PG_PTX_OP_COUNT; op-- > 0;) {
        pg_str root = root_of(pg_ptx_op_describe(op)->mnemonic);
        unsigned s = slot_of(root, ROOT_SLOTS);
        while (table.roots[s] &&
               !pg_str_eq(root, root_of(pg_ptx_op_describe(table.roots[s] - 1u)->mnemonic)))
            s = (s + 1) % ROOT_SLOTS;
        table.rows[op].next = table.roots[s] ? (uint16_t)(table.roots[s] - 1) : NO_ROW;
        table.roots[s] = (uint16_t)(op + 1);
    }
}

static void read_table(void)
{
    for (unsigned t = 1; t < PG_PTX_TYPE_COUNT; t++)
        add_type(t);
    for (unsigned m = 1; m < PG_PTX_MODIFIER_COUNT; m++)
        add_word(m);
    for (unsigned op = 0; op < PG_PTX_OP_COUNT; op++)
        read_row(op);
    index_rows();
}

/* ---- matching ---- */

typedef struct spelling {
    pg_str words[MAX_WORDS];
    unsigned n;
    unsigned first_row;
} spelling;

static unsigned first_row_of(pg_str root)
{
    unsigned s = slot_of(root, ROOT_SLOTS);
    for (; table.roots[s]; s = (s + 1) % ROOT_SLOTS)
        if (pg_str_eq(root, root_of(pg_ptx_op_describe(table.roots[s] - 1u)->mnemonic)))
            return table.roots[s] - 1u;
    return NO_ROW;
}

static bool split(pg_str text, spelling *out)
{
    pthread_once(&table_once, read_table);
    for (out->n = 0; text.n && out->n < MAX_WORDS; out->n++)
        out->words[out->n] = cut(&text, '.');
    out->first_row = out->n ? first_row_of(out->words[0]) : NO_ROW;
    return text.n == 0 && out->first_row != NO_ROW;
}

typedef struct shape {
    uint16_t m, n, k; /* n 0: '*' */
} shape;

static bool read_dimension(pg_str *rest, char letter, uint16_t *out)
{
    if (!rest->n || rest->p[0] != letter)
        return false;
    size_t i = 1;
    unsigned v = 0;
    for (; i < rest->n && i < 5 && rest->p[i] >= '0' && rest->p[i] <= '9'; i++)
        v = v * 10 + (unsigned)(rest->p[i] - '0');
    if (i < rest->n && i == 1 && rest->p[i] == '*')
        i++;
    *out = (uint16_t)v;
    *rest = (pg_str){rest->p + i, rest->n - i};
    return i > 1;
}

/* mMnN or mMnNkK */
static bool read_shape(pg_str word, shape *s)
{
    *s = (shape){0};
    return read_dimension(&word, 'm', &s->m) && read_dimension(&word, 'n', &s->n) &&
           (!word.n || (read_dimension(&word, 'k', &s->k) && !word.n));
}

static bool shape_matches(pg_str shapes, pg_str word, pg_ptx_opcode *o)
{
    shape want, have;
    if (!read_shape(word, &have) || !have.n)
        return false;
    while (shapes.n) {
        if (!read_shape(cut(&shapes, '|'), &want) || want.m != have.m || want.k != have.k)
            continue;
        if (want.n ? want.n == have.n : have.n % 8 == 0 && have.n <= 256) {
            o->shape_m = have.m;
            o->shape_n = have.n;
            o->shape_k = have.k;
            return true;
        }
    }
    return false;
}

static bool begins_with_mnemonic(const spelling *s, unsigned op)
{
    unsigned n = table.rows[op].n_words;
    if (n > s->n)
        return false;
    pg_str rest = pg_str_of(pg_ptx_op_describe(op)->mnemonic);
    for (unsigned i = 0; i < n; i++)
        if (!pg_str_eq(cut(&rest, '.'), s->words[i]))
            return false;
    return true;
}

/* Whether the item takes the word; if so, writes what it means. `next_type`: number of types so
 * far. */
static bool item_takes(const item *it, pg_str word, pg_ptx_opcode *o)
{
    if (it->shapes.n)
        return shape_matches(it->shapes, word, o);
    if (it->types) {
        pg_ptx_type type = find_type(word);
        if (type == PG_T_NONE || !(it->types >> type & 1))
            return false;
        o->types[o->n_types++] = (uint8_t)type;
        return true;
    }
    for (unsigned m = find_word(word); m; m = table.same[m])
        if (it->mods[m / 64] >> m % 64 & 1) {
            o->mod[pg_modifier_table[m].field] = (uint16_t)m;
            return true;
        }
    return false;
}

/* Gives each suffix to an item. Returns the number of suffixes placed; *missing: an item left
 * empty, or -1. */
static unsigned place_words(const spelling *s, const row *r, pg_ptx_opcode *o, int *missing)
{
    bool filled[MAX_ITEMS] = {false};
    unsigned w = r->n_words;
    for (; w < s->n; w++) {
        unsigned i = 0;
        for (; i < r->n_items; i++) {
            if (filled[i])
                continue;
            if (item_takes(&r->items[i], s->words[w], o)) {
                filled[i] = true;
                break;
            }
            if (r->items[i].types && !r->items[i].optional && find_type(s->words[w]) != PG_T_NONE) {
                i = r->n_items; /* a type goes to the next type item, or nowhere */
                break;
            }
        }
        if (i == r->n_items)
            break;
    }
    *missing = -1;
    for (unsigned i = 0; i < r->n_items && *missing < 0; i++) {
        const item *it = &r->items[i];
        if (it->with != NO_FIELD ? filled[i] != (o->mod[it->with] != PG_M_NONE)
                                 : !filled[i] && !it->optional)
            *missing = (int)i;
    }
    return w - r->n_words;
}

bool pg_form_match(pg_str text, unsigned *next, pg_ptx_opcode *o)
{
    spelling s;
    if (!split(text, &s))
        return false;
    for (unsigned op = s.first_row; op != NO_ROW; op = table.rows[op].next) {
        if (op < *next || !begins_with_mnemonic(&s, op))
            continue;
        int missing;
        memset(o, 0, sizeof *o);
        unsigned placed = place_words(&s, &table.rows[op], o, &missing);
        if (missing < 0 && placed == s.n - table.rows[op].n_words) {
            o->op = (pg_ptx_op)op;
            *next = op + 1;
            return true;
        }
    }
    return false;
}

/* The text of item number n in a modifier list. */
static pg_str item_text(unsigned op, int n)
{
    pg_str rest = pg_str_of(pg_ptx_op_describe(op)->modifiers), text = {0};
    for (int i = 0; i <= n; i++)
        text = pg_str_word(&rest);
    return text;
}

void pg_form_explain(pg_str text, char *buf, size_t size)
{
    spelling s;
    char syntax[200];
    if (!split(text, &s)) {
        snprintf(buf, size,
                 s.first_row == NO_ROW
                     ? "'%.*s' is none of the instructions of PTX ISA 9.0 that ptxgen knows"
                     : "'%.*s' has too many suffixes",
                 (int)(s.n ? s.words[0].n : 0), s.n ? s.words[0].p : "");
        return;
    }
    /* The row that took most of the words knows best what is wrong. */
    unsigned best = NO_ROW, best_words = 0;
    int best_missing = -1;
    for (unsigned op = s.first_row; op != NO_ROW; op = table.rows[op].next) {
        if (!begins_with_mnemonic(&s, op))
            continue;
        pg_ptx_opcode o = {0};
        int missing;
        unsigned words = table.rows[op].n_words + place_words(&s, &table.rows[op], &o, &missing);
        if (best == NO_ROW || words > best_words)
            best = op, best_words = words, best_missing = missing;
    }
    if (best == NO_ROW)
        snprintf(buf, size, "'%.*s' has no form with these suffixes", (int)s.words[0].n,
                 s.words[0].p);
    else if (best_words < s.n) {
        pg_ptx_syntax(pg_str_of(pg_ptx_op_describe(best)->modifiers), syntax, sizeof syntax);
        snprintf(buf, size, "suffix '.%.*s' does not fit here; '%s' takes: %s",
                 (int)s.words[best_words].n, s.words[best_words].p,
                 pg_ptx_op_describe(best)->mnemonic, syntax);
    } else {
        pg_ptx_syntax(item_text(best, best_missing), syntax, sizeof syntax);
        snprintf(buf, size, "a suffix is missing, or one too many: %s", syntax);
    }
}

pg_ptx_type pg_form_find_type(pg_str word)
{
    pthread_once(&table_once, read_table);
    return find_type(word);
}

static void print_word(pg_buf *out, const char *word)
{
    pg_buf_putc(out, '.');
    pg_buf_puts(out, word);
}

static void print_shape(const pg_ptx_opcode *o, pg_buf *out)
{
    pg_buf_printf(out, ".m%un%u", o->shape_m, o->shape_n);
    if (o->shape_k)
        pg_buf_printf(out, "k%u", o->shape_k);
}

static void print_mod(const item *it, const pg_ptx_opcode *o, pg_buf *out)
{
    int field = field_of(it);
    if (field != NO_FIELD && o->mod[field])
        print_word(out, pg_modifier_table[o->mod[field]].spelling);
}

void pg_form_print(const pg_ptx_opcode *o, pg_buf *out)
{
    pthread_once(&table_once, read_table);
    const row *r = &table.rows[o->op];
    unsigned type = 0;
    pg_buf_puts(out, pg_ptx_op_describe(o->op)->mnemonic);
    for (unsigned i = 0; i < r->n_items; i++) {
        if (r->items[i].shapes.n)
            print_shape(o, out);
        else if (!r->items[i].types)
            print_mod(&r->items[i], o, out);
        else if (type < o->n_types)
            print_word(out, pg_type_table[o->types[type++]].spelling);
    }
}

/* ---- operand lists ---- */

static const struct {
    char letter;
    unsigned kinds;
} letters[] = {
#define K(kind) PG_KIND_BIT(PG_OPERAND_##kind)
    {'d', K(REG)},
    {'o', K(REG) | K(SINK)},
    {'e', K(REG) | K(PAIR)},
    {'c', K(PAIR)},
    {'q', K(REG) | K(SINK) | K(PAIR)},
    {'_', K(SINK)},
    {'V', K(VECTOR)},
    {'w', K(VECTOR)},
    {'v', K(VECTOR)},
    {'s', K(REG) | K(IMM)},
    {'r', K(REG)},
    {'i', K(IMM)},
    {'p', K(REG)},
    {'P', K(REG) | K(IMM)},
    {'y', K(REG) | K(IMM) | K(SPECIAL)},
    {'x', K(REG) | K(IMM) | K(SPECIAL) | K(VAR) | K(FUNC)},
    {'a', K(ADDRESS)},
    {'l', K(LABEL)},
    {'f', K(FUNC)},
    {'(', K(LIST)},
    {'t', K(TABLE) | K(PROTO)},
#undef K
};

static unsigned kinds_of(char letter)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == letter)
            return letters[i].kinds;
    return 0;
}

static pg_ptx_type widened(pg_ptx_type type)
{
    switch (type) {
    case PG_T_U16:
        return PG_T_U32;
    case PG_T_S16:
        return PG_T_S32;
    case PG_T_U32:
        return PG_T_U64;
    case PG_T_S32:
        return PG_T_S64;
    default:
        return type;
    }
}

/* ":0", ":W0" (doubled under .wide), ".u32" or nothing. */
static bool read_type(pg_str text, const pg_ptx_opcode *o, pg_ptx_type *type)
{
    *type = PG_T_NONE;
    if (!text.n)
        return true;
    if (text.p[0] == '.') {
        *type = find_type((pg_str){text.p + 1, text.n - 1});
        return *type != PG_T_NONE;
    }
    bool wide = text.n == 3 && text.p[1] == 'W';
    unsigned n = (unsigned)(text.p[text.n - 1] - '0');
    if (text.p[0] != ':' || (text.n != 2 && !wide) || n >= PG_PTX_MAX_TYPES)
        return false;
    *type = o->types[n];
    if (wide && o->mod[PG_F_HALF] == PG_M_HALF_WIDE)
        *type = widened(*type);
    return true;
}

static uint16_t vector_width(const pg_ptx_opcode *o)
{
    switch (o->mod[PG_F_VEC]) {
    case PG_M_VEC_V2:
        return 2;
    case PG_M_VEC_V4:
        return 4;
    case PG_M_VEC_V8:
        return 8;
    default:
        return 0;
    }
}

/* letter ["~"] [count | "@" rule] [type] */
static bool read_alternative(pg_str text, const pg_ptx_opcode *o, pg_slot_alternative *a)
{
    *a = (pg_slot_alternative){.letter = text.n ? text.p[0] : 0};
    pg_str rest = {text.p + 1, text.n ? text.n - 1 : 0};
    if (rest.n && rest.p[0] == '~') {
        a->wider = true;
        rest = (pg_str){rest.p + 1, rest.n - 1};
    }
    size_t n = 0;
    while (n < rest.n && rest.p[n] != ':' && rest.p[n] != '.')
        n++;
    pg_str count = {rest.p, n};
    if (n && count.p[0] == '@') {
        int length = pg_fragment_length(o, (pg_str){count.p + 1, n - 1});
        if (length < 0)
            return false;
        a->count = (uint16_t)length;
    } else if (n) {
        int64_t v;
        if (!pg_str_i64(count, &v) || v < 1 || v > 256)
            return false;
        a->count = (uint16_t)v;
    }
    if (a->letter == 'D' || a->letter == 'S') {
        a->count = vector_width(o);
        a->letter = a->count ? (a->letter == 'D' ? 'V' : 'v') : (a->letter == 'D' ? 'd' : 's');
    }
    a->kinds = (uint16_t)kinds_of(a->letter);
    if (!a->kinds || !read_type((pg_str){rest.p + n, rest.n - n}, o, &a->type))
        return false;
    a->predicate = strchr("pPqc", a->letter) || a->type == PG_T_PRED;
    return true;
}

static bool read_slot(pg_str text, const pg_ptx_opcode *o, pg_slot *slot)
{
    *slot = (pg_slot){.need = PG_SLOT_REQUIRED};
    const char *mark = memchr(text.p, '?', text.n);
    if (mark) {
        pg_str field = {mark + 1, (size_t)(text.p + text.n - mark - 1)};
        text.n = (size_t)(mark - text.p);
        int f = field.n ? find_field(field) : -1;
        if (field.n && f < 0)
            return false;
        slot->need = !field.n ? PG_SLOT_OPTIONAL : o->mod[f] ? PG_SLOT_REQUIRED : PG_SLOT_ABSENT;
    }
    while (text.n) {
        if (slot->n_alternatives == PG_MAX_ALTERNATIVES ||
            !read_alternative(cut(&text, '|'), o, &slot->alternatives[slot->n_alternatives++]))
            return false;
    }
    return slot->n_alternatives > 0;
}

static bool read_slots(const pg_ptx_opcode *o, pg_form *form)
{
    form->n_slots = 0;
    pg_str rest = pg_str_of(pg_ptx_op_describe(o->op)->operands), text;
    while ((text = pg_str_word(&rest)).n)
        if (form->n_slots == PG_MAX_SLOTS || !read_slot(text, o, &form->slots[form->n_slots++]))
            return false;
    return true;
}

void pg_form_of(const pg_ptx_opcode *opcode, pg_form *form)
{
    pthread_once(&table_once, read_table);
    read_slots(opcode, form); /* opcodes.def is known to be right: see pg_form_table_fault */
}

const char *pg_form_table_fault(void)
{
    pthread_once(&table_once, read_table);
    for (unsigned op = 0; op < PG_PTX_OP_COUNT; op++) {
        const pg_ptx_op_info *info = pg_ptx_op_describe(op);
        pg_ptx_opcode o = {.op = (pg_ptx_op)op};
        pg_form form;
        if (!read_slots(&o, &form))
            fault("cannot read the operands", pg_str_of(info->operands), info->name);
    }
    return table.fault[0] ? table.fault : NULL;
}
