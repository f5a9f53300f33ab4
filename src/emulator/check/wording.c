/* What checking mode reports: who, where and what else, for findings.h. */
#include "emulator/check/state.h"

#include "emulator/machine/stop.h"
#include "ptx/ptx.h"

static const char *mnemonic_of(const pg_op *op)
{
    return pg_ptx_op_describe((pg_ptx_op)op->opcode)->mnemonic;
}

/* The source line of an op of the program; others (made for a report) have none. */
static void set_source(const pg_grid_run *launch, const pg_op *op, const char **file, int *line)
{
    const pg_program *p = launch->program;
    if (!p->sources || op < p->ops || op >= p->ops + p->op_count || !p->sources[op - p->ops].file)
        return;
    *file = p->sources[op - p->ops].file;
    *line = (int)p->sources[op - p->ops].line;
}

/* "...; conflicts with line 12 (ld), warp 1 lane 5 of CTA (2,0,0)" */
static void append_other(const ptxgen_emulator_report *r, pg_buf *text)
{
    pg_buf_printf(text, "; conflicts with line %d (%s)", r->other_line, r->other_op);
    if (!r->other_thread)
        return;
    pg_buf_printf(text, ", warp %u", r->other_warp);
    if (r->other_lane < PG_LANES)
        pg_buf_printf(text, " lane %u", r->other_lane);
    pg_buf_printf(text, " of CTA (%u,%u,%u)", r->other_cta[0], r->other_cta[1], r->other_cta[2]);
}

static void add(pg_warp *w, const pg_op *op, ptxgen_emulator_report *r)
{
    const pg_grid_run *launch = w->launch;
    pg_buf text;
    pg_buf_init(&text, launch->alloc);
    pg_buf_puts(&text, r->text);
    if (r->other_line)
        append_other(r, &text);
    r->text = pg_buf_text(&text);
    r->line = (int)op->line;
    r->op = mnemonic_of(op);
    memcpy(r->cta, w->cta->id, sizeof r->cta);
    r->warp = w->index;
    set_source(launch, op, &r->source, &r->source_line);
    if (pg_findings_add(launch->findings, launch->program, r))
        pg_log_line(launch->log, PTXGEN_LOG_WARNING, "line %d: %s: %s%s%s", r->line,
                    ptxgen_emulator_report_name(r->kind), r->text, *r->where ? ", at " : "",
                    r->where);
    pg_buf_fini(&text);
}

static void set_other(const pg_grid_run *launch, const pg_op *other, ptxgen_emulator_report *r)
{
    r->other_line = (int)other->line;
    r->other_op = mnemonic_of(other);
    set_source(launch, other, &r->other_source, &r->other_source_line);
}

/* The thread of a record; copies have none. A striped record knows the warp only. */
static void set_other_thread(const pg_grid_run *launch, const pg_record *other,
                             ptxgen_emulator_report *r)
{
    const uint32_t *n = launch->cluster, warps = launch->warps_per_cta;
    const uint32_t agent = other->base + (unsigned)__builtin_ctz(other->lanes);
    const uint32_t rank = agent / PG_LANES / warps;
    if ((other->flags & PG_RECORD_ASYNC) || rank >= launch->ctas_per_cluster)
        return;
    r->other_thread = true;
    pg_cluster_first_ctaid(launch, other->cluster, r->other_cta);
    r->other_cta[0] += rank % n[0];
    r->other_cta[1] += rank / n[0] % n[1];
    r->other_cta[2] += rank / n[0] / n[1];
    r->other_warp = agent / PG_LANES % warps;
    r->other_lane = other->flags & PG_RECORD_STRIPED ? PG_LANES : agent % PG_LANES;
}

void pg_check_report(const pg_touch *t, ptxgen_emulator_report_kind kind, const pg_record *other,
                     const char *text)
{
    const pg_grid_run *launch = t->warp->launch;
    const pg_op *other_op = other ? &launch->program->ops[other->op] : NULL;
    const pg_space space = t->cta ? PG_MEM_CLUSTER : PG_MEM_GLOBAL;
    const uint64_t address =
        t->cta ? t->address | (uint64_t)t->cta->rank << PG_SHARED_RANK_SHIFT : t->address;
    const pg_finding_key key = {launch->program, kind, (int)t->op->line,
                                other ? (int)other_op->line : 0};
    pg_buf where;
    if (pg_findings_again(launch->findings, &key))
        return;
    pg_buf_init(&where, launch->alloc);
    pg_describe_address(launch, space, address, &where);
    ptxgen_emulator_report r = {.kind = kind,
                                .lane = t->lane,
                                .where = pg_buf_text(&where),
                                .object = pg_object_at(launch, space, address),
                                .text = text};
    if (other) {
        set_other(launch, other_op, &r);
        set_other_thread(launch, other, &r);
    }
    add(t->warp, t->op, &r);
    pg_buf_fini(&where);
}

void pg_check_report_conflict(const pg_check_conflict *c, const char *text)
{
    const pg_grid_run *launch = c->warp->launch;
    ptxgen_emulator_report r = {.kind = c->kind,
                                .lane = c->lane,
                                .where = c->where ? c->where : "",
                                .object = c->object ? c->object : "",
                                .text = text};
    const pg_finding_key key = {launch->program, c->kind, (int)c->op->line,
                                c->other ? (int)c->other->line : 0};
    if (pg_findings_again(launch->findings, &key))
        return;
    if (c->other)
        set_other(launch, c->other, &r);
    add(c->warp, c->op, &r);
}

void pg_check_complain(pg_warp *w, const pg_op *op, uint32_t lane, ptxgen_emulator_report_kind kind,
                       const char *text)
{
    const pg_check_conflict c = {.warp = w, .op = op, .lane = lane, .kind = kind};
    pg_check_report_conflict(&c, text);
}
