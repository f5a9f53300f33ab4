/* Collective instructions of a warp; PTX ISA 9.0, section 9.7.13 and 9.7.9.6. Lanes of one warp
 * may reach a collective in several groups: the last group to arrive takes the waiting ones in
 * and executes for all. Lanes that have exited are not waited for, as on the hardware. */
#include "emulator/memory/warp_sync.h"

#include "emulator/number/float_ops.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/stop.h"
#include "emulator/machine/observer.h"

static void absorb_group(pg_warp *w, uint32_t i)
{
    const uint32_t last = w->group_count - 1;
    w->groups[w->chosen].lanes |= w->groups[i].lanes;
    w->active |= w->groups[i].lanes;
    w->groups[i] = w->groups[last];
    if (w->chosen == last)
        w->chosen = i;
    w->group_count = last;
}

static bool waits_here(const pg_warp *w, uint32_t i, uint32_t pc)
{
    return i != w->chosen && w->groups[i].pc == pc && w->groups[i].wait.kind == PG_WAIT_LANES;
}

bool pg_gather_lanes(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t members, uint32_t *all,
                     pg_step *step)
{
    const uint32_t pc = pg_pc_of(w, op);
    uint32_t arrived = lanes;
    *all = lanes;
    if (!(members & w->live & ~arrived))
        return true;
    for (uint32_t i = 0; i < w->group_count; i++)
        if (waits_here(w, i, pc))
            arrived |= w->groups[i].lanes;
    if (members & w->live & ~arrived) {
        *step = pg_block(w, (pg_wait){.kind = PG_WAIT_LANES, .lanes = members, .again = true});
        return false;
    }
    for (uint32_t i = 0; i < w->group_count;)
        if (waits_here(w, i, pc))
            absorb_group(w, i);
        else
            i++;
    *all = arrived;
    return true;
}

bool pg_gather_whole_warp(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t *all, pg_step *step)
{
    if (w->live != PG_ALL_LANES)
        *step = pg_stop(w, op, PTXGEN_EEMULATOR,
                        "only lanes 0x%08x of the warp are running: this .sync.aligned instruction "
                        "needs all 32",
                        w->live);
    else if (lanes != w->active)
        *step = pg_stop(w, op, PTXGEN_EEMULATOR,
                        "the predicate is true in lanes 0x%08x and false in lanes 0x%08x: all "
                        "lanes of the warp must "
                        "execute this .sync.aligned instruction",
                        lanes, w->active & ~lanes);
    else
        return pg_gather_warp(w, op, lanes, all, step);
    return false;
}

/* The union of the member masks that the lanes name; without .sync the lanes themselves. 0: one
 * does not name its own lane, which stops the launch, as an H200 does. */
static uint32_t named_members(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    if (!op->row_count)
        return lanes;
    const uint32_t *mask = pg_row_at(w, op->rows[0]);
    uint32_t members = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (!(mask[l] >> l & 1)) {
            pg_stop(w, op, PTXGEN_EEMULATOR, "lane %d: its member mask 0x%08x does not name it", l,
                    mask[l]);
            return 0;
        }
        members |= mask[l];
    }
    return members;
}

/* The lanes of `all` that form one collective with `lane`. */
static uint32_t partners(const pg_warp *w, const pg_op *op, uint32_t all, int lane)
{
    if (!op->row_count)
        return all;
    const uint32_t *mask = pg_row_at(w, op->rows[0]);
    return mask[lane] & all;
}

#define GATHER(w, op, lanes, all)                                                                  \
    uint32_t all;                                                                                  \
    const uint32_t named = named_members((w), (op), (lanes));                                      \
    pg_step wait_step = PG_STOP;                                                                   \
    if (!named || !pg_gather_lanes((w), (op), (lanes), named, &all, &wait_step))                   \
    return wait_step

static int shfl_source(pg_shfl_mode mode, int lane, uint32_t b, uint32_t c, bool *valid)
{
    const int value = (int)(b & 31), mask = (int)(c >> 8 & 31);
    const int most = (lane & mask) | ((int)(c & 31) & ~mask);
    int j = lane;
    switch (mode) {
    case PG_SHFL_UP:
        j = lane - value;
        *valid = j >= most;
        break;
    case PG_SHFL_DOWN:
        j = lane + value;
        *valid = j <= most;
        break;
    case PG_SHFL_BFLY:
        j = lane ^ value;
        *valid = j <= most;
        break;
    case PG_SHFL_IDX:
        j = (lane & mask) | (value & ~mask);
        *valid = j <= most;
        break;
    }
    return *valid ? j : lane;
}

pg_step pg_op_shfl(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    GATHER(w, op, lanes, all);
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);
    uint32_t source[PG_LANES], in_range = 0, undefined = 0;
    memcpy(source, a, sizeof source);
    for (uint32_t left = all; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        bool valid = false;
        const int from = shfl_source((pg_shfl_mode)op->mode, l, b[l], c[l], &valid);
        d[l] = source[from];
        in_range |= (uint32_t)valid << l;
        undefined |= (uint32_t) !(partners(w, op, all, l) >> from & 1) << l;
    }
    pg_pred_write(w, op->p, all, in_range);
    PG_OBSERVE(w->launch, shuffle, w, op, all, undefined);
    return PG_NEXT;
}

pg_step pg_op_vote(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    GATHER(w, op, lanes, all);
    const uint32_t votes = pg_pred_lanes(w, op->q, op->q_not);
    uint32_t *d = op->mode == PG_VOTE_BALLOT ? pg_row_at(w, op->d) : NULL;
    uint32_t result = 0;
    for (uint32_t left = all; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint32_t who = partners(w, op, all, l), yes = votes & who;
        if (d)
            d[l] = yes;
        const bool holds = op->mode == PG_VOTE_ALL   ? yes == who
                           : op->mode == PG_VOTE_ANY ? yes != 0
                                                     : yes == 0 || yes == who;
        result |= (uint32_t)holds << l;
    }
    pg_pred_write(w, op->p, all, result);
    return PG_NEXT;
}

/* For every lane the partners whose value is the same. */
#define MATCH(NAME, T, all_form)                                                                   \
    pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                                      \
    {                                                                                              \
        GATHER(w, op, lanes, all);                                                                 \
        uint32_t *d = pg_row_at(w, op->d);                                                         \
        const T *a = pg_row_at(w, op->a);                                                          \
        uint32_t agreed[PG_LANES], everyone = 0;                                                   \
        for (uint32_t left = all; left; left &= left - 1) {                                        \
            const int l = __builtin_ctz(left);                                                     \
            const uint32_t who = partners(w, op, all, l);                                          \
            uint32_t same = 0;                                                                     \
            for (uint32_t each = who; each; each &= each - 1)                                      \
                same |= (uint32_t)(a[__builtin_ctz(each)] == a[l]) << __builtin_ctz(each);         \
            agreed[l] = !(all_form) ? same : same == who ? who : 0;                                \
            everyone |= (uint32_t)(same == who) << l;                                              \
        }                                                                                          \
        PG_EACH_LANE(all, d[l] = agreed[l]);                                                       \
        pg_pred_write(w, op->p, all, everyone);                                                    \
        return PG_NEXT;                                                                            \
    }
MATCH(pg_op_match_any_32, uint32_t, false)
MATCH(pg_op_match_any_64, uint64_t, false)
MATCH(pg_op_match_all_32, uint32_t, true)
MATCH(pg_op_match_all_64, uint64_t, true)

static uint32_t reduce_two(pg_redux_mode mode, uint32_t x, uint32_t y)
{
    switch (mode) {
    case PG_REDUX_ADD:
        return x + y;
    case PG_REDUX_MIN_U:
        return x < y ? x : y;
    case PG_REDUX_MIN_S:
        return (int32_t)x < (int32_t)y ? x : y;
    case PG_REDUX_MAX_U:
        return x > y ? x : y;
    case PG_REDUX_MAX_S:
        return (int32_t)x > (int32_t)y ? x : y;
    case PG_REDUX_AND:
        return x & y;
    case PG_REDUX_OR:
        return x | y;
    default:
        return x ^ y;
    }
}

pg_step pg_op_redux(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    GATHER(w, op, lanes, all);
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a);
    uint32_t result[PG_LANES];
    for (uint32_t left = all; left;) {
        const int l = __builtin_ctz(left);
        const uint32_t who = partners(w, op, all, l);
        uint32_t sum = a[l];
        for (uint32_t each = who & ~(1u << l); each; each &= each - 1)
            sum = reduce_two((pg_redux_mode)op->mode, sum, a[__builtin_ctz(each)]);
        for (uint32_t each = who; each; each &= each - 1)
            result[__builtin_ctz(each)] = sum;
        left &= ~who;
    }
    PG_EACH_LANE(all, d[l] = result[l]);
    return PG_NEXT;
}

pg_step pg_op_redux_float(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    GATHER(w, op, lanes, all);
    const pg_minmax_mode mode = {.max = op->imm & PG_REDUX_FLOAT_MAX,
                                 .nan = op->imm & PG_REDUX_FLOAT_NAN};
    const uint32_t keep = op->imm & PG_REDUX_FLOAT_ABS ? 0x7fffffffu : UINT32_MAX;
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a);
    uint32_t result[PG_LANES];
    for (uint32_t left = all; left;) {
        const int l = __builtin_ctz(left);
        const uint32_t who = partners(w, op, all, l);
        uint32_t best = a[l] & keep;
        for (uint32_t each = who; each;
             each &= each - 1) /* with itself too: a NaN becomes the canonical one */
            best = pg_f32_minmax(best, a[__builtin_ctz(each)] & keep, mode);
        for (uint32_t each = who; each; each &= each - 1)
            result[__builtin_ctz(each)] = best;
        left &= ~who;
    }
    PG_EACH_LANE(all, d[l] = result[l]);
    return PG_NEXT;
}

pg_step pg_op_elect(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    GATHER(w, op, lanes, all);
    uint32_t *d = pg_row_at(w, op->d);
    uint32_t leaders = 0;
    for (uint32_t left = all; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint32_t leader = (uint32_t)__builtin_ctz(partners(w, op, all, l));
        d[l] = leader;
        leaders |= 1u << leader;
    }
    pg_pred_write(w, op->p, all, leaders);
    return PG_NEXT;
}

pg_step pg_op_activemask(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t *d = pg_row_at(w, op->d);
    PG_EACH_LANE(lanes, d[l] = lanes);
    return PG_NEXT;
}

/* Unlike the others, lanes may meet at different bar.warp.sync instructions. */
pg_step pg_op_bar_warp_sync(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_op *ops = w->launch->program->ops;
    uint32_t arrived = lanes, members = named_members(w, op, lanes);
    if (!members)
        return PG_STOP;
    for (uint32_t i = 0; i < w->group_count; i++) {
        const pg_group *g = &w->groups[i];
        if (i == w->chosen || g->wait.kind != PG_WAIT_LANES ||
            ops[g->pc].run != pg_op_bar_warp_sync)
            continue;
        arrived |= g->lanes;
        if (g->wait.lanes & lanes)
            members |= g->wait.lanes;
    }
    if (members & w->live & ~arrived)
        return pg_block(w, (pg_wait){.kind = PG_WAIT_LANES, .lanes = members, .again = true});
    bool others = false;
    for (uint32_t i = 0; i < w->group_count; i++) {
        pg_group *g = &w->groups[i];
        if (i == w->chosen || g->wait.kind != PG_WAIT_LANES ||
            ops[g->pc].run != pg_op_bar_warp_sync || !(g->lanes & members))
            continue;
        g->pc++;
        pg_wake(w, g);
        others = true;
    }
    PG_OBSERVE(w->launch, warp_barrier, w, op, members & arrived);
    if (!others)
        return PG_NEXT;
    pg_running_group(w)->pc = pg_pc_of(w, op) + 1;
    return PG_SPLIT;
}
