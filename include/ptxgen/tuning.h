/* Kernels by measurement: the candidates for a call, how long each takes on the device, and a
 * file that keeps the fastest, which calls then take wherever they leave the choice open. `ptxgen
 * tune` does all of it.
 *
 * The file (ptxgen_config.tuning_file, PTXGEN_TUNING_FILE, tuning_file of a configuration file;
 * by rule "tuning" in the cache folder) is text, a line an entry: device, driver, generator and
 * problem, parameters, microseconds. An entry of another device, driver release or version of the
 * generator is not used. A file that is not whole, or that others may write to, is refused as a
 * whole (a warning in the log; calls go by the model). Contexts read it at their first call. The
 * conventions of ptxgen.h hold. Any thread. */
#ifndef PTXGEN_TUNING_H
#define PTXGEN_TUNING_H

#include "ptxgen/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `params`: of a kernel, whole, for ptxgen_get. `estimate_us`: by the library's model, to compare
 * with others of the same call. Return false to stop. */
typedef bool (*ptxgen_candidate_visit)(void *user, const char *params, double estimate_us);
/* The kernels that could serve a call (as ptxgen_call takes it), the best by the model first, at
 * most `most` (up to 256). No data is read; pointers may be NULL. EUNSUPPORTED: a family without
 * a choice. */
PTXGEN_API ptxgen_status ptxgen_call_candidates(ptxgen *ctx, const char *family, const char *params,
                                                const ptxgen_tensor *tensors, size_t count,
                                                size_t most, ptxgen_candidate_visit visit,
                                                void *user, ptxgen_error *err);

/* Microseconds of one call among `repeat` of it in a row (1 to 1000), by events of the device;
 * without a driver that can, by the clock. Waits; results are written as by the calls. */
PTXGEN_API ptxgen_status ptxgen_call_time(ptxgen_kernel *kernel, const ptxgen_tensor *tensors,
                                          size_t count, int repeat, double *us, ptxgen_error *err);

/* Writes the winner for a call into the tuning file: atomically, beside what others write.
 * EPARSE: the file that is there is refused, and stays. EINVAL: no file is set, or such
 * parameters do not serve the call. */
PTXGEN_API ptxgen_status ptxgen_tuning_keep(ptxgen *ctx, const char *family, const char *params,
                                            const ptxgen_tensor *tensors, size_t count,
                                            const char *winner, double us, ptxgen_error *err);

typedef struct ptxgen_tuning_info {
    size_t size; /* set by the caller */
    char path[4096];   /* "": no file is set */
    bool exists;
    size_t entries, current; /* all; those of this device, driver and generator */
    char problem[768]; /* why the file is refused; "" */
} ptxgen_tuning_info;
/* What the tuning file is like now. */
PTXGEN_API ptxgen_status ptxgen_tuning_get_info(ptxgen *ctx, ptxgen_tuning_info *info,
                                                ptxgen_error *err);

#ifdef __cplusplus
}
#endif

#endif
