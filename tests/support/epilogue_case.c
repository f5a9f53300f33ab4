#include "epilogue_case.h"

#include "base/clock.h"
#include "common/elements.h"
#include "matmul_accumulate/matmul_accumulate.h"
#include "matmul_scaled/matmul_scaled.h"
#include "pairs.h"
#include "ptxgen/function.h"

enum { M = 77, K = 72, SCALED_K = 96, MARGIN = 64, OPERANDS = PG_MATMUL_STEPS + PG_STEP_ALPHA + 1 };

enum factor {
    KERNEL,
    ELEMENTS,
    RESULT,
    SUM,
    ACTIVATION,
    GATE,
    ROW_SCALE,
    COL_SCALE,
    RESIDUAL,
    BIAS,
    AUX,
    AMAX,
    D_SCALE,
    FUNCTION,
    LAYOUT,
    FACTORS
};

static const char *const hopper[] = {"schedule=cooperative block_n=64",
                                     "schedule=pingpong block_m=64 block_n=96 ctas=2",
                                     "schedule=pingpong block_m=128 block_n=32 c_load=ring",
                                     "swap=yes warpgroups=1 block_n=16",
                                     "warpgroups=1 block_n=64 splits=2",
                                     "swap=yes warpgroups=1 block_n=16 splits=2",
                                     "warpgroups=1 block_n=48 slices=3",
                                     "block_m=256 block_n=40 ctas_n=1",
                                     "swap=yes warpgroups=1 block_n=24 slices=2",
                                     "schedule=pingpong block_m=64 block_n=64 c_load=ring"};
enum {
    RING = 2,         /* of C */
    PAIRS = 7,        /* takes K-major B alone */
    RESIDUAL_RING = 9 /* of a residual that is a matrix, where there is no C */
};
static const char *const blackwell[] = {"block_n=64", "block_n=128 ctas=2", "block_n=256"};
static const char *const others[] = {"block_m=64 block_n=64", "block_m=128 block_n=64 stages=2",
                                     "block_m=64 block_n=128 stages=2"};
static const char *const scaled[] = {"block_n=128", "block_n=256 stages=2"};
enum { PLAIN_SUM, ADDS_C, SCALES, SUMS };
enum { NO_FUNCTION, OF_VALUE, OF_ONE_INPUT, OF_THREE_INPUTS, FUNCTIONS };
enum { ALIGNED, ODD, SHIFTED, LAYOUTS };
enum { FIRST_MATRIX = 10 }; /* of the levels of a side */

/* What is run now: the factors' levels. */
typedef struct problem {
    const char *arch;
    const pairs_row *row;
    int64_t n;
    char *memory[OPERANDS];
    size_t bytes[OPERANDS];
    int64_t shapes[OPERANDS][2], strides[OPERANDS][2];
    ptxgen_tensor tensors[OPERANDS];
    char params[400];
    uint32_t random;
} problem;

static bool is_hopper, is_other, is_scaled;

static int kernels(void)
{
    return is_scaled   ? (int)(sizeof scaled / sizeof *scaled)
           : is_hopper ? (int)(sizeof hopper / sizeof *hopper)
           : is_other  ? (int)(sizeof others / sizeof *others)
                       : (int)(sizeof blackwell / sizeof *blackwell);
}

/* Places of the operands that both families have. */
static int first_step(void)
{
    return is_scaled ? (int)PG_SCALED_STEPS : (int)PG_MATMUL_STEPS;
}

static int place_of_d(void)
{
    return is_scaled ? (int)PG_SCALED_D : (int)PG_MATMUL_D;
}

static size_t operands(void)
{
    return (size_t)first_step() + (is_scaled ? PG_STEP_ALPHA : PG_STEP_AMAX) + 1;
}

static const char *family(void)
{
    return is_scaled ? "matmul_scaled" : "matmul_accumulate";
}

/* What the families refuse, and says why. */
static bool fits(const pairs_row *r)
{
    const int *l = r->level;
    const bool swaps = is_hopper && l[KERNEL] >= 0 && strstr(hopper[l[KERNEL]], "swap");
    if (l[GATE] == 1 && (swaps || l[FUNCTION] > OF_VALUE || l[LAYOUT] == ODD))
        return false;
    if (l[GATE] == 1 && l[FUNCTION] == OF_VALUE && l[ACTIVATION] > 0)
        return false;
    if (is_hopper && l[KERNEL] == RING && (l[SUM] == PLAIN_SUM || l[LAYOUT] > ALIGNED))
        return false;
    if (is_hopper && l[KERNEL] == RESIDUAL_RING &&
        (l[SUM] > PLAIN_SUM || l[LAYOUT] > ALIGNED ||
         (l[RESIDUAL] >= 0 && l[RESIDUAL] < FIRST_MATRIX)))
        return false;
    return true;
}

/* ---- operands ---- */

static uint32_t next(problem *p)
{
    p->random = p->random * 1664525u + 1013904223u;
    return p->random >> 8;
}

/* -2 to 2 in steps of 1/64. */
static double draw(problem *p)
{
    return (double)(int)(next(p) % 257) / 64 - 2;
}

static void put(ptxgen_dtype dtype, char *base, int64_t i, double v)
{
    pg_element_set(&(pg_view){.data = base, .dtype = dtype}, i, v);
}

static int bytes_of(ptxgen_dtype dtype)
{
    return ptxgen_dtype_bits(dtype) / 8;
}

/* A [rows, columns] operand; rank counts the last dimensions. */
static void add(problem *p, int place, ptxgen_dtype dtype, int rank, const int64_t shape[2])
{
    const int layout = p->row->level[LAYOUT];
    const bool input = place <= (is_scaled ? (int)PG_SCALED_B_SCALES : (int)PG_MATMUL_B);
    const int64_t rows = rank > 1 ? shape[0] : 1, columns = rank > 0 ? shape[1] : 1;
    int64_t stride = columns;
    size_t shift = 0;
    if (input ||
        (!is_hopper && !is_other && (layout == ALIGNED || (!is_scaled && place == PG_MATMUL_C))))
        stride = (columns + 15) / 16 * 16;
    else if (layout == ODD)
        stride = columns + 3;
    if (!input && layout == SHIFTED && (is_hopper || is_other))
        shift = (size_t)bytes_of(dtype);
    p->bytes[place] = (size_t)(rows * stride * ptxgen_dtype_bits(dtype) / 8) + 2 * MARGIN;
    p->memory[place] = aligned_alloc(MARGIN, (p->bytes[place] + MARGIN - 1) / MARGIN * MARGIN);
    memset(p->memory[place], 0x5A, p->bytes[place]);
    p->shapes[place][0] = rank > 1 ? rows : columns;
    p->shapes[place][1] = columns;
    p->strides[place][0] = rank > 1 ? stride : 1;
    p->strides[place][1] = 1;
    p->tensors[place] = (ptxgen_tensor){p->memory[place] + MARGIN + shift, dtype, rank,
                                        p->shapes[place], p->strides[place]};
    for (int64_t i = 0; i < rows && place != place_of_d() && dtype != PTXGEN_UE8M0; i++)
        for (int64_t j = 0; j < columns; j++)
            put(dtype, p->tensors[place].data, i * stride + j, draw(p));
}

/* Level 0: none; then scalar, row, column, matrix, each of three types. */
static void add_side(problem *p, int place, int level)
{
    const int64_t all[2] = {M, p->n}, column[2] = {M, 1};
    if (!level)
        return;
    const int spread = (level - 1) / 3;
    add(p, first_step() + place, pg_side_dtypes[(level - 1) % 3], spread < 2 ? spread : 2,
        spread == 2 ? column : all);
}

static void add_scalar(problem *p, int place, float value)
{
    const int64_t none[2] = {1, 1};
    add(p, place, PTXGEN_F32, 0, none);
    memcpy(p->tensors[place].data, &value, sizeof value);
}

static void add_steps(problem *p)
{
    const int *l = p->row->level;
    const int64_t all[2] = {M, p->n}, rows[2] = {1, M}, first = first_step();
    if (l[ROW_SCALE])
        add(p, (int)first + PG_SIDE_ROW_SCALE, PTXGEN_F32, 1, rows);
    if (l[COL_SCALE])
        add(p, (int)first + PG_SIDE_COL_SCALE, PTXGEN_F32, 1, all);
    add_side(p, PG_SIDE_RESIDUAL, l[RESIDUAL]);
    add_side(p, PG_SIDE_BIAS, l[BIAS]);
    if (l[AUX])
        add(p, (int)first + PG_STEP_AUX, pg_side_dtypes[l[AUX] - 1], 2, all);
    if (l[AMAX])
        add_scalar(p, (int)first + PG_STEP_AMAX, 0);
    if (l[D_SCALE])
        add_scalar(p, (int)first + PG_SIDE_D_SCALE, 1.75f);
    if (l[ACTIVATION] == PG_ACTIVATION_CLAMP) {
        add_scalar(p, (int)first + PG_STEP_LOW, -0.75f);
        add_scalar(p, (int)first + PG_STEP_HIGH, 1.5f);
    }
    if (l[FUNCTION] >= OF_ONE_INPUT)
        add_side(p, PG_SIDE_IN0, 4 + (int)(next(p) % 3)); /* a row */
    if (l[FUNCTION] == OF_THREE_INPUTS) {
        add_side(p, PG_SIDE_IN0 + 1, 7 + (int)(next(p) % 3));
        add_side(p, PG_SIDE_IN0 + 2, 10 + (int)(next(p) % 3));
    }
}

/* The same memory, its dimensions named the other way round. */
static void transpose(problem *p, int place)
{
    for (int64_t *x = p->shapes[place]; x; x = x == p->shapes[place] ? p->strides[place] : NULL) {
        const int64_t first = x[0];
        x[0] = x[1];
        x[1] = first;
    }
}

/* Both rows of elements and their scales, whose bytes are near 1. */
static void add_scaled_operand(problem *p, int place, int64_t rows, int format)
{
    const ptxgen_dtype elements = format == PTXGEN_MXFP8 ? PTXGEN_E4M3 : PTXGEN_E2M1,
                       scales = format == PTXGEN_NVFP4 ? PTXGEN_E4M3 : PTXGEN_UE8M0;
    const int64_t shape[2] = {rows, SCALED_K};
    const int64_t bytes[2] = {
        1, pg_matmul_scaled_scale_bytes((ptxgen_scaled_format)format, rows, SCALED_K)};
    const int at = place == PG_SCALED_A ? PG_SCALED_A_SCALES : PG_SCALED_B_SCALES;
    add(p, place, elements, 2, shape);
    add(p, at, scales, 1, bytes);
    for (int64_t i = 0; i < bytes[1]; i++)
        ((uint8_t *)p->tensors[at].data)[i] =
            (uint8_t)(format == PTXGEN_NVFP4 ? 0x30 + next(p) % 16 : 126 + next(p) % 2);
}

static void add_scaled_operands(problem *p)
{
    const int *l = p->row->level;
    const int64_t d[2] = {M, l[GATE] ? p->n / 2 : p->n};
    add_scaled_operand(p, PG_SCALED_A, M, l[ELEMENTS]);
    add_scaled_operand(p, PG_SCALED_B, p->n, l[ELEMENTS]);
    add(p, PG_SCALED_D, pg_result_dtypes[l[RESULT]], 2, d);
    if (l[SUM])
        add_scalar(p, PG_SCALED_STEPS + PG_STEP_ALPHA, 0.375f);
    add_steps(p);
}

static void add_operands(problem *p)
{
    const int *l = p->row->level;
    const int64_t a[2] = {M, K}, b[2] = {K, p->n}, c[2] = {M, p->n};
    const int64_t b_transposed[2] = {p->n, K};
    const int64_t d[2] = {M, l[GATE] ? p->n / 2 : p->n};
    const ptxgen_dtype elements = l[ELEMENTS] ? PTXGEN_BF16 : PTXGEN_F16;
    add(p, PG_MATMUL_A, elements, 2, a);
    add(p, PG_MATMUL_B, elements, 2, is_hopper && l[KERNEL] == PAIRS ? b_transposed : b);
    if (is_hopper && l[KERNEL] == PAIRS)
        transpose(p, PG_MATMUL_B);
    if (l[SUM] != PLAIN_SUM)
        add(p, PG_MATMUL_C, PTXGEN_F32, 2, c);
    add(p, PG_MATMUL_D, pg_result_dtypes[l[RESULT]], 2, d);
    if (l[SUM] == SCALES) {
        add_scalar(p, PG_MATMUL_ALPHA, 0.375f);
        add_scalar(p, PG_MATMUL_BETA, -1.25f);
    }
    add_steps(p);
}

/* ---- the user function ---- */

/* value / 2 + the inputs, each times another number + row / 64 - column / 128; of two values the
 * second is the first input of the function less 1. */
static void write_function(const problem *p, char *text, size_t size)
{
    const int *l = p->row->level;
    const bool gated = l[GATE] != 0, two = l[AUX] && !gated;
    const int inputs = gated || l[FUNCTION] == OF_ONE_INPUT ? 1
                       : l[FUNCTION] == OF_THREE_INPUTS     ? 3
                                                            : 0;
    size_t n = (size_t)snprintf(text, size,
                                ".version 8.0\n.target sm_80\n.address_size 64\n"
                                ".visible .func (%s) f(.param .b32 value",
                                two ? ".param .align 8 .b8 r[8]" : ".param .b32 r");
    for (int i = 0; i < inputs; i++)
        n += (size_t)snprintf(text + n, size - n, ", .param .b32 in%d", i);
    n += (size_t)snprintf(text + n, size - n,
                          ", .param .b32 row, .param .b32 column)\n{\n"
                          "    .reg .f32 %%v, %%x, %%r;\n    .reg .b32 %%i;\n"
                          "    ld.param.f32 %%v, [value];\n    mul.f32 %%r, %%v, 0f3F000000;\n");
    for (int i = 0; i < inputs; i++)
        n += (size_t)snprintf(text + n, size - n,
                              "    ld.param.f32 %%x, [in%d];\n"
                              "    fma.rn.f32 %%r, %%x, 0f3F%d00000, %%r;\n",
                              i, 4 + 2 * i);
    n += (size_t)snprintf(text + n, size - n,
                          "    ld.param.u32 %%i, [row];\n    cvt.rn.f32.s32 %%x, %%i;\n"
                          "    fma.rn.f32 %%r, %%x, 0f3C800000, %%r;\n"
                          "    ld.param.u32 %%i, [column];\n    cvt.rn.f32.s32 %%x, %%i;\n"
                          "    fma.rn.f32 %%r, %%x, 0fBC000000, %%r;\n"
                          "    st.param.f32 [r], %%r;\n");
    if (two)
        n += (size_t)snprintf(text + n, size - n,
                              "    add.f32 %%v, %%v, 0fBF800000;\n    st.param.f32 [r+4], %%v;\n");
    snprintf(text + n, size - n, "    ret;\n}\n");
}

static int64_t add_function(ptxgen *ctx, const problem *p)
{
    char text[2048];
    ptxgen_error err = {0};
    int64_t id = 0;
    if (!p->row->level[FUNCTION])
        return 0;
    write_function(p, text, sizeof text);
    const ptxgen_function f = {.size = sizeof f, .language = PTXGEN_FUNCTION_PTX, .text = text};
    if (ptxgen_function_add(ctx, &f, &id, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return id;
}

/* ---- a case ---- */

static void write_params(ptxgen *ctx, problem *p)
{
    const int *l = p->row->level;
    snprintf(p->params, sizeof p->params, "arch=%s %s epilogue=%s gate=%s function=%lld", p->arch,
             (is_scaled   ? scaled
              : is_hopper ? hopper
              : is_other  ? others
                          : blackwell)[l[KERNEL]],
             pg_activation_words[l[ACTIVATION]], l[GATE] ? "yes" : "no",
             (long long)add_function(ctx, p));
    char *none = strstr(p->params, " function=0");
    if (none)
        *none = '\0';
}

static const char *case_text(const problem *p)
{
    static char text[900];
    size_t n = (size_t)snprintf(text, sizeof text, "%s;", p->params);
    for (int i = 0; i < FACTORS && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %d", p->row->level[i]);
    return text;
}

static bool is_scalar(int place)
{
    if (is_scaled ? place == (int)PG_SCALED_STEPS + PG_STEP_ALPHA
                  : place == PG_MATMUL_ALPHA || place == PG_MATMUL_BETA)
        return true;
    return place == first_step() + PG_STEP_LOW || place == first_step() + PG_STEP_HIGH;
}

/* The call on the context's device, with memory of its own there; results come back to `after`. */
static void call(ptxgen *ctx, const problem *p, ptxgen_tensor *after, char **copies)
{
    ptxgen_error err = {0};
    ptxgen_tensor device[OPERANDS];
    void *memory[OPERANDS] = {0};
    memcpy(device, p->tensors, sizeof device);
    for (int i = 0; i < OPERANDS; i++) {
        if (!p->memory[i] || is_scalar(i))
            continue;
        assert_int_equal(ptxgen_device_alloc(ctx, p->bytes[i], &memory[i], &err), PTXGEN_OK);
        assert_int_equal(ptxgen_device_upload(ctx, memory[i], p->memory[i], p->bytes[i], &err),
                         PTXGEN_OK);
        device[i].data = (char *)memory[i] + ((char *)p->tensors[i].data - p->memory[i]);
    }
    if (ptxgen_call(ctx, family(), p->params, device, operands(), NULL, &err) != PTXGEN_OK ||
        ptxgen_synchronize(ctx, NULL, &err) != PTXGEN_OK)
        fail_msg("%s: %s", case_text(p), err.message);
    memcpy(after, p->tensors, sizeof device);
    for (int i = 0; i < OPERANDS; i++) {
        if (!memory[i])
            continue;
        copies[i] = malloc(p->bytes[i]);
        assert_int_equal(ptxgen_device_download(ctx, copies[i], memory[i], p->bytes[i], &err),
                         PTXGEN_OK);
        after[i].data = copies[i] + ((char *)p->tensors[i].data - p->memory[i]);
        ptxgen_device_free(ctx, memory[i]);
    }
}

static void judge(ptxgen *ctx, const problem *p, const ptxgen_tensor *after)
{
    ptxgen_error err = {0};
    ptxgen_call_verdict v = {.size = sizeof v, .functions = ctx};
    if (ptxgen_call_check(family(), p->params, p->tensors, after, operands(), &v, &err) !=
        PTXGEN_OK)
        fail_msg("%s: %s", case_text(p), err.message);
    if (v.wrong)
        fail_msg("%s: %lld of %lld elements are wrong; row %lld, column %lld is off by %g, allowed "
                 "%g",
                 case_text(p), (long long)v.wrong, (long long)v.elements, (long long)v.worst_row,
                 (long long)v.worst_column, v.worst_error, v.worst_bound);
}

static void run_case(ptxgen *ctx, const char *arch, const pairs_row *row, uint32_t seed)
{
    static const int64_t columns[] = {[ALIGNED] = 96, [ODD] = 83, [SHIFTED] = 88};
    problem p = {.arch = arch, .row = row, .n = columns[row->level[LAYOUT]], .random = seed};
    char *copies[OPERANDS] = {0};
    ptxgen_tensor after[OPERANDS];
    if (is_scaled)
        add_scaled_operands(&p);
    else
        add_operands(&p);
    write_params(ctx, &p);
    call(ctx, &p, after, copies);
    judge(ctx, &p, after);
    for (int i = 0; i < OPERANDS; i++) {
        free(p.memory[i]);
        free(copies[i]);
    }
}

static void run_cases(ptxgen *ctx, const char *arch, double seconds)
{
    enum { MOST = 600 };
    static pairs_row rows[MOST];
    is_hopper = strcmp(arch, "sm_90a") == 0;
    is_other = !is_hopper && strncmp(arch, "sm_100a", 7) != 0;
    const int levels[FACTORS] = {[KERNEL] = kernels(),
                                 [ELEMENTS] = is_scaled ? 3 : 2,
                                 [RESULT] = 5,
                                 [SUM] = is_scaled ? 2 : SUMS,
                                 [ACTIVATION] = PG_ACTIVATIONS,
                                 [GATE] = 2,
                                 [ROW_SCALE] = 2,
                                 [COL_SCALE] = 2,
                                 [RESIDUAL] = 13,
                                 [BIAS] = 13,
                                 [AUX] = 4,
                                 [AMAX] = 2,
                                 [D_SCALE] = 2,
                                 [FUNCTION] = FUNCTIONS,
                                 [LAYOUT] = LAYOUTS};
    size_t left_out, done = 0;
    const size_t count = pairs_cover(levels, FACTORS, fits, rows, MOST, &left_out);
    const char *part = getenv("PTXGEN_PART"); /* "3/16": for processes side by side */
    unsigned mine = 0, parts = 1;
    if (part && (sscanf(part, "%u/%u", &mine, &parts) != 2 || parts == 0))
        fail_msg("PTXGEN_PART=%s is no part", part);
    const double start = pg_clock_us();
    for (; done < count && pg_clock_us() - start < seconds * 1e6; done++)
        if (done % parts == mine)
            run_case(ctx, arch, &rows[done], (uint32_t)done + 1);
    printf("%s, part %u of %u: %zu of %zu cases of a pairwise covering array of %d factors, all "
           "right; %zu pairs "
           "do not fit together; %.1f s\n",
           arch, mine, parts, done, count, FACTORS, left_out, (pg_clock_us() - start) / 1e6);
    assert_int_equal(done, count);
}

void epilogue_cases_run(ptxgen *ctx, const char *arch, double seconds)
{
    is_scaled = false;
    run_cases(ctx, arch, seconds);
}

void epilogue_cases_run_scaled(ptxgen *ctx, const char *arch, double seconds)
{
    is_scaled = true;
    run_cases(ctx, arch, seconds);
}
