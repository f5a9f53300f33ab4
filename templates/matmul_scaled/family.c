/* The matmul_scaled family: parameters and contract. */
#include "matmul_scaled/matmul_scaled.h"

static const char *const format_words[] = {"mxfp8", "mxfp4", "nvfp4", NULL};

#define FIELD(name) offsetof(pg_matmul_scaled_key, name)

static const ptxgen_dtype element_dtypes[] = {PTXGEN_E4M3, PTXGEN_E2M1, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype scale_dtypes[] = {PTXGEN_UE8M0, PTXGEN_E4M3, PTXGEN_DTYPE_NONE};
static const char maps[] = "tensor-map loads";

/* Tensor coordinates are 32-bit and signed, and the last tile may reach past the end. */
enum { MAX_EXTENT = INT32_MAX - 4096 };

static const char packing[] = "pack them with ptxgen_pack_scales";

static int64_t d_scale_bytes(const pg_problem *p)
{
    return pg_epilogue_scale_bytes(p, PG_SCALED_STEPS, PG_SCALED_D);
}

static const pg_symbol symbols[] = {
    [PG_SCALED_M] = {"m", 0, MAX_EXTENT, "rows of A and D"},
    [PG_SCALED_N] = {"n", 0, MAX_EXTENT, "rows of B, columns of D"},
    [PG_SCALED_K] = {"k", 1, MAX_EXTENT, "elements of a row of A and B"},
    [PG_SCALED_A_BYTES] = {"a_scale_bytes", 0, INT64_MAX, "packed scales of A",
                           .least = pg_matmul_scaled_a_scale_bytes, .remedy = packing},
    [PG_SCALED_B_BYTES] = {"b_scale_bytes", 0, INT64_MAX, "packed scales of B",
                           .least = pg_matmul_scaled_b_scale_bytes, .remedy = packing},
    [PG_SCALED_D_BYTES] = {"d_scale_bytes", 0, INT64_MAX, "packed scales of D",
                           .least = d_scale_bytes, .remedy = "see ptxgen_packed_scales_bytes"},
};

static const pg_operand operands[] = {
    [PG_SCALED_A] = {"a", PG_IN, .rank = 2, .extents = {PG_SCALED_M, PG_SCALED_K},
                     .dtypes = element_dtypes, .alignment = 16, .needed_by = maps, .doc = "A"},
    [PG_SCALED_B] = {"b", PG_IN, .rank = 2, .extents = {PG_SCALED_N, PG_SCALED_K},
                     .dtypes = element_dtypes, .alignment = 16, .needed_by = maps,
                     .doc = "B, stored as [N, K]"},
    [PG_SCALED_A_SCALES] = {"a_scales", PG_IN, .rank = 1, .extents = {PG_SCALED_A_BYTES},
                            .dtypes = scale_dtypes, .alignment = 16, .needed_by = maps,
                            .doc = "scales of A, as ptxgen_pack_scales packs them: ue8m0, of nvfp4 "
                                   "e4m3"},
    [PG_SCALED_B_SCALES] = {"b_scales", PG_IN, .rank = 1, .extents = {PG_SCALED_B_BYTES},
                            .dtypes = scale_dtypes, .alignment = 16, .needed_by = maps,
                            .doc = "scales of B, likewise"},
    [PG_SCALED_D] = {"d", PG_OUT, .rank = 2, .extents = {PG_SCALED_M, PG_SCALED_N},
                     .dtypes = pg_result_dtypes, .halved_by = 1 + FIELD(steps.gate),
                     .doc = "D, the result"},
    PG_EPILOGUE_OPERANDS(pg_matmul_scaled_key, PG_SCALED_STEPS, PG_SCALED_M, PG_SCALED_N,
                         PG_ONE_MATRIX, PG_SCALED_D_BYTES),
    PG_EPILOGUE_ALPHA_OPERAND(PG_SCALED_STEPS),
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const d_store_words[] = PG_D_STORE_WORDS;
static const char *const tiles_words[] = PG_TILES_WORDS;

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "sm_100a, sm_100f, sm_103a or sm_103f"},
    {"a", PG_PARAM_CHOICE, FIELD(a), format_words,
     .doc = "A: mxfp8 (e4m3, a ue8m0 scale per 32), mxfp4 (e2m1, ue8m0 per 32), nvfp4 (e2m1, ue4m3 "
            "per 16)",
     .from = PG_FROM_HOOK},
    {"b", PG_PARAM_CHOICE, FIELD(b), format_words,
     .doc = "B, stored as [N, K]; nvfp4 only with nvfp4, mxfp8 with mxfp4 needs a K that is a "
            "multiple of "
            "128",
     .from = PG_FROM_HOOK},
    {"out", PG_PARAM_CHOICE, FIELD(out), pg_result_words, .doc = "element type of D",
     .from = PG_FROM_DTYPE, .source = PG_SCALED_D},
    {"block_n", PG_PARAM_INTEGER, FIELD(block_n), .zero_words = {"auto"}, .min = 1, .max = 256,
     .doc = "columns of a tile: 128 or 256; auto: by the problem in a call, 256 "
            "otherwise"},
    {"block_k", PG_PARAM_INTEGER, FIELD(block_k), .zero_words = {"auto"}, .min = 1, .max = 512,
     .doc = "K of a stage: 128, 256 or 512; auto: 128 bytes of a row"},
    {"stages", PG_PARAM_INTEGER, FIELD(stages), .zero_words = {"auto"}, .min = 1, .max = 6,
     .doc = "stages of A, B and scales in shared memory; auto: as many as fit"},
    {"group_m", PG_PARAM_INTEGER, FIELD(group_m), .zero_words = {"auto"}, .min = 1, .max = 1024,
     .doc = "rows of tiles that are worked on together, for L2; auto: 8"},
    {"ctas", PG_PARAM_INTEGER, FIELD(ctas), .zero_words = {"auto"}, .min = 1, .max = 4,
     .doc =
         "2: a pair of CTAs shares a tile of 256 rows (cta_group::2), 1: a tile has 128, 4: two "
         "pairs, one below the other, share what is loaded of B; auto: by the problem in a call, 1 "
         "otherwise"},
    {"ctas_n", PG_PARAM_INTEGER, FIELD(ctas_n), .zero_words = {"auto"}, .min = 1, .max = 4,
     .doc = "2, 4: tiles side by side in a cluster share what is loaded of A; auto: as ctas"},
    {"splits", PG_PARAM_INTEGER, FIELD(splits), .zero_words = {"auto"}, .min = 1, .max = 4,
     .doc = "CTAs, or pairs, of a cluster that add up a part of K each: 2 with block_n=128, 4 with "
            "block_n=256; auto: as ctas"},
    {"d_store", PG_PARAM_CHOICE, FIELD(d_store), d_store_words, .doc = PG_D_STORE_DOC},
    {"tiles", PG_PARAM_CHOICE, FIELD(tiles), tiles_words,
     .doc = PG_TILES_DOC "; auto: static, in a call dynamic with clusters of more than two CTAs"},
    PG_EPILOGUE_PARAMS(pg_matmul_scaled_key),
    PG_EPILOGUE_ALPHA_PARAM(pg_matmul_scaled_key),
};

static int64_t function_number(const void *key)
{
    return ((const pg_matmul_scaled_key *)key)->steps.function;
}

static bool function_exact(const void *key)
{
    return ((const pg_matmul_scaled_key *)key)->out == 0; /* f32 */
}

static void function_shape(const void *key, const char **signature, const char **types)
{
    const pg_matmul_scaled_key *k = key;
    const pg_epilogue e = pg_epilogue_of(&k->steps, pg_matmul_scaled_out(k));
    *signature = pg_epilogue_signature(&e);
    *types = pg_epilogue_types(&e);
}

static const pg_function_seam function_seam = {
    .signature = "float f(float value, int row, int column)",
    .types = "float, float, int, int",
    .shape = function_shape,
    .number = function_number,
    .exact = function_exact,
};

/* amax has no extents and is no reason to launch. */
static ptxgen_status find_empty(pg_problem *p, ptxgen_error *err)
{
    (void)err;
    p->empty = pg_view_is_empty(&p->operand[PG_SCALED_D]);
    return PTXGEN_OK;
}

static void work(const pg_problem *p, double *flop, double *bytes)
{
    (void)bytes;
    *flop = 2.0 * (double)p->symbol[PG_SCALED_M] * (double)p->symbol[PG_SCALED_N] *
            (double)p->symbol[PG_SCALED_K];
}

static void generic(const pg_problem *p, void *key)
{
    (void)p; /* a kernel serves all extents; it is the tile that is chosen for each */
    pg_matmul_scaled_key *k = key;
    k->block_n = k->block_k = k->stages = k->group_m = 0;
    k->ctas = k->ctas_n = k->splits = k->d_store = k->tiles = 0;
}

/* K may be added up in parts. */
static bool other_bits(const void *key)
{
    (void)key;
    return true;
}

PG_DEFINE_FAMILY(matmul_scaled, .summary = "D = A @ B^T, block-scaled mxfp8, mxfp4, nvfp4",
                 .params = {params, sizeof params / sizeof *params, sizeof(pg_matmul_scaled_key)},
                 .plan_size = sizeof(pg_matmul_scaled_plan), .default_arch = 1001,
                 .arch_specific = true, .whole_program = true, .function = &function_seam,
                 .operands = {operands, COUNT(operands), symbols, COUNT(symbols)}, .inexact = true,
                 .work = work, .bind = pg_matmul_scaled_bind, .choose = pg_matmul_scaled_choose,
                 .generic = generic, .other_bits = other_bits, .limits = pg_matmul_scaled_limits,
                 .empty = find_empty);
