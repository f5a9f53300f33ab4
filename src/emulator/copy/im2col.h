/* Tensor maps in im2col mode: the box is a number of channels of a number of pixels, and pixels
 * follow each other along W, H and D within a bounding box that may reach over the tensor's edges,
 * then along N. In the modes im2col::w and im2col::w::128 they follow along W, then along N, while
 * H and D stay. Pure; any thread. Source: PTX ISA 9.0, sections 5.5.4 and 5.5.5;
 * cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide.
 *
 * The halo of im2col::w is wHalo more pixels at the end, that of im2col::w::128 so many after every
 * 32. Here they are the next ones of the same walk, which begins again behind the 32: with them the
 * taps of a filter find their pixels by shifting. The ISA shows the halo in pictures only; no
 * hardware has confirmed it. */
#ifndef PG_EMULATOR_IM2COL_H
#define PG_EMULATOR_IM2COL_H

#include "emulator/copy/tensor_map.h"

/* What the driver checks of the bounding box and the pixels. */
ptxgen_status pg_im2col_check(const pg_tensor_map *map, ptxgen_error *err);

/* Pixels of one copy, halo included. */
uint32_t pg_im2col_pixels(const pg_tensor_map *map);
/* Whether the pixel box lies within the tensor, as that of a store must (an H200 stops with an
 * illegal instruction). */
bool pg_im2col_inside(const pg_tensor_map *map);
/* Moves on to the next pixel; sets w->done behind the last. */
void pg_im2col_advance(pg_tensor_walk *w);

#endif
