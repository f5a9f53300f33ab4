/* A problem of matmul_accumulate (matmul_case.h) on the emulator. */
#ifndef EMULATED_MATMUL_H
#define EMULATED_MATMUL_H

#include "emulated_call.h"
#include "matmul_case.h"

/* Runs the kernel that how->params names on the made problem; family, arguments and buffers of
 * `how` are filled in, sm_count 0 means 4. D is in data->args.d. */
void emulate_matmul(ptxgen *ctx, matmul_data *data, emulated_call how);

#endif
