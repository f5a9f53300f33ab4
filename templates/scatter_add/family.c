/* The scatter_add family: parameters and contract. */
#include "scatter_add/scatter_add.h"

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const char *const yes_no[] = {"no", "yes", NULL};
static const char *const index_words[] = {"i64", "i32", NULL};
static const char *const schedule_words[] = {"auto", "seed", "bulk", "vector", NULL};
static const char *const oob_words[] = {"record", "trap", "unchecked", NULL};

#define FIELD(name) offsetof(pg_scatter_add_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "target architecture, sm_90 and up"},
    {"dtype", PG_PARAM_CHOICE, FIELD(dtype), dtype_words, .doc = "element type of out and src"},
    {"n",
     PG_PARAM_INTEGER,
     FIELD(n),
     NULL,
     {"dynamic"},
     1,
     INT64_C(1) << 31,
     0,
     "elements per row; dynamic: one kernel serves every row length"},
    {"contig", PG_PARAM_CHOICE, FIELD(contig), yes_no, .def = 1,
     .doc = "yes: rows of out and src follow each other without a gap"},
    {"index", PG_PARAM_CHOICE, FIELD(index), index_words, .doc = "type of index"},
    {"schedule", PG_PARAM_CHOICE, FIELD(schedule), schedule_words,
     .doc = "seed: tensor-map loads, two stages; bulk: several rows at once; vector: 16-byte "
            "reductions, panels"},
    {"oob", PG_PARAM_CHOICE, FIELD(oob), oob_words,
     .doc = "a bad index: record (skip the row, report it), trap (lose the context), unchecked"},
    {"tile",
     PG_PARAM_INTEGER,
     FIELD(tile),
     NULL,
     {"auto"},
     256,
     16384,
     0,
     "bulk: bytes in one stage"},
    {"stages", PG_PARAM_INTEGER, FIELD(stages), NULL, {"auto"}, 2, 16, 0, "bulk: stages per warp"},
    {"warps",
     PG_PARAM_INTEGER,
     FIELD(warps),
     NULL,
     {"auto"},
     1,
     16,
     0,
     "bulk, vector: warps per CTA"},
    {"ctas", PG_PARAM_INTEGER, FIELD(ctas), NULL, {"auto"}, 1, 32, 0, "bulk, vector: CTAs per SM"},
    {"pieces",
     PG_PARAM_INTEGER,
     FIELD(pieces),
     NULL,
     {"auto"},
     1,
     8,
     0,
     "vector: rows that a thread has in flight"},
    {"panel",
     PG_PARAM_INTEGER,
     FIELD(panel),
     NULL,
     {"auto"},
     16,
     INT64_C(1) << 33,
     0,
     "vector: bytes of a row that are finished for all rows before the next ones; auto: by the "
     "size of out"},
};

const pg_family pg_family_scatter_add = {
    .name = "scatter_add",
    .summary = "out[index[i], :] += src[i, :]",
    .params = {params, sizeof params / sizeof *params, sizeof(pg_scatter_add_key)},
    .plan_size = sizeof(pg_scatter_add_plan),
    .default_arch = 900,
    .resolve = pg_scatter_add_resolve,
    .plan = pg_scatter_add_plan_from,
    .emit = pg_scatter_add_emit,
    .launch = pg_scatter_add_launch,
};
