/* `ptxgen run FAMILY` for the families that take matrices from .npy files and make one matrix: reading, padding,
 * launching, checking, measuring and reporting, which are the same for all. A family (matmul.c and its
 * neighbours) says what its files mean, how it is launched and what the plain C answer is. */
#ifndef PTXGEN_RUN_JOB_H
#define PTXGEN_RUN_JOB_H

#include "npy/npy.h"
#include "ptxgen/matmul.h"
#include "command/command.h"
#include "command/run/check.h"

enum { RUN_MAX_FILES = 8 };

typedef struct run_job run_job;

/* A file of the command line: name=FILE.npy. */
typedef struct run_file_kind {
    const char *name;
    const char *instead; /* the name of another file that may stand in its place, or NULL */
    bool optional;
    const char *hint; /* added to the message when it cannot be read, or NULL */
} run_file_kind;

typedef struct run_file {
    const char *path; /* NULL: not given */
    npy_array array;
    void *device;
    int64_t stride; /* bytes from row to row on the device */
} run_file;

typedef struct run_family {
    const char *name;
    const run_file_kind *files;
    size_t file_count;
    /* Judges what was loaded; sets the problem, job->words, the result's type and the tolerances. */
    ptxgen_status (*prepare)(run_job *, ptxgen_error *);
    /* Completes job->words once the device is known; NULL: they are complete. */
    ptxgen_status (*choose)(run_job *, ptxgen_error *);
    ptxgen_status (*upload)(run_job *, ptxgen_error *);
    /* The files are on the device: launches job->kernel. */
    ptxgen_status (*launch)(run_job *, ptxgen_error *);
    /* The plain C answer into `want`, which is like job->result. */
    ptxgen_status (*oracle)(run_job *, void *want, ptxgen_error *);
} run_family;

struct run_job {
    const cli_args *args;
    const run_family *family;
    run_file files[RUN_MAX_FILES];
    char *words;       /* owned: the kernel's parameters as far as they are known */
    ptxgen_dtype type; /* of the result */
    npy_type npy_type;
    int64_t m, n, k;    /* k is 0 where it means nothing */
    double flop, bytes; /* of one launch: what it computes, what must move at least */
    union {
        ptxgen_matmul_accumulate_args accumulate;
        ptxgen_matmul_scaled_args scaled;
        ptxgen_tcgen05_copy_args copy;
    } host; /* its pointers are host memory */

    ptxgen *ctx;
    ptxgen_kernel *kernel; /* NULL: the result is empty */
    void *device_result;
    npy_array result;
    run_check check;
    double mean_us; /* of --repeat */
};

/* Runs it all; the exit code. */
int run_job_main(const cli_args *, const run_family *);

/* ---- for the families ---- */

/* The value of a parameter that the user gave ("dtype" of dtype=bf16), or NULL. */
const char *run_word(const run_job *, const char *name);
/* Adds " name=value" to the words. */
void run_add_word(run_job *, const char *name, const char *value);
/* In place of all words. */
void run_set_words(run_job *, const char *words);
/* Takes name=value out of the words. */
void run_drop_word(run_job *, const char *name);
/* The built-in epilogue that the user asked for, and the number of the user function; none: 0. */
ptxgen_status run_epilogue(const run_job *, ptxgen_epilogue *out, ptxgen_error *err);
int64_t run_function(const run_job *);
/* The files' place in the family's table, by name; NULL: not given. */
run_file *run_file_named(run_job *, const char *name);
/* The file must have two dimensions; the message calls them `what`. */
ptxgen_status run_need_matrix(const run_job *, const run_file *, const char *what, ptxgen_error *);
/* Its elements as f32, f16 or bf16; raw 16-bit words need dtype=bf16. */
ptxgen_status run_element_type(const run_job *, const run_file *, ptxgen_dtype *, ptxgen_error *);
/* A word that is one of the list: its place. EINVAL names the nearest. */
ptxgen_status run_choice(const char *name, const char *value, const char *const *words, int *out,
                         ptxgen_error *);
/* Copies the file's rows to the device, each padded to a multiple of `align` bytes. */
ptxgen_status run_upload(run_job *, run_file *, int64_t align, ptxgen_error *);

#endif
