/* The run of a family on .npy files; see job.h. */
#include "command/run/job.h"

#include "command/function.h"
#include "command/run/parts.h"
#include "command/run/report.h"

#include <stdlib.h>
#include <string.h>

/* ---- words and files --------------------------------------------------------------------------- */

/* The file that a word "name=FILE" means, with its value; NULL: it is a parameter. */
static run_file *file_of(run_job *j, const char *word, const char **value)
{
    for (size_t i = 0; i < j->family->file_count; i++) {
        const size_t n = strlen(j->family->files[i].name);
        *value = word + n + 1;
        if (strncmp(word, j->family->files[i].name, n) == 0 && word[n] == '=')
            return &j->files[i];
    }
    return NULL;
}

static const run_file_kind *kind_of(const run_job *j, const run_file *f)
{
    return &j->family->files[f - j->files];
}

run_file *run_file_named(run_job *j, const char *name)
{
    for (size_t i = 0; i < j->family->file_count; i++)
        if (strcmp(j->family->files[i].name, name) == 0)
            return j->files[i].path ? &j->files[i] : NULL;
    return NULL;
}

static ptxgen_status take_file(run_job *j, run_file *f, const char *value, ptxgen_error *err)
{
    const char *name = kind_of(j, f)->name;
    if (f->path)
        return cli_fail(err, PTXGEN_EINVAL, "%s= is given twice", name);
    if (value[0] == '\0')
        return cli_fail(err, PTXGEN_EINVAL, "%s= names no file; write %s=FILE.npy", name, name);
    for (size_t i = 0; i < j->family->file_count; i++)
        if (strcmp(value, "-") == 0 && j->files[i].path && strcmp(j->files[i].path, "-") == 0)
            return cli_fail(err, PTXGEN_EINVAL, "only one of %s and %s can be standard input",
                            j->family->files[i].name, name);
    f->path = value;
    return PTXGEN_OK;
}

static ptxgen_status need_files(run_job *j, ptxgen_error *err)
{
    for (size_t i = 0; i < j->family->file_count; i++) {
        const run_file_kind *kind = &j->family->files[i];
        const run_file *other = kind->instead ? run_file_named(j, kind->instead) : NULL;
        if (j->files[i].path && other)
            return cli_fail(err, PTXGEN_EINVAL,
                            "%s= and %s= are two ways to give the same matrix; "
                            "leave one out",
                            kind->name, kind->instead);
        if (!j->files[i].path && !kind->optional && !other)
            return cli_fail(err, PTXGEN_EINVAL, "%s=FILE.npy is missing%s%s%s", kind->name,
                            kind->instead ? " (or " : "", kind->instead ? kind->instead : "",
                            kind->instead ? "=FILE.npy)" : "");
    }
    return PTXGEN_OK;
}

/* Files leave the words, --arch joins them; what is left are the kernel's parameters. */
static ptxgen_status split_words(run_job *j, ptxgen_error *err)
{
    cli_args rest = {.words = cli_calloc(j->args->count + 1, sizeof(char *))};
    char *arch = j->args->set.arch ? cli_format("arch=%s", j->args->set.arch) : NULL;
    ptxgen_status status = PTXGEN_OK;
    for (size_t w = 1; w < j->args->count && status == PTXGEN_OK; w++) {
        char *word = j->args->words[w];
        const char *value;
        run_file *f = file_of(j, word, &value);
        if (f)
            status = take_file(j, f, value, err);
        else if (arch && strncmp(word, "arch=", 5) == 0)
            status =
                cli_fail(err, PTXGEN_EINVAL, "--%s and %s: give the architecture once", arch, word);
        else
            rest.words[rest.count++] = word;
    }
    if (arch)
        rest.words[rest.count++] = arch;
    if (status == PTXGEN_OK)
        status = cli_params(&rest, 0, &j->words, err);
    if (status == PTXGEN_OK)
        status = need_files(j, err);
    if (status == PTXGEN_OK && strstr(j->words, "=@"))
        status = cli_context(&j->args->set, &j->ctx, err);
    if (status == PTXGEN_OK && j->ctx)
        status = cli_functions(j->ctx, &j->words, err);
    free(rest.words);
    free(arch);
    return status;
}

const char *run_word(const run_job *j, const char *name)
{
    const size_t n = strlen(name);
    for (size_t w = 1; w < j->args->count; w++)
        if (strncmp(j->args->words[w], name, n) == 0 && j->args->words[w][n] == '=')
            return j->args->words[w] + n + 1;
    return NULL;
}

void run_drop_word(run_job *j, const char *name)
{
    char *rest = cli_calloc(strlen(j->words) + 1, 1);
    const size_t n = strlen(name);
    for (char *word = strtok(j->words, " "); word; word = strtok(NULL, " "))
        if (strncmp(word, name, n) != 0 || word[n] != '=') {
            strcat(rest, rest[0] ? " " : "");
            strcat(rest, word);
        }
    free(j->words);
    j->words = rest;
}

void run_set_words(run_job *j, const char *words)
{
    free(j->words);
    j->words = cli_format("%s", words);
}

void run_add_word(run_job *j, const char *name, const char *value)
{
    char *longer = cli_format("%s%s%s=%s", j->words, j->words[0] ? " " : "", name, value);
    free(j->words);
    j->words = longer;
}

ptxgen_status run_need_matrix(const run_job *j, const run_file *f, const char *what,
                              ptxgen_error *err)
{
    char shape[128];
    if (f->array.header.rank == 2)
        return PTXGEN_OK;
    return cli_fail(err, PTXGEN_EINVAL,
                    "%s: %s has shape %s; it must have 2 dimensions, %s. "
                    "Reshape it",
                    f->path, kind_of(j, f)->name,
                    npy_shape_text(&f->array.header, shape, sizeof shape), what);
}

ptxgen_status run_element_type(const run_job *j, const run_file *f, ptxgen_dtype *out,
                               ptxgen_error *err)
{
    const npy_header *h = &f->array.header;
    const char *word = run_word(j, "dtype");
    switch (h->type) {
    case NPY_F32:
        *out = PTXGEN_F32;
        return PTXGEN_OK;
    case NPY_F16:
        *out = PTXGEN_F16;
        return PTXGEN_OK;
    case NPY_BF16:
        *out = PTXGEN_BF16;
        return PTXGEN_OK;
    case NPY_RAW16:
        *out = PTXGEN_BF16;
        if (word && strcmp(word, "bf16") == 0)
            return PTXGEN_OK;
        return npy_fail_bare_words(f->path, h, word, err);
    default:
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s: %s holds integers ('%s'); it must be floating "
                        "point. Convert with a.astype(numpy.float16)",
                        f->path, kind_of(j, f)->name, h->descr);
    }
}

ptxgen_status run_choice(const char *name, const char *value, const char *const *words, int *out,
                         ptxgen_error *err)
{
    size_t count = 0;
    for (; words[count]; count++)
        if (strcmp(words[count], value) == 0) {
            *out = (int)count;
            return PTXGEN_OK;
        }
    const char *near = cli_nearest(value, words, count);
    return cli_fail(err, PTXGEN_EINVAL, "%s is '%s'; it takes %s, %s or %s%s%s%s", name, value,
                    words[0], words[1], words[2], near ? ". Did you mean " : "", near ? near : "",
                    near ? "?" : "");
}

ptxgen_status run_epilogue(const run_job *j, ptxgen_epilogue *out, ptxgen_error *err)
{
    static const char *const words[] = {"none", "relu",    "squared_relu", "gelu_tanh", "gelu_erf",
                                        "silu", "sigmoid", "tanh",         NULL};
    const char *word = run_word(j, "epilogue");
    int place = 0;
    const ptxgen_status status =
        word && word[0] != '@' ? run_choice("epilogue", word, words, &place, err) : PTXGEN_OK;
    *out = (ptxgen_epilogue)place;
    return status;
}

int64_t run_function(const run_job *j)
{
    const char *word = strstr(j->words, "function=");
    return word ? strtoll(word + 9, NULL, 10) : 0;
}

static ptxgen_status load(run_job *j, run_file *f, ptxgen_error *err)
{
    const char *hint = kind_of(j, f)->hint;
    const ptxgen_status status = npy_load(f->path, &f->array, err);
    return status == PTXGEN_EIO && hint ? cli_fail(err, status, "%s%s", err->message, hint)
                                        : status;
}

static ptxgen_status read_files(run_job *j, ptxgen_error *err)
{
    ptxgen_status status = split_words(j, err);
    for (size_t i = 0; i < j->family->file_count && status == PTXGEN_OK; i++)
        if (j->files[i].path)
            status = load(j, &j->files[i], err);
    return status == PTXGEN_OK ? j->family->prepare(j, err) : status;
}

/* ---- device ------------------------------------------------------------------------------------ */

ptxgen_status run_upload(run_job *j, run_file *f, int64_t align, ptxgen_error *err)
{
    const npy_header *h = &f->array.header;
    const int64_t rows = h->shape[0], row = h->shape[1] * (int64_t)h->elem_bytes;
    f->stride = (row + align - 1) / align * align;
    const size_t bytes = (size_t)(rows * f->stride);
    if (!h->data_bytes)
        return PTXGEN_OK;
    ptxgen_status status = ptxgen_device_alloc(j->ctx, bytes, &f->device, err);
    if (status != PTXGEN_OK || f->stride == row)
        return status == PTXGEN_OK
                   ? ptxgen_device_upload(j->ctx, f->device, f->array.data, bytes, err)
                   : status;
    char *padded = cli_calloc(bytes, 1);
    for (int64_t r = 0; r < rows; r++)
        memcpy(padded + r * f->stride, (const char *)f->array.data + r * row, (size_t)row);
    status = ptxgen_device_upload(j->ctx, f->device, padded, bytes, err);
    free(padded);
    return status;
}

/* A refusal on a GPU says that there is another way. */
static ptxgen_status refused(const run_job *j, ptxgen_status status, ptxgen_error *err)
{
    ptxgen_device_info d = {.size = sizeof d};
    ptxgen_error ignored;
    if (status != PTXGEN_EUNSUPPORTED ||
        ptxgen_device_get_info(j->ctx, &d, &ignored) != PTXGEN_OK || d.kind != PTXGEN_DEVICE_CUDA)
        return status;
    return cli_fail(err, status,
                    "%s (%s is %s; the emulator runs every architecture: --device "
                    "emulator)",
                    err->message, d.name, ptxgen_arch_name(d.arch));
}

static ptxgen_status compute(run_job *j, ptxgen_error *err)
{
    const int64_t shape[2] = {j->m, j->n};
    ptxgen_status status = npy_create(j->npy_type, 2, shape, &j->result, err);
    if (status == PTXGEN_OK)
        status = j->ctx ? PTXGEN_OK : cli_context(&j->args->set, &j->ctx, err);
    if (status != PTXGEN_OK || j->result.header.count == 0)
        return status;
    if (j->family->choose)
        status = j->family->choose(j, err);
    if (status == PTXGEN_OK)
        status = ptxgen_get(j->ctx, j->family->name, j->words, NULL, &j->kernel, err);
    if (status != PTXGEN_OK)
        return refused(j, status, err);
    const size_t bytes = j->result.header.data_bytes;
    status = ptxgen_device_alloc(j->ctx, bytes, &j->device_result, err);
    if (status == PTXGEN_OK)
        status = j->family->upload(j, err);
    if (status == PTXGEN_OK)
        status = j->family->launch(j, err);
    if (status == PTXGEN_OK)
        status = ptxgen_synchronize(j->ctx, NULL, err);
    return status == PTXGEN_OK
               ? ptxgen_device_download(j->ctx, j->result.data, j->device_result, bytes, err)
               : status;
}

/* ---- all of it --------------------------------------------------------------------------------- */

/* As run_measure calls it. */
static ptxgen_status launch(void *job, ptxgen_error *err)
{
    run_job *j = job;
    return j->family->launch(j, err);
}

static void free_job(run_job *j)
{
    for (size_t i = 0; i < j->family->file_count; i++) {
        if (j->files[i].device)
            ptxgen_device_free(j->ctx, j->files[i].device);
        npy_free(&j->files[i].array);
    }
    if (j->device_result)
        ptxgen_device_free(j->ctx, j->device_result);
    npy_free(&j->result);
    ptxgen_kernel_unref(j->kernel);
    ptxgen_destroy(j->ctx);
    free(j->words);
}

int run_job_main(const cli_args *args, const run_family *family)
{
    ptxgen_error err = {0};
    run_job j = {.args = args, .family = family};
    ptxgen_status status = read_files(&j, &err);
    if (status == PTXGEN_OK)
        status = compute(&j, &err);
    if (status == PTXGEN_OK && args->set.check)
        status = run_check_result(&j, &err);
    const bool wrong = j.check.wrong > 0;
    if (status == PTXGEN_OK && args->set.repeat > 0 && j.kernel)
        status = run_measure(&(run_series){j.ctx, args->set.repeat, launch, &j}, &j.mean_us, &err);
    if (status == PTXGEN_OK && !wrong)
        status = run_write_result(&args->set, &j.result, &err);
    if (status == PTXGEN_OK)
        status = run_report(&j, &err);
    free_job(&j);
    if (status != PTXGEN_OK)
        return cli_report(&args->set, &err);
    return wrong ? CLI_NO : CLI_OK;
}
