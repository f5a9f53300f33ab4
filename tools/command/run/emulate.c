#include "command/run/emulate.h"

#include "command/fail.h"

#include <string.h>

enum { MAX_ARGS = 32, MAP_BYTES = 128 };

/* Bytes from the first element to the last; 0 when there are none. */
static size_t span(const ptxgen_tensor *t)
{
    int64_t last = 0, dense = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (t->shape[d] == 0)
            return 0;
        last += (t->shape[d] - 1) * (t->strides ? t->strides[d] : dense);
        dense *= t->shape[d];
    }
    return ((size_t)(last + 1) * (size_t)ptxgen_dtype_bits(t->dtype) + 7) / 8;
}

static bool is_written(const ptxgen_operand_info *o)
{
    return o->role == PTXGEN_ROLE_OUT || o->role == PTXGEN_ROLE_INOUT ||
           o->role == PTXGEN_ROLE_WORKSPACE;
}

/* A result may be in place of an input: one buffer then, writable. */
static bool shares(const run_emulation *e, size_t i, bool *writable)
{
    ptxgen_operand_info o = {.size = sizeof o};
    bool earlier = false;
    for (size_t j = 0; j < e->count; j++) {
        if (j == i || e->tensors[j].data != e->tensors[i].data)
            continue;
        earlier |= j < i;
        *writable |= ptxgen_family_operand(e->family, j, &o) && is_written(&o);
    }
    return earlier;
}

static ptxgen_status add_buffers(ptxgen_emulator *emu, const run_emulation *e, ptxgen_error *err)
{
    ptxgen_operand_info o = {.size = sizeof o};
    for (size_t i = 0; i < e->count && ptxgen_family_operand(e->family, i, &o); i++) {
        const ptxgen_tensor *t = &e->tensors[i];
        bool writable = is_written(&o);
        if (!t->data || o.role == PTXGEN_ROLE_SCALAR || span(t) == 0 || shares(e, i, &writable))
            continue;
        const ptxgen_status status = ptxgen_emulator_add_buffer(
            emu, o.name, t->data, span(t), writable ? PTXGEN_EMULATOR_WRITABLE : 0, err);
        if (status != PTXGEN_OK)
            return status;
    }
    return ptxgen_emulator_add_buffer(emu, "bad index record", e->bad, sizeof *e->bad,
                                      PTXGEN_EMULATOR_WRITABLE, err);
}

/* A run in progress, as the visit of launches sees it. */
typedef struct running {
    const run_emulation *e;
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_kernel *helper; /* of a family that does a part of the work; NULL: none so far */
    ptxgen_emulator_module *helper_module;
    ptxgen_error *err;
    ptxgen_status status;
} running;

static ptxgen_status encode(const ptxgen_launch_map *m, void *out, ptxgen_error *err)
{
    ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                      .data_type = m->data_type,
                                      .rank = m->rank,
                                      .address = (void *)(uintptr_t)m->address,
                                      .swizzle = m->swizzle,
                                      .l2_promotion = m->l2_promotion,
                                      .oob_fill = m->oob_fill};
    memcpy(map.dims, m->dims, sizeof map.dims);
    memcpy(map.strides, m->strides, sizeof map.strides);
    memcpy(map.box, m->box, sizeof map.box);
    return ptxgen_emulator_encode_tensor_map(&map, out, err);
}

/* Arguments as cuLaunchKernel takes them. */
typedef struct arguments {
    _Alignas(64) unsigned char maps[MAX_ARGS][MAP_BYTES];
    const void *record;
    void *values[MAX_ARGS];
} arguments;

static ptxgen_status fill(const ptxgen_launch *l, const run_emulation *e, arguments *a,
                          ptxgen_error *err)
{
    a->record = e->bad;
    for (size_t i = 0; i < l->arg_count; i++) {
        a->values[i] = (void *)(uintptr_t)&l->args[i].value;
        if (l->args[i].kind == PTXGEN_ARG_RECORD)
            a->values[i] = &a->record;
        if (l->args[i].kind != PTXGEN_ARG_TENSOR_MAP)
            continue;
        a->values[i] = a->maps[i];
        const ptxgen_status status = encode(&l->args[i].map, a->maps[i], err);
        if (status != PTXGEN_OK)
            return status;
    }
    return PTXGEN_OK;
}

static ptxgen_status load(running *r, ptxgen_kernel *kernel, ptxgen_emulator_module **out)
{
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(kernel, &info);
    return ptxgen_emulator_load(r->emu, info.ptx, info.ptx_size, info.entry, out, r->err);
}

static ptxgen_status load_helper(running *r, const ptxgen_launch *l)
{
    const ptxgen_status status = ptxgen_emit(r->e->ctx, l->family, l->params, &r->helper, r->err);
    return status == PTXGEN_OK ? load(r, r->helper, &r->helper_module) : status;
}

static bool launch(void *user, const ptxgen_launch *l)
{
    running *r = user;
    ptxgen_emulator_entry *entry;
    arguments a;
    ptxgen_emulator_launch x = {.size = sizeof x,
                                .dynamic_shared = l->dynamic_shared_bytes,
                                .args = a.values,
                                .arg_count = l->arg_count};
    memcpy(x.grid, l->grid, sizeof x.grid);
    memcpy(x.block, l->block, sizeof x.block);
    memcpy(x.cluster, l->cluster, sizeof x.cluster);
    ptxgen_emulator_module *module = r->module;
    if (strcmp(l->family, ptxgen_family_name(r->e->family)) != 0) {
        r->status = r->helper ? PTXGEN_OK : load_helper(r, l);
        module = r->helper_module;
    }
    if (r->status == PTXGEN_OK)
        r->status = ptxgen_emulator_find(module, l->entry, &entry, r->err);
    if (r->status == PTXGEN_OK)
        r->status = fill(l, r->e, &a, r->err);
    if (r->status == PTXGEN_OK)
        r->status = ptxgen_emulator_run(entry, &x, r->err);
    return r->status == PTXGEN_OK;
}

ptxgen_status run_emulate(ptxgen_emulator *emu, const run_emulation *e, ptxgen_error *err)
{
    running r = {.e = e, .emu = emu, .err = err};
    *e->bad = (run_bad_index){-1, 0};
    ptxgen_status status = add_buffers(emu, e, err);
    if (status == PTXGEN_OK)
        status = load(&r, e->kernel, &r.module);
    if (status != PTXGEN_OK)
        return status;
    status = ptxgen_call_describe(e->kernel, e->tensors, e->count, launch, &r, err);
    status = status == PTXGEN_OK ? r.status : status;
    if (status == PTXGEN_OK && e->seen)
        status = e->seen(e->user, r.module, err);
    ptxgen_emulator_unload(r.helper_module);
    ptxgen_emulator_unload(r.module);
    ptxgen_kernel_unref(r.helper);
    return status;
}
