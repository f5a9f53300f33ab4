/* See call.h. */
#include "api/call.h"

#include "base/error.h"
#include "engine/kernel_launch.h"
#include "engine/tuned.h"

#include <stdio.h>
#include <string.h>

static const pg_given arch_given = 1; /* every family's first parameter */

void pg_call_init(pg_call *c, const pg_family *family)
{
    pg_problem_init(&c->problem, family);
    memset(&c->id, 0, sizeof c->id);
    c->id.family = family;
    c->given = 0;
    c->placed = NULL;
    c->ready_only = false;
    c->stall = PTXGEN_STALL_AUTO;
}

static ptxgen_status parse_stall(pg_str word, ptxgen_stall *out, ptxgen_error *err)
{
    if (pg_str_is(word, "wait"))
        *out = PTXGEN_STALL_WAIT;
    else if (pg_str_is(word, "never"))
        *out = PTXGEN_STALL_NEVER;
    else
        return pg_fail(err, PTXGEN_EINVAL, "stall=%.*s: use wait or never",
                       (int)(word.n < 40 ? word.n : 40), word.p);
    return PTXGEN_OK;
}

ptxgen_status pg_call_parse(pg_call *c, const char *params, ptxgen_error *err)
{
    enum { NAME = sizeof "stall=" - 1 };
    char rest[1024];
    const char *at = params ? strstr(params, "stall=") : NULL;
    if (at && (at == params || at[-1] == ' ')) {
        const size_t before = (size_t)(at - params), word = strcspn(at, " \t");
        PG_TRY(parse_stall((pg_str){at + NAME, word - NAME}, &c->stall, err));
        if (before + strlen(at + word) >= sizeof rest)
            return pg_fail(err, PTXGEN_EINVAL, "parameters of %zu bytes: at most %zu are read",
                           strlen(params), sizeof rest - 1);
        memcpy(rest, params, before);
        strcpy(rest + before, at + word);
        params = rest;
    }
    return pg_params_parse_given(&c->id.family->params, params, c->id.key, &c->given, err);
}

void pg_call_give(pg_call *c, size_t offset)
{
    const pg_param_table *t = &c->id.family->params;
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].offset == offset)
            c->given |= UINT64_C(1) << i;
}

ptxgen_status pg_take_args(const void *args, void *out, size_t size, const char *name,
                           ptxgen_error *err)
{
    size_t given = 0;
    if (!args)
        return pg_fail(err, PTXGEN_EINVAL, "args is NULL: give a %s", name);
    memcpy(&given, args, sizeof given);
    if (given < sizeof(size_t) || given > 4096)
        return pg_fail(err, PTXGEN_EINVAL, "args.size is %zu: set it to sizeof(%s)", given, name);
    if (given < size)
        memset(out, 0, size);
    memcpy(out, args, given < size ? given : size);
    return PTXGEN_OK;
}

ptxgen_status pg_call_check_shapes(pg_call *c, ptxgen_error *err)
{
    PG_TRY(pg_params_check(&c->id.family->params, c->id.key, err));
    c->problem.key = c->id.key;
    PG_TRY(pg_problem_check_shapes(&c->problem, err));
    return pg_problem_bind(&c->problem, c->given, c->id.key, err);
}

static ptxgen_status check_place(const pg_call *c, ptxgen_error *err)
{
    const int current = c->problem.device->ordinal;
    if (!c->placed || c->ordinal == current)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL,
                   "%s is on device %d and the current one is %d: make %d current for the call",
                   c->placed, (int)c->ordinal, current, (int)c->ordinal);
}

/* The device of a problem that is not empty, and the architecture that follows. */
static ptxgen_status find_device(pg_call *c, pg_engine *engine, pg_device **device,
                                 ptxgen_error *err)
{
    PG_TRY(pg_engine_device(engine, device, err));
    if (!c->problem.device)
        PG_TRY((*device)->ops->info(*device, &c->problem.device, err));
    PG_TRY(check_place(c, err));
    if (!(c->given & arch_given))
        c->id.key[0] =
            pg_kernel_id_arch(c->id.family, (*device)->ops->kind, c->problem.device->arch);
    else /* before anything is chosen for it */
        c->id.key[0] = pg_family_arch_on(c->id.family, c->id.key[0]);
    return PTXGEN_OK;
}

/* Its key, with no automatic value left. */
static ptxgen_status choose_kernel(pg_call *c, pg_engine *engine, pg_device **device,
                                   ptxgen_error *err)
{
    PG_TRY(find_device(c, engine, device, err));
    pg_tuned_apply(&c->problem, &c->id, engine);
    if (c->id.family->choose)
        c->id.family->choose(&c->problem, c->id.key);
    return pg_kernel_id_resolve(&c->id, err);
}

static ptxgen_status check_limits(const pg_problem *p, ptxgen_error *err)
{
    return p->family->limits ? p->family->limits(p, err) : PTXGEN_OK;
}

/* A loaded kernel of the resolved key. */
static ptxgen_status get_own(pg_call *c, ptxgen *ctx, pg_device *device, ptxgen_stream stream,
                             ptxgen_kernel **out, ptxgen_error *err)
{
    if (!c->ready_only)
        return pg_kernel_store_ready(&ctx->kernels, device, &c->id, stream, out, err);
    *out = pg_kernel_store_find_ready(&ctx->kernels, device, &c->id);
    return *out ? PTXGEN_OK : pg_fail(err, PTXGEN_EPENDING, "the kernel is not loaded yet");
}

/* A kernel for a call: its own, or one that stands in for it. */
typedef struct served {
    ptxgen_kernel *kernel; /* NULL: an empty problem */
    bool own;
} served;

/* stall=never: its own where that is ready, or the generic one. */
static ptxgen_status take_at_once(pg_call *c, ptxgen *ctx, ptxgen_stream stream, served *out,
                                  ptxgen_error *err)
{
    pg_device *device;
    PG_TRY(find_device(c, ctx->engine, &device, err));
    const pg_standby_call call = {&c->problem, &c->id, c->given, device, stream};
    PG_TRY(pg_standby_get(&ctx->standby, &call, &out->kernel, &out->own, err));
    const ptxgen_status status = check_limits(&c->problem, err);
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(out->kernel);
        out->kernel = NULL;
    }
    return status;
}

/* Every check of a call, and its kernel, loaded. */
static ptxgen_status get_kernel(pg_call *c, ptxgen *ctx, ptxgen_stream stream, served *out,
                                ptxgen_error *err)
{
    pg_device *device;
    const ptxgen_stall stall = c->stall ? c->stall : ctx->stall;
    *out = (served){NULL, true};
    PG_TRY(pg_call_check_shapes(c, err));
    if (c->problem.empty)
        return PTXGEN_OK;
    PG_TRY(pg_problem_check_memory(&c->problem, err));
    if (stall == PTXGEN_STALL_NEVER && !c->ready_only)
        return take_at_once(c, ctx, stream, out, err);
    PG_TRY(choose_kernel(c, ctx->engine, &device, err));
    PG_TRY(check_limits(&c->problem, err));
    return get_own(c, ctx, device, stream, &out->kernel, err);
}

/* The same, and the call is kept for those that are like it, unless another kernel shall serve
 * them. */
static ptxgen_status get_and_keep(pg_call *c, ptxgen *ctx, ptxgen_stream stream,
                                  ptxgen_kernel **out, ptxgen_error *err)
{
    served f;
    pg_call_name name;
    const bool named = pg_call_name_of(&c->problem, c->id.key, c->given, &name);
    const uint64_t before = pg_build_assemblies_here();
    const ptxgen_status status = get_kernel(c, ctx, stream, &f, err);
    const uint64_t made = pg_build_assemblies_here() - before;
    if (made)
        atomic_fetch_add(&ctx->compiles_in_call, made);
    *out = f.kernel;
    if (status == PTXGEN_OK && named && f.kernel && f.own)
        pg_call_memo_keep(ctx->kernels.calls, &name, &c->problem, f.kernel);
    return status;
}

/* A call like one before: what its addresses decide. */
static ptxgen_status check_again(const pg_call *c, ptxgen_error *err)
{
    PG_TRY(pg_problem_check_overlap(&c->problem, err));
    return check_place(c, err);
}

/* Once there is a device, p->device is that of the current context, so that a call can be known
 * again. */
static void look_at_device(pg_call *c, const pg_engine *engine)
{
    pg_device *const device = atomic_load_explicit(&engine->device, memory_order_acquire);
    if (device && device->ops->info(device, &c->problem.device, NULL) != PTXGEN_OK)
        c->problem.device = NULL;
}

ptxgen_status pg_call_run(pg_call *c, ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err)
{
    pg_device *device;
    look_at_device(c, ctx->engine);
    ptxgen_kernel *k = pg_call_memo_recall(ctx->kernels.calls, &c->problem, c->id.key, c->given);
    ptxgen_status status = k ? check_again(c, err) : get_and_keep(c, ctx, stream, &k, err);
    if (status == PTXGEN_OK && k)
        status = pg_engine_device(ctx->engine, &device, err);
    if (status == PTXGEN_OK && k)
        status = pg_kernel_launch(k, &c->problem, device, stream, err);
    ptxgen_kernel_unref(k);
    return status;
}

ptxgen_status pg_call_prepare(pg_call *c, ptxgen_kernel *k, ptxgen_error *err)
{
    pg_problem *p = &c->problem;
    pg_device *device;
    if (k->id.family != p->family)
        return pg_fail(err, PTXGEN_EINVAL, "the kernel is of family %s, not %s", k->id.family->name,
                       p->family->name);
    PG_TRY(pg_params_check(&p->family->params, c->id.key, err));
    p->key = k->id.key;
    PG_TRY(pg_problem_check_shapes(p, err));
    PG_TRY(pg_problem_serves(p, k->id.key, err));
    if (p->empty)
        return PTXGEN_OK;
    PG_TRY(pg_problem_check_memory(p, err));
    PG_TRY(pg_engine_device(k->engine, &device, err));
    if (!p->device)
        PG_TRY(device->ops->info(device, &p->device, err));
    return check_limits(p, err);
}

static bool recall_kernel(pg_call *c, ptxgen_kernel *k)
{
    pg_call_memo *const calls = atomic_load_explicit(&k->calls, memory_order_acquire);
    if (!calls || k->id.family != c->problem.family)
        return false;
    ptxgen_kernel *const found = pg_call_memo_recall(calls, &c->problem, c->id.key, c->given);
    ptxgen_kernel_unref(found);
    return found;
}

static void keep_for_kernel(ptxgen_kernel *k, const pg_call_name *name, const pg_problem *p)
{
    pg_call_memo *calls = atomic_load_explicit(&k->calls, memory_order_acquire), *mine = NULL;
    if (!calls && (mine = pg_call_memo_create_for(&k->engine->alloc, k)) &&
        atomic_compare_exchange_strong(&k->calls, &calls, mine))
        calls = mine;
    if (mine && calls != mine)
        pg_call_memo_free(mine);
    if (calls)
        pg_call_memo_keep(calls, name, p, k);
}

static ptxgen_status prepare_and_keep(pg_call *c, ptxgen_kernel *k, ptxgen_stream stream,
                                      ptxgen_error *err)
{
    pg_device *device;
    pg_call_name name;
    const bool named = pg_call_name_of(&c->problem, c->id.key, c->given, &name);
    PG_TRY(pg_call_prepare(c, k, err));
    if (c->problem.empty)
        return PTXGEN_OK;
    PG_TRY(pg_engine_device(k->engine, &device, err));
    PG_TRY(pg_kernel_load(k, device, stream, err));
    if (named)
        keep_for_kernel(k, &name, &c->problem);
    return PTXGEN_OK;
}

ptxgen_status pg_call_kernel(pg_call *c, ptxgen_kernel *k, ptxgen_stream stream, ptxgen_error *err)
{
    pg_device *device;
    look_at_device(c, k->engine);
    if (recall_kernel(c, k))
        PG_TRY(check_again(c, err));
    else
        PG_TRY(prepare_and_keep(c, k, stream, err));
    if (c->problem.empty)
        return PTXGEN_OK;
    PG_TRY(pg_engine_device(k->engine, &device, err));
    return pg_kernel_launch(k, &c->problem, device, stream, err);
}

ptxgen_status pg_call_params(pg_call *c, ptxgen *ctx, char *out, size_t size, ptxgen_error *err)
{
    pg_device *device;
    pg_buf text;
    PG_TRY(pg_call_check_shapes(c, err));
    PG_TRY(choose_kernel(c, ctx->engine, &device, err));
    pg_buf_init(&text, &ctx->engine->alloc);
    pg_params_print(&c->id.family->params, c->id.key, &text);
    const bool failed = text.failed;
    snprintf(out, size, "%s", pg_buf_text(&text));
    pg_buf_fini(&text);
    return failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

ptxgen_status pg_call_generic(pg_call *c, ptxgen *ctx, ptxgen_generic_info *out, ptxgen_error *err)
{
    pg_device *device;
    pg_kernel_id id;
    pg_buf text;
    PG_TRY(pg_call_check_shapes(c, err));
    PG_TRY(find_device(c, ctx->engine, &device, err));
    const pg_standby_call call = {&c->problem, &c->id, c->given, device, NULL};
    out->exists = pg_standby_generic(&call, &id);
    if (!out->exists)
        return PTXGEN_OK;
    out->other_bits = id.family->other_bits && id.family->other_bits(id.key);
    pg_buf_init(&text, &ctx->engine->alloc);
    pg_params_print(&id.family->params, id.key, &text);
    const bool failed = text.failed;
    snprintf(out->params, sizeof out->params, "%s", pg_buf_text(&text));
    pg_buf_fini(&text);
    return failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

ptxgen_status pg_call_check_memory(pg_call *c, ptxgen_error *err)
{
    const pg_function_seam *seam = c->problem.family->function;
    if (seam && seam->number(c->id.key) && !c->problem.map)
        return pg_fail(
            err, PTXGEN_EINVAL,
            "the oracle has no context and knows no functions: apply the function to src "
            "first, by ptxgen_function_map, and set it to 0");
    PG_TRY(pg_problem_check_memory(&c->problem, err));
    return check_limits(&c->problem, err);
}

ptxgen_status pg_call_workspace(pg_call *c, ptxgen *ctx, size_t *bytes, ptxgen_error *err)
{
    pg_device *device;
    *bytes = 0;
    PG_TRY(pg_call_check_shapes(c, err));
    if (c->problem.empty)
        return PTXGEN_OK;
    PG_TRY(choose_kernel(c, ctx->engine, &device, err));
    PG_TRY(check_limits(&c->problem, err));
    pg_plans plans;
    pg_plans_make(&c->id, &plans, &c->problem);
    *bytes = pg_sequence_of(&c->problem).workspace_bytes;
    return PTXGEN_OK;
}

/* A kernel of the bound key, for the architecture that is given or for any: without one the call
 * is refused, and so is its plain C answer. */
static ptxgen_status check_exists(const pg_call *c, ptxgen_error *err)
{
    pg_kernel_id id = c->id;
    if (c->given & arch_given)
        return pg_kernel_id_resolve(&id, err);
    for (size_t i = 0; pg_arch_at(i); i++) {
        id = c->id;
        id.key[0] = pg_arch_at(i)->id;
        if (pg_kernel_id_resolve(&id, NULL) == PTXGEN_OK)
            return PTXGEN_OK;
    }
    id = c->id;
    id.key[0] = c->id.family->default_arch;
    return pg_kernel_id_resolve(&id, err);
}

ptxgen_status pg_call_oracle(pg_call *c, ptxgen_error *err)
{
    c->problem.host = true;
    PG_TRY(pg_call_check_shapes(c, err));
    if (c->problem.empty)
        return PTXGEN_OK;
    PG_TRY(pg_call_check_memory(c, err));
    PG_TRY(check_exists(c, err));
    return c->problem.family->oracle(&c->problem, err);
}
