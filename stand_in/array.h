/* Arrays of texels, textures and surfaces over them: what the runtime's calls and the driver's
 * come to. */
#ifndef PG_STAND_IN_ARRAY_H
#define PG_STAND_IN_ARRAY_H

#include "stand_in/memory.h"

enum { PG_ARRAY_LAYERED = 1, PG_ARRAY_CUBEMAP = 4, PG_MOST_LEVELS = 32 };

/* Rows of texels, dense. Of a layered array, `depth` counts the layers; of a cube the faces. */
typedef struct pg_array {
    char *data;
    size_t width, height, depth; /* height, depth: at least 1 */
    size_t texel_bytes;
    cudaExtent extent; /* as asked for: 0 where a dimension is absent */
    int format;        /* CU_AD_FORMAT_... */
    unsigned channels, flags;
} pg_array;

typedef struct pg_mipmapped {
    unsigned levels;
    cudaArray_t level[PG_MOST_LEVELS];
} pg_mipmapped;

/* The CU_AD_FORMAT of a channel description and its channels; 0: there is none. */
int pg_format_of(const cudaChannelFormatDesc *desc, unsigned *channels);
cudaChannelFormatDesc pg_desc_of(const pg_array *array);

/* InvalidValue: the shape or the format is none that an array can have. */
pg_cuda_error pg_array_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, cudaArray_t *out);
void pg_array_free(cudaArray_t array);
/* `levels` at most as many as halving the extents gives. */
pg_cuda_error pg_mipmapped_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels,
                               pg_mipmapped_t *out);
void pg_mipmapped_free(pg_mipmapped_t mipmapped);

/* One side of a copy: the address of its first byte, pitch and slice. */
typedef struct pg_side {
    char *at;
    size_t pitch, slice;
} pg_side;
/* Byte x of row y of slice z. */
pg_side pg_array_side(cudaArray_t array, size_t x, size_t y, size_t z);
/* Whether `width` bytes of `height` rows from (x bytes, row y) on lie in the array. */
bool pg_array_holds(const pg_array *array, size_t x, size_t y, size_t width, size_t height);
pg_copy pg_copy_of(pg_side to, pg_side from, cudaExtent bytes);
/* A 3-D copy of the runtime; where an array takes part, extents and positions count texels. */
pg_copy pg_copy_of_3d(const cudaMemcpy3DParms *p);
/* Of the driver, in bytes. An address that is missing is NULL. */
pg_copy pg_copy_of_driver(const CUDA_MEMCPY3D *p);

/* A texture (surface: `how` NULL) of a resource; both in the driver's form. */
pg_cuda_error pg_texture_new(const CUDA_RESOURCE_DESC *what, const CUDA_TEXTURE_DESC *how,
                             uint64_t *handle);
pg_cuda_error pg_texture_free(uint64_t handle);

#endif
