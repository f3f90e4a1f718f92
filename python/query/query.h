/* SPDX-License-Identifier: Apache-2.0 */
/* query.h - the parts of the Python extension `footplate._query`: recorded runs for programs.
 *
 * Limited API of Python 3.10. Never loaded inside a job that is recorded. Small answers are the
 * JSON that the program prints; large ones are bytearrays that C fills while the interpreter lock
 * is given up, so that numpy and memoryview use them as they are. Included first, as Python.h has
 * to be. */
#ifndef PYTHON_QUERY_H
#define PYTHON_QUERY_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <locale.h>
#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "query/series.h"

struct query_state {
    PyTypeObject *run;
    PyObject *error; /* footplate._query.Error */
};

/* An open run. The lock keeps a second thread of Python out while one reads. */
struct query_run {
    PyObject base;
    struct run *run; /* NULL: closed */
    pthread_mutex_t lock;
};

extern PyType_Spec query_run_spec;

/* Raises what went wrong as footplate._query.Error, whose `code` is the word for err.code. Always
 * NULL. */
PyObject *query_raise(PyObject *module, const struct err *e);

/* What a method does with the run while others may use the interpreter. Touches no Python. */
typedef int query_work(struct run *r, void *with, struct err *e);

/* Does it; 0, or -1 with an exception. `type` is the class, of the method's own arguments. */
int query_do(struct query_run *self, PyTypeObject *type, query_work *work, void *with);

/* The same for work that leaves a text in `out`: its bytes, as Python's. Frees `out`. */
PyObject *query_text(struct query_run *self, PyTypeObject *type, query_work *work, void *with,
                     struct buf *out);

/* A program may have set a locale in which 1.5 is "1,5". From begin to end the thread has the C
 * locale, in which numbers are read and written. */
struct query_locale {
    locale_t c, before;
};

struct query_locale query_locale_begin(void);
void query_locale_end(const struct query_locale *l);

/* ---- arrays ---- */

/* A column of an answer: a bytearray and where its bytes are. */
struct query_array {
    PyObject *object;
    void *p;
};

/* 0, or -1 with MemoryError. Bytes are not cleared. */
int query_array_open(struct query_array *a, uint64_t n, size_t size);
void query_array_drop(struct query_array *a);
/* A new tuple of the arrays, which it takes over; NULL with an exception. */
PyObject *query_arrays(struct query_array *v, size_t n);
/* A text as str; bytes that are no UTF-8 become U+FFFD. */
PyObject *query_str(const char *text);

/* ---- methods, with METH_METHOD | METH_FASTCALL | METH_KEYWORDS ---- */

#define QUERY_ARGS                                                                                 \
    PyObject *self, PyTypeObject *type, PyObject *const *args, Py_ssize_t n, PyObject *names

/* Which series, as several methods take it: node, metric, entity (str or None), start, end (ns, 0:
 * open). */
struct query_which {
    struct series_ask ask;
};

/* Fills it from args[0..4]; 0, or -1 with an exception. */
int query_which_of(struct query_which *w, PyObject *const *args);
/* Whether there are so many; else an exception. */
int query_count(Py_ssize_t n, PyObject *names, Py_ssize_t wanted);
/* A text or None; NULL with an exception when `bad`. */
const char *query_word(PyObject *arg, int *bad);

/* Of the module: runs of A, of B, their prices, confidence, first and last step (-1: all). */
PyObject *query_compare(PyObject *module, PyObject *args);
/* Numbers as the program prints them, and charts as its report draws them. */
PyObject *query_human_value(PyObject *module, PyObject *args);
PyObject *query_human_duration(PyObject *module, PyObject *args);
PyObject *query_human_price(PyObject *module, PyObject *args);
PyObject *query_human_count(PyObject *module, PyObject *args);
PyObject *query_chart(PyObject *module, PyObject *args);

PyObject *query_samples(QUERY_ARGS);
PyObject *query_points(QUERY_ARGS);
PyObject *query_sweeps(QUERY_ARGS);
PyObject *query_events(QUERY_ARGS);
PyObject *query_steps(QUERY_ARGS);
PyObject *query_show(QUERY_ARGS);
PyObject *query_check(QUERY_ARGS);
PyObject *query_stats(QUERY_ARGS);
PyObject *query_health(QUERY_ARGS);
PyObject *query_health_scalar(QUERY_ARGS);
PyObject *query_health_tensors(QUERY_ARGS);
PyObject *query_saved(QUERY_ARGS);
PyObject *query_saved_read(QUERY_ARGS);
PyObject *query_ops(QUERY_ARGS);
PyObject *query_breakdown(QUERY_ARGS);

#endif
