/* ptxgen run matmul_scaled: D = A @ B^T, both block-scaled. Elements and scales come as bytes: an mxfp8 row of K
 * elements has K bytes, a 4-bit row K / 2; scales are [rows, groups] and are packed here. */
#include "command/run/run.h"
#include "command/run/job.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, A_SCALES, B_SCALES, ROW_SCALE, COL_SCALE, BIAS };
enum { FORMATS = 3, ROW_ALIGN = 16, UNPACKED_ROW_ALIGN = 32 };

static const char *const format_words[] = {"mxfp8", "mxfp4", "nvfp4", NULL};
static const char *const out_words[] = {"f32", "f16", "bf16", NULL};

static const char hint[] = " (a= and b= name files; the formats are a_format= and b_format=)";
static const run_file_kind files[] = {{.name = "a", .hint = hint},
                                      {.name = "b", .hint = hint},
                                      {.name = "a_scales"},
                                      {.name = "b_scales"},
                                      {.name = "row_scale", .optional = true},
                                      {.name = "col_scale", .optional = true},
                                      {.name = "bias", .optional = true}};

static const char *const format_names[] = {"a_format", "b_format"};
static const char operand_names[] = "AB";

/* Elements of a row of `bytes` bytes. */
static int64_t elements_of(int format, int64_t bytes)
{
    return format == PTXGEN_MXFP8 ? bytes : 2 * bytes;
}

static int64_t groups_of(int format, int64_t k)
{
    const int64_t group = ptxgen_scale_group((ptxgen_scaled_format)format);
    return (k + group - 1) / group;
}

static bool fits(int format, int64_t bytes, int64_t groups)
{
    return groups_of(format, elements_of(format, bytes)) == groups;
}

/* Wider elements must be rounded: their bare bytes would be read as other numbers. */
static ptxgen_status check_bytes(const run_job *j, int file, ptxgen_error *err)
{
    const run_file *f = &j->files[file];
    if (f->array.header.type != NPY_U8)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s: %s holds '%s'; elements and scales come as bytes. Convert with "
                        "a.astype(ml_dtypes.%s",
                        f->path, files[file].name, f->array.header.descr,
                        file < A_SCALES ? "float8_e4m3fn).view(numpy.uint8) (mxfp8)"
                                        : "float8_e8m0fnu).view(numpy.uint8) (nvfp4: "
                                          "float8_e4m3fn)");
    return run_need_matrix(j, f, file < A_SCALES ? "(rows, bytes of a row)" : "(rows, groups)",
                           err);
}

/* No format, or not the one that was said, has so many scales for so many bytes. */
static ptxgen_status undecided(const run_job *j, int operand, ptxgen_error *err)
{
    const int64_t bytes = j->files[operand].array.header.shape[1];
    return cli_fail(
        err, PTXGEN_EINVAL,
        "%c has %lld bytes and %lld scales a row; %lld bytes need %lld scales as mxfp8, "
        "%lld as mxfp4 and %lld as nvfp4. Give the right scales, or say %s=mxfp8",
        operand_names[operand], (long long)bytes,
        (long long)j->files[operand + A_SCALES].array.header.shape[1], (long long)bytes,
        (long long)groups_of(PTXGEN_MXFP8, bytes), (long long)groups_of(PTXGEN_MXFP4, 2 * bytes),
        (long long)groups_of(PTXGEN_NVFP4, 2 * bytes), format_names[operand]);
}

/* "mxfp8, mxfp4": the formats that have so many scales for so many bytes; how many they are. */
static int fitting(int64_t bytes, int64_t groups, char *text, size_t size)
{
    int found = 0;
    size_t used = 0;
    text[0] = '\0';
    for (int f = 0; f < FORMATS; f++)
        if (fits(f, bytes, groups) && used < size) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", found ? ", " : "",
                                     format_words[f]);
            found++;
        }
    return found;
}

/* As the user says, or the one format that the shapes allow. */
static ptxgen_status find_format(const run_job *j, int operand, int *format, ptxgen_error *err)
{
    const int64_t bytes = j->files[operand].array.header.shape[1];
    const int64_t groups = j->files[operand + A_SCALES].array.header.shape[1];
    const char *word = run_word(j, format_names[operand]);
    char list[32];
    if (!word)
        word = run_word(j, "format");
    if (word) {
        const ptxgen_status status =
            run_choice(format_names[operand], word, format_words, format, err);
        return status != PTXGEN_OK || fits(*format, bytes, groups) ? status
                                                                   : undecided(j, operand, err);
    }
    const int found = fitting(bytes, groups, list, sizeof list);
    if (found == 1)
        return run_choice(format_names[operand], list, format_words, format, err);
    if (found == 0)
        return undecided(j, operand, err);
    return cli_fail(err, PTXGEN_EINVAL, "%c fits %s: say %s=... (or format=... for both)",
                    operand_names[operand], list, format_names[operand]);
}

static ptxgen_status check_operand(const run_job *j, int operand, int *format, ptxgen_error *err)
{
    const int64_t rows = j->files[operand].array.header.shape[0];
    const int64_t scale_rows = j->files[operand + A_SCALES].array.header.shape[0];
    if (rows != scale_rows)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%c has %lld rows and its scales %lld; they must be "
                        "equal",
                        operand_names[operand], (long long)rows, (long long)scale_rows);
    return find_format(j, operand, format, err);
}

/* Before the formats, which rows without bytes cannot tell. */
static ptxgen_status check_not_empty(const run_job *j, ptxgen_error *err)
{
    for (int f = A; f <= B; f++)
        if (j->files[f].array.header.shape[1] == 0)
            return cli_fail(
                err, PTXGEN_EUNSUPPORTED,
                "%s: %c has rows of no bytes (K = 0), and matmul_scaled needs K of 1 or "
                "more: D would be zeros, so make it without a kernel",
                j->files[f].path, operand_names[f]);
    return PTXGEN_OK;
}

static ptxgen_status check_k(run_job *j, const int formats[2], ptxgen_error *err)
{
    const int64_t k[2] = {elements_of(formats[0], j->files[A].array.header.shape[1]),
                          elements_of(formats[1], j->files[B].array.header.shape[1])};
    if (k[0] != k[1])
        return cli_fail(err, PTXGEN_EINVAL,
                        "A has rows of %lld elements (%s) and B of %lld (%s); they must be equal "
                        "(K)",
                        (long long)k[0], format_words[formats[0]], (long long)k[1],
                        format_words[formats[1]]);
    j->k = k[0];
    return PTXGEN_OK;
}

static ptxgen_status find_output(run_job *j, ptxgen_error *err)
{
    static const npy_type types[] = {NPY_F32, NPY_F16, NPY_BF16};
    const char *word = run_word(j, "out");
    int out = 0;
    const ptxgen_status status = word ? run_choice("out", word, out_words, &out, err) : PTXGEN_OK;
    j->npy_type = types[out];
    j->type = (ptxgen_dtype)(PTXGEN_F32 + out);
    return status;
}

static void fill(run_job *j, const int formats[2])
{
    ptxgen_matmul_scaled_args *x = &j->host.scaled;
    *x = (ptxgen_matmul_scaled_args){.size = sizeof *x,
                                     .a_format = (ptxgen_scaled_format)formats[0],
                                     .b_format = (ptxgen_scaled_format)formats[1],
                                     .out = j->type,
                                     .m = j->files[A].array.header.shape[0],
                                     .n = j->files[B].array.header.shape[0],
                                     .k = j->k};
    j->m = x->m;
    j->n = x->n;
    j->flop = 2.0 * (double)j->m * (double)j->n * (double)j->k;
    j->bytes = (double)j->result.header.elem_bytes * (double)j->m * (double)j->n;
    for (int f = A; f <= B_SCALES; f++)
        j->bytes += (double)j->files[f].array.header.data_bytes;
    /* bfloat16 has steps of 2^-8. */
    j->check = (run_check){.atol = 1e-3, .rtol = j->type == PTXGEN_BF16 ? 0x1p-7 : 1e-3};
}

/* The formats are words of the command; the kernel's parameters call them a and b. */
static void name_formats(run_job *j, const int formats[2])
{
    run_drop_word(j, "format");
    run_drop_word(j, format_names[A]);
    run_drop_word(j, format_names[B]);
    run_add_word(j, "a", format_words[formats[0]]);
    run_add_word(j, "b", format_words[formats[1]]);
}

/* A float32 vector with an element for each row (row_scale) or column of D; it goes on as one row. */
static ptxgen_status take_vector(run_job *j, int file, ptxgen_error *err)
{
    npy_header *h = &j->files[file].array.header;
    const int64_t wanted = file == ROW_SCALE ? j->m : j->n;
    if (!j->files[file].path)
        return PTXGEN_OK;
    if (h->type != NPY_F32 || h->rank != 1 || h->shape[0] != wanted)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s: %s must be a float32 vector of %lld elements, one for each %s of D",
                        j->files[file].path, files[file].name, (long long)wanted,
                        file == ROW_SCALE ? "row" : "column");
    h->rank = 2;
    h->shape[1] = h->shape[0];
    h->shape[0] = 1;
    run_add_word(j, files[file].name, "yes");
    return PTXGEN_OK;
}

static ptxgen_status prepare(run_job *j, ptxgen_error *err)
{
    int formats[2] = {0};
    ptxgen_status status = PTXGEN_OK;
    for (int f = A; f <= B_SCALES && status == PTXGEN_OK; f++)
        status = check_bytes(j, f, err);
    if (status == PTXGEN_OK)
        status = check_not_empty(j, err);
    for (int f = A; f <= B && status == PTXGEN_OK; f++)
        status = check_operand(j, f, &formats[f], err);
    if (status == PTXGEN_OK)
        status = check_k(j, formats, err);
    if (status == PTXGEN_OK)
        status = find_output(j, err);
    if (status != PTXGEN_OK)
        return status;
    fill(j, formats);
    name_formats(j, formats);
    for (int f = ROW_SCALE; f <= BIAS && status == PTXGEN_OK; f++)
        status = take_vector(j, f, err);
    return status == PTXGEN_OK ? run_epilogue(j, &j->host.scaled.epilogue, err) : status;
}

/* Replaces the scales by the packed ones. */
static ptxgen_status pack(run_file *f, ptxgen_error *err)
{
    const npy_header *h = &f->array.header;
    const int64_t bytes = ptxgen_packed_scales_bytes(h->shape[0], h->shape[1]);
    const int64_t shape[2] = {1, bytes};
    npy_array packed;
    const ptxgen_status status = npy_create(NPY_U8, 2, shape, &packed, err);
    if (status != PTXGEN_OK)
        return status;
    ptxgen_pack_scales(f->array.data, h->shape[0], h->shape[1], 0, packed.data);
    npy_free(&f->array);
    f->array = packed;
    return PTXGEN_OK;
}

static ptxgen_status upload(run_job *j, ptxgen_error *err)
{
    const bool mixed = j->host.scaled.a_format != j->host.scaled.b_format;
    ptxgen_status status = PTXGEN_OK;
    for (int f = A_SCALES; f <= B_SCALES && status == PTXGEN_OK; f++)
        status = pack(&j->files[f], err);
    for (int f = A; f <= B_SCALES && status == PTXGEN_OK; f++)
        status = run_upload(j, &j->files[f], mixed ? UNPACKED_ROW_ALIGN : ROW_ALIGN, err);
    for (int f = ROW_SCALE; f <= BIAS && status == PTXGEN_OK; f++)
        if (j->files[f].path)
            status = run_upload(j, &j->files[f], ROW_ALIGN, err);
    return status;
}

static ptxgen_status launch(run_job *j, ptxgen_error *err)
{
    ptxgen_matmul_scaled_args x = j->host.scaled;
    x.a = j->files[A].device;
    x.b = j->files[B].device;
    x.a_scales = j->files[A_SCALES].device;
    x.b_scales = j->files[B_SCALES].device;
    x.row_scale = j->files[ROW_SCALE].device;
    x.col_scale = j->files[COL_SCALE].device;
    x.bias = j->files[BIAS].device;
    x.d = j->device_result;
    x.a_stride = elements_of((int)x.a_format, j->files[A].stride);
    x.b_stride = elements_of((int)x.b_format, j->files[B].stride);
    return ptxgen_matmul_scaled_launch(j->kernel, &x, NULL, err);
}

static ptxgen_status oracle(run_job *j, void *want, ptxgen_error *err)
{
    ptxgen_matmul_scaled_args x = j->host.scaled;
    x.a = j->files[A].array.data;
    x.b = j->files[B].array.data;
    x.a_scales = j->files[A_SCALES].array.data;
    x.b_scales = j->files[B_SCALES].array.data;
    x.row_scale = j->files[ROW_SCALE].path ? j->files[ROW_SCALE].array.data : NULL;
    x.col_scale = j->files[COL_SCALE].path ? j->files[COL_SCALE].array.data : NULL;
    x.bias = j->files[BIAS].path ? j->files[BIAS].array.data : NULL;
    x.d = want;
    if (run_function(j))
        return cli_fail(err, PTXGEN_EINVAL,
                        "--check does not know what function= makes of the sums of matmul_scaled: "
                        "leave it out");
    return ptxgen_matmul_scaled_oracle(&x, err);
}

static const run_family family = {.name = "matmul_scaled",
                                  .files = files,
                                  .file_count = sizeof files / sizeof *files,
                                  .prepare = prepare,
                                  .upload = upload,
                                  .launch = launch,
                                  .oracle = oracle};

int cli_run_matmul_scaled(const cli_args *args)
{
    return run_job_main(args, &family);
}
