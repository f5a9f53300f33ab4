/* Layouts that other frameworks hand over, for each operand of every family: expanded (stride
 * 0), backwards, transposed, sliced out of a wider array, of no rows, of one row. Each call is
 * right, or refused by a sentence that names the operand or the extent, and then nothing is
 * written. A family needs no line here. */
#include "test.h"

#include "draw.h"
#include "families.h"
#include "generate/dtype.h"

static ptxgen *ctx;

enum { MOST_BYTES = 1 << 22 };
typedef enum layout { EXPANDED, BACKWARDS, TRANSPOSED, SLICED, LAYOUTS } layout;
static const char *const names[] = {"expanded", "backwards", "transposed", "sliced"};

static struct {
    int right, refused;
} seen[LAYOUTS + 2];

/* Bits of element `i` of an array whose elements have `bits`. */
static void move_element(char *to, int64_t i, const char *from, int64_t j, int bits)
{
    if (bits >= 8) {
        memcpy(to + i * bits / 8, from + j * bits / 8, (size_t)bits / 8);
        return;
    }
    const int low = (int)(j * bits % 8), at = (int)(i * bits % 8), mask = (1 << bits) - 1;
    const int value = from[j * bits / 8] >> low & mask;
    to[i * bits / 8] = (char)((to[i * bits / 8] & ~(mask << at)) | value << at);
}

/* The operand's values again, at other strides; `first` is how many elements before them its
 * memory begins. */
static void move_operand(drawn *d, size_t i, const int64_t *strides, int64_t first)
{
    ptxgen_tensor *t = &d->tensors[i];
    const int bits = pg_dtype_bits(t->dtype);
    char *memory = aligned_alloc(256, MOST_BYTES), *data;
    int64_t index[PG_MAX_RANK] = {0}, elements = 1;
    memset(memory, 0, MOST_BYTES);
    data = memory + 1024 + first * bits / 8;
    for (int k = 0; k < t->rank; k++)
        elements *= t->shape[k];
    for (int64_t n = 0; n < elements; n++) {
        int64_t from = 0, to = 0;
        for (int k = 0; k < t->rank; k++) {
            from += index[k] * d->strides[i][k];
            to += index[k] * strides[k];
        }
        move_element(memory + 1024, to + first, t->data, from, bits);
        for (int k = t->rank - 1; k >= 0 && ++index[k] == t->shape[k]; k--)
            index[k] = 0;
    }
    free(d->memory[i]);
    d->memory[i] = memory;
    d->bytes[i] = MOST_BYTES;
    t->data = data;
    memcpy(d->strides[i], strides, sizeof d->strides[i]);
}

/* false: the operand has no such layout. */
static bool lay_out(drawn *d, size_t i, layout l)
{
    const ptxgen_tensor *t = &d->tensors[i];
    const int bits = pg_dtype_bits(t->dtype), last = t->rank - 1;
    const int64_t unit = 128 * 8 / bits;
    int64_t strides[PG_MAX_RANK], first = 0;
    memcpy(strides, d->strides[i], sizeof strides);
    switch (l) {
    case EXPANDED:
        strides[0] = 0;
        break;
    case BACKWARDS:
        first = (t->shape[0] - 1) * strides[0];
        strides[0] = -strides[0];
        break;
    case TRANSPOSED:
        if (t->rank != 2 || bits < 8)
            return false;
        strides[last - 1] = 1;
        strides[last] = (t->shape[last - 1] + unit - 1) / unit * unit;
        break;
    default:
        strides[0] += t->rank < 2 ? 1 : unit;
        break;
    }
    move_operand(d, i, strides, first);
    return true;
}

static bool names_it(const drawn *d, size_t i, const char *message)
{
    const pg_operand *row = &d->family->operands.rows[i];
    bool named = strstr(message, row->name);
    for (int k = 0; k < row->rank; k++)
        named |= strstr(message, d->family->operands.symbols[row->extents[k]].name) != NULL;
    return named;
}

/* The call is right or refused by name. */
static void expect_answer(const drawn *d, size_t i, size_t kind)
{
    drawn after;
    ptxgen_call_verdict v = {.size = sizeof v};
    ptxgen_error err = {0};
    const char *operand;
    draw_copy(&after, d);
    const ptxgen_status status =
        ptxgen_call(ctx, d->family->name, d->params, after.tensors, after.count, NULL, &err);
    if (status != PTXGEN_OK) {
        seen[kind].refused++;
        if ((status != PTXGEN_EINVAL && status != PTXGEN_EUNSUPPORTED && status != PTXGEN_EINDEX) ||
            !names_it(d, i, err.message))
            fail_msg("operand %zu of %s: %s %s", i, draw_text(d), ptxgen_status_name(status),
                     err.message);
        for (size_t k = 0; k < d->count; k++)
            if (d->memory[k])
                assert_memory_equal(d->memory[k], after.memory[k], d->bytes[k]);
    } else {
        seen[kind].right++;
        if (ptxgen_check_indices(ctx, NULL, &err) != PTXGEN_OK ||
            ptxgen_call_check(d->family->name, d->params, d->tensors, after.tensors, d->count, &v,
                              &err) != PTXGEN_OK)
            fail_msg("operand %zu of %s: %s", i, draw_text(d), err.message);
        if (v.wrong || !draw_untouched(d, &after, &operand))
            fail_msg("operand %zu of %s: %lld of %lld elements are wrong", i, draw_text(d),
                     (long long)v.wrong, (long long)v.elements);
    }
    draw_free(&after);
}

/* An extent becomes 0 or 1 in all operands that have it; an index then names row 0. */
static void shrink(drawn *d, uint8_t symbol, int64_t extent)
{
    const pg_operand_table *t = &d->family->operands;
    for (size_t i = 0; i < d->count; i++) {
        ptxgen_tensor *x = &d->tensors[i];
        const int missing = t->rows[i].rank - x->rank;
        for (int k = 0; k < x->rank; k++)
            if (t->rows[i].extents[missing + k] == symbol && x->data)
                d->shapes[i][k] = extent;
        if (t->rows[i].indexes == symbol + 1 && x->data)
            memset(x->data, 0, (size_t)x->shape[0] * (size_t)pg_dtype_bits(x->dtype) / 8);
    }
}

static void try_operand(const drawn *d, size_t i)
{
    const pg_operand *row = &d->family->operands.rows[i];
    if (!d->tensors[i].data || row->rank == 0 || row->role == PG_WORKSPACE)
        return;
    for (layout l = 0; l < LAYOUTS; l++) {
        drawn x;
        draw_copy(&x, d);
        if (lay_out(&x, i, l))
            expect_answer(&x, i, l);
        draw_free(&x);
    }
    for (int64_t extent = 0; extent <= 1; extent++)
        for (int k = 0; k < row->rank; k++) {
            drawn x;
            draw_copy(&x, d);
            shrink(&x, row->extents[k], extent);
            expect_answer(&x, i, LAYOUTS + (size_t)extent);
            draw_free(&x);
        }
}

static void each_layout_is_right_or_refused(void **state)
{
    (void)state;
    for (size_t f = 0; family_at(f); f++) {
        const pg_family *family = family_at(f);
        drawn d;
        if (family_is_helper(family))
            continue;
        if (!draw_served(ctx, family, &d))
            fail_msg("%s: no drawn problem is served", family->name);
        for (size_t i = 0; i < d.count; i++)
            try_operand(&d, i);
        draw_free(&d);
    }
    for (size_t k = 0; k < LAYOUTS + 2; k++)
        printf("%-10s %3d right, %3d refused\n",
               k < LAYOUTS    ? names[k]
               : k == LAYOUTS ? "empty"
                              : "one row",
               seen[k].right, seen[k].refused);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = "", .device = PTXGEN_DEVICE_EMULATOR};
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_layout_is_right_or_refused)};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
