#include "typed_launch.h"

#include "engine/kernel_launch.h"

static ptxgen_status fill(const char *family, const void *args, pg_call *c, ptxgen_error *err)
{
    if (strcmp(family, "scatter_add") == 0)
        return pg_fill_scatter_add(args, c, err);
    if (strcmp(family, "tcgen05_copy") == 0)
        return pg_fill_tcgen05_copy(args, c, err);
    if (strcmp(family, "matmul_accumulate") == 0)
        return pg_fill_matmul_accumulate(args, c, err);
    return pg_fill_matmul_scaled(args, c, err);
}

void typed_problem(const char *family, const void *args, const void *plan,
                   const ptxgen_device_info *device, pg_problem *out)
{
    pg_call c;
    ptxgen_error err = {0};
    ptxgen_status status = fill(family, args, &c, &err);
    if (status == PTXGEN_OK)
        status = pg_problem_check_shapes(&c.problem, &err);
    if (status != PTXGEN_OK)
        fail_msg("%s: %s", family, err.message);
    *out = c.problem;
    out->plan = plan;
    out->device = device;
}

void typed_launch(const char *family, const void *args, const void *plan,
                  const ptxgen_device_info *device, pg_launch *out)
{
    pg_problem p;
    typed_problem(family, args, plan, device, &p);
    pg_launch_of(&p, &(pg_step){0}, out);
}
