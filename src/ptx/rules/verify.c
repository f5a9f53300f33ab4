/* Checks of a finished module that parsing does not make: one pass over the instructions, each
 * against its row of the opcode table; what no assembler would let through must not reach the
 * emulator. */
#include "ptx/rules/verify.h"

#include "ptx/table/vocabulary.h"

#include <string.h>

/* ---- .version and .target ---- */

/* One alternative of a row's target: "80", "90a", "100f". */
static bool target_has(const pg_ptx_module *m, pg_str want)
{
    uint32_t arch = 0;
    size_t i = 0;
    for (; i < want.n && want.p[i] >= '0' && want.p[i] <= '9'; i++)
        arch = arch * 10 + (uint32_t)(want.p[i] - '0');
    char suffix = i < want.n ? want.p[i] : 0;
    if (!suffix)
        return m->arch >= arch;
    if (suffix == 'a')
        return m->arch == arch && m->arch_suffix == 'a';
    /* A family feature: of this member and of later ones, in their a and f variants. */
    return m->arch >= arch && m->arch / 10 == arch / 10 && m->arch_suffix;
}

static bool target_is_among(const pg_ptx_module *m, const char *targets)
{
    pg_str rest = pg_str_of(targets);
    while (rest.n) {
        const char *bar = memchr(rest.p, '|', rest.n);
        pg_str want = {rest.p, bar ? (size_t)(bar - rest.p) : rest.n};
        if (target_has(m, want))
            return true;
        rest = bar ? (pg_str){bar + 1, rest.n - want.n - 1} : (pg_str){0};
    }
    return false;
}

/* Suffixes that need more than their row. */
typedef struct requirement {
    pg_ptx_modifier modifier;
    pg_ptx_op first, last; /* in these rows */
    uint32_t isa;
    const char *target;
} requirement;

#define ANY_ROW (pg_ptx_op)0, (pg_ptx_op)(PG_PTX_OP_COUNT - 1)
static const requirement requirements[] = {
    {PG_M_HINT_CACHE_HINT, ANY_ROW, 74, "80"},
    {PG_M_PREFETCH_L2_64B, ANY_ROW, 74, "75"},
    {PG_M_PREFETCH_L2_128B, ANY_ROW, 74, "75"},
    {PG_M_PREFETCH_L2_256B, ANY_ROW, 74, "80"},
    {PG_M_SPACE_SHARED_CLUSTER, ANY_ROW, 78, "90"},
    {PG_M_SCOPE_CLUSTER, ANY_ROW, 78, "90"},
    {PG_M_NAN_NAN, ANY_ROW, 70, "80"},
    {PG_M_SEM_RELAXED, PG_OP_MBARRIER_ARRIVE, PG_OP_MBARRIER_TRY_WAIT_PARITY, 80, "90"},
    {PG_M_SPACE_SHARED_CTA, PG_OP_CP_ASYNC_BULK_LOAD, PG_OP_CP_ASYNC_BULK_LOAD, 86, "90"},
    {PG_M_SPACE_SHARED_CTA, PG_OP_CP_TENSOR_LOAD, PG_OP_CP_TENSOR_LOAD_IM2COL_W, 86, "90"},
    {PG_M_CTA_GROUP_G1, PG_OP_CP_TENSOR_LOAD, PG_OP_CP_TENSOR_LOAD_IM2COL_W, 86, "100f|110f"},
    {PG_M_CTA_GROUP_G2, PG_OP_CP_TENSOR_LOAD, PG_OP_CP_TENSOR_LOAD_IM2COL_W, 86, "100f|110f"},
    {PG_M_TENSOR_IM2COL_W_128, PG_OP_CP_TENSOR_LOAD, PG_OP_CP_TENSOR_LOAD_IM2COL_W, 86,
     "100f|110f"},
    {PG_M_MAP_FIELD_SWIZZLE_ATOMICITY, ANY_ROW, 86, "100f|110f|120f"},
    {PG_M_SATFINITE_SATFINITE, PG_OP_CVT_TF32, PG_OP_CVT_TF32, 86, "100"},
    {PG_M_FTZ_FTZ, PG_OP_CVT_F32_BF16, PG_OP_CVT_F32_BF16, 78, "90"},
    {PG_M_KIND_I8, PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_WS_SP, 86, "100a|110a"},
    {PG_M_SCALE_VEC_V1, PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_WS_SP, 86, "100a|103a|110a"},
    {PG_M_SCALE_VEC_V2, PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_WS_SP, 86, "100a|103a|110a"},
    {PG_M_SCALE_VEC_V4, PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_WS_SP, 87, "100a|103a|110a"},
    {PG_M_SCALE_VEC_BLOCK16, PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_WS_SP, 88, "100f|110f"},
    {PG_M_SCALE_VEC_BLOCK32, PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_WS_SP, 88, "100f|110f"},
};
#undef ANY_ROW

/* `what` NULL: the instruction itself, whose name is made only for a message. */
static bool check_needs(pg_verifier *v, const char *what, uint32_t isa, const char *target)
{
    if (v->m->version < isa)
        return pg_verify_fail(v, NULL, "'%s' needs .version %u.%u; this module is %u.%u",
                              what ? what : pg_verify_name(v), isa / 10, isa % 10,
                              v->m->version / 10, v->m->version % 10);
    if (!target_is_among(v->m, target))
        return pg_verify_fail(v, NULL, "'%s' needs .target sm_%s; this module is %s",
                              what ? what : pg_verify_name(v), target, v->m->target);
    return true;
}

static bool check_availability(pg_verifier *v)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    const pg_ptx_op_info *info = pg_ptx_op_describe(o->op);
    if (!check_needs(v, NULL, info->isa, info->target))
        return false;
    for (size_t i = 0; i < sizeof requirements / sizeof *requirements; i++) {
        const requirement *r = &requirements[i];
        bool there = o->mod[pg_modifier_table[r->modifier].field] == r->modifier;
        if (there && o->op >= r->first && o->op <= r->last &&
            !check_needs(v, pg_ptx_modifier_name(r->modifier), r->isa, r->target))
            return false;
    }
    return true;
}

/* ---- ranges of constants ---- */

typedef struct range_rule {
    pg_ptx_op first, last; /* rows */
    uint8_t slot;
    int64_t min, max, multiple;
} range_rule;

static const range_rule range_rules[] = {
    {PG_OP_BAR_SYNC, PG_OP_BAR_ARRIVE, 0, 0, 15, 1},
    {PG_OP_BAR_SYNC, PG_OP_BAR_ARRIVE, 1, 32, 1024, 32},
    {PG_OP_BARRIER_SYNC, PG_OP_BARRIER_ARRIVE, 0, 0, 15, 1},
    {PG_OP_BARRIER_SYNC, PG_OP_BARRIER_ARRIVE, 1, 32, 1024, 32},
    {PG_OP_BARRIER_CTA_SYNC, PG_OP_BARRIER_CTA_ARRIVE, 0, 0, 15, 1},
    {PG_OP_BARRIER_CTA_SYNC, PG_OP_BARRIER_CTA_ARRIVE, 1, 32, 1024, 32},
    {PG_OP_BAR_RED_POPC, PG_OP_BAR_RED_PRED, 1, 0, 15, 1},
    {PG_OP_BAR_RED_POPC, PG_OP_BAR_RED_PRED, 2, 32, 1024, 32},
    {PG_OP_BAR_CTA_SYNC, PG_OP_BAR_CTA_ARRIVE, 0, 0, 15, 1},
    {PG_OP_BAR_CTA_SYNC, PG_OP_BAR_CTA_ARRIVE, 1, 32, 1024, 32},
    {PG_OP_BAR_CTA_RED_POPC, PG_OP_BAR_CTA_RED_PRED, 1, 0, 15, 1},
    {PG_OP_BAR_CTA_RED_POPC, PG_OP_BAR_CTA_RED_PRED, 2, 32, 1024, 32},
    {PG_OP_BARRIER_RED_POPC, PG_OP_BARRIER_RED_PRED, 1, 0, 15, 1},
    {PG_OP_BARRIER_RED_POPC, PG_OP_BARRIER_RED_PRED, 2, 32, 1024, 32},
    {PG_OP_BARRIER_CTA_RED_POPC, PG_OP_BARRIER_CTA_RED_PRED, 1, 0, 15, 1},
    {PG_OP_BARRIER_CTA_RED_POPC, PG_OP_BARRIER_CTA_RED_PRED, 2, 32, 1024, 32},
    {PG_OP_MBARRIER_TEST_WAIT_PARITY, PG_OP_MBARRIER_TEST_WAIT_PARITY, 2, 0, 1, 1},
    {PG_OP_MBARRIER_TRY_WAIT_PARITY, PG_OP_MBARRIER_TRY_WAIT_PARITY, 2, 0, 1, 1},
    {PG_OP_ST_BULK, PG_OP_ST_BULK, 2, 0, 0, 1},
    {PG_OP_DISCARD, PG_OP_APPLYPRIORITY, 1, 128, 128, 1},
    {PG_OP_FENCE_TENSORMAP_ACQUIRE, PG_OP_FENCE_TENSORMAP_ACQUIRE, 1, 128, 128, 1},
    {PG_OP_TENSORMAP_CP_FENCEPROXY, PG_OP_TENSORMAP_CP_FENCEPROXY, 2, 128, 128, 1},
    {PG_OP_TCGEN05_ALLOC, PG_OP_TCGEN05_DEALLOC, 1, 32, 512, 0}, /* 0: powers of two */
    {PG_OP_SETMAXNREG, PG_OP_SETMAXNREG, 0, 24, 256, 8},
    {PG_OP_CP_ASYNC_WAIT_GROUP, PG_OP_CP_ASYNC_WAIT_GROUP, 0, 0, INT32_MAX, 1},
    {PG_OP_CP_ASYNC_BULK_WAIT_GROUP, PG_OP_CP_ASYNC_BULK_WAIT_GROUP, 0, 0, INT32_MAX, 1},
    {PG_OP_CP_ASYNC_BULK_LOAD, PG_OP_CP_ASYNC_BULK_STORE, 2, 0, UINT32_MAX, 16},
    {PG_OP_CP_REDUCE_BULK_GLOBAL_BITS, PG_OP_CP_REDUCE_BULK_CLUSTER_MINMAX, 2, 0, UINT32_MAX, 16},
    {PG_OP_WGMMA_WAIT_GROUP, PG_OP_WGMMA_WAIT_GROUP, 0, 0, 7, 1},
};

static bool check_range(pg_verifier *v, const range_rule *r)
{
    const pg_ptx_operand *o = &v->insn->operands[r->slot];
    int64_t n = (int64_t)o->value;
    const bool fits = r->multiple ? n % r->multiple == 0 : (n & (n - 1)) == 0;
    if (o->kind != PG_OPERAND_IMM || (n >= r->min && n <= r->max && fits))
        return true;
    if (!r->multiple)
        return pg_verify_fail(v, o, "'%s' takes a power of two in %lld .. %lld here, not %lld",
                              pg_verify_name(v), (long long)r->min, (long long)r->max,
                              (long long)n);
    return pg_verify_fail(v, o, "'%s' takes %lld .. %lld in steps of %lld here, not %lld",
                          pg_verify_name(v), (long long)r->min, (long long)r->max,
                          (long long)r->multiple, (long long)n);
}

static bool has_ranges(pg_ptx_op op)
{
    for (size_t i = 0; i < sizeof range_rules / sizeof *range_rules; i++)
        if (op >= range_rules[i].first && op <= range_rules[i].last)
            return true;
    return false;
}

static bool check_ranges(pg_verifier *v)
{
    pg_ptx_op op = v->insn->opcode->op;
    for (size_t i = 0; i < sizeof range_rules / sizeof *range_rules; i++)
        if (op >= range_rules[i].first && op <= range_rules[i].last &&
            !check_range(v, &range_rules[i]))
            return false;
    return true;
}

/* cp.async moves 4, 8 or 16 bytes, .cg only 16; no more of them can come from the source. */
static bool check_cp_async(pg_verifier *v)
{
    const pg_ptx_operand *size = &v->insn->operands[2], *source = &v->insn->operands[3];
    bool all = v->insn->opcode->mod[PG_F_CACHE] == PG_M_CACHE_CA;
    if (size->value != 16 && (!all || (size->value != 4 && size->value != 8)))
        return pg_verify_fail(v, size, "'%s' copies %s bytes, not %lld", pg_verify_name(v),
                              all ? "4, 8 or 16" : "16", (long long)size->value);
    return source->kind != PG_OPERAND_IMM || source->value <= size->value ||
           pg_verify_fail(v, source, "'%s' cannot read %lld bytes to copy %lld", pg_verify_name(v),
                          (long long)source->value, (long long)size->value);
}

/* mov of {a, b, ...}: elements of one size that fill the other operand. */
static bool check_mov_vector(pg_verifier *v, const pg_ptx_operand *vector)
{
    unsigned total = pg_type_table[v->insn->opcode->types[0]].bits;
    unsigned n = vector->n_elems;
    if (n != 2 && n != 4)
        return pg_verify_fail(v, vector, "'%s' takes vectors of 2 or 4 elements, not %u",
                              pg_verify_name(v), n);
    for (unsigned i = 0; i < n; i++) {
        const pg_ptx_operand *e = &vector->elems[i];
        unsigned bits =
            e->kind == PG_OPERAND_REG ? pg_type_table[v->f->reg_types[e->index]].bits : total / n;
        if (bits * n != total)
            return pg_verify_fail(v, e, "%u elements of %u bits do not make %u", n, bits, total);
    }
    return true;
}

/* An integer is narrowed, or changes its sign, where .sat makes sense. */
static bool check_cvt_sat(pg_verifier *v)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    const pg_type_info *to = &pg_type_table[o->types[0]], *from = &pg_type_table[o->types[1]];
    bool holds = from->class == to->class ? to->bits >= from->bits
                                          : to->class == PG_CLASS_SIGNED && to->bits > from->bits;
    if (!o->mod[PG_F_SAT] || !holds)
        return true;
    return pg_verify_fail(v, NULL, "'%s': .sat has no effect, since .%s holds every .%s",
                          pg_verify_name(v), to->spelling, from->spelling);
}

/* wgmma of integers: N is 8, 16, 24, or a multiple of 16. */
static bool check_wgmma_columns(pg_verifier *v)
{
    unsigned n = v->insn->opcode->shape_n;
    if (n == 24 || n == 8 || n % 16 == 0)
        return true;
    return pg_verify_fail(v, NULL, "'%s': with integers N is 8, 24 or a multiple of 16, not %u",
                          pg_verify_name(v), n);
}

static bool check_same_types(pg_verifier *v, unsigned a, unsigned b)
{
    const uint8_t *t = v->insn->opcode->types;
    return t[a] == t[b] ||
           pg_verify_fail(v, NULL, "'%s': .%s and .%s must be the same type", pg_verify_name(v),
                          pg_type_table[t[a]].spelling, pg_type_table[t[b]].spelling);
}

/* The A that .ashift shifts is in tensor memory. */
static bool check_ashift(pg_verifier *v)
{
    return !v->insn->opcode->mod[PG_F_ASHIFT] || v->insn->operands[1].kind == PG_OPERAND_ADDRESS ||
           pg_verify_fail(v, &v->insn->operands[1], "'%s' takes A from tensor memory",
                          pg_verify_name(v));
}

/* shfl and vote without .sync ended with sm_70. */
static bool check_unsynchronised(pg_verifier *v)
{
    return v->m->version < 64 || v->m->arch < 70 ||
           pg_verify_fail(v, NULL, "'%s' needs .sync and a mask of lanes from sm_70 on",
                          pg_verify_name(v));
}

static bool check_multicast(pg_verifier *v)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    return !o->mod[PG_F_MULTICAST] || o->mod[PG_F_SPACE] != PG_M_SPACE_SHARED_CTA ||
           pg_verify_fail(v, NULL, "'%s': a multicast goes to .shared::cluster", pg_verify_name(v));
}

/* The lanes that give the indices of a sparse A: a choice of one, two or all of every four, by the
 * bits that a row of A needs (a bit for every byte, or for every two where elements have two). */
static bool check_selector(pg_verifier *v, unsigned at)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    const unsigned elem_bits = pg_type_table[o->types[1]].bits;
    const bool padded = elem_bits < 8 && pg_type_table[o->types[1]].class == PG_CLASS_FLOAT;
    const unsigned bytes = o->shape_k * (padded ? 8 : elem_bits) / 8;
    const unsigned choices = 64 / (elem_bits >= 16 ? bytes / 2 : bytes);
    const pg_ptx_operand *selector = &v->insn->operands[at];
    return selector->value < choices ||
           pg_verify_fail(v, selector,
                          "'%s': the sparsity selector is %llu; with this shape and type it is "
                          "below %u",
                          pg_verify_name(v), (unsigned long long)selector->value, choices);
}

/* Floats of 4 and 6 bits came to mma with sm_120. */
static bool check_small_floats(pg_verifier *v)
{
    const uint8_t *t = v->insn->opcode->types;
    const bool small = pg_type_table[t[1]].bits < 8 || pg_type_table[t[2]].bits < 8;
    return !small || v->m->arch >= 120 ||
           pg_verify_fail(v, NULL, "'%s' needs .target sm_120a or sm_120f for 4- and 6-bit floats",
                          pg_verify_name(v));
}

static bool check_matrix(pg_verifier *v)
{
    const pg_ptx_op op = v->insn->opcode->op;
    const bool small =
        op == PG_OP_MMA_F8F6F4 || op == PG_OP_MMA_F8F6F4_F16 || op == PG_OP_MMA_ORDERED_F8F6F4;
    if (small && !check_small_floats(v))
        return false;
    if (op >= PG_OP_WGMMA_SPARSE_F16 && op <= PG_OP_WGMMA_SPARSE_INT)
        return check_selector(v, 4);
    return op < PG_OP_MMA_SPARSE_F16 || op > PG_OP_MMA_ORDERED_F8F6F4 ||
           (check_selector(v, 5) && check_same_types(v, 0, 3));
}

/* ---- instructions ---- */

static bool check_operands(pg_verifier *v)
{
    for (unsigned s = 0; s < v->form->n_slots; s++) {
        const pg_ptx_operand *o = &v->insn->operands[s];
        if (o->kind != PG_OPERAND_NONE && !pg_verify_operand(v, &v->form->slots[s], o))
            return false;
    }
    return true;
}

static bool check_special_rows(pg_verifier *v)
{
    if (pg_verify_is_video(v))
        return pg_verify_video(v);
    switch (v->insn->opcode->op) {
    case PG_OP_CALL:
        return pg_verify_call(v);
    case PG_OP_MOV_PACK:
        return check_mov_vector(v, &v->insn->operands[1]);
    case PG_OP_MOV_UNPACK:
        return check_mov_vector(v, &v->insn->operands[0]);
    case PG_OP_CP_ASYNC:
    case PG_OP_CP_ASYNC_IGNORE:
        return check_cp_async(v);
    case PG_OP_MMA_F16_M8N8K4:
        return v->insn->opcode->types[3] != PG_T_F32 || v->insn->opcode->types[0] == PG_T_F32 ||
               pg_verify_fail(v, NULL, "'%s' rounds an .f32 sum to .f16: d must be .f32",
                              pg_verify_name(v));
    case PG_OP_MMA_F16:
    case PG_OP_MMA_F16_M16N8K8:
        return check_same_types(v, 0, 3);
    case PG_OP_TCGEN05_MMA:
    case PG_OP_TCGEN05_MMA_SP:
    case PG_OP_TCGEN05_MMA_F8F6F4:
    case PG_OP_TCGEN05_MMA_SP_F8F6F4:
        return check_ashift(v);
    case PG_OP_CP_ASYNC_BULK_LOAD:
    case PG_OP_CP_TENSOR_LOAD:
    case PG_OP_CP_TENSOR_LOAD_GATHER4:
    case PG_OP_CP_TENSOR_LOAD_IM2COL:
    case PG_OP_CP_TENSOR_LOAD_IM2COL_W:
        return check_multicast(v);
    case PG_OP_SHFL:
    case PG_OP_VOTE:
    case PG_OP_VOTE_BALLOT:
        return check_unsynchronised(v);
    case PG_OP_CVT_INT:
        return check_cvt_sat(v);
    case PG_OP_WGMMA_INT:
    case PG_OP_WGMMA_BIT:
        return check_wgmma_columns(v);
    case PG_OP_BRX_IDX:
        return v->insn->operands[1].kind == PG_OPERAND_TABLE &&
                       !v->f->tables[v->insn->operands[1].index].is_calls
                   ? true
                   : pg_verify_fail(v, &v->insn->operands[1], "brx.idx wants .branchtargets");
    default:
        return check_matrix(v);
    }
}

/* What an opcode needs to be checked against, made at its first use. */
typedef struct known_opcode {
    bool known, has_ranges;
    pg_form form;
} known_opcode;

/* False when the module's .version or .target does not have it: reported at each use. */
static bool learn(pg_verifier *v, known_opcode *k)
{
    if (k->known)
        return true;
    pg_form_of(v->insn->opcode, &k->form);
    k->has_ranges = has_ranges(v->insn->opcode->op);
    k->known = check_availability(v) && pg_verify_suffixes(v);
    return k->known;
}

static void check_function(pg_verifier *v, known_opcode *opcodes)
{
    for (uint32_t i = 0; i < v->f->n_code && v->p->fatal == PTXGEN_OK; i++) {
        v->insn = &v->f->code[i];
        known_opcode *k = &opcodes[v->insn->opcode->id];
        v->form = &k->form;
        if (learn(v, k) && check_operands(v) && check_special_rows(v) &&
            (!k->has_ranges || check_ranges(v)) && pg_verify_memory(v))
            pg_verify_odd(v);
    }
}

void pg_verify(pg_parser *p)
{
    pg_verifier v = {.p = p, .m = p->module};
    if (p->module->address_size != 64)
        pg_parser_error_at(p, 1, 1, "only .address_size 64 is supported, not %u",
                           p->module->address_size);
    known_opcode *opcodes = pg_arena_array(&p->scratch, p->module->n_opcodes + 1, sizeof *opcodes);
    if (!opcodes) {
        pg_parser_stop(p, PTXGEN_ENOMEM);
        return;
    }
    for (uint32_t i = 0; i < p->module->n_functions; i++) {
        v.f = &p->module->functions[i];
        check_function(&v, opcodes);
    }
}
