/* The header of a .npy file: any bytes are refused with a message or describe an array that adds
 * up. */
#include "npy/npy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ptxgen_error err = {0};
    npy_header h;
    size_t offset;
    const size_t first = size < NPY_PREAMBLE_BYTES ? size : NPY_PREAMBLE_BYTES;
    if (npy_data_offset(data, first, &offset, &err) != PTXGEN_OK || offset > size)
        return 0;
    if (npy_parse_header(data, offset, &h, &err) != PTXGEN_OK) {
        if (err.message[0] == '\0')
            abort();
        return 0;
    }
    size_t count = 1;
    for (int i = 0; i < h.rank; i++)
        count *= (size_t)h.shape[i]; /* cannot overflow unless a later size is 0 */
    char text[64];
    npy_shape_text(&h, text, sizeof text);
    if (h.rank > NPY_MAX_RANK || h.count != count || h.data_bytes != count * h.elem_bytes)
        abort();
    return 0;
}
