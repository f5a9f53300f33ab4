/* Any PTX on the emulator, from Python: one call loads, runs and reports. See core.h;
 * ptxgen.emulator wraps it. */
#include "core.h"

#include "ptxgen/emulator.h"

#include <string.h>

enum { MOST_ARGUMENTS = 32, DL_CPU = 1 };

typedef struct emulation {
    ptxgen_emulator *emulator;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    ptxgen_emulator_launch launch;
    operands arrays[MOST_ARGUMENTS]; /* one array each */
    size_t array_count;
    uint64_t values[MOST_ARGUMENTS];
    void *pointers[MOST_ARGUMENTS];
    const char *file;
} emulation;

static void finish(emulation *e)
{
    ptxgen_emulator_unload(e->module);
    ptxgen_emulator_destroy(e->emulator);
    for (size_t i = 0; i < e->array_count; i++)
        operands_release(&e->arrays[i]);
    PyMem_Free(e);
}

static bool failed(core_state *s, ptxgen_status status, const ptxgen_error *err)
{
    if (status != PTXGEN_OK)
        core_raise(s, err);
    return status != PTXGEN_OK;
}

/* ---- arguments of the kernel ---- */

static bool take_number(PyObject *value, const ptxgen_emulator_param *p, uint64_t *out)
{
    if (PyFloat_Check(value) || p->is_float) {
        const double number = PyFloat_AsDouble(value);
        const float narrow = (float)number;
        if (p->bytes == sizeof narrow)
            memcpy(out, &narrow, sizeof narrow);
        else
            memcpy(out, &number, sizeof number);
        return number != -1 || !PyErr_Occurred();
    }
    *out = PyLong_AsUnsignedLongLongMask(value);
    return *out != UINT64_MAX || !PyErr_Occurred();
}

/* Bytes of an array without gaps; -1 with an exception. */
static int64_t bytes_of(const ptxgen_dl_tensor *t, const char *name)
{
    int64_t elements = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->strides && t->shape[d] > 1 && t->strides[d] != elements) {
            PyErr_Format(PyExc_ValueError, "%s must be contiguous", name);
            return -1;
        }
        elements *= t->shape[d];
    }
    return elements * t->dtype.bits * t->dtype.lanes / 8;
}

static bool take_array(core_state *s, emulation *e, PyObject *value, const char *name,
                       uint64_t *out)
{
    operands *o = &e->arrays[e->array_count++];
    ptxgen_error err;
    if (!operands_take(s, o, &value, &name, 1, NULL))
        return false;
    const ptxgen_dl_tensor *t = o->at[0].dl.tensor;
    if (!t || t->device.device_type != DL_CPU) {
        PyErr_Format(PyExc_ValueError, "%s must be an array on the CPU", name);
        return false;
    }
    const int64_t bytes = bytes_of(t, name);
    char *const data = (char *)t->data + t->byte_offset;
    const unsigned flags =
        o->at[0].dl.flags & PTXGEN_DLPACK_READ_ONLY ? 0 : PTXGEN_EMULATOR_WRITABLE;
    *out = (uint64_t)(uintptr_t)data;
    return bytes == 0 ||
           (bytes > 0 &&
            !failed(s,
                    ptxgen_emulator_add_buffer(e->emulator, name, data, (size_t)bytes, flags, &err),
                    &err));
}

static bool take_argument(core_state *s, emulation *e, PyObject *value, size_t i)
{
    ptxgen_emulator_param p;
    if (!ptxgen_emulator_entry_param(e->entry, i, &p)) {
        PyErr_Format(PyExc_ValueError, "the entry has %zu parameters", i);
        return false;
    }
    if (PyBytes_Check(value) && p.is_array) { /* a struct by value */
        if ((size_t)PyBytes_Size(value) != p.bytes) {
            PyErr_Format(PyExc_ValueError, "parameter %s is of %zu bytes", p.name, p.bytes);
            return false;
        }
        e->pointers[i] = PyBytes_AsString(value);
        return true;
    }
    e->pointers[i] = &e->values[i];
    if (PyLong_Check(value) || PyFloat_Check(value))
        return take_number(value, &p, &e->values[i]);
    return take_array(s, e, value, p.name, &e->values[i]);
}

static bool take_arguments(core_state *s, emulation *e, PyObject *list)
{
    const Py_ssize_t n = PySequence_Size(list);
    if (n < 0 || n > MOST_ARGUMENTS) {
        PyErr_Format(PyExc_ValueError, "args must be a sequence of at most %d values",
                     MOST_ARGUMENTS);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = PySequence_GetItem(list, i);
        const bool taken = value && take_argument(s, e, value, (size_t)i);
        Py_XDECREF(value); /* the caller's list holds it */
        if (!taken)
            return false;
    }
    e->launch.args = e->pointers;
    e->launch.arg_count = (size_t)n;
    return true;
}

/* ---- what comes back ---- */

static PyObject *report_of(const ptxgen_emulator_report *r)
{
    static const char *const classes[] = {"undefined", "reliance", "advice"};
    return Py_BuildValue("{s:s,s:s,s:s,s:i,s:i,s:s,s:s,s:K,s:(III),s:I,s:I}", "kind",
                         ptxgen_emulator_report_id(r->kind), "name",
                         ptxgen_emulator_report_name(r->kind), "severity",
                         classes[ptxgen_emulator_report_class_of(r->kind)], "line", r->line,
                         "other_line", r->other_line, "where", r->where, "text", r->text, "count",
                         (unsigned long long)r->count, "cta", r->cta[0], r->cta[1], r->cta[2],
                         "warp", r->warp, "lane", r->lane);
}

static PyObject *reports_of(const ptxgen_emulator *emulator)
{
    PyObject *list = PyList_New(0);
    ptxgen_emulator_report r;
    for (size_t i = 0; list && ptxgen_emulator_get_report(emulator, i, &r); i++) {
        PyObject *item = report_of(&r);
        if (!item || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

PyObject *core_emulator_result(const ptxgen_emulator *emulator)
{
    ptxgen_emulator_stats t;
    ptxgen_emulator_get_stats(emulator, &t);
    PyObject *reports = reports_of(emulator);
    return reports ? Py_BuildValue("{s:N,s:K,s:K,s:K,s:K}", "reports", reports, "warp_instructions",
                                   (unsigned long long)t.warp_instructions, "global_read",
                                   (unsigned long long)t.global_read, "global_written",
                                   (unsigned long long)t.global_written, "left_out",
                                   (unsigned long long)ptxgen_emulator_reports_left_out(emulator))
                   : NULL;
}

static bool load(core_state *s, emulation *e, const ptxgen_emulator_config *config,
                 const char *text, Py_ssize_t length)
{
    ptxgen_error err;
    return !failed(s, ptxgen_emulator_create(config, &e->emulator, &err), &err) &&
           !failed(
               s,
               ptxgen_emulator_load(e->emulator, text, (size_t)length, e->file, &e->module, &err),
               &err);
}

/* emulate_run(ptx, entry, args, grid, block, cluster, dynamic_shared, check, isa_order, seed,
 * threads, budget) */
static PyObject *emulate_run(PyObject *module, PyObject *args)
{
    core_state *s = core_of(module);
    const char *text, *name;
    Py_ssize_t length;
    PyObject *list, *result = NULL;
    int check, isa_order;
    unsigned long long seed, budget, shared;
    ptxgen_emulator_config config = {.size = sizeof config};
    ptxgen_error err;
    ptxgen_status status;
    emulation *e = PyMem_Calloc(1, sizeof *e);
    if (!e)
        return PyErr_NoMemory();
    e->file = "<ptx>";
    e->launch.size = sizeof e->launch;
    uint32_t *g = e->launch.grid, *b = e->launch.block, *c = e->launch.cluster;
    if (!PyArg_ParseTuple(args, "s#zO(III)(III)(III)KppKIK", &text, &length, &name, &list, &g[0],
                          &g[1], &g[2], &b[0], &b[1], &b[2], &c[0], &c[1], &c[2], &shared, &check,
                          &isa_order, &seed, &config.threads, &budget))
        goto done;
    config.check = check;
    config.order = isa_order ? PTXGEN_EMULATOR_ORDER_ISA : PTXGEN_EMULATOR_ORDER_HW;
    config.seed = seed;
    config.instruction_budget = budget;
    e->launch.dynamic_shared = shared;
    if (!load(s, e, &config, text, length) ||
        failed(s, ptxgen_emulator_find(e->module, name, &e->entry, &err), &err) ||
        !take_arguments(s, e, list))
        goto done;
    Py_BEGIN_ALLOW_THREADS status = ptxgen_emulator_run(e->entry, &e->launch, &err);
    Py_END_ALLOW_THREADS if (!failed(s, status, &err)) result = core_emulator_result(e->emulator);
done:
    finish(e);
    return result;
}

static PyObject *params_of(const ptxgen_emulator_entry *entry)
{
    PyObject *list = PyList_New(0);
    ptxgen_emulator_param p;
    for (size_t i = 0; list && ptxgen_emulator_entry_param(entry, i, &p); i++) {
        PyObject *item = Py_BuildValue("(sn)", p.name, (Py_ssize_t)p.bytes);
        if (!item || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* emulate_check(ptx): {entry: [(parameter, bytes), ...]} of a text that parses and that the
 * emulator executes. */
static PyObject *emulate_check(PyObject *module, PyObject *args)
{
    core_state *s = core_of(module);
    const char *text, *name;
    Py_ssize_t length;
    ptxgen_error err;
    PyObject *found = NULL;
    emulation *e = PyMem_Calloc(1, sizeof *e);
    if (!e)
        return PyErr_NoMemory();
    e->file = "<ptx>";
    if (PyArg_ParseTuple(args, "s#", &text, &length) && load(s, e, NULL, text, length))
        found = PyDict_New();
    for (size_t i = 0; found && (name = ptxgen_emulator_entry_name(e->module, i)); i++) {
        PyObject *params = failed(s, ptxgen_emulator_find(e->module, name, &e->entry, &err), &err)
                               ? NULL
                               : params_of(e->entry);
        if (!params || PyDict_SetItemString(found, name, params) != 0)
            Py_CLEAR(found);
        Py_XDECREF(params);
    }
    finish(e);
    return found;
}

PyMethodDef emulate_methods[] = {{"emulate_run", emulate_run, METH_VARARGS, NULL},
                                 {"emulate_check", emulate_check, METH_VARARGS, NULL},
                                 {NULL, NULL, 0, NULL}};
