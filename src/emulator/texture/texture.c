/* See texture.h. */
#include "emulator/texture/texture.h"

#include "emulator/number/formats.h"

#include <math.h>
#include <string.h>

static uint32_t channel_bytes(pg_texture_format f)
{
    return f == PG_TEXEL_U8 || f == PG_TEXEL_S8                          ? 1
           : f == PG_TEXEL_U16 || f == PG_TEXEL_S16 || f == PG_TEXEL_F16 ? 2
                                                                         : 4;
}

uint32_t pg_texel_bytes(const pg_texture *t)
{
    return channel_bytes(t->format) * t->channels;
}

bool pg_texture_is_float(const pg_texture *t)
{
    return !t->integers || t->format == PG_TEXEL_F16 || t->format == PG_TEXEL_F32;
}

/* ---- texels ---- */

static uint32_t float_of_integer(int32_t x, float most)
{
    const float value = (float)x / most;
    return pg_bits_of_f32(value < -1 ? -1 : value);
}

/* 32-bit integers are never read as 0..1. */
static uint32_t channel_of(const pg_texture *t, const uint8_t *at)
{
    uint32_t word = 0;
    memcpy(&word, at, channel_bytes(t->format));
    switch (t->format) {
    case PG_TEXEL_U8:
        return t->integers ? word : float_of_integer((int32_t)word, 255);
    case PG_TEXEL_U16:
        return t->integers ? word : float_of_integer((int32_t)word, 65535);
    case PG_TEXEL_S8:
        return t->integers ? (uint32_t)(int8_t)word : float_of_integer((int8_t)word, 127);
    case PG_TEXEL_S16:
        return t->integers ? (uint32_t)(int16_t)word : float_of_integer((int16_t)word, 32767);
    case PG_TEXEL_F16:
        return pg_bits_of_f32(pg_f32_of_f16((uint16_t)word));
    default:
        return word;
    }
}

static pg_texel border_of(const pg_texture *t)
{
    pg_texel x = {{0}};
    for (uint32_t i = 0; i < t->channels; i++)
        x.word[i] = pg_texture_is_float(t) ? pg_bits_of_f32(t->border[i]) : (uint32_t)t->border[i];
    return x;
}

/* The word of a channel: clamped, or scaled and rounded to nearest even. */
static uint32_t bits_of_channel(const pg_texture *t, uint32_t word)
{
    const uint32_t bits = 8 * channel_bytes(t->format);
    const bool is_signed = t->format >= PG_TEXEL_S8 && t->format <= PG_TEXEL_S32;
    if (t->format == PG_TEXEL_F32 || bits == 32)
        return word;
    if (t->format == PG_TEXEL_F16)
        return pg_f16_of_f32(pg_f32_of(word));
    const int64_t most = ((int64_t)1 << (bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
    if (!t->integers) {
        const float value = pg_f32_of(word), low = is_signed ? -1.0f : 0.0f;
        const float inside = value >= low ? value <= 1 ? value : 1 : value < low ? low : 0;
        return (uint32_t)(int32_t)rint((double)inside * (double)most);
    }
    const int64_t value = is_signed ? (int32_t)word : (int64_t)word;
    return (uint32_t)(value < least ? least : value > most ? most : value);
}

void pg_texel_store(const pg_texture *t, uint8_t *at, const uint32_t *words, uint32_t count)
{
    const uint32_t bytes = channel_bytes(t->format);
    for (uint32_t i = 0; i < t->channels; i++) {
        const uint32_t bits = i < count ? bits_of_channel(t, words[i]) : 0;
        memcpy(at + i * bytes, &bits, bytes);
    }
}

/* ---- addresses ---- */

/* The texel for an index that may lie outside; -1: the border. */
static int64_t inside(pg_texture_address mode, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    const int64_t period = mode == PG_TEXTURE_MIRROR ? 2 * n : n,
                  r = (i % period + period) % period;
    switch (mode) {
    case PG_TEXTURE_WRAP:
        return r;
    case PG_TEXTURE_MIRROR:
        return r < n ? r : 2 * n - 1 - r;
    case PG_TEXTURE_BORDER:
        return -1;
    default:
        return i < 0 ? 0 : n - 1;
    }
}

/* Wrapping and mirroring need normalized coordinates. */
static pg_texture_address mode_of(const pg_texture *t, uint32_t dimension)
{
    const pg_texture_address mode = t->address[dimension];
    const bool repeats = mode == PG_TEXTURE_WRAP || mode == PG_TEXTURE_MIRROR;
    return repeats && !t->normalized ? PG_TEXTURE_CLAMP : mode;
}

static pg_texel texel_at(const pg_texture *t, const pg_texture_place *p, const int64_t *index)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < p->dimensions; i++) {
        const int64_t at = inside(mode_of(t, i), index[i], t->extent[i]);
        if (at < 0)
            return border_of(t);
        offset += (uint64_t)at * (i ? t->pitch[i - 1] : pg_texel_bytes(t));
    }
    if (t->layers)
        offset += (uint64_t)(p->layer < t->layers ? p->layer : t->layers - 1) * t->pitch[1];
    pg_texel x = {{0}}; /* also of channels that the texture has not, as on an H200 */
    for (uint32_t i = 0; i < t->channels; i++)
        x.word[i] = channel_of(t, t->memory + offset + i * channel_bytes(t->format));
    return x;
}

/* A coordinate in texels; far ones are brought near, NaN is 0. */
static float in_texels(const pg_texture *t, const pg_texture_place *p, uint32_t i)
{
    const float n = (float)t->extent[i], far = 0x1p30f;
    float x = p->at[i];
    if (t->normalized) {
        if (mode_of(t, i) == PG_TEXTURE_WRAP)
            x -= floorf(x);
        x *= n;
    }
    return x >= -far && x <= far ? x : x > 0 ? far : x < 0 ? -far : 0;
}

/* ---- reads ---- */

static pg_texel nearest(const pg_texture *t, const pg_texture_place *p)
{
    int64_t index[3];
    for (uint32_t i = 0; i < p->dimensions; i++)
        index[i] = p->is_integer ? p->texel[i] : (int64_t)floorf(in_texels(t, p, i));
    return texel_at(t, p, index);
}

/* The lower of two neighbours, and the weight of the upper one in 1/256. */
typedef struct neighbours {
    int64_t first[3];
    float weight[3];
} neighbours;

static neighbours find_neighbours(const pg_texture *t, const pg_texture_place *p)
{
    neighbours n;
    for (uint32_t i = 0; i < p->dimensions; i++) {
        const float x = in_texels(t, p, i) - 0.5f;
        n.first[i] = (int64_t)floorf(x);
        n.weight[i] = floorf((x - floorf(x)) * 256 + 0.5f) / 256;
    }
    return n;
}

static pg_texel linear(const pg_texture *t, const pg_texture_place *p)
{
    const neighbours n = find_neighbours(t, p);
    float sum[4] = {0};
    for (uint32_t corner = 0; corner < 1u << p->dimensions; corner++) {
        int64_t index[3];
        float weight = 1;
        for (uint32_t i = 0; i < p->dimensions; i++) {
            const uint32_t upper = corner >> i & 1;
            index[i] = n.first[i] + upper;
            weight *= upper ? n.weight[i] : 1 - n.weight[i];
        }
        const pg_texel x = weight != 0 ? texel_at(t, p, index) : (pg_texel){{0}};
        for (int k = 0; k < 4; k++)
            sum[k] += weight * pg_f32_of(x.word[k]);
    }
    pg_texel result;
    for (int k = 0; k < 4; k++)
        result.word[k] = pg_bits_of_f32(sum[k]);
    return result;
}

pg_texel pg_texture_read(const pg_texture *t, const pg_texture_place *p)
{
    return t->linear && !p->is_integer && pg_texture_is_float(t) ? linear(t, p) : nearest(t, p);
}

pg_texel pg_texture_gather(const pg_texture *t, const pg_texture_place *p, uint32_t channel)
{
    static const int64_t corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const neighbours n = find_neighbours(t, p);
    pg_texel result;
    for (int i = 0; i < 4; i++) {
        const int64_t index[3] = {n.first[0] + corners[i][0], n.first[1] + corners[i][1]};
        result.word[i] = texel_at(t, p, index).word[channel];
    }
    return result;
}

void pg_texture_face(pg_texture_place *p, uint32_t cube)
{
    /* by face: which coordinate is s, which t, and their signs */
    static const struct {
        int8_t s, s_sign, t, t_sign;
    } faces[6] = {{2, -1, 1, -1}, {2, 1, 1, -1}, {0, 1, 2, 1},
                  {0, 1, 2, -1},  {0, 1, 1, -1}, {0, -1, 1, -1}};
    const float x = fabsf(p->at[0]), y = fabsf(p->at[1]), z = fabsf(p->at[2]);
    const uint32_t axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    const uint32_t face = 2 * axis + (p->at[axis] < 0);
    const float major = fabsf(p->at[axis]);
    const float s = (float)faces[face].s_sign * p->at[faces[face].s];
    const float t = (float)faces[face].t_sign * p->at[faces[face].t];
    p->at[0] = (s / major + 1) / 2;
    p->at[1] = (t / major + 1) / 2;
    p->dimensions = 2;
    p->layer = 6 * cube + face;
}
