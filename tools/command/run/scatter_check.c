#include "command/run/scatter_check.h"

#include "command/fail.h"
#include "command/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a type's rounding allows. */
typedef struct limits {
    size_t bytes;
    double unit; /* half a unit in the last place of 1 */
    double tiny; /* absolute error of one add near zero */
    double largest;
} limits;

static limits limits_of(ptxgen_dtype dtype)
{
    switch (dtype) {
    case PTXGEN_F16:
        return (limits){2, 0x1p-11, 0x1p-24, 65504};
    case PTXGEN_BF16:
        return (limits){2, 0x1p-8, 0x1p-133, 0x1.fep127};
    default:
        return (limits){4, 0x1p-24, 0x1p-126, 0x1.fffffep127}; /* subnormals are flushed */
    }
}

static int64_t index_at(const ptxgen_scatter_add_args *a, int64_t i)
{
    return a->index_type == PTXGEN_INDEX_I64 ? ((const int64_t *)a->index)[i]
                                             : ((const int32_t *)a->index)[i];
}

/* magnitude[row][column] = |out| + sum |src|, adds[row] = how many rows of src reach it. */
static void sum_magnitudes(const ptxgen_scatter_add_args *a, double *magnitude, int64_t *adds)
{
    for (int64_t i = 0; i < a->out_rows * a->n; i++)
        magnitude[i] = fabs(cli_value(a->dtype, a->out, i));
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t row = index_at(a, i);
        adds[row]++;
        for (int64_t j = 0; j < a->n; j++)
            magnitude[row * a->n + j] += fabs(cli_value(a->dtype, a->src, i * a->n + j));
    }
}

/* Error / bound of one element; above 1 is wrong. */
static double judge(const limits *l, double got, double want, double magnitude, int64_t adds,
                    double *bound)
{
    *bound = (double)(adds + 1) * (l->unit * magnitude + l->tiny);
    if (adds == 0)
        *bound = 0;
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (got == want)
        return 0;
    if (magnitude + *bound >= l->largest)
        return isinf(magnitude) ? INFINITY : 0; /* a partial sum may have overflowed on the way */
    const double error = fabs(got - want);
    return isnan(error) || error > *bound ? INFINITY : error / *bound;
}

static void compare(const ptxgen_scatter_add_args *a, const void *want, const void *result,
                    const double *magnitude, const int64_t *adds, scatter_check *out)
{
    const limits l = limits_of(a->dtype);
    double worst = -1;
    for (int64_t row = 0; row < a->out_rows; row++) {
        for (int64_t column = 0; column < a->n; column++) {
            const int64_t i = row * a->n + column;
            const double got = cli_value(a->dtype, result, i),
                         expected = cli_value(a->dtype, want, i);
            double bound, share = judge(&l, got, expected, magnitude[i], adds[row], &bound);
            out->elements++;
            out->wrong += share > 1;
            if (share > worst) {
                worst = share;
                out->worst_error = fabs(got - expected);
                out->worst_bound = bound;
                out->worst_row = row;
                out->worst_column = column;
            }
        }
    }
}

ptxgen_status scatter_check_run(const ptxgen_scatter_add_args *args, const void *result,
                                scatter_check *out, ptxgen_error *err)
{
    const size_t elements = (size_t)(args->out_rows * args->n),
                 bytes = elements * limits_of(args->dtype).bytes;
    double *magnitude = malloc(elements * sizeof *magnitude + 1);
    int64_t *adds = calloc((size_t)args->out_rows + 1, sizeof *adds);
    void *want = aligned_alloc(64, bytes / 64 * 64 + 64);
    ptxgen_status status = PTXGEN_OK;
    *out = (scatter_check){0};
    if (!magnitude || !adds || !want) {
        status = cli_fail(err, PTXGEN_ENOMEM, "out of memory: --check needs %zu bytes",
                          elements * sizeof *magnitude + bytes);
    } else {
        ptxgen_scatter_add_args oracle = *args;
        oracle.out = memcpy(want, args->out, bytes);
        status = ptxgen_scatter_add_oracle(&oracle, err);
    }
    if (status == PTXGEN_OK) {
        sum_magnitudes(args, magnitude, adds);
        compare(args, want, result, magnitude, adds, out);
    }
    free(magnitude);
    free(adds);
    free(want);
    return status;
}
