/* From text to a kernel's identity. */
#include "engine/kernel_id.h"

#include <string.h>

ptxgen_status pg_kernel_id_resolve(pg_kernel_id *id, ptxgen_error *err)
{
    const pg_arch *arch = pg_arch_find(id->key[0]);
    if (!arch)
        return pg_fail(err, PTXGEN_EINVAL, "architecture number %lld is not known",
                       (long long)id->key[0]);
    /* One spelling: a kernel is made for the one target that its family needs. */
    arch = pg_arch_find(id->key[0] = pg_family_arch_on(id->family, arch->id));
    return id->family->resolve(id->key, arch, err);
}

ptxgen_status pg_kernel_id_parse(const char *family, const char *params, ptxgen_arch arch,
                                 pg_kernel_id *out, ptxgen_error *err)
{
    memset(out, 0, sizeof *out);
    PG_TRY(pg_family_find(family, &out->family, err));
    pg_params_default(&out->family->params, out->key, arch ? arch : out->family->default_arch);
    PG_TRY(pg_params_parse(&out->family->params, params, out->key, err));
    return pg_kernel_id_resolve(out, err);
}

ptxgen_arch pg_kernel_id_arch(const pg_family *family, ptxgen_device_kind device,
                              ptxgen_arch device_arch)
{
    int64_t key[PG_KEY_MAX_BYTES / sizeof(int64_t)];
    const ptxgen_arch arch = pg_family_arch_on(family, device_arch);
    if (device != PTXGEN_DEVICE_EMULATOR)
        return arch;
    pg_params_default(&family->params, key, arch);
    return family->resolve(key, pg_arch_find(arch), NULL) == PTXGEN_OK ? arch
                                                                       : family->default_arch;
}

bool pg_kernel_id_same(const pg_kernel_id *a, const pg_kernel_id *b)
{
    return a->family == b->family && a->assembled == b->assembled &&
           memcmp(a->key, b->key, a->family->params.key_size) == 0;
}

int64_t pg_kernel_id_function(const pg_kernel_id *id)
{
    const pg_function_seam *seam = id->family->function;
    return seam ? seam->number(id->key) : 0;
}
