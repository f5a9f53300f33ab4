/* Groups of lanes: how they wait, wake and part. Which of them runs is up to run/schedule.c. */
#include "emulator/machine/launch.h"

void pg_wake(pg_warp *w, pg_group *g)
{
    g->wait.kind = PG_WAIT_NONE;
    w->runnable = true;
}

void pg_wake_all(pg_cta *cta, pg_wait_kind kind, uint64_t key)
{
    for (uint32_t i = 0; i < cta->warp_count; i++) {
        pg_warp *w = &cta->warps[i];
        for (uint32_t k = 0; k < w->group_count; k++)
            if (w->groups[k].wait.kind == kind && w->groups[k].wait.key == key)
                pg_wake(w, &w->groups[k]);
    }
}

pg_step pg_block(pg_warp *w, pg_wait wait)
{
    pg_running_group(w)->wait = wait;
    return wait.again ? PG_AGAIN : PG_WAIT;
}

void pg_split_group(pg_warp *w, uint32_t lanes, uint32_t pc)
{
    pg_group *g = pg_running_group(w);
    g->lanes &= ~lanes;
    w->groups[w->group_count++] = (pg_group){.lanes = lanes, .pc = pc, .turns = g->turns};
}

void pg_note_poll(pg_warp *w, const pg_op *op, uint32_t offset)
{
    w->polled = op;
    w->polled_offset = offset;
    const uint64_t progress = w->cta->cluster->progress;
    w->polls = w->polls_progress == progress ? w->polls + 1 : 1;
    w->polls_progress = progress;
}
