#include "command/run/ptx_texture.h"

#include <stdlib.h>
#include <string.h>

static bool take_format(const char **p, ptxgen_emulator_texture *t, size_t *bytes)
{
    static const struct {
        const char *name;
        int format;
        size_t bytes;
        bool integer;
    } formats[] = {{"u8:", 1, 1, true},    {"u16:", 2, 2, true},  {"u32:", 3, 4, true},
                   {"s8:", 8, 1, true},    {"s16:", 9, 2, true},  {"s32:", 10, 4, true},
                   {"f16:", 16, 2, false}, {"f32:", 32, 4, false}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const size_t n = strlen(formats[i].name);
        if (strncmp(*p, formats[i].name, n) != 0)
            continue;
        t->format = formats[i].format;
        t->read_integers = formats[i].integer;
        *bytes = formats[i].bytes;
        *p += n;
        return true;
    }
    return false;
}

static bool take_options(const char *p, ptxgen_emulator_texture *t, bool *layers)
{
    static const char *const modes[] = {"wrap", "clamp", "mirror", "border"};
    while (*p == ':') {
        const size_t n = strcspn(++p, ":");
        bool known = false;
        for (int i = 0; i < 4; i++)
            if (n == strlen(modes[i]) && strncmp(p, modes[i], n) == 0) {
                t->address_mode[0] = t->address_mode[1] = t->address_mode[2] = i;
                known = true;
            }
        const bool is_linear = n == 6 && strncmp(p, "linear", n) == 0;
        const bool is_normalized = n == 10 && strncmp(p, "normalized", n) == 0;
        const bool is_layers = n == 6 && strncmp(p, "layers", n) == 0;
        t->linear |= is_linear;
        t->normalized |= is_normalized;
        *layers |= is_layers;
        if (!known && !is_linear && !is_normalized && !is_layers)
            return false;
        p += n;
    }
    return *p == '\0';
}

const char *ptx_texture_parse(const char *text, void *memory, size_t bytes,
                              ptxgen_emulator_texture *out)
{
    ptxgen_emulator_texture t = {.size = sizeof t, .memory = memory, .address_mode = {1, 1, 1}};
    uint64_t sizes[4] = {0}, total;
    size_t channel;
    uint32_t count = 0;
    bool layers = false;
    if (!take_format(&text, &t, &channel))
        return "TYPE is u8, u16, u32, s8, s16, s32, f16 or f32";
    total = channel;
    for (; count < 4; count++) {
        char *end;
        sizes[count] = strtoull(text, &end, 10);
        if (end == text || *text < '0' || *text > '9' || !sizes[count] ||
            __builtin_mul_overflow(total, sizes[count], &total) || sizes[count] > UINT32_MAX)
            return "sizes are positive numbers: CHANNELSxWIDTH[xHEIGHT[xDEPTH]]";
        text = end;
        if (*text != 'x') {
            count++;
            break;
        }
        text++;
    }
    if (count < 2 || !take_options(text, &t, &layers) || (layers && count < 3))
        return "behind the sizes stand layers, linear, normalized, wrap, mirror, border or clamp";
    if (total > bytes)
        return "the sizes reach past the buffer's end";
    t.channels = (uint32_t)sizes[0];
    t.layers = layers ? (uint32_t)sizes[count - 1] : 0;
    const uint32_t dimensions = count - 1 - layers;
    t.width = (uint32_t)sizes[1];
    t.height = dimensions > 1 ? (uint32_t)sizes[2] : 1;
    t.depth = dimensions > 2 ? (uint32_t)sizes[3] : 1;
    *out = t;
    return NULL;
}
