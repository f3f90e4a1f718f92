/* SPDX-License-Identifier: Apache-2.0 */
/* query_compare.c - two groups of runs as `footplate compare --json` prints them. */
#include <stdlib.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "compare/compare.h"
#include "query.h"

/* Runs of one side, opened for this alone. */
struct query_side {
    const char **paths;
    struct run **runs;
    size_t n;
};

struct query_comparison {
    struct query_side side[COMPARE_SIDES];
    struct compare_ask ask;
    struct buf out;
};

static int query_open_side(struct query_side *s, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->n; i++)
        rc = run_open(&s->runs[i], s->paths[i], e);
    return rc;
}

static int compare_work(struct query_comparison *c, struct err *e)
{
    struct arena a = {0};
    struct machines *table = arena_new(&a, struct machines);
    struct compared *out = arena_new(&a, struct compared);
    struct jw j = {.out = &c->out};
    int rc = machines_load(table, NULL, &a, e);
    for (int k = 0; rc == 0 && k < COMPARE_SIDES; k++) {
        rc = query_open_side(&c->side[k], e);
        c->ask.side[k].runs = c->side[k].runs;
        c->ask.side[k].n = c->side[k].n;
    }
    c->ask.table = table;
    if (rc == 0)
        rc = compare_runs(&c->ask, &a, out, e);
    if (rc == 0) {
        jw_object(&j, NULL);
        compare_json(&j, out);
        jw_end(&j);
    }
    for (int k = 0; k < COMPARE_SIDES; k++)
        for (size_t i = 0; i < c->side[k].n; i++)
            run_close(c->side[k].runs[i]);
    arena_free(&a);
    return rc;
}

static int compare_take_side(struct query_side *s, PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);
    if (n < 0)
        return -1;
    if (n == 0 || n > COMPARE_RUNS_MOST) {
        PyErr_Format(PyExc_ValueError, "a side has from 1 to %d runs", COMPARE_RUNS_MOST);
        return -1;
    }
    s->n = (size_t)n;
    s->paths = xcalloc(s->n, sizeof *s->paths);
    s->runs = (struct run **)xcalloc(s->n, sizeof *s->runs);
    for (size_t i = 0; i < s->n; i++) {
        s->paths[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, (Py_ssize_t)i), NULL);
        if (!s->paths[i])
            return -1;
    }
    return 0;
}

static int compare_take_args(struct query_comparison *c, PyObject *args)
{
    PyObject *lists[COMPARE_SIDES];
    long long from, to;
    if (!PyArg_ParseTuple(args, "OOdddLL:compare", &lists[0], &lists[1],
                          &c->ask.side[COMPARE_A].price_per_hour,
                          &c->ask.side[COMPARE_B].price_per_hour, &c->ask.confidence, &from, &to))
        return -1;
    c->ask.has_range = from >= 0;
    c->ask.from = from;
    c->ask.to = to;
    return compare_take_side(&c->side[COMPARE_A], lists[0]) ||
                   compare_take_side(&c->side[COMPARE_B], lists[1])
               ? -1
               : 0;
}

PyObject *query_compare(PyObject *module, PyObject *args)
{
    struct query_comparison c = {0};
    struct err e;
    PyObject *text = NULL;
    if (compare_take_args(&c, args) == 0) {
        int rc;
        Py_BEGIN_ALLOW_THREADS;
        const struct query_locale l = query_locale_begin();
        rc = compare_work(&c, &e);
        query_locale_end(&l);
        Py_END_ALLOW_THREADS;
        text = rc == 0 ? PyBytes_FromStringAndSize((const char *)c.out.p, (Py_ssize_t)c.out.len)
                       : query_raise(module, &e);
    }
    for (int k = 0; k < COMPARE_SIDES; k++) {
        free(c.side[k].paths);
        free(c.side[k].runs);
    }
    buf_free(&c.out);
    return text;
}
