/* The Python module ptxgen._core, in C on the limited API: one binary for CPython 3.10 and
 * later. It turns arguments into DLPack's tensors and statuses into exceptions; all else is
 * ptxgen/dlpack.h's.
 *
 * core.c: the module, its state, its exceptions; tensors.c: arguments; calls.c: operations;
 * plan.c: prepared indices; watch.c: bad indices without waiting; kernels.c: kernels, cache, text;
 * emulate.c: any PTX on the emulator; emulated_kernel.c: kernels that stay loaded there; xla.c:
 * handlers for JAX. */
#ifndef PTXGEN_PYTHON_CORE_H
#define PTXGEN_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "ptxgen/dlpack.h"

/* DLPack's exchange API, of which the current major version is read. */
typedef struct exchange_api {
    struct {
        uint32_t major, minor;
    } version;
    struct exchange_api *previous;
    void *allocate;
    int (*export_managed)(void *object, ptxgen_dl_versioned **out);
    void *import_managed;
    int (*export_borrowed)(void *object, ptxgen_dl_tensor *out); /* may be NULL */
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} exchange_api;

enum { KNOWN_TYPES = 16, STATUSES = 15 };

/* A type of arguments. */
typedef struct known_type {
    PyTypeObject *type;
    const exchange_api *api; /* NULL: none */
    bool immutable;          /* JAX's arrays: their capsules do not say so */
    bool lazy; /* PyTorch's tensors: their memory may be to be negated or conjugated */
} known_type;

/* Of a module; everything is read and written under the GIL. */
typedef struct core_state {
    PyObject *error; /* ptxgen.Error */
    /* by status; borrowed from error where there is no class of its own */
    PyObject *errors[STATUSES];
    PyTypeObject *plan_type, *watch_type;
    /* ptxgen._interop: what is better said in Python; imported when first needed */
    PyObject *interop;
    /* Types of arguments and what they offer, remembered for good. */
    known_type types[KNOWN_TYPES];
    size_t type_count;
    PyObject *api_name, *device_name, *dlpack_name, *stream_key, *version_key, *version_value;
    PyObject *is_neg_name, *is_conj_name;
} core_state;

core_state *core_of(PyObject *module);
/* Sets the exception of *err; NULL. */
PyObject *core_raise(core_state *, const ptxgen_error *err);
/* The process's context on CUDA or on the emulator, made when first needed; NULL with *err. Any
 * thread, no GIL. */
ptxgen *core_global_context(bool cuda, ptxgen_error *err);
/* The context for arguments on the CPU or on CUDA; NULL with an exception. */
ptxgen *core_context(core_state *, bool cuda);
/* Borrowed; NULL with an exception. */
PyObject *core_interop(core_state *);

/* ---- arguments (tensors.c) ---- */

typedef struct tensor_arg {
    ptxgen_dlpack dl; /* dl.tensor NULL: left out */
    ptxgen_dl_tensor borrowed;
    PyObject *capsule;            /* owns the tensor, from __dlpack__; NULL */
    ptxgen_dl_versioned *managed; /* likewise, from the exchange API */
} tensor_arg;

/* The tensors of one call and where it runs. */
typedef struct operands {
    tensor_arg at[12];
    size_t count;
    bool cuda;
    int32_t device_id;
    ptxgen_stream stream;
} operands;

/* Takes `count` objects (NULL or None: left out). The stream is that of `stream` (NULL or None:
 * the current one of the first producer that knows one, else the legacy default stream). `names`
 * are for refusals. false with an exception; operands_release in either case. */
bool operands_take(core_state *, operands *, PyObject *const *objects, const char *const *names,
                   size_t count, PyObject *stream);
void operands_release(operands *);

/* ---- keyword arguments ---- */

/* Arguments of a function: the first `positional` by place or name, the others by name only; the
 * first `required` must be there. Values are borrowed into out[count], NULL where they are left
 * out. */
typedef struct signature {
    const char *function;
    const char *const *names;
    size_t count, positional, required;
} signature;
bool arguments_take(const signature *, PyObject *const *args, Py_ssize_t given, PyObject *kwnames,
                    PyObject **out);
/* Values that were left out or are None leave *out as it is. */
bool argument_bool(PyObject *value, bool *out);
bool argument_text(PyObject *value, const char *name, const char **out);
bool argument_word(PyObject *value, const char *name, const char *const *words, int *out);
bool argument_integer(PyObject *value, int64_t *out);

/* ---- a call, without the GIL where it takes long ---- */

typedef ptxgen_status (*call_function)(ptxgen *, void *args, ptxgen_error *);
/* Runs it on the operands' context. On CUDA with the GIL first and *ready_only set; when the
 * kernel is not ready, and on the emulator, without the GIL. false with an exception. */
bool core_call(core_state *, const operands *, call_function, void *args, bool *ready_only);

/* ---- tables of methods ---- */

extern PyMethodDef call_methods[], kernel_methods[], emulate_methods[], emulated_kernel_methods[],
    xla_methods[];
/* Reports and totals of an emulator, as emulate_run gives them. */
struct ptxgen_emulator;
PyObject *core_emulator_result(const struct ptxgen_emulator *);
extern PyType_Spec plan_spec;
/* ptxgen.plan, a method of kernel_methods. */
PyObject *core_make_plan(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names);
/* The plan of a ptxgen.Plan; NULL with an exception for anything else. */
const ptxgen_scatter_plan *plan_of(core_state *, PyObject *, int64_t *rows, int64_t *out_rows);

/* A stream by whatever stands for one; NULL and None leave *out as it is. false with an
 * exception. */
bool core_stream(core_state *, PyObject *stream, ptxgen_stream *out);
extern PyType_Spec watch_spec;
/* ptxgen.index_watch, a method of kernel_methods. */
PyObject *core_make_watch(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names);
/* The record of a ptxgen.IndexWatch for a call with these operands; false with an exception for
 * anything else. */
bool watch_record(core_state *, PyObject *, const operands *, ptxgen_bad_index **record);

#endif
