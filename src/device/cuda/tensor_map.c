/* Tiled tensor maps. A map holds an address, so it is made for every launch; about 100 ns. The
 * limits are those of cuTensorMapEncodeTiled (CUDA driver API, "Tensor Map Object Management"). */
#include "device/cuda/device.h"

#include "base/error.h"

static uint32_t element_bytes(pg_tensor_type type)
{
    static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return (size_t)type < sizeof bytes ? bytes[type]
                                       : 0; /* 0: the packed types, checked by the driver */
}

static ptxgen_status check_dim(const pg_tensor_spec *s, uint32_t i, ptxgen_error *err)
{
    if (s->dims[i] == 0 || s->dims[i] > (1ull << 32))
        return pg_fail(err, PTXGEN_EINVAL, "tensor dimension %u is %llu; 1 to 2^32 are possible", i,
                       (unsigned long long)s->dims[i]);
    if (s->box[i] == 0 || s->box[i] > 256)
        return pg_fail(err, PTXGEN_EINVAL, "box dimension %u is %u; 1 to 256 are possible", i,
                       s->box[i]);
    if (i > 0 && (s->strides[i - 1] % 16 || s->strides[i - 1] >= (1ull << 40)))
        return pg_fail(
            err, PTXGEN_EINVAL,
            "the stride of tensor dimension %u is %llu bytes; a multiple of 16 below 2^40 "
            "is needed",
            i, (unsigned long long)s->strides[i - 1]);
    return PTXGEN_OK;
}

static ptxgen_status check(const pg_tensor_spec *s, ptxgen_error *err)
{
    if (s->rank < 1 || s->rank > PG_TENSOR_MAX_RANK)
        return pg_fail(err, PTXGEN_EINVAL, "tensor rank %u; 1 to %d are possible", s->rank,
                       PG_TENSOR_MAX_RANK);
    if ((uintptr_t)s->address % 16)
        return pg_fail(err, PTXGEN_EINVAL, "tensor address %p is not 16-byte aligned", s->address);
    for (uint32_t i = 0; i < s->rank; i++)
        PG_TRY(check_dim(s, i, err));
    uint32_t row = s->box[0] * element_bytes(s->type);
    if (row % 16)
        return pg_fail(err, PTXGEN_EINVAL, "a box row is %u bytes; a multiple of 16 is needed",
                       row);
    if (s->swizzle != PG_SWIZZLE_NONE && row > 16u << s->swizzle)
        return pg_fail(err, PTXGEN_EINVAL,
                       "a box row is %u bytes; at most the swizzle's %u are possible", row,
                       16u << s->swizzle);
    return PTXGEN_OK;
}

ptxgen_status pg_cuda_encode_tensor(const pg_driver *d, const pg_tensor_spec *s, void *map,
                                    ptxgen_error *err)
{
    static const uint32_t element_strides[PG_TENSOR_MAX_RANK] = {1, 1, 1, 1, 1};
    if (!d->cuTensorMapEncodeTiled)
        return pg_driver_too_old(d, 12000, "a tensor map", err);
    PG_TRY(check(s, err));
    int result = d->cuTensorMapEncodeTiled(map, (int)s->type, s->rank, s->address, s->dims,
                                           s->strides, s->box, element_strides, 0, (int)s->swizzle,
                                           (int)s->l2_promotion, (int)s->nan_fill);
    return pg_driver_check(d, result, "encode a tensor map", err);
}
