/* ptxgen draw: finds out what is to be drawn, and draws it. */
#include "command/draw/draw.h"

#include "command/output.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

void drawing_make(drawing *d, size_t rows, size_t columns)
{
    d->rows = rows;
    d->columns = columns;
    d->row_names = cli_calloc(rows, sizeof *d->row_names);
    d->column_names = cli_calloc(columns, sizeof *d->column_names);
    d->cells = cli_calloc(rows * columns, sizeof *d->cells);
    d->marked = cli_calloc(rows * columns, sizeof *d->marked);
}

void drawing_free(drawing *d)
{
    free(d->title);
    free(d->row_names);
    free(d->column_names);
    free(d->cells);
    free(d->marked);
}

ptxgen_status draw_number(const cli_args *args, const char *name, int64_t min, int64_t max,
                          int64_t *value, ptxgen_error *err)
{
    const size_t n = strlen(name);
    for (size_t w = 1; w < args->count; w++) {
        char *end;
        const char *word = args->words[w];
        if (strncmp(word, name, n) != 0 || word[n] != '=')
            continue;
        errno = 0;
        const long long v = strtoll(word + n + 1, &end, 10);
        if (end == word + n + 1 || *end != '\0' || errno || v < min || v > max)
            return cli_fail(err, PTXGEN_EINVAL, "%s takes a number from %lld to %lld", word,
                            (long long)min, (long long)max);
        *value = v;
    }
    return PTXGEN_OK;
}

/* ---- the two forms ---- */

static size_t widest(const drawing *d, size_t column)
{
    size_t n = strlen(d->column_names[column]);
    for (size_t r = 0; r < d->rows; r++) {
        const size_t cell =
            strlen(d->cells[r * d->columns + column]) + d->marked[r * d->columns + column];
        n = cell > n ? cell : n;
    }
    return n;
}

static void write_text(const drawing *d, FILE *to)
{
    size_t left = 0;
    for (size_t r = 0; r < d->rows; r++)
        left = strlen(d->row_names[r]) > left ? strlen(d->row_names[r]) : left;
    fprintf(to, "%s\n\n%*s", d->title, (int)left, "");
    for (size_t c = 0; c < d->columns; c++)
        fprintf(to, " %*s", (int)widest(d, c), d->column_names[c]);
    fputc('\n', to);
    for (size_t r = 0; r < d->rows; r++) {
        fprintf(to, "%*s", (int)left, d->row_names[r]);
        for (size_t c = 0; c < d->columns; c++) {
            const size_t i = r * d->columns + c;
            fprintf(to, " %*s%s", (int)widest(d, c) - d->marked[i], d->cells[i],
                    d->marked[i] ? "*" : "");
        }
        fputc('\n', to);
    }
    fprintf(to, "\n%s", d->notes);
}

enum { CELL_HEIGHT = 22, LETTER = 7, MARGIN = 12 };

static void write_svg(const drawing *d, FILE *to)
{
    size_t width = 3, left = 1;
    int notes = 0;
    for (size_t c = 0; c < d->columns; c++)
        width = widest(d, c) > width ? widest(d, c) : width;
    for (size_t r = 0; r < d->rows; r++)
        left = strlen(d->row_names[r]) > left ? strlen(d->row_names[r]) : left;
    for (const char *p = d->notes; *p; p++)
        notes += *p == '\n';
    const int cell = (int)width * LETTER + 8, x0 = MARGIN + (int)left * LETTER + 8,
              y0 = MARGIN + 2 * CELL_HEIGHT;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"monospace\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n",
            x0 + cell * (int)d->columns + MARGIN,
            y0 + CELL_HEIGHT * ((int)d->rows + notes + 1) + MARGIN, MARGIN, MARGIN + 12, d->title);
    for (size_t c = 0; c < d->columns; c++)
        fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x0 + cell * (int)c + cell / 2, y0 - 6, d->column_names[c]);
    for (size_t r = 0; r < d->rows; r++) {
        const int y = y0 + CELL_HEIGHT * (int)r;
        fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", x0 - 6, y + 15,
                d->row_names[r]);
        for (size_t c = 0; c < d->columns; c++) {
            const size_t i = r * d->columns + c;
            const int x = x0 + cell * (int)c;
            fprintf(to,
                    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
                    "stroke=\"#000\" stroke-width=\"%s\"/><text x=\"%d\" y=\"%d\" "
                    "text-anchor=\"middle\">%s</text>\n",
                    x, y, cell, CELL_HEIGHT, d->marked[i] ? "3" : "0.5", x + cell / 2, y + 15,
                    d->cells[i]);
        }
    }
    int y = y0 + CELL_HEIGHT * (int)d->rows + 20;
    for (const char *p = d->notes; *p; y += 18) {
        const int n = (int)strcspn(p, "\n");
        fprintf(to, "<text x=\"%d\" y=\"%d\">%.*s</text>\n", MARGIN, y, n, p);
        p += n + (p[n] == '\n');
    }
    fputs("</svg>\n", to);
}

static const struct {
    const char *name;
    ptxgen_status (*fill)(const cli_args *, drawing *, ptxgen_error *);
    const char *parameters; /* names that it takes, separated by spaces */
} kinds[] = {
    {"swizzle", draw_swizzle, "span bits columns rows"},
    {"banks", draw_banks, "stride bytes offset swizzle"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Every word is one of the kind's parameters. */
static ptxgen_status check_words(const cli_args *args, const char *known, ptxgen_error *err)
{
    for (size_t w = 1; w < args->count; w++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(args->words[w], "="), args->words[w]);
        const char *at = strstr(known, name);
        const size_t n = strlen(name);
        if (!strchr(args->words[w], '=') || !n || !at || (at[n] != ' ' && at[n] != '\0') ||
            (at != known && at[-1] != ' '))
            return cli_fail(err, PTXGEN_EINVAL, "'%s' is not known here; %s takes %s",
                            args->words[w], args->words[0], known);
    }
    return PTXGEN_OK;
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    const char *known[KINDS];
    size_t k = 0;
    if (args->count == 0)
        return cli_usage_error(&args->set, "draw what? `ptxgen draw swizzle` or `draw banks`");
    for (; k < KINDS && strcmp(kinds[k].name, args->words[0]) != 0; k++)
        known[k] = kinds[k].name;
    if (k == KINDS) {
        const char *near = cli_nearest(args->words[0], known, KINDS);
        return cli_usage_error(&args->set, "cannot draw '%s'; %s%s%s", args->words[0],
                               near ? "did you mean '" : "`ptxgen draw --help` says what can be",
                               near ? near : "", near ? "'?" : "");
    }
    const char *path = args->set.output;
    const size_t n = path ? strlen(path) : 0;
    drawing d = {0};
    cli_output to;
    ptxgen_status status = check_words(args, kinds[k].parameters, &err);
    if (status == PTXGEN_OK)
        status = kinds[k].fill(args, &d, &err);
    if (status == PTXGEN_OK)
        status = cli_output_open(&to, path, false, &err);
    if (status == PTXGEN_OK) {
        if (n > 4 && strcmp(path + n - 4, ".svg") == 0)
            write_svg(&d, to.file);
        else
            write_text(&d, to.file);
        status = cli_output_commit(&to, &err);
    }
    drawing_free(&d);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}

const cli_command cli_draw = {
    .name = "draw",
    .usage = "swizzle [span=N ...] | banks [stride=N ...]  [-o FILE.svg]",
    .summary = "show layouts of shared memory, as text or picture",
    .text = "swizzle: which element of a tile lies in each 16 bytes of shared memory, under\n"
            "  span=32|64|128 (TMA's and wgmma's swizzle); bits= of an element (16),\n"
            "  columns= of the tile (a whole span), rows= (8).\n"
            "banks: which lanes of a warp meet in which bank, and how many wavefronts the\n"
            "  emulator counts: stride= bytes between lanes (4), bytes= of a lane (4),\n"
            "  offset= of lane 0 (0), swizzle=0|32|64|128 of the addresses (0).\n"
            "-o FILE.svg is a picture, any other file and standard output are text.\n",
    .examples = "  ptxgen draw swizzle span=128 -o swizzle.svg\n"
                "  ptxgen draw banks stride=128 bytes=16 swizzle=128\n",
    .options = "output help",
    .run = run,
};
