/* SPDX-License-Identifier: Apache-2.0 */
/* query_events.c - what the framework did, as arrays: one row for each event, names and tracks as
 * numbers. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "query.h"
#include "query/event_flow.h"
#include "query/trace.h"

enum {
    E_START,
    E_DURATION,
    E_VALUE,
    E_NAME,
    E_TRACK,
    E_ARGS,
    E_KIND,
    E_CATEGORY,
    E_MODE,
    E_END,
    E_N
};

static const size_t sizes[E_N] = {
    [E_START] = sizeof(int64_t), [E_DURATION] = sizeof(int64_t), [E_VALUE] = sizeof(double),
    [E_NAME] = sizeof(int32_t),  [E_TRACK] = sizeof(int32_t),    [E_ARGS] = sizeof(int32_t),
    [E_KIND] = sizeof(int8_t),   [E_CATEGORY] = sizeof(int8_t),  [E_MODE] = sizeof(int8_t),
    [E_END] = sizeof(int8_t),
};

struct query_event_table {
    wall_ns from, to;
    bool detail;
    struct arena arena;
    struct run_track *tracks;
    size_t n_tracks;
    struct op_names names, args;
    struct query_array array[E_N];
    uint64_t n, room;
};

static int events_tracks_work(struct run *r, void *with, struct err *e)
{
    struct query_event_table *t = with;
    const int rc = events_tracks(r, &t->arena, &t->tracks, &t->n_tracks, e);
    for (size_t i = 0; rc == 0 && i < t->n_tracks; i++)
        if (t->detail || !t->tracks[i].detail)
            t->room += t->tracks[i].events;
    return rc;
}

/* NAN: it has none. */
static double events_value_of(const struct event *v)
{
    if (v->kind == EVENT_REAL)
        return event_real(v);
    return v->kind == EVENT_MARK ? NAN : (double)v->value;
}

static void events_put_row(struct query_event_table *t, int32_t track, const struct run_event *x)
{
    const struct event *v = &x->event;
    const uint64_t i = t->n++;
    ((int64_t *)t->array[E_START].p)[i] = x->at.ns;
    ((int64_t *)t->array[E_DURATION].p)[i] = v->dur_ns;
    ((double *)t->array[E_VALUE].p)[i] = events_value_of(v);
    ((int32_t *)t->array[E_NAME].p)[i] = (int32_t)op_names_id(&t->names, v->name ? v->name : "");
    ((int32_t *)t->array[E_TRACK].p)[i] = track;
    ((int32_t *)t->array[E_ARGS].p)[i] = v->args ? (int32_t)op_names_id(&t->args, v->args) : -1;
    ((int8_t *)t->array[E_KIND].p)[i] = (int8_t)v->kind;
    ((int8_t *)t->array[E_CATEGORY].p)[i] = (int8_t)v->category;
    ((int8_t *)t->array[E_MODE].p)[i] = (int8_t)v->mode;
    ((int8_t *)t->array[E_END].p)[i] = (int8_t)v->end;
}

static int events_work(struct run *r, void *with, struct err *e)
{
    struct query_event_table *t = with;
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < t->n_tracks; k++) {
        struct arena a = {0};
        struct run_event *v;
        size_t n = 0;
        if (!t->detail && t->tracks[k].detail)
            continue;
        rc = events_read(r, &t->tracks[k], t->from, t->to, &a, &v, &n, e);
        op_names_turn(&t->names);
        op_names_turn(&t->args);
        for (size_t i = 0; rc == 0 && i < n && t->n < t->room; i++)
            events_put_row(t, (int32_t)k, &v[i]);
        arena_free(&a);
    }
    return rc;
}

/* ---- for Python ---- */

static PyObject *events_words_of(const struct op_names *t)
{
    PyObject *out = PyList_New((Py_ssize_t)t->n);
    for (uint32_t i = 0; out && i < t->n; i++)
        PyList_SetItem(out, (Py_ssize_t)i, query_str(t->v[i].text));
    return out;
}

static PyObject *events_track_of(const struct run_track *t)
{
    const struct run_process *p = t->process;
    return Py_BuildValue("(NLLLLNNOi)", query_str(p->node), (long long)p->rank, (long long)p->pid,
                         (long long)p->worker, (long long)p->session, query_str(p->name),
                         query_str(t->track.name), t->detail ? Py_True : Py_False,
                         (int)t->track.kind);
}

static PyObject *events_tracks_of(const struct query_event_table *t)
{
    PyObject *out = PyList_New((Py_ssize_t)t->n_tracks);
    for (size_t i = 0; out && i < t->n_tracks; i++) {
        PyObject *one = events_track_of(&t->tracks[i]);
        if (!one)
            Py_CLEAR(out);
        else
            PyList_SetItem(out, (Py_ssize_t)i, one);
    }
    return out;
}

static PyObject *events_enum_words(const char *const *v)
{
    PyObject *out = PyList_New(0);
    for (; out && *v; v++) {
        PyObject *word = query_str(*v);
        if (!word || PyList_Append(out, word) != 0)
            Py_CLEAR(out);
        Py_XDECREF(word);
    }
    return out;
}

static PyObject *events_categories(void)
{
    PyObject *out = PyList_New(CAT_N);
    for (int i = 0; out && i < CAT_N; i++)
        PyList_SetItem(out, i, query_str(category_words[i].name));
    return out;
}

static int events_shrink(struct query_event_table *t)
{
    for (int i = 0; i < E_N; i++)
        if (PyByteArray_Resize(t->array[i].object, (Py_ssize_t)(t->n * sizes[i])) != 0)
            return -1;
    return 0;
}

static PyObject *events_result_of(struct query_event_table *t)
{
    if (events_shrink(t) != 0)
        return NULL;
    return Py_BuildValue("(NNNNNNN)", events_tracks_of(t), events_words_of(&t->names),
                         events_words_of(&t->args), events_enum_words(event_kind_names),
                         events_categories(), events_enum_words(event_mode_names),
                         query_arrays(t->array, E_N));
}

static int events_room(struct query_event_table *t)
{
    for (int i = 0; i < E_N; i++)
        if (query_array_open(&t->array[i], t->room, sizes[i]) != 0)
            return -1;
    return 0;
}

static int events_read_args(struct query_event_table *t, PyObject *const *args)
{
    t->from.ns = PyLong_AsLongLong(args[0]);
    if (t->from.ns == -1 && PyErr_Occurred())
        return -1;
    t->to.ns = PyLong_AsLongLong(args[1]);
    if (t->to.ns == -1 && PyErr_Occurred())
        return -1;
    const int detail = PyObject_IsTrue(args[2]);
    t->detail = detail > 0;
    return detail < 0 ? -1 : 0;
}

PyObject *query_events(QUERY_ARGS)
{
    struct query_run *run = (struct query_run *)self;
    PyObject *out = NULL;
    if (query_count(n, names, 3) != 0)
        return NULL;
    struct query_event_table *t = xcalloc(1, sizeof *t);
    op_names_open(&t->names);
    op_names_open(&t->args);
    if (events_read_args(t, args) == 0 && query_do(run, type, events_tracks_work, t) == 0 &&
        events_room(t) == 0 && query_do(run, type, events_work, t) == 0)
        out = events_result_of(t);
    for (int i = 0; i < E_N; i++)
        query_array_drop(&t->array[i]);
    op_names_close(&t->names);
    op_names_close(&t->args);
    arena_free(&t->arena);
    free(t);
    return out;
}
