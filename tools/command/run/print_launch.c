/* --print-launch: everything that somebody else's runtime needs to launch the kernel's cubin. */
#include "command/output.h"
#include "command/report.h"
#include "command/run/family.h"

#include <inttypes.h>

static const char *const types[] = {
    "u8",  "u16",  "u32",     "s32",  "u64",      "s64",          "f16",           "f32",
    "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz", "16u4_align8b", "16u4_align16b", "16u6_align16b"};
static const int swizzle_bytes[] = {0, 32, 64, 128};

typedef struct printing {
    FILE *to;
    cJSON *launches; /* NULL: text */
} printing;

static cJSON *numbers(const void *values, size_t count, bool wide)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list,
                             cJSON_CreateNumber(wide ? (double)((const uint64_t *)values)[i]
                                                     : (double)((const uint32_t *)values)[i]));
    return list;
}

static cJSON *map_json(const ptxgen_launch_map *m)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "type", types[m->data_type]);
    cJSON_AddItemToObject(o, "dims", numbers(m->dims, m->rank, true));
    cJSON_AddItemToObject(o, "strides_bytes", numbers(m->strides, m->rank - 1, true));
    cJSON_AddItemToObject(o, "box", numbers(m->box, m->rank, false));
    cli_json_integer(o, "swizzle_bytes", swizzle_bytes[m->swizzle]);
    cli_json_integer(o, "l2_promotion", m->l2_promotion);
    cli_json_integer(o, "oob_fill", m->oob_fill);
    return o;
}

static cJSON *arg_json(const ptxgen_launch_arg *a)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", a->name);
    cJSON_AddStringToObject(o, "kind", cli_arg_kind(a->kind));
    cli_json_integer(o, "offset", a->offset);
    cli_json_integer(o, "bytes", a->bytes);
    if (a->operand[0])
        cJSON_AddStringToObject(o, "operand", a->operand);
    if (a->kind == PTXGEN_ARG_U32 || a->kind == PTXGEN_ARG_U64)
        cli_json_integer(o, "value", (int64_t)a->value);
    if (a->kind == PTXGEN_ARG_TENSOR_MAP)
        cJSON_AddItemToObject(o, "map", map_json(&a->map));
    return o;
}

static cJSON *launch_json(const ptxgen_launch *l)
{
    cJSON *o = cJSON_CreateObject(), *args;
    cJSON_AddStringToObject(o, "entry", l->entry);
    cJSON_AddItemToObject(o, "grid", numbers(l->grid, 3, false));
    cJSON_AddItemToObject(o, "block", numbers(l->block, 3, false));
    cJSON_AddItemToObject(o, "cluster", numbers(l->cluster, l->cluster[0] ? 3 : 0, false));
    cli_json_integer(o, "dynamic_shared_bytes", l->dynamic_shared_bytes);
    args = cJSON_AddArrayToObject(o, "args");
    for (size_t i = 0; i < l->arg_count; i++)
        cJSON_AddItemToArray(args, arg_json(&l->args[i]));
    return o;
}

static void map_text(const ptxgen_launch_map *m, FILE *to)
{
    fprintf(to, "%s", types[m->data_type]);
    for (uint32_t d = 0; d < m->rank; d++)
        fprintf(to, "%s%" PRIu64, d ? " x " : ", ", m->dims[d]);
    for (uint32_t d = 0; d + 1 < m->rank; d++)
        fprintf(to, "%s%" PRIu64, d ? ", " : ", strides ", m->strides[d]);
    fprintf(to, " bytes");
    for (uint32_t d = 0; d < m->rank; d++)
        fprintf(to, "%s%u", d ? " x " : ", box ", m->box[d]);
    fprintf(to, ", swizzle %d", swizzle_bytes[m->swizzle]);
}

static void arg_text(const ptxgen_launch_arg *a, FILE *to)
{
    fprintf(to, "  %4u  %-16s %-10s ", a->offset, a->name, cli_arg_kind(a->kind));
    if (a->kind == PTXGEN_ARG_U32 || a->kind == PTXGEN_ARG_U64)
        fprintf(to, "%" PRIu64, a->value);
    else if (a->kind == PTXGEN_ARG_RECORD)
        fprintf(to, "16 bytes: position 2^64 - 1, value 0 before the launch");
    else
        fprintf(to, "%s", a->operand);
    if (a->kind == PTXGEN_ARG_TENSOR_MAP) {
        fprintf(to, ": ");
        map_text(&a->map, to);
    }
    fputc('\n', to);
}

static void extent_text(const char *label, const uint32_t x[3], FILE *to)
{
    fprintf(to, "%-10s %u x %u x %u\n", label, x[0], x[1], x[2]);
}

static bool print(void *user, const ptxgen_launch *l)
{
    const printing *p = user;
    if (p->launches) {
        cJSON_AddItemToArray(p->launches, launch_json(l));
        return true;
    }
    fprintf(p->to, "%-10s %s\n", "launch", l->entry);
    extent_text("grid", l->grid, p->to);
    extent_text("block", l->block, p->to);
    if (l->cluster[0])
        extent_text("cluster", l->cluster, p->to);
    fprintf(p->to, "%-10s %u bytes of dynamic shared memory\n%-10s offset, name, kind, value\n",
            "shared", l->dynamic_shared_bytes, "arguments");
    for (size_t i = 0; i < l->arg_count; i++)
        arg_text(&l->args[i], p->to);
    return true;
}

/* Nothing is launched, so a workspace needs no memory: one that is large enough for everything. */
static void stand_in_workspace(const run_job *j, ptxgen_tensor *tensors)
{
    static const int64_t bytes = INT64_C(1) << 40;
    for (size_t i = 0; i < j->count; i++)
        if (j->operands[i].info.role == PTXGEN_ROLE_WORKSPACE)
            tensors[i] =
                (ptxgen_tensor){(void *)(UINTPTR_MAX / 2 + 1), PTXGEN_U8, 1, &bytes, PTXGEN_DENSE};
}

ptxgen_status run_print_launches(const run_job *j, ptxgen_error *err)
{
    ptxgen_tensor tensors[RUN_MAX_OPERANDS];
    ptxgen_kernel_info k = {.size = sizeof k};
    printing p = {.to = stdout, .launches = j->args->set.json ? cJSON_CreateArray() : NULL};
    cJSON *root = j->args->set.json ? cJSON_CreateObject() : NULL;
    ptxgen_status status = PTXGEN_OK;
    run_device_tensors(j, tensors);
    stand_in_workspace(j, tensors);
    if (j->kernel) {
        ptxgen_kernel_describe(j->kernel, &k);
        if (!root)
            printf("%-10s %s %s\n", "kernel", k.family, k.params);
        status = ptxgen_call_describe(j->kernel, tensors, j->count, print, &p, err);
    } else if (!root) {
        printf("%-10s none: there is nothing to do\n", "kernel");
    }
    if (!root)
        return status;
    if (j->kernel)
        cJSON_AddItemToObject(root, "kernel", cli_kernel_json(&k));
    cJSON_AddItemToObject(root, "launches", p.launches);
    if (status == PTXGEN_OK)
        cli_json_print(root);
    else
        cJSON_Delete(root);
    return status;
}
