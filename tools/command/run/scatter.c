/* ptxgen run scatter_add: .npy files in, kernel, .npy file out. */
#include "npy/npy.h"
#include "command/function.h"
#include "command/output.h"
#include "command/run/run.h"
#include "command/run/parts.h"
#include "command/run/scatter_check.h"
#include "ptxgen/function.h"

#include <stdlib.h>
#include <string.h>

enum { OUT, INDEX, SRC, FILE_COUNT };
static const char *const file_names[FILE_COUNT] = {"out", "index", "src"};
static const char *const dtype_words[] = {"", "f32", "f16", "bf16"};

typedef struct job {
    const cli_args *args;
    const char *paths[FILE_COUNT];
    npy_array arrays[FILE_COUNT];
    const char *dtype_word, *n_word; /* values the user gave, NULL if none */
    bool unchecked;                  /* the kernel does not look at the indices */
    char *params;                 /* owned: what the user gave; later the whole of the kernel's */
    ptxgen_scatter_add_args host; /* with host pointers */
    void *mapped;                 /* src behind the user function, for --check; NULL: none */

    ptxgen *ctx;
    ptxgen_kernel *kernel; /* NULL when there is nothing to launch */
    void *device[FILE_COUNT];
    npy_array result;

    scatter_check check;
    double mean_us; /* of --repeat */
} job;

/* ---- files ------------------------------------------------------------------------------------- */

/* Takes out=, index= and src= out of the words; the rest are the kernel's parameters. */
static ptxgen_status split_words(job *j, ptxgen_error *err)
{
    cli_args rest = {.words = cli_calloc(j->args->count, sizeof(char *))};
    int from_stdin = 0;
    ptxgen_status status = PTXGEN_OK;
    for (size_t w = 1; w < j->args->count && status == PTXGEN_OK; w++) {
        char *word = j->args->words[w];
        int file = 0;
        while (file < FILE_COUNT &&
               !(strncmp(word, file_names[file], strlen(file_names[file])) == 0 &&
                 word[strlen(file_names[file])] == '='))
            file++;
        if (file == FILE_COUNT) {
            rest.words[rest.count++] = word;
            if (strncmp(word, "dtype=", 6) == 0)
                j->dtype_word = word + 6;
            if (strncmp(word, "n=", 2) == 0)
                j->n_word = word + 2;
            continue;
        }
        const char *value = strchr(word, '=') + 1;
        if (file == INDEX && (strcmp(value, "i32") == 0 || strcmp(value, "i64") == 0))
            status = cli_fail(err, PTXGEN_EINVAL,
                              "index= names the file here, and the index type is the file's: leave "
                              "index=%s out, or "
                              "save the index as a.astype(numpy.int%s)",
                              value, value + 1);
        else if (j->paths[file])
            status = cli_fail(err, PTXGEN_EINVAL, "%s= is given twice", file_names[file]);
        j->paths[file] = value;
        from_stdin += strcmp(j->paths[file], "-") == 0;
    }
    for (int f = 0; f < FILE_COUNT && status == PTXGEN_OK; f++)
        if (!j->paths[f] || j->paths[f][0] == '\0')
            status =
                cli_fail(err, PTXGEN_EINVAL,
                         "%s=FILE.npy is missing; out, index and src are needed", file_names[f]);
    if (status == PTXGEN_OK && from_stdin > 1)
        status =
            cli_fail(err, PTXGEN_EINVAL, "only one of out, index and src can be standard input");
    if (status == PTXGEN_OK)
        status = cli_params(&rest, 0, &j->params, err);
    free(rest.words);
    if (status != PTXGEN_OK || !strstr(j->params, "=@"))
        return status;
    status = cli_context(&j->args->set, &j->ctx, err);
    return status == PTXGEN_OK ? cli_functions(j->ctx, &j->params, err) : status;
}

static ptxgen_status check_rank(const job *j, int file, int rank, ptxgen_error *err)
{
    char shape[128];
    const npy_header *h = &j->arrays[file].header;
    if (h->rank == rank)
        return PTXGEN_OK;
    return cli_fail(err, PTXGEN_EINVAL, "%s: %s has shape %s; it must have %d dimension%s%s",
                    j->paths[file], file_names[file], npy_shape_text(h, shape, sizeof shape), rank,
                    rank == 1 ? "" : "s",
                    rank == 2 ? " (rows, elements). Reshape it" : ". Use a.reshape(-1)");
}

/* The element type of out or src; dtype=bf16 gives raw 16-bit words their meaning. */
static ptxgen_status element_type(const job *j, int file, ptxgen_dtype *out, ptxgen_error *err)
{
    const npy_header *h = &j->arrays[file].header;
    switch (h->type) {
    case NPY_F32:
        *out = PTXGEN_F32;
        break;
    case NPY_F16:
        *out = PTXGEN_F16;
        break;
    case NPY_BF16:
        *out = PTXGEN_BF16;
        break;
    case NPY_RAW16:
        if (!j->dtype_word || strcmp(j->dtype_word, "bf16") != 0)
            return npy_fail_bare_words(j->paths[file], h, j->dtype_word, err);
        *out = PTXGEN_BF16;
        break;
    default:
        return cli_fail(
            err, PTXGEN_EINVAL,
            "%s: %s holds integers ('%s'); it must be float32, float16 or bfloat16. Convert with "
            "a.astype(numpy.float32)",
            j->paths[file], file_names[file], h->descr);
    }
    if (j->dtype_word && strcmp(j->dtype_word, dtype_words[*out]) != 0)
        return cli_fail(err, PTXGEN_EINVAL,
                        "dtype=%s, but %s holds %s ('%s'); leave dtype out or convert",
                        j->dtype_word, j->paths[file], dtype_words[*out], h->descr);
    return PTXGEN_OK;
}

static ptxgen_status check_shapes(const job *j, ptxgen_error *err)
{
    const int64_t *out = j->arrays[OUT].header.shape, *src = j->arrays[SRC].header.shape;
    const int64_t count = j->arrays[INDEX].header.shape[0];
    char n[24];
    snprintf(n, sizeof n, "%lld", (long long)src[1]);
    if (src[0] != count)
        return cli_fail(err, PTXGEN_EINVAL,
                        "src has %lld rows and index %lld elements; they must be equal",
                        (long long)src[0], (long long)count);
    if (src[1] != out[1])
        return cli_fail(err, PTXGEN_EINVAL,
                        "a row of src has %lld elements and a row of out %lld; they must be equal",
                        (long long)src[1], (long long)out[1]);
    if (src[1] == 0 && src[0] > 0)
        return cli_fail(
            err, PTXGEN_EINVAL,
            "src has %lld rows of no elements (n = 0); the arrays are probably not the ones you "
            "meant. Give at least 16 bytes a row",
            (long long)src[0]);
    if (src[1] > 0 && !ptxgen_row_shape_supported(j->host.dtype, src[1]))
        return cli_fail(
            err, PTXGEN_EUNSUPPORTED,
            "a row has %lld elements of %zu bytes; its bytes must be a multiple of 16, so pad rows "
            "to a multiple of %lld elements",
            (long long)src[1], j->arrays[SRC].header.elem_bytes,
            (long long)ptxgen_min_d_divisor_for(j->host.dtype));
    if (j->n_word && strcmp(j->n_word, "dynamic") != 0 && strcmp(j->n_word, n) != 0)
        return cli_fail(err, PTXGEN_EINVAL, "n=%s, but a row of src has %s elements; leave n out",
                        j->n_word, n);
    return PTXGEN_OK;
}

static ptxgen_status check_types(job *j, ptxgen_error *err)
{
    const npy_header *index = &j->arrays[INDEX].header;
    ptxgen_dtype src;
    if (index->type != NPY_I64 && index->type != NPY_I32)
        return cli_fail(
            err, PTXGEN_EINVAL,
            "%s: index holds '%s'; it must be int64 or int32. Convert with a.astype(numpy.int64)",
            j->paths[INDEX], index->descr);
    ptxgen_status status = element_type(j, OUT, &j->host.dtype, err);
    if (status == PTXGEN_OK)
        status = element_type(j, SRC, &src, err);
    if (status == PTXGEN_OK && src != j->host.dtype)
        status =
            cli_fail(err, PTXGEN_EINVAL,
                     "out holds '%s' and src '%s'; they must be the same type. Convert one with "
                     "a.astype(...)",
                     j->arrays[OUT].header.descr, j->arrays[SRC].header.descr);
    return status;
}

/* Adds what the files say to the parameters, and has them judged before a device is asked for. */
static ptxgen_status complete_params(job *j, ptxgen_error *err)
{
    char canonical[512];
    if (j->host.rows == 0 || j->host.n == 0)
        return PTXGEN_OK; /* no kernel is needed */
    char *n = j->n_word ? cli_format("%s", "") : cli_format(" n=%lld", (long long)j->host.n);
    char *params =
        cli_format("index=%s%s%s%s%s%s", j->host.index_type == PTXGEN_INDEX_I64 ? "i64" : "i32", n,
                   j->dtype_word ? "" : " dtype=", j->dtype_word ? "" : dtype_words[j->host.dtype],
                   j->params[0] ? " " : "", j->params);
    free(n);
    free(j->params);
    j->params = params;
    ptxgen_status status =
        ptxgen_canonical("scatter_add", params, canonical, sizeof canonical, err);
    j->unchecked = status == PTXGEN_OK && strstr(canonical, "oob=unchecked") != NULL;
    return status;
}

static ptxgen_status read_files(job *j, ptxgen_error *err)
{
    ptxgen_status status = split_words(j, err);
    for (int f = 0; f < FILE_COUNT && status == PTXGEN_OK; f++)
        status = npy_load(j->paths[f], &j->arrays[f], err);
    for (int f = 0; f < FILE_COUNT && status == PTXGEN_OK; f++)
        status = check_rank(j, f, f == INDEX ? 1 : 2, err);
    if (status == PTXGEN_OK)
        status = check_types(j, err);
    if (status == PTXGEN_OK)
        status = check_shapes(j, err);
    if (status != PTXGEN_OK)
        return status;
    j->host.size = sizeof j->host;
    j->host.index_type =
        j->arrays[INDEX].header.type == NPY_I64 ? PTXGEN_INDEX_I64 : PTXGEN_INDEX_I32;
    j->host.rows = j->arrays[SRC].header.shape[0];
    j->host.n = j->arrays[SRC].header.shape[1];
    j->host.out_rows = j->arrays[OUT].header.shape[0];
    j->host.out = j->arrays[OUT].data;
    j->host.src = j->arrays[SRC].data;
    j->host.index = j->arrays[INDEX].data;
    return complete_params(j, err);
}

/* ---- kernel ------------------------------------------------------------------------------------ */

static ptxgen_status to_device(job *j, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    for (int f = 0; f < FILE_COUNT && status == PTXGEN_OK; f++) {
        const size_t bytes = j->arrays[f].header.data_bytes;
        if (bytes == 0)
            continue;
        status = ptxgen_device_alloc(j->ctx, bytes, &j->device[f], err);
        if (status == PTXGEN_OK)
            status = ptxgen_device_upload(j->ctx, j->device[f], j->arrays[f].data, bytes, err);
    }
    return status;
}

static int64_t index_at(const job *j, int64_t i)
{
    return j->host.index_type == PTXGEN_INDEX_I64 ? ((const int64_t *)j->host.index)[i]
                                                  : ((const int32_t *)j->host.index)[i];
}

/* EINDEX names the first index that is no row of out. */
static ptxgen_status check_indices(const job *j, ptxgen_error *err)
{
    const int64_t rows = j->host.rows, out_rows = j->host.out_rows;
    if (rows > 0 && out_rows == 0)
        return cli_fail(
            err, PTXGEN_EINDEX,
            "out has no rows, so each of the %lld indices is out of range; nothing is written",
            (long long)rows);
    for (int64_t i = 0; i < rows; i++)
        if (index_at(j, i) < 0 || index_at(j, i) >= out_rows)
            return cli_fail(err, PTXGEN_EINDEX,
                            "index[%lld] = %lld is not a row of out, which has rows 0 to %lld; "
                            "nothing is written",
                            (long long)i, (long long)index_at(j, i), (long long)(out_rows - 1));
    return PTXGEN_OK;
}

/* Launches; without rows there is no kernel and the one-call form checks the arguments. */
static ptxgen_status launch(job *j, ptxgen_error *err)
{
    ptxgen_scatter_add_args a = j->host;
    a.out = j->device[OUT];
    a.index = j->device[INDEX];
    a.src = j->device[SRC];
    if (!j->kernel)
        return ptxgen_scatter_add(j->ctx, &a, NULL, err);
    return ptxgen_scatter_add_launch(j->kernel, &a, NULL, err);
}

static ptxgen_status compute(job *j, ptxgen_error *err)
{
    /* An unchecked kernel would write outside of out. */
    ptxgen_status status = j->unchecked ? check_indices(j, err) : PTXGEN_OK;
    if (status == PTXGEN_OK && !j->ctx)
        status = cli_context(&j->args->set, &j->ctx, err);
    if (status == PTXGEN_OK && j->host.rows > 0 && j->host.out_rows > 0)
        status = ptxgen_get(j->ctx, "scatter_add", j->params, NULL, &j->kernel, err);
    if (status == PTXGEN_OK)
        status = to_device(j, err);
    if (status == PTXGEN_OK)
        status = launch(j, err);
    if (status == PTXGEN_OK)
        status = ptxgen_check_indices(j->ctx, NULL, err);
    /* In words that fit a command that writes no result; also for the trap of oob=trap. */
    if ((status == PTXGEN_EINDEX || status == PTXGEN_EEMULATOR) &&
        check_indices(j, err) != PTXGEN_OK)
        status = PTXGEN_EINDEX;
    if (status != PTXGEN_OK)
        return status;
    const npy_header *h = &j->arrays[OUT].header;
    status = npy_create(h->type, h->rank, h->shape, &j->result, err);
    if (status != PTXGEN_OK)
        return status;
    memcpy(j->result.header.descr, h->descr, sizeof h->descr);
    if (h->data_bytes == 0)
        return PTXGEN_OK;
    return ptxgen_device_download(j->ctx, j->result.data, j->device[OUT], h->data_bytes, err);
}

/* ---- report ------------------------------------------------------------------------------------ */

/* Bytes that have to move at least: src once, its rows of out read and written. */
static double gigabytes_per_second(const job *j)
{
    const double row = (double)j->host.n * (double)j->arrays[OUT].header.elem_bytes;
    return 3 * row * (double)j->host.rows / j->mean_us / 1e3;
}

static cJSON *job_json(const job *j, const ptxgen_device_info *d)
{
    cJSON *root = cJSON_CreateObject();
    run_head_json(d, root);
    cli_json_integer(root, "rows", j->host.rows);
    cli_json_integer(root, "out_rows", j->host.out_rows);
    cli_json_integer(root, "n", j->host.n);
    run_kernel_json(j->kernel, root);
    if (j->args->set.check) {
        cJSON *c = cJSON_AddObjectToObject(root, "check");
        cJSON_AddBoolToObject(c, "right", j->check.wrong == 0);
        cli_json_integer(c, "elements", (int64_t)j->check.elements);
        cli_json_integer(c, "wrong", (int64_t)j->check.wrong);
        cJSON_AddNumberToObject(c, "worst_error", j->check.worst_error);
        cJSON_AddNumberToObject(c, "worst_bound", j->check.worst_bound);
        cli_json_integer(c, "worst_row", j->check.worst_row);
        cli_json_integer(c, "worst_column", j->check.worst_column);
    }
    if (j->args->set.repeat > 0) {
        cli_json_integer(root, "repeat", j->args->set.repeat);
        cJSON_AddNumberToObject(root, "mean_us", j->mean_us);
        cJSON_AddNumberToObject(root, "gb_per_s", gigabytes_per_second(j));
    }
    return root;
}

static void job_text(const job *j, const ptxgen_device_info *d, FILE *to)
{
    run_head_text(d, to);
    fprintf(to, "%-10s %lld rows of %lld elements into %lld rows\n", "problem",
            (long long)j->host.rows, (long long)j->host.n, (long long)j->host.out_rows);
    run_kernel_text(j->kernel, "there are no rows to add", to);
    if (j->args->set.check)
        fprintf(to,
                "%-10s %s: %llu of %llu elements out of bounds; worst error %.3g (allowed %.3g) at "
                "row %lld, "
                "column %lld\n",
                "check", j->check.wrong ? "WRONG" : "right", (unsigned long long)j->check.wrong,
                (unsigned long long)j->check.elements, j->check.worst_error, j->check.worst_bound,
                (long long)j->check.worst_row, (long long)j->check.worst_column);
    if (j->args->set.repeat > 0)
        fprintf(to, "%-10s %.2f us a launch over %lld, %.0f GB/s\n", "time", j->mean_us,
                (long long)j->args->set.repeat, gigabytes_per_second(j));
    if (j->args->set.output && strcmp(j->args->set.output, "-") != 0 && j->check.wrong == 0)
        fprintf(to, "%-10s %s\n", "wrote", j->args->set.output);
}

static ptxgen_status report(const job *j, ptxgen_error *err)
{
    ptxgen_device_info d = {.size = sizeof d};
    ptxgen_status status = ptxgen_device_get_info(j->ctx, &d, err);
    if (status != PTXGEN_OK)
        return status;
    FILE *to = cli_report_file(&j->args->set);
    if (j->args->set.json)
        cli_json_write(job_json(j, &d), to);
    else
        job_text(j, &d, to);
    return PTXGEN_OK;
}

/* What the kernel must have computed. A user function goes over src first: on the emulator, not in our kernel. */
static ptxgen_status check_result(job *j, ptxgen_error *err)
{
    ptxgen_scatter_add_args a = j->host;
    const char *word = strstr(j->params, "function=");
    const int64_t function = word ? strtoll(word + 9, NULL, 10) : 0;
    if (function) {
        j->mapped = cli_calloc(1, j->arrays[SRC].header.data_bytes + 1);
        const ptxgen_function_map_args map = {.size = sizeof map,
                                              .function = function,
                                              .dtype = a.dtype,
                                              .rows = a.rows,
                                              .n = a.n,
                                              .in = a.src,
                                              .out = j->mapped};
        const ptxgen_status status = ptxgen_function_map(j->ctx, &map, err);
        if (status != PTXGEN_OK)
            return status;
        a.src = j->mapped;
    }
    return scatter_check_run(&a, j->result.data, &j->check, err);
}

/* As run_measure calls it. */
static ptxgen_status relaunch(void *again, ptxgen_error *err)
{
    return launch(again, err);
}

static void free_job(job *j)
{
    for (int f = 0; f < FILE_COUNT; f++) {
        if (j->device[f])
            ptxgen_device_free(j->ctx, j->device[f]);
        npy_free(&j->arrays[f]);
    }
    npy_free(&j->result);
    ptxgen_kernel_unref(j->kernel);
    ptxgen_destroy(j->ctx);
    free(j->mapped);
    free(j->params);
}

int cli_run_scatter_add(const cli_args *args)
{
    ptxgen_error err = {0};
    job j = {.args = args};
    ptxgen_status status = read_files(&j, &err);
    if (status == PTXGEN_OK)
        status = compute(&j, &err);
    if (status == PTXGEN_OK && args->set.check)
        status = check_result(&j, &err);
    const bool wrong = j.check.wrong > 0;
    if (status == PTXGEN_OK && args->set.repeat > 0)
        status =
            run_measure(&(run_series){j.ctx, args->set.repeat, relaunch, &j}, &j.mean_us, &err);
    if (status == PTXGEN_OK && !wrong)
        status = run_write_result(&args->set, &j.result, &err);
    if (status == PTXGEN_OK)
        status = report(&j, &err);
    free_job(&j);
    if (status != PTXGEN_OK)
        return cli_report(&args->set, &err);
    return wrong ? CLI_NO : CLI_OK;
}
