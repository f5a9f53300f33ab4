/* The matmul_accumulate family: parameters and contract. */
#include "matmul_accumulate/matmul_accumulate.h"

static const char *const dtype_words[] = {"f16", "bf16", NULL};
static const char *const b_words[] = {"row_major", "transposed", NULL};

#define FIELD(name) offsetof(pg_matmul_accumulate_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch),
     .doc = "sm_100a, sm_100f, sm_103a, sm_103f (tcgen05), or sm_90a (wgmma)"},
    {"dtype", PG_PARAM_CHOICE, FIELD(dtype), dtype_words,
     .doc = "element type of A and B; C and D are f32"},
    {"b", PG_PARAM_CHOICE, FIELD(b), b_words,
     .doc = "B in memory: row_major [K, N], transposed [N, K]"},
    {"block_m", PG_PARAM_INTEGER, FIELD(block_m), .zero_words = {"auto"}, .min = 1, .max = 256,
     .doc = "rows of a CTA's tile: 128"},
    {"block_n", PG_PARAM_INTEGER, FIELD(block_n), .zero_words = {"auto"}, .min = 1, .max = 256,
     .doc = "columns of a tile: 64, 128 or 256; auto: 128, on sm_90a by "
            "the problem's size in a call, 256 otherwise"},
    {"block_k", PG_PARAM_INTEGER, FIELD(block_k), .zero_words = {"auto"}, .min = 1, .max = 128,
     .doc = "K of a stage: 32, 64 or 128; auto: 64"},
    {"stages", PG_PARAM_INTEGER, FIELD(stages), .zero_words = {"auto"}, .min = 2, .max = 6,
     .doc = "stages of A and B in shared memory; auto: as many as fit"},
    {"group_m", PG_PARAM_INTEGER, FIELD(group_m), .zero_words = {"auto"}, .min = 1, .max = 1024,
     .doc = "rows of tiles that are worked on together, for L2; auto: 8, on sm_90a 2"},
    {"swizzle", PG_PARAM_INTEGER, FIELD(swizzle), .zero_words = {"auto"}, .min = 1, .max = 128,
     .doc = "bytes of the swizzle of A and B: 32, 64 or 128; auto: the widest that fits"},
    {"ctas", PG_PARAM_INTEGER, FIELD(ctas), .zero_words = {"auto"}, .min = 1, .max = 2,
     .doc = "2: a pair of CTAs shares a tile of 256 rows (cta_group::2; on sm_90a: multicast of "
            "B); auto: 1, on sm_90a by the problem's size in a call, 1 otherwise"},
};

const pg_family pg_family_matmul_accumulate = {
    .name = "matmul_accumulate",
    .summary = "D = A @ B + C, f16 or bf16 with f32 C and D",
    .params = {params, sizeof params / sizeof *params, sizeof(pg_matmul_accumulate_key)},
    .plan_size = sizeof(pg_matmul_accumulate_plan),
    .default_arch = 1001,
    .arch_specific = true,
    .whole_program = true,
    .resolve = pg_matmul_accumulate_resolve,
    .plan = pg_matmul_accumulate_plan_from,
    .emit = pg_matmul_accumulate_emit,
    .launch = pg_matmul_accumulate_launch,
};
