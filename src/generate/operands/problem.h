/* A problem: the operands of one call, taken from the caller and checked. What a family's `launch`,
 * its hooks and its plain C answer read.
 *
 * pg_problem_take (from tensors) or a typed call fills the views; pg_problem_check refuses what
 * the table does not allow and completes views and symbols; pg_problem_bind fills the key's
 * parameters that follow from the operands. Nothing here allocates; a problem belongs to one
 * thread. */
#ifndef PG_PROBLEM_H
#define PG_PROBLEM_H

#include "base/error.h"
#include "generate/operands/operand.h"
#include "generate/params.h"
#include "ptxgen/call.h"

struct pg_family;

/* A user function over some rows of a matrix, for plain C answers: dense arrays of rows * n
 * floats. values[i] = f(values[i], in[0][i], ..., first_row + i / n, i % n). */
enum { PG_MAPPING_INPUTS = 4 };
typedef struct pg_mapping {
    int64_t first_row, rows, n;
    float *values;
    const float *in[PG_MAPPING_INPUTS];
    int inputs;
    float *second; /* of a function with two values; else NULL */
} pg_mapping;

/* One operand. Shapes and strides are elements, outermost first; `rank` dimensions of the
 * table's row. */
typedef struct pg_view {
    void *data;
    ptxgen_dtype dtype;
    bool present;
    bool transposed; /* PG_INNER_EITHER: the last dimension but one is the adjacent one */
    uint8_t rank;    /* as the caller gave it; after the check the table's */
    uint8_t bits;    /* of an element; set by the check */
    int64_t shape[PG_MAX_RANK], stride[PG_MAX_RANK];
} pg_view;

typedef struct pg_problem {
    const struct pg_family *family;
    const pg_operand_table *table; /* the family's, or one that begins with it */
    bool host;  /* memory that plain C reads: aligned to its elements, rows of any length */
    bool empty; /* legal, and nothing to do */
    int64_t symbol[PG_MAX_SYMBOLS];
    pg_view operand[PG_MAX_OPERANDS];
    uint8_t given[PG_MAX_OPERANDS]; /* the operands that are present; set by the check */
    uint8_t given_count;
    const void *key;                  /* bound; resolved unless `host` */
    const void *plan;                 /* NULL for the plain C answer */
    const void *helper_plan;          /* of the family's helper; NULL when there is none */
    const void *prepared;             /* what only a typed call brings along: a sorted index */
    const ptxgen_device_info *device; /* likewise */
    /* Applies the key's user function; NULL where no context is at hand. */
    ptxgen_status (*map)(void *user, const pg_mapping *, ptxgen_error *);
    void *map_user;
    /* NULL, or by operand: of a result what each of its elements, in their order, may be off by,
     * which the plain C answer fills (zeros before); INFINITY: anything is right. */
    double *const *bounds;
} pg_problem;

void pg_problem_init(pg_problem *p, const struct pg_family *family);
/* From the caller's tensors, in the table's order. EINVAL: too many, a missing one, a rank that
 * is none. */
ptxgen_status pg_problem_take(pg_problem *p, const ptxgen_tensor *tensors, size_t count,
                              ptxgen_error *err);
/* One of them, not left out, as the view of a row of the table. */
ptxgen_status pg_view_take(const pg_operand *row, const ptxgen_tensor *t, pg_view *v,
                           ptxgen_error *err);

/* Shapes, element types and symbols; sets p->empty. EINVAL, EUNSUPPORTED, EINDEX (an index into
 * no rows). */
ptxgen_status pg_problem_check_shapes(pg_problem *p, ptxgen_error *err);
/* Then pointers, strides, alignment and overlap; nothing of an empty problem is looked at. */
ptxgen_status pg_problem_check_memory(const pg_problem *p, ptxgen_error *err);
/* Of it, what two calls that differ in their addresses alone may differ in. */
ptxgen_status pg_problem_check_overlap(const pg_problem *p, ptxgen_error *err);
/* Of limits hooks: EUNSUPPORTED unless base and strides of an operand are multiples of `bytes`. */
ptxgen_status pg_problem_require_alignment(const pg_problem *p, size_t operand, int bytes,
                                           const char *needed_by, ptxgen_error *err);

/* Parameters named by the caller: bit i is row i of the parameter table. */
typedef uint64_t pg_given;
/* Fills the parameters that follow from the operands and are not given. EINVAL when a given one
 * says something else. */
ptxgen_status pg_problem_bind(const pg_problem *p, pg_given given, void *key, ptxgen_error *err);
/* EINVAL when a kernel with this (resolved) key was not built for these operands. */
ptxgen_status pg_problem_serves(const pg_problem *p, const void *key, ptxgen_error *err);

/* Another operand says which rows of this result are written (pg_operand.rows_by). */
static inline bool pg_problem_has_rows_by(const pg_problem *p, size_t operand)
{
    const uint8_t by = p->table->rows[operand].rows_by;
    return by && p->operand[by - 1].present;
}

/* The value of a PG_SCALAR operand. */
double pg_problem_scalar(const pg_problem *p, size_t operand);
static inline bool pg_view_is_empty(const pg_view *v)
{
    for (int d = 0; d < v->rank; d++)
        if (v->shape[d] == 0)
            return true;
    return false;
}

/* The dimension of adjacent elements; rank 1 or more. */
static inline int pg_view_along(const pg_view *v)
{
    return v->rank - (v->transposed ? 2 : 1);
}

/* Rows of adjacent elements that follow each other without overlap, of extents whose products
 * fit: what most calls pass, so that nothing more has to be asked of the strides. */
static inline bool pg_view_is_plain(const pg_view *v)
{
    const int64_t most = INT64_C(1) << 29;
    if (v->rank == 2 || (v->rank == 3 && v->shape[0] == 1)) {
        const int64_t *shape = v->shape + v->rank - 2, *stride = v->stride + v->rank - 2;
        return !v->transposed && stride[1] == 1 && stride[0] >= shape[1] && stride[0] < most &&
               shape[0] < most;
    }
    return v->rank == 1 && v->stride[0] == 1 && v->shape[0] < most;
}

/* Elements, and the bytes from the first to the last (of a checked view). */
int64_t pg_view_elements(const pg_view *v);
int64_t pg_view_span(const pg_view *v);

/* ---- typed calls ---- */

/* Fill views from numbers: a stride of 0 means dense. */
void pg_view_vector(pg_view *v, const void *data, ptxgen_dtype dtype, int64_t n);
typedef struct pg_matrix_arg {
    const void *data;
    ptxgen_dtype dtype;
    int64_t rows, columns, stride; /* elements; stride 0: columns */
    bool transposed;               /* stored as [columns, rows]; stride 0: rows */
} pg_matrix_arg;
void pg_view_matrix(pg_view *v, const pg_matrix_arg *m);

#endif
