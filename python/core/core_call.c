/* SPDX-License-Identifier: Apache-2.0 */
/* core_call.c - see core_call.h. */
#include "core_call.h"

struct core_outcome core_outcome_take(PyObject *result)
{
    struct core_outcome o = {.result = result};
    if (!result)
        PyErr_Fetch(&o.kind, &o.value, &o.where);
    return o;
}

PyObject *core_outcome_give(struct core_outcome *o, int rc)
{
    if (rc == 0) {
        if (!o->result)
            PyErr_Restore(o->kind, o->value, o->where);
        return o->result;
    }
    Py_XDECREF(o->kind);
    Py_XDECREF(o->value);
    Py_XDECREF(o->where);
    Py_XDECREF(o->result);
    return NULL;
}

/* The pending Exception goes to `failed`. */
static void report_failure(PyObject *failed)
{
    PyObject *kind, *value, *where;
    PyErr_Fetch(&kind, &value, &where);
    PyErr_NormalizeException(&kind, &value, &where);
    PyObject *result = failed && value ? PyObject_CallFunctionObjArgs(failed, value, NULL) : NULL;
    Py_XDECREF(result);
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(where);
}

int core_swallow(PyObject *failed)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    report_failure(failed);
    if (!PyErr_Occurred())
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Clear();
    return 0;
}

PyObject *core_bind(PyObject *self, PyObject *function, PyObject *object)
{
    struct core_state *state = PyType_GetModuleState(Py_TYPE(self));
    if (!state)
        return NULL;
    if (!state->method_type) {
        PyObject *types = PyImport_ImportModule("types");
        state->method_type = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
        Py_XDECREF(types);
    }
    if (!state->method_type)
        return NULL;
    return PyObject_CallFunctionObjArgs(state->method_type, function, object, NULL);
}

int core_property_set(struct core_property *p, PyObject *owner, const char *name)
{
    PyObject *descriptor = PyObject_GetAttrString(owner, name);
    if (!descriptor)
        return -1;
    p->get = (descrgetfunc)PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_get);
    if (!p->get) {
        Py_DECREF(descriptor);
        PyErr_Format(PyExc_TypeError, "%s is no property", name);
        return -1;
    }
    Py_XDECREF(p->descriptor);
    p->descriptor = descriptor;
    return 0;
}

int core_pack(PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject **tuple,
              PyObject **dict)
{
    const Py_ssize_t n = core_vectorcall_nargs(nargsf), words = kwnames ? PyTuple_Size(kwnames) : 0;
    *tuple = PyTuple_New(n);
    *dict = words ? PyDict_New() : NULL;
    if (!*tuple || (words && !*dict))
        goto failed;
    for (Py_ssize_t i = 0; i < n; i++)
        PyTuple_SetItem(*tuple, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; i < words; i++)
        if (PyDict_SetItem(*dict, PyTuple_GetItem(kwnames, i), args[n + i]) != 0)
            goto failed;
    return 0;
failed:
    Py_CLEAR(*tuple);
    Py_CLEAR(*dict);
    return -1;
}

PyObject *core_forward_packed(PyObject *function, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames)
{
    PyObject *tuple, *dict;
    if (core_pack(args, nargsf, kwnames, &tuple, &dict) != 0)
        return NULL;
    PyObject *result = PyObject_Call(function, tuple, dict);
    Py_DECREF(tuple);
    Py_XDECREF(dict);
    return result;
}
