/* Problems whose left operand is read by phases of its rows: every schedule that does, for the
 * emulator and for a GPU. What is around the rows is NaN (batch_case.h). */
#ifndef PHASE_CASES_H
#define PHASE_CASES_H

#include "batch_case.h"

static const batch_case phase_cases[] = {
    /* K adjacent in both: the other operand is copied for each phase */
    {.m = 530, .n = 33, .k = 150, .pad = 1, .b_transposed = true,
     .params = "phases=8 warpgroups=1 block_m=64 block_n=40"},
    {.m = 300, .n = 20, .k = 77, .pad = 2, .shift = 3, .b_transposed = true, .bf16 = true,
     .params = "phases=8 block_n=24"},
    {.m = 270, .n = 20, .k = 130, .pad = 2, .shift = 1, .b_transposed = true, .no_c = true,
     .params = "phases=4 block_m=256 block_n=24"},
    {.m = 290, .n = 40, .k = 260, .pad = 4, .shift = 5, .b_transposed = true, .d_dtype = PTXGEN_F16,
     .params = "phases=2 warpgroups=3 block_n=40"},
    {.m = 70, .n = 24, .k = 64, .shift = 7, .b_transposed = true,
     .params = "phases=1 warpgroups=1 block_n=24 block_k=128"},
    /* N adjacent in B */
    {.m = 530, .n = 40, .k = 150, .pad = 1, .params = "phases=8 copy=b warpgroups=1 block_m=64 block_n=48"},
    {.m = 200, .n = 33, .k = 190, .pad = 3, .shift = 2, .alpha = 0.5F, .beta = -2,
     .params = "phases=8 copy=b block_n=48 block_k=32"},
    /* the transposed problem: rows of the left operand are columns of D */
    {.m = 33, .n = 530, .k = 150, .pad = 1, .b_transposed = true,
     .params = "phases=8 swap=yes warpgroups=1 block_m=64 block_n=40"},
    {.m = 20, .n = 150, .k = 100, .pad = 1, .shift = 1, .b_transposed = true, .a_transposed = true,
     .params = "phases=8 copy=a swap=yes warpgroups=1 block_m=128 block_n=32", .d_dtype = PTXGEN_BF16},
    /* parts of K */
    {.m = 200, .n = 20, .k = 400, .pad = 1, .b_transposed = true,
     .params = "phases=8 warpgroups=1 block_n=24 splits=4"},
    {.m = 20, .n = 200, .k = 400, .pad = 1, .b_transposed = true, .alpha = 2, .beta = 3,
     .params = "phases=8 swap=yes warpgroups=1 block_n=24 splits=2"},
    {.m = 200, .n = 21, .k = 400, .pad = 1, .b_transposed = true, .epilogue = PTXGEN_EPILOGUE_RELU,
     .params = "phases=8 block_n=24 slices=3"},
    {.m = 21, .n = 200, .k = 400, .pad = 2, .b_transposed = true, .d_dtype = PTXGEN_F16,
     .params = "phases=8 swap=yes warpgroups=1 block_n=24 slices=2"},
    /* clusters share loads */
    {.m = 1100, .n = 70, .k = 200, .pad = 1, .b_transposed = true,
     .params = "phases=8 warpgroups=1 block_n=48 ctas=2 ctas_n=2"},
    /* fewer rows than phases, one row, nothing to multiply, C in the place of D */
    {.m = 3, .n = 20, .k = 70, .pad = 1, .shift = 1, .b_transposed = true,
     .params = "phases=8 warpgroups=1 block_n=24"},
    {.m = 1, .n = 20, .k = 3, .pad = 1, .shift = 5, .b_transposed = true,
     .params = "phases=8 warpgroups=1 block_n=24"},
    {.m = 50, .n = 20, .k = 0, .pad = 1, .b_transposed = true,
     .params = "phases=8 warpgroups=1 block_n=24"},
    {.m = 90, .n = 50, .k = 90, .pad = 1, .b_transposed = true, .in_place = true,
     .params = "phases=8 warpgroups=1 block_n=56"},
};

#endif
