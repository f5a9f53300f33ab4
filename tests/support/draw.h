/* Problems drawn from a family's operand table: legal ones, of any shape, layout and element
 * type that the table allows, with values in host memory. What a new family gets tested with
 * before anybody writes a test. */
#ifndef DRAW_H
#define DRAW_H

#include "test.h"

#include "generate/family.h"

typedef struct drawn {
    const pg_family *family;
    char params[512]; /* tuning parameters; "" most often */
    size_t count;
    ptxgen_tensor tensors[PG_MAX_OPERANDS];
    int64_t shapes[PG_MAX_OPERANDS][PG_MAX_RANK], strides[PG_MAX_OPERANDS][PG_MAX_RANK];
    char *memory[PG_MAX_OPERANDS]; /* with a margin on both sides of the operand; NULL: in place */
    size_t bytes[PG_MAX_OPERANDS];
    uint8_t
        in_place_of[PG_MAX_OPERANDS]; /* 1 + the operand whose memory a result has; 0: its own */
    int64_t symbols[PG_MAX_SYMBOLS];
} drawn;

typedef struct draw_options {
    uint64_t seed;
    bool plain;    /* dense, small, nothing left out, no tuning: what refusals are made from */
    int64_t most;  /* extents up to this; 0: 260 */
    bool no_zeros; /* no extent is 0 */
} draw_options;

/* The next number of a sequence. */
uint64_t draw_random(uint64_t *state);
void draw_problem(drawn *d, const pg_family *family, const draw_options *options);
/* Gives the problem the workspace that the call asks for; false: it asks for none, or is not
 * served. */
bool draw_workspace(ptxgen *ctx, drawn *d);
void draw_free(drawn *d);
/* The same problem with memory of its own. */
void draw_copy(drawn *to, const drawn *from);
/* Everything outside of the results' elements is as it was. */
bool draw_untouched(const drawn *before, const drawn *after, const char **operand);
/* "scatter_add schedule=bulk: out f32 [3, 8] stride 12, ..." for messages. */
const char *draw_text(const drawn *d);
/* A plain problem that the context's device serves, with more than one row and column in every
 * tensor, so that every stride means something. False: none was found. */
bool draw_served(ptxgen *ctx, const pg_family *f, drawn *out);

#endif
