/* The header of a .npy file: a Python dict literal after a magic string and a length. */
#include "npy/npy.h"

#include "command/fail.h"

#include <string.h>

/* How NumPy writes and names the element types; the first row of a type is how it is written. */
static const struct {
    const char *descr, *name;
    ptxgen_dtype type;
} types[] = {
    {"<f4", "float32", PTXGEN_F32},   {"<f2", "float16", PTXGEN_F16},
    {"<V2", "bfloat16", PTXGEN_BF16}, {"bfloat16", "bfloat16", PTXGEN_BF16},
    {"<u2", "uint16", PTXGEN_U16},    {"|V2", "uint16", PTXGEN_U16},
    {"<i8", "int64", PTXGEN_S64},     {"<i4", "int32", PTXGEN_S32},
    {"<u4", "uint32", PTXGEN_U32},    {"|u1", "uint8", PTXGEN_U8},
    {"|V1", "uint8", PTXGEN_U8},      {"|b1", "uint8", PTXGEN_U8},
    {"<f8", "float64", PTXGEN_F64},   {"<u8", "uint64", PTXGEN_U64},
    {"<i2", "int16", PTXGEN_S16},     {"|i1", "int8", PTXGEN_S8},
    {"<c8", "complex64", PTXGEN_C64}, {"<c16", "complex128", PTXGEN_C128},
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

typedef struct cursor {
    const char *p, *end;
    ptxgen_error *err;
} cursor;

static ptxgen_status damaged(cursor *c, const char *what)
{
    return cli_fail(c->err, PTXGEN_EINVAL, "the .npy header is damaged: %s; save the array again",
                    what);
}

ptxgen_status npy_data_offset(const uint8_t *first, size_t n, size_t *offset, ptxgen_error *err)
{
    static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (n < sizeof magic || memcmp(first, magic, sizeof magic) != 0) {
        if (n >= 4 && memcmp(first, "PK\3\4", 4) == 0)
            return cli_fail(
                err, PTXGEN_EINVAL,
                "this is a .npz file, of several arrays; save the one array with numpy.save");
        return cli_fail(err, PTXGEN_EINVAL, "this is no .npy file; write one with numpy.save");
    }
    if (n < 8)
        return cli_fail(err, PTXGEN_EINVAL,
                        "the file ends inside its header; save the array again");
    if (first[6] < 1 || first[6] > 3 || first[7] != 0)
        return cli_fail(err, PTXGEN_EINVAL,
                        "this is a .npy file of version %d.%d; 1.0, 2.0 and 3.0 are known",
                        first[6], first[7]);
    size_t fixed = first[6] == 1 ? 10 : 12;
    if (n < fixed)
        return cli_fail(err, PTXGEN_EINVAL,
                        "the file ends inside its header; save the array again");
    size_t length = first[8] | (size_t)first[9] << 8;
    if (fixed == 12)
        length |= (size_t)first[10] << 16 | (size_t)first[11] << 24;
    if (length > NPY_MAX_HEADER_BYTES)
        return cli_fail(
            err, PTXGEN_EINVAL,
            "the .npy header claims %zu bytes; at most %d are read. Save the array again", length,
            NPY_MAX_HEADER_BYTES);
    *offset = fixed + length;
    return PTXGEN_OK;
}

static void skip_space(cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r'))
        c->p++;
}

/* Takes `text` if it comes next (after spaces). */
static bool take(cursor *c, const char *text)
{
    skip_space(c);
    size_t n = strlen(text);
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n) != 0)
        return false;
    c->p += n;
    return true;
}

/* A quoted string without escapes; cut to size - 1. */
static bool take_string(cursor *c, char *out, size_t size)
{
    skip_space(c);
    if (c->p == c->end || (*c->p != '\'' && *c->p != '"'))
        return false;
    const char quote = *c->p++;
    const char *start = c->p;
    while (c->p < c->end && *c->p != quote && *c->p != '\\' && *c->p != '\0')
        c->p++;
    if (c->p == c->end || *c->p != quote)
        return false;
    size_t n = (size_t)(c->p - start);
    if (n > size - 1)
        n = size - 1;
    memcpy(out, start, n);
    out[n] = '\0';
    c->p++;
    return true;
}

static ptxgen_status parse_descr(cursor *c, npy_header *h)
{
    if (take(c, "["))
        return cli_fail(c->err, PTXGEN_EINVAL,
                        "the array has named fields; save one field of it, as a['name'].copy()");
    if (!take_string(c, h->descr, sizeof h->descr))
        return damaged(c, "'descr' is no string");
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(types[i].descr, h->descr) == 0) {
            h->type = types[i].type;
            h->elem_bytes = (size_t)ptxgen_dtype_bits(types[i].type) / 8;
            return PTXGEN_OK;
        }
    }
    const char *little = h->descr[0] == '>' ? h->descr + 1 : "";
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].descr + 1, little) == 0)
            return cli_fail(c->err, PTXGEN_EINVAL,
                            "the array is big-endian ('%s'); save a.astype('%s') instead", h->descr,
                            types[i].descr);
    return cli_fail(c->err, PTXGEN_EINVAL,
                    "the elements are '%s', which is no type known here; convert with "
                    "a.astype(numpy.float32) or the type that is needed, bytes with "
                    "a.view(numpy.uint8)",
                    h->descr);
}

static ptxgen_status parse_order(cursor *c, bool *fortran)
{
    *fortran = take(c, "True");
    return *fortran || take(c, "False") ? PTXGEN_OK
                                        : damaged(c, "'fortran_order' is neither True nor False");
}

static ptxgen_status parse_dimension(cursor *c, int64_t *out)
{
    skip_space(c);
    const char *start = c->p;
    int64_t value = 0;
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *c->p - '0', &value))
            return damaged(c, "a dimension does not fit 63 bits");
    if (c->p == start)
        return damaged(c, "'shape' is no tuple of sizes");
    if (c->p < c->end && *c->p == 'L') /* Python 2 wrote 3L */
        c->p++;
    *out = value;
    return PTXGEN_OK;
}

static ptxgen_status parse_shape(cursor *c, npy_header *h)
{
    if (!take(c, "("))
        return damaged(c, "'shape' is no tuple");
    h->rank = 0;
    while (!take(c, ")")) {
        if (h->rank == NPY_MAX_RANK)
            return cli_fail(c->err, PTXGEN_EINVAL,
                            "the array has more than %d dimensions; reshape it", NPY_MAX_RANK);
        int64_t size = 0;
        ptxgen_status status = parse_dimension(c, &size);
        if (status != PTXGEN_OK)
            return status;
        h->shape[h->rank++] = size;
        if (!take(c, ",")) {
            if (!take(c, ")") || h->rank < 2) /* (5) is a number, (5,) a tuple */
                return damaged(c, "'shape' is no tuple");
            break;
        }
    }
    return PTXGEN_OK;
}

static ptxgen_status count_elements(npy_header *h, ptxgen_error *err)
{
    /* A zero anywhere makes the array empty, whatever the other sizes multiply to. */
    int64_t count = 1;
    bool empty = false, overflow = false;
    for (int i = 0; i < h->rank; i++) {
        empty |= h->shape[i] == 0;
        overflow |= __builtin_mul_overflow(count, h->shape[i] ? h->shape[i] : 1, &count);
    }
    int64_t bytes = 0;
    overflow |= __builtin_mul_overflow(count, (int64_t)h->elem_bytes, &bytes);
    if (overflow && !empty) {
        char shape[256];
        return cli_fail(err, PTXGEN_EINVAL,
                        "the shape %s has more elements than any memory; make it smaller",
                        npy_shape_text(h, shape, sizeof shape));
    }
    h->count = empty ? 0 : (size_t)count;
    h->data_bytes = empty ? 0 : (size_t)bytes;
    return PTXGEN_OK;
}

enum { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

/* One "key: value" of the dict. */
static ptxgen_status parse_item(cursor *c, npy_header *h, bool *fortran, int *seen)
{
    char key[20];
    if (!take_string(c, key, sizeof key) || !take(c, ":"))
        return damaged(c, "it is no dict of descr, fortran_order and shape");
    int which = strcmp(key, "descr") == 0           ? KEY_DESCR
                : strcmp(key, "fortran_order") == 0 ? KEY_ORDER
                : strcmp(key, "shape") == 0         ? KEY_SHAPE
                                                    : 0;
    if (which == 0 || (*seen & which))
        return damaged(c, "a key is unknown or there twice");
    *seen |= which;
    return which == KEY_DESCR   ? parse_descr(c, h)
           : which == KEY_ORDER ? parse_order(c, fortran)
                                : parse_shape(c, h);
}

ptxgen_status npy_parse_header(const uint8_t *bytes, size_t offset, npy_header *out,
                               ptxgen_error *err)
{
    size_t expected;
    ptxgen_status status = npy_data_offset(
        bytes, offset < NPY_PREAMBLE_BYTES ? offset : NPY_PREAMBLE_BYTES, &expected, err);
    if (status != PTXGEN_OK)
        return status;
    cursor c = {(const char *)bytes + (bytes[6] == 1 ? 10 : 12), (const char *)bytes + offset, err};
    if (expected != offset)
        return damaged(&c, "its length is wrong");
    *out = (npy_header){0};
    bool fortran = false;
    int seen = 0;
    if (!take(&c, "{"))
        return damaged(&c, "it is no dict");
    while (!take(&c, "}")) {
        status = parse_item(&c, out, &fortran, &seen);
        if (status != PTXGEN_OK)
            return status;
        if (!take(&c, ",")) {
            if (!take(&c, "}"))
                return damaged(&c, "the dict is not closed");
            break;
        }
    }
    skip_space(&c);
    if (seen != KEY_ALL || c.p != c.end)
        return damaged(&c, seen != KEY_ALL ? "descr, fortran_order or shape is missing"
                                           : "something follows the dict");
    if (fortran && out->rank > 1)
        return cli_fail(err, PTXGEN_EINVAL,
                        "the array is in Fortran order; save numpy.ascontiguousarray(a) instead");
    return count_elements(out, err);
}

ptxgen_status npy_fail_bare_words(const char *path, const npy_header *h, const char *dtype,
                                  ptxgen_error *err)
{
    if (dtype)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s: the elements are bare 16-bit words ('%s'), and dtype=%s cannot name "
                        "them. Save float16 as a.view(numpy.float16); for bfloat16 say dtype=bf16",
                        path, h->descr, dtype);
    return cli_fail(err, PTXGEN_EINVAL,
                    "%s: the elements are bare 16-bit words ('%s'); say what they are: dtype=bf16, "
                    "or FILE.npy:bf16 of this one; save float16 as a.view(numpy.float16)",
                    path, h->descr);
}

/* TYPE_COUNT for a type that NumPy has not. */
static size_t row_of(ptxgen_dtype type)
{
    size_t row = 0;
    while (row < TYPE_COUNT && types[row].type != type)
        row++;
    return row;
}

const char *npy_type_name(ptxgen_dtype type)
{
    const size_t row = row_of(type);
    return row < TYPE_COUNT ? types[row].name : "uint8";
}

ptxgen_dtype npy_type_of_word(const char *word)
{
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        const char *own = ptxgen_dtype_name(types[i].type);
        if (strcmp(own + 1, word[0] ? word + 1 : "") == 0 &&
            (own[0] == word[0] || (own[0] == 's' && word[0] == 'i')))
            return types[i].type;
    }
    return PTXGEN_DTYPE_NONE;
}

const char *npy_shape_text(const npy_header *h, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < h->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "(",
                                 (long long)h->shape[i]);
    if (used < size)
        snprintf(text + used, size - used, "%s", h->rank == 0 ? "()" : h->rank == 1 ? ",)" : ")");
    return text;
}

ptxgen_status npy_make_header(ptxgen_dtype type, int rank, const int64_t *shape, npy_header *out,
                              ptxgen_error *err)
{
    const size_t row = row_of(row_of(type) < TYPE_COUNT ? type : PTXGEN_U8);
    *out = (npy_header){.type = types[row].type, .rank = rank};
    snprintf(out->descr, sizeof out->descr, "%s", types[row].descr);
    out->elem_bytes = (size_t)ptxgen_dtype_bits(out->type) / 8;
    for (int i = 0; i < rank; i++)
        out->shape[i] = shape[i];
    return count_elements(out, err);
}
