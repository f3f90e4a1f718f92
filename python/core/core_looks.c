/* SPDX-License-Identifier: Apache-2.0 */
/* core_looks.c - the attributes of a gate: those of the original. See core_gate.h. */
#include <stdbool.h>
#include <stddef.h>

#include "core_gate.h"

/* The beginning of every gate. */
struct core_looks {
    PyObject base;
    PyObject *original;
};

/* What is the gate's and not the original's. */
static const char *const own_names[] = {
    "_footplate_original", "_footplate_before", "_footplate_after",  "_footplate_begin",
    "_footplate_end",      "_footplate_range",  "_footplate_within", "__class__",
    "__reduce__",          "__reduce_ex__",     "__get__",           "__call__",
};

static bool is_own(PyObject *name)
{
    for (size_t i = 0; i < sizeof own_names / sizeof own_names[0]; i++)
        if (PyUnicode_CompareWithASCIIString(name, own_names[i]) == 0)
            return true;
    return false;
}

PyObject *core_looks_getattr(PyObject *self, PyObject *name)
{
    if (is_own(name))
        return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((struct core_looks *)self)->original, name);
}

int core_looks_setattr(PyObject *self, PyObject *name, PyObject *value)
{
    if (is_own(name))
        return PyObject_GenericSetAttr(self, name, value);
    return PyObject_SetAttr(((struct core_looks *)self)->original, name, value);
}

PyObject *core_looks_repr(PyObject *self)
{
    return PyObject_Repr(((struct core_looks *)self)->original);
}

/* By name, as functions are: the name must lead to the gate. */
PyObject *core_looks_reduce(PyObject *self, PyObject *none)
{
    (void)none;
    return PyObject_GetAttrString(((struct core_looks *)self)->original, "__qualname__");
}

PyObject *core_looks_class(PyObject *self, void *none)
{
    (void)none;
    return Py_NewRef((PyObject *)Py_TYPE(((struct core_looks *)self)->original));
}

/* For code that reads attributes without __getattribute__ (inspect.getattr_static). */
PyObject *core_looks_dict(PyObject *self, void *none)
{
    (void)none;
    return PyObject_GetAttrString(((struct core_looks *)self)->original, "__dict__");
}

PyObject *core_looks_original(PyObject *self, void *none)
{
    (void)none;
    return Py_NewRef(((struct core_looks *)self)->original);
}
