/* SPDX-License-Identifier: Apache-2.0 */
/* core.c - the functions of `footplate._core`: emit.h for Python. See footplate/_core.pyi. */
#include <stddef.h>
#include <time.h>

#include "core_sync.h"

enum { NS_PER_S = 1000000000 };

static PyObject *none(void)
{
    return Py_NewRef(Py_None);
}

static PyObject *enabled(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(fp_enabled());
}

static PyObject *asked(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromUnsignedLongLong(fp_asked());
}

static PyObject *now_ns(PyObject *self, PyObject *unused)
{
    struct timespec t;
    (void)self, (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return PyLong_FromLongLong((long long)t.tv_sec * NS_PER_S + t.tv_nsec);
}

static PyObject *intern(PyObject *self, PyObject *text)
{
    (void)self;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, NULL);
    return utf8 ? PyLong_FromUnsignedLong(fp_intern(utf8)) : NULL;
}

static PyObject *nothing(PyObject *self, PyObject *arg)
{
    (void)self, (void)arg;
    return none();
}

static PyObject *tick(PyObject *self, PyObject *arg)
{
    (void)self, (void)arg;
#if defined(__x86_64__)
    const unsigned long long now = __builtin_ia32_rdtsc();
    __asm__ volatile("" : : "r"(now));
#endif
    return none();
}

/* Nothing is being recorded: the arguments are not checked. */
#define RETURN_WHEN_OFF()                                                                          \
    do {                                                                                           \
        if (!fp_enabled())                                                                         \
            return none();                                                                         \
    } while (0)

/* An event that is a name and nothing else. emit_here, since it is known that the process is
 * recorded. */
static inline PyObject *say(PyObject *arg, enum fp_kind_ kind)
{
    RETURN_WHEN_OFF();
    const long long name = core_name(arg);
    if (name < 0)
        return NULL;
    emit_here(fp_said_(kind, (fp_name)name), 0);
    return none();
}

static PyObject *begin(PyObject *self, PyObject *arg)
{
    (void)self;
    return say(arg, FP_SPAN_BEGIN_);
}

static PyObject *end(PyObject *self, PyObject *arg)
{
    (void)self;
    return say(arg, FP_SPAN_END_);
}

static PyObject *mark(PyObject *self, PyObject *arg)
{
    (void)self;
    return say(arg, FP_MARK_);
}

static int has_args(Py_ssize_t n, Py_ssize_t wanted)
{
    if (n != wanted)
        PyErr_Format(PyExc_TypeError, "takes %zd arguments (%zd given)", wanted, n);
    return n == wanted;
}

/* The pair (name, whole number) that several functions take. */
static int take_pair(PyObject *const *args, Py_ssize_t n, fp_name *name, int64_t *value)
{
    if (!has_args(n, 2))
        return -1;
    const long long id = core_name(args[0]);
    if (id < 0)
        return -1;
    const long long v = PyLong_AsLongLong(args[1]);
    if (v == -1 && PyErr_Occurred())
        return -1;
    *name = (fp_name)id;
    *value = v;
    return 0;
}

static PyObject *say_value(PyObject *const *args, Py_ssize_t n, enum fp_kind_ kind)
{
    fp_name name;
    int64_t value;
    RETURN_WHEN_OFF();
    if (take_pair(args, n, &name, &value) != 0)
        return NULL;
    emit_here(fp_said_(kind, name), (uint64_t)value);
    return none();
}

static PyObject *begin_value(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return say_value(args, n, FP_SPAN_BEGIN_);
}

static PyObject *count(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return say_value(args, n, FP_COUNT_INT_);
}

/* The reason is a name too: its number is the event's value. */
static PyObject *loss(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return say_value(args, n, FP_LOSS_);
}

static PyObject *fact(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    fp_name name;
    int64_t value;
    (void)self;
    RETURN_WHEN_OFF();
    if (take_pair(args, n, &name, &value) != 0)
        return NULL;
    fp_fact(name, value);
    return none();
}

static PyObject *real(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    RETURN_WHEN_OFF();
    if (!has_args(n, 2))
        return NULL;
    const long long name = core_name(args[0]);
    if (name < 0)
        return NULL;
    const double value = PyFloat_AsDouble(args[1]);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    fp_counter_real((fp_name)name, value);
    return none();
}

/* (step number, mode); an unknown mode counts as training. */
static int take_step(PyObject *const *args, Py_ssize_t n, uint64_t *step, enum fp_mode *mode)
{
    if (!has_args(n, 2))
        return -1;
    const long long v = PyLong_AsLongLong(args[0]);
    if (v == -1 && PyErr_Occurred())
        return -1;
    const long m = PyLong_AsLong(args[1]);
    if (m == -1 && PyErr_Occurred())
        return -1;
    *step = (uint64_t)v;
    *mode = m == FP_EVAL || m == FP_PREDICT ? (enum fp_mode)m : FP_TRAIN;
    return 0;
}

static PyObject *say_step(PyObject *const *args, Py_ssize_t n, enum fp_kind_ kind)
{
    uint64_t step;
    enum fp_mode mode;
    RETURN_WHEN_OFF();
    if (take_step(args, n, &step, &mode) != 0)
        return NULL;
    core_sync_emit_short();
    emit_here(fp_said_(kind | (uint32_t)mode << 8, 0), step);
    return none();
}

static PyObject *step_begin(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return say_step(args, n, FP_STEP_BEGIN_);
}

static PyObject *step_end(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    PyObject *done = say_step(args, n, FP_STEP_END_);
    if (done && fp_enabled())
        core_pulse(false);
    return done;
}

/* A whole number that is not negative; what is negative counts as 0, for two clocks may disagree by
 * a little. -1 with an exception when it is not a number. */
static long long take_size(PyObject *arg)
{
    const long long v = PyLong_AsLongLong(arg);
    if (v >= 0)
        return v;
    return v == -1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *past(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    long long v[3];
    (void)self;
    RETURN_WHEN_OFF();
    if (!has_args(n, 4))
        return NULL;
    const long long name = core_name(args[0]);
    if (name < 0)
        return NULL;
    for (int i = 0; i < 3; i++)
        if ((v[i] = take_size(args[i + 1])) < 0)
            return NULL;
    if (v[0] == 0)
        core_sync_emit_short();
    fp_span_past((fp_name)name, (unsigned)v[0], (uint64_t)v[1], (uint64_t)v[2]);
    return none();
}

static PyObject *pulse(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    RETURN_WHEN_OFF();
    core_sync_emit_short();
    core_pulse(true);
    return none();
}

static PyObject *each_second(PyObject *self, PyObject *call)
{
    (void)self;
    core_pulse_listen(call);
    return none();
}

static PyObject *open_ring(PyObject *self, PyObject *folder)
{
    (void)self;
    const char *path = PyUnicode_AsUTF8AndSize(folder, NULL);
    return path ? PyBool_FromLong(emit_begin(path)) : NULL;
}

static PyObject *close_ring(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    emit_end();
    return none();
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"enabled", enabled, METH_NOARGS, "Whether the process is recorded."},
    {"asked", asked, METH_NOARGS, "The generation of the recorder's settings."},
    {"now_ns", now_ns, METH_NOARGS, "CLOCK_MONOTONIC in nanoseconds."},
    {"intern", intern, METH_O, "The number of a name; 0 when nothing is recorded."},
    {"begin", begin, METH_O, "A span begins."},
    {"begin_value", FAST(begin_value), METH_FASTCALL, "A span begins that carries a number."},
    {"end", end, METH_O, "The span ends that began last with this name."},
    {"mark", mark, METH_O, "Something happened now."},
    {"count", FAST(count), METH_FASTCALL, "A counter has this whole number now."},
    {"loss", FAST(loss), METH_FASTCALL, "A hook could not record this; the other name is why."},
    {"fact", FAST(fact), METH_FASTCALL, "What this process is; children of fork say it again."},
    {"real", FAST(real), METH_FASTCALL, "A counter has this number now."},
    {"step_begin", FAST(step_begin), METH_FASTCALL, "A step begins: number, mode."},
    {"step_end", FAST(step_end), METH_FASTCALL, "A step ends: number, mode."},
    {"past", FAST(past), METH_FASTCALL,
     "A whole span, emitted afterwards: name, lane, ns since it began, ns since it ended."},
    {"pulse", pulse, METH_NOARGS,
     "CPU times and the places of waits, which come once a second, now."},
    {"each_second", each_second, METH_O, "Is called about once a second at the end of a step."},
    {"open_ring", open_ring, METH_O, "Events go into this folder from now on: whether they do."},
    {"close_ring", close_ring, METH_NOARGS, "The recording is over."},
    {"nothing", nothing, METH_O, "Does nothing: what a call costs."},
    {"tick", tick, METH_O, "Reads the CPU's counter: no event can be cheaper."},
    {NULL, NULL, 0, NULL},
};

/* The types of the module. */
static const struct {
    PyType_Spec *spec;
    size_t at; /* in struct core_state */
} types[] = {
    {&core_span_spec, offsetof(struct core_state, span)},
    {&core_around_spec, offsetof(struct core_state, around)},
    {&core_gate_spec, offsetof(struct core_state, gate)},
    {&core_sync_spec, offsetof(struct core_state, sync)},
    {&core_loop_spec, offsetof(struct core_state, loop)},
};

enum { TYPES = sizeof types / sizeof types[0] };

static PyTypeObject **type_at(PyObject *module, size_t i)
{
    char *state = PyModule_GetState(module);
    return (PyTypeObject **)(void *)(state + types[i].at);
}

static int add_type(PyObject *module, size_t i)
{
    PyObject *type = PyType_FromModuleAndSpec(module, types[i].spec, NULL);
    if (!type)
        return -1;
    *type_at(module, i) = (PyTypeObject *)type;
    return PyModule_AddType(module, (PyTypeObject *)type);
}

static int core_exec(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);
    for (size_t i = 0; i < TYPES; i++)
        if (add_type(module, i) != 0)
            return -1;
    if (core_span_methods(module, state->span) != 0 || core_health_exec(module) != 0)
        return -1;
    if (PyModule_AddIntConstant(module, "TRAIN", FP_TRAIN) != 0 ||
        PyModule_AddIntConstant(module, "EVAL", FP_EVAL) != 0)
        return -1;
    return PyModule_AddIntConstant(module, "PREDICT", FP_PREDICT);
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct core_state *state = PyModule_GetState(module);
    for (size_t i = 0; i < TYPES; i++)
        Py_VISIT(*type_at(module, i));
    Py_VISIT(state->method_type);
    return 0;
}

static int core_clear(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);
    for (size_t i = 0; i < TYPES; i++)
        Py_CLEAR(*type_at(module, i));
    Py_CLEAR(state->method_type);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, core_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "footplate._core",
    .m_doc = "One event per call, into memory shared with the recorder.",
    .m_size = sizeof(struct core_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
