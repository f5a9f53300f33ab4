/* See im2col.h. */
#include "emulator/copy/im2col.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_PIXELS = 1024, WIDE_PIXELS = 128, WIDE_BLOCK = 32 };

static uint32_t boxes(const pg_tensor_map *m)
{
    return m->wide ? 1 : m->rank - 2;
}

/* Pixels after which the halo comes. */
static uint32_t block(const pg_tensor_map *m)
{
    return m->wide == PG_IM2COL_W128 ? WIDE_BLOCK : m->pixels;
}

uint32_t pg_im2col_pixels(const pg_tensor_map *m)
{
    const uint32_t pixels = m->wide == PG_IM2COL_W128 ? WIDE_PIXELS : m->pixels;
    return m->wide ? pixels + pixels / block(m) * m->halo : pixels;
}

/* What im2col::w does not go with. */
static ptxgen_status check_wide(const pg_tensor_map *m, ptxgen_error *err)
{
    if (m->wide > PG_IM2COL_W128)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: im2col mode %d is unknown: 0 (all), 1 (w), 2 (w::128)",
                       (int)m->wide);
    if (m->wide &&
        (m->swizzle == PG_SWIZZLE_NONE || m->swizzle == PG_SWIZZLE_128B_ATOM_32B_FLIP_8B))
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: im2col::w needs a swizzle, and not %s; use 32B, 64B or 128B",
                       pg_swizzles[m->swizzle].name);
    return PTXGEN_OK;
}

ptxgen_status pg_im2col_check(const pg_tensor_map *m, ptxgen_error *err)
{
    /* of the corners, by rank - 3: what fits in 16, 8 and 5 bits */
    static const int32_t limit[] = {1 << 15, 1 << 7, 1 << 4};
    if (m->rank < 3)
        return pg_fail(err, PTXGEN_EINVAL, "tensor map: im2col needs 3 to 5 dimensions, not %u",
                       m->rank);
    if (m->pixels < 1 || m->pixels > MOST_PIXELS)
        return pg_fail(err, PTXGEN_EINVAL,
                       "tensor map: %u pixels per column; it must be between 1 and %d", m->pixels,
                       MOST_PIXELS);
    PG_TRY(check_wide(m, err));
    for (uint32_t i = 0; i < boxes(m); i++) {
        const int32_t most = limit[m->wide ? 0 : m->rank - 3], lower = m->lower[i],
                      upper = m->upper[i];
        if (lower < -most || lower >= most || upper < -most || upper >= most)
            return pg_fail(
                err, PTXGEN_EINVAL,
                "tensor map: corners %d and %d of the pixel box; with %u dimensions they "
                "must be between %d and %d",
                lower, upper, m->rank, -most, most - 1);
        if ((int64_t)m->dims[i + 1] + upper <= lower)
            return pg_fail(err, PTXGEN_EINVAL,
                           "tensor map: the pixel box is empty along dimension %u: its corners are "
                           "%d and %d over %" PRIu64 " elements",
                           i + 1, lower, upper, m->dims[i + 1]);
    }
    return PTXGEN_OK;
}

bool pg_im2col_inside(const pg_tensor_map *map)
{
    for (uint32_t i = 0; i + 2 < map->rank; i++)
        if (map->lower[i] < 0 || map->upper[i] > 0)
            return false;
    return true;
}

static void step_wide(pg_tensor_walk *w)
{
    const pg_tensor_map *m = w->map;
    w->origin[1] += m->element_strides[1];
    if (w->origin[1] < (int64_t)m->dims[1] + m->upper[0])
        return;
    w->origin[1] = m->lower[0];
    w->origin[m->rank - 1]++;
}

static void advance_wide(pg_tensor_walk *w)
{
    const uint32_t in_block = w->pixel++ % (block(w->map) + w->map->halo) + 1;
    step_wide(w);
    if (in_block == block(w->map))
        memcpy(w->resume, w->origin, sizeof w->resume);
    if (in_block == block(w->map) + w->map->halo)
        memcpy(w->origin, w->resume, sizeof w->resume);
}

void pg_im2col_advance(pg_tensor_walk *w)
{
    const pg_tensor_map *m = w->map;
    w->done = --w->pixels_left == 0;
    if (m->wide) {
        advance_wide(w);
        return;
    }
    for (uint32_t i = 1; i + 1 < m->rank; i++) {
        w->origin[i] += m->element_strides[i];
        if (w->origin[i] < (int64_t)m->dims[i] + m->upper[i - 1])
            return;
        w->origin[i] = m->lower[i - 1];
    }
    w->origin[m->rank - 1] += m->element_strides[m->rank - 1];
}
