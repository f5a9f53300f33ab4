/* The operations as a module of TVM's FFI: tvm_ffi.load_module(path).scatter_add(out, index,
 * src). For hosts that speak its C ABI (TVM, FlashInfer, CuTe DSL programs). Structs of that ABI
 * are restated; its library is found in the process when an error or a stream is needed, so
 * nothing of it is needed to build or to link.
 *
 * Functions take tensors in both forms (a pointer, an object) and texts in all three, return
 * nothing, and write to their results in place. Tensors on CUDA are worked on in the
 * environment's current stream. Any thread. */
#include "ptxgen/dlpack.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

/* ---- TVM's FFI ---- */

enum {
    ANY_NONE = 0,
    ANY_TENSOR_POINTER = 7,
    ANY_RAW_TEXT = 8,
    ANY_SMALL_TEXT = 11,
    ANY_TEXT = 65,
    ANY_TENSOR = 70
};
enum { OBJECT_HEADER = 24, MOST_OPERANDS = 12, MOST_TEXT = 512, DL_CUDA = 2 };

typedef struct any {
    int32_t type;
    uint32_t small_length;
    union {
        const char *text;
        char small[8];
        const char *object; /* its content begins after the header */
        const ptxgen_dl_tensor *tensor;
    } v;
} any;

static void *tvm(const char *name)
{
    static _Atomic(void *) library;
    void *found = atomic_load(&library);
    if (!found) {
        found = dlopen("libtvm_ffi.so", RTLD_LAZY | RTLD_NOLOAD);
        if (!found)
            found = dlopen(NULL, RTLD_LAZY);
        atomic_store(&library, found);
    }
    return found ? dlsym(found, name) : NULL;
}

/* -1, after the error's kind (a Python exception's name) and words were left for the caller. */
static int refuse(ptxgen_status status, const char *message)
{
    void (*set)(const char *, const char *);
    void *const symbol = tvm("TVMFFIErrorSetRaisedFromCStr");
    const char *kind = status == PTXGEN_EINVAL         ? "ValueError"
                       : status == PTXGEN_EUNSUPPORTED ? "NotImplementedError"
                       : status == PTXGEN_EINDEX       ? "IndexError"
                       : status == PTXGEN_ENOMEM       ? "MemoryError"
                                                       : "RuntimeError";
    memcpy(&set, &symbol, sizeof set);
    if (set)
        set(kind, message);
    return -1;
}

static ptxgen_stream current_stream(const ptxgen_dl_tensor *t)
{
    void *(*get)(int32_t, int32_t);
    void *const symbol = tvm("TVMFFIEnvGetStream");
    memcpy(&get, &symbol, sizeof get);
    return get ? get(t->device.device_type, t->device.device_id) : NULL;
}

/* ---- arguments ---- */

static bool take_tensor(const any *a, ptxgen_dlpack *out)
{
    *out = (ptxgen_dlpack){NULL, 0};
    if (a->type == ANY_TENSOR_POINTER)
        out->tensor = a->v.tensor;
    else if (a->type == ANY_TENSOR)
        out->tensor = (const ptxgen_dl_tensor *)(const void *)(a->v.object + OBJECT_HEADER);
    return out->tensor || a->type == ANY_NONE;
}

static bool take_text(const any *a, char out[MOST_TEXT])
{
    const char *text = NULL;
    size_t length = 0;
    out[0] = '\0';
    if (a->type == ANY_NONE)
        return true;
    if (a->type == ANY_RAW_TEXT) {
        text = a->v.text;
        length = strlen(text);
    } else if (a->type == ANY_SMALL_TEXT) {
        text = a->v.small;
        length = a->small_length;
    } else if (a->type == ANY_TEXT) { /* after the header: data, size */
        memcpy(&text, a->v.object + OBJECT_HEADER, sizeof text);
        memcpy(&length, a->v.object + OBJECT_HEADER + sizeof text, sizeof length);
    }
    if (!text || length >= MOST_TEXT)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* ---- a call ---- */

static ptxgen *context(bool cuda, ptxgen_error *err)
{
    static _Atomic(ptxgen *) contexts[2]; /* kept for the process */
    const ptxgen_config config = {.size = sizeof config,
                                  .device = cuda ? PTXGEN_DEVICE_CUDA : PTXGEN_DEVICE_EMULATOR};
    ptxgen *found = atomic_load(&contexts[cuda]), *made;
    if (found)
        return found;
    if (ptxgen_create(&config, &made, err) != PTXGEN_OK)
        return NULL;
    if (atomic_compare_exchange_strong(&contexts[cuda], &found, made))
        return made;
    ptxgen_destroy(made);
    return found;
}

static int call(const char *family, const char *params, const ptxgen_dlpack *operands, size_t count)
{
    ptxgen_dlpack_options options = {.size = sizeof options, .params = params};
    ptxgen_error err;
    bool cuda = false;
    for (size_t i = 0; i < count && !cuda; i++) {
        cuda = operands[i].tensor && operands[i].tensor->device.device_type == DL_CUDA;
        if (cuda)
            options.stream = current_stream(operands[i].tensor);
    }
    ptxgen *ctx = context(cuda, &err);
    if (!ctx)
        return refuse(err.status, err.message);
    ptxgen_status status = ptxgen_dlpack_call(ctx, family, operands, count, &options, &err);
    if (status == PTXGEN_OK && !cuda)
        status = ptxgen_check_indices(ctx, NULL, &err);
    return status == PTXGEN_OK ? 0 : refuse(status, err.message);
}

/* `order[i]` is the place among the arguments of operand i; after the tensors may follow a text of
 * parameters. */
static int ordered(const char *family, const int *order, int count, const any *args, int32_t given)
{
    ptxgen_dlpack operands[MOST_OPERANDS];
    char params[MOST_TEXT] = "";
    if (given < count || given > count + 1)
        return refuse(
            PTXGEN_EINVAL,
            "wrong number of arguments: give the tensors, and then parameters as text or nothing");
    for (int i = 0; i < count; i++)
        if (!take_tensor(&args[order[i]], &operands[i]))
            return refuse(PTXGEN_EINVAL, "an argument is no tensor");
    if (given > count && !take_text(&args[count], params))
        return refuse(PTXGEN_EINVAL, "the last argument must be a text of parameters");
    return call(family, params, operands, (size_t)count);
}

#define EXPORT(name)                                                                               \
    PTXGEN_API int __tvm_ffi_##name(void *self, const any *args, int32_t count, any *result);      \
    int __tvm_ffi_##name(void *self, const any *args, int32_t count, any *result)
#define NOTHING ((void)self, *result = (any){0})

/* scatter_add(out, index, src, params=None) */
EXPORT(scatter_add)
{
    NOTHING;
    return ordered("scatter_add", (const int[]){0, 2, 1}, 3, args, count);
}

/* gather_rows(src, index, out, params=None) */
EXPORT(gather_rows)
{
    NOTHING;
    return ordered("gather_rows", (const int[]){2, 0, 1}, 3, args, count);
}

/* matmul(a, b, c, out, params=None); c may be None */
EXPORT(matmul)
{
    NOTHING;
    return ordered("matmul_accumulate", (const int[]){0, 1, 2, 3}, 4, args, count);
}

/* matmul_scaled(a, b, a_scales, b_scales, out, params=None), typed operands */
EXPORT(matmul_scaled)
{
    NOTHING;
    return ordered("matmul_scaled", (const int[]){0, 1, 2, 3, 4}, 5, args, count);
}

/* call(family, params, tensor...): any family, in the order of its table */
EXPORT(call)
{
    ptxgen_dlpack operands[MOST_OPERANDS];
    char family[MOST_TEXT], params[MOST_TEXT];
    NOTHING;
    if (count < 2 || count > 2 + MOST_OPERANDS || !take_text(&args[0], family) ||
        !take_text(&args[1], params))
        return refuse(PTXGEN_EINVAL,
                      "call(family, params, tensor...): two texts, then at most 12 tensors");
    for (int32_t i = 2; i < count; i++)
        if (!take_tensor(&args[i], &operands[i - 2]))
            return refuse(PTXGEN_EINVAL, "an argument is no tensor");
    return call(family, params, operands, (size_t)count - 2);
}
