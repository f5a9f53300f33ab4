/* Decoding of textures and surfaces; handlers are in texture/texture_op.c. */
#include "emulator/decode/families.h"
#include "emulator/texture/texture_op.h"

/* Coordinates by geometry, and how many of them say where; the vectors of 3 are padded to 4. */
typedef struct geometry {
    uint8_t dimensions, written;
    bool layered, cube;
} geometry;

static geometry geometry_of(unsigned modifier)
{
    switch (modifier) {
    case PG_M_GEOMETRY_G1D:
        return (geometry){1, 1, false, false};
    case PG_M_GEOMETRY_G2D:
        return (geometry){2, 2, false, false};
    case PG_M_GEOMETRY_G3D:
        return (geometry){3, 4, false, false};
    case PG_M_GEOMETRY_GA1D:
        return (geometry){1, 2, true, false};
    case PG_M_GEOMETRY_GA2D:
        return (geometry){2, 4, true, false};
    case PG_M_GEOMETRY_GCUBE:
        return (geometry){2, 4, false, true};
    case PG_M_GEOMETRY_GACUBE:
        return (geometry){2, 4, true, true};
    default: /* multi-sampled */
        return (geometry){0};
    }
}

/* The handle, of operand `i`: a register of 64 bits. */
static bool handle(pg_decoder *d, pg_op *op, uint32_t i)
{
    const pg_ptx_operand *o = pg_operand(d, i);
    if (o->base != PG_OPERAND_REG) {
        pg_decode_fail(
            d, "textures and surfaces are known by handles in registers here, not by names");
        return false;
    }
    const pg_ptx_operand reg = {.kind = PG_OPERAND_REG, .index = o->index};
    op->a = pg_source(d, &reg, PG_T_B64);
    return true;
}

/* Handle and coordinates of operand `i`; NULL: not executed. */
static pg_texture_plan *object(pg_decoder *d, pg_op *op, uint32_t i)
{
    const geometry g = geometry_of(pg_mod(d, PG_F_GEOMETRY));
    const pg_ptx_operand *address = pg_operand(d, i);
    pg_texture_plan *p = PG_NEW(d->arena, pg_texture_plan);
    if (!p || !g.dimensions || !handle(d, op, i))
        return NULL;
    if (address->n_elems != 1) {
        pg_decode_fail(d, address->n_elems ? "a sampler of its own is not executed"
                                           : "coordinates are missing");
        return NULL;
    }
    const pg_ptx_operand *vector = &address->elems[0];
    const uint32_t given = vector->kind == PG_OPERAND_VECTOR ? pg_vector_length(vector) : 1;
    if (given < (g.cube ? 3u : g.dimensions) + g.layered || given > 4) {
        pg_decode_fail(d, "this geometry needs %u coordinates, not %u", g.written, given);
        return NULL;
    }
    pg_vector_sources(d, vector, PG_T_B32, p->coordinates);
    p->dimensions = g.dimensions;
    p->layered = g.layered;
    p->cube = g.cube;
    op->extra = p;
    return p;
}

static bool registers(pg_decoder *d, pg_op *op, uint32_t i, pg_ptx_type type)
{
    const uint32_t count = pg_vector_length(pg_operand(d, i));
    pg_row *rows = pg_new_rows(d, count);
    if (!rows)
        return false;
    pg_vector_sources(d, pg_operand(d, i), type, rows);
    op->rows = rows;
    op->row_count = (uint16_t)count;
    return true;
}

/* Offsets and a depth to compare with, from operand `from` on. */
static bool has_extras(pg_decoder *d, uint32_t from)
{
    if (!pg_operand_present(d, from) && !pg_operand_present(d, from + 1))
        return false;
    pg_decode_fail(d, "texel offsets and depth comparison are not executed");
    return true;
}

/* The level of detail does not matter: a texture has one. */
void pg_decode_tex(pg_decoder *d, pg_op *op)
{
    const pg_ptx_type type = pg_type(d, 0);
    const unsigned lod = pg_mod(d, PG_F_LOD);
    pg_texture_plan *p = object(d, op, 1);
    if (!p || has_extras(d, !lod ? 2 : lod == PG_M_LOD_GRAD ? 4 : 3))
        return;
    p->packed = type == PG_T_F16X2;
    p->half = type == PG_T_F16;
    p->is_integer = !lod || lod != PG_M_LOD_GRAD ? pg_type(d, 1) == PG_T_S32 : false;
    if (registers(d, op, 0, p->half ? PG_T_B16 : PG_T_B32))
        op->run = pg_op_tex;
}

void pg_decode_tld4(pg_decoder *d, pg_op *op)
{
    pg_texture_plan *p = object(d, op, 1);
    if (!p || has_extras(d, 2))
        return;
    p->channel = pg_mod(d, PG_F_COMPONENT) - PG_M_COMPONENT_R;
    if (registers(d, op, 0, PG_T_B32))
        op->run = pg_op_tld4;
}

void pg_decode_txq(pg_decoder *d, pg_op *op)
{
    pg_texture_plan *p = PG_NEW(d->arena, pg_texture_plan);
    const unsigned query = pg_mod(d, PG_F_QUERY);
    const bool known = query != PG_M_QUERY_MEMORY_LAYOUT && query != PG_M_QUERY_FILTER_MODE &&
                       query != PG_M_QUERY_FORCE_UNNORMALIZED_COORDS &&
                       !(query >= PG_M_QUERY_ADDR_MODE_0 && query <= PG_M_QUERY_ADDR_MODE_2);
    if (!p || !known || !handle(d, op, 1))
        return;
    p->query = query;
    op->d = pg_dest(d, pg_operand(d, 0));
    op->extra = p;
    op->run = pg_op_txq;
}

static pg_texture_plan *surface(pg_decoder *d, pg_op *op, uint32_t object_at, uint32_t values)
{
    const pg_ptx_type type = pg_type(d, 0);
    pg_texture_plan *p = object(d, op, object_at);
    if (!p)
        return NULL;
    const pg_ptx_operand *o = pg_operand(d, values);
    const pg_ptx_operand *first = o->kind == PG_OPERAND_VECTOR ? &o->elems[0] : o;
    p->size = pg_ptx_type_bits(type) / 8;
    p->lane_bytes = pg_operand_lane_bytes(d, first, type);
    p->boundary = pg_mod(d, PG_F_BOUNDARY);
    return registers(d, op, values, type) ? p : NULL;
}

void pg_decode_suld(pg_decoder *d, pg_op *op)
{
    if (surface(d, op, 1, 0))
        op->run = pg_op_suld;
}

void pg_decode_sust(pg_decoder *d, pg_op *op)
{
    if (surface(d, op, 0, 1))
        op->run = pg_op_sust;
}

/* Formatted: values of 32 bits, which become what the surface's texels are. */
void pg_decode_sust_p(pg_decoder *d, pg_op *op)
{
    pg_texture_plan *p = surface(d, op, 0, 1);
    if (!p)
        return;
    p->formatted = true;
    op->run = pg_op_sust_formatted;
}

void pg_decode_sured_p(pg_decoder *d, pg_op *op)
{
    pg_decode_sured(d, op);
    if (op->run)
        ((pg_texture_plan *)op->extra)->formatted = true;
}

void pg_decode_sured(pg_decoder *d, pg_op *op)
{
    pg_texture_plan *p = surface(d, op, 0, 1);
    if (!p)
        return;
    p->reduce = pg_mod(d, PG_F_OP);
    p->is_signed = pg_type(d, 0) == PG_T_S32 || pg_type(d, 0) == PG_T_S64;
    op->run = pg_op_sured;
}
