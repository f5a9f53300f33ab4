/* A family's parameter table and the texts made of it.
 *
 * A key is a plain struct whose fields are all int64_t, so it has no padding and can be hashed
 * and compared as bytes. A row of the table says which field it is, which words or numbers it
 * takes, and what it means; the same rows drive command lines, the canonical text that cache
 * keys are made of, help and test names. Every family's first parameter is its architecture
 * (PG_PARAM_ARCH). */
#ifndef PG_PARAMS_H
#define PG_PARAMS_H

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

typedef enum pg_param_kind {
    PG_PARAM_ARCH,
    PG_PARAM_CHOICE,
    PG_PARAM_INTEGER,
    PG_PARAM_FUNCTION /* an integer: the number of a user function */
} pg_param_kind;

/* Where the value of a parameter comes from when operands are known and it is not given. */
typedef enum pg_param_from {
    PG_FROM_DEFAULT, /* the table */
    PG_FROM_DTYPE,   /* the type of operand `source`: its place in the operand's list of types */
    PG_FROM_SYMBOL,  /* the extent `source` of the operands */
    PG_FROM_HOOK     /* the family's `bind` */
} pg_param_from;

typedef struct pg_param {
    const char *name;
    pg_param_kind kind;
    size_t offset; /* of the int64_t field in the key */
    /* CHOICE: NULL-terminated; the value is the word's place in the list */
    const char *const *choices;
    const char *zero_words
        [2]; /* INTEGER: the word that stands for 0 ("auto", "dynamic"), its default; NULL */
    int64_t min, max; /* INTEGER: bounds of the numbers that may be written */
    int64_t def;      /* CHOICE: value when not named */
    const char *doc;
    pg_param_from from;
    uint8_t source;   /* an operand or a symbol */
    bool zero_serves; /* a kernel with 0 ("dynamic", "no") serves every value */
    /* A kernel with a smaller value serves too: what the operands say is the most. */
    bool less_serves;
} pg_param;

typedef struct pg_param_table {
    const pg_param *rows;
    size_t count;
    size_t key_size; /* bytes of the key struct */
} pg_param_table;

enum { PG_KEY_MAX_BYTES = 512 };

/* Sets every field to its default and the architecture to `arch`. */
void pg_params_default(const pg_param_table *, void *key, int64_t arch);
/* Sets the fields that `text` ("n=512 dtype=bf16") names. EINVAL: unknown name or word (with the
 * nearest known one), a number out of bounds, a name given twice. */
ptxgen_status pg_params_parse(const pg_param_table *, const char *text, void *key,
                              ptxgen_error *err);
/* The same, and which rows were given: bit i of *given is row i. */
ptxgen_status pg_params_parse_given(const pg_param_table *, const char *text, void *key,
                                    uint64_t *given, ptxgen_error *err);
/* EINVAL: a choice or a number of the key, not 0, that a text could not give. */
ptxgen_status pg_params_check(const pg_param_table *, const void *key, ptxgen_error *err);
/* "arch=sm_90 dtype=bf16 ...": every parameter, in table order. */
void pg_params_print(const pg_param_table *, const void *key, pg_buf *out);
/* One value as its word or number. */
void pg_param_print_value(const pg_param *, int64_t value, pg_buf *out);

#endif
