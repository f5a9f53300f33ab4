/* Textures and surfaces of an emulator: their handles. */
#include "base/sized.h"
#include "emulator/run/context.h"

#include <math.h>
#include <string.h>

static ptxgen_status check_image(const ptxgen_emulator_texture *t, ptxgen_error *err)
{
    const int f = t->format;
    const bool known = (f >= 1 && f <= 3) || (f >= 8 && f <= 10) || f == 16 || f == 32;
    if (!known)
        return pg_fail(err, PTXGEN_EINVAL, "a texture's format is one of CU_AD_FORMAT_..., not %d",
                       f);
    if (t->channels != 1 && t->channels != 2 && t->channels != 4)
        return pg_fail(err, PTXGEN_EINVAL, "a texture has 1, 2 or 4 channels, not %u", t->channels);
    if (!t->memory || !t->width || t->width > 1u << 27 || t->height > 1u << 17 ||
        t->depth > 1u << 14 || t->layers > 1u << 14)
        return pg_fail(err, PTXGEN_EINVAL,
                       "a texture of %u x %u x %u texels in %u layers is beyond what GPUs have",
                       t->width, t->height, t->depth, t->layers);
    if (t->layers && t->depth > 1)
        return pg_fail(err, PTXGEN_EINVAL, "layers of three dimensions do not exist");
    if (t->cube && (!t->layers || t->layers % 6 || t->width != t->height))
        return pg_fail(err, PTXGEN_EINVAL,
                       "a cube has square layers, 6 or a multiple of 6 of them");
    return PTXGEN_OK;
}

static ptxgen_status check_sampling(const ptxgen_emulator_texture *t, ptxgen_error *err)
{
    for (int i = 0; i < 3; i++)
        if (t->address_mode[i] < 0 || t->address_mode[i] > PG_TEXTURE_BORDER)
            return pg_fail(err, PTXGEN_EINVAL,
                           "address mode %d does not exist: 0 (wrap) to 3 (border) do",
                           t->address_mode[i]);
    const bool wide = t->format == PG_TEXEL_U32 || t->format == PG_TEXEL_S32;
    if ((t->linear || !t->read_integers) && wide)
        return pg_fail(err, PTXGEN_EINVAL,
                       "texels of 32-bit integers are read as integers and not filtered: set "
                       "read_integers, not linear");
    return PTXGEN_OK;
}

static pg_texture texture_of(const ptxgen_emulator_texture *t)
{
    pg_texture x = {.format = (pg_texture_format)t->format,
                    .channels = t->channels,
                    .extent = {t->width, t->height ? t->height : 1, t->depth ? t->depth : 1},
                    .layers = t->layers,
                    .memory = t->memory,
                    .linear = t->linear != 0,
                    .integers = t->read_integers != 0,
                    .normalized = t->normalized != 0};
    const uint64_t row = (uint64_t)t->width * pg_texel_bytes(&x);
    x.pitch[0] = t->pitch[0] ? t->pitch[0] : row;
    x.pitch[1] = t->pitch[1] ? t->pitch[1] : x.pitch[0] * x.extent[1];
    for (int i = 0; i < 3; i++)
        x.address[i] = (pg_texture_address)t->address_mode[i];
    memcpy(x.border, t->border, sizeof x.border);
    return x;
}

ptxgen_status ptxgen_emulator_add_texture(ptxgen_emulator *emu,
                                          const ptxgen_emulator_texture *texture, uint64_t *handle,
                                          ptxgen_error *err)
{
    ptxgen_emulator_texture whole = {.size = sizeof whole};
    if (!emu || !texture || !handle)
        return pg_fail(err, PTXGEN_EINVAL,
                       "an emulator, a texture and a place for its handle are needed");
    PG_TRY(pg_sized_take(&whole, sizeof whole, texture, "texture", "ptxgen_emulator_texture", err));
    PG_TRY(check_image(&whole, err));
    PG_TRY(check_sampling(&whole, err));
    pg_texture *t = pg_alloc_zero(&emu->alloc, sizeof *t);
    if (!t)
        return pg_fail_memory(err, sizeof *t);
    *t = texture_of(&whole);
    uint32_t at = 0;
    pthread_mutex_lock(&emu->lock);
    while (at < PG_MAX_TEXTURES && emu->textures[at])
        at++;
    if (at < PG_MAX_TEXTURES)
        emu->textures[at] = t;
    pthread_mutex_unlock(&emu->lock);
    if (at == PG_MAX_TEXTURES) {
        pg_free(&emu->alloc, t, sizeof *t);
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "an emulator has room for %d textures: remove one first", PG_MAX_TEXTURES);
    }
    *handle = at + 1;
    return PTXGEN_OK;
}

bool ptxgen_emulator_remove_texture(ptxgen_emulator *emu, uint64_t handle)
{
    if (!emu || handle - 1 >= PG_MAX_TEXTURES)
        return false;
    pthread_mutex_lock(&emu->lock);
    pg_texture *t = emu->textures[handle - 1];
    emu->textures[handle - 1] = NULL;
    pthread_mutex_unlock(&emu->lock);
    pg_free(&emu->alloc, t, sizeof *t);
    return t != NULL;
}
