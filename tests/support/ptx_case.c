/* Reading and checking of instruction tests; see ptx_case.h. */
#include "ptx_case.h"

#include "base/str.h"
#include "emulator/copy/tensor_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNWRITTEN = 0xcd };

/* ---- lines ---- */

static void copy_name(char *to, pg_str from)
{
    const size_t n = from.n < PTX_CASE_NAME - 1 ? from.n : PTX_CASE_NAME - 1;
    memcpy(to, from.p, n);
    to[n] = 0;
}

static unsigned parse_list(const char *text, uint64_t *out, unsigned most)
{
    unsigned n = 0;
    while (n < most) {
        char *end;
        out[n++] = strtoull(text, &end, 0);
        if (*end != ',')
            break;
        text = end + 1;
    }
    return n;
}

static void parse_u32s(const char *text, uint32_t *out, unsigned most)
{
    uint64_t v[5];
    const unsigned n = parse_list(text, v, most);
    for (unsigned i = 0; i < n; i++)
        out[i] = (uint32_t)v[i];
}

static void parse_s32s(const char *text, int32_t *out, unsigned most)
{
    for (unsigned i = 0; i < most && *text; i++) {
        char *end;
        out[i] = (int32_t)strtol(text, &end, 0);
        text = end + (*end == ',');
    }
}

/* "key=value": the value's text; NULL: another key. */
static const char *value_of(const char *word, const char *key)
{
    const size_t n = strlen(key);
    return !strncmp(word, key, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static bool launch_line(pg_str rest, ptx_case *c)
{
    for (pg_str w = pg_str_word(&rest); w.n; w = pg_str_word(&rest)) {
        char word[PTX_CASE_NAME];
        copy_name(word, w);
        const char *v;
        if ((v = value_of(word, "grid")))
            parse_u32s(v, c->grid, 3);
        else if ((v = value_of(word, "block")))
            parse_u32s(v, c->block, 3);
        else if ((v = value_of(word, "cluster")))
            parse_u32s(v, c->cluster, 3);
        else if ((v = value_of(word, "shared")))
            c->shared = (uint32_t)strtoul(v, NULL, 0);
        else
            return false;
    }
    return true;
}

static int tensor_type(const char *name)
{
    for (int i = 0; i < PG_TENSOR_TYPE_COUNT; i++)
        if (!strcmp(name, pg_tensor_types[i].name))
            return i;
    return -1;
}

static int swizzle_mode(const char *name)
{
    for (int i = 0; i < PG_SWIZZLE_COUNT; i++)
        if (!strcmp(name, pg_swizzles[i].name))
            return i;
    return -1;
}

static bool map_word(const char *word, ptx_case_param *m)
{
    const char *v;
    if ((v = value_of(word, "over")))
        snprintf(m->over, sizeof m->over, "%s", v);
    else if ((v = value_of(word, "type")))
        m->type = tensor_type(v);
    else if ((v = value_of(word, "dims")))
        m->rank = parse_list(v, m->dims, 5);
    else if ((v = value_of(word, "strides")))
        parse_list(v, m->strides, 4);
    else if ((v = value_of(word, "box")))
        parse_u32s(v, m->box, 5);
    else if ((v = value_of(word, "element_strides")))
        parse_u32s(v, m->element_strides, 5);
    else if ((v = value_of(word, "swizzle")))
        m->swizzle = swizzle_mode(v);
    else if ((v = value_of(word, "pixels")))
        m->pixels = (uint32_t)strtoul(v, NULL, 0);
    else if ((v = value_of(word, "wide")))
        m->wide = atoi(v);
    else if ((v = value_of(word, "lower")))
        parse_s32s(v, m->lower, 3);
    else if ((v = value_of(word, "upper")))
        parse_s32s(v, m->upper, 3);
    else if ((v = value_of(word, "fill")))
        m->fill_nan = !strcmp(v, "nan");
    else
        return false;
    return m->type >= 0 && m->swizzle >= 0;
}

static bool image_word(const char *word, ptx_case_param *m)
{
    const struct {
        const char *key;
        uint32_t *at;
    } numbers[] = {{"format", &m->format},        {"channels", &m->channels},
                   {"layers", &m->layers},        {"cube", &m->cube},
                   {"linear", &m->linear},        {"integers", &m->integers},
                   {"normalized", &m->normalized}};
    const char *v;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if ((v = value_of(word, numbers[i].key))) {
            *numbers[i].at = (uint32_t)strtoul(v, NULL, 0);
            return true;
        }
    if ((v = value_of(word, "over")))
        snprintf(m->over, sizeof m->over, "%s", v);
    else if ((v = value_of(word, "extent")))
        parse_u32s(v, m->extent, 3);
    else if ((v = value_of(word, "address")))
        parse_s32s(v, m->address, 3);
    else if ((v = value_of(word, "border")))
        parse_s32s(v, m->border, 4);
    else
        return false;
    return true;
}

/* A parameter that is no buffer. */
static bool object_line(pg_str rest, ptx_case_param *p)
{
    p->is_map = true;
    for (int i = 0; i < 5; i++)
        p->element_strides[i] = 1;
    for (pg_str w = pg_str_word(&rest); w.n; w = pg_str_word(&rest)) {
        char word[PTX_CASE_NAME];
        copy_name(word, w);
        if (!(p->is_image ? image_word : map_word)(word, p))
            return false;
    }
    return true;
}

/* What the data lines after this line go into. */
typedef enum data_target { TO_NOTHING, TO_INPUT, TO_EXPECTED } data_target;

static bool key_line(pg_str key, pg_str rest, ptx_case *c, data_target *target)
{
    if (pg_str_is(key, "launch"))
        return launch_line(rest, c);
    if (pg_str_is(key, "expect"))
        return *target = TO_EXPECTED, true;
    if (pg_str_is(key, "exact"))
        return c->exact = true;
    if (pg_str_is(key, "emulator"))
        return c->emulator_only = true;
    if (pg_str_is(key, "dependent"))
        return copy_name(c->dependent, pg_str_word(&rest)), true;
    if (pg_str_is(key, "undefined"))
        return copy_name(c->undefined, pg_str_word(&rest)), true;
    while (rest.n && *rest.p == ' ')
        rest.p++, rest.n--;
    if (pg_str_is(key, "at")) {
        snprintf(c->at, sizeof c->at, "%.*s", (int)rest.n, rest.p);
        return true;
    }
    if (pg_str_is(key, "advice")) {
        snprintf(c->advice, sizeof c->advice, "%.*s", (int)rest.n, rest.p);
        return true;
    }
    if (pg_str_is(key, "seeds")) {
        c->seeds = (unsigned)strtoul(rest.p, NULL, 10);
        return true;
    }
    if (pg_str_is(key, "report")) {
        snprintf(c->report, sizeof c->report, "%.*s", (int)rest.n, rest.p);
        return true;
    }
    if (pg_str_is(key, "fails")) {
        while (rest.n && *rest.p == ' ')
            rest.p++, rest.n--;
        snprintf(c->fails, sizeof c->fails, "%.*s", (int)rest.n, rest.p);
        return c->emulator_only = true;
    }
    if (c->param_count == PTX_CASE_MAX_PARAMS)
        return false;
    ptx_case_param *p = &c->params[c->param_count++];
    copy_name(p->name, pg_str_word(&rest));
    p->is_surface = pg_str_is(key, "surface");
    p->is_image = p->is_surface || pg_str_is(key, "texture");
    if (p->is_image || pg_str_is(key, "map"))
        return object_line(rest, p);
    int64_t word = 0;
    if (!pg_str_i64(pg_str_word(&rest), &word) || word < 1 || word > 8)
        return false;
    p->word = (unsigned)word;
    *target = pg_str_is(key, "out") ? TO_EXPECTED : TO_INPUT;
    return pg_str_is(key, "in") || pg_str_is(key, "inout") || pg_str_is(key, "out");
}

static bool data_line(pg_str rest, ptx_case_param *p, data_target target)
{
    uint8_t **at = target == TO_INPUT ? &p->bytes : &p->expected;
    size_t used = 0;
    for (pg_str w = pg_str_word(&rest); w.n; w = pg_str_word(&rest)) {
        char text[PTX_CASE_NAME], *end;
        copy_name(text, w);
        const uint64_t value = strtoull(text, &end, 16);
        if (*end)
            return false;
        /* `size` is the number of bytes that the target has so far. */
        used = p->size;
        *at = realloc(*at, used + p->word);
        memcpy(*at + used, &value, p->word);
        p->size += p->word;
    }
    return true;
}

static void allocate_outputs(ptx_case *c)
{
    for (size_t i = 0; i < c->param_count; i++) {
        ptx_case_param *p = &c->params[i];
        if (p->is_map || p->bytes)
            continue;
        p->bytes = malloc(p->size + 1);
        memset(p->bytes, UNWRITTEN, p->size);
    }
}

static bool parse_line(pg_str line, ptx_case *c, data_target *target)
{
    if (line.n < 3 || memcmp(line.p, "//", 2))
        return true;
    pg_str rest = {line.p + 3, line.n - 3};
    if (line.p[2] == '=')
        return c->param_count && *target != TO_NOTHING &&
               data_line(rest, &c->params[c->param_count - 1], *target);
    if (line.p[2] != ':')
        return true;
    const pg_str key = pg_str_word(&rest);
    const size_t before = c->param_count;
    if (!key_line(key, rest, c, target))
        return false;
    if (pg_str_is(key, "expect") && before)
        c->params[before - 1].size = 0; /* counts again, for what comes out */
    return true;
}

static bool parse_text(ptx_case *c)
{
    data_target target = TO_NOTHING;
    int number = 1;
    for (const char *at = c->text; *at; number++) {
        const size_t n = strcspn(at, "\n");
        if (!parse_line((pg_str){at, n}, c, &target)) {
            snprintf(c->error, sizeof c->error, "line %d: cannot read \"%.100s\"", number, at);
            return false;
        }
        at += n + (at[n] == '\n');
    }
    allocate_outputs(c);
    return true;
}

bool ptx_case_read(const char *path, ptx_case *c)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 3; i++)
        c->grid[i] = c->block[i] = c->cluster[i] = 1;
    FILE *f = fopen(path, "rb");
    if (!f) {
        snprintf(c->error, sizeof c->error, "cannot open the file");
        return false;
    }
    fseek(f, 0, SEEK_END);
    c->length = (size_t)ftell(f);
    rewind(f);
    c->text = calloc(1, c->length + 1);
    c->length = fread(c->text, 1, c->length, f);
    fclose(f);
    return parse_text(c);
}

void ptx_case_free(ptx_case *c)
{
    for (size_t i = 0; i < c->param_count; i++) {
        free(c->params[i].bytes);
        free(c->params[i].expected);
    }
    free(c->text);
}

ptx_case_param *ptx_case_buffer(ptx_case *c, const char *name)
{
    for (size_t i = 0; i < c->param_count; i++)
        if (!c->params[i].is_map && !strcmp(c->params[i].name, name))
            return &c->params[i];
    return NULL;
}

bool ptx_case_check(const ptx_case *c, char *message, size_t size)
{
    for (size_t i = 0; i < c->param_count; i++) {
        const ptx_case_param *p = &c->params[i];
        for (size_t at = 0; p->expected && at < p->size; at += p->word) {
            uint64_t is = 0, should = 0;
            memcpy(&is, p->bytes + at, p->word);
            memcpy(&should, p->expected + at, p->word);
            if (is == should)
                continue;
            snprintf(message, size, "%s[%zu] is %0*llx, expected %0*llx", p->name, at / p->word,
                     (int)(2 * p->word), (unsigned long long)is, (int)(2 * p->word),
                     (unsigned long long)should);
            return false;
        }
    }
    return true;
}

bool ptx_case_expects(const ptx_case *c, const char *outcome)
{
    char list[sizeof c->report];
    snprintf(list, sizeof list, "%s", c->report);
    char *rest = list;
    for (char *one = strtok_r(rest, "|", &rest); one; one = strtok_r(NULL, "|", &rest)) {
        while (*one == ' ')
            one++;
        const bool error = !strncmp(one, "error: ", 7);
        if (error != !strncmp(outcome, "error: ", 7))
            continue;
        if (strstr(outcome, error ? one + 7 : one))
            return true;
    }
    return false;
}
