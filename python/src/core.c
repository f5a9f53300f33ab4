/* The module: its state, its exceptions, its contexts. See core.h. */
#include "core.h"

#include <stdatomic.h>
#include <string.h>

core_state *core_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* ---- exceptions ---- */

typedef struct class_row {
    ptxgen_status status;
    const char *name;
    PyObject **base; /* Python's own kind of the mistake, beside ptxgen.Error */
    const char *doc;
} class_row;

static const class_row classes[] = {
    {PTXGEN_EINVAL, "InvalidArgument", &PyExc_ValueError, "An argument makes no sense."},
    {PTXGEN_EUNSUPPORTED, "Unsupported", &PyExc_NotImplementedError,
     "No kernel serves this; the message says what would be served."},
    {PTXGEN_ENOMEM, "OutOfMemory", &PyExc_MemoryError, "Out of memory."},
    {PTXGEN_EASSEMBLE, "AssembleError", &PyExc_RuntimeError, "The assembler refused the PTX."},
    {PTXGEN_EDRIVER, "DriverError", &PyExc_RuntimeError,
     "The CUDA driver refused; see driver_error."},
    {PTXGEN_EIO, "FileError", &PyExc_OSError, "A file could not be read or written."},
    {PTXGEN_EMISSING, "Missing", &PyExc_RuntimeError, "A part that is needed is not installed."},
    {PTXGEN_ECAPTURE, "CaptureError", &PyExc_RuntimeError,
     "The stream is being captured and the kernel is not loaded: run the call once before the "
     "capture."},
    {PTXGEN_EINDEX, "IndexOutOfRange", &PyExc_IndexError,
     "An index was out of range. Its row was skipped, all others were done."},
    {PTXGEN_EPARSE, "ParseError", &PyExc_ValueError,
     "A text could not be parsed; see file and line."},
    {PTXGEN_EEMULATOR, "EmulatorError", &PyExc_RuntimeError,
     "The emulated program does something undefined; see line."},
    {PTXGEN_EBUDGET, "BudgetError", &PyExc_RuntimeError, "A limit was used up."},
    {PTXGEN_EPENDING, "Pending", &PyExc_RuntimeError, "The kernel is still being compiled."},
};

static bool add_class(PyObject *module, core_state *s, const class_row *c)
{
    char name[64];
    PyOS_snprintf(name, sizeof name, "ptxgen.%s", c->name);
    PyObject *bases = PyTuple_Pack(2, s->error, *c->base);
    PyObject *type = bases ? PyErr_NewExceptionWithDoc(name, c->doc, bases, NULL) : NULL;
    Py_XDECREF(bases);
    if (!type)
        return false;
    s->errors[c->status] = type;
    return PyModule_AddObjectRef(module, c->name, type) == 0;
}

static bool add_exceptions(PyObject *module, core_state *s)
{
    s->error = PyErr_NewExceptionWithDoc(
        "ptxgen.Error",
        "What a call of ptxgen refused or met. `status` is its name (\"EINVAL\"), `driver_error` "
        "CUDA's number or 0, "
        "`file` and `line` a place in a text or template, if the fault has one.",
        NULL, NULL);
    if (!s->error || PyModule_AddObjectRef(module, "Error", s->error) != 0)
        return false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!add_class(module, s, &classes[i]))
            return false;
    return true;
}

static bool set_attribute(PyObject *object, const char *name, PyObject *value)
{
    const bool set = value && PyObject_SetAttrString(object, name, value) == 0;
    Py_XDECREF(value);
    return set;
}

PyObject *core_raise(core_state *s, const ptxgen_error *err)
{
    const unsigned status = (unsigned)err->status;
    PyObject *type = status < STATUSES && s->errors[status] ? s->errors[status] : s->error;
    PyObject *text =
        PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    PyObject *error = text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    Py_XDECREF(text);
    if (error &&
        set_attribute(error, "status", PyUnicode_FromString(ptxgen_status_name(err->status))) &&
        set_attribute(error, "driver_error", PyLong_FromLong(err->driver_error)) &&
        set_attribute(error, "file", PyUnicode_DecodeFSDefault(err->file)) &&
        set_attribute(error, "line", PyLong_FromLong(err->line)))
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    return NULL;
}

/* ---- contexts ---- */

/* They stay: at the process's end the driver may be gone before them. */
static _Atomic(ptxgen *) contexts[2];

ptxgen *core_global_context(bool cuda, ptxgen_error *err)
{
    const ptxgen_config config = {.size = sizeof config,
                                  .device = cuda ? PTXGEN_DEVICE_CUDA : PTXGEN_DEVICE_EMULATOR};
    ptxgen *found = atomic_load(&contexts[cuda]), *made;
    if (found)
        return found;
    if (ptxgen_create(&config, &made, err) != PTXGEN_OK)
        return NULL;
    if (atomic_compare_exchange_strong(&contexts[cuda], &found, made))
        return made;
    ptxgen_destroy(made); /* another thread was faster */
    return found;
}

ptxgen *core_context(core_state *s, bool cuda)
{
    ptxgen *found = atomic_load(&contexts[cuda]);
    if (found)
        return found;
    ptxgen_error err;
    Py_BEGIN_ALLOW_THREADS found = core_global_context(cuda, &err);
    Py_END_ALLOW_THREADS if (!found) core_raise(s, &err);
    return found;
}

PyObject *core_interop(core_state *s)
{
    if (!s->interop)
        s->interop = PyImport_ImportModule("ptxgen._interop");
    return s->interop;
}

bool core_stream(core_state *s, PyObject *stream, ptxgen_stream *out)
{
    if (!stream || stream == Py_None)
        return true;
    PyObject *interop = core_interop(s);
    PyObject *number = interop ? PyObject_CallMethod(interop, "stream_handle", "O", stream) : NULL;
    if (number)
        *out = PyLong_AsVoidPtr(number);
    Py_XDECREF(number);
    return !PyErr_Occurred();
}

bool core_call(core_state *s, const operands *o, call_function call, void *args, bool *ready_only)
{
    ptxgen *ctx = core_context(s, o->cuda);
    if (!ctx)
        return false;
    ptxgen_error err;
    ptxgen_status status = PTXGEN_EPENDING;
    *ready_only = o->cuda;
    if (*ready_only)
        status = call(ctx, args, &err);
    if (status == PTXGEN_EPENDING) {
        *ready_only = false;
        Py_BEGIN_ALLOW_THREADS status = call(ctx, args, &err);
        Py_END_ALLOW_THREADS
    }
    if (status != PTXGEN_OK)
        core_raise(s, &err);
    return status == PTXGEN_OK;
}

/* ---- the module ---- */

static bool add_names(core_state *s)
{
    s->api_name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
    s->device_name = PyUnicode_InternFromString("__dlpack_device__");
    s->dlpack_name = PyUnicode_InternFromString("__dlpack__");
    s->stream_key = PyUnicode_InternFromString("stream");
    s->version_key = PyUnicode_InternFromString("max_version");
    s->version_value = Py_BuildValue("(ii)", PTXGEN_DLPACK_MAJOR, 1);
    s->is_neg_name = PyUnicode_InternFromString("is_neg");
    s->is_conj_name = PyUnicode_InternFromString("is_conj");
    return s->is_neg_name && s->is_conj_name && s->api_name && s->device_name && s->dlpack_name &&
           s->stream_key && s->version_key && s->version_value;
}

static int execute(PyObject *module)
{
    core_state *s = core_of(module);
    if (!add_names(s) || !add_exceptions(module, s))
        return -1;
    s->plan_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &plan_spec, NULL);
    if (!s->plan_type || PyModule_AddObjectRef(module, "Plan", (PyObject *)s->plan_type) != 0)
        return -1;
    s->watch_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &watch_spec, NULL);
    if (!s->watch_type ||
        PyModule_AddObjectRef(module, "IndexWatch", (PyObject *)s->watch_type) != 0)
        return -1;
    if (PyModule_AddFunctions(module, call_methods) != 0 ||
        PyModule_AddFunctions(module, kernel_methods) != 0 ||
        PyModule_AddFunctions(module, emulate_methods) != 0 ||
        PyModule_AddFunctions(module, emulated_kernel_methods) != 0 ||
        PyModule_AddFunctions(module, xla_methods) != 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", ptxgen_version());
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *s = core_of(module);
    Py_VISIT(s->interop);
    Py_VISIT(s->plan_type);
    Py_VISIT(s->watch_type);
    for (size_t i = 0; i < s->type_count; i++)
        Py_VISIT(s->types[i].type);
    return 0;
}

static int clear(PyObject *module)
{
    core_state *s = core_of(module);
    Py_CLEAR(s->interop);
    Py_CLEAR(s->plan_type);
    Py_CLEAR(s->watch_type);
    for (size_t i = 0; i < s->type_count; i++)
        Py_CLEAR(s->types[i].type);
    s->type_count = 0;
    for (size_t i = 0; i < STATUSES; i++)
        Py_CLEAR(s->errors[i]);
    Py_CLEAR(s->error);
    PyObject **names[] = {&s->api_name,    &s->device_name,   &s->dlpack_name, &s->stream_key,
                          &s->version_key, &s->version_value, &s->is_neg_name, &s->is_conj_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        Py_CLEAR(*names[i]);
    return 0;
}

static void destroy(void *module)
{
    clear(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ptxgen._core",
    .m_doc = "The part of ptxgen in C. Use the package ptxgen.",
    .m_size = sizeof(core_state),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = destroy,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
