/* Names for messages: shared variables, and the source lines that .loc gives. See
 * decode/layout.h. */
#include "emulator/decode/layout.h"

static void name_shared(pg_decoder *d, pg_program *program)
{
    const pg_layout *y = d->layout;
    pg_shared_name *names = PG_NEW_ARRAY(d->arena, pg_shared_name, d->module->n_vars + 1);
    for (uint32_t i = 0; names && i < d->module->n_vars; i++)
        if (y->shared_offset[i])
            names[program->shared_name_count++] = (pg_shared_name){
                d->module->vars[i].name, y->shared_offset[i], d->module->vars[i].size};
    program->shared_names = names;
}

static const char *file_name(const pg_ptx_module *m, uint32_t number)
{
    for (uint32_t i = 0; i < m->n_files; i++)
        if (m->files[i].number == number)
            return m->files[i].name;
    return NULL;
}

static void place_ops(pg_decoder *d, uint32_t function, pg_source_place *places)
{
    const pg_ptx_module *m = d->module;
    const pg_ptx_function *f = &m->functions[function];
    pg_source_place *first = &places[d->layout->functions[function].layout->first_op];
    for (uint32_t i = 0; i < f->n_code; i++) {
        const pg_ptx_loc *loc = &m->locs[f->code[i].loc];
        if (f->code[i].loc)
            first[i] = (pg_source_place){file_name(m, loc->file), loc->line};
    }
}

void pg_program_names(pg_decoder *d, uint32_t op_count, pg_program *program)
{
    name_shared(d, program);
    pg_source_place *places = d->module->n_locs > 1
                                  ? PG_NEW_ARRAY(d->arena, pg_source_place, (size_t)op_count + 1)
                                  : NULL;
    for (uint32_t i = 0; places && i < d->module->n_functions; i++)
        if (d->layout->functions[i].reachable)
            place_ops(d, i, places);
    program->sources = places;
}
