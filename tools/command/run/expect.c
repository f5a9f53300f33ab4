/* Bit by bit: a program on the emulator gives the same bits every time. */
#include "command/run/expect.h"

#include "command/command.h"

#include <string.h>

static bool same_shape(const npy_header *a, const npy_header *b)
{
    if (a->type != b->type || a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d])
            return false;
    return true;
}

ptxgen_status run_expect(const char *path, const npy_array *result, bool *same, ptxgen_error *err)
{
    npy_array wanted = {0};
    *same = false;
    ptxgen_status status = npy_load(path, &wanted, err);
    if (status != PTXGEN_OK)
        return status;
    const npy_header *h = &result->header;
    size_t elements = 1, different = 0, first = 0;
    for (int d = 0; d < h->rank; d++)
        elements *= (size_t)h->shape[d];
    if (!same_shape(h, &wanted.header)) {
        status =
            cli_fail(err, PTXGEN_EINVAL,
                     "--expect %s: it has another type or shape than the result (zeros:4x32:f32 "
                     "gives a result both)",
                     path);
    } else {
        const size_t bytes = elements ? h->data_bytes / elements : 0;
        const char *a = result->data, *b = wanted.data;
        for (size_t i = elements; i-- > 0;)
            if (memcmp(a + i * bytes, b + i * bytes, bytes) != 0) {
                different++;
                first = i;
            }
        *same = different == 0;
        if (different)
            cli_say("%zu of %s differ from %s, the first at %zu", different,
                    cli_count(elements, "element", "elements"), path, first);
    }
    npy_free(&wanted);
    return status;
}
