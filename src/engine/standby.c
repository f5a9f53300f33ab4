/* The choice itself may cost more than a launch, so it is made behind as well, and remembered by
 * what it follows from (choices.h). While a stream is being captured nothing is swapped: a graph
 * has one kernel for one problem. */
#include "engine/standby.h"

#include "base/clock.h"
#include "base/error.h"
#include "engine/tuned.h"
#include "generate/dtype.h"

#include <stddef.h>
#include <string.h>

/* A special kernel to be made. */
typedef struct task {
    pg_pool_task head;
    pg_standby *standby;
    pg_problem problem;              /* its memory is the caller's and is not read, but for: */
    double scalars[PG_MAX_OPERANDS]; /* copies, of 8 bytes at most */
    pg_kernel_id id;
    pg_device *device;
    void *where; /* the device's context of the call */
    double asked_us;
    bool chosen;
    pg_choice_key key; /* last: only as much of it as is in use is there */
} task;

/* As many as calls ask for in one breath, with keys as most families have them: 4 MB. */
enum { TASKS_READY = 1024, USUAL_KEY = 1024 };

static size_t size_of(size_t key_bytes)
{
    return offsetof(task, key) + offsetof(pg_choice_key, bytes) + key_bytes;
}

/* ---- behind ---- */

static void drop(pg_pool_task *head)
{
    task *t = (task *)head;
    pg_stock_give(&t->standby->tasks, t, size_of(t->key.size));
}

static ptxgen_status choose(task *t, ptxgen_error *err)
{
    pg_tuned_apply(&t->problem, &t->id, t->standby->kernels->engine);
    if (t->id.family->choose)
        t->id.family->choose(&t->problem, t->id.key);
    t->chosen = true;
    PG_TRY(pg_kernel_id_resolve(&t->id, err));
    t->id.assembled = t->device->ops->kind != PTXGEN_DEVICE_EMULATOR;
    return PTXGEN_OK;
}

static ptxgen_status make(task *t, ptxgen_error *err)
{
    pg_device *d = t->device;
    ptxgen_kernel *k;
    PG_TRY(d->ops->enter(d, t->where, err));
    const ptxgen_status status = pg_kernel_store_behind(t->standby->kernels, d, &t->id, &k, err);
    d->ops->leave(d, t->where);
    if (status == PTXGEN_OK)
        ptxgen_kernel_unref(k);
    return status;
}

static void note_made(pg_standby *s, double us)
{
    const uint_fast64_t took = (uint_fast64_t)us;
    uint_fast64_t slowest = atomic_load(&s->slowest_us);
    atomic_fetch_add(&s->made, 1);
    atomic_fetch_add(&s->made_us, took);
    while (took > slowest && !atomic_compare_exchange_weak(&s->slowest_us, &slowest, took))
        ;
}

static bool run(pg_pool_task *head)
{
    task *t = (task *)head;
    pg_standby *s = t->standby;
    ptxgen_error err = {0};
    pg_stock_fill(&s->tasks);
    pg_choices_stock_up(s->choices);
    ptxgen_status status = t->chosen ? PTXGEN_OK : choose(t, &err);
    if (status == PTXGEN_OK && !pg_fleet_begin(s->kernels, &t->id, &head->fleet))
        return false;
    if (status == PTXGEN_OK)
        status = make(t, &err);
    pg_fleet_end(s->kernels, &head->fleet);
    if (status == PTXGEN_OK) {
        note_made(s, pg_clock_us() - t->asked_us);
        pg_choices_settle(s->choices, &t->key, PG_CHOICE_READY, &t->id);
    } else {
        pg_log_line(&s->kernels->engine->log, PTXGEN_LOG_WARNING,
                    "%s: the kernel for a call could not be made, the generic one stays: %s",
                    t->id.family->name, err.message);
        pg_choices_settle(s->choices, &t->key, PG_CHOICE_FAILED, NULL);
    }
    drop(head);
    return true;
}

/* Host memory that the caller may take back after the call. */
static void keep_scalars(task *t)
{
    const pg_operand_table *table = t->problem.table;
    for (size_t i = 0; i < table->count; i++) {
        pg_view *v = &t->problem.operand[i];
        if (table->rows[i].role != PG_SCALAR || !v->present || !v->data)
            continue;
        memcpy(&t->scalars[i], v->data, (size_t)pg_dtype_bits(v->dtype) / 8);
        v->data = &t->scalars[i];
    }
}

static ptxgen_status begin(pg_standby *s, const pg_standby_call *c, const pg_choice_key *key,
                           ptxgen_error *err)
{
    pg_kernel_id given = *c->bound;
    void *where;
    PG_TRY(pg_kernel_id_resolve(&given, err)); /* what the caller named is refused at once */
    PG_TRY(c->device->ops->where(c->device, &where, err));
    task *t = pg_stock_take(&s->tasks, size_of(key->size));
    if (!t)
        return pg_fail_memory(err, size_of(key->size));
    t->head = (pg_pool_task){.run = run, .drop = drop};
    t->standby = s;
    t->problem = *c->problem;
    t->id = *c->bound;
    t->device = c->device;
    t->where = where;
    t->asked_us = pg_clock_us();
    t->chosen = false;
    memcpy(&t->key, key, offsetof(pg_choice_key, bytes) + key->size);
    t->problem.key = t->id.key;
    keep_scalars(t);
    if (pg_compile_pool_add(s->pool, &t->head, NULL) !=
        PTXGEN_OK) { /* full: a later call asks again */
        pg_choices_settle(s->choices, key, PG_CHOICE_UNKNOWN, NULL);
        drop(&t->head);
    }
    return PTXGEN_OK;
}

/* ---- in the call ---- */

bool pg_standby_generic(const pg_standby_call *c, pg_kernel_id *out)
{
    const pg_family *f = c->bound->family;
    *out = *c->bound;
    if (!f->generic || (f->function && f->function->number(out->key)))
        return false;
    f->generic(c->problem, out->key);
    return pg_kernel_id_resolve(out, NULL) ==
           PTXGEN_OK; /* a schedule that was named may have none */
}

static ptxgen_status get_generic(pg_standby *s, const pg_standby_call *c, pg_kernel_id *id,
                                 ptxgen_kernel **out, ptxgen_error *err)
{
    *out = pg_kernel_store_find_ready(s->kernels, c->device, id);
    if (!*out)
        PG_TRY(pg_kernel_store_ready(s->kernels, c->device, id, c->stream, out, err));
    return PTXGEN_OK;
}

/* What is known of a call's own kernel. */
typedef struct special {
    pg_choice_key key;
    pg_kernel_id id;
    bool swapped; /* calls have taken it already */
} special;

/* The special kernel when this call may take it; *out NULL: it may not. */
static ptxgen_status take_special(pg_standby *s, const pg_standby_call *c, special *own,
                                  ptxgen_kernel **out, ptxgen_error *err)
{
    *out = pg_kernel_store_find_ready(s->kernels, c->device, &own->id);
    if (!*out) { /* cleared, refused by the driver, or another context: made again */
        pg_choices_settle(s->choices, &own->key, PG_CHOICE_UNKNOWN, NULL);
        return PTXGEN_OK;
    }
    if (own->swapped)
        return PTXGEN_OK;
    bool capturing = false;
    const ptxgen_status status = c->device->ops->capturing(c->device, c->stream, &capturing, err);
    if (status != PTXGEN_OK || capturing) {
        ptxgen_kernel_unref(*out);
        *out = NULL;
        return status;
    }
    pg_choices_swap(s->choices, &own->key);
    return PTXGEN_OK;
}

static ptxgen_status serve_generic(pg_standby *s, const pg_standby_call *c, bool failed,
                                   ptxgen_kernel **out, ptxgen_error *err)
{
    pg_kernel_id id;
    const pg_family *f = c->bound->family;
    if (!pg_standby_generic(c, &id))
        return pg_fail(err, failed ? PTXGEN_EUNSUPPORTED : PTXGEN_EPENDING,
                       failed ? "%s has no generic kernel for this call, and its own could not be "
                                "made (the log says why): call with stall=wait for the reason"
                              : "%s has no generic kernel for this call; its own is being made: "
                                "call again, or with stall=wait",
                       f->name);
    PG_TRY(get_generic(s, c, &id, out, err));
    atomic_fetch_add_explicit(&s->generic_calls, 1, memory_order_relaxed);
    if (f->other_bits && f->other_bits(id.key))
        atomic_fetch_add_explicit(&s->other_bits_calls, 1, memory_order_relaxed);
    return PTXGEN_OK;
}

ptxgen_status pg_standby_get(pg_standby *s, const pg_standby_call *c, ptxgen_kernel **out,
                             bool *own, ptxgen_error *err)
{
    special k;
    k.swapped = false;
    *out = NULL;
    pg_choice_key_of(c->problem, c->bound, c->given, &k.key);
    const pg_choice_state state = pg_choices_find(s->choices, &k.key, &k.id, &k.swapped);
    if (state == PG_CHOICE_READY)
        PG_TRY(take_special(s, c, &k, out, err));
    if (state == PG_CHOICE_UNKNOWN) {
        const ptxgen_status status = begin(s, c, &k.key, err);
        if (status != PTXGEN_OK) {
            pg_choices_settle(s->choices, &k.key, PG_CHOICE_UNKNOWN, NULL);
            return status;
        }
    }
    *own = *out != NULL;
    if (!*out)
        PG_TRY(serve_generic(s, c, state == PG_CHOICE_FAILED, out, err));
    c->problem->key = (*out)->id.key;
    return PTXGEN_OK;
}

ptxgen_status pg_standby_init(pg_standby *s, pg_kernel_store *kernels, pg_compile_pool *pool,
                              ptxgen_error *err)
{
    s->kernels = kernels;
    s->pool = pool;
    pg_stock_init(&s->tasks, &kernels->engine->alloc, size_of(USUAL_KEY) / 16 * 16, TASKS_READY);
    return pg_choices_create(&kernels->engine->alloc, &s->choices, err);
}

void pg_standby_fini(pg_standby *s)
{
    pg_choices_destroy(s->choices);
    s->choices = NULL;
    pg_stock_fini(&s->tasks);
}
