/* Modules: parsing, the memory of module variables, entries. See ptxgen/emulator.h. */
#include "emulator/check/findings.h"
#include "emulator/clock/chip.h"
#include "emulator/run/context.h"
#include "ptx/link.h"

#include <string.h>

static void apply_reloc(const ptxgen_emulator_module *m, const pg_ptx_reloc *r, char *at)
{
    const pg_ptx_var *target = r->is_function ? NULL : &m->ptx->vars[r->index];
    uint64_t address = target ? m->memory.address[r->index]
                              : pg_function_address(pg_function_behind(m->ptx, r->index));
    if (r->generic && target && target->space == PG_SPACE_SHARED)
        address |= PG_WINDOW_SHARED;
    address += (uint64_t)r->addend;
    address >>= r->shift;
    memcpy(at + r->offset, &address, r->bytes);
}

static bool in_host_memory(const pg_ptx_var *v)
{
    return v->space == PG_SPACE_GLOBAL || v->space == PG_SPACE_CONST;
}

/* Offsets of all variables in one block; the total. */
static size_t place_variables(const pg_ptx_module *ptx, uint64_t *offset)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < ptx->n_vars; i++) {
        const pg_ptx_var *v = &ptx->vars[i];
        if (!in_host_memory(v) || !v->size || v->linkage == PG_LINKAGE_EXTERN)
            continue;
        const uint64_t align = v->align > 16 ? v->align : 16;
        end = (end + align - 1) / align * align;
        offset[i] = end + 1; /* 0: none */
        end += v->size;
        if (end > UINT64_C(1) << 36)
            return SIZE_MAX;
    }
    return (size_t)end;
}

static ptxgen_status fill_variables(ptxgen_emulator_module *m, ptxgen_error *err)
{
    uint64_t *address = (uint64_t *)m->memory.address;
    const uint64_t base = ((uint64_t)(uintptr_t)m->memory.block + 1023) / 1024 * 1024;
    for (uint32_t i = 0; i < m->ptx->n_vars; i++)
        address[i] = address[i] ? base + address[i] - 1 : 0;
    for (uint32_t i = 0; i < m->ptx->n_vars; i++) {
        const pg_ptx_var *v = &m->ptx->vars[i];
        if (!address[i])
            continue;
        char *at = (char *)(uintptr_t)address[i];
        if (v->n_init)
            memcpy(at, v->init, v->n_init);
        for (uint32_t k = 0; k < v->n_relocs; k++)
            apply_reloc(m, &v->relocs[k], at);
        const pg_buffer buffer = {.address = address[i],
                                  .bytes = v->size,
                                  .name = v->name,
                                  .writable = v->space == PG_SPACE_GLOBAL};
        PG_TRY(pg_buffers_insert(m->emu, &buffer, err));
    }
    return PTXGEN_OK;
}

ptxgen_status pg_module_variables(ptxgen_emulator_module *m, ptxgen_error *err)
{
    uint64_t *address = PG_NEW_ARRAY(&m->arena, uint64_t, m->ptx->n_vars + 1);
    if (!address)
        return pg_fail_memory(err, 0);
    m->memory.address = address;
    const size_t bytes = place_variables(m->ptx, address);
    if (!bytes)
        return PTXGEN_OK;
    if (bytes == SIZE_MAX || bytes > m->emu->config.memory_budget)
        return pg_fail(err, PTXGEN_EBUDGET,
                       "the module's variables need more memory than the budget of %llu bytes",
                       (unsigned long long)m->emu->config.memory_budget);
    m->memory.block_bytes = bytes + 1024;
    m->memory.block = pg_alloc_zero(&m->emu->alloc, m->memory.block_bytes);
    if (!m->memory.block)
        return pg_fail_memory(err, bytes);
    pthread_mutex_lock(&m->emu->lock);
    const ptxgen_status status = fill_variables(m, err);
    pthread_mutex_unlock(&m->emu->lock);
    return status;
}

static ptxgen_status list_kernels(ptxgen_emulator_module *m, ptxgen_error *err)
{
    const uint32_t n = m->ptx->n_functions;
    m->kernels = PG_NEW_ARRAY(&m->arena, uint32_t, n + 1);
    m->decoded = PG_NEW_ARRAY(&m->arena, ptxgen_emulator_entry *, n + 1);
    m->taken = pg_functions_taken(&m->arena, m->ptx);
    if (!m->kernels || !m->decoded || !m->taken)
        return pg_fail_memory(err, 0);
    for (uint32_t k = 0; k < n; k++)
        if (m->ptx->functions[k].is_entry && m->ptx->functions[k].has_body)
            m->kernels[m->kernel_count++] = k;
    return PTXGEN_OK;
}

/* A time on a GPU is of what the GPU runs. */
static ptxgen_status check_target(const ptxgen_emulator_module *m, ptxgen_error *err)
{
    const pg_clock_chip *chip = pg_clock_chip_named(m->emu->config.clock);
    if (!chip || pg_clock_chip_runs(chip, m->ptx->arch, m->ptx->arch_suffix))
        return PTXGEN_OK;
    return pg_fail(
        err, PTXGEN_EINVAL,
        "%s: its .target is %s, which the %s of the clock (%s) does not run: ask for the "
        "clock of its own architecture, or for no time",
        m->file, m->ptx->target, chip->gpu, chip->arch);
}

static ptxgen_status parse(ptxgen_emulator_module *m, const char *text, size_t length,
                           const char *file_name, ptxgen_error *err)
{
    m->file = pg_arena_strndup(&m->arena, file_name, strlen(file_name));
    if (!m->file)
        return pg_fail_memory(err, 0);
    const pg_ptx_options options = {.file_name = m->file};
    if (length && text[length - 1] == 0)
        length--;
    pg_ptx_diagnostics warnings;
    PG_TRY(pg_ptx_load_warned(&m->arena, text, length, &options, &m->ptx, &warnings, err));
    for (uint32_t i = 0; i < warnings.count; i++)
        pg_log_line(&m->emu->log, PTXGEN_LOG_WARNING, "%s:%u:%u: warning: %s", m->file,
                    warnings.items[i].line, warnings.items[i].column, warnings.items[i].message);
    PG_TRY(check_target(m, err));
    return list_kernels(m, err);
}

static ptxgen_emulator_module *new_module(ptxgen_emulator *emu, ptxgen_error *err)
{
    ptxgen_emulator_module *m = pg_alloc_zero(&emu->alloc, sizeof *m);
    if (!m) {
        pg_fail_memory(err, sizeof *m);
        return NULL;
    }
    m->emu = emu;
    pg_arena_init(&m->arena, &emu->alloc);
    pg_buf_init(&m->linked, &emu->alloc);
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

/* Takes the module: it is in *out, or gone. */
static ptxgen_status finish_load(ptxgen_emulator_module *m, ptxgen_status status,
                                 ptxgen_emulator_module **out, ptxgen_error *err)
{
    if (status == PTXGEN_OK)
        status = pg_module_variables(m, err);
    if (status == PTXGEN_OK)
        *out = m;
    else
        ptxgen_emulator_unload(m);
    return status;
}

ptxgen_status ptxgen_emulator_load(ptxgen_emulator *emu, const char *text, size_t length,
                                   const char *file_name, ptxgen_emulator_module **out,
                                   ptxgen_error *err)
{
    if (!emu || !text || !out)
        return pg_fail(err, PTXGEN_EINVAL,
                       "an emulator, a text and a place for the module are needed");
    ptxgen_emulator_module *m = new_module(emu, err);
    if (!m)
        return PTXGEN_ENOMEM;
    const ptxgen_status status = parse(m, text, length, file_name ? file_name : "<ptx>", err);
    return finish_load(m, status, out, err);
}

static ptxgen_status join(ptxgen_emulator_module *m, const ptxgen_emulator_text *texts,
                          size_t count, ptxgen_error *err)
{
    pg_link_text *list = PG_NEW_ARRAY(&m->arena, pg_link_text, count);
    if (!list)
        return pg_fail_memory(err, 0);
    for (size_t i = 0; i < count; i++) {
        const ptxgen_emulator_text *t = &texts[i];
        const bool counts_nul = t->length && !t->text[t->length - 1];
        list[i] = (pg_link_text){t->text, t->name ? t->name : "<ptx>", t->length - counts_nul};
    }
    return pg_ptx_link(&m->emu->alloc, list, count, &m->linked, err);
}

ptxgen_status ptxgen_emulator_load_linked(ptxgen_emulator *emu, const ptxgen_emulator_text *texts,
                                          size_t count, const char *file_name,
                                          ptxgen_emulator_module **out, ptxgen_error *err)
{
    if (!emu || !texts || !count || !out)
        return pg_fail(err, PTXGEN_EINVAL,
                       "an emulator, texts and a place for the module are needed");
    ptxgen_emulator_module *m = new_module(emu, err);
    if (!m)
        return PTXGEN_ENOMEM;
    ptxgen_status status = join(m, texts, count, err);
    if (status == PTXGEN_OK)
        status = parse(m, m->linked.data, m->linked.len, file_name ? file_name : "<linked>", err);
    return finish_load(m, status, out, err);
}

const char *ptxgen_emulator_linked_text(const ptxgen_emulator_module *m, size_t *length)
{
    if (!m || !m->linked.len)
        return NULL;
    if (length)
        *length = m->linked.len;
    return pg_buf_text(&m->linked);
}

void ptxgen_emulator_unload(ptxgen_emulator_module *m)
{
    if (!m)
        return;
    ptxgen_emulator *emu = m->emu;
    while (m->entries) {
        ptxgen_emulator_entry *e = m->entries;
        m->entries = e->next;
        pg_findings_retire(emu->findings, e->program);
        pg_arena_fini(&e->arena);
        pg_free(&emu->alloc, e, sizeof *e);
    }
    pthread_mutex_lock(&emu->lock);
    /* From the last, so that few have to move up. */
    for (uint32_t i = m->ptx && m->memory.block ? m->ptx->n_vars : 0; i-- > 0;)
        if (m->memory.address[i])
            pg_buffers_remove(emu, m->memory.address[i]);
    pthread_mutex_unlock(&emu->lock);
    pg_profile_forget(m);
    if (m->memory.block)
        pg_free(&emu->alloc, m->memory.block, m->memory.block_bytes);
    pg_buf_fini(&m->linked);
    pg_arena_fini(&m->arena);
    pthread_mutex_destroy(&m->lock);
    pg_free(&emu->alloc, m, sizeof *m);
}

const char *ptxgen_emulator_entry_name(const ptxgen_emulator_module *m, size_t i)
{
    return m && i < m->kernel_count ? m->ptx->functions[m->kernels[i]].name : NULL;
}

/* The function index of a kernel; UINT32_MAX with a message. */
static uint32_t entry_index(const ptxgen_emulator_module *m, const char *name, ptxgen_error *err)
{
    if (!name && m->kernel_count == 1)
        return m->kernels[0];
    for (uint32_t i = 0; name && i < m->kernel_count; i++)
        if (strcmp(name, m->ptx->functions[m->kernels[i]].name) == 0)
            return m->kernels[i];
    if (name)
        pg_fail(err, PTXGEN_EINVAL, "the module has no kernel named %s", name);
    else
        pg_fail(err, PTXGEN_EINVAL, "the module has %u kernels: name one", m->kernel_count);
    return UINT32_MAX;
}

static ptxgen_status decode_entry(ptxgen_emulator_module *m, uint32_t index,
                                  ptxgen_emulator_entry **out, ptxgen_error *err)
{
    ptxgen_emulator_entry *e = pg_alloc_zero(&m->emu->alloc, sizeof *e);
    if (!e)
        return pg_fail_memory(err, sizeof *e);
    e->module = m;
    pg_arena_init(&e->arena, &m->emu->alloc);
    const pg_decode_input input = {m->ptx, &m->memory, m->taken,
                                   index,  m->file,    m->emu->config.check};
    pg_program *program = NULL;
    const ptxgen_status status = pg_program_decode(&e->arena, &input, &program, err);
    if (status != PTXGEN_OK) {
        pg_arena_fini(&e->arena);
        pg_free(&m->emu->alloc, e, sizeof *e);
        return status;
    }
    e->program = program;
    e->next = m->entries;
    m->entries = e;
    m->decoded[index] = e;
    *out = e;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_emulator_find(ptxgen_emulator_module *m, const char *name,
                                   ptxgen_emulator_entry **out, ptxgen_error *err)
{
    if (!m || !out)
        return pg_fail(err, PTXGEN_EINVAL, "a module and a place for the kernel are needed");
    const uint32_t index = entry_index(m, name, err);
    if (index == UINT32_MAX)
        return PTXGEN_EINVAL;
    pthread_mutex_lock(&m->lock);
    *out = m->decoded[index];
    const ptxgen_status status = *out ? PTXGEN_OK : decode_entry(m, index, out, err);
    pthread_mutex_unlock(&m->lock);
    return status;
}

bool ptxgen_emulator_entry_param(const ptxgen_emulator_entry *e, size_t i,
                                 ptxgen_emulator_param *out)
{
    const pg_entry *entry = e ? &e->program->entries[0] : NULL;
    if (!entry || !out || i >= entry->param_count)
        return false;
    const pg_parameter *p = &entry->params[i];
    *out = (ptxgen_emulator_param){p->name, p->offset, p->bytes, p->is_array, p->is_float};
    return true;
}

bool ptxgen_emulator_get_entry_info(const ptxgen_emulator_entry *e, ptxgen_emulator_entry_info *out)
{
    if (!e || !out)
        return false;
    const pg_entry *entry = &e->program->entries[0];
    *out = (ptxgen_emulator_entry_info){.name = entry->name,
                                        .static_shared = entry->static_shared - PG_SHARED_BASE,
                                        .local = entry->frame_bytes,
                                        .max_threads = entry->maxntid};
    memcpy(out->block, entry->reqntid, sizeof out->block);
    memcpy(out->cluster, entry->reqcluster, sizeof out->cluster);
    return true;
}

bool ptxgen_emulator_variable(const ptxgen_emulator_module *m, const char *name, void **address,
                              size_t *bytes)
{
    if (!m || !name || !address || !bytes)
        return false;
    const uint32_t i = pg_ptx_find_var(m->ptx, name);
    if (i == UINT32_MAX || !m->memory.address[i])
        return false;
    *address = (void *)(uintptr_t)m->memory.address[i];
    *bytes = m->ptx->vars[i].size;
    return true;
}
