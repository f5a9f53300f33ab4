/* Checking mode: the shadow of tensor memory and the judgement on every access to it; see
 * tensor.h. */
#include "emulator/check/tensor.h"

#include "emulator/machine/async.h"
#include "emulator/machine/stop.h"

#include <stdio.h>

/* ---- the ISA's order ---- */

bool pg_tensor_keeps_order(pg_tensor_action first, pg_tensor_action second)
{
    static const bool kept[PG_TENSOR_ACTIONS][PG_TENSOR_ACTIONS] = {
        [PG_TENSOR_MMA] = {[PG_TENSOR_MMA] = true, [PG_TENSOR_SHIFT] = true},
        [PG_TENSOR_CP] = {[PG_TENSOR_MMA] = true},
        [PG_TENSOR_CP_4X256B] = {[PG_TENSOR_MMA] = true},
        [PG_TENSOR_SHIFT] = {[PG_TENSOR_MMA] = true, [PG_TENSOR_CP_4X256B] = true},
    };
    return kept[first][second];
}

static bool in_order(const pg_tensor_record *r, const pg_tensor_actor *a)
{
    const bool both_mma = r->action == PG_TENSOR_MMA && a->action == PG_TENSOR_MMA;
    return pg_tensor_keeps_order((pg_tensor_action)r->action, a->action) &&
           (!both_mma || r->sequence == a->sequence);
}

/* ---- who knows what ---- */

/* Whether the vectors of all lanes that act hold the component. */
static bool all_rely_on(const pg_tensor_actor *a, uint32_t agent, uint32_t clock)
{
    const pg_tensor_warp *t = pg_warp_check_of(a->warp)->tensor;
    const pg_vector *last = NULL;
    for (uint32_t left = a->lanes; left; left &= left - 1) {
        const pg_vector *v = t->relied[__builtin_ctz(left)];
        if ((!v || v != last) && pg_vector_at(v, (uint16_t)agent) < clock)
            return false;
        last = v;
    }
    return true;
}

typedef enum knowledge_part { SEEN, ORDERED } knowledge_part;

static bool all_have(const pg_tensor_actor *a, knowledge_part part, uint32_t agent, uint32_t clock)
{
    const pg_warp_check *k = pg_warp_check_of(a->warp);
    const uint32_t own = (uint32_t)pg_warp_agent(a->warp);
    for (uint32_t left = a->lanes; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        const pg_vector *v = part == SEEN ? k->lane[l].seen : k->lane[l].ordered;
        if (agent != own + l && pg_vector_at(v, (uint16_t)agent) < clock)
            return false;
    }
    return true;
}

/* Of one thread; instructions of whole warps are of every thread of theirs. */
static bool same_thread(const pg_tensor_record *r, const pg_tensor_actor *a)
{
    const uint32_t base = pg_warp_agent(a->warp), lane = (uint32_t)__builtin_ctz(a->lanes);
    if (r->thread / PG_LANES != base / PG_LANES)
        return false;
    return pg_tensor_is_move((pg_tensor_action)r->action) || pg_tensor_is_move(a->action) ||
           r->thread == base + lane;
}

/* ---- reports ---- */

static const char *name_of(pg_tensor_action a)
{
    static const char *const names[PG_TENSOR_ACTIONS] = {"mma",   "cp", "cp.4x256b",
                                                         "shift", "ld", "st"};
    return names[a];
}

typedef struct place {
    const pg_cta *cta;
    uint32_t lane, column;
} place;

static void report(const pg_tensor_actor *a, const place *at, ptxgen_emulator_report_kind kind,
                   const pg_tensor_record *r, const char *text)
{
    char where[80];
    snprintf(where, sizeof where, "tensor memory of CTA rank %u, lane %u, column %u", at->cta->rank,
             at->lane, at->column);
    const pg_check_conflict c = {.warp = a->warp,
                                 .op = a->op,
                                 .lane = (uint32_t)__builtin_ctz(a->lanes),
                                 .kind = kind,
                                 .other = r ? &a->warp->launch->program->ops[r->op] : NULL,
                                 .where = where};
    pg_check_report_conflict(&c, text);
}

/* One thread (or warp) does both, and the ISA does not keep their order. */
static void report_own(const pg_tensor_actor *a, const place *at, const pg_tensor_record *r)
{
    const pg_tensor_action first = (pg_tensor_action)r->action;
    char text[200];
    if (pg_tensor_is_move(first)) {
        snprintf(text, sizeof text, "%s -> %s: tcgen05.wait::%s must come between them",
                 name_of(first), name_of(a->action), name_of(first));
        report(a, at, PTXGEN_EMULATOR_REPORT_TENSOR_NOT_WAITED, r, text);
    } else if (pg_tensor_is_move(a->action)) {
        snprintf(text, sizeof text,
                 "%s -> %s: a commit must be waited for between them, then comes fence::after",
                 name_of(first), name_of(a->action));
        report(a, at, PTXGEN_EMULATOR_REPORT_TENSOR_NOT_WAITED, r, text);
    } else {
        snprintf(
            text, sizeof text,
            "relies on %s -> %s%s, which the ISA does not order: wait for a commit between them",
            name_of(first), name_of(a->action),
            pg_tensor_keeps_order(first, a->action) ? " of another accumulator, shape or kind"
                                                    : "");
        report(a, at, PTXGEN_EMULATOR_REPORT_TENSOR_ORDER, r, text);
    }
}

/* Two threads that synchronised, but not as tcgen05 needs it. */
static void report_synchronised(const pg_tensor_actor *a, const place *at,
                                const pg_tensor_record *r)
{
    const pg_tensor_action first = (pg_tensor_action)r->action;
    char text[200];
    if (in_order(r, a)) {
        snprintf(text, sizeof text,
                 "%s -> %s of two threads: the first needs tcgen05.fence::before_thread_sync "
                 "before they "
                 "synchronise",
                 name_of(first), name_of(a->action));
        report(a, at, PTXGEN_EMULATOR_REPORT_MISSING_TENSOR_FENCE, r, text);
        return;
    }
    snprintf(text, sizeof text,
             "%s -> %s of two threads: the first must wait for %s%s before they synchronise",
             name_of(first), name_of(a->action),
             pg_tensor_is_move(first) ? "wait::" : "the mbarrier of a commit",
             pg_tensor_is_move(first) ? name_of(first) : "");
    report(a, at, PTXGEN_EMULATOR_REPORT_TENSOR_NOT_WAITED, r, text);
}

static void report_conflict(const pg_tensor_actor *a, const place *at, const pg_tensor_record *r)
{
    const uint32_t weaker = r->agent + 1u;
    const bool issue_known = in_order(r, a) && all_have(a, ORDERED, weaker, r->clock);
    if (all_have(a, ORDERED, r->agent, r->clock) || (issue_known && !same_thread(r, a)))
        report(a, at, PTXGEN_EMULATOR_REPORT_MISSING_TENSOR_FENCE, r,
               "tcgen05.fence::after_thread_sync must come between the synchronisation and this "
               "instruction");
    else if (pg_tensor_is_move((pg_tensor_action)r->action) &&
             all_have(a, ORDERED, weaker, r->clock))
        report(a, at, PTXGEN_EMULATOR_REPORT_MISSING_TENSOR_FENCE, r,
               "the other thread needs tcgen05.fence::before_thread_sync between its tcgen05.wait "
               "and the "
               "synchronisation");
    else if (same_thread(r, a))
        report_own(a, at, r);
    else if (all_have(a, SEEN, r->thread, r->time))
        report_synchronised(a, at, r);
    else
        report(a, at, PTXGEN_EMULATOR_REPORT_RACE_TENSOR, r, "nothing orders the two accesses");
}

/* ---- judgement ---- */

/* The fences that let the access follow another thread's: after_thread_sync in this one, and
 * before_thread_sync in the other unless a commit implied it. */
static void mark_fences(const pg_tensor_actor *a, const pg_tensor_record *r, bool by_commit)
{
    pg_checker *k = a->warp->launch->checker;
    const pg_op *ops = a->warp->launch->program->ops;
    const pg_cluster *c = a->warp->cta->cluster;
    const uint32_t warp = r->thread / PG_LANES, per_cta = c->ctas[0].warp_count;
    const pg_op *after = pg_warp_check_of(a->warp)->tensor->after[__builtin_ctz(a->lanes)];
    const pg_tensor_warp *other =
        pg_warp_check_of(&c->ctas[warp / per_cta].warps[warp % per_cta])->tensor;
    const pg_op *before = by_commit || !other ? NULL : other->before[r->thread % PG_LANES];
    if (after)
        k->fence_use[after - ops] |= 2;
    if (before)
        k->fence_use[before - ops] |= 2;
}

/* False: it was reported. */
static bool judge(const pg_tensor_actor *a, const place *at, const pg_tensor_record *r)
{
    const bool own = same_thread(r, a), complete = all_rely_on(a, r->agent, r->clock);
    if (!complete && !(in_order(r, a) && (own || all_rely_on(a, r->agent + 1u, r->clock)))) {
        report_conflict(a, at, r);
        return false;
    }
    if (!own)
        mark_fences(a, r, complete && !pg_tensor_is_move((pg_tensor_action)r->action));
    return true;
}

/* An access in progress: what it leaves behind, and the last record that it was judged against,
 * since neighbouring words mostly hold the same. */
typedef struct touching {
    const pg_tensor_actor *actor;
    const pg_tensor_area *area;
    pg_tensor_record record, judged;
    place at;
    bool reported; /* something, at this entry */
} touching;

static bool is_same(const pg_tensor_record *a, const pg_tensor_record *b)
{
    return a->agent == b->agent && a->clock == b->clock && a->action == b->action &&
           a->sequence == b->sequence;
}

static void consider(touching *t, const pg_tensor_record *r, uint16_t lanes)
{
    if (!(r->lanes & lanes) || (t->judged.lanes && is_same(&t->judged, r)))
        return;
    t->reported |= !judge(t->actor, &t->at, r);
    t->judged = *r;
}

static void remember_read(pg_tensor_entry *e, const pg_tensor_record *record)
{
    int empty = -1;
    for (int i = 0; i < PG_TENSOR_READS; i++) {
        pg_tensor_record *r = &e->reads[i];
        if (r->lanes && r->agent == record->agent && !(r->lanes & ~record->lanes)) {
            *r = *record; /* whoever knows the later of an agent's operations knows the earlier */
            return;
        }
        if (!r->lanes)
            empty = i;
    }
    e->reads[empty >= 0 ? empty : (int)(record->clock % PG_TENSOR_READS)] = *record;
}

static void remember_write(pg_tensor_entry *e, const pg_tensor_record *record)
{
    e->write = *record;
    e->written |= record->lanes;
    for (int i = 0; i < PG_TENSOR_READS; i++)
        if (!(e->reads[i].lanes & ~record->lanes))
            e->reads[i].lanes = 0;
}

static void touch_entry(touching *t, pg_tensor_entry *e, uint16_t lanes)
{
    consider(t, &e->write, lanes);
    for (int i = 0; t->area->writes && i < PG_TENSOR_READS; i++)
        consider(t, &e->reads[i], lanes);
    if (t->area->reads && (e->written & lanes) != lanes) {
        t->at.lane += (uint32_t)__builtin_ctz((unsigned)(lanes & ~e->written));
        report(t->actor, &t->at, PTXGEN_EMULATOR_REPORT_UNINITIALIZED, NULL,
               "nothing has written this tensor memory since its allocation");
        e->written |= lanes; /* once */
        t->reported = true;
    }
    t->record.lanes = lanes;
    if (t->area->writes)
        remember_write(e, &t->record);
    else
        remember_read(e, &t->record);
}

/* Neighbouring entries mostly hold the same and so become the same: where the first was found
 * good, the others are copied. */
static void touch_band(touching *t, pg_tensor_shadow *s, uint32_t band)
{
    pg_tensor_entry before, after;
    bool known = false;
    for (uint32_t i = 0; i < t->area->columns; i++) {
        const uint32_t column = (t->area->column + i) % PG_TENSOR_COLUMNS;
        pg_tensor_entry *e = &s->entry[band][column];
        if (known && !memcmp(e, &before, sizeof before)) {
            *e = after;
            continue;
        }
        t->at.lane = band * PG_TENSOR_BAND;
        t->at.column = column;
        t->reported = false;
        before = *e;
        touch_entry(t, e, t->area->lanes[band]);
        after = *e;
        known = !t->reported;
    }
}

void pg_tensor_touch(const pg_tensor_actor *a, pg_cta *cta, const pg_tensor_area *area)
{
    pg_tensor_shadow *s = pg_tensor_shadow_of(cta);
    if (!s || !pg_tensor_warp_of(a->warp))
        return;
    const uint32_t lane = pg_tensor_is_move(a->action) ? 0 : (uint32_t)__builtin_ctz(a->lanes);
    touching t = {.actor = a, .area = area, .at = {.cta = cta}};
    t.record = (pg_tensor_record){.op = pg_pc_of(a->warp, a->op),
                                  .clock = a->clock,
                                  .time = pg_warp_check_of(a->warp)->now,
                                  .sequence = a->sequence,
                                  .agent = a->agent,
                                  .thread = (uint16_t)(pg_warp_agent(a->warp) + lane),
                                  .action = (uint8_t)a->action};
    for (uint32_t band = 0; band < PG_TENSOR_BANDS; band++)
        if (area->lanes[band])
            touch_band(&t, s, band);
}

/* ---- allocation ---- */

pg_tensor_shadow *pg_tensor_shadow_of(pg_cta *cta)
{
    pg_cta_check *k = pg_cta_check_of(cta);
    if (!k->tensor)
        k->tensor = pg_alloc_zero(cta->cluster->launch->alloc, sizeof *k->tensor);
    return k->tensor;
}

void pg_check_tensor_shadow_free(pg_cta *cta)
{
    pg_cta_check *k = pg_cta_check_of(cta);
    if (k->tensor)
        pg_free(cta->cluster->launch->alloc, k->tensor, sizeof *k->tensor);
    k->tensor = NULL;
}

void pg_check_tensor_alloc(pg_cta *cta, uint32_t column, uint32_t columns)
{
    pg_tensor_shadow *s = pg_tensor_shadow_of(cta);
    for (uint32_t band = 0; s && band < PG_TENSOR_BANDS; band++)
        memset(&s->entry[band][column], 0, columns * sizeof s->entry[band][column]);
}

/* Some lane knows that the operation is over: tcgen05.dealloc is synchronous, so no fence need
 * follow the synchronisation, and a finished ld or st needs none before it. */
static bool is_over(const pg_warp *w, const pg_tensor_record *r)
{
    const pg_warp_check *k = pg_warp_check_of(w);
    const uint16_t known = (uint16_t)(r->agent + pg_tensor_is_move((pg_tensor_action)r->action));
    for (uint32_t l = 0; l < PG_LANES; l++)
        if (pg_vector_at(k->lane[l].ordered, known) >= r->clock ||
            pg_vector_at(k->tensor->relied[l], r->agent) >= r->clock)
            return true;
    return false;
}

static void check_freed(const pg_tensor_actor *a, const place *at, const pg_tensor_record *r)
{
    char text[120];
    if (!r->lanes || is_over(a->warp, r))
        return;
    snprintf(text, sizeof text,
             "nothing says that this %s is over when its tensor memory is given back",
             name_of((pg_tensor_action)r->action));
    report(a, at, PTXGEN_EMULATOR_REPORT_TENSOR_FREED, r, text);
}

void pg_check_tensor_dealloc(pg_warp *w, const pg_op *op, uint32_t column, uint32_t columns)
{
    const pg_tensor_shadow *s = pg_tensor_shadow_of(w->cta);
    const pg_tensor_actor a = {.warp = w, .op = op, .lanes = 1};
    if (!s || !pg_tensor_warp_of(w))
        return;
    for (uint32_t band = 0; band < PG_TENSOR_BANDS; band++)
        for (uint32_t i = column; i < column + columns; i++) {
            const pg_tensor_entry *e = &s->entry[band][i];
            const place at = {w->cta, band * PG_TENSOR_BAND, i};
            check_freed(&a, &at, &e->write);
            for (int n = 0; n < PG_TENSOR_READS; n++)
                check_freed(&a, &at, &e->reads[n]);
        }
}

/* ---- what is kept about a warp ---- */

pg_tensor_warp *pg_tensor_warp_of(pg_warp *w)
{
    pg_warp_check *k = pg_warp_check_of(w);
    if (!k->tensor)
        k->tensor = pg_alloc_zero(w->launch->alloc, sizeof *k->tensor);
    return k->tensor;
}

void pg_check_tensor_free(pg_warp *w)
{
    pg_warp_check *k = pg_warp_check_of(w);
    if (!k->tensor)
        return;
    for (int l = 0; l < PG_LANES; l++)
        pg_vector_drop(w->launch->checker, &k->tensor->relied[l]);
    pg_free(w->launch->alloc, k->tensor, sizeof *k->tensor);
    k->tensor = NULL;
}
