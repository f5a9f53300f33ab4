/* The packed layout of scales: [rows / 128, groups / 4, 32, 4, 4] bytes (ptxgen_pack_scales). */
#ifndef PG_MATMUL_SCALED_SCALES_H
#define PG_MATMUL_SCALED_SCALES_H

#include <stdint.h>

/* Blocks of 128 rows, words of four groups: both rounded up. */
int64_t pg_scale_blocks(int64_t rows);
int64_t pg_scale_words(int64_t groups);
/* Byte of the scale of (row, group) when a row has `groups` groups. */
int64_t pg_scale_offset(int64_t row, int64_t group, int64_t groups);

#endif
