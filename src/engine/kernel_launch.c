/* See kernel_launch.h. */
#include "engine/kernel_launch.h"

#include "base/error.h"

#include <string.h>

void pg_plans_make(const pg_kernel_id *id, pg_plans *plans, pg_problem *p)
{
    const pg_family *f = id->family;
    const pg_arch *arch = pg_arch_find(id->key[0]);
    memset(plans->helper_key, 0, sizeof plans->helper_key);
    plans->helper_family = f->helper ? f->helper(id->key, plans->helper_key) : NULL;
    f->plan(id->key, arch, plans->own);
    if (plans->helper_family)
        plans->helper_family->plan(plans->helper_key, arch, plans->helper);
    p->plan = plans->own;
    p->helper_plan = plans->helper_family ? plans->helper : NULL;
}

pg_sequence pg_sequence_of(const pg_problem *p)
{
    return p->family->sequence ? p->family->sequence(p) : (pg_sequence){.launches = 1};
}

void pg_launch_of(const pg_problem *p, const pg_step *step, pg_launch *l)
{
    l->part = 0;
    l->helper = l->early = false;
    if (p->family->sequence)
        p->family->launch_step(p, step, l);
    else
        p->family->launch(p, l);
}

const pg_view *pg_workspace_of(const pg_problem *p)
{
    for (size_t i = 0; i < p->table->count; i++)
        if (p->table->rows[i].role == PG_WORKSPACE && p->operand[i].present)
            return &p->operand[i];
    return NULL;
}

/* Adds a range, in order of address; what touches another becomes one with it. */
static uint32_t add_range(pg_range *ranges, uint32_t count, pg_range r)
{
    uint32_t at = count;
    for (; at > 0 && (char *)ranges[at - 1].first > (char *)r.first; at--)
        ranges[at] = ranges[at - 1];
    ranges[at] = r;
    uint32_t kept = 0;
    for (uint32_t i = 1; i <= count; i++) {
        pg_range *const last = &ranges[kept];
        const size_t apart = (size_t)((char *)ranges[i].first - (char *)last->first);
        if (apart > last->bytes) {
            ranges[++kept] = ranges[i];
            continue;
        }
        if (apart + ranges[i].bytes > last->bytes)
            last->bytes = apart + ranges[i].bytes;
        last->written |= ranges[i].written;
    }
    return kept + 1;
}

/* Kernels move aligned words of up to 16 bytes, whose ends may lie outside of an operand. */
static pg_range range_of(const pg_operand *row, const pg_view *v)
{
    const uintptr_t word = 16, first = (uintptr_t)v->data & ~(word - 1);
    const uintptr_t end =
        ((uintptr_t)v->data + (uintptr_t)pg_view_span(v) + word - 1) & ~(word - 1);
    return (pg_range){(void *)first, end - first,
                      row->role == PG_WORKSPACE || pg_operand_is_written(row)};
}

static uint32_t ranges_of(const pg_problem *p, pg_range ranges[PG_MAX_OPERANDS])
{
    uint32_t count = 0;
    for (size_t g = 0; g < p->given_count; g++) {
        const pg_operand *row = &p->table->rows[p->given[g]];
        const pg_view *v = &p->operand[p->given[g]];
        if (row->role != PG_SCALAR && !pg_view_is_empty(v))
            count = add_range(ranges, count, range_of(row, v));
    }
    return count;
}

/* A kernel's launches for one call. */
typedef struct launching {
    ptxgen_kernel *kernel;
    const pg_problem *problem;
    pg_device *device;
    ptxgen_stream stream;
} launching;

static ptxgen_status run(const launching *w, pg_step *step, ptxgen_error *err)
{
    ptxgen_kernel *k = w->kernel;
    const pg_problem *p = w->problem;
    const ptxgen_kernel *helper = atomic_load_explicit(&k->helper, memory_order_acquire);
    pg_range ranges[PG_MAX_OPERANDS];
    pg_launch l;
    pg_launch_of(p, step, &l);
    l.ranges = ranges;
    l.range_count = pg_kernel_id_function(&k->id) ? ranges_of(p, ranges) : 0;
    pg_loaded *const loaded =
        atomic_load_explicit(l.helper ? &helper->loaded : &k->loaded, memory_order_acquire);
    return w->device->ops->launch(w->device, loaded, &l, w->stream, err);
}

static ptxgen_status run_all(const launching *w, char *workspace, ptxgen_error *err)
{
    pg_step step = {.workspace = workspace};
    for (const uint32_t n = pg_sequence_of(w->problem).launches; step.number < n; step.number++)
        PG_TRY(run(w, &step, err));
    return PTXGEN_OK;
}

ptxgen_status pg_kernel_launch(ptxgen_kernel *k, pg_problem *p, pg_device *device,
                               ptxgen_stream stream, ptxgen_error *err)
{
    const ptxgen_kernel *helper = atomic_load_explicit(&k->helper, memory_order_acquire);
    void *memory;
    p->plan = k->plan;
    p->helper_plan = helper ? helper->plan : NULL;
    const launching w = {k, p, device, stream};
    const size_t bytes = pg_sequence_of(p).workspace_bytes;
    if (!bytes)
        return run_all(&w, NULL, err);
    const pg_view *given = pg_workspace_of(p);
    if (given && (size_t)given->shape[0] < bytes)
        return pg_fail(err, PTXGEN_EINVAL,
                       "workspace has %lld bytes, the call needs %zu: pass that much, or none",
                       (long long)given->shape[0], bytes);
    if (given)
        return run_all(&w, given->data, err);
    PG_TRY(device->ops->borrow(device, bytes, stream, &memory, err));
    const ptxgen_status status = run_all(&w, memory, err);
    const ptxgen_status returned =
        device->ops->give_back(device, memory, stream, status == PTXGEN_OK ? err : NULL);
    return status == PTXGEN_OK ? returned : status;
}
