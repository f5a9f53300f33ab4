#include "command/run/ptx_args.h"

#include "command/fail.h"
#include "command/file.h"
#include "command/run/ptx_texture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static ptxgen_status bad_argument(const ptx_arg *a, const char *why, ptxgen_error *err)
{
    return cli_fail(err, PTXGEN_EINVAL,
                    "--arg %s: %s. Write a number (7, -1, 0x10, 0.5), buf:FILE.npy, zeros:BYTES, "
                    "zeros:4x32:f32, bytes:FILE, "
                    "map:ARGUMENT:TYPE:COLUMNSxROWS:BOXCOLUMNSxBOXROWS[:SWIZZLE] or "
                    "texture:ARGUMENT:TYPE:CHANNELSxWIDTHxHEIGHT[:linear][:normalized]...",
                    a->text, why);
}

/* Little-endian bytes of a parameter of `bytes` bytes. */
static ptxgen_status number_value(ptx_arg *a, const ptxgen_emulator_param *p, ptxgen_error *err)
{
    const size_t bytes = p->bytes;
    char *end;
    errno = 0;
    const bool named = strncmp(a->text, "f32:", 4) == 0 || strncmp(a->text, "f64:", 4) == 0;
    if (named || (p->is_float && !strstr(a->text, "0x"))) { /* 0x: the bits */
        const bool wide = named ? a->text[1] == '6' : bytes == sizeof(double);
        const char *digits = a->text + (named ? 4 : 0);
        const double d = strtod(digits, &end);
        const float f = (float)d;
        if (end == digits || *end != '\0')
            return bad_argument(a, "that is no number", err);
        if (bytes != (wide ? sizeof d : sizeof f))
            return bad_argument(a, "the parameter has another size", err);
        memcpy(a->value, wide ? (const void *)&d : (const void *)&f, bytes);
        return PTXGEN_OK;
    }
    const bool negative = a->text[0] == '-';
    const unsigned long long u = strtoull(a->text + negative, &end, 0);
    if (end == a->text + negative || *end != '\0' || errno != 0 || a->text[negative] < '0' ||
        a->text[negative] > '9')
        return bad_argument(a, "that is no number", err);
    const uint64_t v = negative ? 0 - (uint64_t)u : u;
    if (bytes > sizeof v)
        return bad_argument(a, "the parameter is larger than a number", err);
    const uint64_t limit = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
    if (negative ? u > limit / 2 + 1 : u > limit)
        return bad_argument(a, "the number does not fit the parameter", err);
    memcpy(a->value, &v, bytes);
    return PTXGEN_OK;
}

/* "64x32" -> sizes[0] = 64, sizes[1] = 32; the count, 0 when it is no such list. */
static uint32_t parse_sizes(const char **p, uint64_t *sizes)
{
    uint32_t n = 0;
    while (n < 5) {
        char *end;
        sizes[n] = strtoull(*p, &end, 10);
        if (end == *p || **p < '0' || **p > '9')
            return 0;
        n++;
        *p = end;
        if (*end != 'x')
            break;
        (*p)++;
    }
    return n;
}

/* zeros:BYTES, 32-bit words; zeros:ROWSxCOLUMNS:TYPE, which the result keeps. */
static ptxgen_status new_buffer(ptx_arg *a, ptxgen_error *err)
{
    const char *p = a->text + 6;
    uint64_t sizes[5];
    int64_t shape[5];
    const uint32_t rank = parse_sizes(&p, sizes);
    if (rank == 1 && *p == '\0' && sizes[0] % 4 == 0 && sizes[0] > 0 && sizes[0] <= INT64_MAX)
        return npy_create(PTXGEN_S32, 1, (const int64_t[]){(int64_t)sizes[0] / 4}, &a->buffer, err);
    for (uint32_t d = 0; d < rank; d++) {
        shape[d] = (int64_t)sizes[d];
        if (sizes[d] < 1 || sizes[d] > INT64_MAX)
            return bad_argument(a, "the size is no positive number", err);
    }
    const ptxgen_dtype type = rank && *p == ':' ? npy_type_of_word(p + 1) : PTXGEN_DTYPE_NONE;
    if (type)
        return npy_create(type, (int)rank, shape, &a->buffer, err);
    return bad_argument(a,
                        "without a type (f32, f16, bf16, f64, i8, u8, i16, u16, i32, u32, i64, "
                        "u64) the size is a positive multiple of 4",
                        err);
}

/* A struct that the kernel takes by value. */
static ptxgen_status file_value(ptx_arg *a, size_t bytes, ptxgen_error *err)
{
    size_t size;
    const ptxgen_status status = cli_read_file(a->text + 6, &a->large, &size, err);
    if (status != PTXGEN_OK || size == bytes)
        return status;
    return cli_fail(err, PTXGEN_EINVAL, "--arg %s: the file has %zu bytes, the parameter %zu",
                    a->text, size, bytes);
}

static ptxgen_status buffer_value(ptx_arg *a, size_t bytes, ptxgen_error *err)
{
    if (bytes != sizeof(void *))
        return bad_argument(a, "the parameter is no pointer", err);
    ptxgen_status status;
    if (strncmp(a->text, "buf:", 4) == 0) {
        status = npy_load(a->text + 4, &a->buffer, err);
    } else {
        status = new_buffer(a, err);
    }
    const npy_header *h = &a->buffer.header;
    if (status == PTXGEN_OK)
        status = npy_create(h->type, h->rank, h->shape, &a->before, err);
    if (status != PTXGEN_OK)
        return status;
    memcpy(a->before.data, a->buffer.data, h->data_bytes);
    memcpy(a->value, &a->buffer.data, sizeof a->buffer.data);
    return PTXGEN_OK;
}

static bool take_type(const char **p, int *type, size_t *bytes)
{
    static const struct {
        const char *name;
        int number;
        size_t bytes;
    } types[] = {{"u8:", 0, 1},  {"u16:", 1, 2}, {"u32:", 2, 4}, {"s32:", 3, 4}, {"u64:", 4, 8},
                 {"s64:", 5, 8}, {"f16:", 6, 2}, {"f32:", 7, 4}, {"f64:", 8, 8}, {"bf16:", 9, 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t n = strlen(types[i].name);
        if (strncmp(*p, types[i].name, n) == 0) {
            *type = types[i].number;
            *bytes = types[i].bytes;
            *p += n;
            return true;
        }
    }
    return false;
}

/* The buffer of an earlier argument, whose number begins the text; *rest: behind the ':'. */
static const npy_array *earlier_buffer(const ptx_args *args, const ptx_arg *a, const char *text,
                                       const char **rest)
{
    char *end;
    const unsigned long which = strtoul(text, &end, 10);
    *rest = end + 1;
    if (end == text || *end != ':' || which >= (size_t)(a - args->all) ||
        !args->all[which].buffer.data)
        return NULL;
    return &args->all[which].buffer;
}

/* texture:ARGUMENT:... (ptx_texture.h) */
static ptxgen_status texture_value(const ptx_args *args, ptx_arg *a, size_t bytes,
                                   ptxgen_error *err)
{
    const char *rest;
    const npy_array *buffer = earlier_buffer(args, a, a->text + 8, &rest);
    if (bytes != sizeof(uint64_t))
        return bad_argument(a, "a texture's handle is a parameter of 64 bits", err);
    if (!buffer)
        return bad_argument(a, "ARGUMENT is the number (from 0) of an earlier buffer", err);
    const char *wrong =
        ptx_texture_parse(rest, buffer->data, buffer->header.data_bytes, &a->texture);
    return wrong ? bad_argument(a, wrong, err) : PTXGEN_OK;
}

/* map:ARGUMENT:TYPE:SIZES:BOX[:SWIZZLE], dense, innermost first, over the buffer of an earlier
 * argument. */
static ptxgen_status map_value(const ptx_args *args, ptx_arg *a, size_t bytes, ptxgen_error *err)
{
    const char *p;
    uint64_t box[5];
    size_t element;
    ptxgen_emulator_tensor_map map = {.size = sizeof map};
    if (bytes != PTX_TENSOR_MAP_BYTES)
        return bad_argument(a, "the parameter is no tensor map (128 bytes)", err);
    const npy_array *buffer = earlier_buffer(args, a, a->text + 4, &p);
    if (!buffer)
        return bad_argument(a, "ARGUMENT is the number (from 0) of an earlier buffer", err);
    if (!take_type(&p, &map.data_type, &element))
        return bad_argument(a, "TYPE is u8, u16, u32, s32, u64, s64, f16, f32, f64 or bf16", err);
    map.rank = parse_sizes(&p, map.dims);
    if (map.rank == 0 || *p++ != ':' || parse_sizes(&p, box) != map.rank)
        return bad_argument(a, "sizes and box need the same number of dimensions", err);
    if (*p == ':')
        map.swizzle = strcmp(p, ":32") == 0    ? 1
                      : strcmp(p, ":64") == 0  ? 2
                      : strcmp(p, ":128") == 0 ? 3
                                               : -1;
    if ((*p != '\0' && *p != ':') || map.swizzle < 0)
        return bad_argument(a, "SWIZZLE is 32, 64 or 128 bytes", err);
    uint64_t total = element;
    for (uint32_t d = 0; d < map.rank; d++) {
        map.box[d] = (uint32_t)box[d];
        if (box[d] > UINT32_MAX || __builtin_mul_overflow(total, map.dims[d], &total))
            return bad_argument(a, "a size is too large", err);
        if (d + 1 < map.rank)
            map.strides[d] = total;
    }
    if (total > buffer->header.data_bytes)
        return bad_argument(a, "the sizes reach past the buffer's end", err);
    map.address = buffer->data;
    return ptxgen_emulator_encode_tensor_map(&map, a->value, err);
}

static ptxgen_status one_value(const ptx_args *args, ptx_arg *a, const ptxgen_emulator_param *p,
                               ptxgen_error *err)
{
    const size_t bytes = p->bytes;
    if (strncmp(a->text, "buf:", 4) == 0 || strncmp(a->text, "zeros:", 6) == 0)
        return buffer_value(a, bytes, err);
    if (strncmp(a->text, "bytes:", 6) == 0)
        return file_value(a, bytes, err);
    if (strncmp(a->text, "texture:", 8) == 0)
        return texture_value(args, a, bytes, err);
    return strncmp(a->text, "map:", 4) == 0 ? map_value(args, a, bytes, err)
                                            : number_value(a, p, err);
}

ptxgen_status ptx_args_parse(const ptxgen_emulator_entry *entry, const char *const *texts,
                             size_t count, ptx_args *out, ptxgen_error *err)
{
    ptxgen_emulator_param p;
    size_t wanted = 0;
    *out = (ptx_args){0};
    while (ptxgen_emulator_entry_param(entry, wanted, &p))
        wanted++;
    if (wanted != count || wanted > PTX_ARGS_MAX)
        return cli_fail(err, PTXGEN_EINVAL, "the kernel has %zu parameters and %zu --arg are given",
                        wanted, count);
    out->all = aligned_alloc(64, (wanted + 1) * sizeof *out->all);
    if (!out->all)
        return cli_fail(err, PTXGEN_ENOMEM, "out of memory");
    memset(out->all, 0, (wanted + 1) * sizeof *out->all);
    for (size_t i = 0; i < wanted; i++) {
        ptx_arg *a = &out->all[i];
        ptxgen_emulator_entry_param(entry, i, &p);
        a->text = texts[i];
        out->count = i + 1;
        out->pointers[i] = a->value;
        ptxgen_status status = one_value(out, a, &p, err);
        if (status != PTXGEN_OK)
            return status;
        if (a->large)
            out->pointers[i] = a->large;
    }
    return PTXGEN_OK;
}

ptxgen_status ptx_args_attach(ptx_args *args, ptxgen_emulator *emu, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    for (size_t i = 0; i < args->count && status == PTXGEN_OK; i++) {
        ptx_arg *a = &args->all[i];
        const size_t bytes = a->buffer.header.data_bytes;
        char name[32];
        if (a->texture.size) {
            uint64_t handle;
            status = ptxgen_emulator_add_texture(emu, &a->texture, &handle, err);
            memcpy(a->value, &handle, sizeof handle);
            continue;
        }
        if (!a->buffer.data || bytes == 0)
            continue;
        memcpy(a->buffer.data, a->before.data, bytes);
        snprintf(name, sizeof name, "argument %zu", i);
        status = ptxgen_emulator_add_buffer(emu, name, a->buffer.data, bytes,
                                            PTXGEN_EMULATOR_WRITABLE, err);
    }
    return status;
}

void ptx_args_free(ptx_args *args)
{
    for (size_t i = 0; i < args->count; i++) {
        npy_free(&args->all[i].buffer);
        npy_free(&args->all[i].before);
        free(args->all[i].large);
    }
    free(args->all);
}
