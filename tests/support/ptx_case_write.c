/* Writes an instruction test with new expected data; everything else of its file stays. See
 * ptx_case.h. */
#include "ptx_case.h"

#include <stdio.h>
#include <string.h>

enum { LINE_WIDTH = 96 };

static void write_words(const ptx_case_param *p, FILE *f)
{
    const size_t per_line = LINE_WIDTH / (2 * p->word + 1) * p->word;
    for (size_t at = 0; at < p->size; at += p->word) {
        uint64_t word = 0;
        memcpy(&word, p->bytes + at, p->word);
        fprintf(f, "%s %0*llx%s", at % per_line ? "" : "//=", (int)(2 * p->word),
                (unsigned long long)word,
                (at + p->word) % per_line && at + p->word < p->size ? "" : "\n");
    }
}

/* Whether the line starts with this key and a blank or its end follows. */
static bool is_key(const char *line, size_t n, const char *key)
{
    const size_t length = strlen(key);
    return n >= length && !memcmp(line, key, length) && (n == length || line[length] == ' ');
}

/* The buffers come in the order of their lines, so that the line before the data says which one
 * it is. */
static void write_lines(const ptx_case *c, FILE *f)
{
    const ptx_case_param *next = c->params, *current = NULL;
    bool replacing = false;
    size_t n;
    for (const char *line = c->text; *line; line += n + (line[n] == '\n')) {
        n = strcspn(line, "\n");
        if (is_key(line, n, "//=")) {
            if (!replacing)
                fprintf(f, "%.*s\n", (int)n, line);
            continue;
        }
        fprintf(f, "%.*s\n", (int)n, line);
        const bool out = is_key(line, n, "//: out");
        if (out || is_key(line, n, "//: in") || is_key(line, n, "//: inout") ||
            is_key(line, n, "//: map") || is_key(line, n, "//: texture") ||
            is_key(line, n, "//: surface"))
            current = next++;
        replacing = out || is_key(line, n, "//: expect");
        if (replacing)
            write_words(current, f);
    }
}

bool ptx_case_write(const ptx_case *c, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return false;
    write_lines(c, f);
    const bool ok = !ferror(f);
    return !fclose(f) && ok;
}
