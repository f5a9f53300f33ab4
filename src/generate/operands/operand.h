/* The operand table: what a family says once about each array that its kernels read or write.
 *
 * A row names the operand, says what the kernel does with it, which element types it may have,
 * and its extents as symbols that operands share ("rows", "n", "k"). Everything that meets
 * operands reads this table: argument checks and their sentences, the kernel's key, ptxgen_call
 * and the typed calls, `ptxgen run`, the plain C answer, the tests that every family gets. */
#ifndef PG_OPERAND_H
#define PG_OPERAND_H

#include "ptxgen/ptxgen.h"

struct pg_problem;

enum { PG_MAX_RANK = 4, PG_MAX_OPERANDS = 24, PG_MAX_SYMBOLS = 10 };

typedef enum pg_role {
    PG_IN,
    PG_OUT,       /* written only: what it holds before means nothing */
    PG_INOUT,     /* read and written */
    PG_INDEX,     /* whole numbers that name rows of another operand */
    PG_SCALAR,    /* one number in host memory, read during the call; rank 0 */
    PG_WORKSPACE, /* bytes that mean nothing before and after; always optional */
} pg_role;

/* A run of adjacent elements: which dimension's stride must be 1. */
typedef enum pg_inner {
    PG_INNER_LAST,  /* the last one */
    PG_INNER_EITHER /* of the last two dimensions one: the view says which (pg_view.transposed) */
} pg_inner;

/* An extent or size that operands share. */
typedef struct pg_symbol {
    const char *name;
    int64_t min, max;
    const char *doc;
    /* At least so many, by the other extents and the element types; NULL: min alone. What to do
     * when there are fewer. */
    int64_t (*least)(const struct pg_problem *);
    const char *remedy;
    /* 1 + the symbol that it must equal while operand `unless` (1 + it) is left out; 0: none. */
    uint8_t equals, unless;
} pg_symbol;

typedef struct pg_operand {
    const char *name;
    pg_role role;
    bool optional;
    uint8_t rank;                 /* dimensions */
    uint8_t extents[PG_MAX_RANK]; /* symbols, outermost first */
    /* So many leading dimensions may be left out: an input without them, or with a stride of 0, is
     * the same for all of them. */
    uint8_t leading;
    /* 1 + an operand that says which rows of a result are written; 0. While it is there the leading
     * dimensions of the result may be left out too: its rows are those of all matrices, one behind
     * the other. */
    uint8_t rows_by;
    const ptxgen_dtype *dtypes; /* ends with PTXGEN_DTYPE_NONE */
    uint8_t same_dtype_as; /* 1 + the operand (an earlier one) whose element type this one has; 0 */
    pg_inner inner;
    bool broadcast; /* rows may all be one row: a stride of 0 is served */
    /* An input that is spread over the others' extents: any dimension may have extent 1 or stride
     * 0, leading ones may be left out. */
    bool spread;
    /* 1 + the place in the key of a choice: if that is not 0, the last dimension has half the
     * extent. */
    uint16_t halved_by;
    uint16_t belongs_to; /* 1 + the place in the key of what it means nothing without; 0 */
    bool dense;          /* rows follow each other without a gap */
    uint8_t alignment; /* bytes, of the base and of every stride but the inner; 0: the element's */
    uint8_t row_multiple;  /* bytes: a row's length is a multiple of it; 0: any length */
    const char *needed_by; /* what needs the alignment: "tensor-map loads" */
    uint8_t same_as;       /* OUT: 1 + the operand that it may be in place of; 0: none */
    uint8_t indexes;       /* INDEX: 1 + the symbol whose rows it names */
    bool zero_if_absent;   /* `ptxgen run` makes zeros of it when no file is named */
    double scalar;         /* SCALAR: the value of one that is left out */
    const char *doc;
} pg_operand;

typedef struct pg_operand_table {
    const pg_operand *rows;
    size_t count;
    const pg_symbol *symbols;
    size_t symbol_count;
} pg_operand_table;

static inline bool pg_operand_is_written(const pg_operand *o)
{
    return o->role == PG_OUT || o->role == PG_INOUT || o->role == PG_WORKSPACE;
}

#endif
