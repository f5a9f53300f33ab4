/* Textures and surfaces: what a handle stands for, and reads of it. Images lie in rows in host
 * memory; a texture has one level. Filtering follows the CUDA programming guide (appendix on
 * texture fetching): weights are rounded to 8 fraction bits; in which order hardware adds and
 * how it rounds sums is not published, here it is float, x first. Pure but for the image itself;
 * any thread. */
#ifndef PG_EMULATOR_TEXTURE_H
#define PG_EMULATOR_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PG_MAX_TEXTURES = 1024 };

/* The driver's numbers. */
typedef enum pg_texture_format {
    PG_TEXEL_U8 = 1,
    PG_TEXEL_U16 = 2,
    PG_TEXEL_U32 = 3,
    PG_TEXEL_S8 = 8,
    PG_TEXEL_S16 = 9,
    PG_TEXEL_S32 = 10,
    PG_TEXEL_F16 = 16,
    PG_TEXEL_F32 = 32
} pg_texture_format;
typedef enum pg_texture_address {
    PG_TEXTURE_WRAP,
    PG_TEXTURE_CLAMP,
    PG_TEXTURE_MIRROR,
    PG_TEXTURE_BORDER
} pg_texture_address;

typedef struct pg_texture {
    pg_texture_format format;
    uint32_t channels;  /* 1, 2 or 4 */
    uint32_t extent[3]; /* texels; 1 beyond the texture's dimensions */
    uint32_t layers;    /* 0: not layered; of a cube: 6, and 6 a cube of several */
    uint64_t pitch[2];  /* bytes from row to row, and from slice or layer to the next */
    uint8_t *memory;
    pg_texture_address address[3];
    bool linear, integers, normalized; /* integers: read as such, not as 0..1 */
    float border[4];
} pg_texture;

/* Bytes of a texel. */
uint32_t pg_texel_bytes(const pg_texture *t);

/* A texel as an instruction gives it: floats as bits, integers extended to 32 bits. */
typedef struct pg_texel {
    uint32_t word[4];
} pg_texel;

/* What to read: coordinates of the texture's dimensions, floats or integers, and a layer. */
typedef struct pg_texture_place {
    bool is_integer;
    float at[3];
    int32_t texel[3];
    uint32_t dimensions, layer;
} pg_texture_place;

/* Whether the texture gives floats. */
bool pg_texture_is_float(const pg_texture *t);
pg_texel pg_texture_read(const pg_texture *t, const pg_texture_place *p);
/* One channel of the four texels that linear filtering would mix: (0,1), (1,1), (1,0), (0,0). */
pg_texel pg_texture_gather(const pg_texture *t, const pg_texture_place *p, uint32_t channel);
/* What sust.p stores: `count` words of 32 bits become channels of the texel at `at`, floats where
 * the texture gives floats. Integers are clamped, floats of 0..1 (-1..1) rounded to nearest;
 * channels beyond `count` become 0, those that the texel lacks are dropped. */
void pg_texel_store(const pg_texture *t, uint8_t *at, const uint32_t *words, uint32_t count);
/* The place on one of six faces that a direction meets: p->at[0..2] become its two coordinates,
 * the layer its face of cube `cube`. */
void pg_texture_face(pg_texture_place *p, uint32_t cube);

#endif
