/* What checking mode reports, in words. */
#include "emulator/check/state.h"

#include "emulator/machine/stop.h"
#include "ptx/ptx.h"

static void add(pg_warp *w, const pg_op *op, const ptxgen_emulator_report *report, const char *text)
{
    const pg_grid_run *launch = w->launch;
    ptxgen_emulator_report r = *report;
    r.line = (int)op->line;
    memcpy(r.cta, w->cta->id, sizeof r.cta);
    r.warp = w->index;
    r.text = text;
    if (pg_findings_add(launch->findings, &r))
        pg_log_line(launch->log, PTXGEN_LOG_WARNING, "line %d: %s: %s%s%s", r.line,
                    ptxgen_emulator_report_name(r.kind), text, *r.where ? ", at " : "", r.where);
}

static void describe_op(const pg_op *op, pg_buf *out)
{
    pg_buf_printf(out, "; the other access: line %u (%s)", op->line,
                  pg_ptx_op_describe((pg_ptx_op)op->opcode)->mnemonic);
}

/* ", warp 1 lane 5 of CTA (2,0,0)" of a thread; nothing for copies. A striped record knows the warp only. */
static void describe_thread(const pg_grid_run *launch, const pg_record *r, pg_buf *out)
{
    const uint32_t *n = launch->cluster, warps = launch->warps_per_cta;
    const uint32_t agent = r->base + (unsigned)__builtin_ctz(r->lanes);
    const uint32_t warp = agent / PG_LANES % warps, rank = agent / PG_LANES / warps;
    uint32_t id[3];
    if ((r->flags & PG_RECORD_ASYNC) || rank >= launch->ctas_per_cluster)
        return;
    pg_cluster_first_ctaid(launch, r->cluster, id);
    pg_buf_printf(out, ", warp %u", warp);
    if (!(r->flags & PG_RECORD_STRIPED))
        pg_buf_printf(out, " lane %u", agent % PG_LANES);
    pg_buf_printf(out, " of CTA (%u,%u,%u)", id[0] + rank % n[0], id[1] + rank / n[0] % n[1],
                  id[2] + rank / n[0] / n[1]);
}

/* "line 12 (ld), warp 1 lane 5 of CTA (2,0,0)" of an earlier access. */
static void describe_record(const pg_grid_run *launch, const pg_record *other, pg_buf *out)
{
    describe_op(&launch->program->ops[other->op], out);
    describe_thread(launch, other, out);
}

void pg_check_report(const pg_touch *t, ptxgen_emulator_report_kind kind, const pg_record *other,
                     const char *text)
{
    const pg_grid_run *launch = t->warp->launch;
    const int other_line = other ? (int)launch->program->ops[other->op].line : 0;
    pg_buf where, words;
    if (pg_findings_again(launch->findings, kind, (int)t->op->line, other_line))
        return;
    pg_buf_init(&where, launch->alloc);
    pg_buf_init(&words, launch->alloc);
    if (t->cta)
        pg_describe_address(launch, PG_MEM_CLUSTER,
                            t->address | (uint64_t)t->cta->rank << PG_SHARED_RANK_SHIFT, &where);
    else
        pg_describe_address(launch, PG_MEM_GLOBAL, t->address, &where);
    pg_buf_puts(&words, text);
    if (other)
        describe_record(launch, other, &words);
    const ptxgen_emulator_report r = {
        .kind = kind, .lane = t->lane, .where = pg_buf_text(&where), .other_line = other_line};
    add(t->warp, t->op, &r, pg_buf_text(&words));
    pg_buf_fini(&where);
    pg_buf_fini(&words);
}

void pg_check_report_conflict(const pg_check_conflict *c, const char *text)
{
    const pg_grid_run *launch = c->warp->launch;
    const int other_line = c->other ? (int)c->other->line : 0;
    pg_buf words;
    if (pg_findings_again(launch->findings, c->kind, (int)c->op->line, other_line))
        return;
    pg_buf_init(&words, launch->alloc);
    pg_buf_puts(&words, text);
    if (c->other)
        describe_op(c->other, &words);
    const ptxgen_emulator_report r = {
        .kind = c->kind, .lane = c->lane, .where = c->where, .other_line = other_line};
    add(c->warp, c->op, &r, pg_buf_text(&words));
    pg_buf_fini(&words);
}

void pg_check_complain(pg_warp *w, const pg_op *op, uint32_t lane, ptxgen_emulator_report_kind kind,
                       const char *text)
{
    const ptxgen_emulator_report r = {.kind = kind, .lane = lane, .where = ""};
    add(w, op, &r, text);
}
