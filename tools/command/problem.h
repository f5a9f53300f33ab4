/* A problem of a family from words: extents of its operands by name ("m=64 n=96 k=64"), the other
 * words are the family's parameters; its operands are dense and hold random values. */
#ifndef PTXGEN_COMMAND_PROBLEM_H
#define PTXGEN_COMMAND_PROBLEM_H

#include "command/command.h"

#include "ptxgen/call.h"

enum { PROBLEM_MAX_OPERANDS = 24, PROBLEM_MAX_SYMBOLS = 12, PROBLEM_RANK = 4 };

typedef struct cli_problem {
    const char *family; /* static */
    size_t place;       /* of the family */
    char *words;        /* owned: the family's parameters, "" or "name=value ..." */
    struct {
        const char *name, *usual; /* usual: the one that it is when it is not given; "" */
        int64_t value;            /* below 0: not given, or no number */
    } symbols[PROBLEM_MAX_SYMBOLS];
    size_t symbol_count, count; /* count: of operands; those of rank 0 are left out */
    ptxgen_tensor tensors[PROBLEM_MAX_OPERANDS];
    int64_t shape[PROBLEM_MAX_OPERANDS][PROBLEM_RANK], stride[PROBLEM_MAX_OPERANDS][PROBLEM_RANK];
} cli_problem;

/* words[0..count) after the family's name; EINVAL when an extent is missing or no number. Free
 * it with cli_problem_free in any case. Tensors have no data yet. */
ptxgen_status cli_problem_read(cli_problem *p, size_t family, char *const *words, size_t count,
                               ptxgen_error *err);
void cli_problem_free(cli_problem *p);
/* Do the words name an extent that is no parameter, or all extents? Then they are a problem's, else
 * a kernel's. */
bool cli_problem_is_one(size_t family, char *const *words, size_t count);

/* Bytes of operand i; 0: it is left out, or empty. And its values: random numbers between 1/16 and
 * 1 of either sign, rows that exist for an index; of bytes, what their format takes. */
size_t cli_problem_bytes(const cli_problem *p, size_t i);
void cli_problem_values(const cli_problem *p, size_t i, void *to);

#endif
