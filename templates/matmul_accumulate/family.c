/* The matmul_accumulate family: parameters and contract. */
#include "matmul_accumulate/hopper_model.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const dtype_words[] = PG_DTYPE_WORDS(PG_MATMUL_TYPES);
static const char *const layout_words[] = {"row_major", "transposed", NULL};
static const char *const c_words[] = {"add", "none", NULL};
static const char *const schedule_words[] = {"auto", "cooperative", "pingpong", "seed",
                                             "fill", "mma_sync",    NULL};
static const char *const yes_words[] = {"auto", "no", "yes", NULL};
static const char *const stream_words[] = {"auto", "no", "yes", "ahead", NULL};
static const ptxgen_dtype counts[] = {PTXGEN_S32, PTXGEN_S64, PTXGEN_DTYPE_NONE};
static const char *const grouped_words[] = {"no", "s32", "s64", NULL};
static const char *const scale_words[] = {"none", "alpha_beta", NULL};
static const char *const copy_words[] = {"none", "a", "b", "both", NULL};
static const char *const phases_words[] = {"auto", "none", "1", "2", "4", "8", NULL};
static const char *const tiles_words[] = PG_TILES_WORDS;
static const char *const d_store_words[] = PG_D_STORE_WORDS;
static const char *const c_load_words[] = {"auto", "direct", "ring", "late", "rows", NULL};

#define FIELD(name) offsetof(pg_matmul_accumulate_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch),
     .doc =
         "sm_100a, sm_100f, sm_103a, sm_103f (tcgen05), sm_90a (wgmma), or any other (mma.sync)"},
    {"dtype", PG_PARAM_CHOICE, FIELD(dtype), dtype_words,
     .doc = "element type of A and B; on sm_90a and sm_100a also e4m3, e5m2 and f32 (multiplied as "
            "tf32), K adjacent in both",
     .from = PG_FROM_DTYPE, .source = PG_MATMUL_A},
    {"b", PG_PARAM_CHOICE, FIELD(b), layout_words,
     .doc = "B in memory: row_major [K, N], transposed [N, K]", .from = PG_FROM_HOOK},
    {"block_m", PG_PARAM_INTEGER, FIELD(block_m), .zero_words = {"auto"}, .min = 1, .max = 256,
     .doc = "rows of a CTA's tile: 128; on sm_90a 64 or 128 for each warpgroup that shares it"},
    {"block_n", PG_PARAM_INTEGER, FIELD(block_n), .zero_words = {"auto"}, .min = 1, .max = 256,
     .doc = "columns of a tile: 64, 128 or 256; on sm_90a any multiple of 8 (of 16, if N or M is "
            "adjacent in memory); auto: by the problem's size in a call, 128 (sm_90a: 256) "
            "otherwise"},
    {"block_k", PG_PARAM_INTEGER, FIELD(block_k), .zero_words = {"auto"}, .min = 1, .max = 128,
     .doc = "K of a stage: 32, 64 or 128; auto: 128 bytes"},
    {"stages", PG_PARAM_INTEGER, FIELD(stages), .zero_words = {"auto"}, .min = 2, .max = 24,
     .doc = "stages of A and B in shared memory; auto: as many as fit"},
    {"group_m", PG_PARAM_INTEGER, FIELD(group_m), .zero_words = {"auto"}, .min = 1, .max = 1024,
     .doc = "rows of tiles that are worked on together, for L2; auto: 8"},
    {"swizzle", PG_PARAM_INTEGER, FIELD(swizzle), .zero_words = {"auto"}, .min = 1, .max = 128,
     .doc = "bytes of the swizzle of A and B: 32, 64 or 128; auto: the widest that fits"},
    {"ctas", PG_PARAM_INTEGER, FIELD(ctas), .zero_words = {"auto"}, .min = 1, .max = 4,
     .doc = "2: a pair of CTAs shares a tile of 256 rows (cta_group::2), 4: two pairs above each "
            "other share what is loaded of B; on sm_90a 2 or 4 CTAs above each other share it; "
            "auto: by the problem's size in a call, 1 otherwise"},
    {"a", PG_PARAM_CHOICE, FIELD(a), layout_words,
     .doc = "A in memory: row_major [M, K], transposed [K, M]", .from = PG_FROM_HOOK},
    {"c", PG_PARAM_CHOICE, FIELD(c), c_words, .doc = "none: D = A @ B", .from = PG_FROM_HOOK},
    {"schedule", PG_PARAM_CHOICE, FIELD(schedule), schedule_words,
     .doc =
         "sm_90a: cooperative, warpgroups share a tile; pingpong, each has its own and they "
         "take turns; auto: cooperative, in a call by the problem; sm_100a: fill, C goes through "
         "registers into a free accumulator; seed, as a tile through shared memory; auto: fill; "
         "mma_sync: the kernel of all other GPUs"},
    {"warpgroups", PG_PARAM_INTEGER, FIELD(warpgroups), .zero_words = {"auto"}, .min = 1, .max = 3,
     .doc = "sm_90a: warpgroups of a CTA that multiply; auto: 2"},
    {"ctas_n", PG_PARAM_INTEGER, FIELD(ctas_n), .zero_words = {"auto"}, .min = 1, .max = 4,
     .doc = "sm_90a: CTAs side by side that share loads by multicast; sm_100a: 2 or 4 tiles side "
            "by side do; auto: by the problem's size in a call, 1 otherwise"},
    {"splits", PG_PARAM_INTEGER, FIELD(splits), .zero_words = {"auto"}, .min = 1, .max = 8,
     .doc =
         "CTAs of a cluster (sm_100a: or pairs; 2 with block_n=128, 4 with block_n=256) that add "
         "up a part of K each; auto: as ctas_n"},
    {"slices", PG_PARAM_INTEGER, FIELD(slices), .zero_words = {"auto"}, .min = 1, .max = 64,
     .doc = "sm_90a: parts of K that any CTAs add up, to a workspace that a second kernel sums; "
            "auto: 1"},
    {"swap", PG_PARAM_CHOICE, FIELD(swap), yes_words,
     .doc = "sm_90a: yes: the transposed problem, for few rows (block_m is then of N, block_n of "
            "M); auto: no"},
    {"c_load", PG_PARAM_CHOICE, FIELD(c_load), c_load_words,
     .doc = "sm_90a: C, or without it a residual, comes to registers direct, or through a ring of "
            "slots in shared memory; late: through the ring, and is added behind the "
            "multiplications; auto: by the problem's size in a call, direct otherwise; mma_sync: "
            "rows: C and D go through shared memory, a warp along a row"},
    {"c_slots", PG_PARAM_INTEGER, FIELD(c_slots), .zero_words = {"auto"}, .min = 1, .max = 16,
     .doc = "sm_90a: slots of the ring, 128 bytes of each row of a tile; auto: a tile's, at "
            "most 64 KB"},
    {"d_store", PG_PARAM_CHOICE, FIELD(d_store), d_store_words, .doc = "sm_100a: " PG_D_STORE_DOC},
    {"tiles", PG_PARAM_CHOICE, FIELD(tiles), tiles_words,
     .doc = "sm_100a: " PG_TILES_DOC
            "; auto: static, in a call dynamic with clusters of more than two CTAs"},
    {"copy", PG_PARAM_CHOICE, FIELD(copy), copy_words,
     .doc = "sm_90a: operands that another kernel copies to aligned rows in a workspace first; in "
            "a call those that "
            "need it"},
    {"phases", PG_PARAM_CHOICE, FIELD(phases), phases_words,
     .doc = "sm_90a: A (with swap, B) is read where it lies, whatever its alignment: rows that "
            "begin at the same place of 16 bytes are a problem of their own, or, if K is not "
            "adjacent, a slice of it; every 8th row does, or every 4th, 2nd, 1st; auto: by the "
            "problem's size in a call, none otherwise"},
    {"stream", PG_PARAM_CHOICE, FIELD(stream), stream_words,
     .doc = "sm_90a: yes: A (with swap, B) is read once, and need not stay in L2; ahead: L2 is "
            "asked for its first part before the kernel before has ended"},
    {"c_dtype", PG_PARAM_CHOICE, FIELD(c_dtype), pg_side_dtype_words,
     .doc = "element type of C: f32, or that of D", .from = PG_FROM_HOOK},
    {"d_dtype", PG_PARAM_CHOICE, FIELD(d_dtype), pg_result_words,
     .doc = "element type of D; sums are f32 and rounded once", .from = PG_FROM_DTYPE,
     .source = PG_MATMUL_D},
    {"scale", PG_PARAM_CHOICE, FIELD(scale), scale_words,
     .doc = "alpha_beta: the product is multiplied by alpha, C by beta", .from = PG_FROM_HOOK},
    {"batched", PG_PARAM_CHOICE, FIELD(batch), pg_no_yes_words,
     .doc = "yes: many matrices in one call, at a stride of each operand", .from = PG_FROM_HOOK},
    {"grouped", PG_PARAM_CHOICE, FIELD(grouped), grouped_words,
     .doc = "groups of rows, each with its matrix of B (a batch); the type of their row counts",
     .from = PG_FROM_HOOK},
    PG_EPILOGUE_PARAMS(pg_matmul_accumulate_key),
};

static const ptxgen_dtype u8[] = {PTXGEN_U8, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype scalars[] = {PTXGEN_F32, PTXGEN_F64, PTXGEN_DTYPE_NONE};
static const char maps[] = "tensor-map loads";

/* Tensor coordinates are 32-bit and signed, and the last tile may reach past the end. */
enum { MAX_EXTENT = INT32_MAX - 4096, MAX_BATCH = 1 << 24 };

static int64_t scale_bytes(const pg_problem *p)
{
    return pg_epilogue_scale_bytes(p, PG_MATMUL_STEPS, PG_MATMUL_D);
}

static const pg_symbol symbols[] = {
    [PG_MATMUL_M] = {"m", 0, MAX_EXTENT, "rows of A, C and D"},
    [PG_MATMUL_N] = {"n", 0, MAX_EXTENT, "columns of B, C and D"},
    [PG_MATMUL_K] = {"k", 0, MAX_EXTENT, "columns of A, rows of B; 0: D = C"},
    [PG_MATMUL_BYTES] = {"bytes", 0, INT64_MAX, "bytes of workspace"},
    [PG_MATMUL_SCALE_BYTES] = {"d_scale_bytes", 0, INT64_MAX, "packed scales of D",
                               .least = scale_bytes, .remedy = "see ptxgen_packed_scales_bytes"},
    [PG_MATMUL_BATCH] = {"batch", 0, MAX_BATCH, "matrices of A, B, C and D"},
};

/* One matrix, or one for each of a batch. */
#define MATRICES(rows, columns)                                                                    \
    .rank = PG_MATMUL_RANK, .leading = 1, .rows_by = 1 + PG_MATMUL_GROUP_ROWS,                     \
    .extents = {PG_MATMUL_BATCH, rows, columns}

static const pg_operand operands[] = {
    [PG_MATMUL_A] = {"a", PG_IN, MATRICES(PG_MATMUL_M, PG_MATMUL_K), .dtypes = pg_matmul_dtypes,
                     .inner = PG_INNER_EITHER, .doc = "A"},
    [PG_MATMUL_B] = {"b", PG_IN, MATRICES(PG_MATMUL_K, PG_MATMUL_N), .dtypes = pg_matmul_dtypes,
                     .same_dtype_as = 1 + PG_MATMUL_A, .inner = PG_INNER_EITHER, .doc = "B"},
    [PG_MATMUL_C] = {"c", PG_IN, MATRICES(PG_MATMUL_M, PG_MATMUL_N), .dtypes = pg_side_dtypes,
                     .optional = true, .doc = "C, what the product is added to; none: zeros"},
    [PG_MATMUL_D] = {"d", PG_OUT, MATRICES(PG_MATMUL_M, PG_MATMUL_N), .dtypes = pg_result_dtypes,
                     .same_as = 1 + PG_MATMUL_C, .halved_by = 1 + FIELD(steps.gate),
                     .doc = "D, the result; may be C itself"},
    [PG_MATMUL_WORKSPACE] = {"workspace", PG_WORKSPACE, .optional = true, .rank = 1,
                             .extents = {PG_MATMUL_BYTES}, .dtypes = u8, .alignment = 16,
                             .needed_by = "vector accesses",
                             .doc =
                                 "device memory for slices of K and copies of odd rows (sm_90a)"},
    [PG_MATMUL_ALPHA] = {"alpha", PG_SCALAR, .optional = true, .dtypes = scalars, .scalar = 1,
                         .doc = "factor of the product; 0: A and B are not read"},
    [PG_MATMUL_BETA] = {"beta", PG_SCALAR, .optional = true, .dtypes = scalars, .scalar = 1,
                        .doc = "factor of C; 0: C is not read"},
    PG_EPILOGUE_OPERANDS(pg_matmul_accumulate_key, PG_MATMUL_STEPS, PG_MATMUL_M, PG_MATMUL_N,
                         MATRICES, PG_MATMUL_SCALE_BYTES),
    [PG_MATMUL_GROUP_ROWS] = {"group_rows", PG_IN, .optional = true, .rank = 1,
                              .extents = {PG_MATMUL_BATCH}, .dtypes = counts,
                              .belongs_to = 1 + FIELD(grouped),
                              .doc = "rows of each group, that of a matrix of B"},
};

static void bind(const pg_problem *p, void *key)
{
    pg_matmul_accumulate_key *k = key;
    k->a = p->operand[PG_MATMUL_A].transposed;
    k->b = p->operand[PG_MATMUL_B].transposed;
    const pg_view *c = &p->operand[PG_MATMUL_C];
    const float beta = pg_matmul_beta(p);
    k->c = !c->present || beta == 0;
    if (!k->c)
        k->c_dtype = c->dtype == PTXGEN_F32 ? 0 : c->dtype == PTXGEN_F16 ? 1 : 2;
    k->scale = pg_matmul_alpha(p) != 1 || (!k->c && beta != 1);
    const pg_view *groups = &p->operand[PG_MATMUL_GROUP_ROWS];
    k->grouped = !groups->present ? 0 : groups->dtype == PTXGEN_S32 ? 1 : 2;
    k->batch = p->symbol[PG_MATMUL_BATCH] > 1 || k->grouped;
    pg_epilogue_bind(p, PG_MATMUL_STEPS, &k->steps);
}

enum { HOPPER = 901 };

/* Rows begin off 128-byte lines: more of them are fetched. */
static bool straddles(const pg_view *v)
{
    enum { LINE = 128 };
    return ((uintptr_t)v->data | (uintptr_t)(v->stride[pg_matmul_across(v)] * v->bits / 8)) %
               LINE !=
           0;
}

/* Rows of C or D that share sectors of memory with their neighbours. */
static bool ragged(const pg_view *v)
{
    enum { SECTOR = 32 };
    return v->present && pg_matmul_low_bits(v) % SECTOR != 0;
}

/* Rows of C or D in which two elements do not lie as one. */
static bool is_odd(const pg_view *v)
{
    const uintptr_t pair = 2 * (uintptr_t)v->bits / 8;
    return v->present && pg_matmul_low_bits(v) % pair != 0;
}

/* Of the rows of both: bytes, as far as it matters. */
static int alignment_of(const pg_view *a, const pg_view *b)
{
    enum { MOST = 16 };
    const uintptr_t bits = pg_matmul_low_bits(a) | pg_matmul_low_bits(b) | MOST;
    return (int)(bits & -bits);
}

static size_t ring_operand(const pg_matmul_accumulate_key *k)
{
    return k->c ? PG_MATMUL_STEPS + PG_SIDE_RESIDUAL : PG_MATMUL_C;
}

static bool takes_map(const pg_view *v)
{
    enum { ALIGNMENT = 16 };
    return v->present && pg_matmul_low_bits(v) % ALIGNMENT == 0;
}

/* C, or without it the residual, can come through Hopper's ring. */
static bool takes_ring(const pg_problem *p, const pg_matmul_accumulate_key *k)
{
    const pg_view *v = &p->operand[ring_operand(k)];
    return pg_hopper_chunk_columns(k) && takes_map(v);
}

/* Sums that begin with C, as those do that it does not come late to, begin with beta / alpha times
 * it, which must stay in range; beyond, C is added to the sum of slices. */
static bool begins_out_of_range(const pg_problem *p, const pg_matmul_accumulate_key *k)
{
    const float alpha = pg_matmul_alpha(p), ratio = fabsf(pg_matmul_beta(p) / alpha);
    return k->scale && !k->c && k->c_load != PG_C_LATE && alpha != 0 &&
           !(ratio >= 0x1p-40F && ratio <= 0x1p40F);
}

/* What addresses and factors demand, whatever the extents. */
static void choose_by_operands(const pg_problem *p, pg_matmul_accumulate_key *k)
{
    const pg_view *v = p->operand;
    if (k->arch == HOPPER && k->steps.gate && !k->swap)
        k->swap = PG_NO; /* the others have no gate */
    const int bytes = pg_matmul_operand_bytes(k);
    if (pg_phases_of(k->phases) && !k->swap)
        k->swap = PG_NO;
    const int in_place = !pg_phases_of(k->phases) ? 0 : k->swap == PG_YES ? PG_COPY_B : PG_COPY_A;
    if (pg_matmul_accumulate_engine(k) == PG_ENGINE_WGMMA && pg_matmul_depth(p) && bytes == 2)
        k->copy |= ((takes_map(&v[PG_MATMUL_A]) ? 0 : PG_COPY_A) |
                    (takes_map(&v[PG_MATMUL_B]) ? 0 : PG_COPY_B)) &
                   ~in_place;
    if (k->grouped)
        k->splits = k->splits ? k->splits : 1;
    if (k->arch == HOPPER && k->grouped) {
        k->slices = k->slices ? k->slices : 1;
        k->swap = k->swap ? k->swap : PG_NO;
    }
    if (k->arch == HOPPER && begins_out_of_range(p, k) && !k->slices && !k->splits)
        k->slices = 2;
}

/* Tiles as they come without a problem, K in one part where C allows it. */
static void generic(const pg_problem *p, void *key)
{
    pg_matmul_accumulate_key *k = key;
    k->block_m = k->block_n = k->block_k = k->stages = k->group_m = k->swizzle = k->ctas = 0;
    k->schedule = k->warpgroups = k->ctas_n = k->splits = k->slices = k->swap = 0;
    k->c_load = k->c_slots = k->stream = k->d_store = k->tiles = k->phases = 0;
    choose_by_operands(p, k);
}

/* On sm_90a and sm_100a K may be added up in parts. */
static bool other_bits(const void *key)
{
    return pg_matmul_accumulate_engine(key) != PG_ENGINE_MMA_SYNC;
}

/* What threads have read of C the copy engine may write only behind a fence of the whole GPU. */
static bool is_in_place(const pg_problem *p)
{
    const pg_view *c = &p->operand[PG_MATMUL_C];
    return c->present && c->data == p->operand[PG_MATMUL_D].data;
}

/* Blackwell: by sub-tiles, wherever a tensor map can be made of D; none knows where groups end. */
static int64_t choose_store(const pg_problem *p, const pg_matmul_accumulate_key *k)
{
    if (k->d_store || pg_matmul_accumulate_engine(k) != PG_ENGINE_TCGEN05)
        return k->d_store;
    return takes_map(&p->operand[PG_MATMUL_D]) && !is_in_place(p) && !k->grouped &&
                   k->schedule != PG_SCHEDULE_SEED
               ? PG_D_TENSOR
               : PG_D_ROWS;
}

/* That an operand's rows have, if it would have to be copied. */
static int phases_of(const pg_problem *p, const pg_matmul_accumulate_key *k, int operand)
{
    const pg_view *v = &p->operand[operand];
    const int bit = operand == PG_MATMUL_A ? PG_COPY_A : PG_COPY_B;
    return k->copy & bit ? pg_hopper_phases(v) : 0;
}

/* Of factors, which a choice behind the call could not read, and of places. */
static uint64_t facts(const pg_problem *p, const void *key)
{
    pg_matmul_accumulate_key k = *(const pg_matmul_accumulate_key *)key;
    choose_by_operands(p, &k);
    return (uint64_t)k.copy | (uint64_t)k.slices << 8 | (uint64_t)choose_store(p, &k) << 16 |
           (uint64_t)phases_of(p, &k, PG_MATMUL_A) << 24 |
           (uint64_t)phases_of(p, &k, PG_MATMUL_B) << 32;
}

/* What decides the choice; settles what leaves none. */
/* Groups one behind the other begin at any row, whose elements are adjacent in a transposed A; a
 * box of a tensor map begins at multiples of 16 bytes (else an H200 calls it illegal). */
static bool begins_between_boxes(const pg_problem *p, const pg_matmul_accumulate_key *k)
{
    return k->grouped && pg_matmul_rows_follow(p) && p->operand[PG_MATMUL_A].transposed;
}

static pg_matmul_problem describe(const pg_problem *p, pg_matmul_accumulate_key *k)
{
    const pg_view *v = p->operand;
    choose_by_operands(p, k);
    if (!k->schedule && begins_between_boxes(p, k))
        k->schedule = PG_SCHEDULE_MMA_SYNC;
    k->d_store = choose_store(p, k);
    /* Groups are thought of as even. */
    const int64_t groups = p->symbol[PG_MATMUL_BATCH];
    const bool shared = k->grouped && pg_matmul_rows_follow(p);
    return (pg_matmul_problem){
        .m = shared && groups ? (p->symbol[PG_MATMUL_M] + groups - 1) / groups
                              : p->symbol[PG_MATMUL_M],
        .n = p->symbol[PG_MATMUL_N],
        .batch = p->symbol[PG_MATMUL_BATCH],
        .k = (p->symbol[PG_MATMUL_K] * pg_matmul_operand_bytes(k) + 1) / 2, /* as of 16 bits */
        .c_bytes = k->c == 0 ? pg_matmul_result_type(k->c_dtype)->bytes : 0,
        .d_bytes = pg_matmul_result_type(k->d_dtype)->bytes,
        .c_takes_map = takes_ring(p, k),
        .a_straddles = !(k->copy & PG_COPY_A) && straddles(&v[PG_MATMUL_A]),
        .b_straddles = !(k->copy & PG_COPY_B) && straddles(&v[PG_MATMUL_B]),
        .a_k_major = !v[PG_MATMUL_A].transposed,
        .b_k_major = v[PG_MATMUL_B].transposed,
        .odd = is_odd(&v[PG_MATMUL_C]) || is_odd(&v[PG_MATMUL_D]),
        .ragged = ragged(&v[PG_MATMUL_C]) || ragged(&v[PG_MATMUL_D]),
        .operand_alignment = alignment_of(&v[PG_MATMUL_A], &v[PG_MATMUL_B]),
        .a_phases = phases_of(p, k, PG_MATMUL_A),
        .b_phases = phases_of(p, k, PG_MATMUL_B),
        .sm_count = p->device->sm_count};
}

static void choose(const pg_problem *p, void *key)
{
    const pg_matmul_problem problem = describe(p, key);
    pg_matmul_accumulate_choose(key, &problem);
}

static int by_time(const void *a, const void *b)
{
    const double x = ((const pg_candidate *)a)->us, y = ((const pg_candidate *)b)->us;
    return (x > y) - (x < y);
}

static size_t candidates(const pg_problem *p, const void *key, pg_candidate *out, size_t most)
{
    pg_hopper_rating rated[PG_HOPPER_RATED];
    pg_matmul_accumulate_key open = *(const pg_matmul_accumulate_key *)key;
    const pg_matmul_problem problem = describe(p, &open);
    if (open.arch != HOPPER)
        return 0;
    pg_hopper_way ways[PG_HOPPER_WAYS];
    const size_t of_ways = pg_hopper_ways(&open, &problem, ways);
    size_t count = 0;
    for (size_t w = 0; w < of_ways; w++) {
        const size_t room = (most - count) / (of_ways - w),
                     found = pg_hopper_rate(&ways[w].key, &ways[w].problem, rated,
                                            room < PG_HOPPER_RATED ? room : PG_HOPPER_RATED);
        for (size_t i = 0; i < found; i++, count++) {
            pg_matmul_accumulate_key k = ways[w].key;
            pg_hopper_take(&k, &rated[i].choice);
            memset(&out[count], 0, sizeof out[count]);
            memcpy(out[count].key, &k, sizeof k);
            out[count].us = ways[w].us + ways[w].times * rated[i].time;
        }
    }
    qsort(out, count, sizeof *out, by_time);
    return count;
}

/* Of A, C and D, with groups: all hold one matrix for each, or none does. */
static ptxgen_status check_groups(const pg_problem *p, ptxgen_error *err)
{
    static const size_t with_rows[] = {PG_MATMUL_A, PG_MATMUL_C, PG_MATMUL_STEPS + PG_STEP_AUX};
    if (!p->operand[PG_MATMUL_GROUP_ROWS].present)
        return PTXGEN_OK;
    for (size_t i = 0; i < sizeof with_rows / sizeof *with_rows; i++) {
        const pg_view *v = &p->operand[with_rows[i]];
        if (v->present && (pg_matmul_batch_bytes(v) == 0) != pg_matmul_rows_follow(p))
            return pg_fail(err, PTXGEN_EUNSUPPORTED,
                           "with group_rows %s must have a matrix for each group as d has, or "
                           "neither",
                           p->table->rows[with_rows[i]].name);
    }
    return PTXGEN_OK;
}

static ptxgen_status check_results(const pg_problem *p, ptxgen_error *err)
{
    const pg_view *c = &p->operand[PG_MATMUL_C], *d = &p->operand[PG_MATMUL_D];
    if (!c->present || c->dtype == PTXGEN_F32 || c->dtype == d->dtype)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED, "c holds %s and d %s: c must hold f32 or what d holds",
                   pg_dtype_word(c->dtype), pg_dtype_word(d->dtype));
}

/* alpha and beta are multiplied in float32. */
static ptxgen_status check_factors(const pg_problem *p, ptxgen_error *err)
{
    for (size_t i = PG_MATMUL_ALPHA; i <= PG_MATMUL_BETA; i++) {
        const double factor = pg_problem_scalar(p, i);
        if (isfinite(factor) && isinf((float)factor))
            return pg_fail(err, PTXGEN_EINVAL, "%s=%g is more than float32 holds, 3.4e38",
                           p->table->rows[i].name, factor);
    }
    return PTXGEN_OK;
}

static ptxgen_status check_sub_tiles(const pg_problem *p, ptxgen_error *err)
{
    enum { ALIGNMENT = 16 };
    if (is_in_place(p))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "d_store=tensor with D in place of C: use d_store=rows, or another D");
    return pg_problem_require_alignment(p, PG_MATMUL_D, ALIGNMENT, "tensor-map stores", err);
}

/* A and B, unless they are copied first, or read by phases. */
static ptxgen_status limit_operands(const pg_problem *p, const pg_matmul_accumulate_key *k,
                                    ptxgen_error *err)
{
    enum { ALIGNMENT = 16 };
    const bool phases = pg_phases_of(k->phases) != 0;
    for (int operand = PG_MATMUL_A; operand <= PG_MATMUL_B; operand++) {
        const bool is_b = operand == PG_MATMUL_B;
        if (phases && is_b == pg_hopper_left_is_b(k))
            PG_TRY(pg_hopper_limit_phases(p, err));
        else if (!(k->copy & (is_b ? PG_COPY_B : PG_COPY_A)))
            PG_TRY(pg_problem_require_alignment(p, (size_t)operand, ALIGNMENT, maps, err));
    }
    return PTXGEN_OK;
}

/* What tensor maps need: of A and B; of C where it comes to shared memory. */
static ptxgen_status limits(const pg_problem *p, ptxgen_error *err)
{
    enum { ALIGNMENT = 16 };
    const pg_matmul_accumulate_key *k = p->key;
    PG_TRY(check_results(p, err));
    PG_TRY(check_groups(p, err));
    PG_TRY(check_factors(p, err));
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    PG_TRY(pg_epilogue_limits(p, PG_MATMUL_STEPS, &steps, err));
    PG_TRY(pg_epilogue_check_blocks(p, PG_MATMUL_D, &steps, err));
    if (p->host || pg_matmul_accumulate_engine(k) == PG_ENGINE_MMA_SYNC)
        return PTXGEN_OK;
    if (begins_between_boxes(p, k))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "group_rows one behind the other with A transposed: a group begins at any "
                       "row, a tensor map's box at multiples of 16 bytes; leave the tile out or "
                       "use schedule=mma_sync, or store A by rows");
    if (begins_out_of_range(p, k) && k->slices <= 1 && k->splits <= 1)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "alpha=%g and beta=%g are too far apart for a kernel that begins with C: on "
                       "sm_90a use slices=2",
                       (double)pg_matmul_alpha(p), (double)pg_matmul_beta(p));
    if (pg_matmul_depth(p))
        PG_TRY(limit_operands(p, k, err));
    if (k->d_store == PG_D_TENSOR)
        PG_TRY(check_sub_tiles(p, err));
    const bool hopper = k->arch == HOPPER;
    const bool by_map = hopper ? k->c_load >= PG_C_RING : k->schedule == PG_SCHEDULE_SEED;
    const size_t operand = hopper ? ring_operand(k) : PG_MATMUL_C;
    if (!p->operand[operand].present || !by_map)
        return PTXGEN_OK;
    return pg_problem_require_alignment(p, operand, ALIGNMENT, maps, err);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int64_t function_number(const void *key)
{
    return ((const pg_matmul_accumulate_key *)key)->steps.function;
}

static bool function_exact(const void *key)
{
    return pg_matmul_d_type(key) == PTXGEN_F32;
}

static void function_shape(const void *key, const char **signature, const char **types)
{
    const pg_matmul_accumulate_key *k = key;
    const pg_epilogue e = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    *signature = pg_epilogue_signature(&e);
    *types = pg_epilogue_types(&e);
}

/* amax has no extents and is no reason to launch. */
static ptxgen_status find_empty(pg_problem *p, ptxgen_error *err)
{
    (void)err;
    if (pg_matmul_is_one_product(p))
        pg_matmul_fold(p);
    p->empty = pg_view_is_empty(&p->operand[PG_MATMUL_D]);
    return PTXGEN_OK;
}

static const pg_function_seam function_seam = {
    .signature = "float f(float value, int row, int column)",
    .types = "float, float, int, int",
    .shape = function_shape,
    .number = function_number,
    .exact = function_exact,
};

static void work(const pg_problem *p, double *flop, double *bytes)
{
    (void)bytes;
    const bool shared = p->operand[PG_MATMUL_GROUP_ROWS].present && pg_matmul_rows_follow(p);
    const double matrices = shared ? 1 : (double)p->symbol[PG_MATMUL_BATCH];
    *flop = 2.0 * matrices * (double)p->symbol[PG_MATMUL_M] * (double)p->symbol[PG_MATMUL_N] *
            (double)p->symbol[PG_MATMUL_K];
}

PG_DEFINE_SEQUENCE(
    matmul_accumulate, .summary = "D = alpha A @ B + beta C",
    .params = {params, sizeof params / sizeof *params, sizeof(pg_matmul_accumulate_key)},
    .plan_size = sizeof(pg_hopper_plan) > sizeof(pg_matmul_accumulate_plan)
                     ? sizeof(pg_hopper_plan)
                     : sizeof(pg_matmul_accumulate_plan),
    .default_arch = 1001, .arch_specific = true, .whole_program = true, .function = &function_seam,
    .operands = {operands, COUNT(operands), symbols, COUNT(symbols)}, .inexact = true, .work = work,
    .bind = bind, .choose = choose, .generic = generic, .facts = facts, .other_bits = other_bits,
    .candidates = candidates, .limits = limits, .empty = find_empty);
