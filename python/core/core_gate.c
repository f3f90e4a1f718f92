/* SPDX-License-Identifier: Apache-2.0 */
/* core_gate.c - replaces a function of the framework and marks its outermost calls.
 *
 * nn.Module.__call__ runs for every module of a model, hundreds of times a step, and only the
 * outermost call is the forward pass. So the question "are we inside already?" is a thread-local
 * mask, and the answer costs a few nanoseconds where a Python wrapper costs a hundred.
 *
 *     gate(...) -> closed for this thread (mask & closed_by), or not recorded: the original
 *               -> else: mask = (mask | own) & ~opens; before(args, kwargs); span begin, the
 * original, span end; after(args, result); mask as it was
 *
 * before answers False: this call is not marked; a whole number: it is the span's value; a tuple
 * (args, kwargs, done): call with these, without a span, and then done(args, result).
 *
 * The timer of GPU phases listens with begin(declined) and end(), which it sets on gates. It times
 * few of the steps: Gate.rest(n) keeps a thread's listeners silent for n steps, so that a step that
 * is not timed costs no Python. A step is over with a `pulse`, or is a call that the chooser
 * declined: a forward pass without gradients. The call that ends the rest, and one call a second,
 * is reported.
 *
 * A gate is not to be noticed. It has no Python frame, so tracebacks, the lines that warnings name
 * and what torch.compile sees are what they are without it; every attribute, its class too, is the
 * original's, so that inspect, pickle and the compiler's tracer take it for the function that it
 * replaces. What the original raises goes on untouched; what before and after raise goes to
 * `failed`, once, and the two are not called again.
 *
 * `pulse`: the call ends a step (core_pulse). `_footplate_range` is set while a detail window runs:
 * then the calls within an outermost one are ranges of the profiler, too. `_footplate_within(args)`
 * is set in a step whose modules are measured: it is called before each call within an outermost
 * one, where nothing but that has closed the gate, and answers None, or what is called after it, as
 * after(args, result). So modules need no hooks, which compilers, copies and pickles would meet.
 *
 * `hidden` is for special methods such as __call__: an attribute look-up then gives the original
 * itself, and only calls through the type's slot, and through super(), meet the gate. */
#include "core_gate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_call.h"
#include "core_sync.h"

struct gate {
    PyObject base;
    PyObject *original;
    core_vectorcall call;
    PyObject *before, *after, *failed; /* NULL: none */
    PyObject *begin, *end;             /* listeners; NULL: none */
    PyObject *chooser;                 /* NULL: `span` always */
    PyObject *range;                   /* NULL outside of a detail window; see call_original */
    PyObject *within;                  /* NULL in most steps; see call_within */
    fp_name span, other;               /* other: when the chooser says no */
    uint32_t own, closed_by, opens;    /* bits of core_inside */
    bool hidden, always, pulse;
    PyObject *weak; /* functions have weak references, and torch.compile keeps some */
};

_Thread_local uint32_t core_inside __attribute__((tls_model("initial-exec")));
bool core_quiet;

/* Steps for which this thread's listeners are silent, and of the steps counted, those declined. */
static _Thread_local long gate_rest __attribute__((tls_model("initial-exec")));
static _Thread_local long gate_declined __attribute__((tls_model("initial-exec")));

/* Our own code raised: unless that is the user's to see, it is not called again. */
static int give_up(struct gate *g)
{
    const int rc = core_swallow(g->failed);
    if (rc == 0) {
        Py_CLEAR(g->before);
        Py_CLEAR(g->after);
        Py_CLEAR(g->begin);
        Py_CLEAR(g->end);
        Py_CLEAR(g->within);
    }
    return rc;
}

/* What before answered. NULL with an exception of the user's; None when it failed. */
static PyObject *ask_before(struct gate *g, PyObject *args, PyObject *kwargs)
{
    PyObject *before = Py_NewRef(g->before); /* it may take itself off the gate */
    PyObject *answer = PyObject_CallFunctionObjArgs(before, args, kwargs ? kwargs : Py_None, NULL);
    Py_DECREF(before);
    return answer || give_up(g) != 0 ? answer : Py_NewRef(Py_None);
}

/* The original has returned `result` or, when that is NULL, raised. Gives back the same. */
static PyObject *call_after(struct gate *g, PyObject *after, PyObject *args, PyObject *result)
{
    struct core_outcome outcome = core_outcome_take(result);
    Py_INCREF(after); /* it may take itself off the gate */
    PyObject *answer = PyObject_CallFunctionObjArgs(after, args, result ? result : Py_None, NULL);
    Py_DECREF(after);
    Py_XDECREF(answer);
    return core_outcome_give(&outcome, answer ? 0 : give_up(g));
}

/* Whether the chooser says no; without one, never. */
static bool gate_is_declined(struct gate *g)
{
    if (!g->chooser)
        return false;
    PyObject *answer = PyObject_CallObject(g->chooser, NULL);
    if (!answer)
        PyErr_Clear();
    Py_XDECREF(answer);
    return answer && answer != Py_True;
}

/* Calls begin(declined) or, with NULL, end(). -1 with an exception of the user's. */
static int gate_listen(struct gate *g, PyObject *listener, PyObject *declined)
{
    Py_INCREF(listener); /* it may be taken off the gate */
    PyObject *answer = PyObject_CallFunctionObjArgs(listener, declined, NULL);
    Py_DECREF(listener);
    Py_XDECREF(answer);
    return answer ? 0 : give_up(g);
}

static int gate_begin(struct gate *g, bool declined)
{
    if (gate_rest > 0 && declined) {
        gate_declined++;
        gate_rest--;
    }
    return gate_rest > 0 || !g->begin ? 0 : gate_listen(g, g->begin, declined ? Py_True : Py_False);
}

/* The call is over. Gives back its result, or NULL with an exception. */
static PyObject *gate_end(struct gate *g, PyObject *result)
{
    const bool second = g->pulse && core_pulse(false);
    if (gate_rest > 0 && g->pulse)
        gate_rest--;
    if ((gate_rest > 0 && !second) || !g->end)
        return result;
    struct core_outcome outcome = core_outcome_take(result);
    return core_outcome_give(&outcome, gate_listen(g, g->end, NULL));
}

/* Our own code: what it raises is dropped. */
static PyObject *quietly(PyObject *result)
{
    if (!result)
        PyErr_Clear();
    return result;
}

/* The original in a range: range(args, outermost) gives a context manager, or None for none. */
static PyObject *call_in_range(struct gate *g, PyObject *args, PyObject *kwargs, bool outermost)
{
    PyObject *range = Py_NewRef(g->range); /* it may be taken off the gate */
    PyObject *which = outermost ? Py_True : Py_False;
    PyObject *context = quietly(PyObject_CallFunctionObjArgs(range, args, which, NULL));
    Py_DECREF(range);
    if (context == Py_None)
        Py_CLEAR(context);
    if (context)
        Py_XDECREF(quietly(PyObject_CallMethod(context, "__enter__", NULL)));
    PyObject *result = PyObject_Call(g->original, args, kwargs);
    if (!context)
        return result;
    struct core_outcome outcome = core_outcome_take(result);
    Py_XDECREF(quietly(PyObject_CallMethod(context, "__exit__", "OOO", Py_None, Py_None, Py_None)));
    Py_DECREF(context);
    return core_outcome_give(&outcome, 0);
}

/* A call within an outermost one. */
static PyObject *call_nested(struct gate *g, PyObject *args, PyObject *kwargs)
{
    return g->range ? call_in_range(g, args, kwargs, false)
                    : PyObject_Call(g->original, args, kwargs);
}

/* The same, which `within` may want to look at. */
static PyObject *call_within(struct gate *g, PyObject *args, PyObject *kwargs)
{
    PyObject *within = Py_NewRef(g->within); /* it may be taken off the gate */
    PyObject *after = PyObject_CallFunctionObjArgs(within, args, NULL);
    Py_DECREF(within);
    if (!after && give_up(g) != 0)
        return NULL;
    PyObject *result = call_nested(g, args, kwargs);
    if (after && after != Py_None)
        result = call_after(g, after, args, result);
    Py_XDECREF(after);
    return result;
}

static PyObject *call_original(struct gate *g, PyObject *args, PyObject *kwargs)
{
    if (__builtin_expect(g->range != NULL, 0))
        return call_in_range(g, args, kwargs, true);
    return PyObject_Call(g->original, args, kwargs);
}

static PyObject *call_in_span(struct gate *g, fp_name name, int64_t value, PyObject *args,
                              PyObject *kwargs)
{
    if (name) {
        core_sync_emit_short();
        fp_span_begin_value(name, value);
    }
    PyObject *result = call_original(g, args, kwargs);
    if (name) {
        core_sync_emit_short();
        fp_span_end(name);
    }
    return result;
}

/* With other arguments and no span, as `answer`: (args, kwargs or None, done). */
static PyObject *call_with(struct gate *g, PyObject *answer, PyObject *given)
{
    PyObject *kwargs = PyTuple_GetItem(answer, 1);
    PyObject *result =
        PyObject_Call(g->original, PyTuple_GetItem(answer, 0), kwargs == Py_None ? NULL : kwargs);
    return call_after(g, PyTuple_GetItem(answer, 2), given, result);
}

/* A call that is marked: `answer` is what before answered. */
static PyObject *call_as_answered(struct gate *g, PyObject *answer, PyObject *args,
                                  PyObject *kwargs)
{
    const bool declined = gate_is_declined(g);
    if (gate_begin(g, declined) != 0)
        return NULL;
    PyObject *result;
    if (PyTuple_CheckExact(answer) && PyTuple_Size(answer) == 3) {
        result = call_with(g, answer, args);
    } else {
        int64_t value = PyLong_CheckExact(answer) ? PyLong_AsLongLong(answer) : 0;
        if (value == -1 && PyErr_Occurred()) { /* too large */
            PyErr_Clear();
            value = 0;
        }
        result = call_in_span(g, declined ? g->other : g->span, value, args, kwargs);
    }
    result = gate_end(g, result);
    return g->after ? call_after(g, g->after, args, result) : result;
}

static PyObject *call_marked(struct gate *g, PyObject *args, PyObject *kwargs)
{
    PyObject *answer = g->before ? ask_before(g, args, kwargs) : Py_NewRef(Py_None);
    if (!answer)
        return NULL;
    PyObject *result = answer == Py_False ? PyObject_Call(g->original, args, kwargs)
                                          : call_as_answered(g, answer, args, kwargs);
    Py_DECREF(answer);
    return result;
}

static bool gate_is_closed(const struct gate *g)
{
    return core_inside & g->closed_by || !fp_enabled() || (core_quiet && !g->always);
}

/* Whether somebody wants to know of calls within an outermost one, where this thread is. */
static bool gate_is_followed(const struct gate *g)
{
    return (g->range || g->within) && core_inside & g->own;
}

/* An outermost call, or one within it that is followed. */
static PyObject *gate_open(struct gate *g, bool closed, PyObject *args, PyObject *kwargs)
{
    if (closed && g->within && (core_inside & g->closed_by) == g->own)
        return call_within(g, args, kwargs);
    if (closed)
        return call_nested(g, args, kwargs);
    const uint32_t outside = core_inside;
    core_inside = (core_inside | g->own) & ~g->opens;
    PyObject *result = call_marked(g, args, kwargs);
    core_inside = outside;
    return result;
}

static PyObject *gate_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct gate *g = (struct gate *)self;
    const bool closed = gate_is_closed(g);
    if (closed && __builtin_expect(!gate_is_followed(g), 1))
        return core_forward(g->original, args, nargsf, kwnames);
    PyObject *tuple, *dict;
    if (core_pack(args, nargsf, kwnames, &tuple, &dict) != 0)
        return NULL;
    Py_INCREF(self); /* the original may take the gate off */
    PyObject *result = gate_open(g, closed, tuple, dict);
    Py_DECREF(self);
    Py_DECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

/* ---- attributes ---- */

/* Whether the object's class has this gate's method as its own, and not one that overrides it and
 * now reaches for it through super(). */
static int not_overridden(struct gate *g, PyObject *obj)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)Py_TYPE(obj), "__call__");
    if (!found)
        return -1;
    const int same = found == g->original;
    Py_DECREF(found);
    return same;
}

static PyObject *gate_get(PyObject *self, PyObject *obj, PyObject *type)
{
    (void)type;
    struct gate *g = (struct gate *)self;
    if (!obj || obj == Py_None) {
        return Py_NewRef(g->hidden ? g->original : self);
    }
    int plain = g->hidden ? not_overridden(g, obj) : 0;
    if (plain < 0)
        return NULL;
    return core_bind(self, plain ? g->original : self, obj);
}

/* `which`: where the callback is in struct gate. */
static PyObject **callback_at(PyObject *self, void *which)
{
    return (PyObject **)(void *)((char *)self + (size_t)which);
}

static PyObject *get_callback(PyObject *self, void *which)
{
    PyObject *value = *callback_at(self, which);
    return Py_NewRef(value ? value : Py_None);
}

static int set_callback(PyObject *self, PyObject *value, void *which)
{
    PyObject **place = callback_at(self, which);
    PyObject *old = *place;
    *place = core_or_null(value);
    Py_XDECREF(old);
    return 0;
}

/* ---- creation and destruction ---- */

static const char *const gate_names[] = {"original",  "span",   "other",  "chooser", "own",
                                         "closed_by", "opens",  "before", "after",   "failed",
                                         "hidden",    "always", "pulse",  NULL};

static PyObject *gate_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *original, *chooser = NULL, *before = NULL, *after = NULL, *failed = NULL;
    unsigned span = 0, other = 0, own = 0, closed_by = 0, opens = 0;
    int hidden = 0, always = 0, pulse = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$IIOIIIOOOppp",
                                     (char **)(uintptr_t)gate_names, &original, &span, &other,
                                     &chooser, &own, &closed_by, &opens, &before, &after, &failed,
                                     &hidden, &always, &pulse))
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct gate *g = (struct gate *)alloc(type, 0);
    if (!g)
        return NULL;
    g->original = Py_NewRef(original);
    g->call = gate_call;
    g->chooser = core_or_null(chooser);
    g->before = core_or_null(before);
    g->after = core_or_null(after);
    g->failed = core_or_null(failed);
    g->span = span;
    g->other = other;
    g->own = own;
    g->closed_by = closed_by;
    g->opens = opens;
    g->hidden = hidden != 0;
    g->always = always != 0;
    g->pulse = pulse != 0;
    return (PyObject *)g;
}

static int gate_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct gate *g = (struct gate *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(g->original);
    Py_VISIT(g->chooser);
    Py_VISIT(g->range);
    Py_VISIT(g->within);
    Py_VISIT(g->before);
    Py_VISIT(g->after);
    Py_VISIT(g->begin);
    Py_VISIT(g->end);
    Py_VISIT(g->failed);
    return 0;
}

/* The original stays to the end: functions and classes break their cycles themselves, and a gate
 * without one could not be called. */
static int gate_clear(PyObject *self)
{
    struct gate *g = (struct gate *)self;
    Py_CLEAR(g->chooser);
    Py_CLEAR(g->range);
    Py_CLEAR(g->within);
    Py_CLEAR(g->before);
    Py_CLEAR(g->after);
    Py_CLEAR(g->begin);
    Py_CLEAR(g->end);
    Py_CLEAR(g->failed);
    return 0;
}

static void gate_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((struct gate *)self)->weak)
        PyObject_ClearWeakRefs(self);
    (void)gate_clear(self);
    Py_CLEAR(((struct gate *)self)->original);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *set_quiet(PyObject *self, PyObject *on)
{
    (void)self;
    const int yes = PyObject_IsTrue(on);
    if (yes < 0)
        return NULL;
    core_quiet = yes != 0;
    Py_RETURN_NONE;
}

/* rest(steps): how many of the steps since the last call were declined. */
static PyObject *set_rest(PyObject *self, PyObject *steps)
{
    (void)self;
    const long n = PyLong_AsLong(steps);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    const long declined = gate_declined;
    gate_rest = n;
    gate_declined = 0;
    return PyLong_FromLong(declined);
}

static PyMethodDef gate_methods[] = {
    {"quiet", set_quiet, METH_O | METH_STATIC, NULL},
    {"rest", set_rest, METH_O | METH_STATIC, NULL},
    {"__reduce__", core_looks_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef gate_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct gate, weak), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct gate, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef gate_getset[] = {
    CORE_LOOKS_GETSET,
    {"_footplate_before", get_callback, set_callback, NULL, (void *)offsetof(struct gate, before)},
    {"_footplate_after", get_callback, set_callback, NULL, (void *)offsetof(struct gate, after)},
    {"_footplate_begin", get_callback, set_callback, NULL, (void *)offsetof(struct gate, begin)},
    {"_footplate_end", get_callback, set_callback, NULL, (void *)offsetof(struct gate, end)},
    {"_footplate_range", get_callback, set_callback, NULL, (void *)offsetof(struct gate, range)},
    {"_footplate_within", get_callback, set_callback, NULL, (void *)offsetof(struct gate, within)},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot gate_slots[] = {
    {Py_tp_new, (void *)gate_new},
    {Py_tp_call, (void *)PyVectorcall_Call},
    {Py_tp_descr_get, (void *)gate_get},
    {Py_tp_getattro, (void *)core_looks_getattr},
    {Py_tp_setattro, (void *)core_looks_setattr},
    {Py_tp_repr, (void *)core_looks_repr},
    {Py_tp_methods, gate_methods},
    {Py_tp_members, gate_members},
    {Py_tp_getset, gate_getset},
    {Py_tp_traverse, (void *)gate_traverse},
    {Py_tp_clear, (void *)gate_clear},
    {Py_tp_dealloc, (void *)gate_dealloc},
    {0, NULL},
};

PyType_Spec core_gate_spec = {
    .name = "footplate._core.Gate",
    .basicsize = sizeof(struct gate),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = gate_slots,
};
