/* Taking operands: from tensors and from the numbers of a typed call. */
#include "generate/operands/problem.h"

#include "generate/dtype.h"
#include "generate/family.h"

#include <stdio.h>
#include <string.h>

/* Nothing else of an absent view is set: sanitized builds fill it, so that a reader of it shows. */
static void set_absent(pg_view *v)
{
#if defined(__SANITIZE_ADDRESS__)
    memset(v, 0xa5, sizeof *v);
#endif
    v->present = v->transposed = false;
}

void pg_problem_init(pg_problem *p, const pg_family *family)
{
    p->family = family;
    p->table = &family->operands;
    p->host = p->empty = false;
    p->key = p->plan = p->helper_plan = p->prepared = NULL;
    p->device = NULL;
    p->map = NULL;
    p->map_user = NULL;
    p->bounds = NULL;
    for (size_t i = 0; i < PG_MAX_OPERANDS; i++)
        set_absent(&p->operand[i]);
}

static bool is_absent(const ptxgen_tensor *t)
{
    return !t->data && t->dtype == PTXGEN_DTYPE_NONE && t->rank == 0;
}

static ptxgen_status fail_rank(const pg_operand *row, int rank, ptxgen_error *err)
{
    char fewest[24] = "";
    if (row->leading)
        snprintf(fewest, sizeof fewest, "%d %s ", row->rank - row->leading,
                 row->leading > 1 ? "to" : "or");
    return pg_fail(err, PTXGEN_EINVAL, "%s has %d dimension%s, it must have %s%d", row->name, rank,
                   rank == 1 ? "" : "s", fewest, row->rank);
}

ptxgen_status pg_view_take(const pg_operand *row, const ptxgen_tensor *t, pg_view *v,
                           ptxgen_error *err)
{
    if (t->rank < 0)
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s has rank %d: it is a number of dimensions, 0 or more", row->name,
                       (int)t->rank);
    if (t->rank < row->rank - row->leading || t->rank > row->rank)
        return fail_rank(row, (int)t->rank, err);
    if (t->rank && !t->shape)
        return pg_fail(err, PTXGEN_EINVAL, "%s has no shape: give its %d extents", row->name,
                       (int)t->rank);
    v->data = t->data;
    v->dtype = t->dtype;
    v->rank = (uint8_t)t->rank;
    for (int d = 0; d < t->rank; d++)
        v->shape[d] = t->shape[d];
    int64_t dense = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        v->stride[d] = t->strides ? t->strides[d] : dense;
        /* What does not fit is refused later, by its extent. */
        if (!t->strides && __builtin_mul_overflow(dense, v->shape[d], &dense))
            dense = INT64_MAX;
    }
    v->present = true;
    v->transposed = false;
    return PTXGEN_OK;
}

ptxgen_status pg_problem_take(pg_problem *p, const ptxgen_tensor *tensors, size_t count,
                              ptxgen_error *err)
{
    const pg_operand_table *t = p->table;
    if (count > t->count)
        return pg_fail(err, PTXGEN_EINVAL, "%zu tensors are given, %s has %zu operands", count,
                       p->family->name, t->count);
    if (count && !tensors)
        return pg_fail(err, PTXGEN_EINVAL, "tensors is NULL: give %zu of them", count);
    for (size_t i = 0; i < t->count; i++) {
        set_absent(&p->operand[i]);
        if (i < count && !is_absent(&tensors[i]))
            PG_TRY(pg_view_take(&t->rows[i], &tensors[i], &p->operand[i], err));
    }
    return PTXGEN_OK;
}

void pg_view_vector(pg_view *v, const void *data, ptxgen_dtype dtype, int64_t n)
{
    v->data = (void *)(uintptr_t)data;
    v->dtype = dtype;
    v->rank = 1;
    v->shape[0] = n;
    v->stride[0] = 1;
    v->present = true;
    v->transposed = false;
}

void pg_view_matrix(pg_view *v, const pg_matrix_arg *m)
{
    const int along = m->transposed ? 0 : 1; /* the dimension of adjacent elements */
    v->data = (void *)(uintptr_t)m->data;
    v->dtype = m->dtype;
    v->rank = 2;
    v->shape[0] = m->rows;
    v->shape[1] = m->columns;
    v->stride[along] = 1;
    v->stride[!along] = m->stride ? m->stride : v->shape[along];
    v->present = true;
    v->transposed = m->transposed;
}

double pg_problem_scalar(const pg_problem *p, size_t operand)
{
    const pg_view *v = &p->operand[operand];
    if (!v->present || !v->data)
        return p->table->rows[operand].scalar;
    if (v->dtype == PTXGEN_F64)
        return *(const double *)v->data;
    return (double)*(const float *)v->data;
}

int64_t pg_view_elements(const pg_view *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= v->shape[d];
    return n;
}

int64_t pg_view_span(const pg_view *v)
{
    int64_t last = 0;
    for (int d = 0; d < v->rank; d++)
        last += (v->shape[d] - 1) * v->stride[d];
    return (int64_t)(((uint64_t)(last + 1) * v->bits + 7) / 8);
}
