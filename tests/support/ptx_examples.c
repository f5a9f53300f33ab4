/* Reads a row's text much as form.c does, but the other way round: it writes what the row
 * accepts. */
#include "ptx_examples.h"

#include "ptx/table/form.h"
#include "ptx/table/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned pick(uint64_t *random, unsigned n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*random >> 33) % n;
}

static unsigned count_alternatives(pg_str text)
{
    unsigned n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '|';
    return n;
}

static pg_str alternative(pg_str text, unsigned n)
{
    for (;;) {
        const char *bar = memchr(text.p, '|', text.n);
        pg_str word = {text.p, bar ? (size_t)(bar - text.p) : text.n};
        if (!n-- || !bar)
            return word;
        text = (pg_str){bar + 1, text.n - word.n - 1};
    }
}

static pg_str pick_alternative(pg_str text, uint64_t *random)
{
    return alternative(text, pick(random, count_alternatives(text)));
}

/* "$int": one type of the group. */
static pg_str pick_type(pg_str group, uint64_t *random)
{
    static const struct {
        const char *name, *types;
    } groups[] = {
#define PG_PTX_TYPE_GROUP(name, types) {name, types},
#include "ptx/table/type_groups.def"
#undef PG_PTX_TYPE_GROUP
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (pg_str_is((pg_str){group.p + 1, group.n - 1}, groups[i].name))
            return pick_alternative(pg_str_of(groups[i].types), random);
    return group;
}

/* A whole field: any of its values. */
static pg_str pick_of_field(pg_str word, uint64_t *random)
{
    unsigned first = 0, n = 0;
    for (unsigned m = 1; m < PG_PTX_MODIFIER_COUNT; m++)
        if (pg_str_is(word, pg_field_table[pg_modifier_table[m].field])) {
            first = n++ ? first : m;
        }
    return n ? pg_str_of(pg_modifier_table[first + pick(random, n)].spelling) : word;
}

static bool is_shape(pg_str item)
{
    return item.n > 1 && item.p[0] == 'm' && item.p[1] >= '0' && item.p[1] <= '9';
}

static pg_str pick_suffix(pg_str item, uint64_t *random)
{
    const char *colon = memchr(item.p, ':', item.n);
    if (is_shape(item))
        return pick_alternative(item, random);
    if (colon && colon[1] != ':')
        item = (pg_str){colon + 1, (size_t)(item.p + item.n - colon - 1)};
    else if (item.p[0] != '$')
        item = pick_of_field(item, random);
    pg_str word = pick_alternative(item, random);
    return word.p[0] == '$' ? pick_type(word, random) : word;
}

/* "m64n*k16" with a number for the '*'. */
static void put_suffix(pg_str word, uint64_t *random, pg_buf *out)
{
    pg_buf_putc(out, '.');
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] == '*')
            pg_buf_put_u64(out, 8u << pick(random, 6));
        else
            pg_buf_putc(out, word.p[i]);
}

static bool is_set(const char *field, const bool *fields)
{
    for (unsigned f = 0; f < PG_PTX_FIELD_COUNT; f++)
        if (!strcmp(field, pg_field_table[f]))
            return fields[f];
    return false;
}

/* Notes the field of an item that was written: "SEM:weak", "SEM". */
static void note(pg_str item, bool *fields)
{
    for (unsigned f = 0; f < PG_PTX_FIELD_COUNT; f++) {
        size_t n = strlen(pg_field_table[f]);
        if (item.n >= n && !memcmp(item.p, pg_field_table[f], n) &&
            (item.n == n || item.p[n] == ':'))
            fields[f] = true;
    }
    for (unsigned m = 1; m < PG_PTX_MODIFIER_COUNT; m++)
        if (pg_str_is(item, pg_modifier_table[m].spelling))
            fields[pg_modifier_table[m].field] = true;
}

/* Mnemonic and suffixes. */
static void put_spelling(pg_ptx_op op, uint64_t *random, bool least, pg_buf *out)
{
    const pg_ptx_op_info *info = pg_ptx_op_describe(op);
    bool fields[PG_PTX_FIELD_COUNT] = {false};
    pg_str rest = pg_str_of(info->modifiers), item;
    pg_buf_puts(out, info->mnemonic);
    while ((item = pg_str_word(&rest)).n) {
        char condition[64] = "";
        const char *mark = memchr(item.p, '?', item.n);
        if (mark) {
            snprintf(condition, sizeof condition, "%.*s", (int)(item.p + item.n - mark - 1),
                     mark + 1);
            item.n = (size_t)(mark - item.p);
            if (condition[0] ? !is_set(condition, fields) : least || pick(random, 2))
                continue;
        }
        note(item, fields);
        put_suffix(pick_suffix(item, random), random, out);
    }
}

/* ---- operands ---- */

enum { REGISTERS = 260 };

static const char *const register_types[] = {"pred", "b8",  "b16", "b32",  "b64", "b128",
                                             "u16",  "u32", "u64", "s16",  "s32", "s64",
                                             "f16",  "f32", "f64", "f16x2"};

void ptx_example_declarations(pg_buf *out)
{
    for (size_t i = 0; i < sizeof register_types / sizeof *register_types; i++)
        pg_buf_printf(out, ".reg .%s %%%s_<%d>;\n", register_types[i], register_types[i],
                      REGISTERS);
    pg_buf_puts(out, ".shared .align 128 .b8 shared_memory[4096];\n"
                     ".local .align 16 .b8 local_memory[256];\n"
                     ".param .align 16 .b8 call_parameter[64];\n");
}

/* A register that may hold the type: of the type itself where registers have it, or of its bits. */
static void put_register(pg_ptx_type type, uint64_t *random, pg_buf *out)
{
    const char *name = pg_type_table[type].spelling;
    bool own = false;
    for (size_t i = 0; i < sizeof register_types / sizeof *register_types; i++)
        own |= !strcmp(name, register_types[i]);
    if (type == PG_T_NONE)
        pg_buf_puts(out, "%b64_");
    else if (own && pick(random, 2))
        pg_buf_printf(out, "%%%s_", name);
    else if (type == PG_T_PRED)
        pg_buf_puts(out, "%pred_");
    else
        pg_buf_printf(out, "%%b%u_", pg_type_table[type].bits < 8 ? 8 : pg_type_table[type].bits);
    pg_buf_put_u64(out, pick(random, REGISTERS));
}

static void put_constant(pg_ptx_type type, uint64_t *random, pg_buf *out)
{
    if (type == PG_T_F32)
        pg_buf_printf(out, "0f%08X", 0x3F800000 + pick(random, 100));
    else if (type == PG_T_F64)
        pg_buf_printf(out, "0d3FF000000000%04X", pick(random, 65536));
    else if (pg_type_table[type].class == PG_CLASS_FLOAT ||
             pg_type_table[type].class == PG_CLASS_PACKED)
        put_register(type, random, out);
    else
        pg_buf_put_u64(out, type == PG_T_U32 ? 32 : pick(random, 2));
}

/* Constants that only some values fit. */
static unsigned immediate(pg_ptx_op op)
{
    if (op >= PG_OP_MMA_SPARSE_F16 && op <= PG_OP_MMA_ORDERED_F8F6F4)
        return 0;
    switch (op) {
    case PG_OP_SETMAXNREG:
        return 40;
    case PG_OP_CP_ASYNC:
    case PG_OP_CP_ASYNC_IGNORE:
        return 16;
    case PG_OP_FENCE_TENSORMAP_ACQUIRE:
    case PG_OP_TENSORMAP_CP_FENCEPROXY:
    case PG_OP_DISCARD:
    case PG_OP_APPLYPRIORITY:
        return 128;
    case PG_OP_ST_BULK:
        return 0;
    default:
        return 1;
    }
}

static void put_vector(const pg_slot_alternative *a, uint64_t *random, pg_buf *out)
{
    unsigned n = a->count ? a->count : 2;
    pg_buf_putc(out, '{');
    for (unsigned i = 0; i < n; i++) {
        pg_buf_puts(out, i ? ", " : "");
        put_register(a->type == PG_T_NONE ? PG_T_B32 : a->type, random, out);
    }
    pg_buf_putc(out, '}');
}

static unsigned dimensions(const pg_ptx_opcode *o)
{
    return o->mod[PG_F_DIM] ? o->mod[PG_F_DIM] - PG_M_DIM_D1 + 1u : 0;
}

static bool is_texture(pg_ptx_op op)
{
    return op >= PG_OP_TEX && op <= PG_OP_SURED_FORMATTED;
}

/* Coordinates of a texture's geometry, and components of its gradients; 0: it has no geometry. */
static unsigned coordinates(const pg_ptx_opcode *o, bool gradient)
{
    switch (o->mod[PG_F_GEOMETRY]) {
    case PG_M_NONE:
        return 0;
    case PG_M_GEOMETRY_G1D:
        return 1;
    case PG_M_GEOMETRY_GA1D:
        return gradient ? 1 : 2;
    case PG_M_GEOMETRY_G2D:
        return 2;
    case PG_M_GEOMETRY_GA2D:
        return gradient ? 2 : 4;
    default:
        return 4;
    }
}

static void put_registers(unsigned count, pg_buf *out)
{
    pg_buf_putc(out, '{');
    for (unsigned i = 0; i < count; i++)
        pg_buf_printf(out, "%s%%b32_%u", i ? ", " : "", i);
    pg_buf_putc(out, '}');
}

/* A handle, and coordinates where there are any. */
static void put_texture(const pg_ptx_opcode *o, uint64_t *random, pg_buf *out)
{
    const unsigned count = coordinates(o, false);
    pg_buf_printf(out, "[%%b64_%u", pick(random, REGISTERS));
    pg_buf_puts(out, count ? ", " : "");
    if (count)
        put_registers(count, out);
    pg_buf_putc(out, ']');
}

/* The n-th address of an instruction. */
static void put_address(const pg_ptx_opcode *o, unsigned n, uint64_t *random, pg_buf *out)
{
    bool tensor_memory = o->op >= PG_OP_TCGEN05_CP && o->op <= PG_OP_TCGEN05_SHIFT;
    unsigned dims = dimensions(o), space = o->mod[PG_F_SPACE];
    bool is_map = dims && (n == 1) == (space != PG_M_SPACE_GLOBAL) && n < 2 &&
                  !(space == PG_M_NONE && n == 1);
    if (space == PG_M_NONE && dims)
        is_map = n == 0;
    pg_buf_putc(out, '[');
    if (tensor_memory)
        put_register(PG_T_B32, random, out);
    else if (!is_map && n == 0 && space == PG_M_SPACE_SHARED_CTA)
        pg_buf_printf(out, "shared_memory+%u", 128 * pick(random, 4));
    else if (n == 0 && space >= PG_M_SPACE_PARAM && space <= PG_M_SPACE_PARAM_FUNC)
        pg_buf_printf(out, "%s+%u", o->op == PG_OP_ST ? "call_parameter" : "parameter",
                      8 * pick(random, 2));
    else
        pg_buf_printf(out, is_map ? "%%b64_%u" : "%%b64_%u+16", pick(random, REGISTERS));
    if (is_map) {
        if (o->mod[PG_F_TENSOR] == PG_M_TENSOR_GATHER4 ||
            o->mod[PG_F_TENSOR] == PG_M_TENSOR_SCATTER4)
            dims = 5;
        pg_buf_puts(out, ", {");
        for (unsigned i = 0; i < dims; i++)
            pg_buf_printf(out, "%s%%b32_%u", i ? ", " : "", i);
        pg_buf_putc(out, '}');
    }
    pg_buf_putc(out, ']');
}

/* An instruction that is being written. */
typedef struct example {
    const pg_ptx_opcode *o;
    uint64_t *random;
    bool least;         /* registers rather than constants */
    unsigned addresses; /* written so far */
    pg_buf *out;
} example;

static void put_operand(example *e, const pg_slot_alternative *a)
{
    const pg_ptx_opcode *o = e->o;
    uint64_t *random = e->random;
    pg_buf *out = e->out;
    switch (a->letter) {
    case 's':
    case 'x':
    case 'y':
        if (e->least || pick(random, 4) || a->type == PG_T_NONE || a->type == PG_T_PRED)
            put_register(a->type, random, out);
        else
            put_constant(a->type, random, out);
        break;
    case 'i':
        pg_buf_put_u64(out, immediate(o->op));
        break;
    case 'p':
    case 'P':
        pg_buf_puts(out, pick(random, 2) ? "!" : "");
        put_register(PG_T_PRED, random, out);
        break;
    case 'q':
        pg_buf_printf(out, pick(random, 2) ? "%%pred_%u" : "%%pred_%u|%%pred_0",
                      1 + pick(random, 99));
        break;
    case 'c':
    case 'e':
        put_register(a->type, random, out);
        if (a->letter == 'c' || pick(random, 2))
            pg_buf_printf(out, "|%%pred_%u", pick(random, REGISTERS));
        break;
    case '_':
        pg_buf_putc(out, '_');
        break;
    case 'V':
    case 'v':
    case 'w':
        if (o->op == PG_OP_TEX_GRAD && a->letter == 'v')
            put_registers(coordinates(o, true), out);
        else
            put_vector(a, random, out);
        break;
    case 'a':
        if (is_texture(o->op))
            put_texture(o, random, out);
        else
            put_address(o, e->addresses++, random, out);
        break;
    case 'l':
        pg_buf_puts(out, "label");
        break;
    case 'f':
        pg_buf_puts(out, "callee");
        break;
    case 't':
        pg_buf_puts(out, "targets");
        break;
    default:
        put_register(a->type, random, out);
        break;
    }
}

/* Geometries and types that ptxas does not take together. */
static bool is_odd_texture(const pg_ptx_opcode *o)
{
    const unsigned geometry = o->mod[PG_F_GEOMETRY];
    const bool surface = o->op >= PG_OP_SULD,
               bits = o->mod[PG_F_OP] == PG_M_OP_AND || o->mod[PG_F_OP] == PG_M_OP_OR;
    if (o->op == PG_OP_SURED)
        return bits ? o->types[0] != PG_T_B32 : o->types[0] == PG_T_B32;
    return !surface && geometry >= PG_M_GEOMETRY_GCUBE && o->n_types > 1 && o->types[1] == PG_T_S32;
}

bool ptx_example(pg_ptx_op op, uint64_t *random, bool least, pg_buf *out)
{
    pg_ptx_opcode o;
    pg_form form;
    unsigned row = op;
    size_t start = out->len;
    put_spelling(op, random, least, out);
    if (!pg_form_match((pg_str){out->data + start, out->len - start}, &row, &o) || o.op != op ||
        (is_texture(op) && is_odd_texture(&o))) {
        pg_buf_truncate(out, start);
        return false;
    }
    pg_form_of(&o, &form);
    example e = {&o, random, least, 0, out};
    const char *separator = " ";
    for (unsigned s = 0; s < form.n_slots; s++)
        if (form.slots[s].alternatives[0].count > REGISTERS) { /* .16x256b.x128 and the like */
            pg_buf_truncate(out, start);
            return false;
        }
    for (unsigned s = 0; s < form.n_slots; s++) {
        const pg_slot *slot = &form.slots[s];
        if (slot->need == PG_SLOT_ABSENT || slot->alternatives[0].letter == '(')
            continue;
        if (slot->need == PG_SLOT_OPTIONAL && (least || pick(random, 2)))
            continue;
        pg_buf_puts(out, separator);
        put_operand(&e, &slot->alternatives[least ? 0 : pick(random, slot->n_alternatives)]);
        separator = ", ";
    }
    pg_buf_putc(out, ';');
    return true;
}

const char *ptx_example_target(pg_ptx_op op)
{
    static const char *const targets[] = {"sm_75",  "sm_80",   "sm_90",   "sm_90a",
                                          "sm_100", "sm_100a", "sm_103a", "sm_120a"};
    const char *want = pg_ptx_op_describe(op)->target;
    unsigned arch = (unsigned)strtoul(want, NULL, 10);
    size_t digits = strspn(want, "0123456789");
    bool special = want[digits] == 'a' || want[digits] == 'f';
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        unsigned have = (unsigned)strtoul(targets[i] + 3, NULL, 10);
        bool has_suffix = targets[i][strlen(targets[i]) - 1] == 'a';
        if (special ? have == arch && has_suffix : have >= arch)
            return targets[i];
    }
    return "sm_120a";
}
