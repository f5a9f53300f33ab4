/* Shadow memory, the common case: all lanes of a warp side by side, whole granules, whole
 * blocks, nothing to report. A block then keeps one entry whose records are striped (state.h),
 * and an access is judged and remembered once a block instead of once a lane. Whatever does not
 * fit goes lane by lane through shadow.c, which is also where every report is made. */
#include "emulator/check/state.h"

/* The block's part of a row access. */
typedef struct row_part {
    const pg_touch *touch;
    uint8_t first_lane, lane_shift;
} row_part;

static uint32_t lanes_of(const row_part *p)
{
    return PG_BLOCK_PARTS >> p->lane_shift;
}

/* Every lane of the part has seen the accesses of the record that concern it. */
static bool seen_by_all(const row_part *p, const pg_record *r)
{
    const pg_touch *t = p->touch;
    const bool striped = (r->flags & PG_RECORD_STRIPED) != 0;
    if (!r->lanes || (striped && r->base == t->base && r->cluster == t->cluster))
        return true;
    if (r->cluster != t->cluster || (!striped && r->lanes != 1))
        return false;
    const pg_knowledge *lane = t->check->lane;
    for (uint32_t l = p->first_lane, end = l + lanes_of(p); l < end; l++)
        if (pg_vector_at(lane[l].seen, (uint16_t)(r->base + (striped ? l : 0))) < r->clock)
            return false;
    return true;
}

static pg_record striped_record(const pg_touch *t)
{
    return (pg_record){.lanes = 1,
                       .clock = t->check->now,
                       .cluster = t->cluster,
                       .op = t->pc,
                       .base = t->base,
                       .bytes = 15,
                       .flags = PG_RECORD_STRIPED};
}

static void remember_read(const row_part *p, pg_granule *g)
{
    const pg_record record = striped_record(p->touch);
    int place = -1;
    for (int i = 0; i < PG_SHADOW_READS; i++) {
        const pg_record *r = &g->reads[i];
        if (r->lanes && r->base == record.base && r->clock == record.clock &&
            r->cluster == record.cluster && r->flags == record.flags && r->op == record.op)
            return;
        if (place < 0 && seen_by_all(p, r))
            place = i;
    }
    g->reads[place >= 0 ? place : (int)(record.clock % PG_SHADOW_READS)] = record;
}

static void remember_write(const row_part *p, pg_granule *g)
{
    g->write = striped_record(p->touch);
    g->written = 15;
    for (int i = 0; i < PG_SHADOW_READS; i++)
        g->reads[i].lanes = 0;
}

static bool touch_block(const row_part *p, pg_shadow_block *b)
{
    const pg_touch *t = p->touch;
    pg_granule *g = &b->whole;
    const bool same = b->first_lane == p->first_lane && b->lane_shift == p->lane_shift;
    if (b->split || (!same && pg_granule_is_striped(g)) || !seen_by_all(p, &g->write))
        return false;
    if (!t->cta && (t->read_only ? g->write.lanes : t->write && g->read_only))
        return false;
    if (t->read_only)
        g->read_only = 15;
    if (t->reads && g->written != 15 && (t->cta || t->warp->launch->checker->has_undefined))
        return false;
    for (int i = 0; t->write && i < PG_SHADOW_READS; i++)
        if (!seen_by_all(p, &g->reads[i]))
            return false;
    b->first_lane = p->first_lane;
    b->lane_shift = p->lane_shift;
    if (t->write)
        remember_write(p, g);
    else
        remember_read(p, g);
    return true;
}

uint32_t pg_shadow_touch_row(const pg_touch *t)
{
    const uint8_t shift = (uint8_t)__builtin_ctz(t->bytes / PG_GRANULE);
    const uint32_t lanes = PG_BLOCK_PARTS >> shift;
    const uint32_t each = lanes == PG_LANES ? PG_ALL_LANES : (1u << lanes) - 1;
    uint32_t left = 0;
    for (uint32_t l = 0; l < PG_LANES; l += lanes) {
        const row_part part = {t, (uint8_t)l, shift};
        pg_shadow_block *b = pg_shadow_block_at(t, t->address + (uint64_t)l * t->bytes);
        if (b && !touch_block(&part, b))
            left |= each << l;
    }
    return left;
}

void pg_shadow_join_row(const pg_touch *t)
{
    const uint8_t shift = (uint8_t)__builtin_ctz(t->bytes / PG_GRANULE);
    for (uint32_t l = 0; l < PG_LANES; l += PG_BLOCK_PARTS >> shift) {
        const row_part part = {t, (uint8_t)l, shift};
        pg_shadow_block *b = pg_shadow_block_at(t, t->address + (uint64_t)l * t->bytes);
        if (!b || !b->split)
            continue;
        remember_write(&part, &b->whole);
        b->first_lane = part.first_lane;
        b->lane_shift = shift;
        b->split = false;
    }
}
