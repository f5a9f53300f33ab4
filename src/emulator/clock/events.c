/* Events of a record by name, what arrives at them and waits for them; lines that are touched. */
#include "emulator/clock/listen.h"

void pg_clock_arrive(const pg_warp *w, uint32_t event)
{
    pg_clock *clock = w->launch->clock;
    const pg_clock_stream *s = pg_clock_stream_of(w);
    if (!event || !s)
        return;
    for (uint32_t i = s->pending; i;) { /* lanes of a warp arrive together */
        const pg_clock_detail *d = PG_CLOCK_AT(clock->details, pg_clock_detail, i);
        if (d->ask == ASK_ARRIVE && d->a == event)
            return;
        i = d->next;
    }
    pg_clock_detail *d = pg_clock_add_detail(w, ASK_ARRIVE);
    if (d) {
        d->a = event;
        PG_CLOCK_AT(clock->events, pg_clock_event, event)->contributions++;
    }
}

void pg_clock_wait(const pg_warp *w, uint32_t event)
{
    pg_clock_detail *d = event ? pg_clock_add_detail(w, ASK_WAIT) : NULL;
    if (d)
        d->a = event;
}

uint32_t pg_clock_named_event(const pg_cta *place, uint64_t key, uint8_t barrier)
{
    pg_clock *clock = place->cluster->launch->clock;
    pg_clock_cluster *c = pg_clock_cluster_of(place->cluster);
    const uint32_t event = c ? pg_clock_event_at(clock, c, key, true) : 0;
    if (event) {
        pg_clock_event *e = PG_CLOCK_AT(clock->events, pg_clock_event, event);
        e->barrier = barrier;
        e->group = !barrier && key >> 60 != KEY_MBARRIER + 1;
        e->rank = (uint32_t)(key >> 48) & (PG_MAX_CTAS_IN_CLUSTER - 1);
        e->place = (uint32_t)(key >> 24) & 0xffffff;
        e->phase = (uint32_t)key & 0xffffff;
    }
    return event;
}

/* Phases of an mbarrier are counted anew when it is initialised. */
uint32_t pg_clock_mbarrier_event(const pg_cta *cta, const pg_mbarrier *b, uint64_t phase)
{
    pg_clock *clock = cta->cluster->launch->clock;
    pg_clock_cluster *c = pg_clock_cluster_of(cta->cluster);
    const uint32_t *generation =
        c ? pg_clock_value(clock, c, pg_clock_key_of(KEY_GENERATION, cta->rank, b->offset, 0))
          : NULL;
    if (!generation)
        return 0;
    const uint64_t key = pg_clock_key_of(KEY_MBARRIER, cta->rank | (*generation & 0xff) << 4,
                                         b->offset, (uint32_t)phase);
    return pg_clock_named_event(cta, key, 0);
}

void pg_clock_touch(const pg_cluster *c, uint64_t line, uint8_t sectors, pg_touch touch)
{
    pg_clock *clock = c->launch->clock;
    if (clock->probe.runs)
        return;
    const pg_footprint_touch t = {.line = line,
                                  .wave = (uint32_t)(c->index / (clock->groups * clock->occupancy)),
                                  .tick = (uint32_t)clock->ticks,
                                  .touch = (uint8_t)touch,
                                  .sectors = sectors,
                                  .buffer =
                                      pg_footprint_buffer(clock->footprint, line << PG_LINE_SHIFT)};
    clock->failed |= !pg_footprint_add(clock->footprint, &t);
}

void pg_clock_hot(const pg_cluster *c, uint64_t line, uint32_t units)
{
    const pg_clock *clock = c->launch->clock;
    if (clock->probe.runs)
        return;
    /* The sample's clusters, which run first, say how long one is. */
    const uint64_t length = clock->started_others ? clock->steps / clock->listed : 0;
    const uint64_t epoch = length ? clock->ticks * PG_HOT_EPOCHS / (length + 1) : 0;
    pg_footprint_hot(clock->footprint, line, units,
                     epoch < PG_HOT_EPOCHS ? (uint32_t)epoch : PG_HOT_EPOCHS - 1);
}
