/* Checking mode for tcgen05: numbering of operations, waits, fences, commits. The model is in
 * tensor.h. */
#include "emulator/check/tensor.h"

#include "emulator/tensor/tcgen05.h"

#include <stdio.h>

/* ---- lanes that share vectors ---- */

/* A change to one vector of every lane. Lanes that shared one before share one after: `change`
 * runs once for them. */
typedef struct lane_change {
    pg_checker *checker;
    pg_vector *before, *result; /* of the last lane that was changed */
    pg_vector *with;            /* what that lane was joined with */
} lane_change;

/* True when *v became what another lane's equal vector had become. */
static bool reuse_change(lane_change *x, pg_vector **v, const pg_vector *with)
{
    if (!x->result || *v != x->before || with != x->with)
        return false;
    pg_vector_drop(x->checker, v);
    pg_vector_join(x->checker, v, x->result);
    return true;
}

static void note_before(lane_change *x, pg_vector *v, pg_vector *with)
{
    pg_vector_drop(x->checker, &x->before);
    pg_vector_drop(x->checker, &x->result);
    pg_vector_join(x->checker, &x->before, v);
    x->with = with;
}

static void note_result(lane_change *x, pg_vector *v)
{
    pg_vector_join(x->checker, &x->result, v);
}

static void end_change(lane_change *x)
{
    pg_vector_drop(x->checker, &x->before);
    pg_vector_drop(x->checker, &x->result);
}

static void join_lane(lane_change *x, pg_vector **v, pg_vector *with)
{
    if (reuse_change(x, v, with))
        return;
    note_before(x, *v, with);
    pg_vector_join(x->checker, v, with);
    note_result(x, *v);
}

static void raise_lane(lane_change *x, pg_vector **v, uint16_t agent, uint32_t clock)
{
    if (reuse_change(x, v, NULL))
        return;
    note_before(x, *v, NULL);
    pg_vector_raise(x->checker, v, agent, clock);
    note_result(x, *v);
}

void pg_check_tensor_release(pg_warp *w, uint32_t lanes, pg_knowledge *to)
{
    const pg_warp_check *k = pg_warp_check_of(w);
    for (uint32_t left = lanes; left; left &= left - 1)
        pg_vector_join(w->launch->checker, &to->ordered, k->lane[__builtin_ctz(left)].ordered);
}

void pg_check_tensor_acquire(pg_warp *w, uint32_t lanes, const pg_knowledge *from)
{
    pg_warp_check *k = pg_warp_check_of(w);
    lane_change x = {.checker = w->launch->checker};
    for (uint32_t left = lanes; left; left &= left - 1)
        join_lane(&x, &k->lane[__builtin_ctz(left)].ordered, from->ordered);
    end_change(&x);
}

/* ---- issue ---- */

/* The operation's number among the lane's, which is its clock; given at the first call. */
static uint32_t number_of(pg_async *a, pg_tensor_warp *t)
{
    if (!t->agent[a->lane])
        t->agent[a->lane] = pg_new_agent(a->warp->cta->cluster, 2);
    if (!a->group)
        a->group = ++t->issued[a->lane];
    return a->group;
}

static pg_tensor_action action_of(const pg_async *a)
{
    if (a->kind == &pg_kind_tcgen05_mma)
        return PG_TENSOR_MMA;
    if (a->kind == &pg_kind_tcgen05_shift)
        return PG_TENSOR_SHIFT;
    return ((const pg_tcgen05_cp_plan *)a->op->extra)->shape == PG_COPY_4X256B ? PG_TENSOR_CP_4X256B
                                                                               : PG_TENSOR_CP;
}

void pg_tensor_use(pg_async *a, pg_cta *cta, const pg_tensor_area *area, uint32_t sequence)
{
    pg_tensor_warp *t = pg_tensor_warp_of(a->warp);
    if (!t)
        return;
    const uint32_t clock = number_of(a, t);
    const pg_tensor_actor actor = {.warp = a->warp,
                                   .op = a->op,
                                   .lanes = 1u << a->lane,
                                   .action = action_of(a),
                                   .agent = t->agent[a->lane],
                                   .clock = clock,
                                   .sequence = sequence};
    pg_tensor_touch(&actor, cta, area);
}

void pg_check_tensor_use(pg_async *a, pg_cta *cta, const pg_tensor_area *area)
{
    pg_tensor_use(a, cta, area, 0);
}

void pg_check_tensor_read(pg_async *a, pg_cta *cta, uint32_t first, uint32_t end)
{
    pg_tensor_warp *t = pg_tensor_warp_of(a->warp);
    if (!t || first >= end)
        return;
    pg_touch touch = pg_touch_by(a->warp, a->op);
    touch.clock = number_of(a, t);
    touch.agent = t->agent[a->lane];
    touch.lane = a->lane;
    touch.cta = cta;
    touch.address = PG_SHARED_OFFSET(first);
    touch.bytes = end - first;
    touch.reads = true;
    touch.async = true;
    pg_shadow_touch(&touch);
}

void pg_check_tensor_move(pg_warp *w, const pg_op *op, const pg_tensor_area *areas, uint32_t count)
{
    pg_tensor_warp *t = pg_tensor_warp_of(w);
    if (!t)
        return;
    const int store = areas->writes;
    if (!t->move_agent[store])
        t->move_agent[store] = pg_new_agent(w->cta->cluster, 2);
    const pg_tensor_actor actor = {.warp = w,
                                   .op = op,
                                   .lanes = PG_ALL_LANES,
                                   .action = store ? PG_TENSOR_ST : PG_TENSOR_LD,
                                   .agent = t->move_agent[store],
                                   .clock = ++t->moves[store]};
    for (uint32_t i = 0; i < count; i++)
        pg_tensor_touch(&actor, w->cta, &areas[i]);
}

void pg_check_tensor_lane(pg_warp *w, const pg_op *op, uint32_t named, uint32_t own)
{
    char text[100];
    snprintf(text, sizeof text, "the address names lane %u; warp %u reaches lanes from %u only",
             named, w->index, own);
    const pg_check_conflict c = {
        .warp = w, .op = op, .kind = PTXGEN_EMULATOR_REPORT_TENSOR_LANE, .where = ""};
    pg_check_report_conflict(&c, text);
}

/* ---- waits, fences, commits ---- */

void pg_check_tensor_wait(pg_warp *w, bool store)
{
    pg_warp_check *k = pg_warp_check_of(w);
    pg_tensor_warp *t = pg_tensor_warp_of(w);
    if (!t || !t->move_agent[store])
        return;
    lane_change relied = {.checker = w->launch->checker}, ordered = {.checker = w->launch->checker};
    for (uint32_t l = 0; l < PG_LANES; l++) {
        raise_lane(&relied, &t->relied[l], t->move_agent[store], t->moves[store]);
        raise_lane(&ordered, &k->lane[l].ordered, (uint16_t)(t->move_agent[store] + 1),
                   t->moves[store]);
    }
    end_change(&relied);
    end_change(&ordered);
}

/* Whether fence::before_thread_sync of the lane says anything that was not said before. */
static bool says_something(const pg_tensor_warp *t, const pg_vector *ordered, uint32_t lane)
{
    bool news =
        t->agent[lane] && pg_vector_at(ordered, (uint16_t)(t->agent[lane] + 1)) < t->issued[lane];
    for (int store = 0; store < 2; store++)
        news |= t->move_agent[store] && pg_vector_at(ordered, t->move_agent[store]) <
                                            pg_vector_at(t->relied[lane], t->move_agent[store]);
    return news;
}

static void fence_before(lane_change *x, pg_warp_check *k, uint32_t lane)
{
    const pg_tensor_warp *t = k->tensor;
    join_lane(x, &k->lane[lane].ordered, t->relied[lane]);
    if (t->agent[lane])
        pg_vector_raise(x->checker, &k->lane[lane].ordered, (uint16_t)(t->agent[lane] + 1),
                        t->issued[lane]);
}

static void fence_after(lane_change *x, pg_warp_check *k, const pg_op *op, uint32_t lane)
{
    pg_tensor_warp *t = k->tensor;
    const pg_vector *was = t->relied[lane];
    join_lane(x, &t->relied[lane], k->lane[lane].ordered);
    if (t->relied[lane] != was) /* a shared vector never changes in place */
        t->after[lane] = op;
}

void pg_check_tensor_fence(pg_warp *w, const pg_op *op, uint32_t lanes, bool after)
{
    pg_warp_check *k = pg_warp_check_of(w);
    lane_change x = {.checker = w->launch->checker};
    if (!pg_tensor_warp_of(w))
        return;
    w->launch->checker->fence_use[pg_pc_of(w, op)] |= 1;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (after) {
            fence_after(&x, k, op, lane);
            continue;
        }
        if (says_something(k->tensor, k->lane[lane].ordered, lane))
            k->tensor->before[lane] = op;
        fence_before(&x, k, lane);
    }
    end_change(&x);
}

/* What the operations relied on is known to whoever waits for them; the thread's own plain
 * accesses are not. */
void pg_check_tensor_commit(pg_async *a, pg_knowledge *to, bool done)
{
    pg_cluster *c = a->warp->cta->cluster;
    pg_warp_check *k = pg_warp_check_of(a->warp);
    pg_tensor_warp *t = pg_tensor_warp_of(a->warp);
    if (!t)
        return;
    if (!done) {
        lane_change x = {.checker = c->launch->checker};
        fence_before(&x, k, a->lane);
        end_change(&x);
        a->group = t->issued[a->lane];
        pg_knowledge_join(c->launch->checker, to, &k->lane[a->lane]);
    } else if (t->agent[a->lane]) {
        pg_vector_raise(c->launch->checker, &to->seen, t->agent[a->lane], a->group);
        pg_vector_raise(c->launch->checker, &to->ordered, t->agent[a->lane], a->group);
    }
}
