/* Kernels by family and parameters, in the background too; the cache; small helpers. See core.h. */
#include "core.h"

#include <string.h>

static bool set_item(PyObject *dict, const char *key, PyObject *value)
{
    const bool set = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return set;
}

/* ---- prefetch, ready ---- */

typedef struct kernel_request {
    const char *family, *params;
    operands tensors;
    char text[1024]; /* parameters that follow from the tensors */
} kernel_request;

/* (family, *operands, params=None, cuda=None): with operands the kernel of that call, else the
 * one that params say. */
static bool take_request(core_state *s, PyObject *const *args, Py_ssize_t n, PyObject *names,
                         kernel_request *r)
{
    static const char *const rest[] = {"params"};
    static const signature rest_signature = {"prefetch", rest, 1, 0, 0};
    static const char *const places[12] = {"operand", "operand", "operand", "operand",
                                           "operand", "operand", "operand", "operand",
                                           "operand", "operand", "operand", "operand"};
    PyObject *v[1];
    ptxgen_dlpack dl[12];
    ptxgen_error err;
    ptxgen *ctx;
    if (n < 1 || n > 13) {
        PyErr_SetString(PyExc_TypeError, "a family's name and at most 12 operands are needed");
        return false;
    }
    if (!arguments_take(&rest_signature, args + n, 0, names, v) ||
        !argument_text(args[0], "family", &r->family) ||
        !argument_text(v[0], "params", &r->params) ||
        !operands_take(s, &r->tensors, args + 1, places, (size_t)n - 1, NULL))
        return false;
    if (n == 1) {
        r->tensors.cuda = true;
        return true;
    }
    for (size_t i = 0; i < r->tensors.count; i++)
        dl[i] = r->tensors.at[i].dl;
    if (!(ctx = core_context(s, r->tensors.cuda)))
        return false;
    if (ptxgen_dlpack_params(ctx, r->family, dl, r->tensors.count, r->params, r->text,
                             sizeof r->text, &err) != PTXGEN_OK)
        return core_raise(s, &err), false;
    r->params = r->text;
    return true;
}

static ptxgen_status start(ptxgen *ctx, void *args, ptxgen_error *err)
{
    const kernel_request *r = args;
    return ptxgen_prefetch(ctx, r->family, r->params, err);
}

/* The emulator's kernels are written in a moment, and not assembled. */
static ptxgen_status get(ptxgen *ctx, void *args, ptxgen_error *err)
{
    const kernel_request *r = args;
    ptxgen_kernel *kernel;
    const ptxgen_status status = ptxgen_get(ctx, r->family, r->params, NULL, &kernel, err);
    if (status == PTXGEN_OK)
        ptxgen_kernel_unref(kernel);
    return status;
}

static PyObject *prefetch(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    core_state *s = core_of(module);
    kernel_request r = {.family = ""};
    bool ready_only;
    PyObject *text = NULL;
    r.tensors.count = 0;
    if (take_request(s, args, n, names, &r) &&
        core_call(s, &r.tensors, r.tensors.cuda ? start : get, &r, &ready_only))
        text = PyUnicode_FromString(r.params ? r.params : "");
    operands_release(&r.tensors);
    return text;
}

static PyObject *ready(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    core_state *s = core_of(module);
    kernel_request r = {.family = ""};
    PyObject *answer = NULL;
    ptxgen_error err;
    ptxgen *ctx;
    r.tensors.count = 0;
    if (take_request(s, args, n, names, &r) && (ctx = core_context(s, r.tensors.cuda))) {
        const ptxgen_status status =
            r.tensors.cuda ? ptxgen_poll(ctx, r.family, r.params, &err) : get(ctx, &r, &err);
        if (status != PTXGEN_OK && status != PTXGEN_EPENDING && status != PTXGEN_EINVAL)
            core_raise(s, &err);
        else
            answer = PyBool_FromLong(status == PTXGEN_OK);
    }
    operands_release(&r.tensors);
    return answer;
}

/* ---- text ---- */

static bool describe(PyObject *d, const ptxgen_kernel *k)
{
    ptxgen_kernel_info i = {.size = sizeof i};
    ptxgen_kernel_describe(k, &i);
    return set_item(d, "family", PyUnicode_FromString(i.family)) &&
           set_item(d, "params", PyUnicode_FromString(i.params)) &&
           set_item(d, "entry", PyUnicode_FromString(i.entry)) &&
           set_item(d, "arch", PyUnicode_FromString(ptxgen_arch_name(i.arch))) &&
           set_item(d, "ptx", PyUnicode_DecodeUTF8(i.ptx, (Py_ssize_t)i.ptx_size, "replace")) &&
           set_item(
               d, "cubin",
               PyBytes_FromStringAndSize(i.cubin_size ? i.cubin : "", (Py_ssize_t)i.cubin_size)) &&
           set_item(d, "assembler", PyUnicode_FromString(i.assembler)) &&
           set_item(d, "registers", PyLong_FromLong(i.registers)) &&
           set_item(d, "shared_bytes", PyLong_FromLong(i.shared_bytes)) &&
           set_item(d, "dynamic_shared_bytes", PyLong_FromLong(i.dynamic_shared_bytes)) &&
           set_item(d, "spill_bytes", PyLong_FromLong(i.spill_bytes));
}

typedef ptxgen_status (*kernel_source)(ptxgen *, const char *, const char *, ptxgen_kernel **,
                                       ptxgen_error *);

static PyObject *kernel_from(PyObject *module, PyObject *args, kernel_source source)
{
    core_state *s = core_of(module);
    const char *family, *params = "";
    ptxgen_kernel *k = NULL;
    ptxgen_status status;
    ptxgen_error err;
    if (!PyArg_ParseTuple(args, "s|s", &family, &params))
        return NULL;
    ptxgen *ctx = core_context(s, false);
    if (!ctx)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = source(ctx, family, params, &k, &err);
    Py_END_ALLOW_THREADS if (status != PTXGEN_OK) return core_raise(s, &err);
    PyObject *d = PyDict_New();
    if (d && !describe(d, k))
        Py_CLEAR(d);
    ptxgen_kernel_unref(k);
    return d;
}

static PyObject *emit(PyObject *module, PyObject *args)
{
    return kernel_from(module, args, ptxgen_emit);
}

static PyObject *compile(PyObject *module, PyObject *args)
{
    return kernel_from(module, args, ptxgen_compile);
}

static PyObject *families(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *d = PyDict_New();
    for (size_t i = 0; d && i < ptxgen_family_count(); i++)
        if (!set_item(d, ptxgen_family_name(i), PyUnicode_FromString(ptxgen_family_summary(i))))
            Py_CLEAR(d);
    return d;
}

/* ---- indices ---- */

static PyObject *check_indices(PyObject *module, PyObject *const *args, Py_ssize_t n,
                               PyObject *names)
{
    static const char *const words[] = {"stream"};
    static const signature parameters = {"check_indices", words, 1, 1, 0};
    core_state *s = core_of(module);
    PyObject *v[1];
    ptxgen_stream stream = NULL;
    ptxgen_status status;
    ptxgen_error err;
    if (!arguments_take(&parameters, args, n, names, v) || !core_stream(s, v[0], &stream))
        return NULL;
    ptxgen *ctx = core_context(s, true);
    if (!ctx)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = ptxgen_check_indices(ctx, stream, &err);
    Py_END_ALLOW_THREADS if (status != PTXGEN_OK) return core_raise(s, &err);
    Py_RETURN_NONE;
}

/* ---- cache ---- */

static PyObject *cache_info(PyObject *module, PyObject *args)
{
    core_state *s = core_of(module);
    int cuda = 1;
    if (!PyArg_ParseTuple(args, "|p", &cuda))
        return NULL;
    ptxgen *ctx = core_context(s, cuda);
    if (!ctx)
        return NULL;
    ptxgen_cache_info c = {.size = sizeof c};
    ptxgen_cache_get_info(ctx, &c);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:s,s:O,s:s}", "memory_hits", c.memory_hits,
                         "disk_hits", c.disk_hits, "misses", c.misses, "entries", c.entries,
                         "stores", c.stores, "evicted", c.evicted, "pending", c.pending, "dir",
                         c.dir, "on_disk", c.on_disk ? Py_True : Py_False, "why_off", c.why_off);
}

static PyObject *cache_clear(PyObject *module, PyObject *args)
{
    core_state *s = core_of(module);
    int cuda = 1, disk = 0;
    ptxgen_error err;
    if (!PyArg_ParseTuple(args, "|pp", &cuda, &disk))
        return NULL;
    ptxgen *ctx = core_context(s, cuda);
    if (!ctx)
        return NULL;
    if (ptxgen_cache_clear(ctx, disk, &err) != PTXGEN_OK)
        return core_raise(s, &err);
    Py_RETURN_NONE;
}

static PyObject *manifest_write(PyObject *module, PyObject *args)
{
    core_state *s = core_of(module);
    const char *path;
    int cuda = 1;
    ptxgen_error err;
    if (!PyArg_ParseTuple(args, "s|p", &path, &cuda))
        return NULL;
    ptxgen *ctx = core_context(s, cuda);
    if (!ctx)
        return NULL;
    if (ptxgen_manifest_write(ctx, path, &err) != PTXGEN_OK)
        return core_raise(s, &err);
    Py_RETURN_NONE;
}

/* ---- scales ---- */

static PyObject *pack_scales(PyObject *module, PyObject *args)
{
    char *scales;
    Py_ssize_t given;
    PyObject *bytes;
    long long rows, groups;
    (void)module;
    if (!PyArg_ParseTuple(args, "SLL", &bytes, &rows, &groups) ||
        PyBytes_AsStringAndSize(bytes, &scales, &given) != 0)
        return NULL;
    if (rows < 0 || groups < 0 || (groups && rows > given / groups) || rows * groups != given) {
        PyErr_Format(PyExc_ValueError, "%zd scales are given, %lld rows of %lld need as many",
                     given, rows, groups);
        return NULL;
    }
    PyObject *out =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)ptxgen_packed_scales_bytes(rows, groups));
    if (out)
        ptxgen_pack_scales((const uint8_t *)scales, rows, groups, 0,
                           (uint8_t *)PyBytes_AsString(out));
    return out;
}

#define METHOD(name) #name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS

PyMethodDef kernel_methods[] = {
    {"plan", (PyCFunction)(void (*)(void))core_make_plan, METH_FASTCALL | METH_KEYWORDS,
     "plan(index, out_rows, *, padding_index=None, stream=None)\n--\n\n"
     "Sorts an index once, for many scatter_add_ calls (plan=...). Keep it while a captured graph "
     "uses it."},
    {"index_watch", (PyCFunction)(void (*)(void))core_make_watch, METH_FASTCALL | METH_KEYWORDS,
     "index_watch(cuda=True)\n--\n\n"
     "A record of bad indices for the calls that are given it (scatter_add_(..., watch=w)), on the "
     "current CUDA device\n"
     "or, with cuda=False, the CPU. w.start() asks for a look in stream order, w.poll() tells what "
     "it found, later."},
    {METHOD(prefetch), "prefetch(family, *operands, params=None)\n--\n\n"
                       "Has the kernel of that call compiled in the background; returns its "
                       "parameters. Without operands, the kernel\n"
                       "that params name."},
    {METHOD(ready), "ready(family, *operands, params=None)\n--\n\nWhether a kernel that was asked "
                    "for is in memory. Never waits."},
    {METHOD(check_indices), "check_indices(stream=None)\n--\n\n"
                            "Waits for the stream; IndexOutOfRange when a call on the current CUDA "
                            "device met a bad index since the last\n"
                            "check."},
    {"emit", emit, METH_VARARGS,
     "emit(family, params='')\n--\n\nThe kernel as a dict with its PTX."},
    {"compile", compile, METH_VARARGS,
     "compile(family, params='')\n--\n\nThe same with its cubin and what the assembler said of "
     "it."},
    {"families", families, METH_NOARGS,
     "families()\n--\n\nNames of the families and what they compute."},
    {"cache_info", cache_info, METH_VARARGS, NULL},
    {"cache_clear", cache_clear, METH_VARARGS, NULL},
    {"manifest_write", manifest_write, METH_VARARGS, NULL},
    {"pack_scales", pack_scales, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
