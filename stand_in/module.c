/* Modules and functions: see module.h. */
#include "stand_in/module.h"

#include "stand_in/fatbin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pg_module *modules; /* under the device's lock */

pg_module *pg_module_new(const void *image, const char *name)
{
    pg_module *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->image = image;
    snprintf(m->name, sizeof m->name, "%s", name);
    pg_device *d = pg_device_get();
    if (!d) {
        free(m);
        return NULL;
    }
    pthread_mutex_lock(&d->lock);
    m->next = modules;
    modules = m;
    pthread_mutex_unlock(&d->lock);
    return m;
}

static void unlink_module(const pg_module *module)
{
    for (pg_module **at = &modules; *at; at = &(*at)->next)
        if (*at == module) {
            *at = module->next;
            return;
        }
}

void pg_module_free(pg_module *m)
{
    pg_device *d = pg_device_get();
    if (!m || !d)
        return;
    pthread_mutex_lock(&d->lock);
    unlink_module(m);
    pthread_mutex_unlock(&d->lock);
    ptxgen_emulator_unload(m->program);
    while (m->functions) {
        pg_function *f = m->functions;
        m->functions = f->next;
        free(f->name);
        free(f);
    }
    free(m);
}

static pg_cuda_error load(pg_device *d, pg_module *m)
{
    pg_ptx_image image;
    ptxgen_error err;
    if (!pg_ptx_from_image(m->image, d->settings.sm, &image)) {
        pg_complain("%s: %s", m->name, image.why);
        return PG_CUDA_NoKernelImageForDevice;
    }
    const ptxgen_status status =
        ptxgen_emulator_load(d->emulator, image.text, image.length, m->name, &m->program, &err);
    free(image.text);
    if (status == PTXGEN_OK)
        return PG_CUDA_Success;
    pg_complain("%s", err.message);
    return status == PTXGEN_ENOMEM ? PG_CUDA_MemoryAllocation : PG_CUDA_InvalidPtx;
}

pg_cuda_error pg_module_ready(pg_module *m)
{
    pg_device *d = pg_device_get();
    if (!d)
        return PG_CUDA_InitializationError;
    pthread_mutex_lock(&d->lock);
    pg_cuda_error error = PG_CUDA_Success;
    if (m->failed) {
        error = PG_CUDA_NoKernelImageForDevice;
    } else if (!m->program) {
        error = load(d, m);
        m->failed = error != PG_CUDA_Success;
        if (!error)
            pg_symbols_place_managed(m);
    }
    pthread_mutex_unlock(&d->lock);
    return error;
}

pg_function *pg_module_declare(pg_module *m, const char *name)
{
    pg_device *d = pg_device_get();
    pg_function *f = d ? calloc(1, sizeof *f) : NULL;
    if (!f || !(f->name = strdup(name))) {
        free(f);
        return NULL;
    }
    f->module = m;
    f->max_dynamic_shared = pg_device_attribute(8);
    pthread_mutex_lock(&d->lock);
    f->next = m->functions;
    m->functions = f;
    pthread_mutex_unlock(&d->lock);
    return f;
}

static pg_function *find_declared(pg_module *m, const char *name)
{
    pg_device *d = pg_device_get();
    pthread_mutex_lock(&d->lock);
    pg_function *f = m->functions;
    while (f && strcmp(f->name, name))
        f = f->next;
    pthread_mutex_unlock(&d->lock);
    return f;
}

static void look_at_parameters(pg_function *f)
{
    ptxgen_emulator_param p;
    for (f->parameter_count = 0; ptxgen_emulator_entry_param(f->entry, f->parameter_count, &p);
         f->parameter_count++)
        f->parameter_bytes = p.offset + p.bytes;
}

pg_cuda_error pg_function_ready(pg_function *f)
{
    pg_device *d = pg_device_get();
    ptxgen_error err;
    pg_cuda_error error = pg_module_ready(f->module);
    if (error)
        return error;
    pthread_mutex_lock(&d->lock);
    if (!f->entry) {
        ptxgen_emulator_entry *entry;
        const ptxgen_status status =
            ptxgen_emulator_find(f->module->program, f->name, &entry, &err);
        if (status == PTXGEN_OK) {
            f->entry = entry;
            ptxgen_emulator_get_entry_info(entry, &f->info);
            look_at_parameters(f);
        } else {
            pg_complain("%s", err.message);
            error = status == PTXGEN_EINVAL ? PG_CUDA_InvalidDeviceFunction : PG_CUDA_NotSupported;
        }
    }
    pthread_mutex_unlock(&d->lock);
    return error;
}

const char *pg_module_entry_name(pg_module *m, size_t i)
{
    return pg_module_ready(m) ? NULL : ptxgen_emulator_entry_name(m->program, i);
}

pg_function *pg_module_function(pg_module *m, const char *name, pg_cuda_error *error)
{
    *error = pg_module_ready(m);
    if (*error)
        return NULL;
    const char *found;
    for (size_t i = 0; (found = ptxgen_emulator_entry_name(m->program, i)); i++)
        if (!strcmp(found, name))
            break;
    if (!found) {
        *error = PG_CUDA_SymbolNotFound;
        return NULL;
    }
    pg_function *f = find_declared(m, name);
    if (!f)
        f = pg_module_declare(m, name);
    *error = f ? pg_function_ready(f) : PG_CUDA_MemoryAllocation;
    return *error ? NULL : f;
}

bool pg_module_variable(pg_module *m, const char *name, void **address, size_t *bytes)
{
    return !pg_module_ready(m) && ptxgen_emulator_variable(m->program, name, address, bytes);
}
