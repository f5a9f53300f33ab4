/* ptxgen array: writes a small or large .npy file to try `run` and `bench` with. */
#include "command/array.h"

#include "command/options.h"
#include "command/output.h"

#include <stdlib.h>
#include <string.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* float -> 16 bits of [-1, 1): f16 (5 exponent bits) or bf16 (8), to nearest even. */
static uint16_t round_to_half(float value, bool bf16)
{
    uint32_t u;
    memcpy(&u, &value, sizeof u);
    uint32_t sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (bf16)
        return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    if (magnitude < 0x38800000) { /* below 2^-14: a multiple of 2^-24 */
        float scaled, positive;
        memcpy(&positive, &magnitude, sizeof positive);
        scaled = positive * 16777216.0f;
        uint32_t whole = (uint32_t)scaled;
        float rest = scaled - (float)whole;
        return (uint16_t)(sign | (whole + (rest > 0.5f || (rest == 0.5f && (whole & 1)))));
    }
    uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (rounded - 0x38000000) >> 13);
}

void array_fill_random(npy_array *a, uint64_t seed)
{
    float *f32 = a->data;
    uint16_t *half = a->data;
    for (size_t i = 0; i < a->header.count; i++) {
        float value = (float)(int32_t)(splitmix64(&seed) >> 40) / 8388608.0f - 1.0f;
        if (a->header.type == PTXGEN_F32)
            f32[i] = value;
        else
            half[i] = round_to_half(value, a->header.type == PTXGEN_BF16);
    }
}

void array_fill_bytes(npy_array *a, const array_bytes *kind, uint64_t seed)
{
    uint8_t *byte = a->data;
    for (size_t i = 0; i < a->header.count; i++) {
        const uint64_t random = splitmix64(&seed);
        const uint8_t sign = kind->is_signed ? (uint8_t)(random >> 56 & 0x80) : 0;
        byte[i] = (uint8_t)(kind->first + (random & 0xffffffff) % kind->choices) | sign;
    }
}

void array_fill_indices(npy_array *a, int64_t below, uint64_t seed)
{
    int64_t *i64 = a->data;
    int32_t *i32 = a->data;
    for (size_t i = 0; i < a->header.count; i++) {
        /* The high half of a 64 x 64 bit product: uniform to 2^-64 and never `below` itself. */
        int64_t value = (int64_t)((unsigned __int128)splitmix64(&seed) * (uint64_t)below >> 64);
        if (a->header.type == PTXGEN_S64)
            i64[i] = value;
        else
            i32[i] = (int32_t)value;
    }
}

typedef struct spec {
    char kind[8]; /* zeros, random, index */
    int rank;
    int64_t shape[NPY_MAX_RANK];
    int64_t below; /* index */
    ptxgen_dtype type;
    array_bytes bytes; /* PTXGEN_U8 */
} spec;

static ptxgen_status bad_spec(const char *text, ptxgen_error *err)
{
    return cli_fail(
        err, PTXGEN_EINVAL,
        "'%s' is no array; write zeros:ROWSxCOLUMNS, random:ROWSxCOLUMNS or index:ROWS/BELOW",
        text);
}

static ptxgen_status parse_spec(const char *text, spec *out, ptxgen_error *err)
{
    const char *p = strchr(text, ':');
    if (!p || p - text >= (int)sizeof out->kind)
        return bad_spec(text, err);
    memcpy(out->kind, text, (size_t)(p - text));
    out->kind[p - text] = '\0';
    bool index = strcmp(out->kind, "index") == 0;
    if (!index && strcmp(out->kind, "zeros") != 0 && strcmp(out->kind, "random") != 0)
        return bad_spec(text, err);
    do {
        char *end;
        p++;
        out->shape[out->rank] = strtoll(p, &end, 10);
        if (end == p || *p < '0' || *p > '9' || out->shape[out->rank] == INT64_MAX)
            return bad_spec(text, err);
        out->rank++;
        p = end;
    } while (*p == 'x' && !index && out->rank < NPY_MAX_RANK);
    if (index && *p == '/') {
        char *end;
        out->below = strtoll(p + 1, &end, 10);
        if (end == p + 1 || out->below < 1)
            return bad_spec(text, err);
        p = end;
    }
    return *p != '\0' || (index && out->below == 0) ? bad_spec(text, err) : PTXGEN_OK;
}

/* dtype=... of an index or of values. */
static bool take_type(const char *word, bool index, spec *out)
{
    static const struct {
        const char *name;
        array_bytes bytes;
    } kinds[] = {{"e4m3", {0, 56, true}},     /* below 1 */
                 {"e2m1x2", {0, 256, false}}, /* any two 4-bit numbers */
                 {"e8m0", {120, 8, false}},   /* 2^-7 .. 1 */
                 {"ue4m3", {40, 24, false}}}; /* 2^-2 .. 2 */
    if (strncmp(word, "dtype=", 6) != 0)
        return false;
    for (size_t i = 0; !index && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(word + 6, kinds[i].name) == 0) {
            out->type = PTXGEN_U8;
            out->bytes = kinds[i].bytes;
            return true;
        }
    }
    out->type = npy_type_of_word(word + 6);
    return index ? out->type == PTXGEN_S64 || out->type == PTXGEN_S32
                 : out->type == PTXGEN_F32 || out->type == PTXGEN_F16 || out->type == PTXGEN_BF16;
}

static ptxgen_status parse_type(const cli_args *args, spec *out, ptxgen_error *err)
{
    const bool index = strcmp(out->kind, "index") == 0;
    out->type = index ? PTXGEN_S64 : PTXGEN_F32;
    for (size_t w = 1; w < args->count; w++)
        if (!take_type(args->words[w], index, out))
            return cli_fail(err, PTXGEN_EINVAL, "'%s' is not known here; %s", args->words[w],
                            index
                                ? "an index takes dtype=i64 or dtype=i32"
                                : "values take dtype=f32, f16, bf16, e4m3, e2m1x2, e8m0 or ue4m3");
    if (out->type == PTXGEN_S32 && out->below > INT32_MAX)
        return cli_fail(err, PTXGEN_EINVAL,
                        "indices below %lld do not fit dtype=i32; use dtype=i64",
                        (long long)out->below);
    return PTXGEN_OK;
}

static ptxgen_status write_array(const cli_args *args, const spec *s, ptxgen_error *err)
{
    cli_output to;
    npy_array a = {0};
    ptxgen_status status = cli_output_open(&to, args->set.output, true, err);
    if (status != PTXGEN_OK)
        return status;
    status = npy_create(s->type, s->rank, s->shape, &a, err);
    if (status == PTXGEN_OK) {
        if (s->below > 0)
            array_fill_indices(&a, s->below, (uint64_t)args->set.seed);
        else if (strcmp(s->kind, "random") == 0 && s->type == PTXGEN_U8)
            array_fill_bytes(&a, &s->bytes, (uint64_t)args->set.seed);
        else if (strcmp(s->kind, "random") == 0)
            array_fill_random(&a, (uint64_t)args->set.seed);
        npy_write(&a, to.file);
        status = cli_output_commit(&to, err);
    } else {
        cli_output_discard(&to);
    }
    npy_free(&a);
    return status;
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    spec s = {0};
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "which array? `ptxgen array random:1000x512 -o src.npy`");
    ptxgen_status status = parse_spec(args->words[0], &s, &err);
    if (status == PTXGEN_OK)
        status = parse_type(args, &s, &err);
    if (status == PTXGEN_OK && s.below == 0 && strcmp(s.kind, "zeros") == 0 &&
        cli_option_given(args, "seed"))
        return cli_usage_error(&args->set, "--seed would have no effect here: zeros are not drawn");
    if (status == PTXGEN_OK)
        status = write_array(args, &s, &err);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}

const cli_command cli_array = {
    .name = "array",
    .usage = "zeros:RxC|random:RxC|index:R/BELOW [dtype=...] [-o FILE]",
    .summary = "write a .npy file of zeros, random numbers or random indices",
    .text = "Writes an array to try `ptxgen run` with: zeros, random numbers in [-1, 1)\n"
            "(dtype=f32, f16 or bf16), or R random indices below BELOW (dtype=i64 or\n"
            "i32). A seed always gives the same array. For matmul_scaled, bytes: dtype=e4m3\n"
            "(below 1), e2m1x2 (two 4-bit numbers a byte); scales e8m0 and ue4m3.\n",
    .examples = "  ptxgen array zeros:100x512 -o out.npy\n"
                "  ptxgen array random:4000x512 dtype=bf16 --seed 7 -o src.npy\n"
                "  ptxgen array index:4000/100 dtype=i32 -o index.npy\n"
                "  ptxgen array random:256x8 dtype=e8m0 -o a_scales.npy\n",
    .options = "output seed help",
    .run = run,
};
