#include "stub_libcuda.h"

#include <dlfcn.h>

static void *symbol(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen(STUB_PATH, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *p = dlsym(library, name);
    assert_non_null(p);
    return p;
}

stub *stub_state(void)
{
    return ((stub_get_fn *)symbol("stub_get"))();
}

stub *stub_open(void)
{
    ((stub_reset_fn *)symbol("stub_reset"))();
    return stub_state();
}

void stub_make_current(stub_context *context)
{
    ((stub_set_current_fn *)symbol("stub_set_current"))(context);
}

stub_context *stub_current(void)
{
    return ((stub_get_current_fn *)symbol("stub_get_current"))();
}

pg_device *stub_device(const pg_alloc *alloc)
{
    static const pg_log silent;
    pg_device *device;
    ptxgen_error err = {0};
    stub_open();
    if (pg_cuda_device_open(alloc, &silent, STUB_PATH, &device, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return device;
}
