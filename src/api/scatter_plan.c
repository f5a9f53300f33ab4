/* Prepared indices, and what became of bad ones. */
#include "api/typed.h"

#include "base/error.h"
#include "scatter_add/scatter_add.h"

static ptxgen_status check_index(const ptxgen_scatter_add_args *a, ptxgen_error *err)
{
    const uintptr_t bytes = a->index_type == PTXGEN_INDEX_I32 ? 4 : 8;
    if ((unsigned)a->index_type > PTXGEN_INDEX_I32 || (unsigned)a->oob > PTXGEN_OOB_UNCHECKED)
        return pg_fail(err, PTXGEN_EINVAL,
                       "index_type is %d and oob %d: use PTXGEN_INDEX_ and PTXGEN_OOB_ values",
                       (int)a->index_type, (int)a->oob);
    if (a->plan || a->index_stride > 1 || a->index_stride < 0)
        return pg_fail(err, PTXGEN_EINVAL, "a plan is made of an index of adjacent values%s",
                       a->plan ? ", not of a plan" : "");
    if (a->rows < 0 || a->rows > INT32_MAX || a->out_rows < 0 || a->out_rows > PG_SORT_MAX)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "rows=%lld, out_rows=%lld: a plan has 0 to %d values and up to %lld rows",
                       (long long)a->rows, (long long)a->out_rows, INT32_MAX,
                       (long long)PG_SORT_MAX);
    if (a->rows && a->out_rows == 0)
        return pg_fail(
            err, PTXGEN_EINDEX,
            "out_rows=0: there are no rows, so each of the %lld values of index is out of "
            "range",
            (long long)a->rows);
    if (a->rows && (!a->index || (uintptr_t)a->index % bytes))
        return pg_fail(err, PTXGEN_EINVAL,
                       "index is at %p: it must be non-NULL and aligned to %d bytes", a->index,
                       (int)bytes);
    if ((uintptr_t)a->device_rows % 8 || (uintptr_t)a->record % 16)
        return pg_fail(
            err, PTXGEN_EINVAL,
            "device_rows is at %p and record at %p: they must be aligned to 8 and 16 bytes",
            (const void *)a->device_rows, (void *)a->record);
    return PTXGEN_OK;
}

/* Memory of the device for the entries. */
static ptxgen_status plan_alloc(ptxgen *ctx, const ptxgen_scatter_add_args *a, pg_device *device,
                                ptxgen_scatter_plan **out, ptxgen_error *err)
{
    const size_t bytes = pg_index_sort_entries_bytes(a->rows);
    const pg_alloc *alloc = &ctx->engine->alloc;
    ptxgen_scatter_plan *plan = pg_alloc_zero(alloc, sizeof *plan);
    if (!plan)
        return pg_fail_memory(err, sizeof *plan);
    const ptxgen_status status = device->ops->alloc(device, bytes, &plan->entries, err);
    if (status != PTXGEN_OK) {
        pg_free(alloc, plan, sizeof *plan);
        return status;
    }
    plan->total = (uint32_t *)((char *)plan->entries + bytes - 256);
    plan->rows = a->rows;
    plan->out_rows = a->out_rows;
    plan->owner = ctx->engine;
    atomic_fetch_add(&ctx->engine->refs, 1);
    *out = plan;
    return PTXGEN_OK;
}

static ptxgen_status run_sort(const ptxgen_kernel *k, const pg_index_sort_args *args,
                              pg_device *device, ptxgen_stream stream, ptxgen_error *err)
{
    const pg_index_sort_plan *p = (const pg_index_sort_plan *)k->plan;
    const pg_sequence s = pg_index_sort_sequence(p, args);
    pg_step step = {0};
    void *memory;
    PG_TRY(device->ops->borrow(device, s.workspace_bytes, stream, &memory, err));
    ptxgen_status status = PTXGEN_OK;
    step.workspace = memory;
    for (; step.number < s.launches && status == PTXGEN_OK; step.number++) {
        pg_launch l;
        pg_index_sort_launch(p, args, &step, &l);
        status = device->ops->launch(device, atomic_load(&k->loaded), &l, stream, err);
    }
    const ptxgen_status returned =
        device->ops->give_back(device, memory, stream, status == PTXGEN_OK ? err : NULL);
    return status == PTXGEN_OK ? returned : status;
}

static ptxgen_status fill(ptxgen *ctx, const ptxgen_scatter_plan *plan,
                          const ptxgen_scatter_add_args *a, ptxgen_stream stream, ptxgen_error *err)
{
    const ptxgen_device_info *info;
    pg_device *const device = atomic_load(&ctx->engine->device);
    pg_kernel_id id = {.family = &pg_family_index_sort};
    ptxgen_kernel *k;
    const pg_index_sort_args args = {.index = a->index,
                                     .rows = a->rows,
                                     .out_rows = a->out_rows,
                                     .device_rows = a->device_rows,
                                     .has_padding = a->has_padding_index,
                                     .padding = a->padding_index,
                                     .record = a->record,
                                     .entries = plan->entries,
                                     .total = plan->total};
    PG_TRY(device->ops->info(device, &info, err));
    pg_index_sort_key *key = (pg_index_sort_key *)id.key;
    *key = (pg_index_sort_key){pg_kernel_id_arch(id.family, device->ops->kind, info->arch),
                               a->index_type, a->oob};
    PG_TRY(pg_kernel_id_resolve(&id, err));
    PG_TRY(pg_kernel_store_ready(&ctx->kernels, device, &id, stream, &k, err));
    const ptxgen_status status = run_sort(k, &args, device, stream, err);
    ptxgen_kernel_unref(k);
    return status;
}

ptxgen_status ptxgen_scatter_plan_create(ptxgen *ctx, const ptxgen_scatter_add_args *args,
                                         ptxgen_stream stream, ptxgen_scatter_plan **out,
                                         ptxgen_error *err)
{
    ptxgen_scatter_add_args a;
    pg_device *device;
    bool capturing;
    *out = NULL;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_scatter_add_args", err));
    PG_TRY(check_index(&a, err));
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    PG_TRY(device->ops->capturing(device, stream, &capturing, err));
    if (capturing)
        return pg_fail(err, PTXGEN_ECAPTURE,
                       "the stream is being captured: make the plan before the capture begins, or "
                       "pass the index itself");
    PG_TRY(plan_alloc(ctx, &a, device, out, err));
    const ptxgen_status status = a.rows ? fill(ctx, *out, &a, stream, err) : PTXGEN_OK;
    if (status != PTXGEN_OK) {
        ptxgen_scatter_plan_destroy(*out);
        *out = NULL;
    }
    return status;
}

void ptxgen_scatter_plan_destroy(ptxgen_scatter_plan *plan)
{
    if (!plan)
        return;
    pg_engine *const engine = plan->owner;
    pg_device *const device = atomic_load(&engine->device);
    device->ops->free(device, plan->entries);
    pg_free(&engine->alloc, plan, sizeof *plan);
    pg_engine_unref(engine);
}

ptxgen_status ptxgen_bad_index_error(const ptxgen_bad_index *record, ptxgen_error *err)
{
    const uint64_t in_src_index = UINT64_C(1) << 62;
    if (record->position == UINT64_MAX)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINDEX,
                   "%s[%llu] = %lld is out of range: its row was skipped (so was that of any later "
                   "bad index), all others were done",
                   record->position & in_src_index ? "src_index" : "index",
                   (unsigned long long)(record->position & ~in_src_index),
                   (long long)record->value);
}

ptxgen_status ptxgen_check_indices(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err)
{
    pg_device *device;
    pg_bad_index bad;
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    PG_TRY(device->ops->take_bad_index(device, stream, &bad, err));
    const ptxgen_bad_index record = {.position = bad.position, .value = bad.value};
    return ptxgen_bad_index_error(&record, err);
}
