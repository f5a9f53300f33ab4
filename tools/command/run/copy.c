/* ptxgen run tcgen05_copy: out = in, through tensor memory. */
#include "command/run/run.h"
#include "command/run/job.h"

#include <string.h>

static const run_file_kind files[] = {{.name = "in"}};
enum { ROW_ALIGN = 16 };

static ptxgen_status check_type(run_job *j, const char **word, ptxgen_error *err)
{
    static const struct {
        npy_type type;
        ptxgen_dtype dtype;
        const char *word;
    } types[] = {
        {NPY_F32, PTXGEN_F32, "f32"}, {NPY_I32, PTXGEN_S32, "s32"}, {NPY_U32, PTXGEN_U32, "u32"}};
    const npy_header *h = &j->files[0].array.header;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == h->type) {
            j->npy_type = h->type;
            j->type = types[i].dtype;
            *word = types[i].word;
            return PTXGEN_OK;
        }
    return cli_fail(err, PTXGEN_EUNSUPPORTED,
                    "%s: the elements are '%s'; tcgen05_copy takes 32 "
                    "bits: float32, int32 or uint32",
                    j->files[0].path, h->descr);
}

/* A word that repeats what the file says must agree with it. */
static ptxgen_status file_says(run_job *j, const char *name, const char *value, ptxgen_error *err)
{
    const char *given = run_word(j, name);
    if (!given)
        run_add_word(j, name, value);
    else if (strcmp(given, value) != 0)
        return cli_fail(err, PTXGEN_EINVAL, "%s=%s, but the file has %s=%s; leave %s out", name,
                        given, name, value, name);
    return PTXGEN_OK;
}

static ptxgen_status prepare(run_job *j, ptxgen_error *err)
{
    const int64_t *shape = j->files[0].array.header.shape;
    const char *word = NULL;
    char m[24], n[24];
    ptxgen_status status = run_need_matrix(j, &j->files[0], "(M, N)", err);
    if (status == PTXGEN_OK)
        status = check_type(j, &word, err);
    if (status != PTXGEN_OK)
        return status;
    j->m = shape[0];
    j->n = shape[1];
    j->bytes = 8.0 * (double)j->m * (double)j->n;
    j->host.copy = (ptxgen_tcgen05_copy_args){
        .size = sizeof j->host.copy, .dtype = j->type, .m = j->m, .n = j->n};
    snprintf(m, sizeof m, "%lld", (long long)j->m);
    snprintf(n, sizeof n, "%lld", (long long)j->n);
    status = file_says(j, "m", m, err);
    if (status == PTXGEN_OK)
        status = file_says(j, "n", n, err);
    return status == PTXGEN_OK ? file_says(j, "dtype", word, err) : status;
}

static ptxgen_status upload(run_job *j, ptxgen_error *err)
{
    return run_upload(j, &j->files[0], ROW_ALIGN, err);
}

static ptxgen_status launch(run_job *j, ptxgen_error *err)
{
    ptxgen_tcgen05_copy_args x = j->host.copy;
    x.in = j->files[0].device;
    x.in_stride = j->files[0].stride / 4;
    x.out = j->device_result;
    return ptxgen_tcgen05_copy_launch(j->kernel, &x, NULL, err);
}

static ptxgen_status oracle(run_job *j, void *want, ptxgen_error *err)
{
    ptxgen_tcgen05_copy_args x = j->host.copy;
    x.in = j->files[0].array.data;
    x.out = want;
    return ptxgen_tcgen05_copy_oracle(&x, err);
}

static const run_family family = {.name = "tcgen05_copy",
                                  .files = files,
                                  .file_count = sizeof files / sizeof *files,
                                  .prepare = prepare,
                                  .upload = upload,
                                  .launch = launch,
                                  .oracle = oracle};

int cli_run_tcgen05_copy(const cli_args *args)
{
    return run_job_main(args, &family);
}
