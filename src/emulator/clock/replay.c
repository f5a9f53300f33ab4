/* See replay.h. */
#include "emulator/clock/machine_state.h"

enum { SUB_PARTITIONS = 4 };

const char *pg_clock_unit_name(pg_clock_unit unit)
{
    static const char *const names[UNIT_COUNT] = {
#define X(name, text, servers) text,
        PG_CLOCK_UNITS(X)
#undef X
    };
    return names[unit];
}

uint32_t pg_clock_unit_servers(pg_clock_unit unit)
{
    static const uint32_t servers[UNIT_COUNT] = {
#define X(name, text, n) n,
        PG_CLOCK_UNITS(X)
#undef X
    };
    return servers[unit];
}

/* Whether the warp may go on at w->time; else it has been put aside. */
static bool pass_event(pg_replay *r, uint32_t warp, uint32_t event)
{
    pg_replay_event *e = &r->events[event];
    pg_replay_warp *w = &r->warps[warp];
    const bool waits = e->remaining > 0 || e->time > w->time;
    if (waits && !w->waiting) {
        pg_replay_note(r, w, PTXGEN_EMULATOR_WAITS, event);
        w->waiting = true;
    }
    if (e->remaining) {
        w->next_waiter = e->waiter;
        e->waiter = warp + 1;
        return false;
    }
    /* A phase that was complete before costs nothing beyond the instruction. */
    const double wakes = e->time + pg_replay_wake_latency(r, event);
    w->time = wakes > w->time ? wakes : w->time;
    if (w->waiting)
        pg_replay_note(r, w, PTXGEN_EMULATOR_WAITED, event);
    w->waiting = false;
    return true;
}

/* ---- clusters ---- */

/* A cluster takes the warps and registers of the one that ended in its place. */
static void start_cluster(pg_replay *r, double time, uint32_t slot)
{
    if (r->next_cluster >= r->clock->clusters.count)
        return;
    const uint32_t number = r->next_cluster++;
    const pg_clock_cluster *k = PG_CLOCK_AT(r->clock->clusters, pg_clock_cluster, number);
    const uint32_t per_cta = r->launch->warps_per_cta;
    for (uint32_t i = 0; i < k->stream_count; i++) {
        const uint32_t warp = slot * k->stream_count + i;
        pg_replay_warp *w = &r->warps[warp];
        *w = (pg_replay_warp){.stream = &k->streams[i],
                              .slot = slot,
                              .cluster = k->index,
                              .rank = (uint16_t)(i / per_cta),
                              .index = (uint16_t)(i % per_cta),
                              .part = (uint16_t)((slot * per_cta + i % per_cta) % SUB_PARTITIONS),
                              .at = 1,
                              .time = time,
                              .ready = r->ready + (size_t)warp * r->clock->operations.registers};
        pg_replay_note(r, w, PTXGEN_EMULATOR_WARP_STARTS, 0);
        pg_replay_push(r, warp);
    }
    r->left[slot] = k->stream_count;
}

static void end_warp(pg_replay *r, pg_replay_warp *w)
{
    const uint32_t slot = w->slot;
    pg_replay_note(r, w, PTXGEN_EMULATOR_WARP_ENDS, 0);
    if (--r->left[slot])
        return;
    pg_clock_replay *out = r->out;
    out->first_ns = out->clusters++ ? out->first_ns : w->time;
    out->last_ns = w->time > out->last_ns ? w->time : out->last_ns;
    start_cluster(r, w->time + r->chip->cta_start_ns, slot);
}

/* ---- instructions ---- */

typedef struct pg_pipe {
    pg_clock_unit unit;
    double clocks, latency;
} pg_pipe;

static pg_pipe pipe_of(const pg_replay *r, const pg_clock_op *op)
{
    const pg_clock_chip *c = r->chip;
    switch ((pg_clock_class)op->class) {
    case CLASS_MOVE:
        return (pg_pipe){UNIT_ALU, 1, c->alu_latency};
    case CLASS_FLOAT:
        return (pg_pipe){UNIT_ALU, 1, c->alu_latency};
    case CLASS_WIDE:
        return (pg_pipe){UNIT_SPECIAL, 2, c->wide_latency};
    case CLASS_SPECIAL:
        return (pg_pipe){UNIT_SPECIAL, 8, c->special_latency};
    case CLASS_CONVERT:
        return (pg_pipe){UNIT_SPECIAL, 2, c->convert_latency};
    case CLASS_ROUTINE:
        return (pg_pipe){UNIT_ALU, 2 * op->issues, c->alu_latency * op->issues};
    case CLASS_SHUFFLE:
        return (pg_pipe){UNIT_SHARED, 1, c->shuffle_latency};
    case CLASS_MATRIX:
        return (pg_pipe){UNIT_TENSOR, op->macs / (c->mma_macs * c->mma_sync_share), c->mma_latency};
    case CLASS_INT:
        return (pg_pipe){UNIT_ALU, 2 * op->issues, c->alu_latency * (op->issues > 1 ? 2 : 1)};
    default:
        return (pg_pipe){UNIT_ISSUE, 0, 0};
    }
}

static double registers_ready(const pg_replay *r, const pg_replay_warp *w, const pg_clock_op *op)
{
    const uint32_t *use = r->clock->operations.uses + op->first;
    double at = w->time;
    for (uint32_t i = 0; i < op->reads; i++)
        at = w->ready[use[i]] > at ? w->ready[use[i]] : at;
    return at;
}

static void set_results(const pg_replay *r, const pg_replay_warp *w, const pg_clock_op *op,
                        double time)
{
    const uint32_t *use = r->clock->operations.uses + op->first + op->reads;
    for (uint32_t i = 0; i < op->writes; i++)
        w->ready[use[i]] = time;
}

/* Issue slot and pipe; the warp's time is then that of the issue, w->result that of its result. */
static void issue(pg_replay *r, pg_replay_warp *w, const pg_clock_op *op)
{
    const pg_clock_unit slots = UNIT_ISSUE;
    const uint32_t sub = w->part;
    const pg_pipe pipe = pipe_of(r, op);
    const uint32_t server = pg_clock_unit_servers(pipe.unit) > 1 ? sub : 0;
    const double width = op->issues * r->cycle;
    double at = pg_replay_serve(r, w->rank, slots, sub, w->time, width) - width;
    if (pipe.clocks > 0) {
        const double ns = pipe.clocks * r->cycle;
        const double served = pg_replay_serve(r, w->rank, pipe.unit, server, at, ns);
        at = served - ns > at ? served - ns : at;
    }
    w->time = at;
    w->issued = at + width;
    w->result = at + pipe.latency * r->cycle;
}

/* What follows from the class when the instruction is done. */
static void finish_instruction(pg_replay *r, pg_replay_warp *w, const pg_clock_op *op,
                               const pg_op *code)
{
    const pg_clock_chip *c = r->chip;
    double next = w->issued > w->time ? w->issued : w->time;
    if (op->class == CLASS_BRANCH)
        next += c->branch_latency * r->cycle;
    if (op->class == CLASS_FENCE)
        next += (op->gpu_scope ? c->fence_gpu_latency : c->fence_latency) * r->cycle;
    if (op->class == CLASS_TENSOR_MOVE) {
        const double ns = code->row_count * 128.0 / (c->tmem_width / SUB_PARTITIONS) * r->cycle;
        const double end = pg_replay_serve(r, w->rank, UNIT_TMEM, w->part, w->time, ns) +
                           c->tmem_latency * r->cycle;
        w->tensor_memory = end > w->tensor_memory ? end : w->tensor_memory;
    }
    if (op->class == CLASS_TENSOR_WAIT && w->tensor_memory > next)
        next = w->tensor_memory;
    set_results(r, w, op, w->result);
    w->time = next;
    w->detail = 0;
    w->at++;
}

/* One thing that the instruction asks for; false: the warp waits. */
static bool ask(pg_replay *r, uint32_t warp, const pg_clock_detail *d)
{
    pg_replay_warp *w = &r->warps[warp];
    double done;
    switch ((pg_clock_ask)d->ask) {
    case ASK_WAIT:
        return pass_event(r, warp, d->a);
    case ASK_ARRIVE:
        pg_replay_contribute(r, d->a, w->time);
        return true;
    case ASK_ASYNC:
        pg_replay_async(r, w, PG_CLOCK_AT(r->clock->asyncs, pg_clock_async, d->a), w->time);
        return true;
    default:
        done = pg_replay_access(r, w, d, w->time);
        if (d->ask == ASK_LOAD || d->ask == ASK_SHARED || d->returns)
            w->result = done > w->result ? done : w->result;
        if (done - PG_REPLAY_BACKLOG_NS > w->issued)
            w->issued = done - PG_REPLAY_BACKLOG_NS;
        return true;
    }
}

/* Runs the warp until it waits, ends, or another one is earlier. */
static void run_warp(pg_replay *r, uint32_t warp)
{
    pg_replay_warp *w = &r->warps[warp];
    const pg_clock_operations *all = &r->clock->operations;
    for (;;) {
        if (w->at >= w->stream->steps.count) {
            end_warp(r, w);
            return;
        }
        const pg_clock_step *s = PG_CLOCK_AT(w->stream->steps, pg_clock_step, w->at);
        const pg_clock_op *op = &all->ops[s->op];
        if (!w->detail) {
            w->time = registers_ready(r, w, op);
            if (r->heap_count && pg_replay_is_earlier(r, r->heap[0], warp)) {
                pg_replay_push(r, warp);
                return;
            }
            issue(r, w, op);
            w->detail = s->detail;
        }
        while (w->detail) {
            const pg_clock_detail *d = PG_CLOCK_AT(r->clock->details, pg_clock_detail, w->detail);
            if (!ask(r, warp, d))
                return;
            w->detail = d->next;
        }
        finish_instruction(r, w, op, &r->launch->program->ops[s->op]);
    }
}

/* ---- the whole ---- */

/* This SM runs `wanted` of the grid's clusters: so much of L2, DRAM and atomics is its own. */
static void set_shares(pg_replay *r)
{
    const pg_clock *k = r->clock;
    const pg_clock_chip *c = r->chip;
    const double share =
        (double)k->wanted / (double)r->launch->cluster_count / (double)r->launch->ctas_per_cluster;
    r->cycle = 1 / c->ghz;
    r->l2_ns = 1 / (c->l2_tbs * 1000 * share);
    r->dram_ns = 1 / (c->dram_tbs * 1000 * share);
    r->red_ns = 1 / (c->red_unit_gs * share);
    r->bulk_red_ns = 1 / (c->bulk_red_unit_gs * share);
}

static void summarize(pg_replay *r)
{
    pg_clock_replay *out = r->out;
    out->drained_ns = out->last_ns;
    for (uint32_t rank = 0; rank < r->sm_count; rank++)
        for (int u = 0; u < UNIT_COUNT; u++) {
            const uint32_t servers = pg_clock_unit_servers((pg_clock_unit)u);
            for (uint32_t s = 0; s < servers; s++) {
                const pg_clock_server *x = &r->sms[rank].units[u][s];
                out->busy[u] += x->busy / (servers * r->sm_count);
                out->drained_ns = x->free > out->drained_ns ? x->free : out->drained_ns;
            }
        }
}

static bool allocate(pg_replay *r, size_t *warps)
{
    const pg_clock *k = r->clock;
    const pg_alloc *alloc = k->alloc;
    *warps = (size_t)k->occupancy * r->launch->ctas_per_cluster * r->launch->warps_per_cta;
    r->sm_count = r->launch->ctas_per_cluster;
    r->sms = pg_alloc_zero(alloc, r->sm_count * sizeof *r->sms);
    r->events = pg_alloc_zero(alloc, (k->events.count + 1) * sizeof *r->events);
    r->warps = pg_alloc_zero(alloc, *warps * sizeof *r->warps);
    r->heap = pg_alloc_zero(alloc, *warps * sizeof *r->heap);
    r->left = pg_alloc_zero(alloc, k->occupancy * sizeof *r->left);
    r->ready = pg_alloc_zero(alloc, *warps * (k->operations.registers + 1) * sizeof *r->ready);
    return r->sms && r->events && r->warps && r->heap && r->left && r->ready;
}

static void release(pg_replay *r, size_t warps)
{
    const pg_clock *k = r->clock;
    const pg_alloc *alloc = k->alloc;
    pg_free(alloc, r->sms, r->sm_count * sizeof *r->sms);
    pg_free(alloc, r->events, (k->events.count + 1) * sizeof *r->events);
    pg_free(alloc, r->warps, warps * sizeof *r->warps);
    pg_free(alloc, r->heap, warps * sizeof *r->heap);
    pg_free(alloc, r->left, k->occupancy * sizeof *r->left);
    pg_free(alloc, r->ready, warps * (k->operations.registers + 1) * sizeof *r->ready);
}

bool pg_clock_replay_run(const pg_clock *clock, const pg_grid_run *launch,
                         const pg_clock_told *told, pg_clock_replay *out)
{
    pg_replay r = {.clock = clock,
                   .launch = launch,
                   .chip = clock->chip,
                   .told = told,
                   .next_cluster = 1,
                   .out = out};
    size_t warps;
    *out = (pg_clock_replay){0};
    bool ok = allocate(&r, &warps) && pg_replay_trace_start(&r);
    for (uint32_t i = 1; ok && i < clock->events.count; i++)
        r.events[i].remaining = PG_CLOCK_AT(clock->events, pg_clock_event, i)->contributions;
    set_shares(&r);
    for (uint32_t i = 0; ok && i < clock->occupancy; i++)
        start_cluster(&r, 0, i);
    while (ok && r.heap_count)
        run_warp(&r, pg_replay_pop(&r));
    if (ok)
        summarize(&r);
    ok &= pg_replay_trace_end(&r);
    release(&r, warps);
    return ok;
}
