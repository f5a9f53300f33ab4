/* The tcgen05_copy family: parameters and contract. */
#include "tcgen05_copy/tcgen05_copy.h"

#define DTYPES(X) PG_DTYPE_F32(X) PG_DTYPE_S32(X) PG_DTYPE_U32(X)
static const ptxgen_dtype dtypes[] = PG_DTYPE_LIST(DTYPES);
static const char *const dtype_words[] = PG_DTYPE_WORDS(DTYPES);

#define FIELD(name) offsetof(pg_tcgen05_copy_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "sm_100a, sm_100f, sm_103a or sm_103f"},
    {"m", PG_PARAM_INTEGER, FIELD(m), .zero_words = {"auto"}, .min = 1, .max = 1 << 16,
     .doc = "rows: 128, 256 or 512, m / 128 * n at most 512 and all in shared memory; auto: 128",
     .from = PG_FROM_SYMBOL, .source = PG_COPY_M},
    {"n", PG_PARAM_INTEGER, FIELD(n), .zero_words = {"auto"}, .min = 1, .max = 1 << 16,
     .doc = "columns, a power of two from 16 to 512; auto: 128", .from = PG_FROM_SYMBOL,
     .source = PG_COPY_N},
    {"block", PG_PARAM_INTEGER, FIELD(block), .zero_words = {"auto"}, .min = 1, .max = 512,
     .doc = "columns of a tile of tensor memory, a power of two; auto: n"},
    {"dtype", PG_PARAM_CHOICE, FIELD(dtype), dtype_words, .doc = "element type: 32 bits",
     .from = PG_FROM_DTYPE, .source = PG_COPY_OUT},
    {"swizzle", PG_PARAM_INTEGER, FIELD(swizzle), .zero_words = {"auto"}, .min = 1, .max = 128,
     .doc = "bytes of the swizzle in shared memory: 32, 64 or 128; auto: the widest that fits n"},
};

static const pg_symbol symbols[] = {
    [PG_COPY_M] = {"m", 1, INT32_MAX, "rows"},
    [PG_COPY_N] = {"n", 1, INT32_MAX, "columns"},
};

static const pg_operand operands[] = {
    [PG_COPY_OUT] = {"out", PG_OUT, .rank = 2, .extents = {PG_COPY_M, PG_COPY_N}, .dtypes = dtypes,
                     .alignment = 16, .needed_by = "16-byte stores", .doc = "the copy"},
    [PG_COPY_IN] = {"in", PG_IN, .rank = 2, .extents = {PG_COPY_M, PG_COPY_N}, .dtypes = dtypes,
                    .same_dtype_as = 1 + PG_COPY_OUT, .broadcast = true, .alignment = 16,
                    .needed_by = "16-byte loads", .doc = "what is copied"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

PG_DEFINE_FAMILY(tcgen05_copy, .summary = "out = in, through tensor memory (tcgen05.cp)",
                 .params = {params, sizeof params / sizeof *params, sizeof(pg_tcgen05_copy_key)},
                 .plan_size = sizeof(pg_tcgen05_copy_plan), .default_arch = 1001,
                 .arch_specific = true,
                 .operands = {operands, COUNT(operands), symbols, COUNT(symbols)},
                 .no_generic = "a kernel is of one shape");
