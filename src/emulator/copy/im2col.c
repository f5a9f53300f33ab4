/* See im2col.h. */
#include "emulator/copy/im2col.h"

#include "base/error.h"

#include <inttypes.h>

enum { MOST_PIXELS = 1024 };

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
    for (uint32_t i = 0; i + 2 < m->rank; i++) {
        const int32_t most = limit[m->rank - 3], lower = m->lower[i], upper = m->upper[i];
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

void pg_im2col_advance(pg_tensor_walk *w)
{
    const pg_tensor_map *m = w->map;
    w->done = --w->pixels_left == 0;
    for (uint32_t i = 1; i + 1 < m->rank; i++) {
        w->origin[i] += m->element_strides[i];
        if (w->origin[i] < (int64_t)m->dims[i] + m->upper[i - 1])
            return;
        w->origin[i] = m->lower[i - 1];
    }
    w->origin[m->rank - 1] += m->element_strides[m->rank - 1];
}
