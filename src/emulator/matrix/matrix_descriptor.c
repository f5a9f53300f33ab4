/* Descriptor bits, canonical layouts and operand gathers.
 *
 * Layouts; all offsets in bytes:
 *   K, none      row r: r%8 * 16 + r/8 * stride       k: inside 16 bytes, the next at `leading`
 *   K, swizzle   row r: r%8 * span + r/8 * stride     k: contiguous; `leading` is not used
 *   MN, none     row: inside 16 bytes, next at stride k: k%8 * 16 + k/8 * leading
 *   MN, swizzle  row: inside the span, next at leading k: k%8 * span + k/8 * stride
 * (128 bytes with atoms of 32 repeat after 4 lines: k%4, k/4). A K-major operand deeper than the
 * swizzle span is not canonical. */
#include "emulator/matrix/matrix_descriptor.h"

#include "base/sort.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

static const pg_swizzle sm90_swizzles[4] = {PG_SWIZZLE_NONE, PG_SWIZZLE_128B, PG_SWIZZLE_64B,
                                            PG_SWIZZLE_32B};

static ptxgen_status decode_swizzle(uint64_t bits, pg_descriptor_arch arch, pg_swizzle *swizzle,
                                    ptxgen_error *err)
{
    if (arch == PG_DESCRIPTOR_SM90) {
        *swizzle = sm90_swizzles[bits >> 62];
        return PTXGEN_OK;
    }
    switch (bits >> 61) {
    case 0:
        *swizzle = PG_SWIZZLE_NONE;
        return PTXGEN_OK;
    case 1:
        *swizzle = PG_SWIZZLE_128B_ATOM_32B;
        return PTXGEN_OK;
    case 2:
        *swizzle = PG_SWIZZLE_128B;
        return PTXGEN_OK;
    case 4:
        *swizzle = PG_SWIZZLE_64B;
        return PTXGEN_OK;
    case 6:
        *swizzle = PG_SWIZZLE_32B;
        return PTXGEN_OK;
    default:
        return pg_fail(err, PTXGEN_EINVAL,
                       "matrix descriptor 0x%016" PRIx64
                       ": swizzle mode %u (bits 61-63) is not defined",
                       bits, (unsigned)(bits >> 61));
    }
}

ptxgen_status pg_matrix_descriptor_decode(uint64_t bits, pg_descriptor_arch arch,
                                          pg_matrix_descriptor *d, ptxgen_error *err)
{
    const unsigned version = bits >> 46 & 7, wanted = arch == PG_DESCRIPTOR_SM100;
    if (version != wanted)
        return pg_fail(err, PTXGEN_EINVAL,
                       "matrix descriptor 0x%016" PRIx64
                       ": bits 46-48 are %u; this architecture needs %u",
                       bits, version, wanted);
    const unsigned fixed = (unsigned)(bits >> 52 & 0x1ff);
    if (arch == PG_DESCRIPTOR_SM100 && fixed)
        return pg_fail(err, PTXGEN_EINVAL,
                       "matrix descriptor 0x%016" PRIx64
                       ": bits 52-60 are 0x%x; sm_100 needs 0 (an absolute leading offset, bit 52, "
                       "exists on sm_103a only)",
                       bits, fixed);
    *d = (pg_matrix_descriptor){.arch = arch,
                                .start = (uint32_t)(bits & 0x3fff) << 4,
                                .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                                .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                                .base_offset = (uint32_t)(bits >> 49 & 7)};
    return decode_swizzle(bits, arch, &d->swizzle, err);
}

static ptxgen_status refuse(const pg_matrix_descriptor *d, const pg_matrix_shape *shape,
                            const char *why, ptxgen_error *err)
{
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "matrix descriptor (%s-major, swizzle %s, %u-bit elements, %u x %u) is not a canonical "
        "layout: %s",
        shape->mn_major ? "MN" : "K", pg_swizzles[d->swizzle].name, shape->elem_bits, shape->rows,
        shape->depth, why);
}

/* Strides of one direction: `inner` elements `step` bytes apart, groups of them `outer` bytes
 * apart. */
typedef struct direction {
    uint32_t inner, step, outer;
} direction;

static void set_directions(pg_matrix_layout *l, direction row, direction depth)
{
    l->row_inner = row.inner;
    l->row_step = row.step;
    l->row_outer = row.outer;
    l->depth_inner = depth.inner;
    l->depth_step = depth.step;
    l->depth_outer = depth.outer;
}

/* NULL: this swizzle may hold transposed elements of this size. */
static const char *transpose_problem(const pg_matrix_descriptor *d, uint32_t elem)
{
    const bool wide_atoms = d->swizzle == PG_SWIZZLE_128B_ATOM_32B;
    if (d->arch == PG_DESCRIPTOR_SM90)
        return elem == 1 ? "1-byte elements cannot be transposed" : NULL;
    if (elem == 4 && !wide_atoms)
        return "transposed 4-byte elements need the 128B swizzle with 32-byte atoms";
    return elem < 4 && wide_atoms
               ? "the 128B swizzle with 32-byte atoms transposes 4-byte elements only"
               : NULL;
}

static ptxgen_status make_k_major(const pg_matrix_descriptor *d, const pg_matrix_shape *shape,
                                  pg_matrix_layout *layout, ptxgen_error *err)
{
    const uint32_t span = pg_swizzles[d->swizzle].span, elem = layout->elem_bytes;
    if (span && d->start % span + shape->depth * shape->elem_bits / 8 > span)
        return refuse(d, shape, "K is deeper than the swizzle span", err);
    const direction row = {8, span ? span : 16, d->stride};
    if (span)
        set_directions(layout, row, (direction){UINT32_MAX, elem, 0});
    else
        set_directions(layout, row, (direction){16 / elem, elem, d->leading});
    return PTXGEN_OK;
}

static ptxgen_status make_mn_major(const pg_matrix_descriptor *d, const pg_matrix_shape *shape,
                                   pg_matrix_layout *layout, ptxgen_error *err)
{
    const uint32_t span = pg_swizzles[d->swizzle].span, elem = layout->elem_bytes;
    const uint32_t lines = d->swizzle == PG_SWIZZLE_128B_ATOM_32B ? 4 : 8;
    const char *problem = transpose_problem(d, elem);
    if (problem)
        return refuse(d, shape, problem, err);
    if (span)
        set_directions(layout, (direction){span / elem, elem, d->leading},
                       (direction){lines, span, d->stride});
    else
        set_directions(layout, (direction){16 / elem, elem, d->stride},
                       (direction){8, 16, d->leading});
    return PTXGEN_OK;
}

ptxgen_status pg_matrix_layout_make(const pg_matrix_descriptor *d, const pg_matrix_shape *shape,
                                    pg_matrix_layout *layout, ptxgen_error *err)
{
    *layout = (pg_matrix_layout){.start = d->start,
                                 .xor_bias = pg_swizzles[d->swizzle].span ? d->base_offset << 7 : 0,
                                 .swizzle = d->swizzle,
                                 .elem_bytes = shape->elem_bits == 1 ? 1 : shape->elem_bits / 8};
    return shape->mn_major ? make_mn_major(d, shape, layout, err)
                           : make_k_major(d, shape, layout, err);
}

static uint32_t row_offset(const pg_matrix_layout *l, uint32_t row)
{
    return row % l->row_inner * l->row_step + row / l->row_inner * l->row_outer;
}

static uint32_t depth_offset(const pg_matrix_layout *l, uint32_t depth)
{
    return depth % l->depth_inner * l->depth_step + depth / l->depth_inner * l->depth_outer;
}

/* The swizzle pattern is anchored where the base offset says. */
static uint32_t place(const pg_matrix_layout *l, uint32_t linear)
{
    return pg_swizzle_address(linear - l->xor_bias, l->swizzle) + l->xor_bias;
}

uint32_t pg_matrix_element_address(const pg_matrix_layout *layout, uint32_t row, uint32_t depth)
{
    return place(layout, layout->start + row_offset(layout, row) + depth_offset(layout, depth));
}

/* Depth in units of elem_bytes: b1 elements go eight to a unit. */
static uint32_t depth_units(const pg_matrix_shape *shape)
{
    return shape->elem_bits == 1 ? shape->depth / 8 : shape->depth;
}

pg_matrix_extent pg_matrix_layout_extent(const pg_matrix_layout *layout,
                                         const pg_matrix_shape *shape)
{
    /* Every step is forward, so the corners bound the linear addresses; a swizzle stays inside its
     * span. */
    const uint32_t depth = depth_units(shape);
    const uint32_t row_inner = shape->rows < layout->row_inner ? shape->rows : layout->row_inner;
    const uint32_t depth_inner = depth < layout->depth_inner ? depth : layout->depth_inner;
    const uint32_t row_groups = (shape->rows - 1) / layout->row_inner;
    const uint32_t depth_groups = (depth - 1) / layout->depth_inner;
    uint32_t first = layout->start;
    uint32_t end = first + (row_inner - 1) * layout->row_step + row_groups * layout->row_outer +
                   (depth_inner - 1) * layout->depth_step + depth_groups * layout->depth_outer +
                   layout->elem_bytes;
    const uint32_t span = pg_swizzles[layout->swizzle].span;
    if (span) {
        first -= (first - layout->xor_bias) % span;
        end += (span - (end - layout->xor_bias) % span) % span;
    }
    return (pg_matrix_extent){first, end};
}

/* K-major: 16 bytes along K lie together, in every layout. */
static void gather_k_major(const pg_matrix_layout *l, const pg_matrix_shape *shape,
                           const uint8_t *shared, uint8_t *out)
{
    const uint32_t per_chunk = 16 / l->elem_bytes, chunks = depth_units(shape) / per_chunk;
    for (uint32_t c = 0; c < chunks; c++) {
        const uint32_t base = l->start + depth_offset(l, c * per_chunk);
        uint8_t *to = out + 16 * c;
        for (uint32_t row = 0; row < shape->rows; row++, to += 16 * chunks)
            memcpy(to, shared + place(l, base + row_offset(l, row)), 16);
    }
}

static void spread_8(uint8_t *to, const uint8_t *chunk, uint32_t pitch)
{
    for (uint32_t i = 0; i < 16; i++)
        to[i * pitch] = chunk[i];
}

static void spread_16(uint16_t *to, const uint8_t *chunk, uint32_t pitch)
{
    uint16_t elements[8];
    memcpy(elements, chunk, sizeof elements);
    for (uint32_t i = 0; i < 8; i++)
        to[i * pitch] = elements[i];
}

static void spread_32(uint32_t *to, const uint8_t *chunk, uint32_t pitch)
{
    uint32_t elements[4];
    memcpy(elements, chunk, sizeof elements);
    for (uint32_t i = 0; i < 4; i++)
        to[i * pitch] = elements[i];
}

/* MN-major: 16 bytes along MN lie together; each is spread over rows of the output. */
static void gather_mn_major(const pg_matrix_layout *l, const pg_matrix_shape *shape,
                            const uint8_t *shared, void *out)
{
    const uint32_t per_chunk = 16 / l->elem_bytes, pitch = shape->depth;
    for (uint32_t row = 0; row < shape->rows; row += per_chunk) {
        const uint32_t base = l->start + row_offset(l, row);
        for (uint32_t k = 0; k < shape->depth; k++) {
            const uint8_t *chunk = shared + place(l, base + depth_offset(l, k));
            if (l->elem_bytes == 1)
                spread_8((uint8_t *)out + row * pitch + k, chunk, pitch);
            else if (l->elem_bytes == 2)
                spread_16((uint16_t *)out + row * pitch + k, chunk, pitch);
            else
                spread_32((uint32_t *)out + row * pitch + k, chunk, pitch);
        }
    }
}

void pg_matrix_gather(const pg_matrix_layout *layout, const pg_matrix_shape *shape,
                      const uint8_t *shared, void *out)
{
    if (shape->mn_major)
        gather_mn_major(layout, shape, shared, out);
    else
        gather_k_major(layout, shape, shared, out);
}

/* ---- overlap ---- */

/* One direction as its groups: `count` of them, `step` bytes apart. */
typedef struct repeat {
    uint32_t count, step;
} repeat;

static int compare_offsets(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Runs of `bytes` contiguous bytes, repeated in three directions. */
static bool runs_overlap(uint32_t bytes, const repeat by[3])
{
    enum { MOST = 4096 };
    uint32_t offset[MOST], n = 0;
    if ((uint64_t)by[0].count * by[1].count * by[2].count > MOST)
        return false;
    for (uint32_t i = 0; i < by[0].count; i++)
        for (uint32_t j = 0; j < by[1].count; j++)
            for (uint32_t k = 0; k < by[2].count; k++)
                offset[n++] = i * by[0].step + j * by[1].step + k * by[2].step;
    pg_sort(offset, n, sizeof *offset, compare_offsets);
    for (uint32_t i = 1; i < n; i++)
        if (offset[i] - offset[i - 1] < bytes)
            return true;
    return false;
}

static uint32_t groups_of(uint32_t count, uint32_t inner)
{
    return (count - 1) / inner + 1;
}

bool pg_matrix_layout_overlaps(const pg_matrix_layout *l, const pg_matrix_shape *shape)
{
    const uint32_t depth = depth_units(shape), rows = shape->rows;
    const uint32_t row_inner = rows < l->row_inner ? rows : l->row_inner;
    const uint32_t depth_inner = depth < l->depth_inner ? depth : l->depth_inner;
    const repeat row_groups = {groups_of(rows, l->row_inner), l->row_outer};
    const repeat depth_groups = {groups_of(depth, l->depth_inner), l->depth_outer};
    if (l->depth_step == l->elem_bytes)
        return runs_overlap(depth_inner * l->elem_bytes,
                            (repeat[3]){{row_inner, l->row_step}, row_groups, depth_groups});
    return runs_overlap(row_inner * l->elem_bytes,
                        (repeat[3]){{depth_inner, l->depth_step}, row_groups, depth_groups});
}
