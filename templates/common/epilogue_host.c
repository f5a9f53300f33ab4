/* From a call's operands to the steps of an epilogue and the arguments of its kernel. */
#include "common/epilogue.h"

#include "base/error.h"

#include <string.h>

enum { SIDE_DTYPES = 3 };

const char *const pg_side_words[] = {"none",        "scalar_f32",  "scalar_f16", "scalar_bf16",
                                     "row_f32",     "row_f16",     "row_bf16",   "column_f32",
                                     "column_f16",  "column_bf16", "matrix_f32", "matrix_f16",
                                     "matrix_bf16", NULL};
const char *const pg_aux_words[] = {"none", PG_SIDE_TYPES(PG_DTYPE_WORD) NULL};
const char *const pg_no_yes_words[] = {"no", "yes", NULL};
const ptxgen_dtype pg_side_dtypes[] = PG_DTYPE_LIST(PG_SIDE_TYPES);
const char *const pg_side_dtype_words[] = PG_DTYPE_WORDS(PG_SIDE_TYPES);
const ptxgen_dtype pg_f32_dtypes[] = PG_DTYPE_LIST(PG_DTYPE_F32);
const char *const pg_block_scale_words[] = {"none", PG_BLOCK_SCALE_TYPES(PG_DTYPE_WORD) NULL};
const ptxgen_dtype pg_block_scale_dtypes[] = PG_DTYPE_LIST(PG_BLOCK_SCALE_TYPES);
const ptxgen_dtype pg_result_dtypes[] = PG_DTYPE_LIST(PG_RESULT_TYPES);
const char *const pg_result_words[] = PG_DTYPE_WORDS(PG_RESULT_TYPES);

/* The place of a type in the list above, from 0. */
static int64_t place_of(ptxgen_dtype dtype)
{
    int64_t place = 0;
    while (pg_side_dtypes[place] != dtype)
        place++;
    return place;
}

/* ---- steps ---- */

static pg_side side_of(int64_t value)
{
    if (!value)
        return (pg_side){PG_SPREAD_NONE, PTXGEN_DTYPE_NONE};
    return (pg_side){(pg_spread)(1 + (value - 1) / SIDE_DTYPES),
                     pg_side_dtypes[(value - 1) % SIDE_DTYPES]};
}

/* Sides of one kind, which a key says yes or no to. */
static const struct {
    int place;
    pg_spread spread;
} scales[] = {{PG_SIDE_ROW_SCALE, PG_SPREAD_COLUMN},
              {PG_SIDE_COL_SCALE, PG_SPREAD_ROW},
              {PG_SIDE_D_SCALE, PG_SPREAD_SCALAR}};

pg_epilogue pg_epilogue_of(const pg_epilogue_key *k, ptxgen_dtype out)
{
    pg_epilogue e = {.activation = (pg_activation)k->activation,
                     .alpha = k->alpha != 0,
                     .gate = k->gate != 0,
                     .amax = k->amax != 0,
                     .function = k->function != 0,
                     .aux = k->aux ? pg_side_dtypes[k->aux - 1] : PTXGEN_DTYPE_NONE,
                     .out = out,
                     .d_scales =
                         k->d_scales ? pg_block_scale_dtypes[k->d_scales - 1] : PTXGEN_DTYPE_NONE};
    for (int i = 0; i < PG_SIDES; i++)
        e.side[i] = side_of(k->side[i]);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (k->side[scales[i].place])
            e.side[scales[i].place] = (pg_side){scales[i].spread, PTXGEN_F32};
    return e;
}

bool pg_epilogue_has_steps(const pg_epilogue *e)
{
    bool any = e->activation || e->alpha || e->gate || e->amax || e->function || e->aux;
    for (int i = 0; i < PG_SIDES; i++)
        any |= e->side[i].spread != PG_SPREAD_NONE;
    return any;
}

bool pg_epilogue_has_rows(const pg_epilogue *e)
{
    bool any = e->aux != PTXGEN_DTYPE_NONE;
    for (int i = 0; i < PG_SIDES; i++)
        any |= e->side[i].spread == PG_SPREAD_ROW || e->side[i].spread == PG_SPREAD_MATRIX;
    return any;
}

bool pg_epilogue_has_matrices(const pg_epilogue *e)
{
    bool any = false;
    for (int i = 0; i < PG_SIDES; i++)
        any |= e->side[i].spread == PG_SPREAD_MATRIX;
    return any;
}

int pg_epilogue_inputs(const pg_epilogue *e)
{
    int n = 0;
    while (n < PG_SIDE_INPUTS && e->side[PG_SIDE_IN0 + n].spread)
        n++;
    return n;
}

static pg_spread spread_of(const pg_view *v)
{
    if (v->rank == 0)
        return PG_SPREAD_SCALAR;
    if (v->stride[0] == 0)
        return v->stride[1] == 0 ? PG_SPREAD_SCALAR : PG_SPREAD_ROW;
    return v->stride[1] == 0 ? PG_SPREAD_COLUMN : PG_SPREAD_MATRIX;
}

static int64_t side_key(const pg_view *v)
{
    return v->present ? 1 + SIDE_DTYPES * (spread_of(v) - 1) + place_of(v->dtype) : 0;
}

/* Other families have an operand of another kind in its place, or none. */
static bool has_alpha(const pg_problem *p, size_t first)
{
    const size_t place = first + PG_STEP_ALPHA;
    return place < p->table->count && p->table->rows[place].role == PG_SCALAR &&
           p->operand[place].present;
}

void pg_epilogue_bind(const pg_problem *p, size_t first, pg_epilogue_key *k)
{
    const pg_view *v = &p->operand[first];
    for (int i = PG_SIDE_RESIDUAL; i < PG_SIDE_D_SCALE; i++)
        k->side[i] = side_key(&v[i]);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        k->side[scales[i].place] = v[scales[i].place].present;
    k->alpha = has_alpha(p, first);
    k->amax = v[PG_STEP_AMAX].present;
    k->d_scales = !v[PG_STEP_D_SCALES].present                ? 0
                  : v[PG_STEP_D_SCALES].dtype == PTXGEN_UE8M0 ? 1
                                                              : 2;
    k->aux = v[PG_STEP_AUX].present ? 1 + place_of(v[PG_STEP_AUX].dtype) : 0;
}

/* ---- what fits together ---- */

static ptxgen_status check_gate(const pg_epilogue *e, ptxgen_error *err)
{
    if (!e->gate)
        return PTXGEN_OK;
    if (e->function && e->activation)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "gate=yes with epilogue=%s and a function: the function gets both elements "
                       "of a pair and does what the activation and the product do; leave epilogue "
                       "out",
                       pg_activation_words[e->activation]);
    if (pg_epilogue_inputs(e))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "in0 with gate=yes: a gate's function takes the two elements of a pair and "
                       "no inputs; leave in0 out");
    return PTXGEN_OK;
}

int pg_epilogue_block(const pg_epilogue *e)
{
    return e->d_scales == PTXGEN_E4M3 ? 16 : 32;
}

int64_t pg_epilogue_scale_bytes(const pg_problem *p, size_t first, size_t d)
{
    enum { ROWS = 128, WORD = 4 };
    const pg_view *scale = &p->operand[first + PG_STEP_D_SCALES];
    const int64_t columns = WORD * (scale->dtype == PTXGEN_E4M3 ? 16 : 32);
    const pg_view *v = &p->operand[d];
    if (!scale->present || v->rank < 2)
        return 0;
    const int64_t rows = v->shape[v->rank - 2],
                  words = (v->shape[v->rank - 1] + columns - 1) / columns;
    return (rows + ROWS - 1) / ROWS * ROWS * words * WORD;
}

ptxgen_status pg_epilogue_refuse_blocks(const pg_epilogue *e, const char *arch, ptxgen_error *err)
{
    if (!e->d_scales && e->out != PTXGEN_E2M1)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "d_scales and D in e2m1 belong to the kernels of sm_100a and its kin, whose "
                   "threads hold whole blocks of a row: for %s use e4m3 without d_scales, or f16",
                   arch);
}

ptxgen_status pg_epilogue_check_blocks(const pg_problem *p, size_t d, const pg_epilogue *e,
                                       ptxgen_error *err)
{
    enum { ALIGNMENT = 16 };
    const int block = pg_epilogue_block(e);
    const pg_view *v = &p->operand[d];
    const int64_t columns = v->shape[v->rank - 1];
    if (!e->d_scales)
        return PTXGEN_OK;
    if (v->rank == 3 && v->shape[0] > 1)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "d_scales with %lld matrices: scales are packed of one; call it for each",
                       (long long)v->shape[0]);
    if (columns % block)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "d has %lld columns and %d of them share a scale: use a multiple of %d",
                       (long long)columns, block, block);
    return p->host ? PTXGEN_OK
                   : pg_problem_require_alignment(p, d, ALIGNMENT, "stores of whole blocks", err);
}

static ptxgen_status check_scale_types(const pg_epilogue *e, ptxgen_error *err)
{
    const bool nibbles = e->out == PTXGEN_E2M1, bytes = e->out == PTXGEN_E4M3;
    if (nibbles && !e->d_scales)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "D in e2m1 is block-scaled: give d_scales (ue8m0: mxfp4, e4m3: nvfp4)");
    if ((e->d_scales == PTXGEN_E4M3 && !nibbles) ||
        (e->d_scales == PTXGEN_UE8M0 && !nibbles && !bytes))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "d_scales in %s with D in %s: mxfp8 is e4m3 with ue8m0, mxfp4 e2m1 with "
                       "ue8m0, nvfp4 e2m1 with e4m3",
                       pg_dtype_word(e->d_scales), pg_dtype_word(e->out));
    return PTXGEN_OK;
}

ptxgen_status pg_epilogue_check(const pg_epilogue *e, ptxgen_error *err)
{
    const int inputs = pg_epilogue_inputs(e);
    for (int i = inputs; i < PG_SIDE_INPUTS; i++)
        if (e->side[PG_SIDE_IN0 + i].spread)
            return pg_fail(err, PTXGEN_EINVAL,
                           "in%d is given without in%d: inputs of the function are in0, in1, ... "
                           "without a gap",
                           i, inputs);
    if (inputs && !e->function)
        return pg_fail(err, PTXGEN_EINVAL,
                       "in0 is an input of a user function, and function=none: give the function, "
                       "or leave in0 out");
    PG_TRY(check_scale_types(e, err));
    return check_gate(e, err);
}

ptxgen_status pg_epilogue_limits(const pg_problem *p, size_t first, const pg_epilogue *e,
                                 ptxgen_error *err)
{
    const pg_view *v = &p->operand[first];
    for (int i = PG_STEP_LOW; i <= PG_STEP_HIGH; i++)
        if (v[i].present && e->activation != PG_ACTIVATION_CLAMP)
            return pg_fail(err, PTXGEN_EINVAL,
                           "%s is a bound of epilogue=clamp, and epilogue=%s: leave it out",
                           p->table->rows[first + (size_t)i].name,
                           pg_activation_words[e->activation]);
    const double low = pg_problem_scalar(p, first + PG_STEP_LOW),
                 high = pg_problem_scalar(p, first + PG_STEP_HIGH);
    if (v[PG_STEP_LOW].present && v[PG_STEP_HIGH].present && low > high)
        return pg_fail(err, PTXGEN_EINVAL,
                       "low=%g is above high=%g, and nothing lies between: swap them", low, high);
    return pg_epilogue_check(e, err);
}

/* ---- kernel parameters ---- */

#define PLACE(name, kind) at_##name,
enum { PG_EPILOGUE_LIST(PLACE) PLACES };
const uint64_t pg_epilogue_all_absent = (UINT64_C(1) << PLACES) - 1;

/* Of each input, and of aux behind them: its pointer and its stride; 0: it has none. */
static const struct {
    int pointer, stride;
} places[] = {
    [PG_SIDE_ROW_SCALE] = {at_row_scale_, at_row_scale_stride_},
    [PG_SIDE_COL_SCALE] = {at_col_scale_, 0},
    [PG_SIDE_RESIDUAL] = {at_residual_, at_residual_stride_},
    [PG_SIDE_BIAS] = {at_bias_, at_bias_stride_},
    [PG_SIDE_IN0] = {at_in0_, at_in0_stride_},
    [PG_SIDE_IN0 + 1] = {at_in1_, at_in1_stride_},
    [PG_SIDE_IN0 + 2] = {at_in2_, at_in2_stride_},
    [PG_SIDE_IN0 + 3] = {at_in3_, at_in3_stride_},
    [PG_SIDE_D_SCALE] = {at_d_scale_, 0},
    [PG_STEP_AUX] = {at_aux_, at_aux_stride_},
};

static bool takes_stride(const pg_epilogue *e, int i)
{
    return i == PG_STEP_AUX
               ? e->aux != PTXGEN_DTYPE_NONE
               : e->side[i].spread == PG_SPREAD_COLUMN || e->side[i].spread == PG_SPREAD_MATRIX;
}

static bool is_there(const pg_epilogue *e, int i)
{
    const pg_spread spread = i == PG_STEP_AUX ? PG_SPREAD_NONE : e->side[i].spread;
    return i == PG_STEP_AUX ? e->aux != PTXGEN_DTYPE_NONE
                            : spread != PG_SPREAD_NONE && spread != PG_SPREAD_NEAR;
}

static uint64_t bit(bool there, int place)
{
    return there ? UINT64_C(1) << place : 0;
}

uint64_t pg_epilogue_absent(const pg_epilogue *e)
{
    const bool clamps = e->activation == PG_ACTIVATION_CLAMP;
    uint64_t there = bit(e->alpha, at_factor_) | bit(clamps, at_low_) | bit(clamps, at_high_) |
                     bit(e->amax, at_amax_) | bit(pg_epilogue_has_rows(e), at_input_vectors_) |
                     bit(e->aux && e->batched, at_aux_batch_) | bit(e->d_scales, at_d_scales_);
    for (int i = 0; i <= PG_STEP_AUX; i++)
        there |= bit(is_there(e, i), places[i].pointer) |
                 bit(places[i].stride && takes_stride(e, i), places[i].stride);
    return pg_epilogue_all_absent & ~there;
}

static uint32_t scalar_bits(const pg_problem *p, size_t operand)
{
    const float value = (float)pg_problem_scalar(p, operand);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* From row to row. */
static uint64_t stride_bytes(const pg_view *v)
{
    const int64_t elements = v->rank == 1 ? v->stride[0] : v->stride[v->rank - 2];
    return (uint64_t)(elements * v->bits / 8);
}

/* From matrix to matrix. */
static int64_t batch_bytes(const pg_view *v)
{
    return v->rank == 3 && v->shape[0] > 1 ? v->stride[0] * v->bits / 8 : 0;
}

void pg_epilogue_set(const pg_problem *p, size_t first, const pg_epilogue *e, pg_launch *l, int at)
{
    const pg_view *v = &p->operand[first];
    for (int i = 0; i <= PG_STEP_AUX; i++) {
        if (!is_there(e, i))
            continue;
        pg_set_pointer(l, at + places[i].pointer, v[i].data);
        if (takes_stride(e, i))
            pg_set_u64(l, at + places[i].stride, stride_bytes(&v[i]));
    }
    if (e->aux && e->batched)
        pg_set_u64(l, at + at_aux_batch_, (uint64_t)batch_bytes(&v[PG_STEP_AUX]));
    if (e->alpha)
        pg_set_u32(l, at + at_factor_, scalar_bits(p, first + PG_STEP_ALPHA));
    if (e->activation == PG_ACTIVATION_CLAMP) {
        pg_set_u32(l, at + at_low_, scalar_bits(p, first + PG_STEP_LOW));
        pg_set_u32(l, at + at_high_, scalar_bits(p, first + PG_STEP_HIGH));
    }
    if (e->amax)
        pg_set_pointer(l, at + at_amax_, v[PG_STEP_AMAX].data);
    if (e->d_scales)
        pg_set_pointer(l, at + at_d_scales_, v[PG_STEP_D_SCALES].data);
    if (pg_epilogue_has_rows(e))
        pg_set_u32(l, at + at_input_vectors_, pg_epilogue_takes_vectors(p, first, e));
}

bool pg_epilogue_takes_vectors(const pg_problem *p, size_t first, const pg_epilogue *e)
{
    const pg_view *v = &p->operand[first];
    for (int i = 0; i <= PG_STEP_AUX; i++) {
        const bool matrix = i == PG_STEP_AUX || e->side[i].spread == PG_SPREAD_MATRIX;
        const bool row = i != PG_STEP_AUX && e->side[i].spread == PG_SPREAD_ROW;
        if (!is_there(e, i) || !(matrix || row))
            continue; /* the view of what is absent says nothing */
        const int rows = v[i].rank > 1 ? v[i].rank - 2 : 0;
        uintptr_t stride = matrix && v[i].shape[rows] > 1 ? (uintptr_t)stride_bytes(&v[i]) : 0;
        if (i == PG_STEP_AUX)
            stride |= (uintptr_t)batch_bytes(&v[i]);
        /* inputs come four at a time, aux goes by runs of up to 16 bytes */
        const uintptr_t vector = i == PG_STEP_AUX ? 16 : 4 * (uintptr_t)v[i].bits / 8;
        if (((uintptr_t)v[i].data | stride) % vector != 0)
            return false;
    }
    return true;
}

/* ---- the user function's signature ---- */

#define SIGNATURES(result)                                                                         \
    {                                                                                              \
        result " f(float value, int row, int column)",                                             \
            result " f(float value, float in0, int row, int column)",                              \
            result " f(float value, float in0, float in1, int row, int column)",                   \
            result " f(float value, float in0, float in1, float in2, int row, int column)",        \
            result                                                                                 \
            " f(float value, float in0, float in1, float in2, float in3, int row, int column)"     \
    }
#define TYPES(result)                                                                              \
    {                                                                                              \
        result ", float, int, int", result ", float, float, int, int",                             \
            result ", float, float, float, int, int",                                              \
            result ", float, float, float, float, int, int",                                       \
            result ", float, float, float, float, float, int, int"                                 \
    }

const char *pg_epilogue_signature(const pg_epilogue *e)
{
    static const char *const signatures[2][1 + PG_SIDE_INPUTS] = {SIGNATURES("float"),
                                                                  SIGNATURES("float2")};
    if (e->gate)
        return "float f(float gate, float up, int row, int column)";
    return signatures[pg_epilogue_two_values(e)][pg_epilogue_inputs(e)];
}

const char *pg_epilogue_types(const pg_epilogue *e)
{
    static const char *const types[2][1 + PG_SIDE_INPUTS] = {TYPES("float"), TYPES("float2")};
    return e->gate ? types[0][1] : types[pg_epilogue_two_values(e)][pg_epilogue_inputs(e)];
}
