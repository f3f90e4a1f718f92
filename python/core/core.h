/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the parts of the Python extension `footplate._core`.
 *
 * Limited API of Python 3.10, so that one file serves all later versions. It lives inside the job:
 * an event allocates nothing and never fails, whether the process is recorded or not. Included
 * first, as Python.h has to be. */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <structmember.h>

#include "emit/emit_here.h"

/* What the extension keeps for each interpreter. */
struct core_state {
    PyTypeObject *span;
    PyTypeObject *around;
    PyTypeObject *gate;
    PyTypeObject *sync;
    PyTypeObject *loop;
    PyObject *method_type; /* types.MethodType; NULL until something is bound */
};

/* The module's types as PyType_FromModuleAndSpec takes them. */
extern PyType_Spec core_span_spec;
extern PyType_Spec core_around_spec;
extern PyType_Spec core_gate_spec;
extern PyType_Spec core_sync_spec;
extern PyType_Spec core_loop_spec;

/* The name id that an argument holds: 0 when it can be none, -1 with an exception when it is not a
 * whole number. */
static inline long long core_name(PyObject *arg)
{
    const long v = PyLong_AsLong(arg);
    if (__builtin_expect(v < 0 || v > (long)UINT32_MAX, 0))
        return PyErr_Occurred() ? -1 : 0;
    return v;
}

struct core_span {
    PyObject base;
    fp_name name;
    int64_t value;
    PyObject *enter, *exit; /* __enter__ and __exit__, bound to this span */
};

/* Gives the class Span its methods. */
int core_span_methods(PyObject *module, PyTypeObject *span);

static inline void core_span_enter(const struct core_span *s)
{
    if (fp_enabled())
        emit_here(fp_said_(FP_SPAN_BEGIN_, s->name), (uint64_t)s->value);
}

static inline void core_span_exit(const struct core_span *s)
{
    if (fp_enabled())
        emit_here(fp_said_(FP_SPAN_END_, s->name), 0);
}

/* Adds the functions of training health and their tables. */
int core_health_exec(PyObject *module);

/* A new Around, or NULL with an exception. `before` is a span or a callable; all but the original
 * may be NULL. */
PyObject *core_around_new(struct core_state *state, PyObject *original, PyObject *before);

#endif
