/* What has a meaning here and in the ISA, or nearly, and ptxas 13.0 refuses: a warning, one an
 * instruction. */
#include "ptx/rules/verify.h"

#include "ptx/table/vocabulary.h"

/* ---- operands ---- */

static bool is_value(const pg_ptx_operand *o)
{
    return o->kind == PG_OPERAND_IMM || o->kind == PG_OPERAND_SPECIAL;
}

/* A vector that is one constant. */
static bool has_lone_constant(const pg_verifier *v)
{
    for (uint32_t i = 0; i < v->insn->n_operands; i++) {
        const pg_ptx_operand *o = &v->insn->operands[i];
        if (o->kind == PG_OPERAND_VECTOR && o->n_elems == 1 && o->elems[0].kind == PG_OPERAND_IMM)
            return true;
    }
    return false;
}

static bool has_special_element(const pg_verifier *v)
{
    for (uint32_t i = 0; i < v->insn->n_operands; i++) {
        const pg_ptx_operand *o = &v->insn->operands[i];
        for (uint32_t k = 0; o->kind == PG_OPERAND_VECTOR && k < o->n_elems; k++)
            if (o->elems[k].kind == PG_OPERAND_SPECIAL)
                return true;
    }
    return false;
}

/* Forms that sm_100 has no instruction for. */
static bool has_special_element_on_100(const pg_verifier *v)
{
    return v->m->arch >= 100 && has_special_element(v);
}

static bool has_narrow_special(const pg_verifier *v)
{
    const bool prefetch = v->insn->opcode->op >= PG_OP_CP_TENSOR_PREFETCH_IM2COL;
    return has_special_element(v) &&
           (prefetch || pg_type_table[v->insn->opcode->types[0]].bits == 16);
}

/* Operand "r + 4": an instruction of its own before this one, which no text stands for. 0: none. */
static uint32_t sum_at(const pg_verifier *v)
{
    const pg_ptx_insn *before = v->insn > v->f->code ? v->insn - 1 : NULL;
    if (!before || before->opcode->op != PG_OP_ADD_INT || before->span.begin != before->span.end)
        return 0;
    for (uint32_t i = 1; i < v->insn->n_operands; i++)
        if (v->insn->operands[i].kind == PG_OPERAND_REG &&
            v->insn->operands[i].index == before->operands[0].index)
            return i;
    return 0;
}

static bool has_sum(const pg_verifier *v)
{
    return sum_at(v) != 0;
}

static bool has_sum_in_ab(const pg_verifier *v)
{
    const uint32_t at = sum_at(v);
    return at == 1 || at == 2;
}

static bool has_sum_of_64_bits(const pg_verifier *v)
{
    return sum_at(v) && pg_type_table[v->insn->opcode->types[0]].bits == 64;
}

/* What is rounded otherwise is a function of ptxas's own. */
static bool has_sum_and_rounding(const pg_verifier *v)
{
    return sum_at(v) && v->insn->opcode->mod[PG_F_ROUND] != PG_M_ROUND_RN;
}

static bool has_sum_in_description(const pg_verifier *v)
{
    return sum_at(v) >= 3;
}

static bool has_constant_address(const pg_verifier *v)
{
    for (uint32_t i = 0; i < v->insn->n_operands; i++)
        if (v->insn->operands[i].kind == PG_OPERAND_ADDRESS &&
            v->insn->operands[i].base == PG_OPERAND_IMM)
            return true;
    return false;
}

/* The indices of a sparse A. */
static bool has_constant_indices(const pg_verifier *v)
{
    const bool group = v->insn->opcode->op >= PG_OP_WGMMA_SPARSE_F16;
    return is_value(&v->insn->operands[group ? 3 : 4]);
}

static bool has_constant_value(const pg_verifier *v)
{
    return is_value(&v->insn->operands[3]);
}

static bool has_constant_predicate(const pg_verifier *v)
{
    return v->insn->operands[3].kind == PG_OPERAND_IMM;
}

static bool names_a_parameter(const pg_verifier *v)
{
    const pg_ptx_operand *o = &v->insn->operands[0];
    return o->base == PG_OPERAND_VAR && !v->insn->opcode->mod[PG_F_SPACE];
}

/* Gradients of two and three dimensions are vectors, of one they have 32 bits. */
static bool is_odd_gradient(const pg_verifier *v, const pg_ptx_operand *o)
{
    const unsigned geometry = v->insn->opcode->mod[PG_F_GEOMETRY];
    const bool line = geometry == PG_M_GEOMETRY_G1D || geometry == PG_M_GEOMETRY_GA1D;
    return o->kind != PG_OPERAND_VECTOR &&
           (!line ||
            (o->kind == PG_OPERAND_REG && pg_type_table[v->f->reg_types[o->index]].bits != 32));
}

static bool has_odd_gradient(const pg_verifier *v)
{
    return is_odd_gradient(v, &v->insn->operands[2]) || is_odd_gradient(v, &v->insn->operands[3]);
}

static bool has_offset(const pg_verifier *v)
{
    const pg_ptx_operand *o = v->insn->operands;
    return o[2].kind != PG_OPERAND_NONE || o[3].kind != PG_OPERAND_NONE;
}

static bool is_cube_with_offset(const pg_verifier *v)
{
    const unsigned geometry = v->insn->opcode->mod[PG_F_GEOMETRY];
    return v->insn->operands[v->insn->n_operands - 2].kind != PG_OPERAND_NONE &&
           (geometry == PG_M_GEOMETRY_GCUBE || geometry == PG_M_GEOMETRY_GACUBE);
}

static bool scales_integers(const pg_verifier *v)
{
    const pg_ptx_operand *scale = &v->insn->operands[v->insn->n_operands - 1];
    return v->insn->opcode->mod[PG_F_KIND] == PG_M_KIND_I8 && scale->kind == PG_OPERAND_IMM &&
           v->insn->operands[5].kind != PG_OPERAND_NONE;
}

/* ---- sizes ---- */

static unsigned vector_bits(const pg_ptx_opcode *o)
{
    static const unsigned widths[] = {2, 4, 8};
    return pg_type_table[o->types[0]].bits *
           (o->mod[PG_F_VEC] ? widths[o->mod[PG_F_VEC] - PG_M_VEC_V2] : 1);
}

static bool is_not_256_bits(const pg_verifier *v)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    return o->mod[PG_F_EVICT_L2] && (vector_bits(o) != 256 || pg_type_table[o->types[0]].bits < 32);
}

static bool is_beyond_128_bits(const pg_verifier *v)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    return vector_bits(o) > 128 || o->mod[PG_F_VEC] == PG_M_VEC_V8;
}

static bool is_eight_small(const pg_verifier *v)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    return o->mod[PG_F_VEC] == PG_M_VEC_V8 && pg_type_table[o->types[0]].bits < 32;
}

static bool is_below_32_bits(const pg_verifier *v)
{
    return vector_bits(v->insn->opcode) < 32;
}

static bool is_vector_of_f64(const pg_verifier *v)
{
    return v->insn->opcode->mod[PG_F_VEC] && v->insn->opcode->types[0] == PG_T_F64;
}

static bool widens_an_extreme(const pg_verifier *v)
{
    return v->insn->opcode->mod[PG_F_ACC] && v->insn->opcode->mod[PG_F_OP] != PG_M_OP_ADD;
}

static bool has_wide_register(const pg_verifier *v)
{
    for (unsigned i = 0; i < 2; i++) {
        const pg_ptx_operand *o = &v->insn->operands[i];
        if (o->kind == PG_OPERAND_REG && pg_type_table[v->f->reg_types[o->index]].bits >
                                             pg_type_table[v->insn->opcode->types[i]].bits)
            return true;
    }
    return false;
}

static bool is_not_a_multiple_of_16(const pg_verifier *v)
{
    const pg_ptx_operand *size = &v->insn->operands[1];
    return size->kind == PG_OPERAND_IMM && size->value % 16;
}

/* Of st.bulk: a .b32 register, a constant that is no multiple of 8, a name with .shared. */
static bool is_odd_bulk(const pg_verifier *v)
{
    const pg_ptx_operand *size = &v->insn->operands[1];
    if (size->kind == PG_OPERAND_REG && v->f->reg_types[size->index] == PG_T_B32)
        return true;
    return (size->kind == PG_OPERAND_IMM && size->value % 8) ||
           (v->insn->opcode->mod[PG_F_SPACE] && v->insn->operands[0].base == PG_OPERAND_VAR);
}

/* C and D of wmma: a type that the shape has not, or .f64 in a narrower register. */
static bool is_odd_accumulator(const pg_verifier *v)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    const pg_ptx_type type = o->types[0];
    const pg_ptx_operand *first = v->insn->operands[o->op == PG_OP_WMMA_STORE_D].elems;
    if (type == PG_T_F64 && first->kind == PG_OPERAND_REG)
        return pg_type_table[v->f->reg_types[first->index]].bits != 64;
    return o->shape_k == 4   ? type != PG_T_F64
           : o->shape_k == 8 ? type != PG_T_F32
                             : o->shape_k > 16 && type == PG_T_F16;
}

static bool clamps(const pg_verifier *v)
{
    return v->insn->opcode->mod[PG_F_SATFINITE] != 0;
}

static bool gives_f16_before_120(const pg_verifier *v)
{
    return v->insn->opcode->types[0] == PG_T_F16 && v->m->arch < 120;
}

static bool is_above_one(const pg_verifier *v)
{
    const pg_ptx_operand *o = &v->insn->operands[1];
    return o->kind == PG_OPERAND_IMM && (uint32_t)o->value > 0x3F800000u;
}

static bool has_sink(const pg_verifier *v)
{
    return v->insn->opcode->types[0] == PG_T_BF16 && v->insn->operands[0].kind == PG_OPERAND_SINK;
}

static bool is_local_or_parameter(const pg_verifier *v)
{
    const unsigned space = v->insn->opcode->mod[PG_F_SPACE];
    return space == PG_M_SPACE_PARAM_ENTRY || space == PG_M_SPACE_LOCAL;
}

static bool leaves_l2_unchanged(const pg_verifier *v)
{
    return v->insn->opcode->mod[PG_F_EVICT_L2] == PG_M_EVICT_L2_UNCHANGED;
}

/* Multi-sampled images are read at integers. */
static bool samples_at_floats(const pg_verifier *v)
{
    const unsigned geometry = v->insn->opcode->mod[PG_F_GEOMETRY];
    return (geometry == PG_M_GEOMETRY_G2DMS || geometry == PG_M_GEOMETRY_GA2DMS) &&
           v->insn->opcode->types[1] == PG_T_F32;
}

/* Three dimensions have offsets of four elements. */
static bool has_short_offset(const pg_verifier *v)
{
    const pg_ptx_operand *offset = &v->insn->operands[v->insn->n_operands - 2];
    return offset->kind == PG_OPERAND_VECTOR && offset->n_elems != 4 &&
           v->insn->opcode->mod[PG_F_GEOMETRY] == PG_M_GEOMETRY_G3D;
}

/* The last operand of tex and its kin, a depth to compare with. */
static bool has_odd_depth(const pg_verifier *v)
{
    const pg_ptx_operand *depth = &v->insn->operands[v->insn->n_operands - 1];
    return depth->kind == PG_OPERAND_VECTOR ||
           (depth->kind != PG_OPERAND_NONE &&
            v->insn->opcode->mod[PG_F_GEOMETRY] == PG_M_GEOMETRY_G3D);
}

/* ---- rules ---- */

typedef struct odd_rule {
    pg_ptx_op first, last; /* rows */
    bool (*holds)(const pg_verifier *v);
    const char *what;
} odd_rule;

static const char registers_only[] = "the elements of these vectors must be registers";
static const char exact_registers[] = "its registers have the size of their types";
static const char no_sum[] = "a register with a constant added is no operand of this instruction";
static const char no_constant_address[] = "a constant is an address in .local memory only";

static const odd_rule rules[] = {
    {PG_OP_STMATRIX, PG_OP_MMA_ORDERED_F8F6F4, has_lone_constant, registers_only},
    {PG_OP_WMMA_MMA_F64, PG_OP_WMMA_MMA_F64, has_lone_constant, registers_only},
    {PG_OP_WMMA_MMA_BIT, PG_OP_WMMA_MMA_BIT, has_lone_constant, registers_only},
    {PG_OP_MMA_F16_M8N8K4, PG_OP_MMA_F16_M8N8K4, has_special_element, registers_only},
    {PG_OP_MMA_INT8_M8, PG_OP_MMA_INT8_M8, has_special_element_on_100, registers_only},
    {PG_OP_MMA_INT4_M8, PG_OP_MMA_INT4, has_special_element, registers_only},
    {PG_OP_MMA_BIT_M8, PG_OP_MMA_BIT, has_special_element_on_100, registers_only},
    {PG_OP_MMA_SPARSE_INT8, PG_OP_MMA_SPARSE_INT8, has_special_element_on_100, registers_only},
    {PG_OP_MMA_SPARSE_INT4, PG_OP_MMA_SPARSE_INT4, has_special_element, registers_only},
    {PG_OP_MMA_ORDERED_INT4, PG_OP_MMA_ORDERED_INT4, has_special_element, registers_only},
    {PG_OP_WMMA_MMA_U4, PG_OP_WMMA_MMA_BIT, has_special_element, registers_only},
    {PG_OP_WMMA_LOAD_C, PG_OP_WMMA_STORE_D, is_odd_accumulator,
     "the shape has no accumulators of this type, or they do not fit the registers"},
    {PG_OP_WMMA_MMA_F16, PG_OP_WMMA_MMA_F16, clamps, ".satfinite went away with PTX 6.4"},
    {PG_OP_MMA_ORDERED_F8F6F4, PG_OP_MMA_ORDERED_F8F6F4, gives_f16_before_120,
     "accumulators of .f16 need sm_120"},
    {PG_OP_RED_VECTOR_HALF, PG_OP_RED_VECTOR_HALF, has_narrow_special, registers_only},
    {PG_OP_ATOM_VECTOR_HALF, PG_OP_ATOM_VECTOR_HALF, has_narrow_special, registers_only},
    {PG_OP_MOV_VECTOR, PG_OP_MOV_VECTOR, has_narrow_special, registers_only},
    {PG_OP_CP_TENSOR_PREFETCH_IM2COL, PG_OP_CP_TENSOR_PREFETCH_IM2COL_W, has_narrow_special,
     registers_only},
    {PG_OP_MMA_SPARSE_F16, PG_OP_MMA_ORDERED_F8F6F4, has_constant_indices,
     "the indices of a sparse A must be in a register"},
    {PG_OP_WGMMA_SPARSE_F16, PG_OP_WGMMA_SPARSE_INT, has_constant_indices,
     "the indices of a sparse A must be in a register"},
    {PG_OP_CREATEPOLICY_FRACTIONAL, PG_OP_CREATEPOLICY_FRACTIONAL, is_above_one,
     "the fraction is above 1"},
    {PG_OP_CREATEPOLICY_RANGE, PG_OP_CREATEPOLICY_RANGE, has_sum, no_sum},
    {PG_OP_ATOM_VECTOR_HALF, PG_OP_ATOM_VECTOR_HALF, has_sink,
     "a result that nobody wants is written with red"},
    {PG_OP_DIV_INT, PG_OP_REM, has_sum_of_64_bits, no_sum},
    {PG_OP_VADD, PG_OP_VMAD, has_sum_in_ab, no_sum},
    {PG_OP_DIV_F64, PG_OP_DIV_F64, has_sum_and_rounding, no_sum},
    {PG_OP_RCP_F64, PG_OP_RCP_F64, has_sum_and_rounding, no_sum},
    {PG_OP_SQRT_F64, PG_OP_SQRT_F64, has_sum_and_rounding, no_sum},
    {PG_OP_ST_ASYNC_GLOBAL, PG_OP_ST_ASYNC_GLOBAL, has_sum_of_64_bits, no_sum},
    {PG_OP_RED_ASYNC_GLOBAL, PG_OP_RED_ASYNC_GLOBAL_MINMAX, has_sum_of_64_bits, no_sum},
    {PG_OP_RED_ASYNC_GLOBAL_BITS, PG_OP_RED_ASYNC_GLOBAL_BITS, has_sum, no_sum},
    {PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_WS_SP, has_sum_in_description, no_sum},
    {PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_WS_SP, has_constant_address, no_constant_address},
    {PG_OP_TCGEN05_MMA_SP, PG_OP_TCGEN05_MMA_SP, scales_integers,
     "only the kinds f16 and tf32 scale D"},
    {PG_OP_ST_ASYNC, PG_OP_ST_ASYNC, has_constant_address, no_constant_address},
    {PG_OP_RED_ASYNC_BITS, PG_OP_RED_ASYNC_MINMAX, has_constant_address, no_constant_address},
    {PG_OP_CP_ASYNC_BULK_LOAD, PG_OP_CP_TENSOR_REDUCE_IM2COL, has_constant_address,
     no_constant_address},
    {PG_OP_CP_ASYNC_BULK_PREFETCH, PG_OP_CP_ASYNC_BULK_PREFETCH, is_not_a_multiple_of_16,
     "the bytes must be a multiple of 16"},
    {PG_OP_ATOM_CAS_B128, PG_OP_ATOM_CAS_B128, has_constant_value,
     "values of 128 bits must be in registers"},
    {PG_OP_SETP_BF16, PG_OP_SETP_BF16X2, has_constant_predicate,
     "the predicate that is combined must be a register"},
    {PG_OP_CVT_BF16_F32, PG_OP_CVT_BF16_F32, has_wide_register, exact_registers},
    {PG_OP_CVT_F16_BF16, PG_OP_CVT_BF16_F16, has_wide_register, exact_registers},
    {PG_OP_TEX_HALF, PG_OP_TEX_HALF, has_offset, "f16x2 goes with no offset and no depth"},
    {PG_OP_TEX_GRAD, PG_OP_TEX_GRAD, has_odd_gradient, "these gradients must be vectors"},
    {PG_OP_TEX, PG_OP_TLD4, is_cube_with_offset, "a cube is read without an offset"},
    {PG_OP_TEX, PG_OP_TEX_GRAD, has_short_offset, "offsets of 3 dimensions have four elements"},
    {PG_OP_TEX, PG_OP_TEX_LEVEL, samples_at_floats, "samples are read at integers: .s32"},
    {PG_OP_TEX, PG_OP_TLD4, has_odd_depth,
     "a depth is a scalar, and no image of 3 dimensions has one"},
    {PG_OP_LD_VOLATILE, PG_OP_LD_VOLATILE, is_local_or_parameter,
     ".volatile does not go with this space"},
    {PG_OP_ST_VOLATILE, PG_OP_ST_VOLATILE, is_local_or_parameter,
     ".volatile does not go with this space"},
    {PG_OP_ST_VOLATILE, PG_OP_ST_VOLATILE, has_narrow_special, registers_only},
    {PG_OP_LD_VOLATILE, PG_OP_LD_NC, is_eight_small, ".v8 is of 32 bits"},
    {PG_OP_CLC_TRY_CANCEL, PG_OP_CLC_TRY_CANCEL_ALL, has_constant_address, no_constant_address},
    {PG_OP_LD, PG_OP_ST_ORDERED, leaves_l2_unchanged, "L2::evict_unchanged is a hint of L1"},
    {PG_OP_LD, PG_OP_ST_ORDERED, is_not_256_bits,
     "a priority of eviction from L2 needs .v8 of 32 or .v4 of 64 bits"},
    {PG_OP_LDU, PG_OP_LDU, is_beyond_128_bits, "vectors have at most 4 elements and 128 bits"},
    {PG_OP_ST_BULK, PG_OP_ST_BULK, is_odd_bulk,
     "the size is a multiple of 8 or in a register of 64 bits, the address in a register"},
    {PG_OP_PREFETCH_TENSORMAP, PG_OP_PREFETCH_TENSORMAP, names_a_parameter,
     "a parameter needs .param beside it"},
    {PG_OP_MULTIMEM_LD_REDUCE_HALF, PG_OP_MULTIMEM_LD_REDUCE_FP8, widens_an_extreme,
     ".acc is for sums"},
    {PG_OP_MULTIMEM_LD_REDUCE_HALF, PG_OP_MULTIMEM_LD_REDUCE_FP8, is_below_32_bits,
     "an access has at least 32 bits"},
    {PG_OP_MULTIMEM_ST_FLOAT, PG_OP_MULTIMEM_ST_FP8, is_below_32_bits,
     "an access has at least 32 bits"},
    {PG_OP_MULTIMEM_RED_FLOAT, PG_OP_MULTIMEM_RED_FLOAT, is_below_32_bits,
     "an access has at least 32 bits"},
    {PG_OP_MULTIMEM_LD_REDUCE_FLOAT, PG_OP_MULTIMEM_RED_FLOAT, is_vector_of_f64,
     ".f64 has no vectors"},
};

void pg_verify_odd(pg_verifier *v)
{
    const pg_ptx_op op = v->insn->opcode->op;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const odd_rule *r = &rules[i];
        if (op < r->first || op > r->last || !r->holds(v))
            continue;
        pg_parser_warn(v->p, v->insn->line, v->insn->column, "ptxas refuses '%s' as it is: %s",
                       pg_verify_name(v), r->what);
        return;
    }
}
