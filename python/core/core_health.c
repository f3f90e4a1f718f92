/* SPDX-License-Identifier: Apache-2.0 */
/* core_health.c - training health for Python: values to the recorder (health_out.h) and statistics
 * of tensors (health_stats.h). See footplate/_core.pyi. */
#include <string.h>
#include <time.h>

#include "base/health_stats.h"
#include "core.h"
#include "health_out.h"

enum { NS_PER_S = 1000000000, NS_PER_MS = 1000000, DRAIN_MOST_MS = 1000, GIL_ELEMENTS = 1 << 16 };

static struct health_out out; /* of the process; the GIL guards it */

static const char *const statistics[] = {
#define HEALTH(id, name, ...) name,
#include "record/health.def"
#undef HEALTH
};

static const struct {
    const char *name;
    enum health_dtype type;
} dtypes[] = {
    {"float32", HEALTH_FLOAT32},
    {"float64", HEALTH_FLOAT64},
    {"float16", HEALTH_FLOAT16},
    {"bfloat16", HEALTH_BFLOAT16},
};

enum { STATISTICS = sizeof statistics / sizeof statistics[0] };

static int health_args(Py_ssize_t n, Py_ssize_t least, Py_ssize_t most)
{
    if (n < least || n > most)
        PyErr_Format(PyExc_TypeError, "takes %zd to %zd arguments (%zd given)", least, most, n);
    return n >= least && n <= most;
}

/* Whole numbers; false with an exception when one is not. */
static bool health_longs(PyObject *const *args, Py_ssize_t n, long long *v)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        v[i] = PyLong_AsLongLong(args[i]);
        if (v[i] == -1 && PyErr_Occurred())
            return false;
    }
    return true;
}

static bool health_ids(PyObject *const *args, uint32_t *stat, uint32_t *name)
{
    long long v[2];
    if (!health_longs(args, 2, v))
        return false;
    if (v[0] < 0 || v[0] >= STATISTICS || v[1] < 0 || v[1] >= RING_HEALTH_NAMES) {
        PyErr_SetString(PyExc_ValueError, "no such statistic or name");
        return false;
    }
    *stat = (uint32_t)v[0];
    *name = (uint32_t)v[1];
    return true;
}

static int64_t health_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void health_put_real(uint32_t stat, uint32_t name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    health_out_put(&out, RING_HEALTH_REAL, stat, name, bits);
}

/* ---- values ---- */

static PyObject *health_name(PyObject *self, PyObject *text)
{
    Py_ssize_t len;
    (void)self;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &len);
    return utf8 ? PyLong_FromUnsignedLong(health_out_name(&out, utf8, (size_t)len)) : NULL;
}

static PyObject *health_begin(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    long long v[3] = {0};
    (void)self;
    if (!health_args(n, 1, 3) || !health_longs(args, n, v))
        return NULL;
    const int64_t now = health_now();
    health_out_begin(&out, (struct health_group){
                               .step = v[0] < 0 ? UINT64_MAX : (uint64_t)v[0],
                               .at_ns = v[2] > 0 && v[2] < now ? now - v[2] : now,
                               .mode = v[1] == FP_EVAL || v[1] == FP_PREDICT ? (uint8_t)v[1] : 0,
                           });
    return Py_NewRef(Py_None);
}

static PyObject *health_value(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    uint32_t stat, name;
    (void)self;
    if (!health_args(n, 3, 3) || !health_ids(args, &stat, &name))
        return NULL;
    const double value = PyFloat_AsDouble(args[2]);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    health_put_real(stat, name, value);
    return Py_NewRef(Py_None);
}

/* (name, value, step, mode): one call, so that no other thread's comes between. The value is a
 * float: to read it runs no Python. */
static PyObject *health_log(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    long long name;
    (void)self;
    if (!health_args(n, 4, 4) || !health_longs(args, 1, &name))
        return NULL;
    if (!PyFloat_Check(args[1]) || name < 0 || name >= RING_HEALTH_NAMES)
        return PyErr_Format(PyExc_TypeError, "takes the number of a name and a float");
    const struct health_group in = out.in;
    const bool begun = out.begun;
    PyObject *done = health_begin(NULL, args + 2, 2);
    if (done)
        health_put_real(0, (uint32_t)name, PyFloat_AsDouble(args[1]));
    out.in = in;
    out.begun = begun;
    return done;
}

static PyObject *health_count(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    uint32_t stat, name;
    (void)self;
    if (!health_args(n, 3, 3) || !health_ids(args, &stat, &name))
        return NULL;
    const unsigned long long value = PyLong_AsUnsignedLongLongMask(args[2]);
    if (value == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    health_out_put(&out, RING_HEALTH_COUNT, stat, name, value);
    return Py_NewRef(Py_None);
}

/* Item i of a list or tuple, borrowed. */
static PyObject *health_item(PyObject *list, Py_ssize_t i)
{
    return PyList_Check(list) ? PyList_GetItem(list, i) : PyTuple_GetItem(list, i);
}

static Py_ssize_t health_length(PyObject *list)
{
    if (PyList_Check(list))
        return PyList_Size(list);
    if (PyTuple_Check(list))
        return PyTuple_Size(list);
    PyErr_SetString(PyExc_TypeError, "a list or a tuple is needed");
    return -1;
}

static PyObject *health_values(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (!health_args(n, 3, 3))
        return NULL;
    const Py_ssize_t names = health_length(args[1]), values = health_length(args[2]);
    if (names < 0 || values < 0)
        return NULL;
    if (names != values)
        return PyErr_Format(PyExc_ValueError, "%zd names and %zd values", names, values);
    for (Py_ssize_t i = 0; i < names; i++) {
        PyObject *const one[] = {args[0], health_item(args[1], i), health_item(args[2], i)};
        if (!one[1] || !one[2])
            return NULL;
        PyObject *done =
            PyLong_Check(one[2]) ? health_count(NULL, one, 3) : health_value(NULL, one, 3);
        if (!done)
            return NULL;
        Py_DECREF(done);
    }
    return Py_NewRef(Py_None);
}

static bool health_dtype(long long v, enum health_dtype *dtype)
{
    *dtype = (enum health_dtype)v;
    if (v >= 0 && v < HEALTH_DTYPES)
        return true;
    PyErr_SetString(PyExc_ValueError, "no such dtype");
    return false;
}

/* (stat, names as bytes, address, dtype) */
static PyObject *health_values_at(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    char *names;
    Py_ssize_t bytes;
    long long v[2], stat;
    enum health_dtype dtype;
    (void)self;
    if (!health_args(n, 4, 4) || !health_longs(args, 1, &stat) || !health_longs(args + 2, 2, v) ||
        !health_dtype(v[1], &dtype) || PyBytes_AsStringAndSize(args[1], &names, &bytes) != 0)
        return NULL;
    if (stat < 0 || stat >= STATISTICS)
        return PyErr_Format(PyExc_ValueError, "no such statistic");
    const uint8_t *at = (const uint8_t *)(uintptr_t)v[0];
    for (size_t i = 0; at && i < (size_t)bytes / sizeof(uint32_t); i++) {
        const struct health_tensor one = {at + i * health_dtype_bytes(dtype), 1, 1, dtype};
        uint32_t name;
        float real;
        double wide;
        memcpy(&name, names + i * sizeof name, sizeof name);
        if (dtype == HEALTH_FLOAT64)
            health_tensor_gather(&one, &wide);
        else
            health_tensor_gather(&one, &real), wide = (double)real;
        health_put_real((uint32_t)stat, name, wide);
    }
    return Py_NewRef(Py_None);
}

/* For what the child of a fork may not free. */
static PyObject *keep_forever(PyObject *self, PyObject *x)
{
    (void)self;
    Py_IncRef(x);
    return Py_NewRef(Py_None);
}

static PyObject *health_flush(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromSize_t(health_out_flush(&out));
}

static PyObject *health_drain(PyObject *self, PyObject *ms)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    (void)self;
    const long limit = PyLong_AsLong(ms);
    if (limit == -1 && PyErr_Occurred())
        return NULL;
    const int64_t end =
        health_now() + (limit < DRAIN_MOST_MS ? limit : DRAIN_MOST_MS) * (int64_t)NS_PER_MS;
    while (health_out_flush(&out) && health_now() < end) {
        PyThreadState *state = PyEval_SaveThread();
        nanosleep(&pause, NULL);
        PyEval_RestoreThread(state);
    }
    return PyLong_FromSize_t(health_out_drop(&out));
}

static PyObject *health_lost(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    long long v[2] = {0};
    (void)self;
    if (!health_args(n, 1, 2) || !health_longs(args, n, v))
        return NULL;
    if (v[0] < 0 || v[1] < 0 || v[1] >= RING_HEALTH_LOST_N)
        return PyErr_Format(PyExc_ValueError, "no such reason");
    health_out_lost(&out, (enum ring_health_lost)v[1], (uint64_t)v[0]);
    return Py_NewRef(Py_None);
}

/* ---- statistics ---- */

/* (address, count, dtype[, stride]) */
static bool health_tensor_of(PyObject *const *args, Py_ssize_t n, struct health_tensor *t)
{
    long long v[4] = {0, 0, 0, 1};
    enum health_dtype dtype;
    if (!health_longs(args, n, v) || !health_dtype(v[2], &dtype))
        return false;
    if (v[1] < 0 || v[3] < 1) {
        PyErr_SetString(PyExc_ValueError, "a negative count or stride");
        return false;
    }
    *t = (struct health_tensor){(const void *)(uintptr_t)v[0], v[0] ? (size_t)v[1] : 0,
                                (size_t)v[3], dtype};
    return true;
}

/* Others may run while a large tensor is read. */
static PyThreadState *health_release(size_t elements)
{
    return elements >= GIL_ELEMENTS ? PyEval_SaveThread() : NULL;
}

static void health_reacquire(PyThreadState *state)
{
    if (state)
        PyEval_RestoreThread(state);
}

static PyObject *health_stats(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct health_tensor t;
    struct health_tensor_stats s;
    (void)self;
    if (!health_args(n, 3, 4) || !health_tensor_of(args, n, &t))
        return NULL;
    PyThreadState *state = health_release(t.n);
    health_tensor_stats(&t, &s);
    health_reacquire(state);
    return Py_BuildValue("(dddddKK)", s.sum, s.l1, s.l2, s.min, s.max, (unsigned long long)s.zeros,
                         (unsigned long long)s.nonfinite);
}

static PyObject *health_sum(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    long long v[3];
    (void)self;
    if (!health_args(n, 3, 3) || !health_longs(args, 3, v))
        return NULL;
    if (v[1] < 0 || (v[2] != 1 && v[2] != 2 && v[2] != 4 && v[2] != 8))
        return PyErr_Format(PyExc_ValueError, "words have 1, 2, 4 or 8 bytes");
    const size_t count = v[0] ? (size_t)v[1] : 0;
    PyThreadState *state = health_release(count);
    const uint64_t sum = health_word_sum((const void *)(uintptr_t)v[0], count, (unsigned)v[2]);
    health_reacquire(state);
    return PyLong_FromLongLong((long long)sum);
}

static PyObject *health_exponents(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct health_tensor t;
    uint64_t v[HEALTH_EXPONENTS];
    (void)self;
    if (!health_args(n, 3, 4) || !health_tensor_of(args, n, &t))
        return NULL;
    PyThreadState *state = health_release(t.n);
    health_tensor_exponents(&t, v);
    health_reacquire(state);
    PyObject *list = PyList_New(HEALTH_EXPONENTS);
    for (Py_ssize_t i = 0; list && i < HEALTH_EXPONENTS; i++) {
        PyObject *one = PyLong_FromUnsignedLongLong(v[i]);
        if (!one || PyList_SetItem(list, i, one) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *health_gather(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct health_tensor t;
    (void)self;
    if (!health_args(n, 4, 4) || !health_tensor_of(args, n, &t))
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)health_gathered_bytes(&t));
    if (bytes)
        health_tensor_gather(&t, PyBytes_AsString(bytes));
    return bytes;
}

static PyObject *health_update(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct health_tensor t;
    struct health_update u;
    char *before;
    Py_ssize_t bytes;
    (void)self;
    if (!health_args(n, 5, 5) || !health_tensor_of(args, 4, &t) ||
        PyBytes_AsStringAndSize(args[4], &before, &bytes) != 0)
        return NULL;
    if ((size_t)bytes != health_gathered_bytes(&t))
        return PyErr_Format(PyExc_ValueError, "gathered with other arguments");
    health_tensor_update(&t, before, &u);
    return Py_BuildValue("(ddK)", u.change, u.before, (unsigned long long)u.equal);
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"health_name", health_name, METH_O, "The number of a scalar's or tensor's name; 0: no room."},
    {"health_begin", FAST(health_begin), METH_FASTCALL,
     "Values that follow are of this step: number, mode, ns since they were taken."},
    {"health_value", FAST(health_value), METH_FASTCALL, "A number: statistic, name, value."},
    {"health_log", FAST(health_log), METH_FASTCALL,
     "A scalar of its own step: name, value, step, mode."},
    {"health_count", FAST(health_count), METH_FASTCALL, "A whole number: statistic, name, value."},
    {"health_values", FAST(health_values), METH_FASTCALL, "Several: statistic, names, values."},
    {"health_values_at", FAST(health_values_at), METH_FASTCALL,
     "Several from memory: statistic, names as bytes, address, dtype."},
    {"keep_forever", keep_forever, METH_O, "Never frees it, not at the end either."},
    {"health_flush", health_flush, METH_NOARGS, "Sends what waits: slots that still wait."},
    {"health_drain", health_drain, METH_O, "The same at exit, for so many ms: values lost."},
    {"health_lost", FAST(health_lost), METH_FASTCALL,
     "So many values were skipped: count, reason."},
    {"health_stats", FAST(health_stats), METH_FASTCALL,
     "(sum, l1, l2, min, max, zeros, nonfinite) of memory: address, count, dtype, stride."},
    {"health_word_sum", FAST(health_sum), METH_FASTCALL,
     "Sum of the words of memory: address, count, bytes of a word."},
    {"health_exponents", FAST(health_exponents), METH_FASTCALL,
     "Elements by float32 exponent: address, count, dtype, stride."},
    {"health_gather", FAST(health_gather), METH_FASTCALL,
     "A copy of strided elements: address, count, dtype, stride."},
    {"health_update", FAST(health_update), METH_FASTCALL,
     "(norm of the change, norm before, equal elements): address, count, dtype, stride, copy."},
    {NULL, NULL, 0, NULL},
};

/* ---- the module ---- */

static int health_add(PyObject *dict, const char *name, long number)
{
    PyObject *value = PyLong_FromLong(number);
    const int rc = value ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return rc;
}

static int health_add_dict(PyObject *module, const char *name, PyObject *dict, int rc)
{
    if (dict && rc == 0)
        rc = PyModule_AddObjectRef(module, name, dict);
    Py_XDECREF(dict);
    return dict ? rc : -1;
}

int core_health_exec(PyObject *module)
{
    PyObject *dict = PyDict_New();
    int rc = PyModule_AddFunctions(module, methods);
    for (long i = 0; rc == 0 && dict && i < STATISTICS; i++)
        rc = health_add(dict, statistics[i], i);
    rc = health_add_dict(module, "STATISTICS", dict, rc);
    dict = rc == 0 ? PyDict_New() : NULL;
    for (size_t i = 0; rc == 0 && dict && i < HEALTH_DTYPES; i++)
        rc = health_add(dict, dtypes[i].name, (long)dtypes[i].type);
    return rc == 0 ? health_add_dict(module, "DTYPES", dict, rc) : rc;
}
