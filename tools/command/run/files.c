/* From the words of the command line to operands. */
#include "command/run/family.h"
#include "ptxgen/matmul.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

const char *run_word(const run_job *j, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = j->words; p && *p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            static char value[128];
            snprintf(value, sizeof value, "%.*s", (int)strcspn(p + n + 1, " "), p + n + 1);
            return value;
        }
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

void run_add_word(run_job *j, const char *name, const char *value)
{
    char *longer = cli_format("%s%s%s=%s", j->words, j->words[0] ? " " : "", name, value);
    free(j->words);
    j->words = longer;
}

run_operand *run_operand_named(run_job *j, const char *name)
{
    for (size_t i = 0; i < j->count; i++)
        if (strcmp(j->operands[i].info.name, name) == 0)
            return &j->operands[i];
    return NULL;
}

/* It has no file: -o writes it, or the command makes it. */
static bool has_no_file(const run_operand *o)
{
    return (o->info.role == PTXGEN_ROLE_OUT && !o->info.optional) ||
           o->info.role == PTXGEN_ROLE_WORKSPACE;
}

/* The operand whose file a word names, with the word's value; NULL: it is a parameter. */
static run_operand *file_of(run_job *j, const char *word, const char **value, bool *transposed)
{
    for (size_t i = 0; i < j->count; i++) {
        run_operand *o = &j->operands[i];
        const size_t n = strlen(o->info.name);
        if (strncmp(word, o->info.name, n) != 0)
            continue;
        *transposed = o->info.transposable && word[n] == 't' && word[n + 1] == '=';
        *value = word + n + 1 + *transposed;
        if (word[n] == '=' || *transposed)
            return o;
    }
    return NULL;
}

/* A parameter of the same name as an operand: "index=i32" where index=FILE.npy is meant. */
static bool is_word_of(const run_job *j, const char *name, const char *value)
{
    ptxgen_param_info p;
    for (size_t i = 0; ptxgen_family_param(j->place, i, &p); i++)
        for (size_t c = 0; strcmp(p.name, name) == 0 && p.choices && p.choices[c]; c++)
            if (strcmp(p.choices[c], value) == 0)
                return true;
    return false;
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && *end == '\0';
}

/* "a.npy:bf16" is the file a.npy, of a type that the operand may have; the name is owned. */
static char *split_type(const run_operand *o, const char *value, ptxgen_dtype *type)
{
    const char *colon = strrchr(value, ':');
    char *file = cli_format("%s", value);
    for (size_t k = 0; colon && o->info.dtypes[k]; k++)
        if (strcmp(colon + 1, ptxgen_dtype_name(o->info.dtypes[k])) == 0) {
            *type = o->info.dtypes[k];
            file[colon - value] = '\0';
        }
    return file;
}

/* A result that may be left out goes to the file; "aux.npy:bf16" says its type. */
static ptxgen_status take_destination(run_operand *o, const char *value, ptxgen_error *err)
{
    const ptxgen_operand_info *info = &o->info;
    if (o->to)
        return cli_fail(err, PTXGEN_EINVAL, "%s= is given twice", info->name);
    o->to = split_type(o, value, &o->dtype);
    const char *colon = strrchr(o->to, ':');
    if (colon && npy_type_of_word(colon + 1))
        return cli_fail(err, PTXGEN_EUNSUPPORTED, "%s=%s: %s cannot hold %s; leave :%s out",
                        info->name, value, info->name, colon + 1, colon + 1);
    return o->to[0] ? PTXGEN_OK
                    : cli_fail(err, PTXGEN_EINVAL, "%s= names no file; write %s=FILE.npy",
                               info->name, info->name);
}

static ptxgen_status refuse_file(const run_operand *o, ptxgen_error *err)
{
    return cli_fail(err, PTXGEN_EINVAL,
                    o->info.role == PTXGEN_ROLE_WORKSPACE
                        ? "%s is memory that the command makes as it is needed: leave %s= out"
                        : "%s is the result: -o FILE.npy writes it, leave %s= out",
                    o->info.name, o->info.name);
}

static ptxgen_status take_file(run_job *j, run_operand *o, const char *value, bool transposed,
                               ptxgen_error *err)
{
    const char *name = o->info.name;
    if (has_no_file(o))
        return refuse_file(o, err);
    if (o->info.role == PTXGEN_ROLE_OUT)
        return take_destination(o, value, err);
    if (is_word_of(j, name, value))
        return cli_fail(
            err, PTXGEN_EINVAL,
            "%s= names the file here, and the %s type is the file's: leave %s=%s out%s%s%s", name,
            name, name, value,
            o->info.transposable ? " (a file that holds it transposed is named " : "",
            o->info.transposable ? name : "", o->info.transposable ? "t=)" : "");
    if (o->path && o->transposed != transposed)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s= and %st= are two ways to give the same matrix; leave one out", name,
                        name);
    if (o->path || o->number)
        return cli_fail(err, PTXGEN_EINVAL, "%s= is given twice", name);
    if (o->info.role == PTXGEN_ROLE_SCALAR && is_number(value)) {
        o->number = value;
        return PTXGEN_OK;
    }
    if (o->info.role == PTXGEN_ROLE_SCALAR && !strstr(value, ".npy") && strcmp(value, "-") != 0)
        return cli_fail(err, PTXGEN_EINVAL, "%s=%s: write a number, or a .npy file that holds one",
                        name, value);
    if (value[0] == '\0')
        return cli_fail(err, PTXGEN_EINVAL, "%s= names no file; write %s=FILE.npy", name, name);
    for (size_t i = 0; i < j->count; i++)
        if (strcmp(value, "-") == 0 && j->operands[i].path && strcmp(j->operands[i].path, "-") == 0)
            return cli_fail(err, PTXGEN_EINVAL, "only one of %s and %s can be standard input",
                            j->operands[i].info.name, name);
    o->path = split_type(o, value, &o->named);
    o->transposed = transposed;
    if (o->info.role == PTXGEN_ROLE_INOUT && o->info.optional) /* changed in place */
        o->to = cli_format("%s", o->path);
    return PTXGEN_OK;
}

static ptxgen_status need_files(const run_job *j, ptxgen_error *err)
{
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *o = &j->operands[i];
        if (o->path || o->number || o->to || o->info.optional || o->info.zero_if_absent ||
            has_no_file(o))
            continue;
        return cli_fail(err, PTXGEN_EINVAL, "%s=FILE.npy is missing%s%s%s: %s", o->info.name,
                        o->info.transposable ? " (or " : "",
                        o->info.transposable ? o->info.name : "",
                        o->info.transposable ? "t=FILE.npy)" : "", o->info.doc);
    }
    return PTXGEN_OK;
}

/* "d=bf16" is the element type of a result; NULL: the word is a parameter as it is. */
static char *result_type(const run_job *j, const char *word)
{
    for (size_t i = 0; i < j->count; i++) {
        const ptxgen_operand_info *o = &j->operands[i].info;
        const size_t n = strlen(o->name);
        if (o->role == PTXGEN_ROLE_OUT && o->dtype_param[0] && strncmp(word, o->name, n) == 0 &&
            word[n] == '=' && strcmp(o->dtype_param, o->name) != 0 && !strchr(word, '.'))
            return cli_format("%s%s", o->dtype_param, word + n);
    }
    return NULL;
}

/* The operand whose name a word nearly has, where it is no parameter's; NULL: none. */
static run_operand *meant(run_job *j, const char *word)
{
    const char *names[RUN_MAX_OPERANDS];
    char *name = cli_format("%.*s", (int)strcspn(word, "="), word);
    ptxgen_param_info p;
    bool known = strlen(name) < 3 || !strchr(word, '=');
    for (size_t i = 0; !known && ptxgen_family_param(j->place, i, &p); i++)
        known = strcmp(p.name, name) == 0 || cli_nearest(name, (const char *[]){p.name}, 1);
    for (size_t i = 0; i < j->count; i++)
        names[i] = j->operands[i].info.name;
    const char *near = known ? NULL : cli_nearest(name, names, j->count);
    free(name);
    return near ? run_operand_named(j, near) : NULL;
}

/* Files leave the words; what is left are the kernel's parameters. */
static ptxgen_status split_words(run_job *j, ptxgen_error *err)
{
    cli_args rest = {.words = cli_calloc(j->args->count + 1, sizeof(char *))};
    ptxgen_status status = PTXGEN_OK;
    char *types[RUN_MAX_OPERANDS];
    size_t type_count = 0;
    for (size_t w = 1; w < j->args->count && status == PTXGEN_OK; w++) {
        char *word = j->args->words[w];
        char *type = type_count < RUN_MAX_OPERANDS ? result_type(j, word) : NULL;
        if (type)
            word = types[type_count++] = type;
        const char *value;
        bool transposed;
        run_operand *o = file_of(j, word, &value, &transposed);
        if (o)
            status = take_file(j, o, value, transposed, err);
        else if ((o = meant(j, word)))
            status = cli_fail(err, PTXGEN_EINVAL,
                              "there is no parameter or file \"%.*s\"; did you "
                              "mean %s?",
                              (int)strcspn(word, "="), word, o->info.name);
        else
            rest.words[rest.count++] = word;
    }
    if (status == PTXGEN_OK)
        status = cli_params(&rest, 0, &j->words, err);
    if (status == PTXGEN_OK)
        status = need_files(j, err);
    for (size_t i = 0; i < type_count; i++)
        free(types[i]);
    free(rest.words);
    return status;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static bool takes(const run_operand *o, ptxgen_dtype dtype)
{
    for (size_t i = 0; o->info.dtypes[i]; i++)
        if (o->info.dtypes[i] == dtype)
            return true;
    return false;
}

/* "f32, f16 or bf16" */
static const char *list_types(const ptxgen_dtype *list, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; list[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0        ? ""
                                 : list[i + 1] ? ", "
                                               : " or ",
                                 ptxgen_dtype_name(list[i]));
    return text;
}

/* The type that the user names for a file's bits: FILE.npy:e4m3, or dtype=e4m3 of a file of bare
 * bits, if the operand takes it; else PTXGEN_DTYPE_NONE. */
static ptxgen_dtype named_type(const run_job *j, const run_operand *o)
{
    const char *word = run_word(j, "dtype");
    const bool bare = o->array.header.type == PTXGEN_U16 || o->array.header.type == PTXGEN_U8;
    for (size_t k = 0; !o->named && bare && word && o->info.dtypes[k]; k++) {
        const ptxgen_dtype type = o->info.dtypes[k];
        if (type != PTXGEN_F16 && strcmp(word, ptxgen_dtype_name(type)) == 0 &&
            (size_t)ptxgen_dtype_bits(type) == 8 * o->array.header.elem_bytes)
            return type;
    }
    return o->named;
}

/* The first 8-bit float that an operand takes; PTXGEN_DTYPE_NONE: it takes none. */
static ptxgen_dtype byte_float(const run_operand *o)
{
    for (size_t k = 0; o->info.dtypes[k]; k++)
        if (o->info.dtypes[k] == PTXGEN_E4M3 || o->info.dtypes[k] == PTXGEN_E5M2)
            return o->info.dtypes[k];
    return PTXGEN_DTYPE_NONE;
}

static ptxgen_status fail_type(const run_operand *o, ptxgen_error *err)
{
    const npy_header *h = &o->array.header;
    const ptxgen_dtype bytes = h->type == PTXGEN_U8 ? byte_float(o) : PTXGEN_DTYPE_NONE;
    char list[160];
    list_types(o->info.dtypes, list, sizeof list);
    if (bytes)
        return cli_fail(err, PTXGEN_EUNSUPPORTED,
                        "%s: %s holds '%s', bytes that do not say what they are; it takes %s. "
                        "Name the type: %s=%s:%s",
                        o->path, o->info.name, h->descr, list, o->info.name, o->path,
                        ptxgen_dtype_name(bytes));
    return cli_fail(err, PTXGEN_EUNSUPPORTED,
                    "%s: %s holds '%s'; it takes %s. Convert with a.astype(numpy.%s)", o->path,
                    o->info.name, h->descr, list, npy_type_name(o->info.dtypes[0]));
}

static ptxgen_status find_type(const run_job *j, run_operand *o, ptxgen_error *err)
{
    const npy_header *h = &o->array.header;
    const ptxgen_dtype named = named_type(j, o);
    const bool bare = h->type == PTXGEN_U16 || h->type == PTXGEN_U8;
    if (named && named != h->type &&
        !(bare && (size_t)ptxgen_dtype_bits(named) == 8 * h->elem_bytes))
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s: the file holds '%s', which is no %s: leave :%s out", o->path, h->descr,
                        ptxgen_dtype_name(named), ptxgen_dtype_name(named));
    o->dtype = named ? named : h->type;
    if (takes(o, o->dtype))
        return PTXGEN_OK;
    if (h->type == PTXGEN_U16 && takes(o, PTXGEN_BF16))
        return npy_fail_bare_words(o->path, h, run_word(j, "dtype"), err);
    return fail_type(o, err);
}

static ptxgen_status check_rank(const run_operand *o, ptxgen_error *err)
{
    char shape[128], extents[128], all[160] = "";
    const npy_header *h = &o->array.header;
    size_t used = 0;
    if (o->info.rank == 0 && h->count == 1)
        return PTXGEN_OK; /* one number, however it was saved */
    if (h->rank <= o->info.rank && h->rank >= o->info.rank - o->info.leading)
        return PTXGEN_OK;
    extents[0] = '\0';
    const int least = o->info.spread ? 0 : o->info.leading;
    for (int d = least; d < o->info.rank && used < sizeof extents; d++)
        used += (size_t)snprintf(extents + used, sizeof extents - used, "%s%s",
                                 d > least ? ", " : "", o->info.extents[d]);
    if (least)
        snprintf(all, sizeof all, ", or %s in front of them", o->info.extents[0]);
    return cli_fail(err, PTXGEN_EINVAL, "%s: %s has shape %s; it must have %d dimension%s, (%s)%s",
                    o->path, o->info.name, npy_shape_text(h, shape, sizeof shape),
                    o->info.rank - least, o->info.rank - least == 1 ? "" : "s", extents, all);
}

/* The shape of a call's operand from the file's, and strides of its elements in the file. */
static void take_shape(run_operand *o)
{
    const npy_header *h = &o->array.header;
    int64_t dense = 1;
    o->rank = o->info.rank == 0 ? 0 : h->rank;
    for (int d = o->rank - 1; d >= 0; d--) {
        o->shape[d] = h->shape[d];
        o->host_strides[d] = dense;
        dense *= h->shape[d];
    }
    if (!o->transposed)
        return;
    int64_t *shape = o->shape + o->rank - 2, *strides = o->host_strides + o->rank - 2;
    const int64_t n = shape[0], stride = strides[0];
    shape[0] = shape[1];
    strides[0] = strides[1];
    shape[1] = n;
    strides[1] = stride;
}

/* A file as it is becomes an operand. */
static ptxgen_status take_array(run_job *j, run_operand *o, ptxgen_error *err)
{
    ptxgen_status status = check_rank(o, err);
    if (status == PTXGEN_OK)
        status = find_type(j, o, err);
    if (status == PTXGEN_OK)
        take_shape(o);
    o->present = status == PTXGEN_OK;
    return status;
}

/* ---- what no file gives ---------------------------------------------------------------------- */

/* The extent that other operands say; 0 when none does. */
static int64_t extent_of(const run_job *j, const char *name)
{
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *o = &j->operands[i];
        for (int d = 0; o->present && d < o->rank; d++)
            if (strcmp(o->info.extents[o->info.rank - o->rank + d], name) == 0)
                return o->shape[d];
    }
    return -1;
}

/* As another operand's, as the parameter says, or the first that it may be. */
static ptxgen_dtype type_of(const run_job *j, size_t i)
{
    const run_operand *o = &j->operands[i];
    if (o->info.like >= 0 && j->operands[o->info.like].present)
        return j->operands[o->info.like].dtype;
    for (size_t k = 0; k < j->count; k++)
        if (j->operands[k].info.like == (int)i && j->operands[k].present)
            return j->operands[k].dtype;
    const char *word = o->info.dtype_param[0] ? run_word(j, o->info.dtype_param) : NULL;
    if (o->to && o->dtype)
        return o->dtype;
    for (size_t k = 0; word && o->info.dtypes[k]; k++)
        if (strcmp(ptxgen_dtype_name(o->info.dtypes[k]), word) == 0)
            return o->info.dtypes[k];
    return o->info.dtypes[0];
}

static bool is_halved(const run_job *j, const char *param)
{
    const char *word = param[0] ? run_word(j, param) : NULL;
    return word && strcmp(word, "no") != 0;
}

/* Bytes of packed scales of the blocks of d, a matrix of m rows and n columns. */
static int64_t scale_bytes(const run_job *j, ptxgen_dtype scales)
{
    const int64_t block = scales == PTXGEN_E4M3 ? 16 : 32;
    const int64_t columns = extent_of(j, "n") / (is_halved(j, "gate") ? 2 : 1);
    return ptxgen_packed_scales_bytes(extent_of(j, "m"), (columns + block - 1) / block);
}

/* Where another operand says which rows count, a result has the leading dimensions that an input
 * of as many rows has. */
static bool rows_follow(const run_job *j, const run_operand *o)
{
    if (o->info.rows_by < 0 || !j->operands[o->info.rows_by].present)
        return false;
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *in = &j->operands[i];
        if (in->present && in->info.rank == o->info.rank && !in->info.spread &&
            strcmp(in->info.extents[o->info.leading], o->info.extents[o->info.leading]) == 0)
            return in->rank < in->info.rank;
    }
    return false;
}

/* Zeros, and results. Leading dimensions are there when another operand has them. */
static ptxgen_status make(run_job *j, size_t i, ptxgen_error *err)
{
    run_operand *o = &j->operands[i];
    int64_t shape[PTXGEN_OPERAND_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < o->info.rank; d++) {
        const int64_t extent = extent_of(j, o->info.extents[d]);
        if (d < o->info.leading && rows_follow(j, o))
            continue;
        if (extent >= 0)
            shape[rank++] = extent;
        else if (d >= o->info.leading)
            shape[rank++] = 0;
    }
    if (is_halved(j, o->info.halved_by))
        shape[rank - 1] /= 2;
    o->dtype = type_of(j, i);
    if (strcmp(o->info.name, "d_scales") == 0)
        shape[0] = scale_bytes(j, o->dtype);
    const ptxgen_status status = npy_create(o->dtype, rank, shape, &o->array, err);
    if (status == PTXGEN_OK)
        take_shape(o);
    o->present = status == PTXGEN_OK;
    return status;
}

/* "0.5" as an array of no dimension, of the widest type that the operand takes. */
static ptxgen_status take_number(run_operand *o, ptxgen_error *err)
{
    const double value = strtod(o->number, NULL);
    const float single = (float)value;
    const int64_t whole = (int64_t)value;
    const int32_t word = (int32_t)value;
    o->dtype = o->info.dtypes[0];
    if (takes(o, PTXGEN_F64))
        o->dtype = PTXGEN_F64;
    const bool floats = o->dtype == PTXGEN_F64 || o->dtype == PTXGEN_F32;
    if (!floats && (double)whole != value)
        return cli_fail(err, PTXGEN_EINVAL, "%s=%s: it must be a whole number", o->info.name,
                        o->number);
    const ptxgen_status status = npy_create(o->dtype, 0, NULL, &o->array, err);
    if (status != PTXGEN_OK)
        return status;
    const void *bytes = o->dtype == PTXGEN_F64   ? (const void *)&value
                        : o->dtype == PTXGEN_F32 ? (const void *)&single
                        : o->dtype == PTXGEN_S64 ? (const void *)&whole
                                                 : (const void *)&word;
    memcpy(o->array.data, bytes, o->array.header.data_bytes);
    take_shape(o);
    o->present = true;
    return PTXGEN_OK;
}

ptxgen_status run_take_files(run_job *j, ptxgen_error *err)
{
    const run_adapter adapt = run_adapter_of(j->family);
    ptxgen_status status = split_words(j, err);
    for (size_t i = 0; i < j->count && status == PTXGEN_OK; i++)
        if (j->operands[i].path)
            status = npy_load(j->operands[i].path, &j->operands[i].array, err);
    for (size_t i = 0; i < j->count && status == PTXGEN_OK; i++)
        if (j->operands[i].number)
            status = take_number(&j->operands[i], err);
    if (status == PTXGEN_OK && adapt)
        status = adapt(j, err);
    for (size_t i = 0; i < j->count && status == PTXGEN_OK; i++)
        if (j->operands[i].path && !j->operands[i].present)
            status = take_array(j, &j->operands[i], err);
    j->result = j->count;
    for (size_t i = 0; i < j->count && status == PTXGEN_OK; i++) {
        run_operand *o = &j->operands[i];
        const bool written = run_is_result(o);
        if (!o->present && (o->to || o->info.zero_if_absent || (written && !o->info.optional)))
            status = make(j, i, err);
        if (written && j->result == j->count)
            j->result = i;
    }
    return status;
}
