/* There was no public toolkit 12.7, for which PTX 8.6 was meant: it came with 12.8. */
#include "assemble/release.h"

#include "base/str.h"

#include <string.h>

static const struct {
    int ptx, release;
} first[] = {{80, 1200}, {81, 1201}, {82, 1202}, {83, 1203}, {84, 1204}, {85, 1205},
             {86, 1208}, {87, 1208}, {88, 1209}, {90, 1300}, {91, 1301}};
enum { FIRST = sizeof first / sizeof *first };

/* "12.9..." -> 12 and 9. */
static int parse(const char *text, int *minor)
{
    int number[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const char *start = text;
        for (; *text >= '0' && *text <= '9' && text < start + 4; text++)
            number[i] = number[i] * 10 + (*text - '0');
        if (text == start)
            return 0;
        text += *text == '.';
    }
    *minor = number[1];
    return number[0];
}

int pg_release_of(const char *version)
{
    int minor = 0;
    const int major = parse(version, &minor);
    return major && minor < 100 ? major * 100 + minor : 0;
}

int pg_release_for_ptx(const char *ptx_version)
{
    int minor = 0;
    const int major = parse(ptx_version, &minor), ptx = major * 10 + minor;
    if (!major)
        return 0;
    for (size_t i = 0; i < FIRST; i++)
        if (ptx <= first[i].ptx)
            return first[i].release;
    return 0;
}

int pg_release_for_text(const char *ptx, size_t size)
{
    static const char directive[] = ".version";
    const char *at = memmem(ptx, size, directive, sizeof directive - 1);
    if (!at)
        return 0;
    at += sizeof directive - 1;
    while (*at == ' ' || *at == '\t')
        at++;
    return pg_release_for_ptx(at);
}
