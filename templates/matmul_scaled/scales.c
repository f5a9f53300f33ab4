/* Packed scales: where each lies, and packing (the layout is the one of tensor memory: PTX ISA 9.0,
 * 9.7.16.10.7). */
#include "matmul_scaled/scales.h"

#include "ptxgen/matmul.h"

#include <string.h>

enum { BLOCK_ROWS = 128, QUARTER_ROWS = 32, WORD_GROUPS = 4, BLOCK_BYTES = 512, ROW_BYTES = 16 };

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t pg_scale_blocks(int64_t rows)
{
    return divide_up(rows, BLOCK_ROWS);
}

int64_t pg_scale_words(int64_t groups)
{
    return divide_up(groups, WORD_GROUPS);
}

int64_t pg_scale_offset(int64_t row, int64_t group, int64_t groups)
{
    const int64_t block = row / BLOCK_ROWS * pg_scale_words(groups) + group / WORD_GROUPS;
    return block * BLOCK_BYTES + row % QUARTER_ROWS * ROW_BYTES +
           row % BLOCK_ROWS / QUARTER_ROWS * WORD_GROUPS + group % WORD_GROUPS;
}

int64_t ptxgen_scale_group(ptxgen_scaled_format format)
{
    switch (format) {
    case PTXGEN_MXFP8:
    case PTXGEN_MXFP4:
        return 32;
    case PTXGEN_NVFP4:
        return 16;
    default:
        return 0;
    }
}

int64_t ptxgen_packed_scales_bytes(int64_t rows, int64_t groups)
{
    return pg_scale_blocks(rows) * pg_scale_words(groups) * BLOCK_BYTES;
}

void ptxgen_pack_scales(const uint8_t *scales, int64_t rows, int64_t groups, int64_t stride,
                        uint8_t *packed)
{
    const int64_t row_stride = stride ? stride : groups;
    memset(packed, 0, (size_t)ptxgen_packed_scales_bytes(rows, groups));
    for (int64_t row = 0; row < rows; row++)
        for (int64_t group = 0; group < groups; group++)
            packed[pg_scale_offset(row, group, groups)] = scales[row * row_stride + group];
}
