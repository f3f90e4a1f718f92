/* SPDX-License-Identifier: Apache-2.0 */
/* core_around.c - Around: a function of the program or a framework, with ours before and after it.
 *
 * Written in C because a Python wrapper has a frame: tracebacks would show it, a warning would name
 * its line, and what looks at its caller would find us. It calls the original exactly once, with
 * what it was given, hands back what that returns or raises, and lets no Exception of ours out.
 * KeyboardInterrupt and its like are the user's, wherever they strike. */
#include <stddef.h>

#include "core_call.h"

struct around {
    PyObject base;
    PyObject *original;
    PyObject *before; /* a Span, or called with (args, kwargs or None); NULL: nothing */
    PyObject *after;  /* called with (token, args, result or None, whether it returned); NULL */
    PyObject *failed; /* called with what before or after raised; NULL: it is dropped */
    PyObject *dict;
    PyObject *weak;
    int is_span;
};

/* 0 with a token; 0 without one when before failed; -1 with an exception of the user's. */
static int call_before(struct around *a, PyObject *args, PyObject *kwargs, PyObject **token)
{
    *token = a->before
                 ? PyObject_CallFunctionObjArgs(a->before, args, kwargs ? kwargs : Py_None, NULL)
                 : Py_NewRef(Py_None);
    return *token ? 0 : core_swallow(a->failed);
}

/* The original has returned `result` or, when that is NULL, raised. Gives back the same. */
static PyObject *call_after(struct around *a, PyObject *token, PyObject *args, PyObject *result)
{
    struct core_outcome outcome = core_outcome_take(result);
    PyObject *done = PyObject_CallFunctionObjArgs(a->after, token, args, result ? result : Py_None,
                                                  result ? Py_True : Py_False, NULL);
    Py_XDECREF(done);
    return core_outcome_give(&outcome, done ? 0 : core_swallow(a->failed));
}

static PyObject *call_in_span(struct around *a, PyObject *args, PyObject *kwargs)
{
    core_span_enter((struct core_span *)a->before);
    PyObject *result = PyObject_Call(a->original, args, kwargs);
    core_span_exit((struct core_span *)a->before);
    return result;
}

static PyObject *call_between(struct around *a, PyObject *args, PyObject *kwargs)
{
    PyObject *token;
    if (call_before(a, args, kwargs, &token) != 0)
        return NULL;
    PyObject *result = PyObject_Call(a->original, args, kwargs);
    if (token && a->after)
        result = call_after(a, token, args, result);
    Py_XDECREF(token);
    return result;
}

static PyObject *around_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct around *a = (struct around *)self;
    if (!a->original) { /* the collector has cleared it */
        PyErr_SetString(PyExc_RuntimeError, "a wrapped function is called while it is torn down");
        return NULL;
    }
    Py_INCREF(self); /* the original may be what holds us */
    PyObject *result = a->is_span ? call_in_span(a, args, kwargs) : call_between(a, args, kwargs);
    Py_DECREF(self);
    return result;
}

/* What functools.wraps copies, but for the attributes: those are looked up in the original. What it
 * lacks, or will not give, is left out. */
static const char *const looks[] = {
    "__module__", "__name__", "__qualname__", "__doc__", "__annotations__",
};

static void copy_looks(struct around *a)
{
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        PyObject *v = PyObject_GetAttrString(a->original, looks[i]);
        if (v)
            (void)PyDict_SetItemString(a->dict, looks[i], v);
        Py_XDECREF(v);
        PyErr_Clear();
    }
    (void)PyDict_SetItemString(a->dict, "__wrapped__", a->original);
    PyErr_Clear();
}

static struct around *make(PyTypeObject *type, PyObject *original)
{
    const allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct around *a = (struct around *)alloc(type, 0);
    if (!a)
        return NULL;
    a->original = Py_NewRef(original);
    a->dict = PyDict_New();
    if (!a->dict) {
        Py_DECREF(a);
        return NULL;
    }
    copy_looks(a);
    return a;
}

PyObject *core_around_new(struct core_state *state, PyObject *original, PyObject *before)
{
    struct around *a = make(state->around, original);
    if (!a)
        return NULL;
    a->before = core_or_null(before);
    a->is_span = before && Py_IS_TYPE(before, state->span);
    return (PyObject *)a;
}

static PyObject *around_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *original, *before = NULL, *after = NULL, *failed = NULL;
    (void)kwargs;
    if (!PyArg_UnpackTuple(args, "Around", 1, 4, &original, &before, &after, &failed))
        return NULL;
    if (!PyCallable_Check(original)) {
        PyErr_SetString(PyExc_TypeError, "what is wrapped must be something that can be called");
        return NULL;
    }
    struct core_state *state = PyType_GetModuleState(type);
    struct around *a = state ? (struct around *)core_around_new(state, original, before) : NULL;
    if (!a)
        return NULL;
    a->after = core_or_null(after);
    a->failed = core_or_null(failed);
    return (PyObject *)a;
}

/* As a method: bound to its object, as a Python function is. */
static PyObject *around_bind(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (!object || object == Py_None)
        return Py_NewRef(self);
    return core_bind(self, self, object);
}

/* What it lacks it has from the original: __code__, __defaults__, whatever was put there; and its
 * class, by which inspect and isinstance recognize functions. */
static PyObject *around_getattr(PyObject *self, PyObject *name)
{
    struct around *a = (struct around *)self;
    if (a->original && PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return PyObject_GetAttr(a->original, name);
    PyObject *v = PyObject_GenericGetAttr(self, name);
    if (v || !a->original || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return v;
    PyErr_Clear();
    return PyObject_GetAttr(a->original, name);
}

static PyObject *around_repr(PyObject *self)
{
    struct around *a = (struct around *)self;
    return a->original ? PyObject_Repr(a->original) : PyUnicode_FromString("<wrapped>");
}

/* Pickled and copied by its name, as functions are. */
static PyObject *around_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}

static int around_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct around *a = (struct around *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(a->original);
    Py_VISIT(a->before);
    Py_VISIT(a->after);
    Py_VISIT(a->failed);
    Py_VISIT(a->dict);
    return 0;
}

static int around_clear(PyObject *self)
{
    struct around *a = (struct around *)self;
    a->is_span = 0;
    Py_CLEAR(a->original);
    Py_CLEAR(a->before);
    Py_CLEAR(a->after);
    Py_CLEAR(a->failed);
    Py_CLEAR(a->dict);
    return 0;
}

static void around_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(self);
    if (((struct around *)self)->weak)
        PyObject_ClearWeakRefs(self);
    (void)around_clear(self);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"__reduce__", around_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(struct around, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct around, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, around_new},
    {Py_tp_dealloc, around_dealloc},
    {Py_tp_traverse, around_traverse},
    {Py_tp_clear, around_clear},
    {Py_tp_call, around_call},
    {Py_tp_descr_get, around_bind},
    {Py_tp_getattro, around_getattr},
    {Py_tp_repr, around_repr},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getset},
    {0, NULL},
};

PyType_Spec core_around_spec = {
    .name = "footplate._core.Around",
    .basicsize = sizeof(struct around),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = slots,
};
