#include "mutate.h"

#include "draw.h"

#include <stdlib.h>
#include <string.h>

static size_t below(uint64_t *seed, size_t n)
{
    return n ? (size_t)(draw_random(seed) % n) : 0;
}

static void change_number(uint64_t *seed, uint8_t *bytes, size_t n)
{
    const uint64_t numbers[] = {
        0,          1,          2,          0x7f,       0x80,   0xff,   0x7fff,         0xffff,
        0x7fffffff, 1u << 31,   UINT32_MAX, n,          n - 1,  n + 1,  n / 2,          INT64_MAX,
        UINT64_MAX, 1ull << 63, 1ull << 32, 1ull << 20, n - 64, 0x3f3f, UINT64_MAX - n, 64};
    const size_t width = (size_t)2 << below(seed, 3);
    if (n < width)
        return;
    /* Half of the time at a multiple of the width: that is where numbers are. */
    size_t at = below(seed, n - width + 1);
    if (draw_random(seed) & 1)
        at -= at % width;
    const uint64_t number = numbers[below(seed, sizeof numbers / sizeof *numbers)];
    for (size_t i = 0; i < width; i++)
        bytes[at + i] = (uint8_t)(number >> 8 * i);
}

static size_t move_block(uint64_t *seed, uint8_t *bytes, size_t n, size_t room)
{
    const size_t size = 1 + below(seed, n < 512 ? n : 512), from = below(seed, n - size + 1);
    const size_t to = below(seed, n - size + 1);
    switch (below(seed, 3)) {
    case 0: /* left out */
        memmove(bytes + from, bytes + from + size, n - from - size);
        return n - size;
    case 1: /* twice */
        if (n + size > room)
            return n;
        memmove(bytes + from + size, bytes + from, n - from);
        return n + size;
    default: /* in another's place */
        memmove(bytes + to, bytes + from, size);
        return n;
    }
}

static size_t mutate_once(uint64_t *seed, uint8_t *bytes, size_t n, size_t room)
{
    if (n == 0)
        return 0;
    /* Headers are small and decide most: half of what is changed lies in the first 256 bytes. */
    const size_t part = draw_random(seed) & 1 && n > 256 ? 256 : n;
    switch (below(seed, 8)) {
    case 0:
        bytes[below(seed, part)] ^= (uint8_t)(1u << below(seed, 8));
        return n;
    case 1:
        bytes[below(seed, part)] = (uint8_t)draw_random(seed);
        return n;
    case 2:
    case 3:
    case 4:
        change_number(seed, bytes, part);
        return n;
    case 5:
        return below(seed, n);
    case 6: {
        size_t more = 1 + below(seed, 300);
        more = more < room - n ? more : room - n;
        memset(bytes + n, (int)below(seed, 256), more);
        return n + more;
    }
    default:
        return move_block(seed, bytes, n, room);
    }
}

size_t mutate(uint64_t *seed, uint8_t *bytes, size_t n, size_t room)
{
    for (size_t times = 1 + below(seed, 4); times > 0; times--)
        n = mutate_once(seed, bytes, n, room);
    return n;
}

size_t mutations_wanted(const char *variable, size_t usual)
{
    const char *text = getenv(variable);
    return text ? strtoul(text, NULL, 10) : usual;
}
