#include "test_context.h"

#include <stdio.h>

ptxgen *context;

int open_context(void **state)
{
    (void)state;
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    return ptxgen_create(&config, &context, NULL) == PTXGEN_OK ? 0 : -1;
}

int close_context(void **state)
{
    (void)state;
    ptxgen_destroy(context);
    context = NULL;
    return 0;
}

bool open_gpu(ptxgen_device_info *info)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_CUDA, .cache_dir = ""};
    ptxgen_error err;
    *info = (ptxgen_device_info){.size = sizeof *info};
    if (ptxgen_create(&config, &context, &err) == PTXGEN_OK &&
        ptxgen_device_get_info(context, info, &err) == PTXGEN_OK)
        return true;
    printf("skipped: %s\n", err.message);
    return false;
}
