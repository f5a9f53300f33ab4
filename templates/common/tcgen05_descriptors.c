/* Bit fields of tcgen05 descriptors, and tensor-memory sizes. */
#include "common/tcgen05.h"

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

/* A field of a 64-bit (matrix) or 32-bit (instruction) descriptor. */
typedef struct bit_field {
    int low, bits;
} bit_field;

enum matrix_field { MATRIX_ADDRESS, MATRIX_LEADING, MATRIX_STRIDE, MATRIX_VERSION, MATRIX_SWIZZLE };

/* PTX ISA 9.0, table of 9.7.16.4.1. The base offset (bits 49..51) stays 0: tiles begin where
 * their swizzle pattern does. */
static const bit_field matrix_fields[] = {
    [MATRIX_ADDRESS] = {0, 14}, [MATRIX_LEADING] = {16, 14}, [MATRIX_STRIDE] = {32, 14},
    [MATRIX_VERSION] = {46, 3}, [MATRIX_SWIZZLE] = {61, 3},
};

enum instruction_field {
    FIELD_D_TYPE,
    FIELD_A_TYPE,
    FIELD_B_TYPE,
    FIELD_A_TRANSPOSE,
    FIELD_B_TRANSPOSE,
    FIELD_N,
    FIELD_M,
    FIELD_SFB_ID,
    FIELD_SCALE_TYPE,
    FIELD_SCALED_M,
    FIELD_SFA_ID
};

/* PTX ISA 9.0, tables of 9.7.16.4.2: the first rows of kind::f16, the block-scaled kinds
 * share N and the operand types with it. */
static const bit_field instruction_fields[] = {
    [FIELD_D_TYPE] = {4, 2},       [FIELD_A_TYPE] = {7, 3},       [FIELD_B_TYPE] = {10, 3},
    [FIELD_A_TRANSPOSE] = {15, 1}, [FIELD_B_TRANSPOSE] = {16, 1}, [FIELD_N] = {17, 6},
    [FIELD_M] = {24, 5},           [FIELD_SFB_ID] = {4, 2},       [FIELD_SCALE_TYPE] = {23, 1},
    [FIELD_SCALED_M] = {27, 2},    [FIELD_SFA_ID] = {29, 2},
};

static uint64_t put(bit_field f, uint64_t value)
{
    return (value & ((UINT64_C(1) << f.bits) - 1)) << f.low;
}

static uint64_t matrix(enum matrix_field f, uint64_t value)
{
    return put(matrix_fields[f], value);
}

static uint32_t instruction(enum instruction_field f, int value)
{
    return (uint32_t)put(instruction_fields[f], (uint64_t)value);
}

uint32_t pg_smem_descriptor_high(pg_smem_matrix m)
{
    static const unsigned codes[] = {
        [PG_SWIZZLE_NONE] = 0, [PG_SWIZZLE_32B] = 6, [PG_SWIZZLE_64B] = 4, [PG_SWIZZLE_128B] = 2};
    const uint64_t bits = matrix(MATRIX_STRIDE, (uint64_t)m.stride_offset >> 4) |
                          matrix(MATRIX_VERSION, 1) | matrix(MATRIX_SWIZZLE, codes[m.swizzle]);
    return (uint32_t)(bits >> 32);
}

uint32_t pg_smem_descriptor_low(pg_smem_matrix m, uint32_t address)
{
    return (uint32_t)(matrix(MATRIX_ADDRESS, address >> 4) |
                      matrix(MATRIX_LEADING, (uint64_t)m.leading_offset >> 4));
}

pg_swizzle pg_swizzle_of(int bytes)
{
    switch (bytes) {
    case 128:
        return PG_SWIZZLE_128B;
    case 64:
        return PG_SWIZZLE_64B;
    case 32:
        return PG_SWIZZLE_32B;
    default:
        return PG_SWIZZLE_NONE;
    }
}

static uint32_t plain_descriptor(const pg_mma_shape *s)
{
    return instruction(FIELD_D_TYPE, 1) | instruction(FIELD_A_TRANSPOSE, s->a_mn_major) |
           instruction(FIELD_B_TRANSPOSE, s->b_mn_major) | instruction(FIELD_M, s->m >> 4);
}

static uint32_t scaled_descriptor(const pg_mma_shape *s)
{
    return instruction(FIELD_SFB_ID, s->sfb_id) | instruction(FIELD_SCALE_TYPE, s->scale_type) |
           instruction(FIELD_SCALED_M, s->m >> 7) | instruction(FIELD_SFA_ID, s->sfa_id);
}

uint32_t pg_instruction_descriptor(const pg_mma_shape *s)
{
    const uint32_t shared = instruction(FIELD_A_TYPE, s->a_type) |
                            instruction(FIELD_B_TYPE, s->b_type) | instruction(FIELD_N, s->n >> 3);
    const bool plain = s->kind == PG_MMA_F16 || s->kind == PG_MMA_F8F6F4 || s->kind == PG_MMA_TF32;
    return shared | (plain ? plain_descriptor(s) : scaled_descriptor(s));
}

int pg_mma_k(pg_mma_kind kind)
{
    static const int k[] = {[PG_MMA_F16] = 16,      [PG_MMA_MXF8F6F4] = 32, [PG_MMA_MXF4] = 64,
                            [PG_MMA_MXF4NVF4] = 64, [PG_MMA_F8F6F4] = 32,   [PG_MMA_TF32] = 8};
    return k[kind];
}

int pg_tmem_allocation(int used)
{
    int columns = PG_TMEM_MIN_COLUMNS;
    while (columns < used)
        columns *= 2;
    return columns <= PG_TMEM_COLUMNS ? columns : 0;
}

/* sm_110a and sm_110f have tensor memory as well, but no kernel here is built for them. */
static bool is_built_for(const pg_arch *arch)
{
    return (arch->sm == 100 || arch->sm == 103) && arch->suffix;
}

ptxgen_status pg_require_tcgen05(const pg_arch *arch, const char *family, const char *also,
                                 ptxgen_error *err)
{
    char list[120];
    size_t used = 0;
    if (is_built_for(arch))
        return PTXGEN_OK;
    for (size_t i = 0; pg_arch_at(i) && used < sizeof list; i++)
        if (is_built_for(pg_arch_at(i)))
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     pg_arch_at(i)->name);
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "%s is not built for %s: it needs tensor memory (tcgen05) of a known target, use "
        "arch=%s%s",
        family, arch->name, list, also);
}
