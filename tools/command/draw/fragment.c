/* Matrices in registers: which thread and register holds which element, by the emulator's maps. */
#include "command/draw/draw.h"

#include "ptxgen/emulator.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

typedef ptxgen_emulator_fragment fragment;

enum { MOST_NAMES = 1024 };

/* The word that is no name=value; NULL when there is none. */
static const char *subject_of(const cli_args *args)
{
    for (size_t w = 1; w < args->count; w++)
        if (!strchr(args->words[w], '='))
            return args->words[w];
    return NULL;
}

/* ---- the list of all ---- */

/* "a/16" to a cell, once. */
static void note_matrix(const fragment *f, char *cell, size_t size)
{
    char one[16];
    snprintf(one, sizeof one, "%c/%u", f->matrix, f->bits);
    if (!strstr(cell, one) && strlen(cell) + strlen(one) + 2 < size)
        snprintf(cell + strlen(cell), size - strlen(cell), "%s%s", *cell ? " " : "", one);
}

/* Names without those that came before; the fragments of a name are not all side by side. */
static size_t collect_names(char (*names)[sizeof((fragment *)0)->name])
{
    fragment f = {.size = sizeof f};
    size_t count = 0;
    for (size_t i = 0; ptxgen_emulator_fragment_at(i, &f) && count < MOST_NAMES; i++) {
        size_t k = count;
        while (k > 0 && strcmp(names[k - 1], f.name) != 0)
            k--;
        if (k == 0)
            memcpy(names[count++], f.name, sizeof f.name);
    }
    return count;
}

static ptxgen_status list_fragments(drawing *d)
{
    char(*names)[sizeof((fragment *)0)->name] = cli_calloc(MOST_NAMES, sizeof *names);
    fragment f = {.size = sizeof f};
    drawing_make(d, collect_names(names), 1);
    for (size_t i = 0; ptxgen_emulator_fragment_at(i, &f); i++)
        for (size_t r = 0; r < d->rows; r++)
            if (strcmp(names[r], f.name) == 0)
                note_matrix(&f, d->cells[r], sizeof *d->cells);
    for (size_t r = 0; r < d->rows; r++)
        snprintf(d->row_names[r], sizeof *d->row_names, "%s", names[r]);
    snprintf(d->column_names[0], sizeof *d->column_names, "matrix/bits");
    d->title = cli_format("fragments that `ptxgen draw fragment NAME` draws");
    d->notes = cli_format("matrix= and bits= (of an element) say which of a name's; c: C and D\n");
    free(names);
    return PTXGEN_OK;
}

/* ---- which one ---- */

static ptxgen_status unknown_name(const char *name, ptxgen_error *err)
{
    char(*names)[sizeof((fragment *)0)->name] = cli_calloc(MOST_NAMES, sizeof *names);
    const char **known = cli_calloc(MOST_NAMES, sizeof *known);
    const size_t count = collect_names(names);
    for (size_t i = 0; i < count; i++)
        known[i] = names[i];
    const char *near = cli_nearest(name, known, count);
    const ptxgen_status status =
        cli_fail(err, PTXGEN_EINVAL, "no instruction keeps a fragment '%.60s'; %s%s%s", name,
                 near ? "did you mean '" : "`ptxgen draw fragment` lists them", near ? near : "",
                 near ? "'?" : "");
    free(known);
    free(names);
    return status;
}

/* The fragment that name, matrix= and bits= leave. */
static ptxgen_status choose(const cli_args *args, const char *name, fragment *out,
                            ptxgen_error *err)
{
    const char *matrix = draw_word(args, "matrix");
    fragment f = {.size = sizeof f};
    char all[64] = "", left[64] = "";
    int64_t bits = 0;
    const ptxgen_status status = draw_number(args, "bits", 1, 64, &bits, err);
    if (status != PTXGEN_OK)
        return status;
    if (matrix && (strlen(matrix) != 1 || !strchr("abcd", *matrix)))
        return cli_fail(err, PTXGEN_EINVAL, "matrix=%.40s; there are a, b, c (C and D) and d",
                        matrix);
    for (size_t i = 0; ptxgen_emulator_fragment_at(i, &f); i++) {
        if (strcmp(f.name, name) != 0)
            continue;
        note_matrix(&f, all, sizeof all);
        if ((matrix && *matrix != f.matrix) || (bits && bits != f.bits))
            continue;
        if (!left[0])
            *out = f;
        note_matrix(&f, left, sizeof left);
    }
    if (!all[0])
        return unknown_name(name, err);
    if (!left[0] || strchr(left, ' '))
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s has %s (matrix/bits of an element): choose one with matrix= and bits=",
                        name, left[0] ? left : all);
    return PTXGEN_OK;
}

/* ---- the two views ---- */

static void name_columns(drawing *d, const char *prefix)
{
    for (size_t c = 0; c < d->columns; c++)
        snprintf(d->column_names[c], sizeof *d->column_names, "%s%zu", prefix, c);
}

/* The matrix: in each element's place "T12:a1.0", thread, register, element of the register. */
static void by_element(const fragment *f, drawing *d)
{
    drawing_make(d, f->rows, f->columns);
    name_columns(d, "");
    for (size_t r = 0; r < d->rows; r++)
        snprintf(d->row_names[r], sizeof *d->row_names, "%zu", r);
    ptxgen_emulator_place p = {0};
    for (p.thread = 0; p.thread < f->threads; p.thread++)
        for (p.reg = 0; p.reg < f->registers; p.reg++)
            for (p.element = 0; p.element < f->elements; p.element++) {
                char *cell;
                if (!ptxgen_emulator_fragment_place(f, &p) || p.row >= f->rows ||
                    p.column >= f->columns)
                    continue;
                cell = d->cells[p.row * d->columns + p.column];
                snprintf(cell, sizeof *d->cells, "T%u:%c%u", p.thread, f->matrix, p.reg);
                if (f->elements > 1)
                    snprintf(cell + strlen(cell), sizeof *d->cells - strlen(cell), ".%u",
                             p.element);
            }
}

/* A thread a row: in each of its registers "row,column" of the first element to the last. */
static void by_thread(const fragment *f, drawing *d)
{
    char prefix[2] = {f->matrix, 0};
    drawing_make(d, f->threads, f->registers);
    name_columns(d, prefix);
    for (uint32_t t = 0; t < f->threads; t++) {
        snprintf(d->row_names[t], sizeof *d->row_names, "T%u", t);
        for (uint32_t r = 0; r < f->registers; r++) {
            ptxgen_emulator_place first = {t, r, 0, 0, 0}, last = {t, r, f->elements - 1, 0, 0};
            char *cell = d->cells[t * d->columns + r];
            ptxgen_emulator_fragment_place(f, &first);
            ptxgen_emulator_fragment_place(f, &last);
            if (first.row != last.row)
                snprintf(cell, sizeof *d->cells, "%u-%u,%u", first.row, last.row, first.column);
            else if (first.column != last.column)
                snprintf(cell, sizeof *d->cells, "%u,%u-%u", first.row, first.column, last.column);
            else
                snprintf(cell, sizeof *d->cells, "%u,%u", first.row, first.column);
        }
    }
}

static const char *kind_of_rows(const fragment *f)
{
    return strncmp(f->name, "tcgen05", 7) == 0 ? "lanes x columns of tensor memory"
                                               : "rows x columns";
}

ptxgen_status draw_fragment(const cli_args *args, drawing *d, ptxgen_error *err)
{
    const char *name = subject_of(args), *by = draw_word(args, "by");
    fragment f = {.size = sizeof f};
    if (!name)
        return list_fragments(d);
    const ptxgen_status status = choose(args, name, &f, err);
    if (status != PTXGEN_OK)
        return status;
    if (by && strcmp(by, "element") != 0 && strcmp(by, "thread") != 0)
        return cli_fail(err, PTXGEN_EINVAL, "by=%.40s; there are element and thread", by);
    const bool threads = by && strcmp(by, "thread") == 0;
    (threads ? by_thread : by_element)(&f, d);
    d->title =
        cli_format("%s, matrix %c: %u x %u elements of %u bits in %u registers of %u threads",
                   f.name, f.matrix, f.rows, f.columns, f.bits, f.registers, f.threads);
    d->notes = cli_format(
        "%s; %s%s\n", kind_of_rows(&f),
        threads ? "across: registers of a thread; a cell is row,column of what a register holds"
                : "T12:a1.0 is thread 12, register 1 of the instruction's, element 0 from its low "
                  "bits",
        strncmp(f.name, "wmma", 4) == 0 ? "\nthe ISA leaves wmma's layout open: this is the "
                                          "emulator's"
        : strstr(f.name, "16x32bx2")    ? "\nthe second half of the columns is where the "
                                          "instruction's immediate says"
                                        : "");
    return PTXGEN_OK;
}
