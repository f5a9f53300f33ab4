/* What every run of a family's kernel does alike: measuring, writing the result, and the lines of its report about the
 * device and the kernel. */
#ifndef PTXGEN_RUN_PARTS_H
#define PTXGEN_RUN_PARTS_H

#include "npy/npy.h"
#include "command/command.h"
#include "command/json.h"

/* --repeat: the launches are queued together and waited for once, so host and device overlap as they do in a program; a
 * first round is not counted. *mean_us: of one launch. */
typedef struct run_series {
    ptxgen *ctx;
    int64_t repeat;
    ptxgen_status (*launch)(void *job, ptxgen_error *);
    void *job;
} run_series;
ptxgen_status run_measure(const run_series *, double *mean_us, ptxgen_error *);

/* To -o, when it was given. */
ptxgen_status run_write_result(const cli_settings *, const npy_array *, ptxgen_error *);

/* kernel NULL: there was nothing to launch, because `none`. */
void run_head_text(const ptxgen_device_info *, FILE *);
void run_kernel_text(const ptxgen_kernel *, const char *none, FILE *);
void run_head_json(const ptxgen_device_info *, cJSON *);
void run_kernel_json(const ptxgen_kernel *, cJSON *);

#endif
