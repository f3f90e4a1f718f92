/* SPDX-License-Identifier: Apache-2.0 */
/* core_span.c - Span: a span as a context manager and as a decorator. It holds nothing that
 * changes, so one object serves many threads, and itself again inside itself.
 *
 * `with span:` looks up two methods and binds them, which for ordinary methods makes two objects
 * each time. So a span has its methods bound once, and the class has descriptors that hand them
 * out: half of what the statement would cost. */
#include "core.h"

static PyObject *span_enter(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)args, (void)n;
    core_span_enter((struct core_span *)self);
    return Py_NewRef(self);
}

static PyObject *span_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)args, (void)n;
    core_span_exit((struct core_span *)self);
    return Py_NewRef(Py_False);
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

/* Both are of the kind that newer Pythons call directly, and look at no arguments. */
static PyMethodDef bound_enter = {"__enter__", FAST(span_enter), METH_FASTCALL, "The span begins."};
static PyMethodDef bound_exit = {"__exit__", FAST(span_exit), METH_FASTCALL, "The span ends."};

static struct core_span *span_make(PyTypeObject *type)
{
    const allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct core_span *s = (struct core_span *)alloc(type, 0);
    if (!s)
        return NULL;
    s->enter = PyCFunction_NewEx(&bound_enter, (PyObject *)s, NULL);
    s->exit = PyCFunction_NewEx(&bound_exit, (PyObject *)s, NULL);
    if (!s->enter || !s->exit) {
        Py_DECREF(s);
        return NULL;
    }
    return s;
}

static PyObject *span_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *name, *value = NULL;
    if (kwargs && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Span() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_UnpackTuple(args, "Span", 1, 2, &name, &value))
        return NULL;
    const long long id = core_name(name);
    if (id < 0)
        return NULL;
    const long long v = value && value != Py_None ? PyLong_AsLongLong(value) : 0;
    if (v == -1 && PyErr_Occurred())
        return NULL;
    struct core_span *s = span_make(type);
    if (!s)
        return NULL;
    s->name = (fp_name)id;
    s->value = v;
    return (PyObject *)s;
}

/* As a decorator. If nothing is recorded, the function is returned unchanged. */
static PyObject *span_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *function;
    (void)kwargs;
    if (!PyArg_UnpackTuple(args, "Span", 1, 1, &function))
        return NULL;
    if (!PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "a span decorates something that can be called");
        return NULL;
    }
    if (!fp_enabled())
        return Py_NewRef(function);
    struct core_state *state = PyType_GetModuleState(Py_TYPE(self));
    return state ? core_around_new(state, function, self) : NULL;
}

static int span_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct core_span *s = (struct core_span *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(s->enter);
    Py_VISIT(s->exit);
    return 0;
}

static void let_go(PyObject **method)
{
    PyObject *old = *method;
    *method = Py_NewRef(Py_None); /* never NULL: the descriptors below do not check */
    Py_XDECREF(old);
}

static int span_clear(PyObject *self)
{
    struct core_span *s = (struct core_span *)self;
    let_go(&s->enter);
    let_go(&s->exit);
    return 0;
}

static void span_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((struct core_span *)self)->enter);
    Py_XDECREF(((struct core_span *)self)->exit);
    release(self);
    Py_DECREF(type);
}

static char doc[] = "A span: `with span:` or `@span`. To be kept and used again.";

static PyType_Slot slots[] = {
    {Py_tp_doc, doc},
    {Py_tp_new, span_new},
    {Py_tp_dealloc, span_dealloc},
    {Py_tp_traverse, span_traverse},
    {Py_tp_clear, span_clear},
    {Py_tp_call, span_call},
    {0, NULL},
};

PyType_Spec core_span_spec = {
    .name = "footplate._core.Span",
    .basicsize = sizeof(struct core_span),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

/* __enter__ and __exit__ of the class. Taken from a span it is the bound method;
 * taken from the class, as contextlib.ExitStack does, it is called with the span. */
struct span_method {
    PyObject base;
    int is_exit;
    PyTypeObject *owner; /* Span */
};

static PyObject *bound_of(const struct span_method *m, PyObject *object)
{
    const struct core_span *s = (struct core_span *)object;
    return m->is_exit ? s->exit : s->enter;
}

static PyObject *method_get(PyObject *self, PyObject *object, PyObject *type)
{
    struct span_method *m = (struct span_method *)self;
    (void)type;
    if (object && Py_IS_TYPE(object, m->owner))
        return Py_NewRef(bound_of(m, object));
    if (!object || object == Py_None)
        return Py_NewRef(self);
    PyErr_SetString(PyExc_TypeError, "a method of Span is taken from a span");
    return NULL;
}

static PyObject *method_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct span_method *m = (struct span_method *)self;
    PyObject *span = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
    (void)kwargs;
    if (span && Py_IS_TYPE(span, m->owner))
        return PyObject_CallNoArgs(bound_of(m, span));
    PyErr_SetString(PyExc_TypeError, "a method of Span is called with a span");
    return NULL;
}

static int method_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct span_method *)self)->owner);
    return 0;
}

static void method_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((struct span_method *)self)->owner);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot method_slots[] = {
    {Py_tp_dealloc, method_dealloc},
    {Py_tp_traverse, method_traverse},
    {Py_tp_descr_get, method_get},
    {Py_tp_call, method_call},
    {0, NULL},
};

static PyType_Spec method_spec = {
    .name = "footplate._core.SpanMethod",
    .basicsize = sizeof(struct span_method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = method_slots,
};

static int add_method(PyTypeObject *span, PyTypeObject *type, const char *name, int is_exit)
{
    const allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct span_method *m = (struct span_method *)alloc(type, 0);
    if (!m)
        return -1;
    m->is_exit = is_exit;
    m->owner = (PyTypeObject *)Py_NewRef((PyObject *)span);
    const int rc = PyObject_SetAttrString((PyObject *)span, name, (PyObject *)m);
    Py_DECREF(m);
    return rc;
}

int core_span_methods(PyObject *module, PyTypeObject *span)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &method_spec, NULL);
    if (!type)
        return -1;
    PyTypeObject *method = (PyTypeObject *)type;
    int rc = add_method(span, method, "__enter__", 0);
    if (rc == 0)
        rc = add_method(span, method, "__exit__", 1);
    Py_DECREF(type);
    return rc;
}
