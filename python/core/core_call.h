/* SPDX-License-Identifier: Apache-2.0 */
/* core_call.h - what Around and Gate share: both stand in for a function of somebody else, call it
 * once, and call ours before and after it. */
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

/* Our own code raised. An Exception is told to `failed` (NULL: nobody wants to know) and gone, and
 * so is what that raises: 0. Anything else, KeyboardInterrupt above all, is the user's: it stays
 * pending, and -1 is returned. */
int core_swallow(PyObject *failed);

/* `function` as a method of `object`; `self` is an object of one of our types. */
PyObject *core_bind(PyObject *self, PyObject *function, PyObject *object);

/* A new reference, or NULL for None and for NULL. */
static inline PyObject *core_or_null(PyObject *o)
{
    return o && o != Py_None ? Py_NewRef(o) : NULL;
}

#endif
