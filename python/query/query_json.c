/* SPDX-License-Identifier: Apache-2.0 */
/* query_json.c - the JSON that the commands print with --json. */
#include <stdlib.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "query.h"
#include "rules/feed_run.h"
#include "rules/verdict_json.h"
#include "tables/healthview.h"
#include "tables/opsview.h"
#include "tables/show.h"
#include "tables/statview.h"

/* A request, and its answer as text. */
struct query_request {
    struct buf out;
    struct query_which which;        /* stats */
    bool all;                        /* stats */
    struct trace_ask trace;          /* ops, breakdown */
    enum ops_by by;                  /* ops */
    const char **sets;               /* check; ends with NULL */
    const char *machine;             /* check; NULL: as the run says */
    double price;                    /* check; 0: as the run says */
    struct health_curve_ask curve;   /* health_scalar */
    struct health_matrix_ask matrix; /* health_tensors */
};

static PyObject *json_answer(PyObject *self, PyTypeObject *type, query_work *work,
                             struct query_request *x)
{
    return query_text((struct query_run *)self, type, work, x, &x->out);
}

/* ---- show ---- */

static int json_show_work(struct run *r, void *with, struct err *e)
{
    struct query_request *x = with;
    struct arena a = {0};
    struct show s;
    struct jw j = {.out = &x->out};
    const int rc = show_read(&s, r, &a, e);
    if (rc == 0) {
        jw_object(&j, NULL);
        show_json(&j, &s);
        jw_end(&j);
    }
    arena_free(&a);
    return rc;
}

PyObject *query_show(QUERY_ARGS)
{
    struct query_request x = {0};
    (void)args;
    return query_count(n, names, 0) == 0 ? json_answer(self, type, json_show_work, &x) : NULL;
}

/* ---- stats ---- */

static int json_stats_work(struct run *r, void *with, struct err *e)
{
    struct query_request *x = with;
    struct arena a = {0};
    struct statview v;
    struct jw j = {.out = &x->out};
    const int rc = statview_read(&v, r, &x->which.ask, x->all, &a, e);
    if (rc == 0)
        statview_json(&j, &v);
    arena_free(&a);
    return rc;
}

PyObject *query_stats(QUERY_ARGS)
{
    struct query_request x = {0};
    if (query_count(n, names, 4) != 0)
        return NULL;
    PyObject *const which[] = {args[0], Py_None, Py_None, args[1], args[2]};
    const int all = PyObject_IsTrue(args[3]);
    if (all < 0 || query_which_of(&x.which, which) != 0)
        return NULL;
    x.all = all;
    return json_answer(self, type, json_stats_work, &x);
}

/* ---- health ---- */

static int json_health_work(struct run *r, void *with, struct err *e)
{
    struct query_request *x = with;
    struct arena a = {0};
    struct health_index index;
    struct jw j = {.out = &x->out};
    const int rc = health_index(r, &a, &index, e);
    if (rc == 0)
        row_json(&j, NULL, &row_HealthIndex, &index, &a);
    arena_free(&a);
    return rc;
}

PyObject *query_health(QUERY_ARGS)
{
    struct query_request x = {0};
    (void)args;
    return query_count(n, names, 0) == 0 ? json_answer(self, type, json_health_work, &x) : NULL;
}

static int json_scalar_work(struct run *r, void *with, struct err *e)
{
    struct query_request *x = with;
    struct arena a = {0};
    struct health_curve curve;
    struct jw j = {.out = &x->out};
    const struct health_curve_row row = {x->curve.name, x->curve.mode, &curve};
    const int rc = health_curve(r, &x->curve, &a, &curve, e);
    if (rc == 0)
        row_json(&j, NULL, &row_HealthCurve, &row, &a);
    arena_free(&a);
    return rc;
}

/* name, rank, mode, points */
PyObject *query_health_scalar(QUERY_ARGS)
{
    struct query_request x = {0};
    int bad = 0;
    if (query_count(n, names, 4) != 0)
        return NULL;
    x.curve.name = query_word(args[0], &bad);
    x.curve.rank = PyLong_AsLongLong(args[1]);
    x.curve.mode = (int)PyLong_AsLong(args[2]);
    x.curve.points = PyLong_AsSize_t(args[3]);
    if (bad || !x.curve.name || PyErr_Occurred())
        return NULL;
    return json_answer(self, type, json_scalar_work, &x);
}

static int json_tensors_work(struct run *r, void *with, struct err *e)
{
    struct query_request *x = with;
    struct arena a = {0};
    struct health_matrix_view view;
    struct jw j = {.out = &x->out};
    const int rc = healthview_matrix(r, &x->matrix, &a, &view, e);
    if (rc == 0)
        row_json(&j, NULL, &row_HealthMatrix, &view, &a);
    arena_free(&a);
    return rc;
}

/* statistic, match or None, rank, columns */
PyObject *query_health_tensors(QUERY_ARGS)
{
    struct query_request x = {0};
    int bad = 0;
    if (query_count(n, names, 4) != 0)
        return NULL;
    const char *name = query_word(args[0], &bad);
    x.matrix.pattern = query_word(args[1], &bad);
    x.matrix.rank = PyLong_AsLongLong(args[2]);
    x.matrix.columns = PyLong_AsSize_t(args[3]);
    if (bad || !name || PyErr_Occurred())
        return NULL;
    x.matrix.stat = health_find(name);
    if (x.matrix.stat == HEALTH_N || x.matrix.stat == HEALTH_SCALAR)
        return PyErr_Format(PyExc_ValueError, "there is no statistic '%s'", name);
    return json_answer(self, type, json_tensors_work, &x);
}

/* ---- ops, breakdown ---- */

static int json_rank_of(PyObject *arg, struct trace_ask *out)
{
    *out = (struct trace_ask){0};
    if (arg == Py_None)
        return 0;
    out->one_rank = true;
    out->rank = PyLong_AsLongLong(arg);
    return out->rank == -1 && PyErr_Occurred() ? -1 : 0;
}

static int json_ops_work(struct run *r, void *with, struct err *e)
{
    struct query_request *x = with;
    struct arena a = {0};
    struct opsview v;
    struct jw j = {.out = &x->out};
    const struct opsview_ask ask = {{x->trace, x->by}, -1, SIZE_MAX};
    const int rc = opsview_read(&v, r, &ask, &a, e);
    if (rc == 0)
        opsview_json(&j, &v);
    arena_free(&a);
    return rc;
}

PyObject *query_ops(QUERY_ARGS)
{
    struct query_request x = {0};
    if (query_count(n, names, 2) != 0 || json_rank_of(args[0], &x.trace) != 0)
        return NULL;
    const int module = PyObject_IsTrue(args[1]);
    if (module < 0)
        return NULL;
    x.by = module ? OPS_BY_MODULE : OPS_BY_NAME;
    return json_answer(self, type, json_ops_work, &x);
}

static int json_breakdown_work(struct run *r, void *with, struct err *e)
{
    struct query_request *x = with;
    struct arena a = {0};
    struct breakdown b = {0};
    struct jw j = {.out = &x->out};
    const int rc = breakdown_read(r, &x->trace, &a, &b, e);
    if (rc == 0)
        breakview_json(&j, &b, (1u << BREAK_TABLES) - 1, &a);
    arena_free(&a);
    return rc;
}

PyObject *query_breakdown(QUERY_ARGS)
{
    struct query_request x = {0};
    if (query_count(n, names, 1) != 0 || json_rank_of(args[0], &x.trace) != 0)
        return NULL;
    return json_answer(self, type, json_breakdown_work, &x);
}

/* ---- check ---- */

static int json_check_settings(const struct query_request *x, struct arena *a,
                               struct rule_params *p, struct machines *table, struct err *e)
{
    rule_params_init(p, a);
    int rc = machines_load(table, NULL, a, e);
    for (size_t i = 0; rc == 0 && x->sets[i]; i++)
        rc = rule_params_set(p, x->sets[i], e);
    if (rc == 0 && x->machine && x->price == 0 && !machines_find(table, x->machine))
        rc = machines_unknown(table, x->machine, e);
    return rc;
}

static int json_check_work(struct run *r, void *with, struct err *e)
{
    struct query_request *x = with;
    struct arena a = {0};
    struct rule_params params;
    struct machines *table = arena_new(&a, struct machines);
    struct checked *c = arena_new(&a, struct checked);
    struct jw j = {.out = &x->out};
    const struct verdict *order[RULE_N];
    const struct pricing pricing = {table, x->machine, x->price};
    int rc = json_check_settings(x, &a, &params, table, e);
    if (rc == 0)
        rc = rules_check_priced(r, &params, &pricing, &a, c, e);
    if (rc == 0) {
        rightsize_advise(c, table, &a);
        jw_array(&j, NULL);
        verdicts_in_order(c->verdicts.v, RULE_N, order);
        for (size_t k = 0; k < RULE_N; k++)
            verdict_json(&j, NULL, order[k], params.v[order[k] - c->verdicts.v]);
        jw_end(&j);
    }
    arena_free(&a);
    return rc;
}

static const char **json_texts_of(PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);
    int bad = n < 0;
    if (bad)
        return NULL;
    const char **out = xcalloc((size_t)n + 1, sizeof *out);
    for (Py_ssize_t i = 0; i < n && !bad; i++) {
        out[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        bad = !out[i];
    }
    if (bad) {
        free(out);
        return NULL;
    }
    return out;
}

PyObject *query_check(QUERY_ARGS)
{
    struct query_request x = {0};
    PyObject *out = NULL;
    int bad = 0;
    if (query_count(n, names, 3) != 0)
        return NULL;
    x.machine = query_word(args[1], &bad);
    if (!bad)
        x.price = PyFloat_AsDouble(args[2]);
    if (bad || (x.price == -1 && PyErr_Occurred()))
        return NULL;
    x.sets = json_texts_of(args[0]);
    if (x.sets)
        out = json_answer(self, type, json_check_work, &x);
    free(x.sets);
    return out;
}
