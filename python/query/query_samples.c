/* SPDX-License-Identifier: Apache-2.0 */
/* query_samples.c - samples as arrays: all of them, a few points of them, or sweep by sweep. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "query.h"
#include "query/columns.h"
#include "query/samples.h"

/* ---- texts of series as numbers ---- */

enum part { PART_NODE, PART_METRIC, PART_ENTITY, PART_UNIT, PARTS };

/* Numbers from here on need two bytes, as pandas has it. */
enum { ONE_BYTE_MOST = 128 };

/* Which different texts there are in one place of the keys, and which each series has. */
struct codes {
    const char **words;
    uint32_t n;
    uint32_t *of_series;
};

static const char *part_of(const struct series_key *k, enum part p)
{
    const char *const v[] = {k->node, k->metric, k->entity, k->unit};
    return v[p];
}

/* Keys are sorted, so what a series has is mostly what one of the last had. */
static uint32_t code_of(struct codes *c, const char *word)
{
    for (uint32_t i = c->n; i > 0; i--)
        if (strcmp(c->words[i - 1], word) == 0)
            return i - 1;
    c->words[c->n] = word;
    return c->n++;
}

static void codes_open(struct codes *c, enum part part, const struct samples *s)
{
    const size_t n = samples_series(s);
    c->words = xcalloc(n + 1, sizeof *c->words);
    c->of_series = xcalloc(n + 1, sizeof *c->of_series);
    for (size_t i = 0; i < n; i++)
        c->of_series[i] = code_of(c, part_of(samples_key(s, i), part));
}

static void codes_close(struct codes *c)
{
    free(c->words);
    free(c->of_series);
}

static PyObject *codes_words(const struct codes *c)
{
    PyObject *out = PyList_New((Py_ssize_t)c->n);
    for (uint32_t i = 0; out && i < c->n; i++)
        PyList_SetItem(out, (Py_ssize_t)i, query_str(c->words[i]));
    return out;
}

/* ---- every sample ---- */

enum { A_TIME, A_VALUE, A_NODE, A_METRIC, A_ENTITY, A_UNIT, A_N };

struct all {
    struct query_which which;
    struct samples *samples;
    struct codes codes[PARTS];
    size_t width[PARTS];
    struct query_array array[A_N];
};

static int plan_work(struct run *r, void *with, struct err *e)
{
    struct all *x = with;
    return samples_open(&x->samples, r, &x->which.ask, e);
}

/* Large pages where the system gives them: most of the time goes into the first touch. */
static void make_large(const struct query_array *a, uint64_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = ((uintptr_t)a->p + page - 1) / page * page;
    const uintptr_t to = ((uintptr_t)a->p + bytes) / page * page;
    if (to > from)
        (void)madvise((char *)a->p + (from - (uintptr_t)a->p), to - from, MADV_HUGEPAGE);
}

static void put_codes(void *to, size_t series, uint64_t first, uint64_t count)
{
    struct all *x = to;
    for (int p = 0; p < PARTS; p++) {
        const uint32_t code = x->codes[p].of_series[series];
        if (x->width[p] == 1) {
            memset((char *)x->array[A_NODE + p].p + first, (int)code, count);
            continue;
        }
        int16_t *out = (int16_t *)x->array[A_NODE + p].p + first;
        for (uint64_t i = 0; i < count; i++)
            out[i] = (int16_t)code;
    }
}

static int fill_work(struct run *r, void *with, struct err *e)
{
    struct all *x = with;
    (void)r, (void)e;
    const uint64_t n = samples_total(x->samples);
    make_large(&x->array[A_TIME], n * sizeof(int64_t));
    make_large(&x->array[A_VALUE], n * sizeof(double));
    for (int p = 0; p < PARTS; p++)
        make_large(&x->array[A_NODE + p], n * x->width[p]);
    samples_fill(x->samples, x->array[A_TIME].p, x->array[A_VALUE].p, put_codes, x);
    return 0;
}

static int all_room(struct all *x)
{
    const uint64_t n = samples_total(x->samples);
    for (int p = 0; p < PARTS; p++) {
        codes_open(&x->codes[p], (enum part)p, x->samples);
        x->width[p] = x->codes[p].n < ONE_BYTE_MOST ? 1 : 2;
        if (x->codes[p].n > INT16_MAX) {
            PyErr_SetString(PyExc_ValueError, "too many series: ask for fewer");
            return -1;
        }
    }
    if (query_array_open(&x->array[A_TIME], n, sizeof(int64_t)) != 0 ||
        query_array_open(&x->array[A_VALUE], n, sizeof(double)) != 0)
        return -1;
    for (int p = 0; p < PARTS; p++)
        if (query_array_open(&x->array[A_NODE + p], n, x->width[p]) != 0)
            return -1;
    return 0;
}

static PyObject *all_counts(const struct all *x)
{
    const size_t n = samples_series(x->samples);
    PyObject *out = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; out && i < n; i++)
        PyList_SetItem(out, (Py_ssize_t)i,
                       PyLong_FromUnsignedLongLong(samples_count(x->samples, i)));
    return out;
}

static PyObject *all_words(const struct all *x)
{
    return Py_BuildValue("(NNNN)", codes_words(&x->codes[PART_NODE]),
                         codes_words(&x->codes[PART_METRIC]), codes_words(&x->codes[PART_ENTITY]),
                         codes_words(&x->codes[PART_UNIT]));
}

/* The run may not change between plan and fill, so both are done by one owner of the lock: a run
 * that is closed in between is refused by the second, and its plan only given back. */
PyObject *query_samples(QUERY_ARGS)
{
    struct all x = {0};
    struct query_run *run = (struct query_run *)self;
    PyObject *out = NULL;
    if (query_count(n, names, 5) != 0 || query_which_of(&x.which, args) != 0)
        return NULL;
    if (query_do(run, type, plan_work, &x) == 0 && all_room(&x) == 0 &&
        query_do(run, type, fill_work, &x) == 0) {
        PyObject *counts = all_counts(&x), *texts = all_words(&x);
        out = Py_BuildValue("(NNN)", counts, texts, query_arrays(x.array, A_N));
    }
    for (int i = 0; i < A_N; i++)
        query_array_drop(&x.array[i]);
    for (int p = 0; p < PARTS; p++)
        codes_close(&x.codes[p]);
    samples_close(x.samples);
    return out;
}

/* ---- points ---- */

struct few {
    struct query_which which;
    struct arena arena;
    struct series *series;
    size_t n;
};

static int few_work(struct run *r, void *with, struct err *e)
{
    struct few *x = with;
    return series_read(r, &x->which.ask, &x->arena, &x->series, &x->n, e);
}

/* One column of all series, from its place in each. */
static PyObject *few_column(const struct few *x, size_t offset, uint64_t total)
{
    struct query_array a;
    if (query_array_open(&a, total, sizeof(double)) != 0)
        return NULL;
    char *to = a.p;
    for (size_t i = 0; i < x->n; i++) {
        const void *from;
        memcpy(&from, (const char *)&x->series[i] + offset, sizeof from);
        memcpy(to, from, x->series[i].n * sizeof(double));
        to += x->series[i].n * sizeof(double);
    }
    return a.object;
}

static_assert(sizeof(wall_ns) == sizeof(double), "columns of points are copied alike");

static PyObject *few_result(const struct few *x)
{
    uint64_t total = 0;
    PyObject *list = PyList_New((Py_ssize_t)x->n);
    for (size_t i = 0; list && i < x->n; i++) {
        const struct series *s = &x->series[i];
        total += s->n;
        PyList_SetItem(list, (Py_ssize_t)i,
                       Py_BuildValue("(NNNNK)", query_str(s->key.node), query_str(s->key.metric),
                                     query_str(s->key.entity), query_str(s->key.unit),
                                     (unsigned long long)s->n));
    }
    return Py_BuildValue("(NNNNN)", list, few_column(x, offsetof(struct series, t), total),
                         few_column(x, offsetof(struct series, v), total),
                         few_column(x, offsetof(struct series, min), total),
                         few_column(x, offsetof(struct series, max), total));
}

PyObject *query_points(QUERY_ARGS)
{
    struct few x = {0};
    PyObject *out = NULL;
    if (query_count(n, names, 6) != 0 || query_which_of(&x.which, args) != 0)
        return NULL;
    x.which.ask.points = PyLong_AsSize_t(args[5]);
    if (PyErr_Occurred())
        return NULL;
    if (query_do((struct query_run *)self, type, few_work, &x) == 0)
        out = few_result(&x);
    arena_free(&x.arena);
    return out;
}

/* ---- sweeps ---- */

struct wide {
    const char *node;
    struct column_ask *asks;
    size_t n;
    struct buf at, *columns;
};

static void wide_batch(struct wide *w, const struct column_batch *b)
{
    static const float none = __builtin_nanf("");
    buf_put(&w->at, b->at, b->n * sizeof *b->at);
    for (size_t k = 0; k < w->n; k++) {
        buf_reserve(&w->columns[k], b->n * sizeof none);
        for (size_t i = 0; i < b->n && !b->v[k]; i++)
            buf_put(&w->columns[k], &none, sizeof none);
        if (b->v[k])
            buf_put(&w->columns[k], b->v[k], b->n * sizeof none);
    }
}

static int wide_work(struct run *r, void *with, struct err *e)
{
    struct wide *w = with;
    struct columns *c = NULL;
    struct column_batch b;
    const int rc = columns_open(&c, r, w->node, w->asks, w->n, e);
    while (rc == 0 && columns_next(c, &b))
        wide_batch(w, &b);
    columns_close(c);
    return rc;
}

static int wide_asks(struct wide *w, PyObject *list)
{
    int bad = 0;
    for (size_t i = 0; i < w->n && !bad; i++) {
        PyObject *pair = PyList_GetItem(list, (Py_ssize_t)i);
        PyObject *metric = pair ? PyTuple_GetItem(pair, 0) : NULL;
        PyObject *entity = metric ? PyTuple_GetItem(pair, 1) : NULL;
        if (!entity)
            return -1;
        w->asks[i].which = COLUMN_ENTITY;
        w->asks[i].metric = query_word(metric, &bad);
        if (!bad)
            w->asks[i].entity = query_word(entity, &bad);
    }
    return bad ? -1 : 0;
}

static PyObject *bytes_of(const struct buf *b)
{
    return PyByteArray_FromStringAndSize((const char *)b->p, (Py_ssize_t)b->len);
}

static PyObject *wide_result(const struct wide *w)
{
    PyObject *list = PyList_New((Py_ssize_t)w->n);
    for (size_t k = 0; list && k < w->n; k++)
        PyList_SetItem(list, (Py_ssize_t)k, bytes_of(&w->columns[k]));
    return Py_BuildValue("(NN)", bytes_of(&w->at), list);
}

PyObject *query_sweeps(QUERY_ARGS)
{
    struct wide w = {0};
    PyObject *out = NULL;
    int bad = 0;
    if (query_count(n, names, 2) != 0)
        return NULL;
    w.node = query_word(args[0], &bad);
    const Py_ssize_t n_asks = bad ? -1 : PyList_Size(args[1]);
    if (n_asks < 0)
        return NULL;
    w.n = (size_t)n_asks;
    w.asks = xcalloc(w.n + 1, sizeof *w.asks);
    w.columns = xcalloc(w.n + 1, sizeof *w.columns);
    if (wide_asks(&w, args[1]) == 0 && query_do((struct query_run *)self, type, wide_work, &w) == 0)
        out = wide_result(&w);
    for (size_t k = 0; k < w.n; k++)
        buf_free(&w.columns[k]);
    buf_free(&w.at);
    free(w.columns);
    free(w.asks);
    return out;
}
