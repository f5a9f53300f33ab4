#include "command/json.h"

#include "command/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void cli_json_integer(cJSON *object, const char *name, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    cJSON_AddRawToObject(object, name, digits);
}

/* Bytes of the well-formed UTF-8 character at p (Unicode 15, table 3-7); 0 when there is none. */
static size_t character_bytes(const unsigned char *p)
{
    static const struct {
        unsigned char first, last, second_from, second_to, bytes;
    } rows[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    size_t row = 0;
    while (row < sizeof rows / sizeof *rows && (*p < rows[row].first || *p > rows[row].last))
        row++;
    if (row == sizeof rows / sizeof *rows)
        return 0;
    if (rows[row].bytes > 1 && (p[1] < rows[row].second_from || p[1] > rows[row].second_to))
        return 0;
    for (size_t i = 2; i < rows[row].bytes; i++)
        if ((p[i] & 0xc0) != 0x80) /* the NUL at the end stops it too */
            return 0;
    return rows[row].bytes;
}

static void write_as_utf8(const char *text, FILE *to)
{
    for (const char *p = text; *p;) {
        const size_t n = character_bytes((const unsigned char *)p);
        fwrite(n ? p : "\xef\xbf\xbd", 1, n ? n : 3, to);
        p += n ? n : 1;
    }
}

void cli_json_write(cJSON *root, FILE *to)
{
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (!text) {
        cli_say("out of memory");
        exit(CLI_SYSTEM);
    }
    write_as_utf8(text, to);
    fputc('\n', to);
    cJSON_free(text);
}

void cli_json_print(cJSON *root)
{
    cli_json_write(root, stdout);
}
