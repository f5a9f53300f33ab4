/* The scatter_add family: parameters and contract. */
#include "scatter_add/scatter_add.h"

#include "base/error.h"

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const char *const yes_no[] = {"no", "yes", NULL};
static const char *const index_words[] = {"i64", "i32", NULL};
static const char *const schedule_words[] = {"auto", "seed", "bulk", "vector", NULL};
static const char *const oob_words[] = {"record", "trap", "unchecked", NULL};

#define MAX_N       (INT64_C(1) << 31)
#define FIELD(name) offsetof(pg_scatter_add_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "target architecture, sm_90 and up"},
    {"dtype", PG_PARAM_CHOICE, FIELD(dtype), dtype_words, .doc = "element type of out and src",
     .from = PG_FROM_DTYPE, .source = PG_SCATTER_OUT},
    {"n", PG_PARAM_INTEGER, FIELD(n), .zero_words = {"dynamic"}, .min = 1, .max = MAX_N,
     .doc = "elements per row; dynamic: one kernel serves every row length", .from = PG_FROM_SYMBOL,
     .source = PG_SCATTER_N, .zero_serves = true},
    {"contig", PG_PARAM_CHOICE, FIELD(contig), yes_no, .def = 1,
     .doc = "yes: rows of out and src follow each other without a gap", .from = PG_FROM_HOOK,
     .zero_serves = true},
    {"index", PG_PARAM_CHOICE, FIELD(index), index_words, .doc = "type of index",
     .from = PG_FROM_DTYPE, .source = PG_SCATTER_INDEX},
    {"schedule", PG_PARAM_CHOICE, FIELD(schedule), schedule_words,
     .doc = "seed: tensor-map loads, two stages; bulk: several rows at once; vector: 16-byte "
            "reductions, panels"},
    {"oob", PG_PARAM_CHOICE, FIELD(oob), oob_words,
     .doc = "a bad index: record (skip the row, report it), trap (lose the context), unchecked"},
    {"tile", PG_PARAM_INTEGER, FIELD(tile), .zero_words = {"auto"}, .min = 256, .max = 16384,
     .doc = "bulk: bytes in one stage"},
    {"stages", PG_PARAM_INTEGER, FIELD(stages), .zero_words = {"auto"}, .min = 2, .max = 16,
     .doc = "bulk: stages per warp"},
    {"warps", PG_PARAM_INTEGER, FIELD(warps), .zero_words = {"auto"}, .min = 1, .max = 16,
     .doc = "bulk, vector: warps per CTA"},
    {"ctas", PG_PARAM_INTEGER, FIELD(ctas), .zero_words = {"auto"}, .min = 1, .max = 32,
     .doc = "bulk, vector: CTAs per SM"},
    {"pieces", PG_PARAM_INTEGER, FIELD(pieces), .zero_words = {"auto"}, .min = 1, .max = 8,
     .doc = "vector: rows that a thread has in flight"},
    {"panel", PG_PARAM_INTEGER, FIELD(panel), .zero_words = {"auto"}, .min = 16,
     .max = INT64_C(1) << 33,
     .doc =
         "vector: bytes of a row that are finished for all rows before the next ones; auto: by the "
         "size of out"},
    {"function", PG_PARAM_FUNCTION, FIELD(function), .zero_words = {"none"}, .min = 1,
     .max = INT64_MAX,
     .doc = "vector: a user function of each element, before it is added; the command takes "
            "@FILE.cu or @FILE.ptx"},
};

static int64_t function_number(const void *key)
{
    return ((const pg_scatter_add_key *)key)->function;
}

static bool function_exact(const void *key)
{
    return ((const pg_scatter_add_key *)key)->dtype == 0; /* f32 */
}

static const pg_function_seam function_seam = {
    .signature = "float f(float value, long long row, int column)",
    .types = "float, float, long long, int",
    .number = function_number,
    .exact = function_exact,
};

static const ptxgen_dtype dtypes[] = {PTXGEN_F32, PTXGEN_F16, PTXGEN_BF16, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype index_dtypes[] = {PTXGEN_S64, PTXGEN_S32, PTXGEN_DTYPE_NONE};

static const pg_symbol symbols[] = {
    [PG_SCATTER_ROWS] = {"rows", 0, INT64_MAX, "rows of src, values of index"},
    [PG_SCATTER_OUT_ROWS] = {"out_rows", 0, INT64_MAX, "rows of out"},
    [PG_SCATTER_N] = {"n", 0, MAX_N, "elements of a row"},
};

static const pg_operand operands[] = {
    [PG_SCATTER_OUT] = {"out", PG_INOUT, .rank = 2, .extents = {PG_SCATTER_OUT_ROWS, PG_SCATTER_N},
                        .dtypes = dtypes, .alignment = 16, .row_multiple = 16,
                        .needed_by = "16-byte reductions", .doc = "what is added to"},
    [PG_SCATTER_SRC] = {"src", PG_IN, .rank = 2, .extents = {PG_SCATTER_ROWS, PG_SCATTER_N},
                        .dtypes = dtypes, .same_dtype_as = 1 + PG_SCATTER_OUT, .broadcast = true,
                        .alignment = 16, .row_multiple = 16, .needed_by = "16-byte loads",
                        .doc = "the rows to add"},
    [PG_SCATTER_INDEX] = {"index", PG_INDEX, .rank = 1, .extents = {PG_SCATTER_ROWS},
                          .dtypes = index_dtypes, .indexes = 1 + PG_SCATTER_OUT_ROWS,
                          .doc = "the row of out that each row of src is added to"},
};

static void bind(const pg_problem *p, void *key)
{
    const pg_view *out = &p->operand[PG_SCATTER_OUT], *src = &p->operand[PG_SCATTER_SRC];
    const int64_t n = p->symbol[PG_SCATTER_N];
    ((pg_scatter_add_key *)key)->contig = out->stride[0] == n && src->stride[0] == n;
}

/* The seed schedule's tensor map. */
static ptxgen_status limits(const pg_problem *p, ptxgen_error *err)
{
    const pg_scatter_add_key *k = p->key;
    const pg_view *src = &p->operand[PG_SCATTER_SRC];
    const int64_t stride = src->stride[0] * pg_dtype_bits(src->dtype) / 8;
    if (p->host || k->schedule != PTXGEN_SCHEDULE_SEED)
        return PTXGEN_OK;
    if (src->shape[0] >= INT64_C(1) << 31 || stride >= INT64_C(1) << 40 || stride == 0)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "schedule=seed addresses rows by a 32-bit tensor coordinate and strides "
                       "from 16 bytes to below 2^40: %lld rows of stride %lld need schedule=bulk",
                       (long long)src->shape[0], (long long)src->stride[0]);
    return PTXGEN_OK;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

const pg_family pg_family_scatter_add = {
    .name = "scatter_add",
    .summary = "out[index[i], :] += src[i, :]",
    .params = {params, sizeof params / sizeof *params, sizeof(pg_scatter_add_key)},
    .plan_size = sizeof(pg_scatter_add_plan),
    .default_arch = 900,
    .function = &function_seam,
    .resolve = pg_scatter_add_resolve,
    .plan = pg_scatter_add_plan_from,
    .emit = pg_scatter_add_emit,
    .operands = {operands, COUNT(operands), symbols, COUNT(symbols)},
    .launch = pg_scatter_add_launch,
    .oracle = pg_scatter_add_oracle,
    .tolerance = pg_scatter_add_tolerance,
    .bind = bind,
    .limits = limits,
};
