/* The message of a deadlock: every barrier that lacks something, every group of lanes and what
 * it waits for. */
#include "emulator/run/deadlock.h"

#include "emulator/machine/observer.h"
#include "emulator/machine/stop.h"
#include "emulator/memory/barrier.h"
#include "emulator/tensor/tensor_memory.h"
#include "ptx/ptx.h"

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
                          i, b->arrived, pg_barrier_expects(cta, b));
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

/* Lanes that the group waits for at a .sync instruction and that stand at one themselves: they
 * went past this one. */
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

/* The first warp whose lanes are at different .sync instructions, in words; its line, 0: there
 * is none. */
static int append_cause(const pg_cta *cta, pg_buf *out)
{
    for (uint32_t k = 0; k < cta->warp_count; k++) {
        const pg_warp *w = &cta->warps[k];
        for (uint32_t i = 0; i < w->group_count; i++) {
            const pg_group *g = &w->groups[i];
            const uint32_t gone = lanes_gone_past(w, g);
            if (!gone)
                continue;
            pg_append_place(w, &w->launch->program->ops[g->pc], out);
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

void pg_stop_deadlock(pg_cluster *c)
{
    pg_buf text;
    pg_buf_init(&text, c->launch->alloc);
    pg_buf_printf(&text, "deadlock in cluster %llu: ", (unsigned long long)c->index);
    int line = 0;
    PG_OBSERVE(c->launch, stuck, c);
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
    pg_stop_launch(c->launch, PTXGEN_EEMULATOR, line, pg_buf_text(&text));
    pg_buf_fini(&text);
}
