/* What a call says of its result: factors and element types. */
#include "matmul_accumulate/matmul_accumulate.h"

const ptxgen_dtype pg_matmul_results[] = {PTXGEN_F32,  PTXGEN_F16,  PTXGEN_BF16,
                                          PTXGEN_E4M3, PTXGEN_E5M2, PTXGEN_DTYPE_NONE};
const ptxgen_dtype pg_matmul_summands[] = {PTXGEN_F32, PTXGEN_F16, PTXGEN_BF16, PTXGEN_DTYPE_NONE};

float pg_matmul_alpha(const pg_problem *p)
{
    return (float)pg_problem_scalar(p, PG_MATMUL_ALPHA);
}

float pg_matmul_beta(const pg_problem *p)
{
    return (float)pg_problem_scalar(p, PG_MATMUL_BETA);
}

const pg_dtype *pg_matmul_result_type(int64_t place)
{
    static const pg_dtype bytes[] = {{.name = "e4m3", .bytes = 1, .tensor_type = PG_TENSOR_U8},
                                     {.name = "e5m2", .bytes = 1, .tensor_type = PG_TENSOR_U8}};
    const pg_dtype *wide = pg_dtype_find(pg_matmul_results[place]);
    return wide ? wide : &bytes[pg_matmul_results[place] == PTXGEN_E5M2];
}

pg_matmul_factors pg_matmul_begin_factors(const pg_problem *p)
{
    const float alpha = pg_matmul_alpha(p), beta = pg_matmul_beta(p);
    if (alpha == 0) /* nothing is multiplied */
        return (pg_matmul_factors){beta, 1};
    return (pg_matmul_factors){beta / alpha, alpha};
}
