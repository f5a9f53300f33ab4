/* From Python's objects to DLPack's tensors, and to the stream that the call runs in. See
 * core.h.
 *
 * First the C exchange API of the object's type, which costs some 50 ns and synchronizes
 * nothing: the call runs in the producer's current stream. Then the methods __dlpack_device__
 * and __dlpack__, which are told our stream and make the data safe there. */
#include "core.h"

#include <string.h>

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
static const char plain_name[] = "dltensor", versioned_name[] = "dltensor_versioned";

/* ---- the exchange API of a type ---- */

static const exchange_api *read_api(core_state *s, PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttr((PyObject *)type, s->api_name);
    if (!capsule) {
        PyErr_Clear();
        return NULL;
    }
    const exchange_api *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyErr_Clear(); /* an attribute that is something else is no API */
    Py_DECREF(capsule);
    while (api && api->version.major > PTXGEN_DLPACK_MAJOR)
        api = api->previous;
    return api && api->version.major == PTXGEN_DLPACK_MAJOR ? api : NULL;
}

/* JAX's arrays never change, which DLPack's capsules of them do not say. */
static bool is_immutable(PyTypeObject *type)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    const char *name =
        module && PyUnicode_Check(module) ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;
    const bool immutable = name && strncmp(name, "jax", 3) == 0;
    Py_XDECREF(module);
    PyErr_Clear();
    return immutable;
}

static known_type type_of(core_state *s, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    for (size_t i = 0; i < s->type_count; i++)
        if (s->types[i].type == type)
            return s->types[i];
    const known_type known = {type, read_api(s, type), is_immutable(type),
                              PyObject_HasAttr((PyObject *)type, s->is_neg_name) != 0};
    if (s->type_count < KNOWN_TYPES) {
        Py_INCREF(type);
        s->types[s->type_count++] = known;
    }
    return known;
}

static bool export_by_api(const exchange_api *api, PyObject *object, tensor_arg *t)
{
    if (api->export_borrowed) {
        if (api->export_borrowed(object, &t->borrowed) != 0)
            return false;
        t->dl.tensor = &t->borrowed;
        return true;
    }
    if (api->export_managed(object, &t->managed) != 0)
        return false;
    t->dl.tensor = &t->managed->dl_tensor;
    t->dl.flags = t->managed->flags;
    return true;
}

/* ---- __dlpack__ ---- */

/* No array, or one of a library that only has CUDA's array interface (numba). */
static void refuse_object(PyObject *object, const char *name)
{
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s is a %R, which has no __dlpack__: give %s", name,
                 (PyObject *)Py_TYPE(object),
                 PyObject_HasAttrString(object, "__cuda_array_interface__")
                     ? "cupy.asarray(it) or torch.as_tensor(it, device='cuda'), which share its "
                       "memory"
                     : "an array");
}

static bool read_device(core_state *s, PyObject *object, const char *name, int32_t device[2])
{
    PyObject *pair = PyObject_CallMethodObjArgs(object, s->device_name, NULL);
    int type, id;
    if (!pair) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError))
            refuse_object(object, name);
        return false;
    }
    const bool read = PyTuple_Check(pair) && PyArg_ParseTuple(pair, "ii", &type, &id);
    if (!read && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "__dlpack_device__ of %s gives %R, no tuple", name, pair);
    Py_DECREF(pair);
    device[0] = read ? type : 0;
    device[1] = read ? id : 0;
    return read;
}

/* The protocol's number of a CUDA stream: 1 is the legacy default stream. */
static PyObject *stream_number(ptxgen_stream stream)
{
    return stream ? PyLong_FromVoidPtr(stream) : PyLong_FromLong(1);
}

static PyObject *call_dlpack(core_state *s, PyObject *object, bool cuda, ptxgen_stream stream)
{
    PyObject *method = PyObject_GetAttr(object, s->dlpack_name);
    PyObject *empty = PyTuple_New(0), *words = PyDict_New(), *capsule = NULL;
    PyObject *number = cuda ? stream_number(stream) : NULL;
    if (!method || !empty || !words || (cuda && !number) ||
        (cuda && PyDict_SetItem(words, s->stream_key, number) != 0) ||
        PyDict_SetItem(words, s->version_key, s->version_value) != 0)
        goto done;
    capsule = PyObject_Call(method, empty, words);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { /* from before max_version */
        PyErr_Clear();
        if (PyDict_DelItem(words, s->version_key) == 0)
            capsule = PyObject_Call(method, empty, words);
    }
done:
    Py_XDECREF(method);
    Py_XDECREF(empty);
    Py_XDECREF(words);
    Py_XDECREF(number);
    return capsule;
}

/* The capsule stays unconsumed: its own destructor gives the tensor back when we drop it after
 * the call. */
static bool open_capsule(core_state *s, PyObject *capsule, const char *name, tensor_arg *t)
{
    ptxgen_error err;
    if (PyCapsule_IsValid(capsule, versioned_name)) {
        const ptxgen_dl_versioned *managed = PyCapsule_GetPointer(capsule, versioned_name);
        if (ptxgen_dlpack_from_versioned(managed, &t->dl, &err) != PTXGEN_OK)
            return core_raise(s, &err), false;
        return true;
    }
    if (!PyCapsule_IsValid(capsule, plain_name)) {
        PyErr_Format(PyExc_TypeError, "__dlpack__ of %s gives %R, no DLPack capsule", name,
                     capsule);
        return false;
    }
    const ptxgen_dl_managed *managed = PyCapsule_GetPointer(capsule, plain_name);
    t->dl.tensor = &managed->dl_tensor;
    return true;
}

/* ---- views that are computed when they are read ---- */

static bool refuse_if(PyObject *object, const char *name, PyObject *question, const char *remedy)
{
    PyObject *answer = PyObject_CallMethodObjArgs(object, question, NULL);
    const int yes = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (yes > 0)
        PyErr_Format(PyExc_ValueError,
                     "%s is a lazy view, whose memory holds other values: give %s.%s()", name, name,
                     remedy);
    return yes == 0;
}

/* Only floating numbers are negated, only complex ones conjugated: an index is not asked. */
static bool check_lazy(core_state *s, const operands *o, PyObject *const *objects,
                       const char *const *names)
{
    enum { DL_INT = 0, DL_UINT = 1, DL_COMPLEX = 5, DL_BOOL = 6 };
    for (size_t i = 0; i < o->count; i++) {
        const ptxgen_dl_tensor *t = o->at[i].dl.tensor;
        const int code = t ? t->dtype.code : DL_INT;
        if (code == DL_INT || code == DL_UINT || code == DL_BOOL || !type_of(s, objects[i]).lazy)
            continue;
        if (!refuse_if(objects[i], names[i], s->is_neg_name, "resolve_neg") ||
            (code == DL_COMPLEX &&
             !refuse_if(objects[i], names[i], s->is_conj_name, "resolve_conj")))
            return false;
    }
    return true;
}

/* ---- the stream ---- */

static bool stream_of(core_state *s, PyObject *object, const char *helper, ptxgen_stream *out)
{
    PyObject *interop = core_interop(s);
    PyObject *number = interop ? PyObject_CallMethod(interop, helper, "O", object) : NULL;
    if (!number)
        return false;
    *out = number == Py_None ? NULL : PyLong_AsVoidPtr(number);
    Py_DECREF(number);
    return *out || !PyErr_Occurred();
}

static bool is_cuda(int32_t device_type)
{
    return device_type == DL_CUDA || device_type == DL_CUDA_MANAGED;
}

/* ---- all of a call ---- */

/* Where the arguments without an exchange API are, and whose stream it is when nobody else has
 * one. */
static bool look_at_others(core_state *s, operands *o, PyObject *const *objects,
                           const char *const *names, PyObject **producer)
{
    for (size_t i = 0; i < o->count; i++) {
        int32_t device[2];
        if (!objects[i] || objects[i] == Py_None || o->at[i].dl.tensor)
            continue;
        if (!read_device(s, objects[i], names[i], device))
            return false;
        if (!is_cuda(device[0]))
            continue;
        if (!o->cuda || !*producer)
            *producer = objects[i];
        if (!o->cuda)
            o->device_id = device[1];
        o->cuda = true;
    }
    return true;
}

static bool take_others(core_state *s, operands *o, PyObject *const *objects,
                        const char *const *names)
{
    for (size_t i = 0; i < o->count; i++) {
        tensor_arg *t = &o->at[i];
        if (!objects[i] || objects[i] == Py_None || t->dl.tensor)
            continue;
        t->capsule = call_dlpack(s, objects[i], o->cuda, o->stream);
        if (!t->capsule || !open_capsule(s, t->capsule, names[i], t))
            return false;
        if (type_of(s, objects[i]).immutable)
            t->dl.flags |= PTXGEN_DLPACK_READ_ONLY;
    }
    return true;
}

/* *others: some have no exchange API. *api: of the first on CUDA. */
static bool take_by_api(core_state *s, operands *o, PyObject *const *objects, bool *others,
                        const exchange_api **api)
{
    for (size_t i = 0; i < o->count; i++) {
        if (!objects[i] || objects[i] == Py_None)
            continue;
        const exchange_api *found = type_of(s, objects[i]).api;
        if (!found) {
            *others = true;
            continue;
        }
        if (!export_by_api(found, objects[i], &o->at[i]))
            return false;
        if (!o->cuda && is_cuda(o->at[i].dl.tensor->device.device_type)) {
            o->cuda = true;
            o->device_id = o->at[i].dl.tensor->device.device_id;
            *api = found;
        }
    }
    return true;
}

bool operands_take(core_state *s, operands *o, PyObject *const *objects, const char *const *names,
                   size_t count, PyObject *stream)
{
    const exchange_api *api = NULL;
    PyObject *producer = NULL;
    bool others = false;
    o->count = count;
    o->cuda = false;
    o->device_id = 0;
    o->stream = NULL;
    for (size_t i = 0; i < count; i++) {
        o->at[i].dl = (ptxgen_dlpack){NULL, 0};
        o->at[i].capsule = NULL;
        o->at[i].managed = NULL;
    }
    if (!take_by_api(s, o, objects, &others, &api) ||
        (others && !look_at_others(s, o, objects, names, &producer)))
        return false;
    if (o->cuda && stream && stream != Py_None) {
        if (!stream_of(s, stream, "stream_handle", &o->stream))
            return false;
    } else if (api) {
        if (api->current_stream(DL_CUDA, o->device_id, &o->stream) != 0)
            return false;
    } else if (producer) {
        if (!stream_of(s, producer, "current_stream", &o->stream))
            return false;
    }
    return (!others || take_others(s, o, objects, names)) && check_lazy(s, o, objects, names);
}

void operands_release(operands *o)
{
    for (size_t i = 0; i < o->count; i++) {
        tensor_arg *t = &o->at[i];
        if (t->managed && t->managed->deleter)
            t->managed->deleter(t->managed);
        Py_XDECREF(t->capsule);
    }
}
