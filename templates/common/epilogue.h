/* What a matrix multiplication does to its sums before they are stored. One order; a step that is
 * absent leaves no trace in the kernel:
 *
 *     value  = sum
 *     value *= alpha
 *     value *= row_scale[i], then col_scale[j]
 *     value += residual[i, j], then bias
 *     aux[i, j] = value                        rounded to aux's type
 *     value  = activation(value)               (activation.h)
 *     value  = value[i, 2j] * z[i, 2j + 1]     gate: z is the element before its activation
 *     value  = function(value, in0, ..., i, j) a user function; with an aux it gives two values,
 *                                              and aux is the second one
 *     amax   = max(amax, |value|)
 *     D[i, j] = value * d_scale                rounded to D's type; of block-scaled results
 *                                              divided by the block's scale first
 *
 * Block-scaled results (d_scales): 32 or 16 adjacent elements of a row of D share a scale, by which
 * none of them is out of range. D is then e4m3 or e2m1, and the scales are packed as matmul_scaled
 * reads them:
 *
 *     mxfp8, mxfp4   ue8m0, 32 elements: the least power of two by which the largest of them is at
 *                    most 448 (6)
 *     nvfp4          e4m3, 16 elements: the largest / 6, rounded
 *
 * Inputs are *spread* over D: a scalar, a row (a value for each column), a column or a matrix, by
 * the strides that they are given with.
 *
 * Emitters work on *runs*: a few adjacent elements of one row of D in registers. The caller says
 * where the elements lie in D (point, row), and which exist; loads of inputs are vectors where
 * the run may be stored as one, else an element at a time. */
#ifndef PG_TEMPLATES_EPILOGUE_H
#define PG_TEMPLATES_EPILOGUE_H

#include "common/activation.h"
#include "device/launch.h"
#include "generate/dtype.h"
#include "generate/family.h"

#include <math.h>

typedef enum pg_spread {
    PG_SPREAD_NONE,
    PG_SPREAD_SCALAR,
    PG_SPREAD_ROW,    /* [n]: a value for each column */
    PG_SPREAD_COLUMN, /* [m, 1]: a value for each row */
    PG_SPREAD_MATRIX,
    PG_SPREAD_NEAR /* a matrix that the kernel brings to shared memory: pg_run.near */
} pg_spread;

typedef struct pg_side {
    pg_spread spread;
    ptxgen_dtype dtype;
} pg_side;

enum {
    PG_SIDE_ROW_SCALE,
    PG_SIDE_COL_SCALE,
    PG_SIDE_RESIDUAL,
    PG_SIDE_BIAS,
    PG_SIDE_IN0, /* of the user function, and so on */
    PG_SIDE_D_SCALE = PG_SIDE_IN0 + 4,
    PG_SIDES,
    PG_SIDE_INPUTS = PG_SIDE_D_SCALE - PG_SIDE_IN0
};

/* The part of a family's key that says the steps. Sides: pg_side_words. */
typedef struct pg_epilogue_key {
    int64_t activation;        /* pg_activation */
    int64_t function;          /* number of a user function; 0: none */
    int64_t alpha, gate, amax; /* places in {no, yes} */
    int64_t aux;               /* place in {none, f32, f16, bf16} */
    int64_t side[PG_SIDES];
    int64_t d_scales; /* place in {none, ue8m0, e4m3} */
} pg_epilogue_key;

/* Places of the operands, from a family's first one of these on. */
enum {
    PG_STEP_SIDE, /* in the order above */
    PG_STEP_AUX = PG_STEP_SIDE + PG_SIDES,
    PG_STEP_LOW,
    PG_STEP_HIGH,
    PG_STEP_AMAX,
    PG_STEP_D_SCALES,
    PG_STEP_ALPHA /* of families that have none of their own */
};

typedef struct pg_epilogue {
    pg_side side[PG_SIDES];
    pg_activation activation;
    bool alpha, gate, amax, function;
    ptxgen_dtype aux; /* NONE: no aux */
    bool batched;     /* aux has a matrix for each of %batch */
    ptxgen_dtype out;
    ptxgen_dtype d_scales; /* of blocks of D; NONE: it has none */
} pg_epilogue;

/* Element types of inputs and aux; of D. */
#define PG_SIDE_TYPES(X)        PG_DTYPE_F32(X) PG_DTYPE_F16(X) PG_DTYPE_BF16(X)
#define PG_RESULT_TYPES(X)      PG_SIDE_TYPES(X) PG_DTYPE_E4M3(X) PG_DTYPE_E5M2(X) PG_DTYPE_E2M1(X)
#define PG_BLOCK_SCALE_TYPES(X) PG_DTYPE_UE8M0(X) PG_DTYPE_E4M3(X)
extern const ptxgen_dtype pg_side_dtypes[], pg_f32_dtypes[], pg_result_dtypes[];
extern const char *const pg_side_dtype_words[], *const pg_result_words[];
extern const char *const pg_side_words[], *const pg_aux_words[], *const pg_block_scale_words[];
extern const ptxgen_dtype pg_block_scale_dtypes[];

pg_epilogue pg_epilogue_of(const pg_epilogue_key *k, ptxgen_dtype out);
/* Is there anything to do but rounding? */
bool pg_epilogue_has_steps(const pg_epilogue *e);
static inline bool pg_epilogue_two_values(const pg_epilogue *e)
{
    return e->function && e->aux && !e->gate;
}
int pg_epilogue_inputs(const pg_epilogue *e);
/* Are there inputs that are matrices in global memory? */
bool pg_epilogue_has_matrices(const pg_epilogue *e);
/* Are there inputs or an aux whose elements lie in rows? */
bool pg_epilogue_has_rows(const pg_epilogue *e);

/* ---- tables ---- */

#define PG_EPILOGUE_SIDE_PARAM(KEY, name_, place, words, doc_)                                     \
    {                                                                                              \
        name_, PG_PARAM_CHOICE, offsetof(KEY, steps.side) + (place) * sizeof(int64_t), words,      \
            .doc = doc_, .from = PG_FROM_HOOK                                                      \
    }

/* Rows of a parameter table whose key has these steps as its member `steps`. */
#define PG_EPILOGUE_PARAMS(KEY)                                                                    \
    {"epilogue", PG_PARAM_CHOICE, offsetof(KEY, steps.activation), pg_activation_words,            \
     .doc = "the activation of each element, after scales, residual and bias"},                    \
        {"function",                                                                               \
         PG_PARAM_FUNCTION,                                                                        \
         offsetof(KEY, steps.function),                                                            \
         .zero_words = {"none"},                                                                   \
         .min = 1,                                                                                 \
         .max = INT64_MAX,                                                                         \
         .doc = "a user function of each element, after that; the command takes @FILE.cu or "      \
                "@FILE.ptx"},                                                                      \
        {"gate", PG_PARAM_CHOICE, offsetof(KEY, steps.gate), pg_no_yes_words,                      \
         .doc = "yes: of two columns, the activation of the even one times the odd one: D has "    \
                "half the columns"},                                                               \
        {"with_amax",                                                                              \
         PG_PARAM_CHOICE,                                                                          \
         offsetof(KEY, steps.amax),                                                                \
         pg_no_yes_words,                                                                          \
         .doc = "yes: the largest |element| before rounding is kept",                              \
         .from = PG_FROM_HOOK},                                                                    \
        {"with_aux",                                                                               \
         PG_PARAM_CHOICE,                                                                          \
         offsetof(KEY, steps.aux),                                                                 \
         pg_aux_words,                                                                             \
         .doc = "element type of a second result: before the activation, or of the function",      \
         .from = PG_FROM_HOOK},                                                                    \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_row_scale", PG_SIDE_ROW_SCALE, pg_no_yes_words,          \
                               "rows of the sum are scaled"),                                      \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_col_scale", PG_SIDE_COL_SCALE, pg_no_yes_words,          \
                               "its columns are scaled"),                                          \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_residual", PG_SIDE_RESIDUAL, pg_side_words,              \
                               "added after the scales"),                                          \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_bias", PG_SIDE_BIAS, pg_side_words, "added after that"), \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_in0", PG_SIDE_IN0, pg_side_words,                        \
                               "input of the user function"),                                      \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_in1", PG_SIDE_IN0 + 1, pg_side_words, "its second"),     \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_in2", PG_SIDE_IN0 + 2, pg_side_words, "its third"),      \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_in3", PG_SIDE_IN0 + 3, pg_side_words, "its fourth"),     \
        PG_EPILOGUE_SIDE_PARAM(KEY, "with_d_scale", PG_SIDE_D_SCALE, pg_no_yes_words,              \
                               "factor of D before rounding"),                                     \
    {                                                                                              \
        "with_d_scales", PG_PARAM_CHOICE, offsetof(KEY, steps.d_scales), pg_block_scale_words,     \
            .doc = "element type of the scales of D's blocks: mxfp8 and mxfp4 have ue8m0, nvfp4 "  \
                   "e4m3",                                                                         \
            .from = PG_FROM_HOOK                                                                   \
    }

/* Of a family with no alpha of its own, behind the others. */
#define PG_EPILOGUE_ALPHA_PARAM(KEY)                                                               \
    {                                                                                              \
        "with_alpha", PG_PARAM_CHOICE, offsetof(KEY, steps.alpha), pg_no_yes_words,                \
            .doc = "yes: the sum is multiplied by the scalar alpha", .from = PG_FROM_HOOK          \
    }
#define PG_EPILOGUE_ALPHA_OPERAND(FIRST)                                                           \
    PG_EPILOGUE_SCALAR((FIRST) + PG_STEP_ALPHA, "alpha", 1, 0, "a factor of the sum")

extern const char *const pg_no_yes_words[];

#define PG_EPILOGUE_SPREAD(place, name_, M, N, owner, doc_)                                        \
    [place] = {name_,                                                                              \
               PG_IN,                                                                              \
               .optional = true,                                                                   \
               .rank = 2,                                                                          \
               .extents = {M, N},                                                                  \
               .leading = 2,                                                                       \
               .spread = true,                                                                     \
               .belongs_to = owner,                                                                \
               .dtypes = pg_side_dtypes,                                                           \
               .doc = doc_}
#define PG_EPILOGUE_VECTOR(place, name_, S, doc_)                                                  \
    [place] = {name_,      PG_IN,          .optional = true,                                       \
               .rank = 1,  .extents = {S}, .dtypes = pg_f32_dtypes,                                \
               .doc = doc_}
#define PG_EPILOGUE_SCALAR(place, name_, value, owner, doc_)                                       \
    [place] = {name_,           PG_SCALAR,           .optional = true, .dtypes = pg_f32_dtypes,    \
               .scalar = value, .belongs_to = owner, .doc = doc_}

/* Rows of an operand table, from place FIRST on; M and N are the symbols of D's extents,
 * SHAPE(M, N) what a row says of D's rank and extents, BYTES the symbol of its packed scales. */
#define PG_ONE_MATRIX(M, N) .rank = 2, .extents = {M, N}
#define PG_EPILOGUE_OPERANDS(KEY, FIRST, M, N, SHAPE, BYTES)                                       \
    PG_EPILOGUE_VECTOR((FIRST) + PG_SIDE_ROW_SCALE, "row_scale", M,                                \
                       "a factor of each row of the sum"),                                         \
        PG_EPILOGUE_VECTOR((FIRST) + PG_SIDE_COL_SCALE, "col_scale", N,                            \
                           "a factor of each column"),                                             \
        PG_EPILOGUE_SPREAD((FIRST) + PG_SIDE_RESIDUAL, "residual", M, N, 0,                        \
                           "added after that: [m, n], [n], [m, 1] or one number"),                 \
        PG_EPILOGUE_SPREAD((FIRST) + PG_SIDE_BIAS, "bias", M, N, 0, "added after that, likewise"), \
        PG_EPILOGUE_SPREAD((FIRST) + PG_SIDE_IN0, "in0", M, N, 1 + offsetof(KEY, steps.function),  \
                           "first input of the user function, likewise"),                          \
        PG_EPILOGUE_SPREAD((FIRST) + PG_SIDE_IN0 + 1, "in1", M, N,                                 \
                           1 + offsetof(KEY, steps.function), "its second"),                       \
        PG_EPILOGUE_SPREAD((FIRST) + PG_SIDE_IN0 + 2, "in2", M, N,                                 \
                           1 + offsetof(KEY, steps.function), "its third"),                        \
        PG_EPILOGUE_SPREAD((FIRST) + PG_SIDE_IN0 + 3, "in3", M, N,                                 \
                           1 + offsetof(KEY, steps.function), "its fourth"),                       \
        [(FIRST) +                                                                                 \
            PG_SIDE_D_SCALE] = {"d_scale", PG_IN, .optional = true, .dtypes = pg_f32_dtypes,       \
                                .doc = "in device memory: a factor of D before rounding"},         \
            [(FIRST) + PG_STEP_AUX] = {"aux",                                                      \
                                       PG_OUT,                                                     \
                                       .optional = true,                                           \
                                       SHAPE(M, N),                                                \
                                       .dtypes = pg_side_dtypes,                                   \
                                       .doc =                                                      \
                                           "what D is before the activation (and the gate); the "  \
                                           "second value of a user function"},                     \
            PG_EPILOGUE_SCALAR((FIRST) + PG_STEP_LOW, "low", -HUGE_VAL,                            \
                               1 + offsetof(KEY, steps.activation), "lower bound of clamp"),       \
            PG_EPILOGUE_SCALAR((FIRST) + PG_STEP_HIGH, "high", HUGE_VAL,                           \
                               1 + offsetof(KEY, steps.activation), "upper bound of clamp"),       \
            [(FIRST) +                                                                             \
                PG_STEP_AMAX] = {"amax", PG_INOUT, .optional = true, .dtypes = pg_f32_dtypes,      \
                                 .doc = "in device memory: becomes the largest |element| of "      \
                                        "D before d_scale, if that is larger"},                    \
            [(FIRST) +                                                                             \
                PG_STEP_D_SCALES] = {"d_scales",                                                   \
                                     PG_OUT,                                                       \
                                     .optional = true,                                             \
                                     .rank = 1,                                                    \
                                     .extents = {BYTES},                                           \
                                     .dtypes = pg_block_scale_dtypes,                              \
                                     .belongs_to = 1 + offsetof(KEY, steps.d_scales),              \
                                     .doc = "scales of D's blocks (D of e4m3 or e2m1), packed as " \
                                            "matmul_scaled reads them"}

/* ---- host side (epilogue_host.c) ---- */

/* The steps that the operands say, from place `first` of the problem's on. */
void pg_epilogue_bind(const pg_problem *p, size_t first, pg_epilogue_key *k);
/* A symbol's `least`: bytes that the scales of D's blocks take, D at place d. */
int64_t pg_epilogue_scale_bytes(const pg_problem *p, size_t first, size_t d);
/* Elements of a block of D that share a scale. */
int pg_epilogue_block(const pg_epilogue *e);
/* EUNSUPPORTED for kernels that store no blocks. */
ptxgen_status pg_epilogue_refuse_blocks(const pg_epilogue *e, const char *arch, ptxgen_error *err);
/* Rows of D are whole blocks, which are stored by vectors. */
ptxgen_status pg_epilogue_check_blocks(const pg_problem *p, size_t d, const pg_epilogue *e,
                                       ptxgen_error *err);
/* What does not fit together: EUNSUPPORTED or EINVAL. */
ptxgen_status pg_epilogue_check(const pg_epilogue *e, ptxgen_error *err);
/* The same of a call: inputs without a function, functions without all inputs before the last. */
ptxgen_status pg_epilogue_limits(const pg_problem *p, size_t first, const pg_epilogue *e,
                                 ptxgen_error *err);
/* Parameters of a kernel with such steps, at the end of its list. Strides are bytes from row to
 * row; input_vectors_: pg_epilogue_takes_vectors. */
#define PG_EPILOGUE_LIST(X)                                                                        \
    X(row_scale_, POINTER)                                                                         \
    X(row_scale_stride_, U64)                                                                      \
    X(col_scale_, POINTER)                                                                         \
    X(residual_, POINTER)                                                                          \
    X(residual_stride_, U64)                                                                       \
    X(bias_, POINTER)                                                                              \
    X(bias_stride_, U64)                                                                           \
    X(in0_, POINTER)                                                                               \
    X(in0_stride_, U64)                                                                            \
    X(in1_, POINTER)                                                                               \
    X(in1_stride_, U64)                                                                            \
    X(in2_, POINTER)                                                                               \
    X(in2_stride_, U64)                                                                            \
    X(in3_, POINTER)                                                                               \
    X(in3_stride_, U64)                                                                            \
    X(d_scale_, POINTER)                                                                           \
    X(aux_, POINTER)                                                                               \
    X(aux_stride_, U64)                                                                            \
    X(factor_, U32)                                                                                \
    X(low_, U32)                                                                                   \
    X(high_, U32)                                                                                  \
    X(amax_, POINTER)                                                                              \
    X(input_vectors_, U32)                                                                         \
    X(aux_batch_, U64)                                                                             \
    X(d_scales_, POINTER)
/* How D leaves a tcgen05 kernel, as the parameter d_store says: 0 is auto. */
enum { PG_D_ROWS = 1, PG_D_TENSOR = 2 };
#define PG_D_STORE_WORDS                                                                           \
    {                                                                                              \
        "auto", "rows", "tensor", NULL                                                             \
    }
#define PG_D_STORE_DOC                                                                             \
    "how D leaves: rows, a thread its row; tensor, by sub-tiles in shared memory and a tensor "    \
    "map, "                                                                                        \
    "for rows of D at multiples of 16 bytes; auto: rows, in a call tensor where D is so"

/* Those that the kernel lacks, as bits from the first one on. */
uint64_t pg_epilogue_absent(const pg_epilogue *e);
/* All of them: what no kernel has that leaves the steps to another one. */
extern const uint64_t pg_epilogue_all_absent;
/* Sets them from place `at` of the list on. */
void pg_epilogue_set(const pg_problem *p, size_t first, const pg_epilogue *e, pg_launch *l, int at);
/* Whether inputs and aux can be accessed by vectors of four elements wherever D can. */
bool pg_epilogue_takes_vectors(const pg_problem *p, size_t first, const pg_epilogue *e);

/* The seam of a family with such steps: the signature by how many inputs and values there are. */
const char *pg_epilogue_signature(const pg_epilogue *e);
const char *pg_epilogue_types(const pg_epilogue *e);

/* ---- the plain C answer (epilogue.c) ---- */

/* Rows first .. first + rows of D, from their sums in double (n a row, which it changes). */
typedef struct pg_answer_rows {
    const pg_problem *problem;
    size_t first_operand, d; /* places */
    const pg_epilogue *steps;
    int64_t n, first, rows;
    double *sums;
    double *off; /* what each sum may be off by (becomes another thing); NULL: no bounds */
} pg_answer_rows;
ptxgen_status pg_epilogue_answer(const pg_answer_rows *r, ptxgen_error *err);

/* ---- emitters (epilogue_steps.ptxc, epilogue_store.ptxc) ---- */

/* Before the entry: the declaration of the user function. */
void pg_epilogue_extern(pg_emit *E, const pg_epilogue *e);
/* In the scope of all that follows: registers, for `slots` rows at a time; then scalars. */
void pg_epilogue_begin(pg_emit *E, const pg_epilogue *e, int slots);
/* The place in D that runs are counted from: registers (.b32). Pointers are made anew. */
void pg_epilogue_point(pg_emit *E, const pg_epilogue *e, const char *row, const char *column);
/* Fetches a part of a row of every matrix to L2: `columns` columns from `column` on, as far as the
 * column is below `end` (registers), if %exists. */
typedef struct pg_row_part {
    const char *row, *column, *end;
    int columns;
} pg_row_part;
void pg_epilogue_prefetch(pg_emit *E, const pg_epilogue *e, const pg_row_part *part);
/* Moves the place on by `columns`, slot 0 with it. */
void pg_epilogue_advance(pg_emit *E, const pg_epilogue *e, int columns);
/* Slot `slot` is the row `offset` rows on; it exists if the predicate says so. */
void pg_epilogue_row(pg_emit *E, const pg_epilogue *e, int slot, int offset, const char *exists);

/* Adjacent elements of a row in the registers `values`FIRST.. (.f32 or .b32), `column` columns on.
 * vectors: all of them exist if %exists, and a vector may be accessed; else element i exists if
 * %exists<i>. */
typedef struct pg_run {
    const char *values;
    int first, count;
    int slot, row, column; /* row: the slot's offset */
    bool vectors;
    int columns; /* 1 + the set that pg_epilogue_columns loaded for these columns; 0: none */
    /* Of the input that is near: the address of its elements, adjacent, aligned to all of them,
     * zeros where D ends. */
    const char *near;
    int near_bytes;
} pg_run;
/* In a scope of the caller's: what inputs that are rows have for runs of `count` columns, to be
 * loaded once for all rows, to one of several sets, and ahead. */
void pg_epilogue_declare_columns(pg_emit *E, const pg_epilogue *e, int count, int sets);
/* Loads the set of `r`; %exists and %exists<i> say which columns exist. */
void pg_epilogue_columns(pg_emit *E, const pg_epilogue *e, const pg_run *r);
/* All steps but rounding; with a gate count / 2 values are left in the first registers. */
void pg_epilogue_run(pg_emit *E, const pg_epilogue *e, const pg_run *r);
/* Rounds values to `dtype` and stores them at [address + bytes]. */
typedef struct pg_store {
    ptxgen_dtype dtype;
    const char *address;
    int bytes;
    int every; /* value i exists if element every * i of the run does */
} pg_store;
void pg_epilogue_store(pg_emit *E, const pg_run *r, const pg_store *s);
/* What was found in all runs leaves the warp, all of whose lanes are here unless `apart`. */
void pg_epilogue_end(pg_emit *E, const pg_epilogue *e, bool apart);

#endif
