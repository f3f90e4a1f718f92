/* SPDX-License-Identifier: Apache-2.0 */
/* core_loop.c - Loop: what is known of a training loop while it runs, and the hooks that every step
 * calls, so that a step calls no Python of ours.
 *
 *     before_fetch(args, kwargs)   of a loader's __next__: counts the fetch
 *     after_fetch(args, batch)     counts the samples of the batch
 *     before_step(args, kwargs)    of an optimizer: its number, which becomes the span's value
 *
 * Each does the common case and leaves the rest to a function in Python with the same arguments:
 * slow_before_fetch, slow_after_fetch and slow_before_step. The rest is a detail window or changed
 * settings, a loader with workers, a batch of an unusual type, an optimizer that is new or has a
 * closure.
 *
 * footplate/detail/boundary.py derives its tracker from this type and has the rules; what is here
 * must agree with its functions `fetch` and `optimizer`. The fields are ordinary attributes there.
 * All of this runs with the interpreter's lock held. */
#include <stddef.h>

#include "core_call.h"

struct loop {
    PyObject base;
    unsigned long main;   /* the thread that counts */
    long long ended;      /* steps that are over */
    long long fetches;    /* of batches */
    long long asked;      /* the generation of the settings that were read; -1: none */
    char begun, explicit; /* the next step has begun; the program marks its steps */
    char loader, watched; /* there was a fetch; a window or profile watches */
    char trained;         /* since the latest fetch */
    PyObject *stepped;    /* set: numbers of the optimizers that stepped in this step */
    PyObject *usual;      /* set: those of the step before */
    PyObject *numbers;    /* dict: id of an optimizer -> (number, ...) */
    PyObject *slow_before_fetch, *slow_after_fetch, *slow_before_step;
    PyObject *queue; /* called with the iterator of a loader that has workers */
    PyObject *word_workers;
    PyObject *tensor; /* torch.Tensor */
    struct core_property shape;
    fp_name batch_size;
};

static int loop_on_main(const struct loop *l)
{
    return PyThread_get_thread_ident() == l->main;
}

/* A detail window or profile follows the steps, or the settings have changed. */
static int loop_is_slow(const struct loop *l)
{
    return l->watched || l->asked != (long long)fp_asked();
}

/* The step is over: what stepped in it is what usually steps. -1 with an exception. */
static int loop_end_step(struct loop *l)
{
    PyObject *none = PySet_New(NULL);
    if (!none)
        return -1;
    PyObject *old = l->usual;
    l->usual = l->stepped;
    l->stepped = none;
    l->ended++;
    Py_XDECREF(old);
    return 0;
}

static PyObject *loop_call(PyObject *slow, PyObject *const *args)
{
    if (!slow)
        Py_RETURN_NONE;
    return PyObject_CallFunctionObjArgs(slow, args[0], args[1], NULL);
}

static int loop_has_two(Py_ssize_t n)
{
    if (n != 2)
        PyErr_SetString(PyExc_TypeError, "takes two arguments");
    return n == 2;
}

/* ---- fetches ---- */

/* The first dimension of a batch that is a tensor, or a list or tuple that begins with one; -1: it
 * is something else. Never with an exception. */
static long long loop_samples(const struct loop *l, PyObject *batch)
{
    PyObject *first = batch;
    if (PyList_CheckExact(batch) && PyList_Size(batch) > 0)
        first = PyList_GetItem(batch, 0);
    else if (PyTuple_CheckExact(batch) && PyTuple_Size(batch) > 0)
        first = PyTuple_GetItem(batch, 0);
    if ((PyObject *)Py_TYPE(first) != l->tensor || !l->shape.get)
        return -1;
    PyObject *shape = core_property_get(&l->shape, first);
    long long n = -1;
    if (shape && PyTuple_Check(shape) && PyTuple_Size(shape) > 0)
        n = PyLong_AsLongLong(PyTuple_GetItem(shape, 0));
    Py_XDECREF(shape);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        n = -1;
    }
    return n;
}

/* How many batches are ready is for Python to find out. */
static PyObject *loop_look_at_queue(struct loop *l, PyObject *iterator)
{
    PyObject *workers = PyObject_GetAttr(iterator, l->word_workers);
    const int some = workers ? PyObject_IsTrue(workers) : -1;
    Py_XDECREF(workers);
    if (some < 0)
        return NULL;
    if (some && l->queue)
        return PyObject_CallFunctionObjArgs(l->queue, iterator, NULL);
    Py_RETURN_NONE;
}

static PyObject *loop_before_fetch(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct loop *l = (struct loop *)self;
    if (!loop_has_two(n))
        return NULL;
    if (loop_is_slow(l) || !PyTuple_Check(args[0]) || PyTuple_Size(args[0]) < 1 || !l->word_workers)
        return loop_call(l->slow_before_fetch, args);
    if (loop_on_main(l)) {
        l->loader = l->begun = 1;
        l->fetches++;
        if (!l->explicit && PySet_Size(l->stepped) > 0 && loop_end_step(l) != 0)
            return NULL;
    }
    return loop_look_at_queue(l, PyTuple_GetItem(args[0], 0));
}

static PyObject *loop_after_fetch(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct loop *l = (struct loop *)self;
    if (!loop_has_two(n))
        return NULL;
    const long long samples = loop_samples(l, args[1]);
    if (samples < 0)
        return loop_call(l->slow_after_fetch, args);
    fp_counter(l->batch_size, samples);
    Py_RETURN_NONE;
}

/* ---- optimizer steps ---- */

/* The number of a known optimizer, borrowed; NULL, without an exception, for one that is new. */
static PyObject *loop_number(const struct loop *l, PyObject *optimizer)
{
    PyObject *id = PyLong_FromVoidPtr(optimizer);
    PyObject *known = id && l->numbers ? PyDict_GetItemWithError(l->numbers, id) : NULL;
    Py_XDECREF(id);
    PyErr_Clear();
    return known && PyTuple_CheckExact(known) ? PyTuple_GetItem(known, 0) : NULL;
}

/* In a loop without a loader a step is over when an optimizer steps again. -1 with an exception. */
static int loop_step_without_loader(struct loop *l, PyObject *number)
{
    const int again = PySet_Contains(l->stepped, number);
    if (again <= 0 || l->explicit)
        return again < 0 ? -1 : 0;
    if (loop_end_step(l) != 0)
        return -1;
    l->begun = 1;
    return 0;
}

static PyObject *loop_before_step(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct loop *l = (struct loop *)self;
    if (!loop_has_two(n))
        return NULL;
    PyObject *number = NULL;
    if (!loop_is_slow(l) && PyTuple_Check(args[0]) && PyTuple_Size(args[0]) == 1 &&
        args[1] == Py_None)
        number = loop_number(l, PyTuple_GetItem(args[0], 0));
    if (!number)
        return loop_call(l->slow_before_step, args);
    if (loop_on_main(l)) {
        l->trained = 1;
        if ((!l->loader && loop_step_without_loader(l, number) != 0) ||
            PySet_Add(l->stepped, number) != 0)
            return NULL;
    }
    return Py_NewRef(number);
}

/* ---- the type ---- */

/* set_tensor(torch.Tensor): whose batches have samples. */
static PyObject *loop_set_tensor(PyObject *self, PyObject *type)
{
    struct loop *l = (struct loop *)self;
    if (core_property_set(&l->shape, type, "shape") != 0)
        return NULL;
    PyObject *old = l->tensor;
    l->tensor = Py_NewRef(type);
    Py_XDECREF(old);
    l->batch_size = fp_intern("batch.size");
    if (!l->word_workers && !(l->word_workers = PyUnicode_InternFromString("_num_workers")))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *loop_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    const allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return alloc(type, 0); /* __init__ of the derived type fills it */
}

static void loop_dealloc(PyObject *self)
{
    struct loop *l = (struct loop *)self;
    PyTypeObject *type = Py_TYPE(self);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    Py_XDECREF(l->stepped);
    Py_XDECREF(l->usual);
    Py_XDECREF(l->numbers);
    Py_XDECREF(l->slow_before_fetch);
    Py_XDECREF(l->slow_after_fetch);
    Py_XDECREF(l->slow_before_step);
    Py_XDECREF(l->queue);
    Py_XDECREF(l->word_workers);
    Py_XDECREF(l->tensor);
    Py_XDECREF(l->shape.descriptor);
    release(self);
    Py_DECREF(type);
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef loop_methods[] = {
    {"before_fetch", FAST(loop_before_fetch), METH_FASTCALL,
     "Before a loader's __next__: (args, kwargs)."},
    {"after_fetch", FAST(loop_after_fetch), METH_FASTCALL,
     "After a loader's __next__: (args, batch)."},
    {"before_step", FAST(loop_before_step), METH_FASTCALL,
     "Before an optimizer's step: (args, kwargs)."},
    {"set_tensor", loop_set_tensor, METH_O, "The type of tensors in batches."},
    {NULL, NULL, 0, NULL},
};

#define LOOP_FIELD(name, type)                                                                     \
    {                                                                                              \
#name, type, offsetof(struct loop, name), 0, NULL                                          \
    }

static PyMemberDef loop_members[] = {
    LOOP_FIELD(main, T_ULONG),
    LOOP_FIELD(ended, T_LONGLONG),
    LOOP_FIELD(fetches, T_LONGLONG),
    LOOP_FIELD(asked, T_LONGLONG),
    LOOP_FIELD(begun, T_BOOL),
    LOOP_FIELD(explicit, T_BOOL),
    LOOP_FIELD(loader, T_BOOL),
    LOOP_FIELD(watched, T_BOOL),
    LOOP_FIELD(trained, T_BOOL),
    LOOP_FIELD(stepped, T_OBJECT_EX),
    LOOP_FIELD(usual, T_OBJECT_EX),
    LOOP_FIELD(numbers, T_OBJECT_EX),
    LOOP_FIELD(slow_before_fetch, T_OBJECT_EX),
    LOOP_FIELD(slow_after_fetch, T_OBJECT_EX),
    LOOP_FIELD(slow_before_step, T_OBJECT_EX),
    LOOP_FIELD(queue, T_OBJECT_EX),
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot loop_slots[] = {
    {Py_tp_new, (void *)loop_new},
    {Py_tp_dealloc, (void *)loop_dealloc},
    {Py_tp_methods, loop_methods},
    {Py_tp_members, loop_members},
    {0, NULL},
};

/* Without a garbage collector's functions: the one object lives as long as the process. */
PyType_Spec core_loop_spec = {
    .name = "footplate._core.Loop",
    .basicsize = sizeof(struct loop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = loop_slots,
};
