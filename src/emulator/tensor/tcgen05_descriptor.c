/* Bit fields of the instruction descriptor, by kind, and the shapes that exist. */
#include "emulator/tensor/tcgen05_descriptor.h"

#include "base/error.h"
#include "emulator/matrix/mma_numerics.h"

#include <inttypes.h>
#include <stdio.h>

/* A code of a type field. */
typedef struct type_code {
    uint8_t code;
    pg_format_id format;
    pg_tcgen05_packing packing;
    bool is_signed;
} type_code;

static const type_code codes_f16[] = {{0, PG_FMT_F16, PG_PACKING_CONTAINERS, false},
                                      {1, PG_FMT_BF16, PG_PACKING_CONTAINERS, false}};
static const type_code codes_tf32[] = {{2, PG_FMT_TF32, PG_PACKING_CONTAINERS, false}};
static const type_code codes_f8f6f4[] = {{0, PG_FMT_E4M3, PG_PACKING_CONTAINERS, false},
                                         {1, PG_FMT_E5M2, PG_PACKING_CONTAINERS, false},
                                         {3, PG_FMT_E2M3, PG_PACKING_PADDED_6, false},
                                         {4, PG_FMT_E3M2, PG_PACKING_PADDED_6, false},
                                         {5, PG_FMT_E2M1, PG_PACKING_PADDED_4, false}};
static const type_code codes_i8[] = {{0, PG_FMT_E4M3, PG_PACKING_CONTAINERS, false},
                                     {1, PG_FMT_E4M3, PG_PACKING_CONTAINERS, true}};
static const type_code codes_mxf4[] = {{1, PG_FMT_E2M1, PG_PACKING_PACKED_4, false}};

enum { D_F16 = 1 << 0, D_F32 = 1 << 1, D_S32 = 1 << 2 }; /* bit of each code of the D type field */

typedef struct kind_info {
    const char *name;
    uint32_t k;
    const type_code *codes;
    uint32_t code_count;
    uint32_t d_codes;  /* 0: no such field, D is f32 */
    uint32_t reserved; /* bits that must be zero */
    bool scaled, negates, transposes;
} kind_info;

#define CODES(table) table, sizeof table / sizeof *table

static const kind_info kinds[PG_KIND_COUNT] = {
    /* name, K, type codes, D types, reserved bits, scaled, negates, transposes */
    [PG_KIND_F16] = {"f16", 16, CODES(codes_f16), D_F16 | D_F32, 0x20800048, false, true, true},
    [PG_KIND_TF32] = {"tf32", 8, CODES(codes_tf32), D_F32, 0x20800048, false, true, true},
    [PG_KIND_F8F6F4] = {"f8f6f4", 32, CODES(codes_f8f6f4), D_F16 | D_F32, 0x20800048, false, true,
                        true},
    [PG_KIND_I8] = {"i8", 32, CODES(codes_i8), D_S32, 0x20800040, false, false, true},
    [PG_KIND_MXF8F6F4] = {"mxf8f6f4", 32, CODES(codes_f8f6f4), 0, 0x8700004b, true, true, true},
    [PG_KIND_MXF4] = {"mxf4", 64, CODES(codes_mxf4), 0, 0x0700104b, true, true, false},
    [PG_KIND_MXF4NVF4] = {"mxf4nvf4", 64, CODES(codes_mxf4), 0, 0x0700104b, true, true, false},
};

static uint32_t field(uint32_t bits, uint32_t first, uint32_t count)
{
    return bits >> first & ((1u << count) - 1);
}

/* The start of every message. */
static ptxgen_status refuse(ptxgen_error *err, ptxgen_status status, uint32_t bits,
                            const pg_tcgen05_form *form, const char *why)
{
    return pg_fail(err, status,
                   "instruction descriptor 0x%08" PRIx32
                   " of tcgen05.mma%s, kind %s, cta_group %u: %s",
                   bits, form->ws ? ".ws" : "", kinds[form->kind].name, form->cta_group, why);
}

/* ---- shapes ---- */

/* Without .ws, N is a multiple of this. */
static uint32_t n_step(const pg_tcgen05_form *form, const pg_tcgen05_instruction *x)
{
    const uint32_t pair = form->cta_group;
    if (form->kind == PG_KIND_I8 && (pair == 2 || x->n > 32))
        return 16 * pair;
    return (x->b.mn_major && pg_mma_container(x->b.format) == 1 ? 16 : 8) * pair;
}

static bool n_exists(const pg_tcgen05_form *form, const pg_tcgen05_instruction *x)
{
    const uint32_t n = x->n, step = n_step(form, x);
    if (form->ws)
        return n == 64 || n == 128 || n == 256;
    return n >= step && n <= 256 && n % step == 0;
}

static bool m_exists(const pg_tcgen05_form *form, uint32_t m)
{
    if (form->ws)
        return m == 32 || m == 64 || m == 128;
    if (kinds[form->kind].scaled)
        return (m == 128 && !(form->sparse && form->cta_group == 2)) ||
               (form->cta_group == 2 && m == 256);
    return m == 64 * form->cta_group || m == 128 * form->cta_group;
}

static ptxgen_status check_shape(uint32_t bits, const pg_tcgen05_form *form,
                                 const pg_tcgen05_instruction *x, ptxgen_error *err)
{
    char why[200], m[24] = "", n[48] = "64, 128 or 256";
    if (m_exists(form, x->m) && n_exists(form, x))
        return PTXGEN_OK;
    for (uint32_t rows = 32, used = 0; rows <= 256; rows *= 2)
        if (m_exists(form, rows))
            used += (uint32_t)snprintf(m + used, sizeof m - used, "%s%u", used ? " or " : "", rows);
    if (!form->ws)
        snprintf(n, sizeof n, "a multiple of %u up to 256", n_step(form, x));
    snprintf(why, sizeof why,
             "M = %u, N = %u is not a shape of this kind: M is %s, N %s (PTX ISA 9.0, table 39)",
             x->m, x->n, m, n);
    return refuse(err, PTXGEN_EINVAL, bits, form, why);
}

/* ---- fields ---- */

static bool find_type(const kind_info *kind, uint32_t code, pg_tcgen05_operand *out)
{
    for (uint32_t i = 0; i < kind->code_count; i++)
        if (kind->codes[i].code == code) {
            out->format = kind->codes[i].format;
            out->packing = kind->codes[i].packing;
            out->is_signed = kind->codes[i].is_signed;
            return true;
        }
    return false;
}

static ptxgen_status decode_types(uint32_t bits, const pg_tcgen05_form *form,
                                  pg_tcgen05_instruction *x, ptxgen_error *err)
{
    const kind_info *kind = &kinds[form->kind];
    const uint32_t a = field(bits, 7, 3), b = field(bits, 10, 3), d = field(bits, 4, 2);
    static const pg_mma_result results[4] = {PG_MMA_D_F16, PG_MMA_D_F32, PG_MMA_D_S32,
                                             PG_MMA_D_F32};
    char why[160];
    if (!find_type(kind, a, &x->a) || !find_type(kind, b, &x->b)) {
        snprintf(why, sizeof why,
                 "type codes %u of A (bits 7-9) and %u of B (bits 10-12) do not both exist", a, b);
        return refuse(err, PTXGEN_EINVAL, bits, form, why);
    }
    x->result = kind->d_codes ? results[d] : PG_MMA_D_F32;
    if (kind->d_codes && !(kind->d_codes >> d & 1)) {
        snprintf(why, sizeof why, "type code %u of D (bits 4-5) does not exist", d);
        return refuse(err, PTXGEN_EINVAL, bits, form, why);
    }
    if (x->result == PG_MMA_D_F16 && (x->a.format == PG_FMT_BF16 || x->b.format == PG_FMT_BF16))
        return refuse(err, PTXGEN_EINVAL, bits, form, "D of f16 needs A and B of f16, not bf16");
    return PTXGEN_OK;
}

static ptxgen_status decode_signs_and_majors(uint32_t bits, const pg_tcgen05_form *form,
                                             pg_tcgen05_instruction *x, ptxgen_error *err)
{
    const kind_info *kind = &kinds[form->kind];
    x->a.negate = field(bits, 13, 1);
    x->b.negate = field(bits, 14, 1);
    x->a.mn_major = field(bits, 15, 1);
    x->b.mn_major = field(bits, 16, 1);
    if (!kind->negates && (x->a.negate || x->b.negate))
        return refuse(err, PTXGEN_EINVAL, bits, form, "this kind cannot negate (bits 13, 14)");
    const bool narrow = (x->a.mn_major && x->a.packing != PG_PACKING_CONTAINERS) ||
                        (x->b.mn_major && x->b.packing != PG_PACKING_CONTAINERS);
    if (narrow || (!kind->transposes && (x->a.mn_major || x->b.mn_major)))
        return refuse(err, PTXGEN_EINVAL, bits, form,
                      "4-bit and 6-bit operands cannot be transposed (bits 15, 16)");
    return PTXGEN_OK;
}

static ptxgen_status decode_scales(uint32_t bits, const pg_tcgen05_form *form,
                                   pg_tcgen05_instruction *x, ptxgen_error *err)
{
    const uint32_t step = x->k / form->scale_block; /* scales of a row: 1, 2 or 4 */
    char why[160];
    x->sfb_id = field(bits, 4, 2);
    x->sfa_id = field(bits, 29, 2);
    x->scale_type = field(bits, 23, 1) ? PG_SCALE_UE8M0 : PG_SCALE_UE4M3;
    if (x->sfa_id % step || x->sfb_id % step) {
        snprintf(why, sizeof why,
                 "scale factor ids %u of A (bits 29-30) and %u of B (bits 4-5) must be multiples "
                 "of %u, the scales "
                 "of a row",
                 x->sfa_id, x->sfb_id, step);
        return refuse(err, PTXGEN_EINVAL, bits, form, why);
    }
    if (x->scale_type == PG_SCALE_UE4M3 &&
        (form->kind != PG_KIND_MXF4NVF4 || form->scale_block != 16))
        return refuse(err, PTXGEN_EINVAL, bits, form,
                      "scales of ue4m3 (bit 23 = 0) exist for mxf4nvf4 with blocks of 16 only");
    return PTXGEN_OK;
}

ptxgen_status pg_tcgen05_instruction_decode(uint32_t bits, const pg_tcgen05_form *form,
                                            pg_tcgen05_instruction *out, ptxgen_error *err)
{
    const kind_info *kind = &kinds[form->kind];
    char why[160];
    if (form->sparse != field(bits, 2, 1))
        return refuse(err, PTXGEN_EINVAL, bits, form,
                      form->sparse ? "bit 2 is clear: A is dense, the instruction is .sp"
                                   : "bit 2 is set: A is sparse, the instruction is not .sp");
    if (form->kind >= PG_KIND_MXF4 && bits >> 31)
        return refuse(err, PTXGEN_EUNSUPPORTED, bits, form,
                      "K = 96 (bit 31) is not executed: it needs sm_103a");
    const uint32_t reserved = bits & kind->reserved;
    if (reserved) {
        snprintf(why, sizeof why, "bits 0x%08" PRIx32 " must be zero", reserved);
        return refuse(err, PTXGEN_EINVAL, bits, form, why);
    }
    *out = (pg_tcgen05_instruction){.k = kind->k, .integer = form->kind == PG_KIND_I8};
    out->selector = form->sparse && !kind->scaled ? field(bits, 0, 2) : 0;
    if (out->selector && (form->kind == PG_KIND_F8F6F4 || form->kind == PG_KIND_I8))
        return refuse(err, PTXGEN_EINVAL, bits, form,
                      "the sparsity selector (bits 0-1) of this kind must be zero");
    out->saturate = !kind->scaled && field(bits, 3, 1);
    out->n = field(bits, 17, 6) << 3;
    out->m = kind->scaled ? field(bits, 27, 2) << 7 : field(bits, 24, 5) << 4;
    static const uint32_t shifts[4] = {0, 8, 16, 32};
    out->max_shift = kind->scaled ? 0 : shifts[field(bits, 30, 2)];
    if (out->max_shift && !form->ws)
        return refuse(err, PTXGEN_EINVAL, bits, form,
                      "a maximum shift (bits 30-31) belongs to .ws");
    PG_TRY(decode_types(bits, form, out, err));
    PG_TRY(decode_signs_and_majors(bits, form, out, err));
    if (kind->scaled)
        PG_TRY(decode_scales(bits, form, out, err));
    return check_shape(bits, form, out, err);
}

/* ---- zero-column mask ---- */

/* The text of section 9.7.16.4.3 gives the field at bit 40 as the columns of B that are used and
 * the one at bit 48 as those that are zero; all its examples have it the other way round, and so
 * has this. */
static bool is_zero_column(uint64_t bits, uint32_t part, uint32_t column)
{
    const uint32_t zeros = (uint32_t)(bits >> 40 & 0xff) + 1,
                   used = (uint32_t)(bits >> 48 & 0xff) + 1;
    const bool zeros_first = bits >> (32 + part) & 1;
    const uint32_t at = (column + (uint32_t)(bits >> 8 * part & 0xff)) % (zeros + used);
    return zeros_first ? at < zeros : at >= used;
}

ptxgen_status pg_tcgen05_zero_columns(uint64_t bits, const pg_tcgen05_instruction *x, bool *zero,
                                      ptxgen_error *err)
{
    const uint32_t parts = 128 / x->m, width = x->n / parts, shift = pg_tcgen05_column_shift(bits);
    const uint32_t most = x->m == 32 && x->max_shift > 16 ? 16 : x->max_shift;
    if (bits & UINT64_C(0xc000007000000000))
        return pg_fail(err, PTXGEN_EINVAL,
                       "zero-column mask 0x%016" PRIx64 ": bits 36-38 and 62-63 must be zero",
                       bits);
    if (shift > most)
        return pg_fail(err, PTXGEN_EINVAL,
                       "zero-column mask 0x%016" PRIx64
                       ": a shift of %u columns (bits 56-61); the instruction "
                       "descriptor (bits 30-31) and M = %u allow %u",
                       bits, shift, x->m, most);
    for (uint32_t i = 0; i < x->n; i++)
        zero[i] = (bits >> 39 & 1) && is_zero_column(bits, i / width, i % width);
    return PTXGEN_OK;
}
