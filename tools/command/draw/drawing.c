/* A drawing and its two forms: a table in text, a grid in SVG. An SVG file is written directly:
 * it needs no more than lines, frames and words. */
#include "command/draw/draw.h"

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
    free(d->notes);
    free(d->row_names);
    free(d->column_names);
    free(d->cells);
    free(d->marked);
}

/* ---- text ---- */

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

static size_t widest_row_name(const drawing *d)
{
    size_t n = 0;
    for (size_t r = 0; r < d->rows; r++)
        n = strlen(d->row_names[r]) > n ? strlen(d->row_names[r]) : n;
    return n;
}

void drawing_write_text(const drawing *d, FILE *to)
{
    const int left = (int)widest_row_name(d);
    int *width = cli_calloc(d->columns, sizeof *width);
    fprintf(to, "%s\n\n%*s", d->title, left, "");
    for (size_t c = 0; c < d->columns; c++) {
        width[c] = (int)widest(d, c);
        fprintf(to, " %*s", width[c], d->column_names[c]);
    }
    fputc('\n', to);
    for (size_t r = 0; r < d->rows; r++) {
        fprintf(to, "%*s", left, d->row_names[r]);
        for (size_t c = 0; c < d->columns; c++) {
            const size_t i = r * d->columns + c;
            fprintf(to, " %*s%s", width[c] - d->marked[i], d->cells[i], d->marked[i] ? "*" : "");
        }
        fputc('\n', to);
    }
    fprintf(to, "\n%s", d->notes);
    free(width);
}

/* ---- SVG ---- */

/* Pixels. A letter of 12-pixel monospace is 7.2 wide, a little more where another font stands
 * in. */
enum { CELL_HEIGHT = 22, LETTER = 8, MARGIN = 12, LINE = 18, BASE = 15 };

/* Where things are: columns begin at x[0] .. x[columns], rows at y + r * CELL_HEIGHT. */
typedef struct layout {
    int *x, y, width, height;
} layout;

static layout lay_out(const drawing *d)
{
    layout l = {.x = cli_calloc(d->columns + 1, sizeof *l.x), .y = MARGIN + 2 * CELL_HEIGHT};
    int notes = 0, widest_note = (int)strlen(d->title);
    for (const char *p = d->notes; *p; notes++) {
        const int n = (int)strcspn(p, "\n");
        widest_note = n > widest_note ? n : widest_note;
        p += n + (p[n] == '\n');
    }
    l.x[0] = MARGIN + (int)widest_row_name(d) * LETTER + 8;
    for (size_t c = 0; c < d->columns; c++)
        l.x[c + 1] = l.x[c] + (int)widest(d, c) * LETTER + 8;
    l.width = l.x[d->columns] > widest_note * LETTER ? l.x[d->columns] : widest_note * LETTER;
    l.width += 2 * MARGIN;
    l.height = l.y + CELL_HEIGHT * (int)d->rows + LINE * (notes + 1) + MARGIN;
    return l;
}

static void write_words(FILE *to, int x, int y, const char *words, int n)
{
    fprintf(to, "<text x=\"%d\" y=\"%d\">", x, y);
    for (int i = 0; i < n; i++) {
        const char c = words[i];
        const char *escaped = c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : NULL;
        if (escaped)
            fputs(escaped, to);
        else
            fputc(c, to);
    }
    fputs("</text>\n", to);
}

/* The grid as one path, the heavy frames as another. */
static void write_lines(const drawing *d, const layout *l, FILE *to)
{
    const int bottom = l->y + CELL_HEIGHT * (int)d->rows;
    fputs("<path fill=\"none\" stroke=\"#000\" stroke-width=\"0.5\" d=\"", to);
    for (size_t r = 0; r <= d->rows; r++)
        fprintf(to, "M%d %dH%d", l->x[0], l->y + CELL_HEIGHT * (int)r, l->x[d->columns]);
    for (size_t c = 0; c <= d->columns; c++)
        fprintf(to, "M%d %dV%d", l->x[c], l->y, bottom);
    fputs("\"/>\n<path fill=\"none\" stroke=\"#000\" stroke-width=\"3\" d=\"", to);
    for (size_t i = 0; i < d->rows * d->columns; i++) {
        const size_t c = i % d->columns;
        if (d->marked[i])
            fprintf(to, "M%d %dH%dv%dH%dz", l->x[c], l->y + CELL_HEIGHT * (int)(i / d->columns),
                    l->x[c + 1], CELL_HEIGHT, l->x[c]);
    }
    fputs("\"/>\n", to);
}

void drawing_write_svg(const drawing *d, FILE *to)
{
    layout l = lay_out(d);
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"monospace\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<g font-weight=\"bold\">\n",
            l.width, l.height);
    write_words(to, MARGIN, MARGIN + 12, d->title, (int)strlen(d->title));
    fputs("</g>\n<g text-anchor=\"middle\">\n", to);
    for (size_t c = 0; c < d->columns; c++)
        write_words(to, (l.x[c] + l.x[c + 1]) / 2, l.y - 6, d->column_names[c],
                    (int)strlen(d->column_names[c]));
    for (size_t i = 0; i < d->rows * d->columns; i++)
        if (d->cells[i][0])
            write_words(to, (l.x[i % d->columns] + l.x[i % d->columns + 1]) / 2,
                        l.y + CELL_HEIGHT * (int)(i / d->columns) + BASE, d->cells[i],
                        (int)strlen(d->cells[i]));
    fputs("</g>\n<g text-anchor=\"end\">\n", to);
    for (size_t r = 0; r < d->rows; r++)
        write_words(to, l.x[0] - 6, l.y + CELL_HEIGHT * (int)r + BASE, d->row_names[r],
                    (int)strlen(d->row_names[r]));
    fputs("</g>\n", to);
    write_lines(d, &l, to);
    int y = l.y + CELL_HEIGHT * (int)d->rows + LINE + 2;
    for (const char *p = d->notes; *p; y += LINE) {
        const int n = (int)strcspn(p, "\n");
        write_words(to, MARGIN, y, p, n);
        p += n + (p[n] == '\n');
    }
    fputs("</svg>\n", to);
    free(l.x);
}
