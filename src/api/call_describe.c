/* ptxgen_call_describe: a call's launches as data, for somebody else's runtime. */
#include "api/call.h"

#include "base/error.h"
#include "engine/kernel_launch.h"
#include "ptxgen/call.h"

#include <stdio.h>
#include <string.h>

/* The operand that an address is the first byte of. */
static const char *operand_at(const pg_problem *p, const void *address)
{
    for (size_t i = 0; i < p->table->count; i++)
        if (address && p->operand[i].present && p->operand[i].data == address)
            return p->table->rows[i].name;
    return "";
}

static void describe_map(const pg_tensor_spec *s, ptxgen_launch_map *out)
{
    *out = (ptxgen_launch_map){.data_type = (int)s->type,
                               .swizzle = (int)s->swizzle,
                               .l2_promotion = (int)s->l2_promotion,
                               .oob_fill = (int)s->nan_fill,
                               .rank = s->rank,
                               .address = s->address};
    memcpy(out->dims, s->dims, sizeof out->dims);
    memcpy(out->strides, s->strides, sizeof out->strides);
    memcpy(out->box, s->box, sizeof out->box);
}

static void describe_arg(const pg_problem *p, const pg_arg *a, ptxgen_launch_arg *out)
{
    switch (a->kind) {
    case PG_ARG_U32:
        out->kind = PTXGEN_ARG_U32;
        out->value = a->u32;
        break;
    case PG_ARG_U64:
        out->kind = PTXGEN_ARG_U64;
        out->value = a->u64;
        break;
    case PG_ARG_POINTER:
        out->kind = PTXGEN_ARG_POINTER;
        out->value = a->u64;
        out->operand = operand_at(p, (const void *)(uintptr_t)a->u64);
        break;
    case PG_ARG_TENSOR:
        out->kind = PTXGEN_ARG_TENSOR_MAP;
        describe_map(&a->tensor, &out->map);
        out->operand = operand_at(p, a->tensor.address);
        break;
    case PG_ARG_RECORD:
        out->kind = PTXGEN_ARG_RECORD;
        break;
    }
}

/* Arguments at their natural alignment, as the PTX declares them. */
static void place(ptxgen_launch_arg *a, uint32_t *end)
{
    const uint32_t alignment = a->kind == PTXGEN_ARG_TENSOR_MAP ? 64
                               : a->kind == PTXGEN_ARG_U32      ? 4
                                                                : 8;
    a->bytes = a->kind == PTXGEN_ARG_TENSOR_MAP ? 128 : alignment;
    a->offset = (*end + alignment - 1) / alignment * alignment;
    *end = a->offset + a->bytes;
}

/* Row i of those that the kernel has; NULL past the last. */
static const pg_kernel_param *param_at(const pg_param_list *list, size_t i)
{
    for (size_t row = 0; list->rows[row].name; row++)
        if (!(list->absent >> row & 1) && i-- == 0)
            return &list->rows[row];
    return NULL;
}

static bool has_entry(const pg_plan_head *head, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!head->parts || !head->parts[i + 1])
            return false;
    return true;
}

bool ptxgen_kernel_entry_param(const ptxgen_kernel *k, size_t n, size_t i, ptxgen_launch_arg *out)
{
    static const ptxgen_arg_kind kinds[] = {[PG_ARG_U32] = PTXGEN_ARG_U32,
                                            [PG_ARG_U64] = PTXGEN_ARG_U64,
                                            [PG_ARG_TENSOR] = PTXGEN_ARG_TENSOR_MAP,
                                            [PG_ARG_RECORD] = PTXGEN_ARG_RECORD,
                                            [PG_ARG_POINTER] = PTXGEN_ARG_POINTER};
    const pg_kernel_param *row;
    uint32_t end = 0;
    if (!has_entry((const void *)k->plan, n))
        return false;
    const pg_param_list list = k->id.family->parameters(k->plan, (uint32_t)n);
    for (size_t at = 0; (row = param_at(&list, at)) != NULL; at++) {
        *out = (ptxgen_launch_arg){.name = row->name, .kind = kinds[row->kind], .operand = ""};
        place(out, &end);
        if (at == i)
            return true;
    }
    return false;
}

bool ptxgen_kernel_param(const ptxgen_kernel *k, size_t i, ptxgen_launch_arg *out)
{
    return ptxgen_kernel_entry_param(k, 0, i, out);
}

static void name_part(const pg_plan_head *head, uint32_t part, char *out, size_t size)
{
    snprintf(out, size, head->parts ? "%s_%s" : "%s", head->entry,
             head->parts ? head->parts[part] : "");
}

bool ptxgen_kernel_entry(const ptxgen_kernel *k, size_t n, char *name, size_t size)
{
    const pg_plan_head *head = (const void *)k->plan;
    if (!has_entry(head, n))
        return false;
    name_part(head, (uint32_t)n, name, size);
    return true;
}

/* What a visit is told of every launch. */
typedef struct describing {
    const pg_problem *problem;
    const pg_plans *plans;
    pg_buf own, helper; /* the parameters of the two kernels */
    ptxgen_launch_visit visit;
    void *user;
} describing;

static bool describe(describing *d, const pg_launch *l)
{
    char entry[128];
    ptxgen_launch_arg args[PG_LAUNCH_MAX_ARGS];
    const pg_problem *p = d->problem;
    const pg_plan_head *head = l->helper ? p->helper_plan : p->plan;
    const pg_family *f = l->helper ? d->plans->helper_family : p->family;
    const pg_param_list params = f->parameters(head, l->part);
    uint32_t end = 0;
    for (uint32_t i = 0; i < l->nargs; i++) {
        args[i] = (ptxgen_launch_arg){.name = param_at(&params, i)->name, .operand = ""};
        describe_arg(p, &l->args[i], &args[i]);
        place(&args[i], &end);
    }
    name_part(head, l->part, entry, sizeof entry);
    ptxgen_launch out = {.size = sizeof out,
                         .entry = entry,
                         .dynamic_shared_bytes = l->shared_bytes,
                         .arg_count = l->nargs,
                         .args = args,
                         .family = f->name,
                         .params = pg_buf_text(l->helper ? &d->helper : &d->own)};
    memcpy(out.grid, l->grid, sizeof out.grid);
    memcpy(out.block, l->block, sizeof out.block);
    memcpy(out.cluster, l->cluster, sizeof out.cluster);
    return d->visit(d->user, &out);
}

enum { UNSET = PG_ARG_POINTER + 1 }; /* no kind: no launch sets it */

/* A launch that forgets a parameter, or sets it as another kind than the list says. */
static ptxgen_status check_args(const pg_family *f, const pg_param_list *list, const pg_launch *l,
                                ptxgen_error *err)
{
    static const char *const words[] = {"a u32",      "a u64",     "a tensor map",
                                        "the record", "a pointer", "nothing"};
    for (uint32_t i = 0; i < l->nargs; i++) {
        const pg_kernel_param *row = param_at(list, i);
        const pg_arg_kind set = l->args[i].kind;
        if (!row)
            return pg_fail(err, PTXGEN_EINVAL, "%s: launch sets %d arguments, the kernel has %d",
                           f->name, (int)l->nargs, (int)i);
        if (set != row->kind && !(row->kind == PG_ARG_RECORD && set == PG_ARG_POINTER))
            return pg_fail(err, PTXGEN_EINVAL,
                           "%s: the kernel's parameter %s is %s, and launch sets it to %s: set "
                           "at_%s in launch.c",
                           f->name, row->name, words[row->kind], words[set], row->name);
    }
    return PTXGEN_OK;
}

static void forget_args(pg_launch *l)
{
    for (size_t i = 0; i < PG_LAUNCH_MAX_ARGS; i++)
        l->args[i].kind = (pg_arg_kind)UNSET;
}

/* The launch of a step, every argument of which is set. */
static ptxgen_status launch_of(const describing *d, const pg_step *step, pg_launch *l,
                               ptxgen_error *err)
{
    const pg_problem *p = d->problem;
    forget_args(l);
    pg_launch_of(p, step, l);
    const pg_family *f = l->helper ? d->plans->helper_family : p->family;
    const pg_param_list list = f->parameters(l->helper ? p->helper_plan : p->plan, l->part);
    return check_args(f, &list, l, err);
}

/* In order, until the visit has enough. */
static ptxgen_status describe_all(describing *d, pg_step *step, uint32_t launches,
                                  ptxgen_error *err)
{
    const pg_problem *p = d->problem;
    pg_params_print(&p->family->params, p->key, &d->own);
    if (d->plans->helper_family)
        pg_params_print(&d->plans->helper_family->params, d->plans->helper_key, &d->helper);
    if (d->own.failed || d->helper.failed)
        return pg_fail_memory(err, 0);
    for (; step->number < launches; step->number++) {
        pg_launch l;
        PG_TRY(launch_of(d, step, &l, err));
        if (!describe(d, &l))
            break;
    }
    return PTXGEN_OK;
}

/* Who launches by himself brings the workspace along. */
static ptxgen_status find_workspace(const pg_problem *p, const pg_sequence *s, pg_step *step,
                                    ptxgen_error *err)
{
    const pg_view *given = pg_workspace_of(p);
    if (s->workspace_bytes && (!given || (size_t)given->shape[0] < s->workspace_bytes))
        return pg_fail(err, PTXGEN_EINVAL,
                       "the launches need %zu bytes of workspace: pass the operand workspace",
                       s->workspace_bytes);
    step->workspace = given ? given->data : NULL;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_call_describe(ptxgen_kernel *kernel, const ptxgen_tensor *tensors,
                                   size_t count, ptxgen_launch_visit visit, void *user,
                                   ptxgen_error *err)
{
    pg_call c;
    pg_plans plans;
    pg_step step = {0};
    pg_call_init(&c, kernel->id.family);
    PG_TRY(pg_problem_take(&c.problem, tensors, count, err));
    PG_TRY(pg_call_prepare(&c, kernel, err));
    if (c.problem.empty)
        return PTXGEN_OK;
    pg_plans_make(&kernel->id, &plans, &c.problem);
    const pg_sequence sequence = pg_sequence_of(&c.problem);
    PG_TRY(find_workspace(&c.problem, &sequence, &step, err));
    describing d = {.problem = &c.problem, .plans = &plans, .visit = visit, .user = user};
    pg_buf_init(&d.own, &kernel->engine->alloc);
    pg_buf_init(&d.helper, &kernel->engine->alloc);
    const ptxgen_status status = describe_all(&d, &step, sequence.launches, err);
    pg_buf_fini(&d.own);
    pg_buf_fini(&d.helper);
    return status;
}
