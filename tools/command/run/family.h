/* `ptxgen run FAMILY`: any family's kernel on .npy files, from its tables. Files become
 * operands, what is left of the words parameters; then the call is described, emulated or run,
 * and reported. */
#ifndef PTXGEN_RUN_FAMILY_H
#define PTXGEN_RUN_FAMILY_H

#include "command/command.h"
#include "command/run/findings.h"
#include "command/run/run.h"
#include "command/run/watch.h"
#include "npy/npy.h"
#include "ptxgen/call.h"

enum { RUN_MAX_OPERANDS = 24, RUN_PARAMS_BYTES = 2048 };

/* An operand and where its values are. */
typedef struct run_operand {
    ptxgen_operand_info info;
    char *path;         /* owned: of the values; NULL: no file */
    ptxgen_dtype named; /* FILE.npy:bf16: what the file's bits are; PTXGEN_DTYPE_NONE: unsaid */
    char *to; /* owned: where a result goes that is not -o's: NAME=FILE.npy; NULL: nowhere */
    const char *number; /* of a scalar: what was written in the place of a file, or NULL */
    bool transposed;  /* named NAMEt=: the file holds the last two dimensions the other way round */
    npy_array array;  /* of the file, or zeros */
    npy_array output; /* of a result, after the run */
    bool present;
    ptxgen_dtype dtype;
    int rank;
    int64_t shape[PTXGEN_OPERAND_MAX_RANK];
    int64_t host_strides[PTXGEN_OPERAND_MAX_RANK], strides[PTXGEN_OPERAND_MAX_RANK];
    void *memory; /* the device's, or host memory that the emulator of --check-races uses */
    size_t bytes;
} run_operand;

typedef struct run_job {
    const cli_args *args;
    struct run_trace *trace; /* NULL: none */
    const char *family;
    size_t place; /* of the family */
    run_operand operands[RUN_MAX_OPERANDS];
    size_t count, result;          /* result: the operand that -o writes */
    char *words;                   /* owned: parameters that the user gave */
    char params[RUN_PARAMS_BYTES]; /* all of the kernel's; "" when there is nothing to do */
    run_seeds seeds;
    bool emulates; /* on an emulator of our own: --check-races, --stats, --seeds */

    ptxgen *ctx;
    ptxgen_kernel *kernel; /* NULL: there is nothing to do */
    ptxgen_call_verdict verdict;
    run_findings found;
    cJSON *json; /* of an emulated run under --json, until the report; NULL otherwise */
    double mean_us, flop, bytes;
} run_job;

/* ---- files (files.c) ---- */

/* Sorts the words into files and parameters, loads the files, makes operands of them, and
 * completes what no file gives: zeros, shapes and types of results. */
ptxgen_status run_take_files(run_job *, ptxgen_error *);
run_operand *run_operand_named(run_job *, const char *name);
/* The value of a parameter that the user gave ("dtype" of dtype=bf16), or NULL; and takes it
 * out. */
const char *run_word(const run_job *, const char *name);
void run_drop_word(run_job *, const char *name);
void run_add_word(run_job *, const char *name, const char *value);
/* What of a family its table does not say: files that are no operands yet (scaled.c). NULL:
 * nothing. */
typedef ptxgen_status (*run_adapter)(run_job *, ptxgen_error *);
run_adapter run_adapter_of(const char *family);

/* ---- operands (operands.c) ---- */

bool run_is_result(const run_operand *);
/* Is it there, and a result? */
bool run_has_result(const run_operand *);
/* The tensors of a call: of the files' data (`after`: of the results' outputs), or of `memory`. */
void run_host_tensors(const run_job *, bool after, ptxgen_tensor *out);
void run_device_tensors(const run_job *, ptxgen_tensor *out);
/* Memory for every operand, with the files' values, rows padded as the kernels want them; freed
 * by run_free. */
ptxgen_status run_place_operands(run_job *, ptxgen_error *);
/* The values that the operands had at first, again (host memory only). */
void run_reset_operands(run_job *);
/* Memory for the call's workspace, of an emulator that takes none from the library. */
ptxgen_status run_place_workspace(run_job *, ptxgen_error *);
/* From the results' memory to their outputs, without the padding. */
ptxgen_status run_fetch_results(run_job *, ptxgen_error *);
/* Before the next run. */
void run_drop_outputs(run_job *);
void run_free_operands(run_job *);
/* EINDEX: a value of an index that names no row. */
ptxgen_status run_check_indices(const run_job *, ptxgen_error *);
/* The extents by name, each once, results' first; false past the last. */
bool run_extent_at(const run_job *, size_t i, const char **name, int64_t *value);

/* ---- reports ---- */

/* --check (check.c): fills job->verdict. */
ptxgen_status run_check(run_job *, ptxgen_error *);

ptxgen_status run_report(run_job *, ptxgen_error *);
/* --print-launch (print_launch.c). */
ptxgen_status run_print_launches(const run_job *, ptxgen_error *);

#endif
