/* Arguments by place and by name, and what they say as C values. See core.h. */
#include "core.h"

#include <stdio.h>
#include <string.h>

static bool find_name(const signature *s, PyObject *name, size_t *out)
{
    for (size_t i = 0; i < s->count; i++)
        if (PyUnicode_CompareWithASCIIString(name, s->names[i]) == 0) {
            *out = i;
            return true;
        }
    PyErr_Format(PyExc_TypeError, "%s() has no argument named %R", s->function, name);
    return false;
}

bool arguments_take(const signature *s, PyObject *const *args, Py_ssize_t given, PyObject *kwnames,
                    PyObject **out)
{
    if ((size_t)given > s->positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments by place, %zd were given",
                     s->function, s->positional, given);
        return false;
    }
    for (size_t i = 0; i < s->count; i++)
        out[i] = i < (size_t)given ? args[i] : NULL;
    const Py_ssize_t named = kwnames ? PyTuple_Size(kwnames) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        size_t at = 0;
        if (!find_name(s, PyTuple_GetItem(kwnames, i), &at))
            return false;
        if (out[at]) {
            PyErr_Format(PyExc_TypeError, "%s() got %s twice", s->function, s->names[at]);
            return false;
        }
        out[at] = args[given + i];
    }
    for (size_t i = 0; i < s->required; i++)
        if (!out[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs the argument %s", s->function, s->names[i]);
            return false;
        }
    return true;
}

bool argument_bool(PyObject *value, bool *out)
{
    const int truth = value && value != Py_None ? PyObject_IsTrue(value) : *out;
    *out = truth == 1;
    return truth >= 0;
}

bool argument_text(PyObject *value, const char *name, const char **out)
{
    if (!value || value == Py_None)
        return true;
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", name, value);
        return false;
    }
    *out = PyUnicode_AsUTF8AndSize(value, NULL);
    return *out;
}

bool argument_word(PyObject *value, const char *name, const char *const *words, int *out)
{
    const char *text = NULL;
    if (!argument_text(value, name, &text))
        return false;
    if (!text)
        return true;
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    char list[160] = "";
    size_t used = 0;
    for (int i = 0; words[i] && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
    PyErr_Format(PyExc_ValueError, "%s=%R: it must be one of %s", name, value, list);
    return false;
}

bool argument_integer(PyObject *value, int64_t *out)
{
    if (!value || value == Py_None)
        return true;
    *out = PyLong_AsLongLong(value);
    return *out != -1 || !PyErr_Occurred();
}
