/* From operands to the key's parameters that follow from them, and whether a kernel serves
 * operands. */
#include "generate/family.h"
#include "generate/operands/problem.h"

#include <stdio.h>
#include <string.h>

static int64_t *field(const pg_param *row, void *key)
{
    return (int64_t *)((char *)key + row->offset);
}

static int64_t value(const pg_param *row, const void *key)
{
    return *(const int64_t *)((const char *)key + row->offset);
}

/* The place of an operand's element type in its list, which is the parameter's list of words. */
static int64_t dtype_place(const pg_problem *p, size_t operand)
{
    const ptxgen_dtype *list = p->table->rows[operand].dtypes;
    int64_t place = 0;
    while (list[place] && list[place] != p->operand[operand].dtype)
        place++;
    return place;
}

/* What the operands say a parameter is; `hooked` is the key that the family's hook filled. */
static int64_t bound_value(const pg_problem *p, const pg_param *row, const void *hooked)
{
    switch (row->from) {
    case PG_FROM_DTYPE:
        return dtype_place(p, row->source);
    case PG_FROM_SYMBOL:
        return p->symbol[row->source];
    default:
        return value(row, hooked);
    }
}

static bool suits(const pg_param *row, int64_t have, int64_t bound)
{
    return have == bound || (have == 0 && row->zero_serves) || (have < bound && row->less_serves);
}

/* "n=512" */
static void name_value(const pg_param *row, int64_t v, char *out, size_t size)
{
    pg_buf text;
    pg_buf_init(&text, &pg_alloc_libc);
    pg_param_print_value(row, v, &text);
    snprintf(out, size, "%s=%s", row->name, pg_buf_text(&text));
    pg_buf_fini(&text);
}

enum { WORD_BYTES = 64 };

static ptxgen_status refuse_given(const pg_param *row, int64_t given, int64_t bound,
                                  ptxgen_error *err)
{
    char words[2][WORD_BYTES];
    name_value(row, given, words[0], WORD_BYTES);
    name_value(row, bound, words[1], WORD_BYTES);
    return pg_fail(err, PTXGEN_EINVAL, "%s is given, but the operands say %s: leave %s out",
                   words[0], words[1], row->name);
}

static void call_hook(const pg_problem *p, void *hooked)
{
    memset(hooked, 0, p->family->params.key_size);
    if (p->family->bind)
        p->family->bind(p, hooked);
}

ptxgen_status pg_problem_bind(const pg_problem *p, pg_given given, void *key, ptxgen_error *err)
{
    const pg_param_table *t = &p->family->params;
    int64_t hooked[PG_KEY_MAX_BYTES / sizeof(int64_t)];
    call_hook(p, hooked);
    for (size_t i = 0; i < t->count; i++) {
        const pg_param *row = &t->rows[i];
        if (!row->from)
            continue;
        const int64_t bound = bound_value(p, row, hooked);
        if (!(given >> i & 1))
            *field(row, key) = bound;
        else if (!suits(row, value(row, key), bound))
            return refuse_given(row, value(row, key), bound, err);
    }
    return PTXGEN_OK;
}

ptxgen_status pg_problem_serves(const pg_problem *p, const void *key, ptxgen_error *err)
{
    const pg_param_table *t = &p->family->params;
    int64_t hooked[PG_KEY_MAX_BYTES / sizeof(int64_t)];
    call_hook(p, hooked);
    for (size_t i = 0; i < t->count; i++) {
        const pg_param *row = &t->rows[i];
        if (!row->from || (p->empty && row->from != PG_FROM_DTYPE))
            continue;
        const int64_t bound = bound_value(p, row, hooked), have = value(row, key);
        if (suits(row, have, bound))
            continue;
        char words[2][WORD_BYTES];
        name_value(row, have, words[0], WORD_BYTES);
        name_value(row, bound, words[1], WORD_BYTES);
        return pg_fail(err, PTXGEN_EINVAL,
                       "the kernel is built for %s and does not serve %s: get one that does",
                       words[0], words[1]);
    }
    return PTXGEN_OK;
}
