/* ptxgen_cubin_inspect and ptxgen_cubin_kernel_at on any bytes: no read outside them, and every
 * text they give ends inside them. */
#include "ptxgen/inspect.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    ptxgen_cubin_info info = {.size = sizeof info};
    ptxgen_cubin_kernel k = {.size = sizeof k};
    ptxgen_error err;
    if (ptxgen_cubin_inspect(bytes, size, &info, &err) != PTXGEN_OK)
        return 0;
    size_t count = 0;
    for (; count < 64 && ptxgen_cubin_kernel_at(bytes, size, count, &k); count++)
        if (k.name < (const char *)bytes || k.name + strlen(k.name) >= (const char *)bytes + size)
            abort();
    if (count < 64 && count != info.kernel_count)
        abort();
    return 0;
}
