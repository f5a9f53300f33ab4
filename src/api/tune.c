/* Candidates for a call, their times, and what is kept of them. */
#include "ptxgen/tuning.h"

#include "api/call.h"
#include "engine/tuned.h"
#include "base/error.h"
#include "base/sized.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- candidates ---- */

static ptxgen_status take(pg_call *c, ptxgen *ctx, const char *family, const pg_request *r,
                          ptxgen_error *err)
{
    const pg_family *f;
    pg_device *device;
    PG_TRY(pg_family_find(family, &f, err));
    if (!f->candidates)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s has no kernels to choose from by measurement: matmul_accumulate has",
                       f->name);
    PG_TRY(pg_call_take(c, f, r, err));
    PG_TRY(pg_call_check_shapes(c, err));
    if (c->problem.empty)
        return pg_fail(err, PTXGEN_EINVAL, "the problem is empty: there is nothing to measure");
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    PG_TRY(device->ops->info(device, &c->problem.device, err));
    if (!(c->given & 1))
        c->id.key[0] = pg_kernel_id_arch(f, device->ops->kind, c->problem.device->arch);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_call_candidates(ptxgen *ctx, const char *family, const char *params,
                                     const ptxgen_tensor *tensors, size_t count, size_t most,
                                     ptxgen_candidate_visit visit, void *user, ptxgen_error *err)
{
    pg_call c;
    pg_candidate rated[PG_MOST_CANDIDATES];
    PG_TRY(take(&c, ctx, family, &(pg_request){params, tensors, count}, err));
    const size_t wanted = most < PG_MOST_CANDIDATES ? most : PG_MOST_CANDIDATES;
    const size_t found = c.id.family->candidates(&c.problem, c.id.key, rated, wanted);
    for (size_t i = 0; i < found; i++) {
        pg_kernel_id id = c.id;
        pg_buf text;
        memcpy(id.key, rated[i].key, sizeof id.key);
        if (pg_kernel_id_resolve(&id, NULL) != PTXGEN_OK)
            continue;
        pg_buf_init(&text, &ctx->engine->alloc);
        pg_params_print(&id.family->params, id.key, &text);
        const bool failed = text.failed,
                   more = failed || visit(user, pg_buf_text(&text), rated[i].us);
        pg_buf_fini(&text);
        if (failed)
            return pg_fail_memory(err, 0);
        if (!more)
            break;
    }
    return PTXGEN_OK;
}

ptxgen_status ptxgen_tuning_keep(ptxgen *ctx, const char *family, const char *params,
                                 const ptxgen_tensor *tensors, size_t count, const char *winner,
                                 double us, ptxgen_error *err)
{
    pg_call c;
    char key[PG_TUNING_KEY_BYTES];
    pg_kernel_id id;
    PG_TRY(take(&c, ctx, family, &(pg_request){params, tensors, count}, err));
    PG_TRY(pg_kernel_id_parse(family, winner, (ptxgen_arch)c.id.key[0], &id, err));
    PG_TRY(pg_problem_serves(&c.problem, id.key, err));
    if (!(us > 0))
        return pg_fail(err, PTXGEN_EINVAL, "%g us is no time", us);
    if (!pg_tuned_key(&c.problem, c.id.key, key, sizeof key))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "the problem's description is too long for the file");
    return pg_tuning_keep(&ctx->engine->tuning, key, winner, us, err);
}

/* ---- time ---- */

typedef struct bound_call {
    ptxgen_kernel *kernel;
    const ptxgen_tensor *tensors;
    size_t count;
} bound_call;

static ptxgen_status enqueue(void *user, ptxgen_stream stream, ptxgen_error *err)
{
    const bound_call *b = user;
    return ptxgen_call_kernel(b->kernel, b->tensors, b->count, stream, err);
}

ptxgen_status ptxgen_call_time(ptxgen_kernel *kernel, const ptxgen_tensor *tensors, size_t count,
                               int repeat, double *us, ptxgen_error *err)
{
    enum { MOST = 1000 };
    pg_device *device;
    bound_call b = {kernel, tensors, count};
    *us = 0;
    if (repeat < 1 || repeat > MOST)
        return pg_fail(err, PTXGEN_EINVAL, "repeat is %d: use 1 to %d", repeat, (int)MOST);
    PG_TRY(pg_engine_device(kernel->engine, &device, err));
    PG_TRY(enqueue(&b, NULL, err)); /* loaded, and its workspace there, before a capture */
    PG_TRY(device->ops->synchronize(device, NULL, err));
    return device->ops->time(device, &(pg_timed){enqueue, &b, repeat}, us, err);
}

/* ---- what the file is like ---- */

ptxgen_status ptxgen_tuning_get_info(ptxgen *ctx, ptxgen_tuning_info *info, ptxgen_error *err)
{
    ptxgen_tuning_info out = {0};
    pg_tuning *t = &ctx->engine->tuning;
    ptxgen_error why = {0};
    pg_device *device;
    const ptxgen_device_info *d;
    char place[PG_TUNING_KEY_BYTES] = "?";
    const pg_family *f;
    if (t->path && (size_t)snprintf(out.path, sizeof out.path, "%s", t->path) >= sizeof out.path)
        return pg_fail(err, PTXGEN_EINVAL, "the path of the tuning file is too long");
    out.exists = t->path && access(t->path, F_OK) == 0;
    if (pg_tuning_read(t, &why) != PTXGEN_OK)
        snprintf(out.problem, sizeof out.problem, "%s", why.message);
    PG_TRY(pg_family_find("matmul_accumulate", &f, err));
    if (pg_engine_device(ctx->engine, &device, NULL) == PTXGEN_OK &&
        device->ops->info(device, &d, NULL) == PTXGEN_OK)
        pg_tuned_place(d, f, place, sizeof place);
    pg_tuning_count(t, place, &out.entries, &out.current);
    pg_sized_give(info, &out, sizeof out);
    return PTXGEN_OK;
}
