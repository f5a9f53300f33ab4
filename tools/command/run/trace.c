/* The trace as events come: packets of Perfetto's protobuf (perfetto/trace/trace_packet.proto),
 * of which a trace needs a dozen fields; so they are written here rather than by a protobuf
 * library with its generated code. */
#include "command/run/trace.h"

#include "command/output.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEQUENCE = 1,
    MOST_PACKETS = 2000000, /* some 100 MB */
    SLICE_BEGIN = 1,
    SLICE_END = 2,
    COUNTER = 4
};

/* ---- protobuf ---- */

typedef struct message {
    unsigned char bytes[512];
    size_t n;
} message;

static void put_varint(message *m, uint64_t v)
{
    for (; v >= 0x80 && m->n < sizeof m->bytes; v >>= 7)
        m->bytes[m->n++] = (unsigned char)(v | 0x80);
    if (m->n < sizeof m->bytes)
        m->bytes[m->n++] = (unsigned char)v;
}

static void put_number(message *m, unsigned field, uint64_t v)
{
    put_varint(m, field << 3);
    put_varint(m, v);
}

static void put_fixed64(message *m, unsigned field, uint64_t v)
{
    put_varint(m, field << 3 | 1);
    for (int i = 0; i < 8 && m->n < sizeof m->bytes; i++)
        m->bytes[m->n++] = (unsigned char)(v >> 8 * i);
}

static void put_bytes(message *m, unsigned field, const void *bytes, size_t n)
{
    put_varint(m, field << 3 | 2);
    put_varint(m, n);
    if (n <= sizeof m->bytes - m->n) {
        memcpy(m->bytes + m->n, bytes, n);
        m->n += n;
    }
}

static void put_text(message *m, unsigned field, const char *text)
{
    const size_t n = strlen(text);
    put_bytes(m, field, text, n < 200 ? n : 200);
}

/* ---- tracks ---- */

/* A track: its name tells it from others. `open`: slices that have begun. */
typedef struct track {
    uint64_t uuid;
    uint64_t parent; /* 0: a process */
    char name[48];
    uint32_t open;
    uint32_t operation; /* of a unit's track: what runs on it; 0: none */
    /* Of a warp's: 0, or the number of its last write of shared memory, which is odd; one more
     * when it has fenced. */
    uint32_t written;
    bool waiting;  /* of a warp's: a wait is open */
    int64_t value; /* of a counter's */
} track;

/* An operation that has signalled a barrier, or completed without, and was not waited for. */
typedef struct signal {
    uint64_t cta; /* uuid of the process of the barrier's CTA, or of its own */
    uint32_t barrier, operation;
    const char *unit; /* completed without; NULL: `barrier` is signalled */
    uint32_t warp;    /* then: that issued it */
} signal;

struct run_trace {
    cli_output to;
    track *tracks;
    size_t track_count, track_room;
    signal *signals;
    size_t signal_count, signal_room;
    uint32_t signalled;         /* the last operation that did */
    uint64_t last_time, offset; /* launches follow each other on one time line */
    uint32_t launch;
    uint64_t packets;
    bool cut;
};

/* Flows of operations, of fences, of writes: numbers that do not meet. */
enum { FLOW_OPERATION = 1, FLOW_FENCE = 2, FLOW_WRITE = 3 };
static uint64_t flow_of(const run_trace *t, uint64_t number, unsigned kind)
{
    return ((uint64_t)t->launch << 40 | number) << 2 | kind;
}

static void write_packet(run_trace *t, const message *packet)
{
    unsigned char head[16];
    message m = {.n = 0};
    t->packets++;
    put_varint(&m, 1 << 3 | 2); /* Trace.packet */
    put_varint(&m, packet->n);
    memcpy(head, m.bytes, m.n);
    fwrite(head, 1, m.n, t->to.file);
    fwrite(packet->bytes, 1, packet->n, t->to.file);
}

static void write_descriptor(run_trace *t, const track *k, bool counter)
{
    message d = {.n = 0}, inner = {.n = 0}, packet = {.n = 0};
    put_number(&d, 1, k->uuid);
    if (k->parent) {
        put_text(&d, 2, k->name);
        put_number(&d, 5, k->parent);
    } else {
        put_number(&inner, 1, k->uuid); /* pid */
        put_text(&inner, 6, k->name);
        put_bytes(&d, 3, inner.bytes, inner.n);
    }
    if (counter)
        put_bytes(&d, 8, "", 0);
    put_number(&packet, 10, SEQUENCE);
    put_bytes(&packet, 60, d.bytes, d.n);
    write_packet(t, &packet);
}

static track *find_track(run_trace *t, uint64_t parent, const char *name, bool counter)
{
    for (size_t i = t->track_count; i > 0; i--)
        if (t->tracks[i - 1].parent == parent && strcmp(t->tracks[i - 1].name, name) == 0)
            return &t->tracks[i - 1];
    if (t->track_count == t->track_room) {
        const size_t room = t->track_room ? 2 * t->track_room : 64;
        track *more = cli_calloc(room, sizeof *more);
        if (t->track_count)
            memcpy(more, t->tracks, t->track_count * sizeof *more);
        free(t->tracks);
        t->tracks = more;
        t->track_room = room;
    }
    track *k = &t->tracks[t->track_count++];
    *k = (track){.uuid = t->track_count, .parent = parent};
    snprintf(k->name, sizeof k->name, "%s", name);
    write_descriptor(t, k, counter);
    return k;
}

static uint64_t cta_of(run_trace *t, const ptxgen_emulator_event *e, uint32_t rank)
{
    char name[48];
    snprintf(name, sizeof name, "launch %u cluster %llu CTA %u", e->launch,
             (unsigned long long)e->cluster, rank);
    return find_track(t, 0, name, false)->uuid;
}

/* ---- events ---- */

typedef struct flow {
    uint64_t id;
    bool ends;
} flow;

typedef struct slice {
    const char *name;
    uint32_t line;
    uint64_t bytes;
    const flow *flows;
    size_t flow_count;
} slice;

static void put_note(message *event, const char *name, uint64_t value)
{
    message note = {.n = 0};
    put_text(&note, 10, name);
    put_number(&note, 3, value);
    put_bytes(event, 4, note.bytes, note.n);
}

static void write_event(run_trace *t, track *k, int type, const slice *s)
{
    message event = {.n = 0}, packet = {.n = 0};
    put_number(&event, 9, (uint64_t)type);
    put_number(&event, 11, k->uuid);
    if (s) {
        put_text(&event, 23, s->name);
        if (s->line)
            put_note(&event, "PTX line", s->line);
        if (s->bytes)
            put_note(&event, "bytes", s->bytes);
        for (size_t i = 0; i < s->flow_count && i < 16; i++)
            put_fixed64(&event, s->flows[i].ends ? 48 : 47, s->flows[i].id);
    }
    put_number(&packet, 8, t->offset + t->last_time);
    put_number(&packet, 10, SEQUENCE);
    put_bytes(&packet, 11, event.bytes, event.n);
    if (t->packets >= MOST_PACKETS && type != SLICE_END) {
        t->cut = true;
        return;
    }
    k->open += type == SLICE_BEGIN;
    k->open -= type == SLICE_END;
    write_packet(t, &packet);
}

/* A slice of no length. */
static void mark(run_trace *t, track *k, const slice *s)
{
    write_event(t, k, SLICE_BEGIN, s);
    if (!t->cut)
        write_event(t, k, SLICE_END, NULL);
}

static void count(run_trace *t, uint64_t parent, const char *name, int64_t value)
{
    message event = {.n = 0}, packet = {.n = 0};
    if (t->cut)
        return;
    track *k = find_track(t, parent, name, true);
    k->value = value;
    put_number(&event, 9, COUNTER);
    put_number(&event, 11, k->uuid);
    put_number(&event, 30, (uint64_t)value);
    put_number(&packet, 8, t->offset + t->last_time);
    put_number(&packet, 10, SEQUENCE);
    put_bytes(&packet, 11, event.bytes, event.n);
    write_packet(t, &packet);
}

static track *warp_of(run_trace *t, const ptxgen_emulator_event *e)
{
    char name[48];
    snprintf(name, sizeof name, "warp %u", e->warp);
    return find_track(t, cta_of(t, e, e->cta_rank), name, false);
}

/* The first track of the unit on which `operation` (0: nothing) runs; slices of one track cannot
 * overlap. */
static track *unit_track(run_trace *t, const ptxgen_emulator_event *e, uint32_t operation)
{
    char name[48];
    const uint64_t cta = cta_of(t, e, e->cta_rank);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "%s %d", e->unit, i);
        if (operation) { /* it must exist */
            for (size_t k = 0; k < t->track_count; k++)
                if (t->tracks[k].parent == cta && t->tracks[k].operation == operation)
                    return &t->tracks[k];
            return NULL;
        }
        track *k = find_track(t, cta, name, false);
        if (k->operation == 0)
            return k;
    }
    return NULL;
}

static int64_t in_flight(const run_trace *t, uint64_t cta)
{
    int64_t n = 0;
    for (size_t k = 0; k < t->track_count; k++)
        n += t->tracks[k].parent == cta && t->tracks[k].operation != 0;
    return n;
}

/* The fences of a CTA since the last operation that read its shared memory; none when a warp has
 * written since its own: then nothing orders the two, and no flow arrives. */
static size_t fences_of(run_trace *t, uint64_t cta, flow *flows, size_t room)
{
    size_t n = 0;
    for (size_t k = 0; k < t->track_count; k++) {
        track *w = &t->tracks[k];
        if (w->parent != cta || strncmp(w->name, "warp ", 5) != 0 || !w->written)
            continue;
        if (w->written & 1) /* written and not fenced */
            return 0;
        if (n < room)
            flows[n++] = (flow){flow_of(t, w->written, FLOW_FENCE), true};
        w->written = 0;
    }
    return n;
}

static void on_issue(run_trace *t, const ptxgen_emulator_event *e)
{
    flow flows[16] = {{flow_of(t, e->operation, FLOW_OPERATION), false}};
    const uint64_t cta = cta_of(t, e, e->cta_rank);
    const size_t n = 1 + (e->reads_shared ? fences_of(t, cta, flows + 1, 15) : 0);
    mark(t, warp_of(t, e), &(slice){e->unit, e->line, e->bytes, flows, n});
    track *k = unit_track(t, e, 0);
    if (!k || t->cut)
        return;
    k->operation = e->operation;
    write_event(t, k, SLICE_BEGIN, &(slice){e->unit, e->line, e->bytes, flows, 1});
    count(t, cta, "operations in flight", in_flight(t, cta));
}

static void add_signal(run_trace *t, signal s)
{
    if (t->signal_count == t->signal_room) {
        const size_t room = t->signal_room ? 2 * t->signal_room : 64;
        signal *more = cli_calloc(room, sizeof *more);
        if (t->signal_count)
            memcpy(more, t->signals, t->signal_count * sizeof *more);
        free(t->signals);
        t->signals = more;
        t->signal_room = room;
    }
    t->signals[t->signal_count++] = s;
}

static void on_signal(run_trace *t, const ptxgen_emulator_event *e)
{
    t->signalled = e->operation;
    add_signal(t, (signal){.cta = cta_of(t, e, e->barrier_cta),
                           .barrier = e->barrier,
                           .operation = e->operation});
}

static void on_complete(run_trace *t, const ptxgen_emulator_event *e)
{
    track *k = unit_track(t, e, e->operation);
    if (!k)
        return;
    k->operation = 0;
    write_event(t, k, SLICE_END, NULL);
    const uint64_t cta = cta_of(t, e, e->cta_rank);
    count(t, cta, "operations in flight", in_flight(t, cta));
    if (t->signalled != e->operation)
        add_signal(
            t, (signal){.cta = cta, .operation = e->operation, .unit = e->unit, .warp = e->warp});
}

/* Is it what this wait has waited for: the barrier's phase, or the warp's groups of a unit? A wait
 * for bulk groups is for those of tensor copies as well. */
static bool is_waited_for(const signal *s, uint64_t cta, const ptxgen_emulator_event *e)
{
    if (s->cta != cta || !s->unit != (e->kind == PTXGEN_EMULATOR_WAITED))
        return false;
    if (!s->unit)
        return s->barrier == e->barrier;
    const bool bulk = strcmp(e->unit, "cp.async.bulk") == 0;
    return s->warp == e->warp &&
           (bulk ? strncmp(s->unit, e->unit, strlen(e->unit)) : strcmp(s->unit, e->unit)) == 0;
}

/* The first wait that sees operations done ends their flows. */
static void end_flows(run_trace *t, const ptxgen_emulator_event *e, uint64_t cta)
{
    enum { MOST = 16 };
    const char *name = e->kind == PTXGEN_EMULATOR_WAITED ? "first reader" : "waited for groups";
    flow flows[MOST];
    size_t n, kept;
    do {
        n = kept = 0;
        for (size_t i = 0; i < t->signal_count; i++) {
            const signal s = t->signals[i];
            if (n < MOST && is_waited_for(&s, cta, e))
                flows[n++] = (flow){flow_of(t, s.operation, FLOW_OPERATION), true};
            else
                t->signals[kept++] = s;
        }
        t->signal_count = kept;
        if (n)
            mark(t, warp_of(t, e), &(slice){name, e->line, 0, flows, n});
    } while (n == MOST);
}

static void on_waited(run_trace *t, const ptxgen_emulator_event *e)
{
    const uint64_t cta = cta_of(t, e, e->barrier_cta);
    track *w = warp_of(t, e);
    if (w->waiting)
        write_event(t, w, SLICE_END, NULL);
    w->waiting = false;
    end_flows(t, e, cta);
}

static void begin_wait(run_trace *t, const ptxgen_emulator_event *e, const char *name)
{
    track *w = warp_of(t, e);
    if (w->waiting)
        return;
    write_event(t, w, SLICE_BEGIN, &(slice){.name = name, .line = e->line});
    w->waiting = !t->cut;
}

static void end_wait(run_trace *t, const ptxgen_emulator_event *e)
{
    track *w = warp_of(t, e);
    if (w->waiting)
        write_event(t, w, SLICE_END, NULL);
    w->waiting = false;
}

static void on_write(run_trace *t, const ptxgen_emulator_event *e)
{
    track *w = warp_of(t, e);
    w->written = (uint32_t)(t->packets << 1 | 1);
    const flow f = {flow_of(t, w->written, FLOW_WRITE), false};
    mark(t, w, &(slice){"writes shared memory", e->line, 0, &f, 1});
}

static void on_fence(run_trace *t, const ptxgen_emulator_event *e)
{
    track *w = warp_of(t, e);
    const bool wrote = w->written & 1;
    flow flows[2] = {{flow_of(t, w->written + 1, FLOW_FENCE), false},
                     {flow_of(t, w->written, FLOW_WRITE), true}};
    mark(t, w, &(slice){"fence.proxy.async", e->line, 0, flows, wrote ? 2 : 0});
    w->written += wrote;
}

/* ---- memory in use ---- */

static const char shared_counter[] = "shared memory bytes",
                  tensor_counter[] = "tensor memory columns";

static void on_start(run_trace *t, const ptxgen_emulator_event *e)
{
    const uint64_t cta = cta_of(t, e, e->cta_rank);
    write_event(t, warp_of(t, e), SLICE_BEGIN, &(slice){.name = "warp"});
    if (e->warp == 0)
        count(t, cta, shared_counter, (int64_t)e->bytes);
}

/* The last warp's end is the CTA's. */
static void on_end(run_trace *t, const ptxgen_emulator_event *e)
{
    const uint64_t cta = cta_of(t, e, e->cta_rank);
    bool others = false;
    if (warp_of(t, e)->open)
        write_event(t, warp_of(t, e), SLICE_END, NULL);
    for (size_t i = 0; i < t->track_count; i++)
        others |= t->tracks[i].parent == cta && t->tracks[i].open &&
                  strncmp(t->tracks[i].name, "warp ", 5) == 0;
    if (!others)
        count(t, cta, shared_counter, 0);
}

static void on_tensor(run_trace *t, const ptxgen_emulator_event *e)
{
    const uint64_t cta = cta_of(t, e, e->cta_rank);
    const int64_t now = find_track(t, cta, tensor_counter, true)->value, change = e->columns;
    count(t, cta, tensor_counter,
          e->kind == PTXGEN_EMULATOR_TENSOR_ALLOCATES ? now + change : now - change);
}

void run_trace_event(run_trace *t, const ptxgen_emulator_event *e)
{
    char name[40];
    if (e->launch != t->launch) {
        t->offset += t->last_time + 1;
        t->launch = e->launch;
    }
    t->last_time = e->time;
    switch (e->kind) {
    case PTXGEN_EMULATOR_WARP_STARTS:
        on_start(t, e);
        break;
    case PTXGEN_EMULATOR_WARP_ENDS:
        end_wait(t, e);
        on_end(t, e);
        break;
    case PTXGEN_EMULATOR_ISSUES:
        on_issue(t, e);
        break;
    case PTXGEN_EMULATOR_SIGNALS:
        on_signal(t, e);
        break;
    case PTXGEN_EMULATOR_COMPLETES:
        on_complete(t, e);
        break;
    case PTXGEN_EMULATOR_PHASE:
        snprintf(name, sizeof name, "mbarrier %u phase", e->barrier);
        count(t, cta_of(t, e, e->barrier_cta), name, (int64_t)e->phase);
        break;
    case PTXGEN_EMULATOR_WAITS:
        begin_wait(t, e, "waits for an mbarrier");
        break;
    case PTXGEN_EMULATOR_WAITED:
        on_waited(t, e);
        break;
    case PTXGEN_EMULATOR_ARRIVES:
        snprintf(name, sizeof name, "barrier %u", e->barrier);
        begin_wait(t, e, name);
        break;
    case PTXGEN_EMULATOR_PASSES:
        end_wait(t, e);
        break;
    case PTXGEN_EMULATOR_FENCES:
        on_fence(t, e);
        break;
    case PTXGEN_EMULATOR_WRITES:
        on_write(t, e);
        break;
    case PTXGEN_EMULATOR_GROUPS_WAITED:
        end_flows(t, e, cta_of(t, e, e->cta_rank));
        break;
    case PTXGEN_EMULATOR_TENSOR_ALLOCATES:
    case PTXGEN_EMULATOR_TENSOR_FREES:
        on_tensor(t, e);
        break;
    case PTXGEN_EMULATOR_TENSOR_USES: /* too many for a track */
        break;
    }
}

ptxgen_status run_trace_open(const char *path, run_trace **out, ptxgen_error *err)
{
    *out = NULL;
    if (!path)
        return PTXGEN_OK;
    run_trace *t = cli_calloc(1, sizeof *t);
    const ptxgen_status status = cli_output_open(&t->to, path, true, err);
    if (status != PTXGEN_OK)
        free(t);
    else
        *out = t;
    return status;
}

ptxgen_status run_trace_close(run_trace *t, bool keep, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    if (!t)
        return status;
    for (size_t i = 0; keep && i < t->track_count; i++)
        while (t->tracks[i].open)
            write_event(t, &t->tracks[i], SLICE_END, NULL);
    if (keep && t->cut)
        cli_say("the trace ends after %d events; a smaller grid fits", MOST_PACKETS);
    if (keep)
        status = cli_output_commit(&t->to, err);
    else
        cli_output_discard(&t->to);
    free(t->tracks);
    free(t->signals);
    free(t);
    return status;
}
