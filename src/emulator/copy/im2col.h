/* Tensor maps in im2col mode: the box is a number of channels of a number of pixels, and pixels
 * follow each other along W, H and D within a bounding box that may reach over the tensor's edges,
 * then along N. Pure; any thread. Source: PTX ISA 9.0, section 5.5.4; cuTensorMapEncodeIm2col. */
#ifndef PG_EMULATOR_IM2COL_H
#define PG_EMULATOR_IM2COL_H

#include "emulator/copy/tensor_map.h"

/* What the driver checks of the bounding box and the pixels. */
ptxgen_status pg_im2col_check(const pg_tensor_map *map, ptxgen_error *err);

/* Whether the pixel box lies within the tensor, as that of a store must (an H200 stops with an
 * illegal instruction). */
bool pg_im2col_inside(const pg_tensor_map *map);
/* Moves on to the next pixel; sets w->done behind the last. */
void pg_im2col_advance(pg_tensor_walk *w);

#endif
