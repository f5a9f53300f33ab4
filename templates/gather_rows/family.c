/* The gather_rows family: parameters, operands and contract. */
#include "gather_rows/gather_rows.h"

static const char *const vector_words[] = {"1", "2", "4", "8", "16", NULL};
static const char *const index_words[] = {"i64", "i32", NULL};
static const char *const oob_words[] = {"record", "trap", "unchecked", NULL};

#define FIELD(name) offsetof(pg_gather_rows_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "target architecture, sm_90 and up"},
    {"vector", PG_PARAM_CHOICE, FIELD(vector), vector_words, .def = 4,
     .doc = "bytes that a thread moves at once: rows, strides and addresses are multiples of it",
     .from = PG_FROM_HOOK, .less_serves = true},
    {"index", PG_PARAM_CHOICE, FIELD(index), index_words, .doc = "type of index",
     .from = PG_FROM_DTYPE, .source = PG_GATHER_INDEX},
    {"oob", PG_PARAM_CHOICE, FIELD(oob), oob_words,
     .doc = "a bad index: record (leave the row of out, report it), trap (lose the context), "
            "unchecked"},
    {"pieces", PG_PARAM_INTEGER, FIELD(pieces), .zero_words = {"auto"}, .min = 1, .max = 8,
     .doc = "vectors that a thread has in flight; auto: 4"},
};

static const ptxgen_dtype dtypes[] = {
    PTXGEN_F32,  PTXGEN_F16,  PTXGEN_BF16,  PTXGEN_F64, PTXGEN_S8,   PTXGEN_U8,
    PTXGEN_S16,  PTXGEN_U16,  PTXGEN_S32,   PTXGEN_U32, PTXGEN_S64,  PTXGEN_U64,
    PTXGEN_E4M3, PTXGEN_E5M2, PTXGEN_UE8M0, PTXGEN_C64, PTXGEN_C128, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype index_dtypes[] = {PTXGEN_S64, PTXGEN_S32, PTXGEN_DTYPE_NONE};

static const pg_symbol symbols[] = {
    [PG_GATHER_ROWS] = {"rows", 0, INT64_MAX, "rows of out, values of index"},
    [PG_GATHER_SRC_ROWS] = {"src_rows", 0, INT64_MAX, "rows of src"},
    [PG_GATHER_N] = {"n", 0, INT64_MAX, "elements of a row"},
};

static const pg_operand operands[] = {
    [PG_GATHER_OUT] = {"out", PG_OUT, .rank = 2, .extents = {PG_GATHER_ROWS, PG_GATHER_N},
                       .dtypes = dtypes, .doc = "the rows that index names"},
    [PG_GATHER_SRC] = {"src", PG_IN, .rank = 2, .extents = {PG_GATHER_SRC_ROWS, PG_GATHER_N},
                       .dtypes = dtypes, .same_dtype_as = 1 + PG_GATHER_OUT, .broadcast = true,
                       .doc = "the rows to choose from"},
    [PG_GATHER_INDEX] = {"index", PG_INDEX, .rank = 1, .extents = {PG_GATHER_ROWS},
                         .dtypes = index_dtypes, .indexes = 1 + PG_GATHER_SRC_ROWS,
                         .doc = "the row of src that each row of out is"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void generic(const pg_problem *p, void *key)
{
    (void)p; /* a kernel serves rows of every length */
    ((pg_gather_rows_key *)key)->pieces = 0;
}

PG_DEFINE_FAMILY(gather_rows, .summary = "out[i, :] = src[index[i], :]",
                 .params = {params, COUNT(params), sizeof(pg_gather_rows_key)},
                 .plan_size = sizeof(pg_gather_rows_plan), .default_arch = 900,
                 .operands = {operands, COUNT(operands), symbols, COUNT(symbols)},
                 .bind = pg_gather_rows_bind, .generic = generic);
