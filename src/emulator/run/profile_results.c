/* What profiles found, kept by line of a module and by asynchronous unit, and given out. */
#include "emulator/run/context.h"

#include "base/sized.h"

#include <string.h>

static bool reserve_lines(ptxgen_emulator_module *m, uint32_t count)
{
    if (count <= m->line_count)
        return true;
    const pg_alloc *alloc = &m->emu->alloc;
    pg_op_profile *more =
        alloc->realloc(alloc->user, m->lines, m->line_count * sizeof *more, count * sizeof *more);
    if (!more)
        return false;
    memset(more + m->line_count, 0, (count - m->line_count) * sizeof *more);
    m->lines = more;
    m->line_count = count;
    return true;
}

/* The fields are all counts. */
static void add_counts(void *to, const void *from, size_t bytes)
{
    uint64_t *a = to;
    const uint64_t *b = from;
    for (size_t i = 0; i < bytes / sizeof *a; i++)
        a[i] += b[i];
}

void pg_profile_keep(ptxgen_emulator_module *m, pg_grid_run *launch)
{
    const pg_program *program = launch->program;
    if (!launch->profile)
        return;
    uint32_t lines = 0;
    for (uint32_t i = 0; i < program->op_count; i++)
        if (launch->profile->ops[i].executions && program->ops[i].line >= lines)
            lines = program->ops[i].line + 1;
    pthread_mutex_lock(&m->emu->lock);
    if (reserve_lines(m, lines)) {
        for (uint32_t i = 0; i < program->op_count; i++)
            if (launch->profile->ops[i].executions)
                add_counts(&m->lines[program->ops[i].line], &launch->profile->ops[i],
                           sizeof *m->lines);
        add_counts(m->emu->engines, launch->profile->engines, sizeof m->emu->engines);
    } else if (launch->error.status == PTXGEN_OK) {
        pg_fail_memory(&launch->error, lines * sizeof *m->lines);
    }
    pthread_mutex_unlock(&m->emu->lock);
}

void pg_profile_forget(ptxgen_emulator_module *m)
{
    pg_free(&m->emu->alloc, m->lines, m->line_count * sizeof *m->lines);
}

bool ptxgen_emulator_line_at(const ptxgen_emulator_module *module, size_t i,
                             ptxgen_emulator_line *out)
{
    if (!module || !out)
        return false;
    pthread_mutex_lock(&module->emu->lock);
    uint32_t line = 0;
    size_t before = 0;
    while (line < module->line_count && (!module->lines[line].executions || before++ < i))
        line++;
    const bool found = line < module->line_count;
    if (found) {
        const pg_op_profile *p = &module->lines[line];
        const ptxgen_emulator_line whole = {.line = line,
                                            .executions = p->executions,
                                            .active_lanes = p->lanes,
                                            .global_requests = p->global_requests,
                                            .global_sectors = p->global_sectors,
                                            .shared_requests = p->shared_requests,
                                            .shared_wavefronts = p->shared_wavefronts,
                                            .shared_ideal = p->shared_ideal,
                                            .async_operations = p->async_operations,
                                            .async_bytes = p->async_bytes};
        pg_sized_give(out, &whole, sizeof whole);
    }
    pthread_mutex_unlock(&module->emu->lock);
    return found;
}

bool ptxgen_emulator_engine_at(const ptxgen_emulator *emu, size_t i, ptxgen_emulator_engine *out)
{
    if (!emu || !out || i >= PG_ENGINE_COUNT)
        return false;
    pthread_mutex_lock((pthread_mutex_t *)&emu->lock);
    const pg_engine_use *u = &emu->engines[i];
    const ptxgen_emulator_engine whole = {.name = pg_engine_name((pg_engine)i),
                                          .operations = u->operations,
                                          .global_read = u->global_read,
                                          .global_written = u->global_written,
                                          .shared_read = u->shared_read,
                                          .shared_written = u->shared_written,
                                          .tensor_read = u->tensor_read,
                                          .tensor_written = u->tensor_written};
    pg_sized_give(out, &whole, sizeof whole);
    pthread_mutex_unlock((pthread_mutex_t *)&emu->lock);
    return true;
}
