/* Reading and writing the files themselves. */
#include "npy/npy.h"

#include "command/fail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Room for the data of a header, not initialised: pages of a huge claim are touched only as data
 * arrives. */
static ptxgen_status allocate(npy_array *a, ptxgen_error *err)
{
    const size_t bytes = (a->header.data_bytes + 63) / 64 * 64;
    a->data = aligned_alloc(64, bytes ? bytes : 64);
    if (!a->data)
        return cli_fail(err, PTXGEN_ENOMEM, "out of memory: the array needs %zu bytes",
                        a->header.data_bytes);
    return PTXGEN_OK;
}

ptxgen_status npy_create(ptxgen_dtype type, int rank, const int64_t *shape, npy_array *out,
                         ptxgen_error *err)
{
    ptxgen_status status = npy_make_header(type, rank, shape, &out->header, err);
    if (status == PTXGEN_OK)
        status = allocate(out, err);
    if (status == PTXGEN_OK)
        memset(out->data, 0, out->header.data_bytes);
    return status;
}

void npy_free(npy_array *a)
{
    free(a->data);
    a->data = NULL;
}

static ptxgen_status read_header(FILE *file, npy_header *h, ptxgen_error *err)
{
    size_t offset;
    uint8_t bytes[NPY_PREAMBLE_BYTES + NPY_MAX_HEADER_BYTES];
    size_t n = fread(bytes, 1, NPY_PREAMBLE_BYTES, file);
    if (ferror(file))
        return cli_fail(err, PTXGEN_EIO, "cannot be read: %s", strerror(errno));
    ptxgen_status status = npy_data_offset(bytes, n, &offset, err);
    if (status != PTXGEN_OK)
        return status;
    if (offset > n)
        n += fread(bytes + n, 1, offset - n, file);
    if (n < offset)
        return cli_fail(err, PTXGEN_EINVAL,
                        "the file ends inside its header; save the array again");
    return npy_parse_header(bytes, offset, h, err);
}

/* A regular file's size is compared before anything is allocated for what its header claims. */
static ptxgen_status check_size(FILE *file, const npy_header *h, ptxgen_error *err)
{
    struct stat s;
    const off_t at = ftello(file);
    if (fstat(fileno(file), &s) != 0 || !S_ISREG(s.st_mode) || at < 0)
        return PTXGEN_OK;
    size_t there = (size_t)(s.st_size - at);
    char shape[128];
    npy_shape_text(h, shape, sizeof shape);
    if (there < h->data_bytes)
        return cli_fail(err, PTXGEN_EINVAL,
                        "the file is cut short: %s of '%s' needs %zu bytes of data, %zu are there",
                        shape, h->descr, h->data_bytes, there);
    if (there > h->data_bytes)
        return cli_fail(
            err, PTXGEN_EINVAL,
            "%zu bytes follow the array %s of '%s'; the file is damaged or holds several arrays",
            there - h->data_bytes, shape, h->descr);
    return PTXGEN_OK;
}

static ptxgen_status read_data(FILE *file, npy_array *a, ptxgen_error *err)
{
    size_t n = fread(a->data, 1, a->header.data_bytes, file);
    if (ferror(file))
        return cli_fail(err, PTXGEN_EIO, "cannot be read: %s", strerror(errno));
    if (n < a->header.data_bytes)
        return cli_fail(err, PTXGEN_EINVAL, "the data is cut short: %zu bytes are needed, %zu came",
                        a->header.data_bytes, n);
    if (getc(file) != EOF)
        return cli_fail(err, PTXGEN_EINVAL,
                        "something follows the array; it holds several arrays or is damaged");
    return PTXGEN_OK;
}

static ptxgen_status load_from(FILE *file, npy_array *out, ptxgen_error *err)
{
    ptxgen_status status = read_header(file, &out->header, err);
    if (status == PTXGEN_OK)
        status = check_size(file, &out->header, err);
    if (status == PTXGEN_OK)
        status = allocate(out, err);
    if (status == PTXGEN_OK)
        status = read_data(file, out, err);
    return status;
}

ptxgen_status npy_load(const char *path, npy_array *out, ptxgen_error *err)
{
    *out = (npy_array){0};
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file)
        return cli_fail(err, PTXGEN_EIO, "%s cannot be read: %s", name, strerror(errno));
    ptxgen_status status = load_from(file, out, err);
    if (!standard)
        fclose(file);
    if (status != PTXGEN_OK) {
        npy_free(out);
        bool io = status == PTXGEN_EIO;
        cli_fail(err, status, "%s%s %s", name, io ? "" : ":", err->message);
    }
    return status;
}

void npy_write(const npy_array *a, FILE *file)
{
    char dict[512], shape[256];
    npy_shape_text(&a->header, shape, sizeof shape);
    int n = snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                     a->header.descr, shape);
    int length = (10 + n + 1 + 63) / 64 * 64 - 10;
    const uint8_t preamble[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(length & 255), (uint8_t)(length >> 8)};
    fwrite(preamble, 1, sizeof preamble, file);
    fprintf(file, "%s%*s\n", dict, length - n - 1, "");
    fwrite(a->data, 1, a->header.data_bytes, file);
}
