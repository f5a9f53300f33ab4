/* Encoding, checks and the box walk of tensor maps. Moving a row's bytes is in tensor_copy.c. */
#include "emulator/copy/tensor_map.h"

#include "emulator/copy/im2col.h"

#include "base/error.h"
#include "base/hash.h"

#include <inttypes.h>
#include <string.h>

#define FILL_NAN UINT64_C(0x7ff77ff77ff77ff7) /* a NaN in every format; what an H200 fills with */

const pg_tensor_type_info pg_tensor_types[PG_TENSOR_TYPE_COUNT] = {
    [PG_TENSOR_U8] = {"uint8", 8, false, 0},
    [PG_TENSOR_U16] = {"uint16", 16, false, 0},
    [PG_TENSOR_U32] = {"uint32", 32, false, 0},
    [PG_TENSOR_S32] = {"int32", 32, false, 0},
    [PG_TENSOR_U64] = {"uint64", 64, false, 0},
    [PG_TENSOR_S64] = {"int64", 64, false, 0},
    [PG_TENSOR_F16] = {"float16", 16, true, FILL_NAN},
    [PG_TENSOR_F32] = {"float32", 32, true, FILL_NAN},
    [PG_TENSOR_F64] = {"float64", 64, true, FILL_NAN},
    [PG_TENSOR_BF16] = {"bfloat16", 16, true, FILL_NAN},
    [PG_TENSOR_F32_FTZ] = {"float32_ftz", 32, true, FILL_NAN},
    [PG_TENSOR_TF32] = {"tfloat32", 32, true, FILL_NAN},
    [PG_TENSOR_TF32_FTZ] = {"tfloat32_ftz", 32, true, FILL_NAN},
    [PG_TENSOR_16U4_ALIGN8B] = {"16u4_align8b", 4, false, 0},
    [PG_TENSOR_16U4_ALIGN16B] = {"16u4_align16b", 4, false, 0},
    [PG_TENSOR_16U6_ALIGN16B] = {"16u6_align16b", 6, false, 0},
};

static bool is_padded(pg_tensor_type t)
{
    return t == PG_TENSOR_16U4_ALIGN16B || t == PG_TENSOR_16U6_ALIGN16B;
}

/* Bytes of n elements of the innermost dimension: in global memory, and in shared memory. */
static uint64_t global_bytes(pg_tensor_type t, uint64_t n)
{
    return n * pg_tensor_types[t].bits / 8;
}

static uint64_t shared_bytes(pg_tensor_type t, uint64_t n)
{
    return is_padded(t) ? n : global_bytes(t, n);
}

static ptxgen_status check_enums(const pg_tensor_map *m, ptxgen_error *err)
{
    if ((unsigned)m->type >= PG_TENSOR_TYPE_COUNT)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: data type %d does not exist: 0 (u8) to %d are known",
                       (int)m->type, PG_TENSOR_TYPE_COUNT - 1);
    if ((unsigned)m->swizzle >= PG_SWIZZLE_COUNT)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: swizzle %d does not exist: 0 (none) to %d are known",
                       (int)m->swizzle, PG_SWIZZLE_COUNT - 1);
    if ((unsigned)m->interleave > PG_INTERLEAVE_32B || m->l2_promotion > 3)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: interleave %d (0 to 2) or L2 promotion %d (0 to 3) is unknown",
                       (int)m->interleave, (int)m->l2_promotion);
    if (m->interleave != PG_INTERLEAVE_NONE)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "tensor map: interleaved layouts are not emulated; use interleave none");
    if (m->rank < 1 || m->rank > PG_TENSOR_MAX_RANK)
        return pg_fail(err, PTXGEN_EINVAL, "tensor map: rank %u is not between 1 and 5", m->rank);
    if (m->fill_nan && !pg_tensor_types[m->type].is_float)
        return pg_fail(err, PTXGEN_EINVAL, "tensor map: NaN fill needs a float type, not %s",
                       pg_tensor_types[m->type].name);
    return PTXGEN_OK;
}

static ptxgen_status check_global(const pg_tensor_map *m, ptxgen_error *err)
{
    const bool padded = is_padded(m->type);
    const uint32_t unit = padded ? 32 : 16;
    if (m->address % unit)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: global address 0x%" PRIx64 " is not a multiple of %u",
                       m->address, unit);
    for (uint32_t i = 0; i < m->rank; i++)
        if (m->dims[i] < 1 || m->dims[i] > UINT64_C(1) << 32)
            return pg_fail(err, PTXGEN_EINVAL,
                           "tensor map: dimension %u is %" PRIu64 "; it must be between 1 and 2^32",
                           i, m->dims[i]);
    const uint64_t granule = padded ? 128 : m->type == PG_TENSOR_16U4_ALIGN8B ? 2 : 1;
    if (m->dims[0] % granule)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: dimension 0 is %" PRIu64 "; %s needs a multiple of %" PRIu64,
                       m->dims[0], pg_tensor_types[m->type].name, granule);
    for (uint32_t i = 0; i + 1 < m->rank; i++)
        if (m->strides[i] % unit || m->strides[i] >= UINT64_C(1) << 40)
            return pg_fail(err, PTXGEN_EINVAL,
                           "tensor map: stride %u is %" PRIu64
                           " bytes; it must be a multiple of %u below 2^40",
                           i, m->strides[i], unit);
    return PTXGEN_OK;
}

static ptxgen_status check_padded_swizzle(const pg_tensor_map *m, ptxgen_error *err)
{
    const pg_swizzle s = m->swizzle;
    bool ok = s == PG_SWIZZLE_NONE || s == PG_SWIZZLE_128B || s == PG_SWIZZLE_128B_ATOM_32B;
    if (m->type == PG_TENSOR_16U6_ALIGN16B)
        ok = ok || s == PG_SWIZZLE_128B_ATOM_64B;
    if (!ok)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: %s does not go with swizzle %s; use none or 128B",
                       pg_tensor_types[m->type].name, pg_swizzles[s].name);
    if (m->box[0] != 128)
        return pg_fail(err, PTXGEN_EINVAL, "tensor map: box dimension 0 is %u; %s needs 128",
                       m->box[0], pg_tensor_types[m->type].name);
    return PTXGEN_OK;
}

static ptxgen_status check_box(const pg_tensor_map *m, ptxgen_error *err)
{
    for (uint32_t i = 0; i < m->rank; i++) {
        if (m->box[i] < 1 || m->box[i] > 256)
            return pg_fail(err, PTXGEN_EINVAL,
                           "tensor map: box dimension %u is %u; it must be between 1 and 256", i,
                           m->box[i]);
        if (m->element_strides[i] < 1 || m->element_strides[i] > 8)
            return pg_fail(err, PTXGEN_EINVAL,
                           "tensor map: element stride %u is %u; it must be between 1 and 8", i,
                           m->element_strides[i]);
    }
    if (is_padded(m->type))
        PG_TRY(check_padded_swizzle(m, err));
    const uint64_t bits = (uint64_t)m->box[0] * pg_tensor_types[m->type].bits;
    if (bits % 128)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: the box's inner dimension is %" PRIu64
                       " bits (%u elements of %s); it must be a multiple of 16 bytes",
                       bits, m->box[0], pg_tensor_types[m->type].name);
    const uint64_t inner = shared_bytes(m->type, m->box[0]);
    const uint32_t span = pg_swizzles[m->swizzle].span;
    if (span && inner > span)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: the box's inner dimension is %" PRIu64
                       " bytes, wider than the %u of swizzle %s; use a narrower box",
                       inner, span, pg_swizzles[m->swizzle].name);
    return PTXGEN_OK;
}

static ptxgen_status check_map(const pg_tensor_map *m, ptxgen_error *err)
{
    PG_TRY(check_enums(m, err));
    PG_TRY(check_global(m, err));
    if (m->pixels)
        PG_TRY(pg_im2col_check(m, err));
    return check_box(m, err);
}

enum { CORNERS = PG_TENSOR_MAX_RANK - 2 };

/* The 128 bytes. Everything after `hash` is hashed, so a foreign or damaged map is noticed. Bit
 * 21 of the first two words of 64 bits says nothing: libraries clear it in the second after
 * encoding, to mend maps of an old driver. */
typedef struct encoding {
    uint64_t magic, hash;
    uint64_t address;
    uint64_t strides[PG_TENSOR_MAX_RANK - 1];
    uint32_t last[PG_TENSOR_MAX_RANK]; /* dims - 1 */
    uint8_t box_last[PG_TENSOR_MAX_RANK];
    uint8_t element_strides[PG_TENSOR_MAX_RANK];
    uint8_t type, rank_last, interleave, swizzle, l2_promotion, fill_nan;
    uint16_t pixels;
    int16_t corners[2 * CORNERS]; /* lower, then upper */
    uint8_t wide;
    uint8_t zero[PG_TENSOR_MAP_BYTES - 107];
} encoding;

_Static_assert(sizeof(encoding) == PG_TENSOR_MAP_BYTES, "a tensor map has 128 bytes");

static const uint64_t magic = UINT64_C(0x70616d2d67747070); /* "pptg-map" */

static uint64_t hash_of(const encoding *e)
{
    return pg_hash64(&e->address, sizeof *e - offsetof(encoding, address));
}

static const uint64_t ignored = UINT64_C(1) << 21;

static bool is_map(const encoding *e)
{
    return !((e->magic ^ magic) & ~ignored);
}

static bool is_intact(const encoding *e)
{
    return !((e->hash ^ hash_of(e)) & ~ignored);
}

ptxgen_status pg_tensor_map_encode(const pg_tensor_map *map, void *bytes, ptxgen_error *err)
{
    PG_TRY(check_map(map, err));
    encoding e;
    memset(&e, 0, sizeof e);
    e.magic = magic;
    e.address = map->address;
    for (uint32_t i = 0; i < map->rank; i++) {
        e.last[i] = (uint32_t)(map->dims[i] - 1);
        e.box_last[i] = (uint8_t)(map->box[i] - 1);
        e.element_strides[i] = (uint8_t)map->element_strides[i];
        if (i + 1 < map->rank)
            e.strides[i] = map->strides[i];
    }
    e.type = (uint8_t)map->type;
    e.rank_last = (uint8_t)(map->rank - 1);
    e.interleave = (uint8_t)map->interleave;
    e.swizzle = (uint8_t)map->swizzle;
    e.l2_promotion = (uint8_t)map->l2_promotion;
    e.fill_nan = map->fill_nan;
    e.pixels = (uint16_t)map->pixels;
    e.wide = (uint8_t)map->wide;
    for (uint32_t i = 0; i < CORNERS; i++) {
        e.corners[i] = (int16_t)map->lower[i];
        e.corners[CORNERS + i] = (int16_t)map->upper[i];
    }
    e.hash = hash_of(&e);
    memcpy(bytes, &e, sizeof e);
    return PTXGEN_OK;
}

ptxgen_status pg_tensor_map_decode(const void *bytes, pg_tensor_map *map, ptxgen_error *err)
{
    encoding e;
    memcpy(&e, bytes, sizeof e);
    if (!is_map(&e))
        return pg_fail(err, PTXGEN_EINVAL,
                       "these 128 bytes are not a tensor map of the emulator; encode it with "
                       "the emulator device, not with the CUDA driver");
    if (!is_intact(&e) || e.rank_last >= PG_TENSOR_MAX_RANK)
        return pg_fail(err, PTXGEN_EINVAL, "the tensor map was changed after it was encoded");
    *map = (pg_tensor_map){.type = (pg_tensor_type)e.type,
                           .rank = e.rank_last + 1u,
                           .address = e.address,
                           .interleave = (pg_tensor_interleave)e.interleave,
                           .swizzle = (pg_swizzle)e.swizzle,
                           .l2_promotion = e.l2_promotion,
                           .fill_nan = e.fill_nan,
                           .pixels = e.pixels,
                           .wide = (pg_im2col_wide)e.wide};
    for (uint32_t i = 0; i < CORNERS; i++) {
        map->lower[i] = e.corners[i];
        map->upper[i] = e.corners[CORNERS + i];
    }
    for (uint32_t i = 0; i <= e.rank_last; i++) {
        map->dims[i] = (uint64_t)e.last[i] + 1;
        map->box[i] = e.box_last[i] + 1u;
        map->element_strides[i] = e.element_strides[i];
        if (i < e.rank_last)
            map->strides[i] = e.strides[i];
    }
    return check_map(map, err);
}

/* The numbers of tensormap.replace's .elemtype. */
static const uint8_t types_of_isa[] = {
    PG_TENSOR_U8,   PG_TENSOR_U16,  PG_TENSOR_U32,     PG_TENSOR_S32,     PG_TENSOR_U64,
    PG_TENSOR_S64,  PG_TENSOR_F16,  PG_TENSOR_F32,     PG_TENSOR_F32_FTZ, PG_TENSOR_F64,
    PG_TENSOR_BF16, PG_TENSOR_TF32, PG_TENSOR_TF32_FTZ};

static bool set_dimension(encoding *e, pg_tensor_field field, uint32_t i, uint64_t value)
{
    if (i >= PG_TENSOR_MAX_RANK || (field == PG_FIELD_GLOBAL_STRIDE && i >= PG_TENSOR_MAX_RANK - 1))
        return false;
    if (field == PG_FIELD_BOX_DIM)
        e->box_last[i] = (uint8_t)(value - 1);
    else if (field == PG_FIELD_GLOBAL_DIM)
        e->last[i] = (uint32_t)(value - 1);
    else if (field == PG_FIELD_GLOBAL_STRIDE)
        e->strides[i] = value;
    else
        e->element_strides[i] = (uint8_t)value;
    return field != PG_FIELD_BOX_DIM || (value >= 1 && value <= 256);
}

static bool set_field(encoding *e, pg_tensor_field field, uint32_t index, uint64_t value)
{
    switch (field) {
    case PG_FIELD_ADDRESS:
        e->address = value;
        return true;
    case PG_FIELD_RANK:
        e->rank_last = (uint8_t)value;
        return value < PG_TENSOR_MAX_RANK;
    case PG_FIELD_TYPE:
        e->type = types_of_isa[value < sizeof types_of_isa ? value : 0];
        return value < sizeof types_of_isa;
    case PG_FIELD_INTERLEAVE:
        e->interleave = (uint8_t)value;
        return value <= PG_INTERLEAVE_32B;
    case PG_FIELD_SWIZZLE:
        e->swizzle = (uint8_t)value;
        return value <= 3;
    case PG_FIELD_FILL:
        e->fill_nan = (uint8_t)value;
        return value <= 1;
    default:
        return set_dimension(e, field, index, value);
    }
}

ptxgen_status pg_tensor_map_replace(void *bytes, pg_tensor_field field, uint32_t index,
                                    uint64_t value, ptxgen_error *err)
{
    static const encoding blank;
    encoding e;
    memcpy(&e, bytes, sizeof e);
    if (!memcmp(&e, &blank, sizeof e)) {
        e.magic = magic;
        e.hash = hash_of(&e);
    }
    if (!is_map(&e) || !is_intact(&e))
        return pg_fail(err, PTXGEN_EINVAL,
                       "the 128 bytes are neither a tensor map of the emulator nor all zero");
    if (!set_field(&e, field, index, value))
        return pg_fail(err, PTXGEN_EINVAL,
                       "the tensor map cannot have the value %llu there (index %u)",
                       (unsigned long long)value, index);
    e.hash = hash_of(&e);
    memcpy(bytes, &e, sizeof e);
    return PTXGEN_OK;
}

static uint32_t steps(const pg_tensor_map *map, uint32_t dim)
{
    const uint32_t stride = dim ? map->element_strides[dim] : 1;
    return (map->box[dim] + stride - 1) / stride;
}

/* From row to row in shared memory: a swizzled row takes the whole span, however narrow the box. */
static uint32_t row_pitch(const pg_tensor_map *map)
{
    const uint32_t inner = (uint32_t)shared_bytes(map->type, map->box[0]);
    const uint32_t span = pg_swizzles[map->swizzle].span;
    return span > inner ? span : inner;
}

static uint32_t bytes_of_rows(const pg_tensor_map *map, uint64_t row)
{
    uint64_t bytes = row * (map->pixels ? pg_im2col_pixels(map) : 1);
    for (uint32_t i = 1; i < map->rank && !map->pixels; i++)
        bytes *= steps(map, i);
    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

uint32_t pg_tensor_box_bytes(const pg_tensor_map *map)
{
    return bytes_of_rows(map, row_pitch(map));
}

uint32_t pg_tensor_data_bytes(const pg_tensor_map *map)
{
    const uint32_t bytes = bytes_of_rows(map, shared_bytes(map->type, map->box[0]));
    return is_padded(map->type) ? (uint32_t)global_bytes(map->type, bytes) : bytes;
}

ptxgen_status pg_tensor_check_coordinates(const pg_tensor_map *map, const int32_t *coords,
                                          ptxgen_error *err)
{
    const int32_t granule = is_padded(map->type)
                                ? 128
                                : (int32_t)(128 / pg_tensor_types[map->type].bits); /* 16 bytes */
    if (coords[0] % granule)
        return pg_fail(err, PTXGEN_EEMULATOR,
                       "tensor coordinate 0 is %d; %s needs a multiple of %d", coords[0],
                       pg_tensor_types[map->type].name, granule);
    return PTXGEN_OK;
}

void pg_tensor_walk_start(pg_tensor_walk *w, const pg_tensor_map *map, const int32_t *coords)
{
    *w = (pg_tensor_walk){.map = map};
    for (uint32_t i = 0; i < map->rank; i++) {
        w->origin[i] = coords[i];
        w->count[i] = steps(map, i);
    }
    for (uint32_t i = map->rank; i < PG_TENSOR_MAX_RANK; i++)
        w->count[i] = 1;
    w->row_bytes = (uint32_t)shared_bytes(map->type, map->box[0]);
    w->row_pitch = row_pitch(map);
    /* Rows that follow each other in both memories move as one. */
    const bool whole = coords[0] >= 0 && (uint64_t)coords[0] + map->box[0] <= map->dims[0];
    w->merge = whole && map->rank > 1 && !pg_swizzles[map->swizzle].chunk &&
               !is_padded(map->type) && map->element_strides[1] == 1 &&
               map->strides[0] == w->row_bytes;
}

void pg_tensor_walk_start_pixels(pg_tensor_walk *w, const pg_tensor_map *map, const int32_t *coords,
                                 const uint16_t *offsets)
{
    pg_tensor_walk_start(w, map, coords);
    w->merge = false;
    w->pixels_left = pg_im2col_pixels(map);
    for (uint32_t i = 0; i + 2 < map->rank && !map->wide; i++)
        w->offsets[i + 1] = offsets[i];
    if (map->wide)
        w->offsets[1] = offsets[1];
}

void pg_tensor_walk_start_rows(pg_tensor_walk *w, const pg_tensor_map *map, const int32_t *coords)
{
    pg_tensor_walk_start(w, map, coords);
    w->merge = false;
    w->listed = true;
    w->count[1] = PG_TENSOR_ROWS;
    memcpy(w->rows, coords + 1, sizeof w->rows);
}

/* Coordinate of the current row along an outer dimension. */
static int64_t coordinate(const pg_tensor_walk *w, uint32_t dim)
{
    if (w->listed)
        return w->rows[w->at[dim]];
    return w->origin[dim] + w->offsets[dim] + (int64_t)w->at[dim] * w->map->element_strides[dim];
}

static bool inside(const pg_tensor_walk *w, uint32_t dim)
{
    const int64_t c = coordinate(w, dim);
    return c >= 0 && (uint64_t)c < w->map->dims[dim];
}

static void advance(pg_tensor_walk *w, uint32_t rows)
{
    if (w->pixels_left) {
        pg_im2col_advance(w);
        return;
    }
    w->at[1] += rows;
    for (uint32_t i = 1; i < PG_TENSOR_MAX_RANK && w->at[i] >= w->count[i]; i++) {
        w->at[i] = 0;
        if (i + 1 == PG_TENSOR_MAX_RANK)
            w->done = true;
        else
            w->at[i + 1]++;
    }
}

bool pg_tensor_walk_next(pg_tensor_walk *w, pg_tensor_row *row)
{
    if (w->done)
        return false;
    const pg_tensor_map *map = w->map;
    *row = (pg_tensor_row){.shared = w->next_shared, .bytes = w->row_bytes};
    bool exists = true;
    uint64_t address = map->address;
    for (uint32_t i = 1; i < map->rank; i++) {
        exists &= inside(w, i);
        address += (uint64_t)coordinate(w, i) * map->strides[i - 1];
    }
    const int64_t first = w->origin[0], dim = (int64_t)map->dims[0];
    const int64_t from = first < 0 ? -first : 0;
    const int64_t to = first + map->box[0] > dim ? dim - first : map->box[0];
    uint32_t rows = 1;
    if (exists && from < to) {
        row->fill_before = (uint32_t)shared_bytes(map->type, (uint64_t)from);
        row->valid = (uint32_t)shared_bytes(map->type, (uint64_t)(to - from));
        row->global = address + global_bytes(map->type, (uint64_t)(first + from));
        if (w->merge) {
            const int64_t left = (int64_t)map->dims[1] - coordinate(w, 1);
            rows = w->count[1] - w->at[1];
            rows = left < rows ? (uint32_t)left : rows;
            row->bytes = row->valid = rows * w->row_bytes;
        }
    }
    w->next_shared += rows * w->row_pitch;
    advance(w, rows);
    return true;
}

uint32_t pg_tensor_row_global_bytes(const pg_tensor_map *map, const pg_tensor_row *row)
{
    if (!is_padded(map->type))
        return row->valid;
    return row->valid / 16 * (map->type == PG_TENSOR_16U4_ALIGN16B ? 8 : 12);
}
