/* Calls on DLPack's tensors: each argument becomes a view of the operand table's row, which then
 * is checked like any other; what only DLPack says (codes, flags, where the data lies) is judged
 * here. */
#include "ptxgen/dlpack.h"

#include "api/typed.h"

#include "base/error.h"
#include "generate/dtype.h"
#include "matmul_accumulate/matmul_accumulate.h"
#include "matmul_scaled/matmul_scaled.h"
#include "scatter_add/scatter_add.h"

/* DLDeviceType */
enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };

static const char *code_name(uint8_t code)
{
    static const char *const names[] = {
        "int",           "uint",          "float",        "opaque handle", "bfloat",
        "complex",       "bool",          "float8_e3m4",  "float8_e4m3",   "float8_e4m3b11fnuz",
        "float8_e4m3fn", "e4m3fnuz",      "float8_e5m2",  "e5m2fnuz",      "float8_e8m0fnu",
        "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"};
    return code < sizeof names / sizeof *names ? names[code] : "code";
}

static const char *place_name(int32_t device_type)
{
    switch (device_type) {
    case DL_CPU:
        return "cpu";
    case DL_CUDA:
        return "cuda";
    case DL_CUDA_HOST:
        return "cuda's host memory";
    case DL_CUDA_MANAGED:
        return "cuda's managed memory";
    default:
        return "another kind of device";
    }
}

/* Pairs of 4-bit elements (lanes 2) as elements: twice as many along the adjacent dimension. */
static void spread_pairs(ptxgen_tensor *t, ptxgen_dlpack_room *room)
{
    int along = t->rank - 1;
    for (int d = t->rank - 1; t->strides && d >= 0; d--)
        if (t->strides[d] == 1 && t->shape[d] != 1) {
            along = d;
            break;
        }
    for (int d = 0; d < t->rank; d++) {
        room->shape[d] = t->shape[d];
        if (t->strides && __builtin_mul_overflow(t->strides[d], 2, &room->strides[d]))
            room->strides[d] = INT64_MAX;
    }
    if (t->rank && __builtin_mul_overflow(room->shape[along], 2, &room->shape[along]))
        room->shape[along] = INT64_MAX;
    room->strides[along >= 0 ? along : 0] = t->rank && t->strides ? t->strides[along] : 1;
    t->shape = room->shape;
    t->strides = t->strides ? room->strides : NULL;
}

static ptxgen_status take_type(const ptxgen_dlpack *from, const char *name, ptxgen_dtype *out,
                               ptxgen_error *err)
{
    const ptxgen_dl_type type = from->tensor->dtype;
    const ptxgen_dtype dtype = pg_dtype_of_dlpack(type.code, type.bits);
    const int lanes = type.lanes;
    if (dtype == PTXGEN_DTYPE_NONE || (lanes != 1 && (lanes != 2 || dtype != PTXGEN_E2M1)))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s holds DLPack's %s (code %d) of %d bits and %d lanes, which no kernel "
                       "takes: convert it",
                       name, code_name(type.code), (int)type.code, (int)type.bits, lanes);
    if (dtype == PTXGEN_E2M1 && (from->flags & PTXGEN_DLPACK_PADDED))
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "%s has its 4-bit elements padded to a byte each: pack two to a byte, the one with the "
            "even index in the low half",
            name);
    *out = dtype;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_dlpack_tensor(const ptxgen_dlpack *from, const char *name,
                                   ptxgen_dlpack_room *room, ptxgen_tensor *out, ptxgen_error *err)
{
    const ptxgen_dl_tensor *t = from->tensor;
    if (!t) {
        *out = (ptxgen_tensor){0};
        return PTXGEN_OK;
    }
    ptxgen_dtype dtype = PTXGEN_DTYPE_NONE;
    PG_TRY(take_type(from, name, &dtype, err));
    if (t->ndim < 0 || t->ndim > PTXGEN_OPERAND_MAX_RANK)
        return pg_fail(err, PTXGEN_EINVAL, "%s has %d dimensions, an operand has 0 to %d", name,
                       (int)t->ndim, PTXGEN_OPERAND_MAX_RANK);
    if (t->ndim && !t->shape)
        return pg_fail(err, PTXGEN_EINVAL, "%s has no shape: give its %d extents", name,
                       (int)t->ndim);
    out->data = t->data ? (char *)t->data + t->byte_offset : NULL;
    out->dtype = dtype;
    out->rank = t->ndim;
    out->shape = t->shape;
    out->strides = t->strides;
    if (t->dtype.lanes == 2)
        spread_pairs(out, room);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_dlpack_from_versioned(const ptxgen_dl_versioned *managed, ptxgen_dlpack *out,
                                           ptxgen_error *err)
{
    if (!managed)
        return pg_fail(err, PTXGEN_EINVAL, "the managed tensor is NULL");
    if (managed->version.major != PTXGEN_DLPACK_MAJOR)
        return pg_fail(err, PTXGEN_EINVAL,
                       "the managed tensor is of DLPack %u.%u, whose structs are not known: ask "
                       "for version %d",
                       (unsigned)managed->version.major, (unsigned)managed->version.minor,
                       PTXGEN_DLPACK_MAJOR);
    out->tensor = &managed->dl_tensor;
    out->flags = managed->flags;
    return PTXGEN_OK;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static ptxgen_status refuse_place(const pg_operand *row, const ptxgen_dl_tensor *t, bool emulated,
                                  ptxgen_error *err)
{
    return pg_fail(err, PTXGEN_EINVAL,
                   "%s is on %s (device type %d), it must be on %s: copy it there", row->name,
                   place_name(t->device.device_type), (int)t->device.device_type,
                   row->role == PG_SCALAR ? "cpu"
                   : emulated ? "cpu, where the emulator runs (or use a context on cuda)"
                              : "cuda (or use a context on the emulator)");
}

/* Host memory that CUDA knows is served on both sides. */
static ptxgen_status check_place(pg_call *c, const pg_operand *row, const ptxgen_dl_tensor *t,
                                 const pg_device *device, ptxgen_error *err)
{
    const int32_t type = t->device.device_type;
    const bool emulated = device->ops->kind == PTXGEN_DEVICE_EMULATOR;
    if (type == DL_CUDA_HOST)
        return PTXGEN_OK;
    if (emulated || row->role == PG_SCALAR)
        return type == DL_CPU ? PTXGEN_OK : refuse_place(row, t, emulated, err);
    if (type == DL_CUDA_MANAGED)
        return PTXGEN_OK;
    if (type != DL_CUDA)
        return refuse_place(row, t, emulated, err);
    if (c->placed && c->ordinal != t->device.device_id)
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s is on device %d and %s on device %d: they must be on one", row->name,
                       (int)t->device.device_id, c->placed, (int)c->ordinal);
    c->placed = row->name;
    c->ordinal = t->device.device_id;
    return PTXGEN_OK;
}

/* Operand i of the call; one that is left out stays as it is. `device` NULL: neither place nor
 * flags are judged. */
static ptxgen_status take(pg_call *c, size_t i, const ptxgen_dlpack *from, const pg_device *device,
                          ptxgen_error *err)
{
    const pg_operand *row = &c->problem.table->rows[i];
    ptxgen_dlpack_room room;
    ptxgen_tensor t;
    if (!from->tensor)
        return PTXGEN_OK;
    if (device && (from->flags & PTXGEN_DLPACK_READ_ONLY) && pg_operand_is_written(row))
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s is read-only and would be written: give a writable one", row->name);
    if (device)
        PG_TRY(check_place(c, row, from->tensor, device, err));
    PG_TRY(ptxgen_dlpack_tensor(from, row->name, &room, &t, err));
    return pg_view_take(row, &t, &c->problem.operand[i], err);
}

typedef struct argument {
    size_t operand;
    ptxgen_dlpack from;
} argument;

static ptxgen_status take_all(pg_call *c, ptxgen *ctx, const argument *args, size_t count,
                              ptxgen_error *err)
{
    pg_device *device;
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    for (size_t i = 0; i < count; i++)
        PG_TRY(take(c, args[i].operand, &args[i].from, device, err));
    return PTXGEN_OK;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- any family ------------------------------------------------------------------------------ */

static ptxgen_status start(pg_call *c, const char *family, const char *params, size_t count,
                           ptxgen_error *err)
{
    const pg_family *f;
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_call_take(c, f, &(pg_request){.params = params}, err));
    if (count > f->operands.count)
        return pg_fail(err, PTXGEN_EINVAL, "%zu tensors are given, %s has %zu operands", count,
                       f->name, f->operands.count);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_dlpack_call(ptxgen *ctx, const char *family, const ptxgen_dlpack *operands,
                                 size_t count, const ptxgen_dlpack_options *options,
                                 ptxgen_error *err)
{
    ptxgen_dlpack_options o = {0};
    pg_device *device;
    pg_call c;
    if (options)
        PG_TRY(pg_take_args(options, &o, sizeof o, "ptxgen_dlpack_options", err));
    PG_TRY(start(&c, family, o.params, count, err));
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    for (size_t i = 0; i < count; i++)
        PG_TRY(take(&c, i, &operands[i], device, err));
    c.ready_only = o.ready_only;
    return pg_call_run(&c, ctx, o.stream, err);
}

ptxgen_status ptxgen_dlpack_params(ptxgen *ctx, const char *family, const ptxgen_dlpack *operands,
                                   size_t count, const char *params, char *out, size_t size,
                                   ptxgen_error *err)
{
    pg_call c;
    PG_TRY(start(&c, family, params, count, err));
    for (size_t i = 0; i < count; i++)
        PG_TRY(take(&c, i, &operands[i], NULL, err));
    return pg_call_params(&c, ctx, out, size, err);
}

/* ---- typed calls ----------------------------------------------------------------------------- */

/* The options with the element type that the tensors have: what sums are kept in depends on it. */
static ptxgen_status scatter_options(const ptxgen_dlpack_scatter_add_args *a,
                                     ptxgen_scatter_add_args *out, ptxgen_error *err)
{
    const ptxgen_dl_tensor *t = a->out.tensor;
    *out = (ptxgen_scatter_add_args){0};
    if (a->options)
        PG_TRY(pg_take_args(a->options, out, sizeof *out, "ptxgen_scatter_add_args", err));
    out->size = sizeof *out;
    out->dtype = t ? pg_dtype_of_dlpack(t->dtype.code, t->dtype.bits) : PTXGEN_DTYPE_NONE;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_dlpack_scatter_add(ptxgen *ctx, const ptxgen_dlpack_scatter_add_args *args,
                                        ptxgen_error *err)
{
    ptxgen_dlpack_scatter_add_args a;
    ptxgen_scatter_add_args options; /* outlives the call: alpha is read from it */
    pg_call c;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_dlpack_scatter_add_args", err));
    PG_TRY(scatter_options(&a, &options, err));
    const argument tensors[] = {{PG_SCATTER_OUT, a.out},
                                {PG_SCATTER_SRC, a.src},
                                {PG_SCATTER_INDEX, a.index},
                                {PG_SCATTER_WEIGHT, a.weight},
                                {PG_SCATTER_SRC_INDEX, a.src_index}};
    PG_TRY(pg_fill_scatter_add(&options, &c, err));
    pg_view *v = c.problem.operand;
    v[PG_SCATTER_OUT].present = v[PG_SCATTER_SRC].present = false;
    v[PG_SCATTER_INDEX].present = c.problem.prepared;
    v[PG_SCATTER_WEIGHT].present = v[PG_SCATTER_SRC_INDEX].present = false;
    PG_TRY(take_all(&c, ctx, tensors, COUNT(tensors), err));
    c.ready_only = a.ready_only;
    return pg_call_run(&c, ctx, a.stream, err);
}

ptxgen_status ptxgen_dlpack_matmul_accumulate(ptxgen *ctx, const ptxgen_dlpack_matmul_args *args,
                                              ptxgen_error *err)
{
    static const ptxgen_matmul_accumulate_args defaults = {.size = sizeof defaults};
    ptxgen_dlpack_matmul_args a;
    pg_call c;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_dlpack_matmul_args", err));
    const argument tensors[] = {
        {PG_MATMUL_A, a.a}, {PG_MATMUL_B, a.b}, {PG_MATMUL_C, a.c}, {PG_MATMUL_D, a.d}};
    PG_TRY(pg_fill_matmul_accumulate(a.options ? a.options : &defaults, &c, err));
    for (size_t i = 0; i < COUNT(tensors); i++)
        c.problem.operand[tensors[i].operand].present = false;
    PG_TRY(take_all(&c, ctx, tensors, COUNT(tensors), err));
    c.ready_only = a.ready_only;
    return pg_call_run(&c, ctx, a.stream, err);
}

/* ---- matmul_scaled ---- */

/* Bytes as elements of the format that the caller names. */
static void name_elements(pg_view *v, ptxgen_scaled_format format)
{
    if (!v->present || v->dtype != PTXGEN_U8)
        return;
    v->dtype = format == PTXGEN_MXFP8 ? PTXGEN_E4M3 : PTXGEN_E2M1;
    if (format == PTXGEN_MXFP8)
        return;
    if (__builtin_mul_overflow(v->shape[1], 2, &v->shape[1]))
        v->shape[1] = INT64_MAX;
    if (__builtin_mul_overflow(v->stride[0], 2, &v->stride[0]))
        v->stride[0] = INT64_MAX;
}

/* The bytes of packed scales, one after the other. EUNSUPPORTED when there are gaps. */
static ptxgen_status take_scales(const ptxgen_dlpack *from, const char *name, int64_t *bytes,
                                 ptxgen_error *err)
{
    const ptxgen_dl_tensor *t = from->tensor;
    *bytes = 1;
    if (t->ndim < 0 || (t->ndim && !t->shape))
        return pg_fail(err, PTXGEN_EINVAL, "%s has no shape", name);
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->strides && t->shape[d] > 1 && t->strides[d] != *bytes)
            return pg_fail(err, PTXGEN_EUNSUPPORTED,
                           "%s has stride %lld where a dense one has %lld: make a contiguous copy",
                           name, (long long)t->strides[d], (long long)*bytes);
        if (t->shape[d] < 0 || __builtin_mul_overflow(*bytes, t->shape[d], bytes))
            return pg_fail(err, PTXGEN_EINVAL, "%s has an extent of %lld", name,
                           (long long)t->shape[d]);
    }
    return PTXGEN_OK;
}

/* Scales as one row. */
typedef struct flat_scales {
    ptxgen_dl_tensor tensor;
    int64_t bytes; /* its extent */
} flat_scales;

/* A copy of the argument in which scales of any shape are one row, of the type that their format
 * has. */
static ptxgen_status flatten_scales(argument *a, const char *name, ptxgen_scaled_format format,
                                    flat_scales *flat, ptxgen_error *err)
{
    ptxgen_dl_tensor *t = &flat->tensor;
    if (!a->from.tensor)
        return PTXGEN_OK;
    PG_TRY(take_scales(&a->from, name, &flat->bytes, err));
    *t = *a->from.tensor;
    t->ndim = 1;
    t->shape = &flat->bytes;
    t->strides = NULL;
    if (pg_dtype_of_dlpack(t->dtype.code, t->dtype.bits) == PTXGEN_U8)
        t->dtype.code = format == PTXGEN_NVFP4 ? 10 : 14;
    a->from.tensor = t;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_dlpack_matmul_scaled(ptxgen *ctx, const ptxgen_dlpack_scaled_args *args,
                                          ptxgen_error *err)
{
    static const ptxgen_matmul_scaled_args defaults = {.size = sizeof defaults};
    ptxgen_dlpack_scaled_args a;
    flat_scales flat[2];
    pg_call c;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_dlpack_scaled_args", err));
    argument tensors[] = {{PG_SCALED_A, a.a},
                          {PG_SCALED_B, a.b},
                          {PG_SCALED_A_SCALES, a.a_scales},
                          {PG_SCALED_B_SCALES, a.b_scales},
                          {PG_SCALED_D, a.d},
                          {PG_SCALED_STEPS + PG_SIDE_ROW_SCALE, a.row_scale},
                          {PG_SCALED_STEPS + PG_SIDE_COL_SCALE, a.col_scale},
                          {PG_SCALED_STEPS + PG_SIDE_BIAS, a.bias}};
    PG_TRY(pg_fill_matmul_scaled(a.options ? a.options : &defaults, &c, err));
    const pg_matmul_scaled_key *k = (const pg_matmul_scaled_key *)c.id.key;
    const ptxgen_scaled_format a_format = (ptxgen_scaled_format)k->a;
    const ptxgen_scaled_format b_format = (ptxgen_scaled_format)k->b;
    c.given = 0; /* the element types say the formats */
    for (size_t i = 0; i < COUNT(tensors); i++)
        c.problem.operand[tensors[i].operand].present = false;
    PG_TRY(flatten_scales(&tensors[2], "a_scales", a_format, &flat[0], err));
    PG_TRY(flatten_scales(&tensors[3], "b_scales", b_format, &flat[1], err));
    PG_TRY(take_all(&c, ctx, tensors, COUNT(tensors), err));
    name_elements(&c.problem.operand[PG_SCALED_A], a_format);
    name_elements(&c.problem.operand[PG_SCALED_B], b_format);
    c.ready_only = a.ready_only;
    return pg_call_run(&c, ctx, a.stream, err);
}
