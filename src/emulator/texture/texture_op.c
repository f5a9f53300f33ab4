/* See texture_op.h. PTX ISA 9.0, sections 9.7.10 and 9.7.11. */
#include "emulator/texture/texture_op.h"

#include "emulator/machine/lanes.h"
#include "emulator/machine/stop.h"
#include "emulator/number/formats.h"
#include "ptx/ptx.h"

static const pg_texture *find(pg_warp *w, const pg_op *op, int lane)
{
    const uint64_t handle = ((const uint64_t *)pg_row_at(w, op->a))[lane];
    const pg_texture *t = handle - 1 < PG_MAX_TEXTURES ? w->launch->textures[handle - 1] : NULL;
    if (!t)
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "lane %d: 0x%llx is the handle of no texture and no surface of the emulator", lane,
                (unsigned long long)handle);
    return t;
}

static int32_t coordinate(pg_warp *w, const pg_texture_plan *p, uint32_t i, int lane)
{
    return ((const int32_t *)pg_row_at(w, p->coordinates[i]))[lane];
}

/* ---- textures ---- */

/* What a lane reads; false: the launch was stopped. */
static bool place_of(pg_warp *w, const pg_op *op, int lane, const pg_texture *t,
                     pg_texture_place *out)
{
    const pg_texture_plan *p = op->extra;
    const uint32_t count = p->cube ? 3 : p->dimensions, first = p->layered ? 1 : 0;
    uint32_t has = 1;
    while (has < 3 && t->extent[has] > 1)
        has++;
    *out = (pg_texture_place){.is_integer = p->is_integer, .dimensions = p->dimensions};
    if (has > p->dimensions || (p->layered || p->cube) != (t->layers != 0)) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "lane %d: the texture has %u dimension%s%s, the instruction reads one of %u%s",
                lane, has, has > 1 ? "s" : "", t->layers ? " in layers" : "", p->dimensions,
                p->layered || p->cube ? " in layers" : "");
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const int32_t bits = coordinate(w, p, first + i, lane);
        out->texel[i] = bits;
        out->at[i] = pg_f32_of((uint32_t)bits);
    }
    const uint32_t layer = first ? (uint32_t)coordinate(w, p, 0, lane) : 0;
    if (p->cube)
        pg_texture_face(out, layer);
    else
        out->layer = layer;
    return true;
}

static uint16_t half_of(uint32_t bits)
{
    return pg_f16_of_f32(pg_f32_of(bits));
}

static void write_texel(pg_warp *w, const pg_op *op, int lane, const pg_texel *x)
{
    const pg_texture_plan *p = op->extra;
    for (uint32_t i = 0; i < op->row_count; i++) {
        void *row = pg_row_at(w, op->rows[i]);
        if (p->packed)
            ((uint32_t *)row)[lane] =
                half_of(x->word[2 * i]) | (uint32_t)half_of(x->word[2 * i + 1]) << 16;
        else if (p->half)
            ((uint16_t *)row)[lane] = half_of(x->word[i]);
        else
            ((uint32_t *)row)[lane] = x->word[i];
    }
}

static pg_step read_all(pg_warp *w, const pg_op *op, uint32_t lanes, bool gather)
{
    const pg_texture_plan *p = op->extra;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const pg_texture *t = find(w, op, lane);
        pg_texture_place place;
        if (!t || !place_of(w, op, lane, t, &place))
            return PG_STOP;
        const pg_texel x =
            gather ? pg_texture_gather(t, &place, p->channel) : pg_texture_read(t, &place);
        write_texel(w, op, lane, &x);
    }
    return PG_NEXT;
}

pg_step pg_op_tex(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return read_all(w, op, lanes, false);
}

pg_step pg_op_tld4(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    return read_all(w, op, lanes, true);
}

/* OpenCL's numbers, as the ISA has them. */
static uint32_t data_type(const pg_texture *t)
{
    switch (t->format) {
    case PG_TEXEL_S8:
        return t->integers ? 0x10D7 : 0x10D0;
    case PG_TEXEL_S16:
        return t->integers ? 0x10D8 : 0x10D1;
    case PG_TEXEL_S32:
        return 0x10D9;
    case PG_TEXEL_U8:
        return t->integers ? 0x10DA : 0x10D2;
    case PG_TEXEL_U16:
        return t->integers ? 0x10DB : 0x10D3;
    case PG_TEXEL_U32:
        return 0x10DC;
    case PG_TEXEL_F16:
        return 0x10DD;
    default:
        return 0x10DE;
    }
}

static uint32_t answer(const pg_texture *t, uint32_t query)
{
    switch (query) {
    case PG_M_QUERY_WIDTH:
        return t->extent[0];
    case PG_M_QUERY_HEIGHT:
        return t->extent[1];
    case PG_M_QUERY_DEPTH:
        return t->extent[2];
    case PG_M_QUERY_ARRAY_SIZE:
        return t->layers;
    case PG_M_QUERY_NORMALIZED_COORDS:
        return t->normalized;
    case PG_M_QUERY_NUM_MIPMAP_LEVELS:
        return 1;
    case PG_M_QUERY_NUM_SAMPLES:
        return 0;
    case PG_M_QUERY_CHANNEL_ORDER:
        return t->channels == 1 ? 0x10B0 : t->channels == 2 ? 0x10B2 : 0x10B5;
    default:
        return data_type(t);
    }
}

pg_step pg_op_txq(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_texture_plan *p = op->extra;
    uint32_t *d = pg_row_at(w, op->d);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const pg_texture *t = find(w, op, lane);
        if (!t)
            return PG_STOP;
        d[lane] = answer(t, p->query);
    }
    return PG_NEXT;
}

/* ---- surfaces ---- */

/* Where a lane's element lies; *at NULL: outside, with .zero. The first coordinate counts bytes, or
 * texels where the access is formatted. */
static bool surface_place(pg_warp *w, const pg_op *op, int lane, uint8_t **at)
{
    const pg_texture_plan *p = op->extra;
    const pg_texture *t = find(w, op, lane);
    if (!t)
        return false;
    const uint32_t first = p->layered ? 1 : 0,
                   bytes = p->formatted ? pg_texel_bytes(t) : p->size * op->row_count;
    uint64_t offset = 0;
    bool outside = false;
    for (uint32_t i = 0; i < p->dimensions + first; i++) {
        const uint32_t dimension = i - first;
        const bool layer = first && i == 0;
        const int64_t end =
            layer ? t->layers : (int64_t)t->extent[dimension] * (dimension ? 1 : pg_texel_bytes(t));
        const int64_t last = layer || dimension ? end - 1 : end - bytes;
        int64_t x = coordinate(w, p, i, lane);
        x *= p->formatted && !layer && !dimension ? bytes : 1;
        outside |= x < 0 || x > last;
        x = x < 0 ? 0 : x > last ? last : x;
        offset += (uint64_t)x * (layer ? t->pitch[1] : dimension ? t->pitch[dimension - 1] : 1);
    }
    *at = outside && p->boundary != PG_M_BOUNDARY_CLAMP ? NULL : t->memory + offset;
    if (!outside || p->boundary != PG_M_BOUNDARY_TRAP)
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR, "lane %d: the coordinates lie outside the surface (.trap)",
            lane);
    return false;
}

pg_step pg_op_suld(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_texture_plan *p = op->extra;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        uint8_t *at;
        if (!surface_place(w, op, lane, &at))
            return PG_STOP;
        for (uint32_t i = 0; i < op->row_count; i++) {
            uint8_t *d = (uint8_t *)pg_row_at(w, op->rows[i]) + (size_t)lane * p->lane_bytes;
            memset(d, 0, p->lane_bytes);
            if (at)
                memcpy(d, at + i * p->size, p->size);
        }
    }
    return PG_NEXT;
}

pg_step pg_op_sust(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_texture_plan *p = op->extra;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        uint8_t *at;
        if (!surface_place(w, op, lane, &at))
            return PG_STOP;
        for (uint32_t i = 0; at && i < op->row_count; i++)
            memcpy(at + i * p->size,
                   (const uint8_t *)pg_row_at(w, op->rows[i]) + (size_t)lane * p->lane_bytes,
                   p->size);
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}

pg_step pg_op_sust_formatted(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        uint32_t words[4];
        uint8_t *at;
        if (!surface_place(w, op, lane, &at))
            return PG_STOP;
        for (uint32_t i = 0; i < op->row_count; i++)
            words[i] = ((const uint32_t *)pg_row_at(w, op->rows[i]))[lane];
        if (at)
            pg_texel_store(find(w, op, lane), at, words, op->row_count);
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}

static uint64_t reduced(const pg_texture_plan *p, uint64_t a, uint64_t b)
{
    const unsigned down = 64 - 8 * p->size; /* the sign is the top bit of 64 */
    const bool less = p->is_signed ? (int64_t)(a << down) < (int64_t)(b << down) : a < b;
    switch (p->reduce) {
    case PG_M_OP_ADD:
        return a + b;
    case PG_M_OP_MIN:
        return less ? a : b;
    case PG_M_OP_MAX:
        return less ? b : a;
    case PG_M_OP_AND:
        return a & b;
    default:
        return a | b;
    }
}

/* Elements are aligned to their size: other host threads may reduce into the same one. */
static void reduce_at(const pg_texture_plan *p, void *at, uint64_t value)
{
    if (p->size == 8) {
        uint64_t old = __atomic_load_n((uint64_t *)at, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n((uint64_t *)at, &old, reduced(p, old, value), true,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
        return;
    }
    uint32_t old = __atomic_load_n((uint32_t *)at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n((uint32_t *)at, &old,
                                        (uint32_t)reduced(p, old, (uint32_t)value), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* sured.p reduces texels of one integer of 32 bits; their format says whether they have signs. */
static bool is_reducible(pg_warp *w, const pg_op *op, int lane, pg_texture_plan *p)
{
    const pg_texture *t = p->formatted ? find(w, op, lane) : NULL;
    if (!p->formatted || !t)
        return !p->formatted;
    p->is_signed = t->format == PG_TEXEL_S32;
    if (t->channels == 1 && (t->format == PG_TEXEL_S32 || t->format == PG_TEXEL_U32))
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "lane %d: sured.p needs texels of one 32-bit integer; this surface has %u channel%s of "
            "format %d",
            lane, t->channels, t->channels > 1 ? "s" : "", (int)t->format);
    return false;
}

pg_step pg_op_sured(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_texture_plan plan = *(const pg_texture_plan *)op->extra, *const p = &plan;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        uint64_t value = 0;
        uint8_t *at;
        if (!is_reducible(w, op, lane, p) || !surface_place(w, op, lane, &at))
            return PG_STOP;
        memcpy(&value, (const uint8_t *)pg_row_at(w, op->rows[0]) + (size_t)lane * p->lane_bytes,
               p->size);
        if (at && (uintptr_t)at % p->size)
            return pg_stop(w, op, PTXGEN_EEMULATOR,
                           "lane %d: the element is not aligned to its %u bytes", lane, p->size);
        if (at)
            reduce_at(p, at, value);
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}
