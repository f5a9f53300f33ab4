/* The operations: arguments by name, one call of ptxgen/dlpack.h each. See core.h; what users
 * read is in ptxgen/_core.pyi and in the doc strings below. */
#include "core.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const reduce_words[] = {"add", "min", "max", "mean", "mul", NULL};
static const char *const schedule_words[] = {"auto",  "seed",    "bulk", "vector",
                                             "owner", "private", NULL};
static const char *const oob_words[] = {"record", "trap", "unchecked", NULL};
static const char *const format_words[] = {"mxfp8", "mxfp4", "nvfp4", NULL};
static const char *const epilogue_words[] = {
    "none", "relu", "squared_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh", NULL};

static PyObject *new_ref(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

/* ---- scatter_add_ ---- */

enum {
    S_OUT,
    S_INDEX,
    S_SRC,
    S_WEIGHT,
    S_SRC_INDEX,
    S_TENSORS,
    S_ALPHA = S_TENSORS,
    S_PLAN,
    S_DETERMINISTIC,
    S_ACCUMULATE,
    S_REDUCE,
    S_PADDING,
    S_SCHEDULE,
    S_OOB,
    S_DYNAMIC,
    S_WATCH,
    S_STREAM,
    S_COUNT
};
static const char *const scatter_names[] = {
    "out",           "index",          "src",    "weight",        "src_index", "alpha", "plan",
    "deterministic", "accumulate_f32", "reduce", "padding_index", "schedule",  "oob",   "dynamic_n",
    "watch",         "stream"};
static const signature scatter_signature = {"scatter_add_", scatter_names, S_COUNT, 3, 1};

/* The options that are not tensors. */
static bool scatter_options(core_state *s, PyObject *const *v, ptxgen_scatter_add_args *a)
{
    int reduce = 0, schedule = 0, oob = 0;
    int64_t padding = 0;
    if (!argument_bool(v[S_DETERMINISTIC], &a->deterministic) ||
        !argument_bool(v[S_ACCUMULATE], &a->accumulate_f32) ||
        !argument_bool(v[S_DYNAMIC], &a->dynamic_n) ||
        !argument_word(v[S_REDUCE], "reduce", reduce_words, &reduce) ||
        !argument_word(v[S_SCHEDULE], "schedule", schedule_words, &schedule) ||
        !argument_word(v[S_OOB], "oob", oob_words, &oob) ||
        !argument_integer(v[S_PADDING], &padding))
        return false;
    a->reduce = (ptxgen_scatter_reduce)reduce;
    a->schedule = (ptxgen_schedule)schedule;
    a->oob = (ptxgen_oob)oob;
    a->has_padding_index = v[S_PADDING] && v[S_PADDING] != Py_None;
    a->padding_index = padding;
    if (v[S_ALPHA] && v[S_ALPHA] != Py_None) {
        a->alpha = PyFloat_AsDouble(v[S_ALPHA]);
        if (a->alpha == -1 && PyErr_Occurred())
            return false;
    }
    if (v[S_PLAN] && v[S_PLAN] != Py_None) {
        a->plan = plan_of(s, v[S_PLAN], &a->rows, &a->out_rows);
        return a->plan;
    }
    return true;
}

static ptxgen_status run_scatter(ptxgen *ctx, void *args, ptxgen_error *err)
{
    return ptxgen_dlpack_scatter_add(ctx, args, err);
}

/* A bad index of a call that has ended. */
static bool check_record(core_state *s, const ptxgen_bad_index *record)
{
    ptxgen_error err;
    if (ptxgen_bad_index_error(record, &err) == PTXGEN_OK)
        return true;
    core_raise(s, &err);
    return false;
}

static bool scatter(core_state *s, PyObject *const *v, operands *o,
                    ptxgen_scatter_add_args *options)
{
    if (!operands_take(s, o, v, scatter_names, S_TENSORS, v[S_STREAM]))
        return false;
    _Alignas(16) ptxgen_bad_index record = {UINT64_MAX, -1};
    ptxgen_dlpack_scatter_add_args args = {.size = sizeof args,
                                           .out = o->at[S_OUT].dl,
                                           .src = o->at[S_SRC].dl,
                                           .index = o->at[S_INDEX].dl,
                                           .weight = o->at[S_WEIGHT].dl,
                                           .src_index = o->at[S_SRC_INDEX].dl,
                                           .options = options,
                                           .stream = o->stream};
    const bool watched = v[S_WATCH] && v[S_WATCH] != Py_None;
    if (watched && !watch_record(s, v[S_WATCH], o, &options->record))
        return false;
    const bool told = !o->cuda && !watched && options->oob == PTXGEN_OOB_RECORD && !options->plan;
    if (told) /* the emulator has done it all when the call returns */
        options->record = &record;
    return core_call(s, o, run_scatter, &args, &args.ready_only) &&
           (!told || check_record(s, &record));
}

/* alpha = 0: nothing is added, and the C struct's 0 stands for 1. */
static bool is_zero(const ptxgen_scatter_add_args *options, PyObject *alpha)
{
    return alpha && alpha != Py_None && options->alpha == 0 &&
           options->reduce == PTXGEN_SCATTER_ADD;
}

static PyObject *scatter_add_(PyObject *module, PyObject *const *args, Py_ssize_t n,
                              PyObject *names)
{
    core_state *s = core_of(module);
    PyObject *v[S_COUNT];
    operands o;
    o.count = 0;
    ptxgen_scatter_add_args options = {.size = sizeof options};
    if (!arguments_take(&scatter_signature, args, n, names, v) || !scatter_options(s, v, &options))
        return NULL;
    const bool done = is_zero(&options, v[S_ALPHA]) || scatter(s, v, &o, &options);
    operands_release(&o);
    return done ? new_ref(v[S_OUT]) : NULL;
}

/* ---- any family on tensors ---- */

typedef struct family_call {
    const char *family;
    ptxgen_dlpack operands[12];
    size_t count;
    ptxgen_dlpack_options options;
    bool check; /* whether an index was bad, after the call */
} family_call;

static ptxgen_status run_family(ptxgen *ctx, void *args, ptxgen_error *err)
{
    family_call *c = args;
    ptxgen_status status =
        ptxgen_dlpack_call(ctx, c->family, c->operands, c->count, &c->options, err);
    if (status == PTXGEN_OK && c->check)
        status = ptxgen_check_indices(ctx, NULL, err);
    return status;
}

static bool call_family(core_state *s, const operands *o, family_call *c)
{
    c->options.size = sizeof c->options;
    c->options.stream = o->stream;
    c->count = o->count;
    c->check = !o->cuda;
    for (size_t i = 0; i < o->count; i++)
        c->operands[i] = o->at[i].dl;
    return core_call(s, o, run_family, c, &c->options.ready_only);
}

/* A new array like `reference` of the producer's kind; `dtype` NULL: its element type. */
static PyObject *make_result(core_state *s, PyObject *reference, PyObject *shape, const char *dtype)
{
    PyObject *interop = shape ? core_interop(s) : NULL;
    PyObject *out =
        interop ? PyObject_CallMethod(interop, "empty", "OOz", reference, shape, dtype) : NULL;
    Py_XDECREF(shape);
    return out;
}

static PyObject *matrix_shape(int64_t rows, int64_t columns)
{
    return Py_BuildValue("(LL)", (long long)rows, (long long)columns);
}

static int64_t extent(const operands *o, size_t i, int dimension)
{
    const ptxgen_dl_tensor *t = o->at[i].dl.tensor;
    return t && t->ndim > dimension && t->shape ? t->shape[dimension] : 0;
}

/* 0: it is not there. */
static int dimensions(const operands *o, size_t i)
{
    const ptxgen_dl_tensor *t = o->at[i].dl.tensor;
    return t ? t->ndim : 0;
}

/* ---- gather_rows ---- */

enum { G_SRC, G_INDEX, G_OUT, G_OOB, G_STREAM, G_COUNT };
static const char *const gather_names[] = {"src", "index", "out", "oob", "stream"};
static const signature gather_signature = {"gather_rows", gather_names, G_COUNT, 3, 2};
static const char *const gather_order[] = {"out", "src", "index"};

static bool gather(core_state *s, PyObject *const *v, PyObject *out, operands *o,
                   const char *params)
{
    PyObject *const tensors[] = {out, v[G_SRC], v[G_INDEX]};
    family_call c = {.family = "gather_rows", .options.params = params};
    return operands_take(s, o, tensors, gather_order, COUNT(tensors), v[G_STREAM]) &&
           call_family(s, o, &c);
}

/* The extents of the result, from a first look at the arguments. */
static PyObject *gather_result(core_state *s, PyObject *const *v)
{
    PyObject *const tensors[] = {v[G_SRC], v[G_INDEX]};
    operands o;
    o.count = 0;
    PyObject *out = NULL;
    if (operands_take(s, &o, tensors, gather_names, COUNT(tensors), v[G_STREAM]))
        out = make_result(s, v[G_SRC], matrix_shape(extent(&o, 1, 0), extent(&o, 0, 1)), NULL);
    operands_release(&o);
    return out;
}

static PyObject *gather_rows(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static const char *const params[] = {"oob=record", "oob=trap", "oob=unchecked"};
    core_state *s = core_of(module);
    PyObject *v[G_COUNT];
    operands o;
    o.count = 0;
    int oob = 0;
    if (!arguments_take(&gather_signature, args, n, names, v) ||
        !argument_word(v[G_OOB], "oob", oob_words, &oob))
        return NULL;
    PyObject *out = v[G_OUT] && v[G_OUT] != Py_None ? new_ref(v[G_OUT]) : gather_result(s, v);
    const bool done = out && gather(s, v, out, &o, params[oob]);
    operands_release(&o);
    if (!done)
        Py_CLEAR(out);
    return out;
}

/* ---- matmul ---- */

enum {
    M_A,
    M_B,
    M_C,
    M_OUT,
    M_TENSORS,
    M_ALPHA = M_TENSORS,
    M_BETA,
    M_EPILOGUE,
    M_PARAMS,
    M_STREAM,
    M_COUNT
};
static const char *const matmul_names[] = {"a",    "b",        "c",      "out",   "alpha",
                                           "beta", "epilogue", "params", "stream"};
static const signature matmul_signature = {"matmul", matmul_names, M_COUNT, 3, 2};

static ptxgen_status run_matmul(ptxgen *ctx, void *args, ptxgen_error *err)
{
    return ptxgen_dlpack_matmul_accumulate(ctx, args, err);
}

/* [m, n], and as many of them as any operand has. */
static PyObject *product_shape(const operands *o)
{
    enum { BATCHED = 3 };
    const bool a_is = dimensions(o, M_A) == BATCHED, b_is = dimensions(o, M_B) == BATCHED,
               c_is = dimensions(o, M_C) == BATCHED;
    const int64_t rows = extent(o, M_A, a_is), columns = extent(o, M_B, 1 + b_is);
    if (!a_is && !b_is && !c_is)
        return matrix_shape(rows, columns);
    const size_t batch = a_is ? M_A : b_is ? M_B : M_C;
    return Py_BuildValue("(LLL)", (long long)extent(o, batch, 0), (long long)rows,
                         (long long)columns);
}

/* Without a or b none: the call then says what is missing. */
static PyObject *matmul_result(core_state *s, PyObject *const *v)
{
    if (v[M_A] == Py_None || v[M_B] == Py_None)
        return new_ref(Py_None);
    operands o;
    o.count = 0;
    PyObject *out = NULL;
    if (operands_take(s, &o, v, matmul_names, M_OUT, v[M_STREAM]))
        out = make_result(s, v[M_A], product_shape(&o), "float32");
    operands_release(&o);
    return out;
}

static bool multiply(core_state *s, PyObject *const *v, PyObject *out, operands *o,
                     const ptxgen_matmul_accumulate_args *options)
{
    PyObject *const tensors[] = {v[M_A], v[M_B], v[M_C], out};
    if (!operands_take(s, o, tensors, matmul_names, M_TENSORS, v[M_STREAM]))
        return false;
    ptxgen_dlpack_matmul_args args = {.size = sizeof args,
                                      .a = o->at[M_A].dl,
                                      .b = o->at[M_B].dl,
                                      .c = o->at[M_C].dl,
                                      .d = o->at[M_OUT].dl,
                                      .options = options,
                                      .stream = o->stream};
    return core_call(s, o, run_matmul, &args, &args.ready_only);
}

/* A factor that is not 1 into *room, where *out then points. */
static bool factor(PyObject *value, float *room, const float **out)
{
    if (!value || value == Py_None)
        return true;
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred())
        return false;
    *room = (float)number;
    *out = *room == 1 ? NULL : room;
    return true;
}

static PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    core_state *s = core_of(module);
    PyObject *v[M_COUNT];
    operands o;
    o.count = 0;
    ptxgen_matmul_accumulate_args options = {.size = sizeof options};
    float alpha = 1, beta = 1;
    int epilogue = 0;
    if (!arguments_take(&matmul_signature, args, n, names, v) ||
        !factor(v[M_ALPHA], &alpha, &options.alpha) || !factor(v[M_BETA], &beta, &options.beta) ||
        !argument_word(v[M_EPILOGUE], "epilogue", epilogue_words, &epilogue) ||
        !argument_text(v[M_PARAMS], "params", &options.params))
        return NULL;
    options.epilogue = (ptxgen_epilogue)epilogue;
    PyObject *out = v[M_OUT] && v[M_OUT] != Py_None ? new_ref(v[M_OUT]) : matmul_result(s, v);
    const bool done = out && multiply(s, v, out, &o, &options);
    operands_release(&o);
    if (!done)
        Py_CLEAR(out);
    return out;
}

/* ---- matmul_scaled ---- */

enum {
    X_A,
    X_B,
    X_A_SCALES,
    X_B_SCALES,
    X_OUT,
    X_ROW_SCALE,
    X_COL_SCALE,
    X_BIAS,
    X_TENSORS,
    X_A_FORMAT = X_TENSORS,
    X_B_FORMAT,
    X_DTYPE,
    X_EPILOGUE,
    X_STREAM,
    X_COUNT
};
static const char *const scaled_names[] = {
    "a",    "b",        "a_scales", "b_scales",  "out",      "row_scale", "col_scale",
    "bias", "a_format", "b_format", "out_dtype", "epilogue", "stream"};
static const signature scaled_signature = {"matmul_scaled", scaled_names, X_COUNT, 5, 4};

static ptxgen_status run_scaled(ptxgen *ctx, void *args, ptxgen_error *err)
{
    return ptxgen_dlpack_matmul_scaled(ctx, args, err);
}

static bool multiply_scaled(core_state *s, PyObject *const *v, PyObject *out, operands *o,
                            const ptxgen_matmul_scaled_args *options)
{
    PyObject *tensors[X_TENSORS];
    for (size_t i = 0; i < X_TENSORS; i++)
        tensors[i] = i == X_OUT ? out : v[i];
    if (!operands_take(s, o, tensors, scaled_names, X_TENSORS, v[X_STREAM]))
        return false;
    ptxgen_dlpack_scaled_args args = {.size = sizeof args,
                                      .a = o->at[X_A].dl,
                                      .b = o->at[X_B].dl,
                                      .a_scales = o->at[X_A_SCALES].dl,
                                      .b_scales = o->at[X_B_SCALES].dl,
                                      .d = o->at[X_OUT].dl,
                                      .row_scale = o->at[X_ROW_SCALE].dl,
                                      .col_scale = o->at[X_COL_SCALE].dl,
                                      .bias = o->at[X_BIAS].dl,
                                      .options = options,
                                      .stream = o->stream};
    return core_call(s, o, run_scaled, &args, &args.ready_only);
}

static PyObject *scaled_result(core_state *s, PyObject *const *v, const char *dtype)
{
    operands o;
    o.count = 0;
    PyObject *out = NULL;
    if (operands_take(s, &o, v, scaled_names, 2, v[X_STREAM]))
        out = make_result(s, v[0], matrix_shape(extent(&o, 0, 0), extent(&o, 1, 0)), dtype);
    operands_release(&o);
    return out;
}

static PyObject *matmul_scaled(PyObject *module, PyObject *const *args, Py_ssize_t n,
                               PyObject *names)
{
    core_state *s = core_of(module);
    PyObject *v[X_COUNT];
    operands o;
    o.count = 0;
    int formats[2] = {0, 0}, epilogue = 0;
    const char *dtype = "float32";
    if (!arguments_take(&scaled_signature, args, n, names, v) ||
        !argument_word(v[X_A_FORMAT], "a_format", format_words, &formats[0]) ||
        !argument_word(v[X_B_FORMAT], "b_format", format_words, &formats[1]) ||
        !argument_word(v[X_EPILOGUE], "epilogue", epilogue_words, &epilogue) ||
        !argument_text(v[X_DTYPE], "out_dtype", &dtype))
        return NULL;
    const ptxgen_matmul_scaled_args options = {.size = sizeof options,
                                               .a_format = (ptxgen_scaled_format)formats[0],
                                               .b_format = (ptxgen_scaled_format)formats[1],
                                               .epilogue = (ptxgen_epilogue)epilogue};
    PyObject *out =
        v[X_OUT] && v[X_OUT] != Py_None ? new_ref(v[X_OUT]) : scaled_result(s, v, dtype);
    const bool done = out && multiply_scaled(s, v, out, &o, &options);
    operands_release(&o);
    if (!done)
        Py_CLEAR(out);
    return out;
}

/* ---- call ---- */

static PyObject *call(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    static const char *const rest[] = {"params", "stream"};
    static const signature rest_signature = {"call", rest, 2, 0, 0};
    static const char *const places[] = {"operand 0", "operand 1", "operand 2",  "operand 3",
                                         "operand 4", "operand 5", "operand 6",  "operand 7",
                                         "operand 8", "operand 9", "operand 10", "operand 11"};
    core_state *s = core_of(module);
    PyObject *v[2];
    operands o;
    o.count = 0;
    family_call c = {.family = ""};
    if (n < 1 || n > 13) {
        PyErr_SetString(PyExc_TypeError, "call(family, *operands, params=None, stream=None)");
        return NULL;
    }
    if (!arguments_take(&rest_signature, args + n, 0, names, v) ||
        !argument_text(args[0], "family", &c.family) ||
        !argument_text(v[0], "params", &c.options.params))
        return NULL;
    const bool done =
        operands_take(s, &o, args + 1, places, (size_t)n - 1, v[1]) && call_family(s, &o, &c);
    operands_release(&o);
    return done ? new_ref(Py_None) : NULL;
}

#define METHOD(name) #name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS

PyMethodDef call_methods[] = {
    {METHOD(scatter_add_),
     "scatter_add_(out, index, src, *, weight=None, src_index=None, alpha=1, plan=None, "
     "deterministic=False,\n"
     "             accumulate_f32=False, reduce='add', padding_index=None, schedule='auto', "
     "oob='record',\n"
     "             dynamic_n=False, watch=None, stream=None)\n--\n\n"
     "out[index[i], :] += alpha * weight[i] * src[i, :], in place; returns out.\n\n"
     "out [R, N] and src [M, N] hold f32, f16, bf16, f64, s32 or s64, index [M] s64 or s32. With "
     "src_index [M], entry\n"
     "i takes row src_index[i] of src. plan=p, with p = ptxgen.plan(index, R) and index=None, is "
     "an "
     "index that is sorted\n"
     "already. A bad index is skipped: on the CPU the call then raises IndexOutOfRange, on CUDA "
     "the "
     "next check_indices\n"
     "does, or the watch that the call was given (index_watch). See ptxgen_scatter_add in "
     "ptxgen/ptxgen.h."},
    {METHOD(gather_rows), "gather_rows(src, index, out=None, *, oob='record', stream=None)\n--\n\n"
                          "out[i, :] = src[index[i], :]; returns out, a new array when none is "
                          "given. Any element type of 1, 2, 4 or 8\n"
                          "bytes."},
    {METHOD(matmul),
     "matmul(a, b, c=None, *, out=None, alpha=1, beta=1, epilogue='none', params=None, "
     "stream=None)\n--\n\n"
     "out = epilogue(alpha * a @ b + beta * c); returns out. a [m, k] and b [k, n] hold f16 or "
     "bf16, either may be a\n"
     "transposed view; c and out [m, n] hold f32 whatever a and b hold (so does the new array when "
     "no out is given), and\n"
     "out may be c. Each may have a batch as its first dimension: one without it is the same for "
     "all. Sums are kept in\n"
     "f32; what a factor of 0 multiplies is not read."},
    {METHOD(matmul_scaled), "matmul_scaled(a, b, a_scales, b_scales, out=None, *, row_scale=None, "
                            "col_scale=None, bias=None,\n"
                            "              a_format='mxfp8', b_format='mxfp8', "
                            "out_dtype='float32', epilogue='none', stream=None)\n--\n\n"
                            "out = epilogue(row_scale * col_scale * (a @ b.T) + bias) of "
                            "block-scaled operands; returns out.\n\n"
                            "a [m, k] and b [n, k] of mxfp8, mxfp4 or nvfp4, with packed scales "
                            "(pack_scales). Element types say the formats;\n"
                            "of plain bytes (uint8) a_format and b_format do, and rows of 4-bit "
                            "elements are k / 2 bytes."},
    {METHOD(call), "call(family, *operands, params=None, stream=None)\n--\n\n"
                   "Any family on its operands, in the order that `ptxgen list -v FAMILY` prints; "
                   "None leaves one out."},
    {NULL, NULL, 0, NULL}};
