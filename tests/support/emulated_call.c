#include "emulated_call.h"

#include "api/context.h"
#include "engine/kernel_launch.h"
#include "ptx_text.h"
#include "typed_launch.h"
#include "ptxgen/emulator.h"

typedef struct arguments {
    _Alignas(64) unsigned char maps[PG_LAUNCH_MAX_ARGS][128];
    void *values[PG_LAUNCH_MAX_ARGS];
} arguments;

static ptxgen_status encode(const pg_tensor_spec *s, void *out, ptxgen_error *err)
{
    ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                      .data_type = (int)s->type,
                                      .rank = s->rank,
                                      .address = s->address,
                                      .swizzle = (int)s->swizzle,
                                      .l2_promotion = (int)s->l2_promotion,
                                      .oob_fill = (int)s->nan_fill};
    memcpy(map.dims, s->dims, sizeof map.dims);
    memcpy(map.strides, s->strides, sizeof map.strides);
    memcpy(map.box, s->box, sizeof map.box);
    return ptxgen_emulator_encode_tensor_map(&map, out, err);
}

static ptxgen_status make_arguments(pg_launch *l, arguments *a, ptxgen_error *err)
{
    for (uint32_t i = 0; i < l->nargs; i++) {
        pg_arg *arg = &l->args[i];
        a->values[i] = arg->kind == PG_ARG_U32 ? (void *)&arg->u32 : (void *)&arg->u64;
        if (arg->kind == PG_ARG_TENSOR) {
            a->values[i] = a->maps[i];
            const ptxgen_status status = encode(&arg->tensor, a->maps[i], err);
            if (status != PTXGEN_OK)
                return status;
        }
    }
    return PTXGEN_OK;
}

static ptxgen_status run(ptxgen_emulator *emu, const ptxgen_kernel *kernel, pg_launch *l,
                         ptxgen_error *err)
{
    const pg_plan_head *head = (const pg_plan_head *)kernel->plan;
    ptxgen_kernel_info info = {.size = sizeof info};
    char name[128];
    ptxgen_kernel_describe(kernel, &info);
    snprintf(name, sizeof name, head->parts ? "%s_%s" : "%s", head->entry,
             head->parts ? head->parts[l->part] : "");
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    arguments *a = calloc(1, sizeof *a);
    ptxgen_emulator_launch launch = {.size = sizeof launch,
                                     .dynamic_shared = l->shared_bytes,
                                     .args = a->values,
                                     .arg_count = l->nargs};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    memcpy(launch.cluster, l->cluster, sizeof launch.cluster);
    ptxgen_status status = ptxgen_emulator_load(emu, info.ptx, info.ptx_size, name, &module, err);
    if (status == PTXGEN_OK) {
        status = ptxgen_emulator_find(module, name, &entry, err);
        if (status == PTXGEN_OK)
            status = make_arguments(l, a, err);
        if (status == PTXGEN_OK)
            status = ptxgen_emulator_run(entry, &launch, err);
        ptxgen_emulator_unload(module);
    }
    free(a);
    return status;
}

static void expect_no_report(const ptxgen_emulator *emu, const emulated_call *call)
{
    ptxgen_emulator_report r;
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++)
        if (ptxgen_emulator_report_class_of(r.kind) != PTXGEN_EMULATOR_ADVICE &&
            r.kind !=
                PTXGEN_EMULATOR_REPORT_DEFAULT_SCOPE) /* the pair's arrivals, as CUTLASS has them */
            fail_msg("%s %s, seed %llu: %s: lines %d and %d: %s %s", call->family, call->params,
                     (unsigned long long)call->isa_seed, ptxgen_emulator_report_name(r.kind),
                     r.line, r.other_line, r.text, r.where);
}

void emulate_call(ptxgen *ctx, const emulated_call *call)
{
    const ptxgen_emulator_config config = {
        .size = sizeof config,
        .threads = 1,
        .seed = call->isa_seed,
        .check = call->check,
        .order = call->isa_seed ? PTXGEN_EMULATOR_ORDER_ISA : PTXGEN_EMULATOR_ORDER_HW,
        .arithmetic = call->fast ? PTXGEN_EMULATOR_FAST : PTXGEN_EMULATOR_EXACT};
    const ptxgen_device_info device = {.sm_count = call->sm_count};
    ptxgen_emulator *emu;
    ptxgen_error err = {0};
    pg_launch launch;
    ptxgen_kernel *kernel = emit_kernel(ctx, call->family, call->params);
    pg_problem problem;
    typed_problem(call->family, call->args, kernel->plan, &device, &problem);
    const pg_sequence sequence = pg_sequence_of(&problem);
    pg_step step = {.workspace =
                        sequence.workspace_bytes ? malloc(sequence.workspace_bytes) : NULL};
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    for (size_t i = 0; i < call->buffer_count; i++) {
        const emulated_buffer *b = &call->buffers[i];
        if (b->bytes)
            assert_int_equal(
                ptxgen_emulator_add_buffer(emu, b->name, (void *)(uintptr_t)b->address, b->bytes,
                                           b->writable ? PTXGEN_EMULATOR_WRITABLE : 0, &err),
                PTXGEN_OK);
    }
    if (step.workspace)
        assert_int_equal(ptxgen_emulator_add_buffer(emu, "workspace", step.workspace,
                                                    sequence.workspace_bytes,
                                                    PTXGEN_EMULATOR_WRITABLE, &err),
                         PTXGEN_OK);
    for (; step.number < sequence.launches; step.number++) {
        pg_launch_of(&problem, &step, &launch);
        if (run(emu, kernel, &launch, &err) != PTXGEN_OK)
            fail_msg("%s %s: %s", call->family, call->params, err.message);
    }
    expect_no_report(emu, call);
    ptxgen_emulator_destroy(emu);
    free(step.workspace);
    ptxgen_kernel_unref(kernel);
}
