/* The matmul_scaled family: parameters and contract. */
#include "matmul_scaled/matmul_scaled.h"

static const char *const format_words[] = {"mxfp8", "mxfp4", "nvfp4", NULL};
static const char *const out_words[] = {"f32", "f16", "bf16", NULL};

#define FIELD(name) offsetof(pg_matmul_scaled_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "sm_100a, sm_100f, sm_103a or sm_103f"},
    {"a", PG_PARAM_CHOICE, FIELD(a), format_words,
     .doc = "A: mxfp8 (e4m3, a ue8m0 scale per 32), mxfp4 (e2m1, ue8m0 per 32), nvfp4 (e2m1, ue4m3 "
            "per 16)"},
    {"b", PG_PARAM_CHOICE, FIELD(b), format_words,
     .doc = "B, stored as [N, K]; nvfp4 only with nvfp4, mxfp8 with mxfp4 needs a K that is a multiple of "
            "128"},
    {"out", PG_PARAM_CHOICE, FIELD(out), out_words, .doc = "element type of D"},
    {"block_n", PG_PARAM_INTEGER, FIELD(block_n), .zero_words = {"auto"}, .min = 1, .max = 256,
     .doc = "columns of a tile (of 128 rows): 128 or 256; auto: 256"},
    {"block_k", PG_PARAM_INTEGER, FIELD(block_k), .zero_words = {"auto"}, .min = 1, .max = 512,
     .doc = "K of a stage: 128, 256 or 512; auto: 128 bytes of a row"},
    {"stages", PG_PARAM_INTEGER, FIELD(stages), .zero_words = {"auto"}, .min = 1, .max = 6,
     .doc = "stages of A, B and scales in shared memory; auto: as many as fit"},
    {"group_m", PG_PARAM_INTEGER, FIELD(group_m), .zero_words = {"auto"}, .min = 1, .max = 1024,
     .doc = "rows of tiles that are worked on together, for L2; auto: 8"},
};

const pg_family pg_family_matmul_scaled = {
    .name = "matmul_scaled",
    .summary = "D = A @ B^T, block-scaled mxfp8, mxfp4, nvfp4",
    .params = {params, sizeof params / sizeof *params, sizeof(pg_matmul_scaled_key)},
    .plan_size = sizeof(pg_matmul_scaled_plan),
    .default_arch = 1001,
    .arch_specific = true,
    .whole_program = true,
    .resolve = pg_matmul_scaled_resolve,
    .plan = pg_matmul_scaled_plan_from,
    .emit = pg_matmul_scaled_emit,
    .launch = pg_matmul_scaled_launch,
};
