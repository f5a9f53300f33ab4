#include "test_context.h"

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
