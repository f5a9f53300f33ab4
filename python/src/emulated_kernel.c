/* Kernels that stay loaded on an emulator of their own, from Python: launched many times, with
 * parameters as bytes. Tensor maps. See core.h; ptxgen.emulator wraps it. */
#include "core.h"

#include "ptxgen/emulator.h"

#include <string.h>

static const char capsule_name[] = "ptxgen.emulated_kernel";
enum { MOST_PARAMETERS = 256 };

typedef struct emulated_kernel {
    ptxgen_emulator *emulator;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
} emulated_kernel;

static void release(emulated_kernel *k)
{
    ptxgen_emulator_unload(k->module);
    ptxgen_emulator_destroy(k->emulator);
    PyMem_Free(k);
}

static void release_capsule(PyObject *capsule)
{
    release(PyCapsule_GetPointer(capsule, capsule_name));
}

static PyObject *raise_from(PyObject *module, const ptxgen_error *err)
{
    return core_raise(core_of(module), err);
}

/* What a kernel prints goes to sys.stdout, as print()'s does. */
static void print_text(void *user, const char *text, size_t length)
{
    (void)user;
    const PyGILState_STATE held = PyGILState_Ensure();
    PyObject *line = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
    PyObject *out = PySys_GetObject("stdout");
    if (!line || !out || PyFile_WriteObject(line, out, Py_PRINT_RAW) != 0)
        PyErr_Clear();
    Py_XDECREF(line);
    PyGILState_Release(held);
}

/* kernel_load(ptx, entry, check, isa_order, seed, threads, budget, trust_pointers) */
static PyObject *kernel_load(PyObject *module, PyObject *args)
{
    const char *text, *name;
    Py_ssize_t length;
    int check, isa_order, trust;
    unsigned long long seed, budget;
    ptxgen_emulator_config config = {.size = sizeof config, .print = print_text};
    ptxgen_error err;
    if (!PyArg_ParseTuple(args, "s#zppKIKp", &text, &length, &name, &check, &isa_order, &seed,
                          &config.threads, &budget, &trust))
        return NULL;
    config.check = check;
    config.order = isa_order ? PTXGEN_EMULATOR_ORDER_ISA : PTXGEN_EMULATOR_ORDER_HW;
    config.seed = seed;
    config.instruction_budget = budget;
    config.trust_pointers = trust;
    emulated_kernel *k = PyMem_Calloc(1, sizeof *k);
    if (!k)
        return PyErr_NoMemory();
    ptxgen_status status;
    Py_BEGIN_ALLOW_THREADS status = ptxgen_emulator_create(&config, &k->emulator, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_load(k->emulator, text, (size_t)length, "<ptx>", &k->module, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_find(k->module, name, &k->entry, &err);
    Py_END_ALLOW_THREADS PyObject *capsule = NULL;
    if (status == PTXGEN_OK)
        capsule = PyCapsule_New(k, capsule_name, release_capsule);
    else
        raise_from(module, &err);
    if (!capsule)
        release(k);
    return capsule;
}

/* kernel_info(kernel): name, parameters [(name, bytes)], static shared and local bytes, block and
 * cluster that the entry requires (0: any). */
static PyObject *kernel_info(PyObject *module, PyObject *capsule)
{
    (void)module;
    const emulated_kernel *k = PyCapsule_GetPointer(capsule, capsule_name);
    ptxgen_emulator_entry_info info;
    ptxgen_emulator_param p;
    if (!k || !ptxgen_emulator_get_entry_info(k->entry, &info))
        return NULL;
    PyObject *params = PyList_New(0);
    for (size_t i = 0; params && ptxgen_emulator_entry_param(k->entry, i, &p); i++) {
        PyObject *item = Py_BuildValue("(sn)", p.name, (Py_ssize_t)p.bytes);
        if (!item || PyList_Append(params, item) != 0)
            Py_CLEAR(params);
        Py_XDECREF(item);
    }
    return params ? Py_BuildValue("(sNnn(III)(III))", info.name, params,
                                  (Py_ssize_t)info.static_shared, (Py_ssize_t)info.local,
                                  info.block[0], info.block[1], info.block[2], info.cluster[0],
                                  info.cluster[1], info.cluster[2])
                  : NULL;
}

/* The pointers to the parameters' bytes; false with an exception. */
static bool take_parameters(const emulated_kernel *k, PyObject *list, void **out, size_t *count)
{
    const Py_ssize_t n = PySequence_Size(list);
    ptxgen_emulator_param p;
    if (n < 0 || n > MOST_PARAMETERS) {
        PyErr_Format(PyExc_ValueError, "params: %zd, at most %d are taken", n, MOST_PARAMETERS);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = PySequence_GetItem(list, i);
        char *bytes = NULL;
        Py_ssize_t length = 0;
        const bool taken = value && PyBytes_AsStringAndSize(value, &bytes, &length) == 0;
        Py_XDECREF(value); /* the caller's list holds it */
        if (!taken)
            return false;
        if (!ptxgen_emulator_entry_param(k->entry, (size_t)i, &p) || p.bytes != (size_t)length) {
            PyErr_Format(PyExc_ValueError, "parameter %zd: %zd bytes are given, it has %zu", i,
                         length,
                         ptxgen_emulator_entry_param(k->entry, (size_t)i, &p) ? p.bytes : 0);
            return false;
        }
        out[i] = bytes;
    }
    *count = (size_t)n;
    return true;
}

static bool buffer_at(PyObject *list, Py_ssize_t i, unsigned long long *address,
                      unsigned long long *bytes)
{
    PyObject *item = PySequence_GetItem(list, i);
    const bool good = item && PyArg_ParseTuple(item, "KK", address, bytes);
    Py_XDECREF(item);
    return good;
}

/* Adds the first `count` buffers, or as many as go; false with an exception. */
static bool add_buffers(PyObject *module, emulated_kernel *k, PyObject *list, Py_ssize_t *added)
{
    const Py_ssize_t n = PySequence_Size(list);
    unsigned long long address, bytes;
    ptxgen_error err;
    for (*added = 0; *added < n; ++*added) {
        char name[32];
        PyOS_snprintf(name, sizeof name, "buffer %d", (int)*added);
        if (!buffer_at(list, *added, &address, &bytes))
            return false;
        if (ptxgen_emulator_add_buffer(k->emulator, name, (void *)(uintptr_t)address, bytes,
                                       PTXGEN_EMULATOR_WRITABLE, &err) != PTXGEN_OK) {
            raise_from(module, &err);
            return false;
        }
    }
    return n >= 0;
}

static void remove_buffers(emulated_kernel *k, PyObject *list, Py_ssize_t added)
{
    unsigned long long address, bytes;
    for (Py_ssize_t i = 0; i < added; i++)
        if (buffer_at(list, i, &address, &bytes))
            ptxgen_emulator_remove_buffer(k->emulator, (void *)(uintptr_t)address);
}

/* kernel_launch(kernel, params, grid, block, cluster, dynamic_shared, cooperative, buffers) */
static PyObject *kernel_launch(PyObject *module, PyObject *args)
{
    PyObject *capsule, *params, *buffers;
    void *pointers[MOST_PARAMETERS];
    ptxgen_emulator_launch launch = {.size = sizeof launch, .args = pointers};
    uint32_t *g = launch.grid, *b = launch.block, *c = launch.cluster;
    unsigned long long shared;
    int cooperative;
    ptxgen_error err = {0};
    if (!PyArg_ParseTuple(args, "OO(III)(III)(III)KpO", &capsule, &params, &g[0], &g[1], &g[2],
                          &b[0], &b[1], &b[2], &c[0], &c[1], &c[2], &shared, &cooperative,
                          &buffers))
        return NULL;
    emulated_kernel *k = PyCapsule_GetPointer(capsule, capsule_name);
    if (!k || !take_parameters(k, params, pointers, &launch.arg_count))
        return NULL;
    launch.dynamic_shared = shared;
    launch.cooperative = cooperative;
    Py_ssize_t added;
    ptxgen_status status = PTXGEN_OK;
    const bool good = add_buffers(module, k, buffers, &added);
    if (good) {
        Py_BEGIN_ALLOW_THREADS status = ptxgen_emulator_run(k->entry, &launch, &err);
        Py_END_ALLOW_THREADS
    }
    PyObject *type, *value, *trace; /* what is wrong is kept while buffers are given back */
    PyErr_Fetch(&type, &value, &trace);
    remove_buffers(k, buffers, added);
    PyErr_Restore(type, value, trace);
    if (!good)
        return NULL;
    if (status != PTXGEN_OK)
        return raise_from(module, &err);
    Py_RETURN_NONE;
}

/* kernel_result(kernel): of all launches so far, as emulate_run gives it. */
static PyObject *kernel_result(PyObject *module, PyObject *capsule)
{
    (void)module;
    const emulated_kernel *k = PyCapsule_GetPointer(capsule, capsule_name);
    return k ? core_emulator_result(k->emulator) : NULL;
}

static bool numbers(PyObject *sequence, const char *name, uint64_t *out, Py_ssize_t count)
{
    if (PySequence_Size(sequence) != count) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s: %zd numbers are needed", name, count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        out[i] = item ? PyLong_AsUnsignedLongLongMask(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return false;
    }
    return true;
}

/* tensor_map(data_type, address, dims, strides, box, element_strides, swizzle, oob_fill,
 * im2col_pixels, lower, upper): 128 bytes. All innermost first. */
static PyObject *tensor_map(PyObject *module, PyObject *args)
{
    ptxgen_emulator_tensor_map map = {.size = sizeof map};
    PyObject *dims, *strides, *box, *steps, *lower, *upper;
    unsigned long long address;
    uint64_t wide[4][5] = {{0}}, corner[2][3] = {{0}};
    char out[128] __attribute__((aligned(64)));
    ptxgen_error err;
    if (!PyArg_ParseTuple(args, "iKOOOOiiIOO", &map.data_type, &address, &dims, &strides, &box,
                          &steps, &map.swizzle, &map.oob_fill, &map.im2col_pixels, &lower, &upper))
        return NULL;
    const Py_ssize_t rank = PySequence_Size(dims);
    if (rank < 1 || rank > 5) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "a tensor map has 1 to 5 dimensions, not %zd", rank);
        return NULL;
    }
    const Py_ssize_t corners = map.im2col_pixels && rank > 2 ? rank - 2 : 0;
    if (!numbers(dims, "dims", wide[0], rank) || !numbers(strides, "strides", wide[1], rank - 1) ||
        !numbers(box, "box", wide[2], rank) || !numbers(steps, "element_strides", wide[3], rank) ||
        !numbers(lower, "lower", corner[0], corners) ||
        !numbers(upper, "upper", corner[1], corners))
        return NULL;
    map.rank = (uint32_t)rank;
    map.address = (void *)(uintptr_t)address;
    memcpy(map.dims, wide[0], sizeof map.dims);
    memcpy(map.strides, wide[1], sizeof map.strides);
    for (int i = 0; i < 5; i++) {
        map.box[i] = (uint32_t)wide[2][i];
        map.element_strides[i] = (uint32_t)wide[3][i];
    }
    for (int i = 0; i < 3; i++) {
        map.im2col_lower[i] = (int32_t)corner[0][i];
        map.im2col_upper[i] = (int32_t)corner[1][i];
    }
    if (ptxgen_emulator_encode_tensor_map(&map, out, &err) != PTXGEN_OK)
        return raise_from(module, &err);
    return PyBytes_FromStringAndSize(out, sizeof out);
}

PyMethodDef emulated_kernel_methods[] = {{"kernel_load", kernel_load, METH_VARARGS, NULL},
                                         {"kernel_info", kernel_info, METH_O, NULL},
                                         {"kernel_launch", kernel_launch, METH_VARARGS, NULL},
                                         {"kernel_result", kernel_result, METH_O, NULL},
                                         {"tensor_map", tensor_map, METH_VARARGS, NULL},
                                         {NULL, NULL, 0, NULL}};
