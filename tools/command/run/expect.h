/* --expect: the result of a program beside the .npy file that it should be. */
#ifndef PTXGEN_RUN_EXPECT_H
#define PTXGEN_RUN_EXPECT_H

#include "npy/npy.h"

/* Says on standard error where they differ; *same. EINVAL when the file has another type or
 * shape. */
ptxgen_status run_expect(const char *path, const npy_array *result, bool *same, ptxgen_error *err);

#endif
