#include "emulated_matmul.h"

void emulate_matmul(ptxgen *ctx, matmul_data *data, emulated_call how)
{
    const emulated_buffer buffers[] = {{"a", data->a, data->a_bytes, false},
                                       {"b", data->b, data->b_bytes, false},
                                       {"c", data->c, data->c_bytes, data->problem->in_place},
                                       {"d", data->d, data->d_bytes, true}};
    how.family = "matmul_accumulate";
    how.args = &data->args;
    how.buffers = buffers;
    how.buffer_count = sizeof buffers / sizeof *buffers;
    if (!how.sm_count)
        how.sm_count = 4;
    emulate_call(ctx, &how);
}
