/* See clock_results.h; and the getters of ptxgen/emulator.h. */
#include "emulator/run/clock_results.h"

#include "base/sized.h"
#include "emulator/clock/estimate.h"

pg_clock *pg_clock_attach(const ptxgen_emulator_entry *entry, pg_grid_run *launch)
{
    const ptxgen_emulator_module *m = entry->module;
    pg_clock *clock = pg_clock_new(launch, m->ptx, pg_clock_chip_named(m->emu->config.clock));
    launch->observer = clock ? &pg_clock_observer : NULL;
    launch->choose_cluster = launch->cooperative ? NULL : pg_clock_next_cluster;
    launch->give_cluster = pg_clock_give_cluster;
    return clock;
}

static pg_clock_time *new_time(ptxgen_emulator *emu)
{
    if (emu->time_count == emu->time_room) {
        const uint32_t room = emu->time_room ? 2 * emu->time_room : 8;
        pg_clock_time *more = emu->alloc.realloc(
            emu->alloc.user, emu->times, emu->time_room * sizeof *more, room * sizeof *more);
        if (!more)
            return NULL;
        emu->times = more;
        emu->time_room = room;
    }
    return &emu->times[emu->time_count++];
}

void pg_clock_keep(ptxgen_emulator *emu, pg_grid_run *launch)
{
    pg_clock_time time;
    if (!launch->clock)
        return;
    if (launch->error.status == PTXGEN_OK) {
        pthread_mutex_lock(&emu->lock); /* other launches may end meanwhile */
        const pg_clock_told told = {emu->config.trace, emu->config.user,
                                    (uint32_t)emu->stats.launches};
        const bool first = emu->time_count == 0;
        pthread_mutex_unlock(&emu->lock);
        const bool ok = pg_clock_estimate(launch->clock, launch, &told, first, &time);
        pthread_mutex_lock(&emu->lock);
        pg_clock_time *kept = ok ? new_time(emu) : NULL;
        if (kept)
            *kept = time;
        pthread_mutex_unlock(&emu->lock);
        if (!kept)
            pg_fail_memory(&launch->error, 0);
    }
    pg_clock_free(launch->clock);
    launch->clock = NULL;
}

void pg_clock_forget(ptxgen_emulator *emu)
{
    pg_free(&emu->alloc, emu->times, emu->time_room * sizeof *emu->times);
}

bool ptxgen_emulator_time_at(const ptxgen_emulator *emu, size_t i, ptxgen_emulator_time *out)
{
    if (!emu || !out)
        return false;
    pthread_mutex_lock((pthread_mutex_t *)&emu->lock);
    const bool found = i < emu->time_count;
    if (found) {
        const pg_clock_time *t = &emu->times[i];
        const ptxgen_emulator_time whole = {
            .arch = t->chip->arch,
            .gpu = t->chip->gpu,
            .ns = t->ns,
            .launch_ns = t->launch_ns,
            .limit = t->limit,
            .error_percent = t->tensor_or_dram ? t->chip->error_tensor : t->chip->error_other,
            .power_ns = t->power_ns,
            .dram_bytes = t->dram_bytes,
            .flop = t->flop,
            .clusters = t->clusters,
            .sampled = t->sampled,
            .occupancy = t->occupancy,
            .whole = t->whole};
        pg_sized_give(out, &whole, sizeof whole);
    }
    pthread_mutex_unlock((pthread_mutex_t *)&emu->lock);
    return found;
}

bool ptxgen_emulator_time_unit_at(const ptxgen_emulator *emu, size_t i, size_t unit,
                                  const char **name, double *busy)
{
    if (!emu || !name || !busy || unit >= UNIT_COUNT)
        return false;
    pthread_mutex_lock((pthread_mutex_t *)&emu->lock);
    const bool found = i < emu->time_count;
    *busy = found ? emu->times[i].busy[unit] : 0;
    pthread_mutex_unlock((pthread_mutex_t *)&emu->lock);
    *name = pg_clock_unit_name((pg_clock_unit)unit);
    return found;
}
