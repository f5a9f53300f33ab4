/* ptxgen.IndexWatch: a bad-index record of the caller's calls, and looks at it that wait for
 * nothing. See core.h. */
#include "core.h"

typedef struct watch_object {
    PyObject_HEAD ptxgen_index_watch *watch;
    ptxgen_bad_index *record; /* device memory */
    ptxgen *ctx;
    ptxgen_stream stream; /* of the last call that was given the watch */
    bool cuda;
} watch_object;

static ptxgen_status make(ptxgen *ctx, watch_object *w, ptxgen_error *err)
{
    const ptxgen_bad_index empty = {UINT64_MAX, 0};
    void *record;
    ptxgen_status status = ptxgen_device_alloc(ctx, sizeof empty, &record, err);
    if (status != PTXGEN_OK)
        return status;
    w->record = record;
    status = ptxgen_device_upload(ctx, record, &empty, sizeof empty, err);
    return status != PTXGEN_OK ? status : ptxgen_index_watch_create(ctx, &w->watch, err);
}

PyObject *core_make_watch(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static const char *const words[] = {"cuda"};
    static const signature parameters = {"index_watch", words, 1, 1, 0};
    core_state *s = core_of(module);
    PyObject *v[1];
    ptxgen_error err;
    bool cuda = true;
    if (!arguments_take(&parameters, args, n, names, v) || !argument_bool(v[0], &cuda))
        return NULL;
    ptxgen *ctx = core_context(s, cuda);
    watch_object *w = ctx ? (watch_object *)PyType_GenericAlloc(s->watch_type, 0) : NULL;
    if (!w)
        return NULL;
    w->ctx = ctx;
    w->cuda = cuda;
    if (make(ctx, w, &err) == PTXGEN_OK)
        return (PyObject *)w;
    Py_DECREF(w);
    return core_raise(s, &err);
}

/* Freeing device memory waits for the calls and looks that use it. */
static void destroy(PyObject *object)
{
    watch_object *w = (watch_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (w->record)
        ptxgen_device_free(w->ctx, w->record);
    ptxgen_index_watch_destroy(w->watch);
    PyObject_Free(object);
    Py_DECREF(type);
}

bool watch_record(core_state *s, PyObject *object, const operands *o, ptxgen_bad_index **record)
{
    if (Py_TYPE(object) != s->watch_type) {
        PyErr_Format(PyExc_TypeError, "watch must come from ptxgen.index_watch, not %R", object);
        return false;
    }
    watch_object *w = (watch_object *)object;
    if (w->cuda != o->cuda) {
        PyErr_Format(PyExc_ValueError,
                     "watch is one of the %s, the arrays are on the %s: take "
                     "ptxgen.index_watch(cuda=%s)",
                     w->cuda ? "GPU" : "CPU", o->cuda ? "GPU" : "CPU", o->cuda ? "True" : "False");
        return false;
    }
    w->stream = o->stream;
    *record = w->record;
    return true;
}

static PyObject *start(PyObject *object, PyTypeObject *type, PyObject *const *args, Py_ssize_t n,
                       PyObject *names)
{
    static const char *const words[] = {"stream"};
    static const signature parameters = {"start", words, 1, 1, 0};
    core_state *s = PyType_GetModuleState(type);
    watch_object *w = (watch_object *)object;
    PyObject *v[1];
    ptxgen_error err;
    ptxgen_stream stream = w->stream;
    if (!arguments_take(&parameters, args, n, names, v) || !core_stream(s, v[0], &stream))
        return NULL;
    if (ptxgen_index_watch_start(w->watch, w->record, stream, &err) != PTXGEN_OK)
        return core_raise(s, &err);
    Py_RETURN_NONE;
}

static PyObject *poll(PyObject *object, PyTypeObject *type, PyObject *const *args, Py_ssize_t n,
                      PyObject *names)
{
    static const signature parameters = {"poll", NULL, 0, 0, 0};
    PyObject *none[1];
    ptxgen_error err;
    if (!arguments_take(&parameters, args, n, names, none))
        return NULL;
    const ptxgen_status status = ptxgen_index_watch_poll(((watch_object *)object)->watch, &err);
    if (status == PTXGEN_EPENDING)
        Py_RETURN_FALSE;
    if (status != PTXGEN_OK)
        return core_raise(PyType_GetModuleState(type), &err);
    Py_RETURN_TRUE;
}

#define METHOD(name)                                                                               \
#name, (PyCFunction)(void (*)(void))name, METH_METHOD | METH_FASTCALL | METH_KEYWORDS

static PyMethodDef methods[] = {
    {METHOD(start),
     "start(stream=None)\n--\n\nHas the record looked at and emptied when the stream (None: that "
     "of the last call with this watch) comes there."},
    {METHOD(poll), "poll()\n--\n\nFalse while the stream has not come to the look, then True; "
                   "IndexOutOfRange when an index was bad."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, destroy},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Bad indices of the calls that are given it (watch=...), told without waiting "
                "(ptxgen.index_watch)."},
    {0, NULL}};

PyType_Spec watch_spec = {.name = "ptxgen.IndexWatch",
                          .basicsize = sizeof(watch_object),
                          .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          .slots = slots};
