/* Every rule of every family's operand table, broken once: each is refused with the status of
 * its kind and a sentence that names the operand, and nothing is written. A family needs no line
 * here. */
#include "test.h"

#include "draw.h"
#include "families.h"
#include "generate/dtype.h"
#include "ptxgen/matmul.h"

static ptxgen *ctx;

/* A problem that the family serves, of which one thing is changed. */
typedef struct victim {
    drawn before, d;
    size_t i; /* the operand */
    const pg_operand *row;
} victim;

static void make(victim *v, const drawn *d, size_t i)
{
    v->i = i;
    v->row = &d->family->operands.rows[i];
    draw_copy(&v->before, d);
    draw_copy(&v->d, d);
}

static void refused(victim *v, const char *params, ptxgen_status status, const char *words)
{
    ptxgen_error err = {0};
    const ptxgen_status got =
        ptxgen_call(ctx, v->d.family->name, params, v->d.tensors, v->d.count, NULL, &err);
    if (got != status || !strstr(err.message, words) ||
        (params[0] == 0 && !strstr(err.message, v->row->name)))
        fail_msg("%s of %s: %s \"%s\", wanted %s and \"%s\"", v->row->name, draw_text(&v->d),
                 ptxgen_status_name(got), err.message, ptxgen_status_name(status), words);
    for (size_t i = 0; i < v->d.count; i++)
        if (v->d.memory[i])
            assert_memory_equal(v->d.memory[i], v->before.memory[i], v->d.bytes[i]);
    draw_free(&v->before);
    draw_free(&v->d);
}

/* Breaks one rule of operand i of a fresh copy. */
#define REFUSED(change, status, words)                                                             \
    do {                                                                                           \
        victim v;                                                                                  \
        make(&v, d, i);                                                                            \
        ptxgen_tensor *t = &v.d.tensors[i];                                                        \
        int64_t *shape = v.d.shapes[i], *strides = v.d.strides[i];                                 \
        (void)t, (void)shape, (void)strides;                                                       \
        change;                                                                                    \
        refused(&v, "", status, words);                                                            \
    } while (0)

static bool takes(const pg_operand *row, ptxgen_dtype dtype)
{
    for (size_t k = 0; row->dtypes[k]; k++)
        if (row->dtypes[k] == dtype)
            return true;
    return false;
}

static void break_types(const drawn *d, size_t i)
{
    const pg_operand *row = &d->family->operands.rows[i];
    if (!row->optional)
        REFUSED(*t = (ptxgen_tensor){0}, PTXGEN_EINVAL, "is missing");
    REFUSED(t->data = NULL, PTXGEN_EINVAL, "is NULL");
    REFUSED(t->dtype = (ptxgen_dtype)99, PTXGEN_EINVAL, "which is none: use ");
    for (ptxgen_dtype other = PTXGEN_F32; pg_dtype_bits(other); other++)
        if (!takes(row, other))
            REFUSED(t->dtype = other, PTXGEN_EUNSUPPORTED, "use ");
        else if (row->same_dtype_as && other != d->tensors[i].dtype)
            REFUSED(t->dtype = other, PTXGEN_EINVAL, "must hold the same");
}

static bool is_shared(const drawn *d, size_t i, int k)
{
    const pg_operand *rows = d->family->operands.rows;
    for (size_t j = 0; j < d->count; j++)
        for (int l = 0; l < rows[j].rank; l++)
            if (j != i && !rows[j].optional && rows[j].extents[l] == rows[i].extents[k])
                return true;
    return false;
}

static void break_shape(const drawn *d, size_t i)
{
    const pg_operand *row = &d->family->operands.rows[i];
    REFUSED(t->rank = row->rank + 1, PTXGEN_EINVAL, "dimension");
    REFUSED(t->rank = row->rank - row->leading - 1, PTXGEN_EINVAL, "dimension");
    if (row->rank)
        REFUSED(t->shape = NULL, PTXGEN_EINVAL, "no shape");
    for (int k = 0; k < row->rank; k++) {
        const pg_symbol *symbol = &d->family->operands.symbols[row->extents[k]];
        REFUSED(shape[k] = -1, PTXGEN_EINVAL, "negative");
        if (is_shared(d, i, k))
            REFUSED(shape[k] += 1, PTXGEN_EINVAL, "must be equal");
        else if (symbol->max < INT64_MAX) {
            victim v;
            make(&v, d, i);
            v.d.shapes[i][k] = symbol->max + 1;
            refused(&v, " ", PTXGEN_EUNSUPPORTED, "out of range");
        }
    }
}

/* An extent that no memory holds; all operands that share it agree. */
static void break_size(const drawn *d, size_t i, int k, int64_t huge)
{
    const pg_operand *rows = d->family->operands.rows;
    const uint8_t symbol = rows[i].extents[k];
    const bool bounded = d->family->operands.symbols[symbol].max < huge;
    victim v;
    make(&v, d, i);
    for (size_t j = 0; j < d->count; j++)
        for (int m = 0; m < d->tensors[j].rank; m++) {
            if (rows[j].extents[m] != symbol || d->shapes[j][m] != d->shapes[i][k])
                continue;
            v.d.shapes[j][m] = huge;
            for (int outer = 0; outer < m; outer++)
                if (d->shapes[j][outer] > 1)
                    v.d.strides[j][outer] = huge;
        }
    refused(&v, " ", bounded ? PTXGEN_EUNSUPPORTED : PTXGEN_EINVAL,
            bounded ? "out of range" : "addressed");
}

static void break_sizes(const drawn *d, size_t i)
{
    static const int64_t huge[] = {INT64_C(1) << 50, INT64_C(1) << 62};
    for (int k = 0; k < d->family->operands.rows[i].rank; k++)
        for (size_t h = 0; h < sizeof huge / sizeof *huge; h++)
            break_size(d, i, k, huge[h]);
}

static void break_rows(const drawn *d, size_t i)
{
    const pg_operand *row = &d->family->operands.rows[i];
    const int last = row->rank - 1, bits = pg_dtype_bits(d->tensors[i].dtype);
    if (row->rank == 0 || (!row->row_multiple && bits >= 8) || 8 * row->row_multiple <= bits)
        return;
    victim v; /* all operands that share the extent agree */
    make(&v, d, i);
    for (size_t j = 0; j < d->count; j++)
        for (int k = 0; k < d->tensors[j].rank; k++)
            if (d->family->operands.rows[j].extents[k] == row->extents[last])
                v.d.shapes[j][k] += 1;
    refused(&v, " ", PTXGEN_EUNSUPPORTED, "pad the rows");
}

static int64_t to_overlap(const drawn *d, size_t i)
{
    return d->strides[i][0] - (d->family->operands.rows[i].alignment
                                   ? 16 * 8 / pg_dtype_bits(d->tensors[i].dtype)
                                   : 1);
}

static void break_strides(const drawn *d, size_t i)
{
    const pg_operand *row = &d->family->operands.rows[i];
    const int bits = pg_dtype_bits(d->tensors[i].dtype), last = row->rank - 1;
    if (row->rank == 0)
        return;
    if (row->inner == PG_INNER_LAST && d->shapes[i][last] > 1) {
        REFUSED(strides[last] = 2, PTXGEN_EUNSUPPORTED, "inner stride 2");
        REFUSED(strides[last] = -1, PTXGEN_EUNSUPPORTED, "inner stride -1");
        if (!row->spread)
            REFUSED(strides[last] = 0, PTXGEN_EUNSUPPORTED, "inner stride 0");
    }
    if (row->rank < 2)
        return;
    REFUSED(strides[0] = -strides[0], PTXGEN_EUNSUPPORTED, "go backwards");
    const int first = pg_operand_is_written(row) ? 0 : row->leading; /* that must step */
    if (!row->broadcast && !row->spread)
        REFUSED(strides[first] = 0, PTXGEN_EUNSUPPORTED, "broadcast");
    if (to_overlap(d, i) > 0)
        REFUSED(strides[0] = to_overlap(d, i), PTXGEN_EINVAL, "rows would overlap");
    REFUSED(strides[0] = INT64_MAX / bits / 128 * 128, PTXGEN_EINVAL, "addressed");
    if (8 * row->alignment > bits)
        REFUSED(strides[0] += bits < 8 ? 8 / bits : 1, PTXGEN_EUNSUPPORTED, "pad the rows");
}

/* Bytes from the operand's first to its last. */
static int64_t span_of(const drawn *d, size_t i)
{
    int64_t last = 0;
    for (int k = 0; k < d->tensors[i].rank; k++)
        last += (d->shapes[i][k] - 1) * d->strides[i][k];
    return (last + 1) * pg_dtype_bits(d->tensors[i].dtype) / 8;
}

static void break_place(const drawn *d, size_t i)
{
    enum { STEP = 128 };
    const pg_operand *rows = d->family->operands.rows, *row = &rows[i];
    const int bytes = row->alignment ? row->alignment : pg_dtype_bits(d->tensors[i].dtype) / 8;
    if (row->role == PG_SCALAR)
        return;
    if (bytes > 1)
        REFUSED(t->data = (char *)t->data + bytes / 2, PTXGEN_EUNSUPPORTED, "aligned");
    for (size_t j = 0; j < d->count; j++) {
        if (j == i || !pg_operand_is_written(&rows[i]) || rows[j].role == PG_SCALAR ||
            rows[j].role == PG_WORKSPACE || !d->memory[j])
            continue; /* the workspace is larger than what lies between the others */
        /* The smaller one moves: the larger one may lie over a third, which is named first. */
        const int64_t room = span_of(d, i);
        if (span_of(d, j) > room) {
            if (rows[i].same_as != j + 1 && (uintptr_t)d->tensors[j].data % (uintptr_t)bytes == 0)
                REFUSED(t->data = v.d.tensors[j].data, PTXGEN_EUNSUPPORTED, "overlap");
            continue;
        }
        if (row->rank && room > STEP)
            REFUSED(v.d.tensors[j].data = (char *)t->data + STEP, PTXGEN_EUNSUPPORTED, "overlap");
        if (rows[i].same_as != j + 1)
            REFUSED(v.d.tensors[j].data = t->data, PTXGEN_EUNSUPPORTED, "overlap");
    }
}

/* Parameters that contradict the operands. */
static void break_params(const drawn *d)
{
    const pg_param_table *t = &d->family->params;
    char operands_say[1024], word[64];
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_call_params(ctx, d->family->name, "", d->tensors, d->count,
                                        operands_say, sizeof operands_say, &err),
                     PTXGEN_OK);
    for (size_t i = 0; i < t->count; i++) {
        const pg_param *p = &t->rows[i];
        if (!p->from)
            continue;
        for (int k = 0; k < 8 && (p->kind != PG_PARAM_CHOICE || p->choices[k]); k++) {
            if (p->kind == PG_PARAM_CHOICE)
                snprintf(word, sizeof word, "%s=%s", p->name, p->choices[k]);
            else
                snprintf(word, sizeof word, "%s=%lld", p->name, (long long)(p->min + 1001 + k));
            const size_t n = strlen(word);
            const char *said = strstr(operands_say, word);
            victim v;
            make(&v, d, 0);
            if ((said && (said[n] == ' ' || said[n] == 0)) || (p->zero_serves && k == 0) ||
                p->less_serves) {
                draw_free(&v.before);
                draw_free(&v.d);
                continue;
            }
            refused(&v, word, PTXGEN_EINVAL, "is given, but the operands say");
        }
    }
}

static void too_many(const drawn *d)
{
    ptxgen_tensor more[PG_MAX_OPERANDS + 1] = {0};
    ptxgen_error err = {0};
    memcpy(more, d->tensors, d->count * sizeof *more);
    assert_int_equal(ptxgen_call(ctx, d->family->name, "", more, d->count + 1, NULL, &err),
                     PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "operands"));
    assert_int_equal(ptxgen_call(ctx, d->family->name, "", NULL, 1, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_call(ctx, d->family->name, "", NULL, 0, NULL, &err), PTXGEN_EINVAL);
}

/* Rows that an index names, when there are none. */
static void no_rows(const drawn *d)
{
    const pg_operand_table *t = &d->family->operands;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->rows[i].indexes)
            continue;
        victim v;
        make(&v, d, i);
        for (size_t j = 0; j < t->count; j++)
            for (int k = 0; k < t->rows[j].rank; k++)
                if (t->rows[j].extents[k] + 1 == t->rows[i].indexes)
                    v.d.shapes[j][k] = 0;
        refused(&v, "", PTXGEN_EINDEX, "out of range");
    }
}

static void every_rule_is_kept(void **state)
{
    (void)state;
    for (size_t f = 0; family_at(f); f++) {
        drawn d;
        if (family_is_helper(family_at(f)))
            continue;
        if (!draw_served(ctx, family_at(f), &d))
            fail_msg("%s: no plain problem is served", family_at(f)->name);
        for (size_t i = 0; i < d.count; i++) {
            if (!d.tensors[i].data)
                continue;
            break_types(&d, i);
            break_shape(&d, i);
            break_sizes(&d, i);
            break_rows(&d, i);
            break_strides(&d, i);
            break_place(&d, i);
        }
        break_params(&d);
        too_many(&d);
        no_rows(&d);
        draw_free(&d);
    }
}

/* Typed calls with a kernel of another family, also when there is nothing to do. */
static void a_foreign_kernel_is_refused(void **state)
{
    (void)state;
    const ptxgen_scatter_add_args scatter = {.size = sizeof scatter, .dtype = PTXGEN_F32};
    const ptxgen_tcgen05_copy_args copy = {
        .size = sizeof copy, .dtype = PTXGEN_F32, .m = 128, .n = 16};
    const ptxgen_matmul_accumulate_args accumulate = {.size = sizeof accumulate,
                                                      .dtype = PTXGEN_F16};
    const ptxgen_matmul_scaled_args scaled = {.size = sizeof scaled, .out = PTXGEN_F32, .k = 32};
    for (size_t f = 0; family_at(f); f++) {
        const char *name = family_at(f)->name;
        ptxgen_kernel *k;
        ptxgen_error err[4] = {{0}};
        assert_int_equal(ptxgen_emit(ctx, name, "", &k, &err[0]), PTXGEN_OK);
        ptxgen_scatter_add_launch(k, &scatter, NULL, &err[0]);
        ptxgen_tcgen05_copy_launch(k, &copy, NULL, &err[1]);
        ptxgen_matmul_accumulate_launch(k, &accumulate, NULL, &err[2]);
        ptxgen_matmul_scaled_launch(k, &scaled, NULL, &err[3]);
        static const char *const typed[] = {"scatter_add", "tcgen05_copy", "matmul_accumulate",
                                            "matmul_scaled"};
        for (int t = 0; t < 4; t++) {
            if (strcmp(name, typed[t]) == 0)
                continue;
            assert_int_equal(err[t].status, PTXGEN_EINVAL);
            assert_non_null(strstr(err[t].message, "the kernel is of family"));
        }
        ptxgen_kernel_unref(k);
    }
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_is_kept),
        cmocka_unit_test(a_foreign_kernel_is_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
