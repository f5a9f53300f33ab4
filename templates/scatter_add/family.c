/* The scatter_add family: parameters and contract. */
#include "scatter_add/scatter_add.h"

#include "base/error.h"

#include <math.h>

static const char *const dtype_words[] = PG_DTYPE_WORDS(PG_SUM_TYPES);
static const char *const yes_no[] = {"no", "yes", NULL};
static const char *const index_words[] = {"i64", "i32", NULL};
static const char *const schedule_words[] = {"auto",  "seed",    "bulk", "vector",
                                             "owner", "private", NULL};
static const char *const oob_words[] = {"record", "trap", "unchecked", NULL};

static const char *const reduce_words[] = {"add", "min", "max", "mean", "mul", NULL};
static const char *const copies_words[] = {"auto", "thread", "cta", NULL};
static const char *const ahead_words[] = {"auto", "no", "yes", NULL};
static const char *const hot_words[] = {"auto", "no", "yes", NULL};
static const char *const weight_words[] = {"none", "f32", "element", NULL};

#define MAX_N       (INT64_C(1) << 31)
#define FIELD(name) offsetof(pg_scatter_add_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "target architecture, sm_80 and up"},
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
            "reductions, panels; owner: sums in registers, in the order of the sorted index; "
            "private: sums in copies of out in shared memory"},
    {"oob", PG_PARAM_CHOICE, FIELD(oob), oob_words,
     .doc = "a bad index: record (skip the row, report it), trap (lose the context), unchecked"},
    {"tile", PG_PARAM_INTEGER, FIELD(tile), .zero_words = {"auto"}, .min = 256, .max = 16384,
     .doc = "bulk: bytes in one stage"},
    {"stages", PG_PARAM_INTEGER, FIELD(stages), .zero_words = {"auto"}, .min = 2, .max = 16,
     .doc = "bulk: stages per warp"},
    {"warps", PG_PARAM_INTEGER, FIELD(warps), .zero_words = {"auto"}, .min = 1, .max = 32,
     .doc = "bulk, vector, private: warps per CTA, where one of them is taken"},
    {"ctas", PG_PARAM_INTEGER, FIELD(ctas), .zero_words = {"auto"}, .min = 1, .max = 32,
     .doc = "bulk, vector, private: CTAs per SM, where one of them is taken"},
    {"pieces", PG_PARAM_INTEGER, FIELD(pieces), .zero_words = {"auto"}, .min = 1, .max = 8,
     .doc = "vector, owner: rows that a thread has in flight"},
    {"panel", PG_PARAM_INTEGER, FIELD(panel), .zero_words = {"auto"}, .min = 16,
     .max = INT64_C(1) << 33,
     .doc =
         "vector: bytes of a row that are finished for all rows before the next ones; auto: by the "
         "size of out"},
    {"function", PG_PARAM_FUNCTION, FIELD(function), .zero_words = {"none"}, .min = 1,
     .max = INT64_MAX,
     .doc = "vector: a user function of each element, before it is added; the command takes "
            "@FILE.cu or @FILE.ptx"},
    {"access", PG_PARAM_INTEGER, FIELD(access), .zero_words = {"auto"}, .min = 2, .max = 16,
     .doc = "owner, private, vector: bytes that all rows of out and src are aligned to"},
    {"reduce", PG_PARAM_CHOICE, FIELD(reduce), reduce_words,
     .doc = "what becomes of a row of out and its rows of src; all but add: owner"},
    {"exact", PG_PARAM_CHOICE, FIELD(exact), yes_no,
     .doc = "owner: yes: the same bits in every run, halves summed in f32, one rounding a row"},
    {"weight", PG_PARAM_CHOICE, FIELD(weight), weight_words,
     .doc = "owner: type of the factor of each entry", .from = PG_FROM_HOOK},
    {"gather", PG_PARAM_CHOICE, FIELD(gather), yes_no,
     .doc = "owner: src_index says which row of src an entry takes", .from = PG_FROM_HOOK},
    {"shift", PG_PARAM_CHOICE, FIELD(shift), yes_no,
     .doc =
         "yes: rows of any alignment; owner: read by aligned loads and shifted; vector: added by "
         "aligned blocks of two accesses"},
    {"ahead", PG_PARAM_CHOICE, FIELD(ahead), ahead_words,
     .doc =
         "owner: yes: rows of out are loaded ahead of their sums; auto: where rows are hit about "
         "once"},
    {"hot", PG_PARAM_CHOICE, FIELD(hot), hot_words,
     .doc = "vector: yes: threads keep sums of rows that they meet again and again; auto: in large "
            "calls"},
    {"copies", PG_PARAM_CHOICE, FIELD(copies), copies_words,
     .doc = "private: who has a table of out's rows in shared memory; auto: by their number"},
    {"slices", PG_PARAM_INTEGER, FIELD(slices), .zero_words = {"auto"}, .min = 1, .max = 16,
     .doc = "private: each CTA has a table of one of so many slices of out's rows"},
    {"share", PG_PARAM_INTEGER, FIELD(share), .zero_words = {"auto"}, .min = 8, .max = 4096,
     .doc = "owner: entries of a group of lanes; auto: by the size of the problem"},
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

static const ptxgen_dtype index_dtypes[] = {PTXGEN_S64, PTXGEN_S32, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype scalar_dtypes[] = {PTXGEN_F64, PTXGEN_F32, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype s32[] = {PTXGEN_S32, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype s64[] = {PTXGEN_S64, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype u8[] = {PTXGEN_U8, PTXGEN_DTYPE_NONE};

static const pg_symbol symbols[] = {
    [PG_SCATTER_ROWS] = {"rows", 0, INT64_MAX, "values of index; rows of src, without src_index"},
    [PG_SCATTER_OUT_ROWS] = {"out_rows", 0, INT64_MAX, "rows of out"},
    [PG_SCATTER_N] = {"n", 0, MAX_N, "elements of a row"},
    [PG_SCATTER_SRC_ROWS] = {"src_rows", 0, INT64_MAX, "rows of src; without src_index: rows",
                             .equals = 1 + PG_SCATTER_ROWS, .unless = 1 + PG_SCATTER_SRC_INDEX},
    [PG_SCATTER_ONE] = {"one", 1, 1, "a number"},
    [PG_SCATTER_TWO] = {"two", 2, 2, "position and value"},
    [PG_SCATTER_BYTES] = {"bytes", 0, INT64_MAX, "of the workspace"},
};

static const pg_operand operands[] = {
    [PG_SCATTER_OUT] = {"out", PG_INOUT, .rank = 2, .extents = {PG_SCATTER_OUT_ROWS, PG_SCATTER_N},
                        .dtypes = pg_sum_dtypes, .doc = "what is added to"},
    [PG_SCATTER_SRC] = {"src", PG_IN, .rank = 2, .extents = {PG_SCATTER_SRC_ROWS, PG_SCATTER_N},
                        .dtypes = pg_sum_dtypes, .same_dtype_as = 1 + PG_SCATTER_OUT,
                        .broadcast = true, .doc = "the rows to add"},
    [PG_SCATTER_INDEX] = {"index", PG_INDEX, .rank = 1, .extents = {PG_SCATTER_ROWS},
                          .dtypes = index_dtypes, .indexes = 1 + PG_SCATTER_OUT_ROWS,
                          .doc = "the row of out that each row of src is added to"},
    [PG_SCATTER_WEIGHT] = {"weight", PG_IN, .optional = true, .rank = 1,
                           .extents = {PG_SCATTER_ROWS}, .dtypes = pg_sum_dtypes,
                           .doc = "a factor for each row of src, f32 or of its type"},
    [PG_SCATTER_SRC_INDEX] = {"src_index", PG_INDEX, .optional = true, .rank = 1,
                              .extents = {PG_SCATTER_ROWS}, .dtypes = index_dtypes,
                              .same_dtype_as = 1 + PG_SCATTER_INDEX,
                              .indexes = 1 + PG_SCATTER_SRC_ROWS,
                              .doc = "the row of src that each value of index is about"},
    [PG_SCATTER_ALPHA] = {"alpha", PG_SCALAR, .optional = true, .dtypes = scalar_dtypes,
                          .scalar = 1, .doc = "a factor for all rows of src"},
    [PG_SCATTER_DEVICE_ROWS] = {"device_rows", PG_IN, .optional = true, .rank = 1,
                                .extents = {PG_SCATTER_ONE}, .dtypes = s64,
                                .doc = "only so many of the rows count"},
    [PG_SCATTER_PADDING_INDEX] = {"padding_index", PG_SCALAR, .optional = true,
                                  .dtypes = index_dtypes,
                                  .doc = "values of index that are left out, and are not bad"},
    [PG_SCATTER_RECORD] = {"record", PG_INOUT, .optional = true, .rank = 1,
                           .extents = {PG_SCATTER_TWO}, .dtypes = s64, .alignment = 16,
                           .needed_by = "16-byte atomics",
                           .doc = "where the first bad index is told; -1, -1: none yet"},
    [PG_SCATTER_COUNTS] = {"counts", PG_OUT, .optional = true, .rank = 1,
                           .extents = {PG_SCATTER_OUT_ROWS}, .dtypes = s32,
                           .doc = "gets how many entries went to each row of out"},
    [PG_SCATTER_WORKSPACE] = {"workspace", PG_WORKSPACE, .optional = true, .rank = 1,
                              .extents = {PG_SCATTER_BYTES}, .dtypes = u8, .alignment = 128,
                              .needed_by = "vector accesses",
                              .doc = "device memory for the sorted index"},
};

static bool has(const pg_problem *p, size_t operand)
{
    return p->operand[operand].present;
}

static void bind(const pg_problem *p, void *key)
{
    const pg_view *out = &p->operand[PG_SCATTER_OUT], *src = &p->operand[PG_SCATTER_SRC];
    const pg_view *weight = &p->operand[PG_SCATTER_WEIGHT];
    const int64_t n = p->symbol[PG_SCATTER_N];
    pg_scatter_add_key *k = key;
    k->contig = out->stride[0] == n && src->stride[0] == n;
    k->gather = has(p, PG_SCATTER_SRC_INDEX);
    k->weight = !weight->present              ? PG_WEIGHT_NONE
                : weight->dtype == out->dtype ? PG_WEIGHT_ELEMENT
                                              : PG_WEIGHT_F32;
}

/* Additions of floats in an order that no two runs share. */
static bool other_bits(const void *key)
{
    const pg_scatter_add_key *k = key;
    const bool whole = pg_sum_type_at(k->dtype)->acc[0] == 's';
    return !whole && !k->exact && k->reduce == PTXGEN_SCATTER_ADD;
}

/* The seed schedule's tensor map. */
static ptxgen_status seed_limits(const pg_problem *p, ptxgen_error *err)
{
    const pg_view *src = &p->operand[PG_SCATTER_SRC];
    const int64_t stride = src->stride[0] * pg_dtype_bits(src->dtype) / 8;
    if (src->shape[0] >= INT64_C(1) << 31 || stride >= INT64_C(1) << 40 || stride == 0)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "schedule=seed addresses rows by a 32-bit tensor coordinate and strides "
                       "from 16 bytes to below 2^40: %lld rows of stride %lld need schedule=bulk",
                       (long long)src->shape[0], (long long)src->stride[0]);
    return PTXGEN_OK;
}

static ptxgen_status owner_limits(const pg_problem *p, ptxgen_error *err)
{
    enum { SHIFTED_ROW_BYTES = 32 }; /* so that no block has both ends of a row */
    const int64_t row_bytes = p->symbol[PG_SCATTER_N] * pg_dtype_bits(p->operand[0].dtype) / 8;
    const pg_scatter_add_key *k = p->key;
    const int64_t rows = p->symbol[PG_SCATTER_ROWS], out_rows = p->symbol[PG_SCATTER_OUT_ROWS];
    if (pg_scatter_add_access_of(p) < k->access)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "access=%lld, but rows of out and src are aligned to %lld bytes: leave "
                       "access out",
                       (long long)k->access, (long long)pg_scatter_add_access_of(p));
    if (k->shift && row_bytes < SHIFTED_ROW_BYTES)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "shift=yes needs rows of %d bytes or more, not %lld: leave it out",
                       SHIFTED_ROW_BYTES, (long long)row_bytes);
    if (rows <= INT32_MAX && out_rows <= PG_SORT_MAX &&
        p->operand[PG_SCATTER_SRC].shape[0] <= PG_SORT_MAX)
        return PTXGEN_OK;
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "schedule=owner takes up to %d values of index and %lld rows, here %lld and %lld: "
        "split the call",
        INT32_MAX, (long long)PG_SORT_MAX, (long long)rows, (long long)out_rows);
}

static ptxgen_status private_limits(const pg_problem *p, ptxgen_error *err)
{
    const pg_scatter_add_key *k = p->key;
    const char *name = pg_scatter_add_owner_operand(p);
    if (name)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "%s needs schedule=owner: use it or auto", name);
    if (pg_scatter_add_access_of(p) < k->access)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "access=%lld, but rows of out and src are aligned to %lld bytes: leave "
                       "access out",
                       (long long)k->access, (long long)pg_scatter_add_access_of(p));
    return pg_scatter_add_private_limits(p, err);
}

static ptxgen_status row_limits(const pg_problem *p, ptxgen_error *err)
{
    const char *name = pg_scatter_add_owner_operand(p);
    const int64_t bytes = p->symbol[PG_SCATTER_N] * pg_dtype_bits(p->operand[0].dtype) / 8;
    if (name)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "%s needs schedule=owner: use it or auto", name);
    const pg_scatter_add_key *k = p->key;
    const int access = k->access ? (int)k->access : 16;
    PG_TRY(pg_scatter_add_vector_limits(p, err));
    if (bytes % access)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "rows of n=%lld are %lld bytes, not a multiple of %d: use schedule=owner or "
                       "auto, or pad the rows",
                       (long long)p->symbol[PG_SCATTER_N], (long long)bytes, access);
    PG_TRY(pg_problem_require_alignment(p, PG_SCATTER_OUT, access,
                                        access == 16 ? "16-byte reductions" : "reductions", err));
    return pg_problem_require_alignment(p, PG_SCATTER_SRC, access,
                                        access == 16 ? "16-byte loads" : "loads", err);
}

/* What the table does not say of alpha and weight. */
static ptxgen_status check_factors(const pg_problem *p, ptxgen_error *err)
{
    const pg_scatter_add_key *k = p->key;
    const double alpha = pg_scatter_add_alpha(p);
    const pg_view *weight = &p->operand[PG_SCATTER_WEIGHT];
    const pg_sum_type *type = pg_sum_type_at(k->dtype);
    const bool whole = type->acc[0] == 's';
    if (k->reduce != PTXGEN_SCATTER_ADD && (weight->present || alpha != 1))
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "weight and alpha need reduce=add");
    if (whole && (alpha != rint(alpha) || fabs(alpha) > 0x1p53))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "alpha=%g: of %s it must be a whole number up to 2^53", alpha, type->name);
    if (weight->present && weight->dtype != type->dtype && (whole || weight->dtype != PTXGEN_F32))
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "weight holds %s: use %s%s",
                       pg_dtype_word(weight->dtype), type->name, whole ? "" : " or f32");
    return PTXGEN_OK;
}

static ptxgen_status limits(const pg_problem *p, ptxgen_error *err)
{
    const pg_scatter_add_key *k = p->key;
    const struct ptxgen_scatter_plan *plan = p->prepared;
    PG_TRY(check_factors(p, err));
    if (plan && (plan->rows != p->symbol[PG_SCATTER_ROWS] ||
                 plan->out_rows != p->symbol[PG_SCATTER_OUT_ROWS]))
        return pg_fail(
            err, PTXGEN_EINVAL,
            "the plan is of an index of %lld into %lld rows, the call says %lld into %lld",
            (long long)plan->rows, (long long)plan->out_rows, (long long)p->symbol[PG_SCATTER_ROWS],
            (long long)p->symbol[PG_SCATTER_OUT_ROWS]);
    if (plan && (has(p, PG_SCATTER_DEVICE_ROWS) || has(p, PG_SCATTER_PADDING_INDEX)))
        return pg_fail(
            err, PTXGEN_EINVAL,
            "device_rows and padding_index are given when the plan is made, not with it");
    if (p->host)
        return PTXGEN_OK;
    if (k->schedule == PTXGEN_SCHEDULE_OWNER)
        return owner_limits(p, err);
    if (k->schedule == PTXGEN_SCHEDULE_PRIVATE)
        return private_limits(p, err);
    PG_TRY(row_limits(p, err));
    return k->schedule == PTXGEN_SCHEDULE_SEED ? seed_limits(p, err) : PTXGEN_OK;
}

static ptxgen_status find_empty(pg_problem *p, ptxgen_error *err)
{
    const int64_t rows = p->symbol[PG_SCATTER_ROWS], src_rows = p->operand[PG_SCATTER_SRC].shape[0];
    p->empty = rows == 0 || p->symbol[PG_SCATTER_N] == 0;
    if (!p->empty && p->symbol[PG_SCATTER_OUT_ROWS] == 0)
        return pg_fail(
            err, PTXGEN_EINDEX,
            "out_rows=0: there are no rows, so each of the %lld values of index is out of "
            "range",
            (long long)rows);
    if (!p->empty && src_rows == 0)
        return pg_fail(err, PTXGEN_EINDEX,
                       "src has no rows, so each of the %lld values of src_index is out of range",
                       (long long)rows);
    return PTXGEN_OK;
}

/* A kernel that reads a plain index sorts it first. */
static const pg_family *helper(const void *key, void *helper_key)
{
    const pg_scatter_add_key *k = key;
    pg_index_sort_key *h = helper_key;
    if (k->schedule != PTXGEN_SCHEDULE_OWNER)
        return NULL;
    *h = (pg_index_sort_key){.arch = k->arch, .index = k->index, .oob = k->oob};
    return &pg_family_index_sort;
}

/* src once, its rows of out read and written. */
static void work(const pg_problem *p, double *flop, double *bytes)
{
    const pg_view *src = &p->operand[PG_SCATTER_SRC];
    (void)flop;
    *bytes =
        3.0 * (double)p->symbol[PG_SCATTER_ROWS] * (double)p->symbol[PG_SCATTER_N] * src->bits / 8;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

PG_DEFINE_FAMILY(scatter_add, .summary = "out[index[i], :] += src[i, :]",
                 .params = {params, sizeof params / sizeof *params, sizeof(pg_scatter_add_key)},
                 .plan_size = sizeof(pg_scatter_add_plan), .default_arch = 900,
                 .function = &function_seam,
                 .operands = {operands, COUNT(operands), symbols, COUNT(symbols)},
                 .sequence = pg_scatter_add_sequence, .launch_step = pg_scatter_add_launch_step,
                 .helper = helper, .inexact = true, .work = work, .bind = bind,
                 .choose = pg_scatter_add_choose, .generic = pg_scatter_add_generic,
                 .other_bits = other_bits, .limits = limits, .empty = find_empty);
