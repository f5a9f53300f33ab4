/* What `ptxgen run matmul_scaled` does before its operands are operands: the files are bytes (an
 * mxfp8 row of K elements has K bytes, a 4-bit row K / 2), the formats follow from the shapes or
 * are said, and plain scales [rows, groups] are packed. */
#include "command/run/scaled.h"

#include "ptxgen/matmul.h"

#include <string.h>

enum { A, B, A_SCALES, B_SCALES };
enum { FORMATS = 3 };

static const char *const format_words[] = {"mxfp8", "mxfp4", "nvfp4", NULL};
static const char *const format_names[] = {"a_format", "b_format"};
static const char operand_names[] = "AB";

/* A word that is one of the list: its place. EINVAL names the nearest. */
static ptxgen_status choose(const char *name, const char *value, int *out, ptxgen_error *err)
{
    for (int i = 0; format_words[i]; i++)
        if (strcmp(format_words[i], value) == 0) {
            *out = i;
            return PTXGEN_OK;
        }
    const char *near = cli_nearest(value, format_words, FORMATS);
    return cli_fail(err, PTXGEN_EINVAL, "%s is '%s'; it takes mxfp8, mxfp4 or nvfp4%s%s%s", name,
                    value, near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
}

static const npy_header *header(const run_job *j, int file)
{
    return &j->operands[file].array.header;
}

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
    const run_operand *f = &j->operands[file];
    if (f->array.header.type != PTXGEN_U8)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s: %s holds '%s'; elements and scales come as bytes. Convert with "
                        "a.astype(ml_dtypes.%s",
                        f->path, f->info.name, f->array.header.descr,
                        file < A_SCALES ? "float8_e4m3fn).view(numpy.uint8) (mxfp8)"
                                        : "float8_e8m0fnu).view(numpy.uint8) (nvfp4: "
                                          "float8_e4m3fn)");
    char shape[128];
    if (f->array.header.rank == 2)
        return PTXGEN_OK;
    return cli_fail(err, PTXGEN_EINVAL, "%s: %s has shape %s; it must have 2 dimensions, %s",
                    f->path, f->info.name, npy_shape_text(&f->array.header, shape, sizeof shape),
                    file < A_SCALES ? "(rows, bytes of a row)" : "(rows, groups)");
}

/* No format, or not the one that was said, has so many scales for so many bytes. */
static ptxgen_status undecided(const run_job *j, int operand, ptxgen_error *err)
{
    const int64_t bytes = header(j, operand)->shape[1];
    return cli_fail(
        err, PTXGEN_EINVAL,
        "%c has %lld bytes and %lld scales a row; %lld bytes need %lld scales as mxfp8, "
        "%lld as mxfp4 and %lld as nvfp4. Give the right scales, or say %s=mxfp8",
        operand_names[operand], (long long)bytes,
        (long long)header(j, operand + A_SCALES)->shape[1], (long long)bytes,
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
    const int64_t bytes = header(j, operand)->shape[1];
    const int64_t groups = header(j, operand + A_SCALES)->shape[1];
    const char *word = run_word(j, format_names[operand]);
    char list[32];
    if (!word)
        word = run_word(j, "format");
    if (word) {
        const ptxgen_status status = choose(format_names[operand], word, format, err);
        return status != PTXGEN_OK || fits(*format, bytes, groups) ? status
                                                                   : undecided(j, operand, err);
    }
    const int found = fitting(bytes, groups, list, sizeof list);
    if (found == 1)
        return choose(format_names[operand], list, format, err);
    if (found == 0)
        return undecided(j, operand, err);
    return cli_fail(err, PTXGEN_EINVAL, "%c fits %s: say %s=... (or format=... for both)",
                    operand_names[operand], list, format_names[operand]);
}

static ptxgen_status check_operand(const run_job *j, int operand, int *format, ptxgen_error *err)
{
    const int64_t rows = header(j, operand)->shape[0];
    const int64_t scale_rows = header(j, operand + A_SCALES)->shape[0];
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
        if (header(j, f)->shape[1] == 0)
            return cli_fail(
                err, PTXGEN_EUNSUPPORTED,
                "%s: %c has rows of no bytes (K = 0), and matmul_scaled needs K of 1 or "
                "more: D would be zeros, so make it without a kernel",
                j->operands[f].path, operand_names[f]);
    return PTXGEN_OK;
}

static ptxgen_status check_k(const run_job *j, const int formats[2], ptxgen_error *err)
{
    const int64_t k[2] = {elements_of(formats[0], header(j, A)->shape[1]),
                          elements_of(formats[1], header(j, B)->shape[1])};
    if (k[0] == k[1])
        return PTXGEN_OK;
    return cli_fail(err, PTXGEN_EINVAL,
                    "A has rows of %lld elements (%s) and B of %lld (%s); they must be equal (K)",
                    (long long)k[0], format_words[formats[0]], (long long)k[1],
                    format_words[formats[1]]);
}

/* Replaces the scales by the packed ones. */
static ptxgen_status pack(run_operand *o, int format, ptxgen_error *err)
{
    const npy_header *h = &o->array.header;
    const int64_t bytes = ptxgen_packed_scales_bytes(h->shape[0], h->shape[1]);
    npy_array packed;
    const ptxgen_status status = npy_create(PTXGEN_U8, 1, &bytes, &packed, err);
    if (status != PTXGEN_OK)
        return status;
    ptxgen_pack_scales(o->array.data, h->shape[0], h->shape[1], 0, packed.data);
    npy_free(&o->array);
    o->array = packed;
    o->dtype = format == PTXGEN_NVFP4 ? PTXGEN_E4M3 : PTXGEN_UE8M0;
    o->rank = 1;
    o->shape[0] = bytes;
    o->host_strides[0] = 1;
    o->present = true;
    return PTXGEN_OK;
}

static void name_elements(run_operand *o, int format)
{
    o->dtype = format == PTXGEN_MXFP8 ? PTXGEN_E4M3 : PTXGEN_E2M1;
    o->rank = 2;
    o->shape[0] = o->array.header.shape[0];
    o->shape[1] = o->host_strides[0] = elements_of(format, o->array.header.shape[1]);
    o->host_strides[1] = 1;
    o->present = true;
}

/* The formats are words of the command; to the library they are element types. */
ptxgen_status run_adapt_scaled(run_job *j, ptxgen_error *err)
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
    for (int f = A; f <= B && status == PTXGEN_OK; f++) {
        name_elements(&j->operands[f], formats[f]);
        status = pack(&j->operands[f + A_SCALES], formats[f], err);
        run_drop_word(j, format_names[f]);
    }
    run_drop_word(j, "format");
    return status;
}
