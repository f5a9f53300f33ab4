/* Handlers of XLA's FFI, which ptxgen.jax registers: operations inside of jit. See core.h,
 * xla.h.
 *
 * One handler an operation, for three stages. `instantiate`, when a program is compiled, has the
 * kernel compiled in the background while XLA compiles the rest. `initialize`, before each run on
 * a device, waits for it and loads it, so that `execute` only launches: a module that is loaded
 * while other work runs can deadlock with collectives. What was loaded the call site keeps, in
 * XLA's state, until the program goes. No lock of Python is held here, and none is needed. */
#include "core.h"

#include "xla.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
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

/* XLA's number of an element type, DLPack's, NumPy's name. */
static const struct {
    int dtype;
    uint8_t code, bits;
    const char *name;
} types[] = {{1, 6, 8, "bool"},
             {2, 0, 8, "int8"},
             {3, 0, 16, "int16"},
             {4, 0, 32, "int32"},
             {5, 0, 64, "int64"},
             {6, 1, 8, "uint8"},
             {7, 1, 16, "uint16"},
             {8, 1, 32, "uint32"},
             {9, 1, 64, "uint64"},
             {10, 2, 16, "float16"},
             {11, 2, 32, "float32"},
             {12, 2, 64, "float64"},
             {16, 4, 16, "bfloat16"},
             {19, 12, 8, "float8_e5m2"},
             {20, 10, 8, "float8_e4m3fn"},
             {32, 17, 4, "float4_e2m1fn"},
             {33, 14, 8, "float8_e8m0fnu"}};

static bool dtype_of(int dtype, ptxgen_dl_type *out)
{
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
    int64_t shapes[MOST_OPERANDS][PTXGEN_OPERAND_MAX_RANK]; /* of operands that are only named */
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

/* Operands as ptxgen.jax writes them, in the order of the family: "float32 9 16, int32 40". They
 * have no data. */
static bool take_named(const char *text, const operation *op, bool cuda, handed *h)
{
    for (size_t i = 0; i < op->count; i++) {
        ptxgen_dl_tensor *t = &h->tensors[i];
        const size_t length = strcspn(text, " ,");
        *t = (ptxgen_dl_tensor){.device = {cuda ? DL_CUDA : DL_CPU, 0}, .shape = h->shapes[i]};
        for (size_t k = 0; k < sizeof types / sizeof *types && !t->dtype.bits; k++)
            if (strlen(types[k].name) == length && memcmp(types[k].name, text, length) == 0)
                t->dtype = (ptxgen_dl_type){types[k].code, types[k].bits, 1};
        text += length;
        while (*text == ' ' && t->ndim < PTXGEN_OPERAND_MAX_RANK) {
            char *end;
            t->shape[t->ndim++] = strtoll(text, &end, 10);
            text = end;
        }
        if (!t->dtype.bits || *text != (i + 1 < op->count ? ',' : '\0'))
            return false;
        text += i + 1 < op->count ? sizeof ", " - 1 : 0;
        h->operands[i] = (ptxgen_dlpack){t, 0};
    }
    return true;
}

static bool is_empty(const handed *h, const operation *op)
{
    for (size_t i = 0; i < op->count; i++)
        for (int d = 0; d < h->tensors[i].ndim; d++)
            if (h->tensors[i].shape[d] == 0)
                return true;
    return false;
}

/* ---- what a call site keeps ---- */

enum { DEVICES = 64, FIRST_MINOR_WITH_STAGES = 3 };

/* The kernels that were loaded for it, by ordinal. */
typedef struct site {
    _Atomic(ptxgen_kernel *) kernels[DEVICES];
} site;

static void site_free(void *state)
{
    site *s = state;
    for (size_t i = 0; s && i < DEVICES; i++)
        ptxgen_kernel_unref(atomic_load(&s->kernels[i]));
    free(s);
}

/* Of the type `site`, in the XLA of the CPU and in that of the GPU; 0: not registered yet. */
static int64_t type_ids[2];
static pthread_mutex_t type_lock = PTHREAD_MUTEX_INITIALIZER;

static void forget(const xla_frame *f, xla_error *error)
{
    xla_destroy_args args = {.struct_size = sizeof args, .error = error};
    if (error)
        f->api->error_destroy(&args);
}

/* NULL where XLA keeps no state: an older one, or it refused the type. */
static int64_t *site_type(const xla_frame *f, bool cuda)
{
    static const char name[] = "ptxgen.site";
    static const xla_type_info info = {.struct_size = sizeof info, .deleter = site_free};
    int64_t *id = &type_ids[cuda];
    xla_type_args args = {
        .struct_size = sizeof args, .name = {name, sizeof name - 1}, .type_id = id, .info = &info};
    if (!f->api || f->api->version.minor < FIRST_MINOR_WITH_STAGES)
        return NULL;
    pthread_mutex_lock(&type_lock);
    if (!*id)
        forget(f, f->api->register_type(&args));
    pthread_mutex_unlock(&type_lock);
    return *id ? id : NULL;
}

static site *site_of(const xla_frame *f, bool cuda)
{
    xla_state_args args = {.struct_size = sizeof args,
                           .context = f->context,
                           .stage = XLA_INSTANTIATE,
                           .type_id = site_type(f, cuda)};
    if (args.type_id)
        forget(f, f->api->state_get(&args));
    return args.state;
}

static xla_error *make_site(const xla_frame *f, bool cuda)
{
    xla_state_args args = {.struct_size = sizeof args,
                           .context = f->context,
                           .stage = XLA_INSTANTIATE,
                           .type_id = site_type(f, cuda)};
    if (!args.type_id || !(args.state = calloc(1, sizeof(site))))
        return NULL; /* all works without one */
    xla_error *refused = f->api->state_set(&args);
    if (refused)
        site_free(args.state);
    return refused;
}

/* ---- stages ---- */

/* Has the kernel of the operands that are named compiled; on the emulator it is written at once.
 * Nothing is refused yet. */
static void prefetch(const xla_frame *f, ptxgen *ctx, const operation *op, bool cuda)
{
    char text[1024], params[512], named[512];
    ptxgen_kernel *kernel = NULL;
    handed h;
    attribute(f, "params", params, sizeof params);
    attribute(f, "operands", named, sizeof named);
    if (!take_named(named, op, cuda, &h) || is_empty(&h, op) ||
        ptxgen_dlpack_params(ctx, op->family, h.operands, op->count, params, text, sizeof text,
                             NULL) != PTXGEN_OK)
        return;
    if (cuda)
        ptxgen_prefetch(ctx, op->family, text, NULL);
    else if (ptxgen_get(ctx, op->family, text, NULL, &kernel, NULL) == PTXGEN_OK)
        ptxgen_kernel_unref(kernel);
}

static ptxgen_status load(ptxgen *ctx, const operation *op, const handed *h, const char *params,
                          ptxgen_kernel **out, ptxgen_error *err)
{
    char text[1024];
    const ptxgen_status status = ptxgen_dlpack_params(ctx, op->family, h->operands, op->count,
                                                      params, text, sizeof text, err);
    return status == PTXGEN_OK ? ptxgen_get(ctx, op->family, text, NULL, out, err) : status;
}

/* Has the kernel loaded on the device where it will run, once for a call site. */
static ptxgen_status initialize(const xla_frame *f, ptxgen *ctx, const operation *op, bool cuda,
                                int32_t ordinal, const handed *h, ptxgen_error *err)
{
    site *s = ordinal >= 0 && ordinal < DEVICES ? site_of(f, cuda) : NULL;
    ptxgen_kernel *kernel = NULL, *none = NULL;
    char params[512];
    if (is_empty(h, op) || (s && atomic_load(&s->kernels[ordinal])))
        return PTXGEN_OK;
    attribute(f, "params", params, sizeof params);
    const ptxgen_status status = load(ctx, op, h, params, &kernel, err);
    if (status == PTXGEN_OK &&
        !(s && atomic_compare_exchange_strong(&s->kernels[ordinal], &none, kernel)))
        ptxgen_kernel_unref(kernel);
    return status;
}

static ptxgen_status execute(const xla_frame *f, ptxgen *ctx, const operation *op, bool cuda,
                             const handed *h, ptxgen_stream stream, ptxgen_error *err)
{
    char params[512];
    attribute(f, "params", params, sizeof params);
    const ptxgen_dlpack_options options = {
        .size = sizeof options, .params = params, .stream = stream};
    const ptxgen_status status =
        ptxgen_dlpack_call(ctx, op->family, h->operands, op->count, &options, err);
    return status == PTXGEN_OK && !cuda ? ptxgen_check_indices(ctx, NULL, err) : status;
}

/* XLA hands over buffers of its own device: their ordinal is the current one's. */
static int32_t place_on_current(ptxgen *ctx, handed *h, const operation *op)
{
    ptxgen_device_info info = {.size = sizeof info};
    if (ptxgen_device_get_info(ctx, &info, NULL) != PTXGEN_OK)
        return -1;
    for (size_t i = 0; i < op->count; i++)
        h->tensors[i].device.device_id = info.ordinal;
    return info.ordinal;
}

/* Whether XLA asks what the handler is, and the answer. */
static bool told(const xla_frame *f, bool cuda)
{
    for (xla_extension *e = f->extensions; e; e = e->next)
        if (e->type == XLA_EXTENSION_METADATA) {
            xla_metadata *m = ((xla_metadata_extension *)e)->metadata;
            const int64_t *type = site_type(f, cuda);
            m->version.major = XLA_MAJOR;
            m->version.minor = XLA_MINOR;
            m->traits = 0; /* what a call launches depends on its operands; workspaces do not go
                            * into command buffers */
            if (m->struct_size > offsetof(xla_metadata, state_type))
                m->state_type = type ? *type : 0;
            return true;
        }
    return false;
}

static xla_error *run(xla_frame *f, const operation *op, bool cuda)
{
    handed h;
    ptxgen_error err;
    xla_stream_args stream = {.struct_size = sizeof stream, .context = f->context};
    if (told(f, cuda))
        return NULL;
    ptxgen *ctx = core_global_context(cuda, &err);
    if (!ctx)
        return fail(f, err.status, err.message);
    if (f->stage == XLA_INSTANTIATE) {
        prefetch(f, ctx, op, cuda);
        return make_site(f, cuda);
    }
    if (!take(f, op, cuda, &h))
        return fail(f, PTXGEN_EINVAL,
                    "arguments of a type or number that the operation does not take");
    const int32_t ordinal = cuda ? place_on_current(ctx, &h, op) : 0;
    xla_error *refused = NULL;
    if (f->stage == XLA_EXECUTE && cuda)
        refused = f->api->stream_get(&stream);
    if (refused)
        return refused;
    const ptxgen_status status = f->stage == XLA_INITIALIZE
                                     ? initialize(f, ctx, op, cuda, ordinal, &h, &err)
                                     : execute(f, ctx, op, cuda, &h, stream.stream, &err);
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
