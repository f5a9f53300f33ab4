/* What a call says of its result: factors and element types. */
#include "matmul_accumulate/matmul_accumulate.h"

const ptxgen_dtype pg_matmul_dtypes[] = PG_DTYPE_LIST(PG_MATMUL_TYPES);

float pg_matmul_alpha(const pg_problem *p)
{
    return (float)pg_problem_scalar(p, PG_MATMUL_ALPHA);
}

float pg_matmul_beta(const pg_problem *p)
{
    return (float)pg_problem_scalar(p, PG_MATMUL_BETA);
}

pg_matmul_factors pg_matmul_begin_factors(const pg_problem *p)
{
    const float alpha = pg_matmul_alpha(p), beta = pg_matmul_beta(p);
    if (alpha == 0) /* nothing is multiplied */
        return (pg_matmul_factors){beta, 1};
    return (pg_matmul_factors){beta / alpha, alpha};
}
