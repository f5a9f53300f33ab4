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

static pg_cuda_error load_one(pg_device *d, pg_module *m, ptxgen_status *status, ptxgen_error *err)
{
    pg_ptx_image image;
    if (!pg_ptx_from_image(m->image, d->settings.sm, &image)) {
        pg_complain("%s: %s", m->name, image.why);
        return PG_CUDA_NoKernelImageForDevice;
    }
    *status =
        ptxgen_emulator_load(d->emulator, image.text, image.length, m->name, &m->program, err);
    free(image.text);
    return PG_CUDA_Success;
}

/* Parts without PTX for this GPU are left out, as the device runtime's: what they define is then
 * missing by name, where it is used. */
static pg_cuda_error load_linked(pg_device *d, pg_module *m, const void *const *parts,
                                 ptxgen_status *status, ptxgen_error *err)
{
    size_t all = 0, count = 0;
    while (parts[all])
        all++;
    pg_ptx_image *images = calloc(all + 1, sizeof *images);
    ptxgen_emulator_text *texts = calloc(all + 1, sizeof *texts);
    for (size_t i = 0; images && texts && i < all; i++)
        if (pg_ptx_from_image(parts[i], d->settings.sm, &images[count])) {
            texts[count] =
                (ptxgen_emulator_text){images[count].text, images[count].length, m->name};
            count++;
        }
    if (count)
        *status = ptxgen_emulator_load_linked(d->emulator, texts, count, m->name, &m->program, err);
    else
        pg_complain("%s: %s", m->name, images ? images->why : "out of memory");
    for (size_t i = 0; i < count; i++)
        free(images[i].text);
    free(images);
    free(texts);
    return count ? PG_CUDA_Success : PG_CUDA_NoKernelImageForDevice;
}

static pg_cuda_error load(pg_device *d, pg_module *m)
{
    ptxgen_error err;
    ptxgen_status status;
    const void *const *parts = pg_image_parts(m->image);
    const pg_cuda_error error =
        parts ? load_linked(d, m, parts, &status, &err) : load_one(d, m, &status, &err);
    if (error || status == PTXGEN_OK)
        return error;
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

pg_function *pg_function_known(const void *handle)
{
    pg_device *d = pg_device_get();
    pg_function *found = NULL;
    if (!d)
        return NULL;
    pthread_mutex_lock(&d->lock);
    for (const pg_module *m = modules; m && !found; m = m->next)
        for (pg_function *f = m->functions; f && !found; f = f->next)
            found = f == handle ? f : NULL;
    pthread_mutex_unlock(&d->lock);
    return found;
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
