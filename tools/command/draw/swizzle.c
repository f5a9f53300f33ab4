/* The tile element in every 16 bytes of shared memory, as the emulator's swizzle has it. */
#include "command/draw/draw.h"

#include "ptxgen/emulator.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 16, LINE = 128 };

/* The number of the tensor map's swizzle whose span is `span` bytes; -1: none is. */
static int swizzle_of(int64_t span)
{
    return span == 0 ? 0 : span == 32 ? 1 : span == 64 ? 2 : span == 128 ? 3 : -1;
}

ptxgen_status draw_swizzle(const cli_args *args, drawing *d, ptxgen_error *err)
{
    int64_t span = 128, bits = 16, columns = 0, rows = 8;
    ptxgen_status status = draw_number(args, "span", 0, 128, &span, err);
    if (status == PTXGEN_OK)
        status = draw_number(args, "bits", 4, 64, &bits, err);
    if (status == PTXGEN_OK)
        status = draw_number(args, "columns", 1, 256, &columns, err);
    if (status == PTXGEN_OK)
        status = draw_number(args, "rows", 1, 64, &rows, err);
    if (status != PTXGEN_OK)
        return status;
    const int swizzle = swizzle_of(span);
    if (swizzle < 0)
        return cli_fail(err, PTXGEN_EINVAL, "span=%lld; there are 0, 32, 64 and 128",
                        (long long)span);
    if (bits & (bits - 1))
        return cli_fail(err, PTXGEN_EINVAL, "bits=%lld; elements have 4, 8, 16, 32 or 64",
                        (long long)bits);
    const int64_t most = (span ? span : LINE) * 8 / bits, per_chunk = CHUNK * 8 / bits;
    columns = columns ? columns : most;
    if (columns > most || columns % per_chunk)
        return cli_fail(
            err, PTXGEN_EINVAL,
            "columns=%lld; a row of the tile is a multiple of %lld elements (16 bytes), "
            "up to %lld",
            (long long)columns, (long long)per_chunk, (long long)most);
    const uint32_t row_bytes = (uint32_t)(columns * bits / 8), bytes = row_bytes * (uint32_t)rows;
    drawing_make(d, (bytes + LINE - 1) / LINE, LINE / CHUNK);
    d->title =
        cli_format("%lld-byte swizzle: elements of a tile of %lld rows of %lld, %lld bits each",
                   (long long)span, (long long)rows, (long long)columns, (long long)bits);
    for (size_t r = 0; r < d->rows; r++)
        snprintf(d->row_names[r], sizeof *d->row_names, "%zu", r * LINE);
    for (size_t c = 0; c < d->columns; c++)
        snprintf(d->column_names[c], sizeof *d->column_names, "+%zu", c * CHUNK);
    for (uint32_t linear = 0; linear < bytes; linear += CHUNK) {
        const uint32_t at = ptxgen_emulator_swizzle(swizzle, linear), row = linear / row_bytes;
        const int64_t first = linear % row_bytes * 8 / bits;
        const size_t cell = at / CHUNK;
        if (cell >= d->rows * d->columns)
            continue; /* of a tile that ends inside the pattern */
        snprintf(d->cells[cell], sizeof *d->cells, "%u:%lld-%lld", row, (long long)first,
                 (long long)(first + per_chunk - 1));
        d->marked[cell] = at != linear;
    }
    d->notes = cli_format(
        "row:columns in each 16 bytes; down: shared addresses from one that is a multiple of "
        "%lld\nheavy frames (*): not where they would be without the swizzle\n",
        (long long)(span ? 8 * span : LINE));
    return PTXGEN_OK;
}
