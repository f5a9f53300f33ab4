/* The events of config.trace in a GPU's time: noted as the replay comes upon them, told in order
 * of time when it has ended. Times are nanoseconds from the launch's begin. */
#include "emulator/clock/machine_state.h"

#include <stdlib.h>

enum { MOST_NOTES = 1 << 20 };

typedef struct note {
    ptxgen_emulator_event event;
    uint32_t number; /* events of one time stay in order */
} note;

struct pg_replay_trace {
    pg_clock_list notes;
    uint32_t operations;
    bool failed;
};

bool pg_replay_trace_start(pg_replay *r)
{
    if (!r->told->tell)
        return true;
    r->trace = pg_alloc_zero(r->clock->alloc, sizeof *r->trace);
    if (r->trace)
        r->trace->notes.bytes = sizeof(note);
    return r->trace != NULL;
}

static ptxgen_emulator_event *add_note(pg_replay *r, const pg_replay_warp *w,
                                       ptxgen_emulator_event_kind kind, double time)
{
    struct pg_replay_trace *t = r->trace;
    if (!t || t->notes.count >= MOST_NOTES)
        return NULL;
    const uint32_t i = pg_clock_list_add(&t->notes, r->clock->alloc);
    t->failed |= !i;
    if (!i)
        return NULL;
    note *n = PG_CLOCK_AT(t->notes, note, i);
    uint32_t first[3];
    const uint32_t *size = r->launch->cluster;
    n->number = i;
    n->event = (ptxgen_emulator_event){.kind = kind,
                                       .time = (uint64_t)time,
                                       .launch = r->told->launch,
                                       .cluster = w->cluster,
                                       .cta_rank = w->rank,
                                       .warp = w->index};
    pg_cluster_first_ctaid(r->launch, w->cluster, first);
    n->event.cta[0] = first[0] + w->rank % size[0];
    n->event.cta[1] = first[1] + w->rank / size[0] % size[1];
    n->event.cta[2] = first[2] + w->rank / size[0] / size[1];
    return &n->event;
}

void pg_replay_note(pg_replay *r, const pg_replay_warp *w, ptxgen_emulator_event_kind kind,
                    uint32_t event)
{
    const pg_clock_event *of = event ? PG_CLOCK_AT(r->clock->events, pg_clock_event, event) : NULL;
    if (!r->trace || (of && of->group))
        return;
    if (of && of->barrier)
        kind = kind == PTXGEN_EMULATOR_WAITS ? PTXGEN_EMULATOR_ARRIVES : PTXGEN_EMULATOR_PASSES;
    ptxgen_emulator_event *e = add_note(r, w, kind, w->time);
    if (!e || !of)
        return;
    e->barrier = of->place;
    e->barrier_cta = of->rank;
    e->phase = of->phase;
}

static const char *unit_of(const pg_clock_async *a)
{
    switch ((pg_clock_work)a->work) {
    case WORK_COPY:
    case WORK_AFTER_COPIES:
        return "cp.async";
    case WORK_WGMMA:
        return "wgmma";
    case WORK_TENSOR:
        return "tcgen05";
    case WORK_NOTHING:
        return "other";
    default:
        return a->tensor_map ? "cp.async.bulk.tensor" : "cp.async.bulk";
    }
}

void pg_replay_note_operation(pg_replay *r, const pg_replay_warp *w, const pg_clock_async *a,
                              double from, double done)
{
    const ptxgen_emulator_event_kind kinds[] = {PTXGEN_EMULATOR_ISSUES, PTXGEN_EMULATOR_COMPLETES};
    const double times[] = {from, done};
    if (!r->trace)
        return;
    const uint32_t operation = ++r->trace->operations;
    for (int i = 0; i < 2; i++) {
        ptxgen_emulator_event *e = add_note(r, w, kinds[i], times[i]);
        if (!e)
            return;
        e->operation = operation;
        e->unit = unit_of(a);
        e->bytes = a->bytes;
        e->line = a->line;
    }
}

static int earlier(const void *a, const void *b)
{
    const note *x = a, *y = b;
    if (x->event.time != y->event.time)
        return x->event.time < y->event.time ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

bool pg_replay_trace_end(pg_replay *r)
{
    struct pg_replay_trace *t = r->trace;
    if (!t)
        return true;
    const bool ok = !t->failed;
    const uint32_t count = t->notes.count ? t->notes.count - 1 : 0;
    if (count)
        qsort(PG_CLOCK_AT(t->notes, note, 1), count, sizeof(note), earlier);
    for (uint32_t i = 1; i <= count && ok; i++)
        r->told->tell(r->told->user, &PG_CLOCK_AT(t->notes, note, i)->event);
    pg_clock_list_free(&t->notes, r->clock->alloc);
    pg_free(r->clock->alloc, t, sizeof *t);
    return ok;
}
