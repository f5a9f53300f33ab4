/* Which schedules have which settings: one that is named chooses the schedule that alone has it, or
 * is refused where the schedule has none; one that is left out gets its automatic value. Those that
 * several schedules have count, if none is named, where one of these is chosen. */
#include "scatter_add/scatter_add.h"

#include "base/error.h"

#define BIT(schedule) (1U << PTXGEN_SCHEDULE_##schedule)

/* least: the first value that asks for something (no does not). Automatic values are measured:
 * docs/benchmarks.md, sweep; 0: the schedule's own file knows. */
static const struct setting {
    const char *name, *of;
    size_t offset;
    unsigned schedules;
    int64_t least, bulk, vector;
} settings[] = {
#define SETTING(name) #name, .offset = offsetof(pg_scatter_add_key, name)
    {SETTING(tile), .of = "bulk", .schedules = BIT(BULK), .least = 1, .bulk = 2048},
    {SETTING(stages), .of = "bulk", .schedules = BIT(BULK), .least = 1, .bulk = 4},
    {SETTING(warps), .of = "bulk, vector or private",
     .schedules = BIT(BULK) | BIT(VECTOR) | BIT(PRIVATE), .least = 1, .bulk = 4, .vector = 8},
    {SETTING(ctas), .of = "bulk, vector or private",
     .schedules = BIT(BULK) | BIT(VECTOR) | BIT(PRIVATE), .least = 1, .bulk = 8, .vector = 4},
    {SETTING(pieces), .of = "vector or owner", .schedules = BIT(VECTOR) | BIT(OWNER), .least = 1,
     .vector = 4},
    {SETTING(panel), .of = "vector", .schedules = BIT(VECTOR), .least = 1},
    {SETTING(hot), .of = "vector", .schedules = BIT(VECTOR), .least = PG_HOT_YES},
    {SETTING(copies), .of = "private", .schedules = BIT(PRIVATE), .least = 1},
    {SETTING(slices), .of = "private", .schedules = BIT(PRIVATE), .least = 1},
    {SETTING(ahead), .of = "owner", .schedules = BIT(OWNER), .least = PG_AHEAD_YES},
    {SETTING(share), .of = "owner", .schedules = BIT(OWNER), .least = 1},
#undef SETTING
};
enum { COUNT = sizeof settings / sizeof *settings };

static int64_t *value_of(pg_scatter_add_key *k, const struct setting *s)
{
    return (int64_t *)(void *)((char *)k + s->offset);
}

void pg_scatter_add_follow_settings(pg_scatter_add_key *k)
{
    static const ptxgen_schedule schedules[] = {PTXGEN_SCHEDULE_BULK, PTXGEN_SCHEDULE_VECTOR,
                                                PTXGEN_SCHEDULE_OWNER, PTXGEN_SCHEDULE_PRIVATE};
    for (size_t i = 0; i < COUNT && k->schedule == PTXGEN_SCHEDULE_AUTO; i++)
        for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++)
            if (*value_of(k, &settings[i]) >= settings[i].least &&
                settings[i].schedules == 1U << schedules[s])
                k->schedule = schedules[s];
}

void pg_scatter_add_drop_settings(pg_scatter_add_key *k)
{
    for (size_t i = 0; i < COUNT; i++)
        if (!(settings[i].schedules >> k->schedule & 1))
            *value_of(k, &settings[i]) = 0;
}

const char *pg_scatter_add_schedule_name(int64_t schedule)
{
    static const char *const names[] = {"auto", "seed", "bulk", "vector", "owner", "private"};
    return names[schedule];
}

ptxgen_status pg_scatter_add_settle(pg_scatter_add_key *k, ptxgen_error *err)
{
    for (size_t i = 0; i < COUNT; i++) {
        const struct setting *s = &settings[i];
        int64_t *const value = value_of(k, s);
        const bool has = s->schedules >> k->schedule & 1;
        if (!has && *value >= s->least)
            return pg_fail(err, PTXGEN_EUNSUPPORTED,
                           "%s is a setting of schedule=%s, and schedule=%s has none: leave it "
                           "out, or use that schedule",
                           s->name, s->of, pg_scatter_add_schedule_name(k->schedule));
        if (!has)
            *value = 0;
        else if (!*value)
            *value = k->schedule == PTXGEN_SCHEDULE_BULK     ? s->bulk
                     : k->schedule == PTXGEN_SCHEDULE_VECTOR ? s->vector
                                                             : 0;
    }
    return PTXGEN_OK;
}
