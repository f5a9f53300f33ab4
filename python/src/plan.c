/* ptxgen.Plan: an index, sorted once, for any number of scatter_add_ calls. See core.h. */
#include "core.h"

typedef struct plan_object {
    PyObject_HEAD ptxgen_scatter_plan *plan;
    ptxgen *ctx;
    ptxgen_stream stream;
    long long rows, out_rows;
    char cuda;
} plan_object;

typedef struct plan_request {
    ptxgen_scatter_add_args args;
    ptxgen_stream stream;
    ptxgen_scatter_plan *plan;
} plan_request;

static ptxgen_status make(ptxgen *ctx, void *args, ptxgen_error *err)
{
    plan_request *r = args;
    return ptxgen_scatter_plan_create(ctx, &r->args, r->stream, &r->plan, err);
}

static bool take_index(core_state *s, const operands *o, ptxgen_scatter_add_args *a)
{
    ptxgen_dlpack_room room;
    ptxgen_tensor t;
    ptxgen_error err;
    if (ptxgen_dlpack_tensor(&o->at[0].dl, "index", &room, &t, &err) != PTXGEN_OK)
        return core_raise(s, &err), false;
    if ((t.dtype != PTXGEN_S64 && t.dtype != PTXGEN_S32) || t.rank != 1 ||
        (t.strides && t.shape[0] > 1 && t.strides[0] != 1)) {
        PyErr_SetString(PyExc_ValueError, "index must be one dimension of adjacent int64 or int32");
        return false;
    }
    a->index = t.data;
    a->index_type = t.dtype == PTXGEN_S64 ? PTXGEN_INDEX_I64 : PTXGEN_INDEX_I32;
    a->rows = t.shape[0];
    return true;
}

static PyObject *wrap(core_state *s, const operands *o, plan_request *r)
{
    plan_object *p = (plan_object *)PyType_GenericAlloc(s->plan_type, 0);
    if (!p) {
        ptxgen_scatter_plan_destroy(r->plan);
        return NULL;
    }
    p->plan = r->plan;
    p->ctx = core_context(s, o->cuda);
    p->stream = o->stream;
    p->rows = r->args.rows;
    p->out_rows = r->args.out_rows;
    p->cuda = o->cuda;
    return (PyObject *)p;
}

PyObject *core_make_plan(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static const char *const words[] = {"index", "out_rows", "padding_index", "stream"};
    static const signature parameters = {"plan", words, 4, 2, 2};
    core_state *s = core_of(module);
    PyObject *v[4], *made = NULL;
    operands o;
    bool ready_only;
    plan_request r = {.args.size = sizeof r.args};
    o.count = 0;
    if (!arguments_take(&parameters, args, n, names, v) ||
        !argument_integer(v[1], &r.args.out_rows) || !argument_integer(v[2], &r.args.padding_index))
        return NULL;
    r.args.has_padding_index = v[2] && v[2] != Py_None;
    if (operands_take(s, &o, v, words, 1, v[3]) && take_index(s, &o, &r.args)) {
        _Alignas(16) ptxgen_bad_index record = {UINT64_MAX, -1};
        ptxgen_error err;
        r.args.record = o.cuda ? NULL : &record;
        r.stream = o.stream;
        if (core_call(s, &o, make, &r, &ready_only)) {
            if (!o.cuda && ptxgen_bad_index_error(&record, &err) != PTXGEN_OK) {
                ptxgen_scatter_plan_destroy(r.plan);
                core_raise(s, &err);
            } else {
                made = wrap(s, &o, &r);
            }
        }
    }
    operands_release(&o);
    return made;
}

const ptxgen_scatter_plan *plan_of(core_state *s, PyObject *object, int64_t *rows,
                                   int64_t *out_rows)
{
    if (Py_TYPE(object) != s->plan_type) {
        PyErr_Format(PyExc_TypeError, "plan must come from ptxgen.plan, not %R", object);
        return NULL;
    }
    const plan_object *p = (const plan_object *)object;
    *rows = p->rows;
    *out_rows = p->out_rows;
    return p->plan;
}

/* Waits for the calls that use it, whichever stream they are in: freeing device memory does. */
static void destroy(PyObject *object)
{
    plan_object *p = (plan_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    ptxgen_scatter_plan_destroy(p->plan);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *rows(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((plan_object *)object)->rows);
}

static PyObject *out_rows(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((plan_object *)object)->out_rows);
}

static PyGetSetDef getters[] = {{"rows", rows, NULL, "length of the index", NULL},
                                {"out_rows", out_rows, NULL, "rows that it names", NULL},
                                {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, destroy},
    {Py_tp_getset, getters},
    {Py_tp_doc, "An index, sorted once (ptxgen.plan). Keep it while a captured graph uses it."},
    {0, NULL}};

PyType_Spec plan_spec = {.name = "ptxgen.Plan",
                         .basicsize = sizeof(plan_object),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         .slots = slots};
