#include "command/run/check.h"

#include "command/value.h"

#include <math.h>

/* Error of an element and what it may be; false: it is wrong. */
static bool judge(const run_check *c, double got, double want, double *error, double *bound)
{
    *bound = c->atol + c->rtol * fabs(want);
    *error = got == want || (isnan(got) && isnan(want)) ? 0 : fabs(got - want);
    if (isnan(*error))
        *error = INFINITY;
    return *error == 0 || (*error <= *bound && isfinite(*error));
}

static bool same_bits(const run_pair *p, int64_t i)
{
    return ((const uint32_t *)p->got)[i] == ((const uint32_t *)p->want)[i];
}

void run_check_compare(run_check *c, const run_pair *p)
{
    const bool exact = c->atol == 0 && c->rtol == 0;
    double worst = -1;
    c->wrong = 0;
    c->elements = p->rows * p->columns;
    for (int64_t i = 0; i < c->elements; i++) {
        double error = 0, bound = 0;
        const bool right = exact ? same_bits(p, i)
                                 : judge(c, cli_value(p->dtype, p->got, i),
                                         cli_value(p->dtype, p->want, i), &error, &bound);
        const double share = !right ? INFINITY : error > 0 ? error / bound : 0;
        c->wrong += !right;
        if (share <= worst)
            continue;
        worst = share;
        c->worst_error = error;
        c->worst_bound = bound;
        c->worst_row = i / p->columns;
        c->worst_column = i % p->columns;
    }
}
