/* A parameter as registers. In a call a parameter is memory that one side writes and the other
 * reads, at offsets and in sizes of their own: a struct by its members, a char as the low byte
 * of a 32-bit word, a vector at once. Here it becomes pieces: the parts that are written apart,
 * each a register. A store sets pieces, a load gathers them. */
#include "ptx/inline/inline.h"

#include <stdio.h>
#include <string.h>

enum { LARGEST_PIECE = 8 };

/* ---- what is touched ---- */

static bool is_load(pg_ptx_op op)
{
    return op == PG_OP_LD || op == PG_OP_LD_VOLATILE;
}

static bool is_store(pg_ptx_op op)
{
    return op == PG_OP_ST || op == PG_OP_ST_VOLATILE;
}

bool pg_param_access_of(const pg_ptx_module *m, const pg_ptx_insn *insn, pg_param_access *out)
{
    const pg_ptx_op op = insn->opcode->op;
    if (!is_load(op) && !is_store(op))
        return false;
    const pg_ptx_operand *address = &insn->operands[is_load(op) ? 1 : 0];
    const pg_ptx_operand *data = &insn->operands[is_load(op) ? 0 : 1];
    if (address->base != PG_OPERAND_VAR || m->vars[address->index].space != PG_SPACE_PARAM ||
        address->value > UINT32_MAX / 2)
        return false;
    const pg_ptx_type type = (pg_ptx_type)insn->opcode->types[0];
    *out = (pg_param_access){.is_store = is_store(op),
                             .var = address->index,
                             .offset = (uint32_t)address->value,
                             .size = pg_ptx_type_bits(type) / 8,
                             .n = data->kind == PG_OPERAND_VECTOR ? data->n_elems : 1,
                             .type = type,
                             .data = data};
    return out->size > 0;
}

bool pg_touch_add(pg_inliner *in, pg_touches *list, pg_touch touch)
{
    if (touch.size > LARGEST_PIECE) { /* .b128 is two */
        touch.size /= 2;
        if (!pg_touch_add(in, list, touch))
            return false;
        touch.offset += touch.size;
    }
    if (list->count == list->cap) {
        const uint32_t cap = list->cap ? 2 * list->cap : 8;
        pg_touch *items = PG_NEW_ARRAY(in->arena, pg_touch, cap);
        if (!items)
            return false;
        if (list->count)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = touch;
    return true;
}

bool pg_touch_body(pg_inliner *in, const pg_ptx_module *m, const pg_ptx_function *f, uint32_t var,
                   pg_touches *list)
{
    pg_param_access a;
    for (uint32_t i = 0; i < f->n_code; i++) {
        if (!pg_param_access_of(m, &f->code[i], &a) || a.var != var)
            continue;
        for (uint32_t e = 0; e < a.n; e++)
            if (!pg_touch_add(in, list, (pg_touch){a.offset + e * a.size, a.size, a.is_store}))
                return false;
    }
    return true;
}

/* ---- pieces ---- */

typedef struct partition {
    pg_inliner *in;
    const pg_touches *list;
    pg_bridge *bridge;
    uint32_t cap;
    const char *name;
} partition;

static void add_piece(partition *p, uint32_t offset, uint32_t size)
{
    pg_bridge *b = p->bridge;
    char name[240];
    if (b->n_pieces == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 4;
        pg_piece *pieces = PG_NEW_ARRAY(p->in->arena, pg_piece, p->cap);
        if (!pieces)
            return;
        if (b->n_pieces)
            memcpy(pieces, b->pieces, b->n_pieces * sizeof *pieces);
        b->pieces = pieces;
    }
    snprintf(name, sizeof name, "%s_%u", p->name, offset);
    b->pieces[b->n_pieces++] =
        (pg_piece){offset, size, pg_arena_strndup(p->in->arena, name, strlen(name))};
}

/* How the touches of [offset, offset + size) divide it; only stores do, where there are any. */
static void look(const partition *p, uint32_t offset, uint32_t size, bool *touched, bool *divided)
{
    bool load_divides = false, stored = false;
    *touched = *divided = false;
    for (uint32_t i = 0; i < p->list->count; i++) {
        const pg_touch *t = &p->list->items[i];
        if (t->offset >= offset + size || t->offset + t->size <= offset)
            continue;
        *touched = true;
        if (t->is_store) {
            stored = true;
            *divided |= t->size < size;
        } else {
            load_divides |= t->size < size;
        }
    }
    *divided |= !stored && load_divides;
}

static void divide(partition *p, uint32_t offset, uint32_t size)
{
    bool touched, divided;
    look(p, offset, size, &touched, &divided);
    if (!touched || p->in->arena->failed)
        return;
    if (!divided) {
        add_piece(p, offset, size);
        return;
    }
    divide(p, offset, size / 2);
    divide(p, offset + size / 2, size / 2);
}

pg_bridge *pg_bridge_make(pg_inliner *in, uint64_t bytes, const pg_touches *touches,
                          const char *name)
{
    partition p = {in, touches, PG_NEW(in->arena, pg_bridge), 0, name};
    if (!p.bridge)
        return NULL;
    uint32_t end = 0; /* large arrays that are hardly touched cost nothing */
    for (uint32_t i = 0; i < touches->count; i++)
        if (touches->items[i].offset + touches->items[i].size > end)
            end = touches->items[i].offset + touches->items[i].size;
    for (uint32_t offset = 0; offset < end && offset < bytes; offset += LARGEST_PIECE)
        divide(&p, offset, LARGEST_PIECE);
    return in->arena->failed ? NULL : p.bridge;
}

static unsigned register_bits(uint32_t size)
{
    return size == 1 ? 16 : 8 * size;
}

void pg_bridge_declare(pg_inliner *in, const pg_bridge *b)
{
    for (uint32_t i = 0; i < b->n_pieces; i++)
        pg_out_line(&in->out, "    .reg .b%u %s;", register_bits(b->pieces[i].size),
                    b->pieces[i].name);
}

/* ---- moves ---- */

/* A move that needs more than one instruction has registers of its own, in a scope. */
typedef struct mover {
    pg_inliner *in;
    const pg_move *move;
    uint32_t n_temps;
} mover;

static const char *temp(mover *m, uint32_t size)
{
    char name[120];
    if (!m->n_temps)
        pg_out_line(&m->in->out, "    {");
    snprintf(name, sizeof name, "%%%s%u", m->in->unique, m->n_temps++);
    pg_out_line(&m->in->out, "    .reg .b%u %s;", register_bits(size), name);
    const char *copy = pg_arena_strndup(m->in->arena, name, strlen(name));
    return copy ? copy : "";
}

static void finish(const mover *m)
{
    if (m->n_temps)
        pg_out_line(&m->in->out, "    }");
}

#define PUT(m, ...) put_guarded(m, __VA_ARGS__)
static void put_guarded(const mover *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put_guarded(const mover *m, const char *format, ...)
{
    pg_out *o = &m->in->out;
    const size_t from = o->text.len;
    va_list args;
    pg_buf_puts(&o->text, "    ");
    pg_buf_puts(&o->text, m->move->guard);
    va_start(args, format);
    pg_buf_vprintf(&o->text, format, args);
    va_end(args);
    pg_buf_putc(&o->text, '\n');
    pg_out_wrote(o, from);
}

static const pg_piece *piece_at(const pg_bridge *b, uint32_t offset)
{
    for (uint32_t i = 0; i < b->n_pieces; i++)
        if (offset >= b->pieces[i].offset && offset < b->pieces[i].offset + b->pieces[i].size)
            return &b->pieces[i];
    return NULL;
}

/* `size` bytes of a register of `from` bytes, from byte `skip` on, as a register (zero-extended
 * if a byte). */
static const char *extract(mover *m, const char *source, uint32_t from, uint32_t skip,
                           uint32_t size)
{
    const char *shifted = source;
    if (skip) {
        shifted = temp(m, from);
        PUT(m, "shr.u%u %s, %s, %u;", register_bits(from), shifted, source, 8 * skip);
    }
    const char *out = temp(m, size);
    if (size == 1)
        PUT(m, "cvt.u16.u8 %s, %s;", out, shifted);
    else
        PUT(m, "cvt.u%u.u%u %s, %s;", 8 * size, register_bits(from), out, shifted);
    return out;
}

static const char *gather(mover *m, uint32_t offset, uint32_t size)
{
    const pg_piece *p = piece_at(m->move->bridge, offset);
    if (p && p->offset == offset && p->size == size)
        return p->name;
    if (p && p->size > size)
        return extract(m, p->name, p->size, offset - p->offset, size);
    const char *low = gather(m, offset, size / 2), *high = gather(m, offset + size / 2, size / 2);
    const char *out = temp(m, size);
    if (size == 2) {
        PUT(m, "shl.b16 %s, %s, 8;", out, high);
        PUT(m, "or.b16 %s, %s, %s;", out, out, low);
    } else {
        PUT(m, "mov.b%u %s, {%s, %s};", 8 * size, out, low, high);
    }
    return out;
}

void pg_bridge_load(pg_inliner *in, const pg_move *move, const pg_value *to)
{
    mover m = {.in = in, .move = move};
    const char *from = gather(&m, move->offset, move->size);
    const char sign = move->is_signed ? 's' : 'u';
    if (to->bits == 8 * move->size)
        PUT(&m, "mov.b%u %s, %s;", to->bits, to->text, from);
    else if (move->size == 1 && to->bits == 16 && !move->is_signed)
        PUT(&m, "mov.b16 %s, %s;", to->text, from);
    else
        PUT(&m, "cvt.%c%u.%c%u %s, %s;", sign, to->bits, sign, 8 * move->size, to->text, from);
    finish(&m);
}

static uint64_t constant_part(const pg_value *v, uint32_t skip, uint32_t size)
{
    const uint64_t shifted = skip < 8 ? v->constant >> (8 * skip) : 0;
    return size < 8 ? shifted & (((uint64_t)1 << (8 * size)) - 1) : shifted;
}

static void set_piece(mover *m, const pg_piece *p, const pg_value *v)
{
    if (p->size == 1)
        PUT(m, "cvt.u16.u8 %s, %s;", p->name, v->text);
    else if (v->bits == 8 * p->size)
        PUT(m, "mov.b%u %s, %s;", v->bits, p->name, v->text);
    else
        PUT(m, "cvt.u%u.u%u %s, %s;", 8 * p->size, v->bits, p->name, v->text);
}

/* A register of exactly the stored size that holds only bits: shifts and conversions take it. */
static const char *as_bits(mover *m, const pg_value *v, uint32_t size)
{
    const char *bits = temp(m, size);
    if (v->bits == 8 * size)
        PUT(m, "mov.b%u %s, %s;", v->bits, bits, v->text);
    else
        PUT(m, "cvt.u%u.u%u %s, %s;", 8 * size, v->bits, bits, v->text);
    return bits;
}

static void store_register(mover *m, const pg_value *v)
{
    const pg_move *move = m->move;
    const pg_piece *p = piece_at(move->bridge, move->offset);
    if (p && p->size == move->size) {
        set_piece(m, p, v);
        return;
    }
    const char *bits = as_bits(m, v, move->size);
    for (uint32_t at = 0; at < move->size; at += p ? p->size : 1) {
        p = piece_at(move->bridge, move->offset + at);
        if (!p)
            continue;
        const pg_value part = {.text = extract(m, bits, move->size, at, p->size),
                               .bits = register_bits(p->size)};
        set_piece(m, p, &part);
    }
}

/* Both halves of a 128-bit register. */
static void store_wide(mover *m, const pg_value *v)
{
    const char *half[2] = {temp(m, 8), temp(m, 8)};
    const pg_move *whole = m->move;
    PUT(m, "mov.b128 {%s, %s}, %s;", half[0], half[1], v->text);
    for (unsigned i = 0; i < 2; i++) {
        pg_move part = *whole;
        part.size = 8;
        part.offset += 8 * i;
        m->move = &part;
        store_register(m, &(pg_value){.text = half[i], .bits = 64});
    }
    m->move = whole;
}

void pg_bridge_store(pg_inliner *in, const pg_move *move, const pg_value *v)
{
    mover m = {.in = in, .move = move};
    if (v->is_constant) {
        for (uint32_t i = 0; i < move->bridge->n_pieces; i++) {
            const pg_piece *p = &move->bridge->pieces[i];
            if (p->offset >= move->offset && p->offset < move->offset + move->size)
                PUT(&m, "mov.b%u %s, 0x%llX;", register_bits(p->size), p->name,
                    (unsigned long long)constant_part(v, p->offset - move->offset, p->size));
        }
    } else if (move->size > LARGEST_PIECE) {
        store_wide(&m, v);
    } else {
        store_register(&m, v);
    }
    finish(&m);
}
