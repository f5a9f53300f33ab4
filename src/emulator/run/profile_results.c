/* What profiles found, kept by line of a module and by asynchronous unit, and given out. */
#include "emulator/decode/live.h"
#include "emulator/run/context.h"

#include "base/sized.h"

#include <string.h>

/* Room for `count` elements, the new ones zero; false: out of memory. */
static bool grow(const pg_alloc *alloc, void **array, size_t element, size_t have, size_t count)
{
    char *more = alloc->realloc(alloc->user, *array, have * element, count * element);
    if (!more)
        return false;
    memset(more + have * element, 0, (count - have) * element);
    *array = more;
    return true;
}

static bool reserve_lines(ptxgen_emulator_module *m, uint32_t count)
{
    const pg_alloc *alloc = &m->emu->alloc;
    if (count <= m->line_count)
        return true;
    if (!grow(alloc, (void **)&m->live, sizeof *m->live, m->line_count, count))
        return false;
    if (!grow(alloc, (void **)&m->lines, sizeof *m->lines, m->line_count, count)) {
        /* Back to the size that line_count says: to less, which does not fail. */
        m->live = alloc->realloc(alloc->user, m->live, count * sizeof *m->live,
                                 m->line_count * sizeof *m->live);
        return false;
    }
    m->line_count = count;
    return true;
}

/* ---- live registers ---- */

static bool was_executed(const ptxgen_emulator_module *m, const pg_ptx_function *f)
{
    for (uint32_t i = 0; i < f->n_code; i++)
        if (f->code[i].line < m->line_count && m->lines[f->code[i].line].executions)
            return !m->live[f->code[i].line];
    return false;
}

/* Of functions that have run and were not looked at yet. */
static bool find_live(ptxgen_emulator_module *m)
{
    bool fine = true;
    for (uint32_t i = 0; i < m->ptx->n_functions && fine; i++) {
        const pg_ptx_function *f = &m->ptx->functions[i];
        if (!f->n_code || !was_executed(m, f))
            continue;
        pg_arena arena;
        pg_arena_init(&arena, &m->emu->alloc);
        const uint32_t *live = pg_live_registers(&arena, f);
        for (uint32_t k = 0; live && k < f->n_code; k++) {
            const uint32_t line = f->code[k].line;
            if (line < m->line_count && live[k] > m->live[line])
                m->live[line] = live[k];
        }
        fine = live != NULL;
        pg_arena_fini(&arena);
    }
    return fine;
}

/* ---- counts ---- */

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
        if (!find_live(m) && launch->error.status == PTXGEN_OK)
            pg_fail_memory(&launch->error, lines * sizeof *m->live);
    } else if (launch->error.status == PTXGEN_OK) {
        pg_fail_memory(&launch->error, lines * sizeof *m->lines);
    }
    pthread_mutex_unlock(&m->emu->lock);
}

void pg_profile_forget(ptxgen_emulator_module *m)
{
    pg_free(&m->emu->alloc, m->lines, m->line_count * sizeof *m->lines);
    pg_free(&m->emu->alloc, m->live, m->line_count * sizeof *m->live);
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
                                            .async_bytes = p->async_bytes,
                                            .live_registers = module->live[line]};
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
