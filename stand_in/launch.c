/* Launches, and the carrying out of all other work: see launch.h, stream.h. */
#include "stand_in/launch.h"

#include "stand_in/graph.h"

#include <string.h>

void pg_launch_attributes(pg_launch *launch, const cudaLaunchAttribute *attributes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (attributes[i].id == PG_ATTRIBUTE_CLUSTER)
            memcpy(launch->cluster, attributes[i].value.cluster, sizeof launch->cluster);
        if (attributes[i].id == PG_ATTRIBUTE_COOPERATIVE)
            launch->cooperative = attributes[i].value.number != 0;
    }
}

pg_cuda_error pg_launch_unpack(pg_function *function, void **extra, void **args)
{
    char *buffer = NULL;
    size_t bytes = 0;
    for (void **at = extra; *at != PG_LAUNCH_PARAM_END; at += 2) {
        if (*at == PG_LAUNCH_PARAM_POINTER)
            buffer = at[1];
        else if (*at == PG_LAUNCH_PARAM_SIZE)
            memcpy(&bytes, at[1], sizeof bytes);
        else
            return PG_CUDA_InvalidValue;
    }
    ptxgen_emulator_param p;
    for (size_t i = 0; ptxgen_emulator_entry_param(function->entry, i, &p); i++) {
        if (!buffer || p.offset + p.bytes > bytes)
            return PG_CUDA_InvalidValue;
        args[i] = buffer + p.offset;
    }
    return PG_CUDA_Success;
}

int pg_occupancy(const pg_function *function, int threads, size_t dynamic_shared)
{
    if (threads < 1 || threads > pg_device_attribute(1))
        return 0;
    const size_t warps = ((size_t)threads + 31) / 32;
    const size_t shared =
        function->info.static_shared + dynamic_shared + (size_t)pg_device_attribute(111);
    size_t most = (size_t)pg_device_attribute(106);
    const size_t by_warps = (size_t)pg_device_attribute(39) / 32 / warps;
    const size_t by_shared = (size_t)pg_device_attribute(81) / shared;
    most = by_warps < most ? by_warps : most;
    return (int)(by_shared < most ? by_shared : most);
}

static bool is_empty(dim3 d)
{
    return !d.x || !d.y || !d.z;
}

static pg_cuda_error check_shape(const pg_launch *l)
{
    const uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    if (is_empty(l->grid) || is_empty(l->block) || threads > 1024 || l->block.z > 64 ||
        l->grid.y > 65535 || l->grid.z > 65535)
        return PG_CUDA_InvalidConfiguration;
    if (l->dynamic_shared > (size_t)l->function->max_dynamic_shared) {
        pg_complain(
            "%s: %zu bytes of dynamic shared memory are asked for, %d are allowed: raise it "
            "with cudaFuncSetAttribute",
            l->function->name, l->dynamic_shared, l->function->max_dynamic_shared);
        return PG_CUDA_InvalidValue;
    }
    if (l->function->info.max_threads && threads > l->function->info.max_threads)
        return PG_CUDA_LaunchFailure;
    const uint64_t ctas = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
    const uint64_t room = (uint64_t)pg_occupancy(l->function, (int)threads, l->dynamic_shared) *
                          (uint64_t)pg_device_attribute(16);
    return l->cooperative && ctas > room ? PG_CUDA_CooperativeLaunchTooLarge : PG_CUDA_Success;
}

/* What a GPU would call the failure. */
static pg_cuda_error meaning_of(ptxgen_status status, const ptxgen_error *err)
{
    if (status == PTXGEN_EINVAL)
        return PG_CUDA_InvalidConfiguration;
    if (status == PTXGEN_ENOMEM)
        return PG_CUDA_MemoryAllocation;
    if (status == PTXGEN_EBUDGET)
        return PG_CUDA_LaunchTimeout;
    static const struct {
        const char *words;
        pg_cuda_error error;
    } failures[] = {{"assertion", PG_CUDA_Assert},
                    {"out of bounds", PG_CUDA_IllegalAddress},
                    {"is misaligned", PG_CUDA_MisalignedAddress},
                    {"its member mask", PG_CUDA_IllegalInstruction}};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (strstr(err->message, failures[i].words))
            return failures[i].error;
    return PG_CUDA_LaunchFailure;
}

pg_cuda_error pg_launch_run(const pg_launch *l)
{
    pg_device *d = pg_device_get();
    pg_cuda_error error = pg_function_ready(l->function);
    if (!error)
        error = check_shape(l);
    if (error)
        return error;
    const ptxgen_emulator_launch launch = {
        .size = sizeof launch,
        .grid = {l->grid.x, l->grid.y, l->grid.z},
        .block = {l->block.x, l->block.y, l->block.z},
        .cluster = {l->cluster[0], l->cluster[1], l->cluster[2]},
        .dynamic_shared = l->dynamic_shared,
        .args = l->args,
        .arg_count = l->function->parameter_count,
        .cooperative = l->cooperative,
    };
    ptxgen_error err;
    if (d->settings.verbose)
        pg_complain("launch %s grid %u %u %u block %u %u %u shared %zu", l->function->name,
                    l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z,
                    l->dynamic_shared);
    pthread_mutex_lock(&d->running);
    const ptxgen_status status = ptxgen_emulator_run(l->function->entry, &launch, &err);
    const bool stopped = status == PTXGEN_EEMULATOR || status == PTXGEN_EBUDGET;
    if (status == PTXGEN_OK || stopped)
        pg_report_run(l->function, stopped ? err.message : NULL);
    pthread_mutex_unlock(&d->running);
    if (status == PTXGEN_OK)
        return PG_CUDA_Success;
    pg_complain("%s: %s", l->function->name, err.message);
    error = meaning_of(status, &err);
    if (!stopped)
        return error;
    /* On a GPU the launch has long been accepted when its kernel fails: the next call says so. */
    pg_set_lost(error);
    return PG_CUDA_Success;
}

static pg_cuda_error run_locked(const pg_work *work)
{
    switch (work->kind) {
    case PG_WORK_COPY:
        pg_copy_run(&work->copy);
        return PG_CUDA_Success;
    case PG_WORK_FILL:
        pg_fill_run(&work->fill);
        return PG_CUDA_Success;
    case PG_WORK_HOST:
        work->host.call(work->host.user);
        return PG_CUDA_Success;
    case PG_WORK_GRAPH:
        return pg_graph_run(work->graph);
    case PG_WORK_RECORD:
        pg_event_stamp(work->event);
        return PG_CUDA_Success;
    case PG_WORK_LAUNCH:
        return pg_launch_run(&work->launch);
    case PG_WORK_EMPTY:
    case PG_WORK_WAIT:
        break;
    }
    return PG_CUDA_Success;
}

pg_cuda_error pg_work_run(const pg_work *work)
{
    pg_device *d = pg_device_get();
    if (!d)
        return PG_CUDA_InitializationError;
    pthread_mutex_lock(&d->running);
    const pg_cuda_error error = run_locked(work);
    pthread_mutex_unlock(&d->running);
    return error;
}
