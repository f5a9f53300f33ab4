/* See elements.h. */
#include "common/elements.h"

#include "base/half.h"
#include "common/small_floats.h"

#include <math.h>

int64_t pg_element_integer(const pg_view *v, int64_t i)
{
    switch (v->dtype) {
    case PTXGEN_S64:
    case PTXGEN_U64:
        return ((const int64_t *)v->data)[i];
    case PTXGEN_S32:
        return ((const int32_t *)v->data)[i];
    case PTXGEN_U32:
        return ((const uint32_t *)v->data)[i];
    case PTXGEN_S16:
        return ((const int16_t *)v->data)[i];
    case PTXGEN_U16:
        return ((const uint16_t *)v->data)[i];
    case PTXGEN_S8:
        return ((const int8_t *)v->data)[i];
    default:
        return ((const uint8_t *)v->data)[i];
    }
}

double pg_element(const pg_view *v, int64_t i)
{
    switch (v->dtype) {
    case PTXGEN_F32:
        return (double)((const float *)v->data)[i];
    case PTXGEN_F64:
        return ((const double *)v->data)[i];
    case PTXGEN_F16:
        return pg_f16_to_double(((const uint16_t *)v->data)[i]);
    case PTXGEN_BF16:
        return pg_bf16_to_double(((const uint16_t *)v->data)[i]);
    case PTXGEN_E4M3:
        return pg_e4m3_to_double(((const uint8_t *)v->data)[i]);
    case PTXGEN_E5M2:
        return pg_e5m2_to_double(((const uint8_t *)v->data)[i]);
    case PTXGEN_E2M1:
        return pg_e2m1_to_double((uint8_t)(((const uint8_t *)v->data)[i / 2] >> (i % 2 * 4)));
    case PTXGEN_UE8M0:
        return pg_e8m0_to_double(((const uint8_t *)v->data)[i]);
    case PTXGEN_C64:
        return (double)((const float *)v->data)[2 * i];
    case PTXGEN_C128:
        return ((const double *)v->data)[2 * i];
    default:
        return (double)pg_element_integer(v, i);
    }
}

static void set_half_byte(uint8_t *data, int64_t i, uint8_t bits)
{
    const int shift = (int)(i % 2 * 4);
    data[i / 2] = (uint8_t)((data[i / 2] & ~(15U << shift)) | (unsigned)bits << shift);
}

void pg_element_set(const pg_view *v, int64_t i, double value)
{
    if (isnan(value))
        value = (double)NAN;
    switch (v->dtype) {
    case PTXGEN_F32:
        ((float *)v->data)[i] = (float)value;
        return;
    case PTXGEN_F64:
        ((double *)v->data)[i] = value;
        return;
    case PTXGEN_F16:
        ((uint16_t *)v->data)[i] = pg_f16_from_double(value);
        return;
    case PTXGEN_E4M3:
        ((uint8_t *)v->data)[i] = pg_e4m3_from_double(value);
        return;
    case PTXGEN_E5M2:
        ((uint8_t *)v->data)[i] = pg_e5m2_from_double(value);
        return;
    case PTXGEN_UE8M0:
        ((uint8_t *)v->data)[i] = pg_e8m0_from_double(value);
        return;
    case PTXGEN_E2M1:
        set_half_byte(v->data, i, pg_e2m1_from_double(value));
        return;
    default:
        ((uint16_t *)v->data)[i] = pg_bf16_from_double(value);
    }
}

void pg_element_set_integer(const pg_view *v, int64_t i, int64_t value)
{
    if (v->dtype == PTXGEN_S64)
        ((int64_t *)v->data)[i] = value;
    else
        ((int32_t *)v->data)[i] = (int32_t)(uint32_t)value;
}
