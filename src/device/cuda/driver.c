/* Finds the CUDA driver and its functions. libcuda.so.1, never libcuda.so: the latter may be the
 * toolkit's link-time stub, which answers every call with error 34. */
#include "device/cuda/driver.h"

#include "base/dynamic.h"
#include "base/error.h"
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

static const struct {
    const char *name, *symbol;
    int since;
    size_t offset; /* in pg_driver */
} functions[] = {
#define PG_DRIVER_FUNCTION(name, symbol, since, parameters)                                        \
    {#name, #symbol, since, offsetof(pg_driver, name)},
#include "device/cuda/driver.def"
#undef PG_DRIVER_FUNCTION
};

/* cuGetProcAddress_v2 (CUDA 12.0) */
typedef int get_proc_address(const char *name, void **out, int version, uint64_t flags,
                             int *status);

static void *find_function(void *library, get_proc_address *get, size_t i)
{
    if (!get)
        return dlsym(library, functions[i].symbol);
    void *p = NULL;
    int status = 0;
    return get(functions[i].name, &p, functions[i].since, 0, &status) == 0 ? p : NULL;
}

static ptxgen_status find_functions(pg_driver *d, ptxgen_error *err)
{
    get_proc_address *get = NULL;
    void *symbol = dlsym(d->library, "cuGetProcAddress_v2");
    memcpy(&get, &symbol, sizeof get);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *p = find_function(d->library, get, i);
        if (!p && functions[i].since <= PG_DRIVER_OLDEST)
            return pg_fail(err, PTXGEN_EMISSING,
                           "%s lacks %s: it is not a CUDA driver of version %d.%d or newer; update "
                           "the NVIDIA driver, or use the emulator",
                           pg_driver_path(d), functions[i].symbol, PG_DRIVER_OLDEST / 1000,
                           PG_DRIVER_OLDEST % 1000 / 10);
        memcpy((char *)d + functions[i].offset, &p, sizeof p);
    }
    return PTXGEN_OK;
}

static ptxgen_status start(pg_driver *d, ptxgen_error *err)
{
    /* The version first: it needs no cuInit, and an old driver lacks functions. */
    int (*get_version)(int *) = NULL;
    void *symbol = dlsym(d->library, "cuDriverGetVersion");
    memcpy(&get_version, &symbol, sizeof symbol);
    if (get_version && get_version(&d->version) == 0 && d->version < PG_DRIVER_OLDEST)
        return pg_driver_too_old(d, PG_DRIVER_OLDEST, "ptxgen", err);
    PG_TRY(find_functions(d, err));
    return pg_driver_check(d, d->cuInit(0), "start the driver (cuInit)", err);
}

ptxgen_status pg_driver_open(const pg_alloc *alloc, const char *library, pg_driver **out,
                             ptxgen_error *err)
{
    *out = NULL;
    const char *name = library ? library : "libcuda.so.1";
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        const int error = pg_dlopen_errno(why);
        if (!pg_errno_is_lasting(error))
            return pg_fail(
                err, error == ENOMEM ? PTXGEN_ENOMEM : PTXGEN_EIO,
                "the CUDA driver cannot be looked for: %s; it is looked for again at the "
                "next call",
                why ? why : name);
        return pg_fail(err, PTXGEN_EMISSING,
                       "no CUDA driver: %s; install the NVIDIA driver, or use the emulator "
                       "(PTXGEN_DEVICE=emulator)",
                       why ? why : name);
    }
    pg_driver *d = pg_alloc_zero(alloc, sizeof *d);
    if (!d)
        return pg_fail_memory(err, sizeof *d);
    d->library = handle;
    ptxgen_status status = start(d, err);
    if (status != PTXGEN_OK) {
        pg_driver_close(alloc, d);
        return status;
    }
    *out = d;
    return PTXGEN_OK;
}

void pg_driver_close(const pg_alloc *alloc, pg_driver *driver)
{
    pg_free(alloc, driver, sizeof *driver);
}

const char *pg_driver_path(const pg_driver *driver)
{
    struct link_map *map = NULL;
    if (dlinfo(driver->library, RTLD_DI_LINKMAP, &map) != 0 || !map)
        return "";
    return map->l_name;
}
