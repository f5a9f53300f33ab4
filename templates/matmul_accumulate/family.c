/* The matmul_accumulate family: parameters and contract. */
#include "matmul_accumulate/matmul_accumulate.h"

static const char *const dtype_words[] = {"f16", "bf16", NULL};
static const char *const b_words[] = {"row_major", "transposed", NULL};

#define FIELD(name) offsetof(pg_matmul_accumulate_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "sm_100a, sm_100f, sm_103a (tcgen05), or sm_90a (wgmma)"},
    {"dtype", PG_PARAM_CHOICE, FIELD(dtype), dtype_words, .doc = "element type of A and B; C and D are f32"},
    {"b", PG_PARAM_CHOICE, FIELD(b), b_words, .doc = "B in memory: row_major [K, N], transposed [N, K]"},
    {"block_m", PG_PARAM_INTEGER, FIELD(block_m), NULL, {"auto"}, 1, 256, 0, "rows of a CTA's tile: 128"},
    {"block_n", PG_PARAM_INTEGER, FIELD(block_n), NULL, {"auto"}, 1, 256, 0,
     "columns of a tile: 64, 128 or 256; auto: 128, on sm_90a 256"},
    {"block_k", PG_PARAM_INTEGER, FIELD(block_k), NULL, {"auto"}, 1, 128, 0,
     "K of a stage: 32, 64 or 128; auto: 64"},
    {"stages", PG_PARAM_INTEGER, FIELD(stages), NULL, {"auto"}, 2, 6, 0,
     "stages of A and B in shared memory; auto: as many as fit"},
    {"group_m", PG_PARAM_INTEGER, FIELD(group_m), NULL, {"auto"}, 1, 1024, 0,
     "rows of tiles that are worked on together, for L2; auto: 8"},
    {"swizzle", PG_PARAM_INTEGER, FIELD(swizzle), NULL, {"auto"}, 1, 128, 0,
     "bytes of the swizzle of A and B: 32, 64 or 128; auto: the widest that fits"},
    {"ctas", PG_PARAM_INTEGER, FIELD(ctas), NULL, {"auto"}, 1, 2, 0,
     "2: a pair of CTAs shares a tile of 256 rows (cta_group::2; on sm_90a: multicast of B); auto: 1"},
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
