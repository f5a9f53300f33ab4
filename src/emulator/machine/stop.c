/* Failures and deadlocks in words; see report.h. */
#include "emulator/machine/stop.h"

#include "emulator/machine/async.h"
#include "emulator/machine/memory.h"
#include "ptx/ptx.h"

#include <stdarg.h>
#include <stdio.h>

/* Keeps the first failure. Takes over the launch's lock. */
void pg_stop_launch(pg_grid_run *launch, ptxgen_status status, int line, const char *message)
{
    pthread_mutex_lock(&launch->lock);
    if (launch->error.status == PTXGEN_OK)
        pg_fail_at(&launch->error, status, line ? launch->program->file : "", line, "%s", message);
    atomic_store(&launch->stopped, true);
    pthread_mutex_unlock(&launch->lock);
}

void pg_append_place(const pg_warp *w, const pg_op *op, pg_buf *out)
{
    const uint32_t *id = w->cta->id;
    pg_buf_printf(out, "line %u (%s), CTA (%u,%u,%u) warp %u: ", op->line,
                  pg_ptx_op_describe((pg_ptx_op)op->opcode)->mnemonic, id[0], id[1], id[2],
                  w->index);
}

pg_step pg_stop(pg_warp *w, const pg_op *op, ptxgen_status status, const char *format, ...)
{
    pg_buf text;
    pg_buf_init(&text, w->launch->alloc);
    pg_append_place(w, op, &text);
    va_list args;
    va_start(args, format);
    pg_buf_vprintf(&text, format, args);
    va_end(args);
    pg_stop_launch(w->launch, status, (int)op->line, pg_buf_text(&text));
    pg_buf_fini(&text);
    return PG_STOP;
}

static const char *space_name(pg_space space)
{
    static const char *const names[PG_MEM_COUNT] = {
        "generic", "global", "shared", "shared::cluster", "local", "const", "param"};
    return names[space];
}

static const pg_shared_name *shared_name(const pg_grid_run *launch, uint32_t offset)
{
    const pg_program *p = launch->program;
    for (uint32_t i = 0; i < p->shared_name_count; i++) {
        const pg_shared_name *n = &p->shared_names[i];
        if (offset >= n->offset && (!n->bytes || offset - n->offset < n->bytes))
            return n;
    }
    return NULL;
}

static void describe_shared(const pg_grid_run *launch, uint64_t address, pg_buf *out)
{
    const uint32_t offset = PG_SHARED_OFFSET(address);
    const pg_shared_name *n = shared_name(launch, offset);
    if (n)
        pg_buf_printf(out, "%s + %u, ", n->name, offset - n->offset);
    pg_buf_printf(out, "shared offset %u", offset);
    if (launch->ctas_per_cluster > 1)
        pg_buf_printf(out, " of CTA rank %u", (unsigned)(address >> PG_SHARED_RANK_SHIFT & 0xff));
}

/* The last buffer that begins at or before the address; NULL: none that is near. */
static const pg_buffer *buffer_below(const pg_grid_run *launch, uint64_t address)
{
    const pg_buffer *below = NULL;
    for (uint32_t i = 0; i < launch->memory.count; i++)
        if (launch->memory.buffers[i].address <= address)
            below = &launch->memory.buffers[i];
    return below && address - below->address < below->bytes + (1u << 20) ? below : NULL;
}

const char *pg_object_at(const pg_grid_run *launch, pg_space space, uint64_t address)
{
    if (space == PG_MEM_GENERIC)
        space = pg_generic_space(address, &address);
    if (space == PG_MEM_SHARED || space == PG_MEM_CLUSTER) {
        const pg_shared_name *n = shared_name(launch, PG_SHARED_OFFSET(address));
        return n ? n->name : "";
    }
    const pg_buffer *b = space == PG_MEM_GLOBAL ? buffer_below(launch, address) : NULL;
    return b ? b->name : "";
}

void pg_describe_address(const pg_grid_run *launch, pg_space space, uint64_t address, pg_buf *out)
{
    if (space == PG_MEM_GENERIC)
        space = pg_generic_space(address, &address);
    if (space == PG_MEM_SHARED || space == PG_MEM_CLUSTER) {
        describe_shared(launch, address, out);
        return;
    }
    if (space == PG_MEM_LOCAL || space == PG_MEM_PARAM) {
        pg_buf_printf(out, "%s offset %llu", space_name(space), (unsigned long long)address);
        return;
    }
    const pg_buffer *below = buffer_below(launch, address);
    if (below)
        pg_buf_printf(out, "%s + %llu (%llu bytes)", below->name,
                      (unsigned long long)(address - below->address),
                      (unsigned long long)below->bytes);
    else
        pg_buf_printf(out, "0x%llx", (unsigned long long)address);
}

pg_step pg_stop_fault(pg_warp *w, const pg_op *op, const pg_fault *fault)
{
    pg_buf text;
    pg_buf_init(&text, w->launch->alloc);
    pg_append_place(w, op, &text);
    pg_buf_printf(&text, "lane %u: %s of %u bytes at ", fault->lane,
                  fault->write ? "write" : "read", fault->bytes);
    pg_describe_address(w->launch, fault->space, fault->address, &text);
    pg_buf_printf(&text, " (%s address 0x%llx) %s", space_name(fault->space),
                  (unsigned long long)fault->address, fault->what);
    uint64_t unused;
    const pg_space space =
        fault->space == PG_MEM_GENERIC ? pg_generic_space(fault->address, &unused) : fault->space;
    if (space == PG_MEM_SHARED || space == PG_MEM_CLUSTER)
        pg_buf_printf(&text,
                      "; the dynamic part of shared memory has %u bytes (launch.dynamic_shared)",
                      w->launch->dynamic_shared);
    pg_stop_launch(w->launch, PTXGEN_EEMULATOR, (int)op->line, pg_buf_text(&text));
    pg_buf_fini(&text);
    return PG_STOP;
}

void pg_stop_budget(pg_grid_run *launch, uint64_t instructions)
{
    char message[200];
    snprintf(message, sizeof message,
             "the program was stopped after %llu warp instructions, perhaps in an endless loop: "
             "the budget is %llu "
             "(config.instruction_budget)",
             (unsigned long long)instructions, (unsigned long long)launch->instruction_budget);
    pg_stop_launch(launch, PTXGEN_EBUDGET, 0, message);
}

void pg_stop_memory(pg_grid_run *launch, size_t bytes)
{
    char message[200];
    const bool budget =
        launch->memory_budget && atomic_load(&launch->memory_used) + bytes > launch->memory_budget;
    if (budget)
        snprintf(message, sizeof message,
                 "the program needs %llu bytes of emulated memory; the budget is %llu "
                 "(config.memory_budget)",
                 (unsigned long long)(atomic_load(&launch->memory_used) + bytes),
                 (unsigned long long)launch->memory_budget);
    else
        snprintf(message, sizeof message, "out of memory: %zu bytes were asked for", bytes);
    pg_stop_launch(launch, budget ? PTXGEN_EBUDGET : PTXGEN_ENOMEM, 0, message);
}
