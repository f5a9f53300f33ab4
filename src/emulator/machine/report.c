/* Failures and deadlocks in words; see report.h. */
#include "emulator/machine/report.h"

#include "emulator/machine/async.h"
#include "emulator/machine/memory.h"
#include "emulator/tensor/tensor_memory.h"
#include "ptx/ptx.h"

#include <stdarg.h>
#include <stdio.h>

/* Keeps the first failure. Takes over the launch's lock. */
static void fail_launch(pg_grid_run *launch, ptxgen_status status, int line, const char *message)
{
    pthread_mutex_lock(&launch->lock);
    if (launch->error.status == PTXGEN_OK)
        pg_fail_at(&launch->error, status, line ? launch->program->file : "", line, "%s", message);
    atomic_store(&launch->stopped, true);
    pthread_mutex_unlock(&launch->lock);
}

static void append_place(const pg_warp *w, const pg_op *op, pg_buf *out)
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
    append_place(w, op, &text);
    va_list args;
    va_start(args, format);
    pg_buf_vprintf(&text, format, args);
    va_end(args);
    fail_launch(w->launch, status, (int)op->line, pg_buf_text(&text));
    pg_buf_fini(&text);
    return PG_STOP;
}

static const char *space_name(pg_space space)
{
    static const char *const names[PG_MEM_COUNT] = {
        "generic", "global", "shared", "shared::cluster", "local", "const", "param"};
    return names[space];
}

void pg_describe_address(const pg_grid_run *launch, pg_space space, uint64_t address, pg_buf *out)
{
    if (space == PG_MEM_GENERIC)
        space = pg_generic_space(address, &address);
    if (space == PG_MEM_SHARED || space == PG_MEM_CLUSTER) {
        pg_buf_printf(out, "shared offset %u", PG_SHARED_OFFSET(address));
        if (launch->ctas_per_cluster > 1)
            pg_buf_printf(out, " of CTA rank %u",
                          (unsigned)(address >> PG_SHARED_RANK_SHIFT & 0xff));
        return;
    }
    if (space == PG_MEM_LOCAL || space == PG_MEM_PARAM) {
        pg_buf_printf(out, "%s offset %llu", space_name(space), (unsigned long long)address);
        return;
    }
    const pg_buffer *below = NULL;
    for (uint32_t i = 0; i < launch->memory.count; i++)
        if (launch->memory.buffers[i].address <= address)
            below = &launch->memory.buffers[i];
    if (below && address - below->address < below->bytes + (1u << 20))
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
    append_place(w, op, &text);
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
    fail_launch(w->launch, PTXGEN_EEMULATOR, (int)op->line, pg_buf_text(&text));
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
    fail_launch(launch, PTXGEN_EBUDGET, 0, message);
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
    fail_launch(launch, budget ? PTXGEN_EBUDGET : PTXGEN_ENOMEM, 0, message);
}

/* ---- deadlock ---- */

static void append_tensor_wait(const pg_cta *cta, uint32_t columns, pg_buf *out)
{
    if (columns)
        pg_buf_printf(out, " %u columns of tensor memory, of which %u are free,", columns,
                      pg_tensor_free_columns(&cta->tensor->allocator));
    else
        pg_buf_printf(out,
                      " CTA rank %u, the other of its pair, to execute the same (.cta_group::2)",
                      cta->rank ^ 1);
}

static void append_waits(const pg_warp *w, pg_buf *out)
{
    static const char *const what[] = {[PG_WAIT_NONE] = "runs",
                                       [PG_WAIT_LANES] = "waits for other lanes",
                                       [PG_WAIT_BARRIER] = "waits at barrier",
                                       [PG_WAIT_CLUSTER] = "waits for the cluster",
                                       [PG_WAIT_MBARRIER] = "waits for an mbarrier",
                                       [PG_WAIT_TENSOR] = "waits for",
                                       [PG_WAIT_ASYNC] = "waits for a group of copies",
                                       [PG_WAIT_TURN] = "sleeps"};
    const pg_op *ops = w->launch->program->ops;
    for (uint32_t i = 0; i < w->group_count; i++) {
        const pg_group *g = &w->groups[i];
        const bool polls = g->wait.kind == PG_WAIT_NONE && w->polled;
        const pg_wait_kind kind = polls ? PG_WAIT_MBARRIER : g->wait.kind;
        const pg_op *op = polls ? w->polled : &ops[g->pc];
        pg_buf_printf(out, "; CTA rank %u warp %u lanes 0x%x %s", w->cta->rank, w->index, g->lanes,
                      what[kind]);
        if (kind == PG_WAIT_BARRIER)
            pg_buf_printf(out, " %u", (unsigned)g->wait.key);
        if (kind == PG_WAIT_TENSOR)
            append_tensor_wait(w->cta, (uint32_t)g->wait.phase, out);
        if (kind == PG_WAIT_MBARRIER)
            pg_buf_printf(out, " at shared offset %u",
                          polls ? w->polled_offset : (unsigned)g->wait.key);
        pg_buf_printf(out, " at line %u (%s)", op->line,
                      pg_ptx_op_describe((pg_ptx_op)op->opcode)->mnemonic);
    }
}

static void append_barriers(const pg_cta *cta, pg_buf *out)
{
    for (uint32_t i = 0; i < PG_NAMED_BARRIERS; i++) {
        const pg_named_barrier *b = &cta->barriers[i];
        if (b->arrived)
            pg_buf_printf(out, "; CTA rank %u barrier %u: %u of %u threads have arrived", cta->rank,
                          i, b->arrived, b->whole ? cta->live_warps * PG_LANES : b->expected);
    }
    for (uint32_t i = 0; i < cta->mbarrier_count; i++) {
        const pg_mbarrier *b = &cta->mbarriers[i];
        if (b->valid)
            pg_buf_printf(out,
                          "; CTA rank %u mbarrier at shared offset %u (init at line %u): phase "
                          "%llu, %u of %u arrivals "
                          "and %d bytes pending",
                          cta->rank, b->offset, b->init_line, (unsigned long long)b->phase,
                          b->pending, b->expected, b->tx);
    }
}

/* Lanes that the group waits for at a .sync instruction and that stand at one themselves: they went past this one. */
static uint32_t lanes_gone_past(const pg_warp *w, const pg_group *g)
{
    uint32_t gone = 0;
    if (g->wait.kind != PG_WAIT_LANES)
        return 0;
    for (uint32_t i = 0; i < w->group_count; i++) {
        const pg_group *other = &w->groups[i];
        if (other->pc != g->pc &&
            (other->wait.kind == PG_WAIT_LANES || other->wait.kind == PG_WAIT_BARRIER ||
             other->wait.kind == PG_WAIT_CLUSTER))
            gone |= other->lanes & g->wait.lanes;
    }
    return gone;
}

/* The first warp whose lanes are at different .sync instructions, in words; its line, 0: there is none. */
static int append_cause(const pg_cta *cta, pg_buf *out)
{
    for (uint32_t k = 0; k < cta->warp_count; k++) {
        const pg_warp *w = &cta->warps[k];
        for (uint32_t i = 0; i < w->group_count; i++) {
            const pg_group *g = &w->groups[i];
            const uint32_t gone = lanes_gone_past(w, g);
            if (!gone)
                continue;
            append_place(w, &w->launch->program->ops[g->pc], out);
            pg_buf_printf(
                out,
                "lanes 0x%08x wait here for lanes 0x%08x, which a branch has led past: all lanes "
                "that a .sync instruction names, of .aligned ones all 32, must execute it; ",
                g->lanes, gone);
            return (int)w->launch->program->ops[g->pc].line;
        }
    }
    return 0;
}

void pg_report_deadlock(pg_cluster *c)
{
    pg_buf text;
    pg_buf_init(&text, c->launch->alloc);
    pg_buf_printf(&text, "deadlock in cluster %llu: ", (unsigned long long)c->index);
    int line = 0;
    for (uint32_t i = 0; i < c->cta_count && !line; i++)
        line = append_cause(&c->ctas[i], &text);
    pg_buf_puts(&text, "no warp can go on and no copy is in flight");
    for (uint32_t i = 0; i < c->cta_count; i++)
        append_barriers(&c->ctas[i], &text);
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t k = 0; k < c->ctas[i].warp_count; k++) {
            const pg_warp *w = &c->ctas[i].warps[k];
            append_waits(w, &text);
            if (!line && w->group_count)
                line = (int)(w->polled && w->groups[0].wait.kind == PG_WAIT_NONE
                                 ? w->polled
                                 : &c->launch->program->ops[w->groups[0].pc])
                           ->line;
        }
    pg_log_line(c->launch->log, PTXGEN_LOG_ERROR, "%s", pg_buf_text(&text));
    fail_launch(c->launch, PTXGEN_EEMULATOR, line, pg_buf_text(&text));
    pg_buf_fini(&text);
}
