/* SPDX-License-Identifier: Apache-2.0 */
/* core_call.h - what Around, Gate and SyncGate share: each replaces a function of the program or a
 * framework, calls it once, and calls ours before and after it. */
#ifndef PYTHON_CORE_CALL_H
#define PYTHON_CORE_CALL_H

#include "core.h"

/* What the original came to: a result or, when that is NULL, an exception, which is put aside here
 * while our own code runs. core_outcome_take, then core_outcome_give once. */
struct core_outcome {
    PyObject *result;
    PyObject *kind, *value, *where;
};

struct core_outcome core_outcome_take(PyObject *result);
/* The same again; when `rc` is not 0 another exception is pending, which goes in its place. */
PyObject *core_outcome_give(struct core_outcome *o, int rc);

/* Our own code raised. An Exception is passed to `failed` (NULL: it is dropped) and cleared, and so
 * is what that raises: 0. Anything else, KeyboardInterrupt above all, is the user's: it stays
 * pending, and -1 is returned. */
int core_swallow(PyObject *failed);

/* `function` as a method of `object`; `self` is an object of one of our types. */
PyObject *core_bind(PyObject *self, PyObject *function, PyObject *object);

/* Calls without an argument tuple (vectorcall): part of the limited API since 3.12, exported by
 * every CPython since 3.11. PyObject_Vectorcall is an inline function in 3.10 and then not there.
 */
typedef PyObject *(*core_vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif
extern PyObject *PyVectorcall_Call(PyObject *, PyObject *, PyObject *);
extern PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *)
    __attribute__((weak));

static inline Py_ssize_t core_vectorcall_nargs(size_t nargsf)
{
    return (Py_ssize_t)(nargsf & (SIZE_MAX >> 1));
}

/* The same arguments as a tuple and a dict (NULL: no keywords). -1 with an exception. */
int core_pack(PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject **tuple,
              PyObject **dict);

/* Calls `function` with the arguments that a vectorcall was given, in any version of Python. */
PyObject *core_forward_packed(PyObject *function, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);
static inline PyObject *core_forward(PyObject *function, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames)
{
    return PyObject_Vectorcall ? PyObject_Vectorcall(function, args, nargsf, kwnames)
                               : core_forward_packed(function, args, nargsf, kwnames);
}

/* A property of a type in C, read without looking it up. */
struct core_property {
    PyObject *descriptor;
    descrgetfunc get; /* NULL: not set */
};

/* -1 with an exception. */
int core_property_set(struct core_property *p, PyObject *owner, const char *name);

static inline PyObject *core_property_get(const struct core_property *p, PyObject *object)
{
    return p->get(p->descriptor, object, (PyObject *)Py_TYPE(object));
}

/* A new reference, or NULL for None and for NULL. */
static inline PyObject *core_or_null(PyObject *o)
{
    return o && o != Py_None ? Py_NewRef(o) : NULL;
}

#endif
