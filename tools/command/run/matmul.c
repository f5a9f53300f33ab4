/* ptxgen run matmul_accumulate: D = A @ B + C. */
#include "command/run/run.h"
#include "command/run/job.h"

#include "ptxgen/function.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, BT, C };
enum { ROW_ALIGN = 16 }; /* bytes: tensor-map loads */

static const char hint[] = " (b= names a file; a B stored as [N, K] is named bt=)";
static const run_file_kind files[] = {{.name = "a"},
                                      {.name = "b", .instead = "bt", .hint = hint},
                                      {.name = "bt", .instead = "b", .optional = true},
                                      {.name = "c", .optional = true}};

static run_file *b_of(run_job *j)
{
    return j->files[BT].path ? &j->files[BT] : &j->files[B];
}

static ptxgen_status check_types(run_job *j, ptxgen_error *err)
{
    const run_file *b = b_of(j), *c = &j->files[C];
    ptxgen_dtype a_type, b_type;
    ptxgen_status status = run_element_type(j, &j->files[A], &a_type, err);
    if (status == PTXGEN_OK)
        status = run_element_type(j, b, &b_type, err);
    if (status != PTXGEN_OK)
        return status;
    if (a_type == PTXGEN_F32 || b_type == PTXGEN_F32)
        return cli_fail(err, PTXGEN_EUNSUPPORTED,
                        "%s holds float32: A and B are float16 or bfloat16 (C and D float32). "
                        "Convert with a.astype(numpy.float16)",
                        a_type == PTXGEN_F32 ? j->files[A].path : b->path);
    if (a_type != b_type)
        return cli_fail(err, PTXGEN_EINVAL, "A holds '%s' and B '%s'; they must be the same type",
                        j->files[A].array.header.descr, b->array.header.descr);
    if (c->path && c->array.header.type != NPY_F32)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s: C holds '%s'; it must be float32. Convert with "
                        "c.astype(numpy.float32)",
                        c->path, c->array.header.descr);
    j->host.accumulate.dtype = a_type;
    return PTXGEN_OK;
}

static ptxgen_status check_shapes(run_job *j, ptxgen_error *err)
{
    const bool transposed = j->files[BT].path != NULL;
    const int64_t *a = j->files[A].array.header.shape, *b = b_of(j)->array.header.shape;
    const int64_t *c = j->files[C].array.header.shape;
    const int64_t b_k = b[transposed], b_n = b[!transposed];
    if (a[1] != b_k)
        return cli_fail(err, PTXGEN_EINVAL,
                        "A is %lld x %lld and B %lld x %lld%s: A's columns and B's rows must be "
                        "equal (K)%s",
                        (long long)a[0], (long long)a[1], (long long)b_k, (long long)b_n,
                        transposed ? " (stored transposed)" : "",
                        a[1] != b_n  ? ""
                        : transposed ? ". If B is stored as [K, N], name it b="
                                     : ". If B is stored as [N, K], name it bt=");
    if (j->files[C].path && (c[0] != a[0] || c[1] != b_n))
        return cli_fail(err, PTXGEN_EINVAL,
                        "C is %lld x %lld, but A @ B is %lld x %lld; they must be equal",
                        (long long)c[0], (long long)c[1], (long long)a[0], (long long)b_n);
    j->m = a[0];
    j->n = b_n;
    j->k = b_k;
    return PTXGEN_OK;
}

/* C defaults to zeros. */
static ptxgen_status fill_c(run_job *j, ptxgen_error *err)
{
    const int64_t shape[2] = {j->m, j->n};
    return j->files[C].path ? PTXGEN_OK : npy_create(NPY_F32, 2, shape, &j->files[C].array, err);
}

static ptxgen_status prepare(run_job *j, ptxgen_error *err)
{
    ptxgen_matmul_accumulate_args *x = &j->host.accumulate;
    ptxgen_status status = run_need_matrix(j, &j->files[A], "(M, K)", err);
    if (status == PTXGEN_OK)
        status = run_need_matrix(j, b_of(j), j->files[BT].path ? "(N, K)" : "(K, N)", err);
    if (status == PTXGEN_OK && j->files[C].path)
        status = run_need_matrix(j, &j->files[C], "(M, N)", err);
    if (status == PTXGEN_OK)
        status = check_types(j, err);
    if (status == PTXGEN_OK)
        status = check_shapes(j, err);
    if (status == PTXGEN_OK)
        status = fill_c(j, err);
    if (status != PTXGEN_OK)
        return status;
    x->size = sizeof *x;
    x->b_transposed = j->files[BT].path != NULL;
    x->m = j->m;
    x->n = j->n;
    x->k = j->k;
    j->type = PTXGEN_F32;
    j->npy_type = NPY_F32;
    j->flop = 2.0 * (double)j->m * (double)j->n * ((double)j->k + 0.5);
    j->bytes =
        2.0 * ((double)j->m + (double)j->n) * (double)j->k + 8.0 * (double)j->m * (double)j->n;
    j->check = (run_check){.atol = 5e-3, .rtol = 1e-2};
    return run_epilogue(j, &x->epilogue, err);
}

/* What the one-call form would take for this problem, where the user left it open. It knows the context's own
 * architecture; for another one, and for values that no kernel has, the words stay as they are. */
static void complete_params(run_job *j)
{
    ptxgen_matmul_accumulate_args x = j->host.accumulate;
    const char *arch = run_word(j, "arch") ? run_word(j, "arch") : j->args->set.arch;
    const size_t n = arch ? strlen(arch) : 0;
    static const float some = 0;
    char text[768];
    ptxgen_error err;
    x.params = j->words;
    x.c = &some;
    if (ptxgen_matmul_accumulate_params(j->ctx, &x, text, sizeof text, &err) != PTXGEN_OK)
        return;
    if (arch && (strncmp(text, "arch=", 5) != 0 || strncmp(text + 5, arch, n) != 0 || text[5 + n] != ' '))
        return;
    run_set_words(j, text);
}

static ptxgen_status choose(run_job *j, ptxgen_error *err)
{
    const ptxgen_matmul_accumulate_args *x = &j->host.accumulate;
    const char *dtype = x->dtype == PTXGEN_BF16 ? "bf16" : "f16";
    const char *given = run_word(j, "dtype");
    if (given && strcmp(given, dtype) != 0)
        return cli_fail(err, PTXGEN_EINVAL,
                        "dtype=%s, but A and B hold %s; leave dtype out or "
                        "convert",
                        given, dtype);
    if (!given)
        run_add_word(j, "dtype", dtype);
    run_add_word(j, "b", x->b_transposed ? "transposed" : "row_major");
    complete_params(j);
    return PTXGEN_OK;
}

static ptxgen_status upload(run_job *j, ptxgen_error *err)
{
    ptxgen_status status = run_upload(j, &j->files[A], ROW_ALIGN, err);
    if (status == PTXGEN_OK)
        status = run_upload(j, b_of(j), ROW_ALIGN, err);
    return status == PTXGEN_OK ? run_upload(j, &j->files[C], ROW_ALIGN, err) : status;
}

static ptxgen_status launch(run_job *j, ptxgen_error *err)
{
    ptxgen_matmul_accumulate_args x = j->host.accumulate;
    x.a = j->files[A].device;
    x.b = b_of(j)->device;
    x.c = j->files[C].device;
    x.d = j->device_result;
    x.a_stride = j->files[A].stride / 2;
    x.b_stride = b_of(j)->stride / 2;
    x.c_stride = j->files[C].stride / 4;
    return ptxgen_matmul_accumulate_launch(j->kernel, &x, NULL, err);
}

static ptxgen_status oracle(run_job *j, void *want, ptxgen_error *err)
{
    ptxgen_matmul_accumulate_args x = j->host.accumulate;
    x.a = j->files[A].array.data;
    x.b = b_of(j)->array.data;
    x.c = j->files[C].array.data;
    x.d = want;
    const ptxgen_status status = ptxgen_matmul_accumulate_oracle(&x, err);
    if (status != PTXGEN_OK || !run_function(j))
        return status;
    const ptxgen_function_map_args map = {.size = sizeof map,
                                          .function = run_function(j),
                                          .family = "matmul_accumulate",
                                          .dtype = PTXGEN_F32,
                                          .rows = j->m,
                                          .n = j->n,
                                          .in = want,
                                          .out = want};
    return ptxgen_function_map(j->ctx, &map, err);
}

static const run_family family = {.name = "matmul_accumulate",
                                  .files = files,
                                  .file_count = sizeof files / sizeof *files,
                                  .prepare = prepare,
                                  .choose = choose,
                                  .upload = upload,
                                  .launch = launch,
                                  .oracle = oracle};

int cli_run_matmul_accumulate(const cli_args *args)
{
    return run_job_main(args, &family);
}
