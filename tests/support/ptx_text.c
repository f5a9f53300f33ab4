#include "ptx_text.h"

ptxgen_kernel *emit_kernel(ptxgen *ctx, const char *family, const char *params)
{
    ptxgen_error err = {0};
    ptxgen_kernel *kernel;
    if (ptxgen_emit(ctx, family, params, &kernel, &err) != PTXGEN_OK)
        fail_msg("%s %s: %s", family, params, err.message);
    return kernel;
}

void expect_refusal(ptxgen *ctx, const char *family, const char *params, const char *reason)
{
    ptxgen_error err = {0};
    ptxgen_kernel *kernel;
    const ptxgen_status status = ptxgen_emit(ctx, family, params, &kernel, &err);
    if (status == PTXGEN_OK)
        fail_msg("%s %s was not refused", family, params);
    assert_true(status == PTXGEN_EUNSUPPORTED || status == PTXGEN_EINVAL);
    if (!strstr(err.message, reason))
        fail_msg("%s %s: \"%s\" is not in: %s", family, params, reason, err.message);
}

int count_in_ptx(const ptxgen_kernel *kernel, const char *text)
{
    ptxgen_kernel_info info = {.size = sizeof info};
    int count = 0;
    ptxgen_kernel_describe(kernel, &info);
    for (const char *p = info.ptx; (p = strstr(p, text)); p += strlen(text))
        count++;
    return count;
}

ptxgen *assembling_context(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = "", .assembler = PTXGEN_ASSEMBLER_PTXAS};
    ptxgen *ctx;
    ptxgen_error err = {0};
    ptxgen_part part;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    if (ptxgen_part_at(ctx, 0, &part) && part.found)
        return ctx;
    print_message("no ptxas here: nothing is assembled\n");
    ptxgen_destroy(ctx);
    return NULL;
}

/* With setmaxnreg a kernel starts with all the registers that its CTA can have; an assembler
 * that dropped it gives what the code needs instead. */
static void expect_setmaxnreg_kept(const ptxgen_kernel_info *info, const char *params)
{
    const char *threads = strstr(info->ptx, ".reqntid ");
    if (!strstr(info->ptx, "setmaxnreg"))
        return;
    assert_non_null(threads);
    const int share = (64 << 10) / atoi(threads + strlen(".reqntid ")) / 8 * 8;
    if (info->registers != (share < 255 ? share : 255))
        fail_msg("%s: %d registers: setmaxnreg was dropped", params, info->registers);
}

void expect_assembles(ptxgen *ctx, const char *family, const char *params)
{
    ptxgen_error err = {0};
    ptxgen_kernel *kernel;
    ptxgen_kernel_info info = {.size = sizeof info};
    if (ptxgen_compile(ctx, family, params, &kernel, &err) != PTXGEN_OK)
        fail_msg("%s %s: %s", family, params, err.message);
    ptxgen_kernel_describe(kernel, &info);
    if (info.spill_bytes != 0 || info.local_bytes != 0)
        fail_msg("%s %s: %d bytes spilled, %d bytes of local memory", family, params,
                 info.spill_bytes, info.local_bytes);
    expect_setmaxnreg_kept(&info, params);
    ptxgen_kernel_unref(kernel);
}
