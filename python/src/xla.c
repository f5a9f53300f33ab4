/* Handlers of XLA's FFI, which ptxgen.jax registers: operations inside of jit. See core.h,
 * xla.h.
 *
 * One handler an operation, for two stages: `initialize`, before each run on a device, has the
 * kernel compiled and loaded, so that `execute` only launches: a module that is loaded while
 * other work runs can deadlock with collectives. No lock of Python is held here, and none is
 * needed. */
#include "core.h"

#include "xla.h"

#include <string.h>

enum { MOST_OPERANDS = 4, DL_CPU = 1, DL_CUDA = 2 };

/* Where each operand of the family is: a result (-1 - i) or an argument (i). */
typedef struct operation {
    const char *family;
    int operands[MOST_OPERANDS];
    size_t count;
} operation;

static const operation scatter_add_operation = {
    "scatter_add", {-1, 2, 1}, 3}; /* (out, index, src) -> out */
static const operation gather_rows_operation = {
    "gather_rows", {-1, 0, 1}, 3}; /* (src, index) -> out */
static const operation matmul_operation = {
    "matmul_accumulate", {0, 1, 2, -1}, 4}; /* (a, b, c) -> d */

/* ---- errors ---- */

static int code_of(ptxgen_status status)
{
    static const struct {
        ptxgen_status status;
        int code;
    } codes[] = {{PTXGEN_EINVAL, XLA_INVALID_ARGUMENT},
                 {PTXGEN_EUNSUPPORTED, XLA_UNIMPLEMENTED},
                 {PTXGEN_ENOMEM, XLA_RESOURCE_EXHAUSTED},
                 {PTXGEN_EINDEX, XLA_OUT_OF_RANGE},
                 {PTXGEN_EMISSING, XLA_FAILED_PRECONDITION}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].status == status)
            return codes[i].code;
    return XLA_INTERNAL;
}

static xla_error *fail(const xla_frame *f, ptxgen_status status, const char *message)
{
    xla_error_args args = {.struct_size = offsetof(xla_error_args, code) + sizeof args.code,
                           .message = message,
                           .code = code_of(status)};
    return f->api->error_create(&args);
}

/* ---- operands ---- */

static bool dtype_of(int dtype, ptxgen_dl_type *out)
{
    static const struct {
        int dtype;
        uint8_t code, bits;
    } types[] = {{1, 6, 8},   {2, 0, 8},   {3, 0, 16},  {4, 0, 32},  {5, 0, 64},  {6, 1, 8},
                 {7, 1, 16},  {8, 1, 32},  {9, 1, 64},  {10, 2, 16}, {11, 2, 32}, {12, 2, 64},
                 {16, 4, 16}, {19, 12, 8}, {20, 10, 8}, {32, 17, 4}, {33, 14, 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype) {
            *out = (ptxgen_dl_type){types[i].code, types[i].bits, 1};
            return true;
        }
    return false;
}

typedef struct handed {
    ptxgen_dl_tensor tensors[MOST_OPERANDS];
    ptxgen_dlpack operands[MOST_OPERANDS];
} handed;

static bool take(const xla_frame *f, const operation *op, bool cuda, handed *h)
{
    for (size_t i = 0; i < op->count; i++) {
        const int place = op->operands[i];
        const xla_list *list = place < 0 ? &f->rets : &f->args;
        const int64_t at = place < 0 ? -1 - place : place;
        if (at >= list->size)
            return false;
        const xla_buffer *b = list->items[at];
        ptxgen_dl_type type;
        if (!dtype_of(b->dtype, &type))
            return false;
        h->tensors[i] = (ptxgen_dl_tensor){.data = b->data,
                                           .device = {cuda ? DL_CUDA : DL_CPU, 0},
                                           .ndim = (int32_t)b->rank,
                                           .dtype = type,
                                           .shape = b->dims};
        h->operands[i] = (ptxgen_dlpack){&h->tensors[i], 0};
    }
    return true;
}

/* The text of an attribute; "" when there is none. */
static void attribute(const xla_frame *f, const char *name, char *out, size_t size)
{
    out[0] = '\0';
    for (int64_t i = 0; i < f->attributes.size; i++) {
        const xla_text *n = f->attributes.names[i], *value = f->attributes.values[i];
        if (f->attributes.types[i] != XLA_ATTR_STRING || n->length != strlen(name) ||
            memcmp(n->data, name, n->length) != 0 || value->length >= size)
            continue;
        memcpy(out, value->data, value->length);
        out[value->length] = '\0';
    }
}

/* ---- stages ---- */

static ptxgen_status load(ptxgen *ctx, const operation *op, const handed *h, const char *params,
                          ptxgen_error *err)
{
    char text[1024];
    ptxgen_kernel *kernel;
    ptxgen_status status = ptxgen_dlpack_params(ctx, op->family, h->operands, op->count, params,
                                                text, sizeof text, err);
    if (status == PTXGEN_OK)
        status = ptxgen_get(ctx, op->family, text, NULL, &kernel, err);
    if (status == PTXGEN_OK)
        ptxgen_kernel_unref(kernel);
    return status;
}

static bool is_empty(const handed *h, const operation *op)
{
    for (size_t i = 0; i < op->count; i++)
        for (int d = 0; d < h->tensors[i].ndim; d++)
            if (h->tensors[i].shape[d] == 0)
                return true;
    return false;
}

/* XLA hands over buffers of its own device: their ordinal is the current one's. */
static void place_on_current(ptxgen *ctx, handed *h, const operation *op)
{
    ptxgen_device_info info = {.size = sizeof info};
    if (ptxgen_device_get_info(ctx, &info, NULL) == PTXGEN_OK)
        for (size_t i = 0; i < op->count; i++)
            h->tensors[i].device.device_id = info.ordinal;
}

static xla_error *run(xla_frame *f, const operation *op, bool cuda)
{
    for (xla_extension *e = f->extensions; e; e = e->next)
        if (e->type == XLA_EXTENSION_METADATA) {
            xla_metadata *m = ((xla_metadata_extension *)e)->metadata;
            m->version.major = XLA_MAJOR;
            m->version.minor = XLA_MINOR;
            m->traits =
                /* what a call launches depends on its operands; workspaces do not go into command
                 * buffers */
                0;
            return NULL;
        }
    handed h;
    char params[512];
    ptxgen_error err;
    xla_stream_args stream = {.struct_size = sizeof stream, .context = f->context};
    ptxgen *ctx = core_global_context(cuda, &err);
    if (!ctx)
        return fail(f, err.status, err.message);
    if (!take(f, op, cuda, &h))
        return fail(f, PTXGEN_EINVAL,
                    "arguments of a type or number that the operation does not take");
    if (cuda)
        place_on_current(ctx, &h, op);
    attribute(f, "params", params, sizeof params);
    ptxgen_status status = PTXGEN_OK;
    if (f->stage == XLA_INITIALIZE) {
        status = is_empty(&h, op) ? PTXGEN_OK : load(ctx, op, &h, params, &err);
    } else {
        xla_error *refused = cuda ? f->api->stream_get(&stream) : NULL;
        if (refused)
            return refused;
        const ptxgen_dlpack_options options = {
            .size = sizeof options, .params = params, .stream = stream.stream};
        status = ptxgen_dlpack_call(ctx, op->family, h.operands, op->count, &options, &err);
        if (status == PTXGEN_OK && !cuda)
            status = ptxgen_check_indices(ctx, NULL, &err);
    }
    return status == PTXGEN_OK ? NULL : fail(f, status, err.message);
}

#define HANDLERS(name)                                                                             \
    static xla_error *name##_on_cuda(xla_frame *f)                                                 \
    {                                                                                              \
        return run(f, &name##_operation, true);                                                    \
    }                                                                                              \
    static xla_error *name##_on_cpu(xla_frame *f)                                                  \
    {                                                                                              \
        return run(f, &name##_operation, false);                                                   \
    }
HANDLERS(scatter_add)
HANDLERS(gather_rows)
HANDLERS(matmul)

/* ---- for Python ---- */

typedef xla_error *(*handler)(xla_frame *);
static const struct {
    const char *name;
    handler on_cuda, on_cpu;
} handlers[] = {{"scatter_add", scatter_add_on_cuda, scatter_add_on_cpu},
                {"gather_rows", gather_rows_on_cuda, gather_rows_on_cpu},
                {"matmul", matmul_on_cuda, matmul_on_cpu}};

static PyObject *xla_handler(PyObject *module, PyObject *args)
{
    const char *name;
    int cuda;
    (void)module;
    if (!PyArg_ParseTuple(args, "sp", &name, &cuda))
        return NULL;
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (strcmp(handlers[i].name, name) == 0) {
            const handler h = cuda ? handlers[i].on_cuda : handlers[i].on_cpu;
            void *pointer;
            memcpy(&pointer, &h, sizeof pointer);
            return PyCapsule_New(pointer, NULL, NULL);
        }
    PyErr_Format(PyExc_KeyError, "%s", name);
    return NULL;
}

PyMethodDef xla_methods[] = {{"xla_handler", xla_handler, METH_VARARGS, NULL},
                             {NULL, NULL, 0, NULL}};
