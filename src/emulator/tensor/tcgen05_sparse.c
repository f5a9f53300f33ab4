/* See tcgen05_sparse.h. */
#include "emulator/tensor/tcgen05_sparse.h"

#include "emulator/matrix/mma_numerics.h"

enum { UNITS = 4, STORED = 2 /* of so many units */, SHARING = 16, HALF = SHARING / 2 };

uint64_t pg_sparse_row_indices(const pg_tcgen05_work *w, const pg_sparse_source *source,
                               uint32_t row)
{
    const uint32_t column = pg_tensor_column(w->given->indices) + w->x.selector;
    const pg_tensor_memory *t = source->cta->tensor;
    if (pg_tcgen05_index_columns(w) == 2) {
        const uint32_t *word = &t->word[pg_tcgen05_lane_of(w, row, source->part)][column];
        return word[0] | (uint64_t)word[1] << 32;
    }
    const uint32_t first = pg_tcgen05_lane_of(w, row / SHARING * SHARING, source->part);
    const uint32_t lane = first + row % HALF, down = row / HALF % 2 * 16;
    return (t->word[lane][column] >> down & 0xffff) |
           (t->word[lane + HALF][column] >> down & 0xffff) << 16;
}

void pg_sparse_select(const pg_tcgen05_work *w, uint64_t indices, const uint8_t *b, uint8_t *out)
{
    const uint32_t container = pg_mma_container(w->x.b.format);
    const uint32_t size = container > 1 || w->plan->form.kind >= PG_KIND_MXF4 ? 2 : 1;
    const uint32_t bytes = w->x.k * container, count = bytes / size;
    uint32_t from[PG_TCGEN05_MAX_K];
    for (uint32_t i = 0; i < count; i++)
        from[i] = (i / STORED * UNITS + (uint32_t)(indices >> 2 * i & 3)) * size;
    for (uint32_t row = 0; row < w->columns; row++, b += 2 * bytes)
        for (uint32_t i = 0; i < count; i++, out += size)
            memcpy(out, b + from[i], size);
}
