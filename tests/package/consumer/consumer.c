/* A program outside the source tree that uses the installed library: valid C11 and valid C++11.
 * Writes a kernel; where kernels can run, adds two rows and looks at the answer. Exit code 0:
 * right. */
#include <ptxgen/ptxgen.h>

#include <stdio.h>
#include <string.h>

static int add_rows(ptxgen *ctx)
{
    float out[2 * 4], src[3 * 4];
    const int64_t index[3] = {1, 0, 1};
    const size_t sizes[3] = {sizeof out, sizeof src, sizeof index};
    const void *host[3];
    void *device[3];
    ptxgen_error err;
    int i;
    host[0] = out, host[1] = src, host[2] = index;
    for (i = 0; i < 8; i++)
        out[i] = 1;
    for (i = 0; i < 12; i++)
        src[i] = (float)i;
    for (i = 0; i < 3; i++)
        if (ptxgen_device_alloc(ctx, sizes[i], &device[i], &err) != PTXGEN_OK ||
            ptxgen_device_upload(ctx, device[i], host[i], sizes[i], &err) != PTXGEN_OK)
            return puts(err.message), 1;
    ptxgen_scatter_add_args args;
    memset(&args, 0, sizeof args);
    args.size = sizeof args;
    args.dtype = PTXGEN_F32;
    args.rows = 3, args.out_rows = 2, args.n = 4;
    args.out = device[0], args.src = device[1], args.index = device[2];
    if (ptxgen_scatter_add(ctx, &args, NULL, &err) != PTXGEN_OK ||
        ptxgen_check_indices(ctx, NULL, &err) != PTXGEN_OK ||
        ptxgen_device_download(ctx, out, device[0], sizeof out, &err) != PTXGEN_OK)
        return puts(err.message), 1;
    for (i = 0; i < 3; i++)
        ptxgen_device_free(ctx, device[i]);
    for (i = 0; i < 4; i++) {
        if (out[i] != 1 + src[4 + i] || out[4 + i] != 1 + src[i] + src[8 + i])
            return puts("the sum is wrong"), 1;
    }
    puts("ran a kernel");
    return 0;
}

int main(void)
{
    ptxgen *ctx;
    ptxgen_kernel *kernel;
    ptxgen_error err;
    ptxgen_config config;
    ptxgen_kernel_info info;
    ptxgen_device_info device;
    int code = 0;
    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.cache_dir = "";
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK ||
        ptxgen_emit(ctx, "scatter_add", "dtype=bf16 n=512", &kernel, &err) != PTXGEN_OK)
        return puts(err.message), 1;
    info.size = sizeof info;
    ptxgen_kernel_describe(kernel, &info);
    printf("ptxgen %s wrote %s\n", ptxgen_version(), info.entry);
    if (!strstr(info.ptx, ".version"))
        code = 1;
    ptxgen_kernel_unref(kernel);
    device.size = sizeof device;
    if (code == 0 && ptxgen_device_get_info(ctx, &device, &err) == PTXGEN_OK)
        code = add_rows(ctx);
    ptxgen_destroy(ctx);
    return code;
}
