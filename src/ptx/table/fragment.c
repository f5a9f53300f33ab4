/* Lengths of register vectors of matrix and tensor-memory instructions (PTX ISA 9.0, 9.7.14 mma
 * and ldmatrix, 9.7.15 wgmma, 9.7.16 tcgen05.ld and .st). */
#include "ptx/table/fragment.h"

#include "ptx/table/vocabulary.h"

#include <string.h>

enum { MOST_TMEM_REGISTERS = 128, NO_LENGTH = 512 /* more than any vector has */ };

static int count_of(const pg_ptx_opcode *o)
{
    switch (o->mod[PG_F_COUNT]) {
#define COUNT(n)                                                                                   \
    case PG_M_COUNT_X##n:                                                                          \
        return n;
        COUNT(1)
        COUNT(2)
        COUNT(4)
        COUNT(8)
        COUNT(16)
        COUNT(32)
        COUNT(64)
        COUNT(128)
#undef COUNT
    default:
        return 0;
    }
}

/* .m8n8 and .m16n8: a register per matrix; .m16n16: two. */
static int ldmatrix_length(const pg_ptx_opcode *o)
{
    return count_of(o) * (o->shape_m == 16 && o->shape_n == 16 ? 2 : 1);
}

static int tmem_length(const pg_ptx_opcode *o)
{
    int words = 1;
    if (o->mod[PG_F_SHAPE] == PG_M_SHAPE_S_16X128B)
        words = 2;
    else if (o->mod[PG_F_SHAPE] == PG_M_SHAPE_S_16X256B)
        words = 4;
    int n = count_of(o) * words;
    return n <= MOST_TMEM_REGISTERS ? n : NO_LENGTH;
}

/* 64 x n elements over 128 threads, 16-bit ones in pairs. */
static int wgmma_length(const pg_ptx_opcode *o)
{
    return o->shape_n / (pg_type_table[o->types[0]].bits == 16 ? 4 : 2);
}

/* Bits that an element of an mma operand takes in a register: 4- and 6-bit floats sit in bytes,
 * but .kind::mxf4* packs two to a byte. */
static int element_bits(const pg_ptx_opcode *o, pg_ptx_type type)
{
    bool packed = o->mod[PG_F_KIND] == PG_M_KIND_MXF4 || o->mod[PG_F_KIND] == PG_M_KIND_MXF4NVF4;
    int bits = pg_type_table[type].bits;
    return pg_type_table[type].class == PG_CLASS_FLOAT && bits < 8 && !packed ? 8 : bits;
}

/* Registers of a rows x columns tile over a warp. */
static int mma_length(const pg_ptx_opcode *o, int rows, int columns, pg_ptx_type type)
{
    int bits = element_bits(o, type);
    return rows * columns * bits / 32 / (bits == 64 ? 64 : 32);
}

/* Fragments of wmma; f16 operands take twice the registers that they need. */
static int wmma_length(const pg_ptx_opcode *o, char which)
{
    const bool multiplies = o->op >= PG_OP_WMMA_MMA_F16, half = o->op == PG_OP_WMMA_MMA_F16;
    const bool operand = which == 'a' || which == 'b';
    const pg_ptx_type type = (pg_ptx_type)(!multiplies || which == 'd' ? o->types[0]
                                           : operand ? (half ? PG_T_F16 : o->types[1])
                                                     : o->types[half ? 1 : 3]);
    const int m = o->shape_m, n = o->shape_n, k = o->shape_k, bits = (int)pg_ptx_type_bits(type);
    const int elements = which == 'a' ? m * k : which == 'b' ? n * k : m * n;
    return operand && type == PG_T_F16 ? 8 : elements * (bits < 32 ? bits : 32) / 32 / 32;
}

static int mma_operand_length(const pg_ptx_opcode *o, char which)
{
    int m = o->shape_m, n = o->shape_n, k = o->shape_k;
    /* .m8n8k4 of f16 is four products at once: a register tile of each (9.7.14.5.1). */
    bool quad = m == 8 && n == 8 && k == 4 && o->types[1] == PG_T_F16;
    if (quad)
        return which == 'a' || which == 'b'                              ? 2
               : o->types[which == 'c' ? o->n_types - 1 : 0] == PG_T_F16 ? 4
                                                                         : 8;
    switch (which) {
    case 'a':
        return mma_length(o, m, k, o->types[1]);
    case 's':
        return mma_length(o, m, k / 2, o->types[1]);
    case 'b':
        return mma_length(o, k, n, o->types[2]);
    case 'c':
        return mma_length(o, m, n, o->types[3]);
    default:
        return mma_length(o, m, n, o->types[0]);
    }
}

int pg_fragment_length(const pg_ptx_opcode *o, pg_str rule)
{
    if (pg_str_is(rule, "ldmatrix"))
        return ldmatrix_length(o);
    if (pg_str_is(rule, "tmem"))
        return tmem_length(o);
    if (rule.n == 6 && !memcmp(rule.p, "wmma_", 5))
        return wmma_length(o, rule.p[5]);
    if (pg_str_is(rule, "wgmma"))
        return wgmma_length(o);
    if (pg_str_is(
            rule,
            "im2col")) /* offsets of all dimensions but channels and batch; .w: offset and halo */
        return o->mod[PG_F_TENSOR] == PG_M_TENSOR_IM2COL ? o->mod[PG_F_DIM] - PG_M_DIM_D1 - 1 : 2;
    if (pg_str_is(rule, "lanes")) /* a mask of 128 or, over a pair of CTAs, 256 lanes */
        return o->mod[PG_F_CTA_GROUP] == PG_M_CTA_GROUP_G2 ? 8 : 4;
    if (rule.n == 1 || pg_str_is(rule, "sparse"))
        return mma_operand_length(o, rule.p[0]);
    return -1;
}
