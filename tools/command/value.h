/* Elements of arrays as doubles, for the checks of `ptxgen run`. */
#ifndef PTXGEN_VALUE_H
#define PTXGEN_VALUE_H

#include "ptxgen/ptxgen.h"

/* Element i of an array of f32, f16 or bf16. */
double cli_value(ptxgen_dtype dtype, const void *array, int64_t i);

#endif
