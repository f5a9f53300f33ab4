/* ptxgen draw: layouts as text or, when -o names a .svg file, as a picture. A drawing is a grid
 * of labelled cells with a head and notes, so both forms show the same; pictures need no colour
 * and are the same at every run. */
#ifndef PTXGEN_DRAW_H
#define PTXGEN_DRAW_H

#include "command/command.h"

#include <stdio.h>

typedef struct drawing {
    char *title; /* owned, like the notes */
    size_t rows, columns;
    char (*row_names)[48];    /* rows of them */
    char (*column_names)[24]; /* columns of them */
    char (*cells)[64];        /* rows x columns; "" leaves a cell empty */
    bool *marked;             /* rows x columns: drawn with a heavy frame, in text with a * */
    char *notes;              /* lines */
} drawing;

/* An empty grid; free it with drawing_free. */
void drawing_make(drawing *d, size_t rows, size_t columns);
void drawing_free(drawing *d);
void drawing_write_text(const drawing *d, FILE *to);
void drawing_write_svg(const drawing *d, FILE *to);

/* name=value of the words after the first; `value` keeps its default when it is not named.
 * EINVAL: no number of the range. */
ptxgen_status draw_number(const cli_args *args, const char *name, int64_t min, int64_t max,
                          int64_t *value, ptxgen_error *err);
/* The value of name=value among them; NULL when it is not there. */
const char *draw_word(const cli_args *args, const char *name);

/* Each fills a drawing from the words. */
ptxgen_status draw_swizzle(const cli_args *args, drawing *d, ptxgen_error *err);
ptxgen_status draw_banks(const cli_args *args, drawing *d, ptxgen_error *err);
ptxgen_status draw_fragment(const cli_args *args, drawing *d, ptxgen_error *err);
/* Runs a kernel. Its failure is reported there and then: d->title stays NULL and *code is the exit
 * code. */
ptxgen_status draw_tmem(const cli_args *args, drawing *d, int *code, ptxgen_error *err);
/* Options that draw_tmem reads for these words. */
const char *draw_tmem_options(const cli_args *args);

#endif
