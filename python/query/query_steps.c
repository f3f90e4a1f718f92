/* SPDX-License-Identifier: Apache-2.0 */
/* query_steps.c - steps as arrays: one row for each step of each rank. */
#include <math.h>

#include "base/mem.h"
#include "query.h"
#include "view/stepsview.h"

enum {
    S_RANK,
    S_STEP,
    S_START,
    S_DURATION,
    S_SAMPLES,
    S_BETWEEN,
    S_MODE,
    S_CUT,
    S_WARMUP,
    S_DISTURBED,
    S_PARTS
};
enum { S_MOST = S_PARTS + STEP_PARTS_MOST };

struct stepping {
    struct arena arena;
    struct steps_view view;
    struct query_array array[S_MOST];
    struct buf text;
};

static size_t size_of(size_t column)
{
    return column >= S_MODE && column < S_PARTS ? sizeof(int8_t) : sizeof(int64_t);
}

static int read_work(struct run *r, void *with, struct err *e)
{
    struct stepping *s = with;
    const struct steps_ask ask = {.last = SIZE_MAX, .rank = -1, .modes = STEPS_ALL_MODES};
    return stepsview_read(&s->view, r, &ask, &s->arena, e);
}

/* Rows of the ranks: which one is it? Items of a rank stand one behind the other. */
static int fill_work(struct run *r, void *with, struct err *e)
{
    struct stepping *s = with;
    int64_t rank = -1;
    (void)r, (void)e;
    for (size_t i = 0; i < s->view.n_items; i++) {
        const struct steps_item *x = &s->view.items[i];
        rank += i == 0 || x->rank != s->view.items[i - 1].rank;
        ((int64_t *)s->array[S_RANK].p)[i] = rank;
        ((int64_t *)s->array[S_STEP].p)[i] = x->step->number;
        ((int64_t *)s->array[S_START].p)[i] = x->step->start.ns;
        ((int64_t *)s->array[S_DURATION].p)[i] = x->step->dur_ns;
        ((int64_t *)s->array[S_SAMPLES].p)[i] = x->step->batch;
        ((int64_t *)s->array[S_BETWEEN].p)[i] = x->step->between_ns;
        ((int8_t *)s->array[S_MODE].p)[i] = (int8_t)x->step->mode;
        ((int8_t *)s->array[S_CUT].p)[i] = x->step->cut;
        ((int8_t *)s->array[S_WARMUP].p)[i] = x->step->warmup;
        ((int8_t *)s->array[S_DISTURBED].p)[i] = x->step->disturbed;
        for (size_t k = 0; k < step_parts(); k++)
            ((double *)s->array[S_PARTS + k].p)[i] = steps_item_part_s(&s->view, x, k);
    }
    return 0;
}

static PyObject *ranks_of(const struct stepping *s)
{
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < s->view.n_items; i++) {
        const struct rank_steps *r = s->view.items[i].rank;
        if (i > 0 && r == s->view.items[i - 1].rank)
            continue;
        PyObject *one = Py_BuildValue("(NLLL)", query_str(r->node), (long long)r->rank,
                                      (long long)r->process->pid, (long long)r->process->session);
        if (!one || PyList_Append(out, one) != 0)
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

static PyObject *parts_of(void)
{
    PyObject *out = PyList_New((Py_ssize_t)step_parts());
    for (size_t i = 0; out && i < step_parts(); i++)
        PyList_SetItem(out, (Py_ssize_t)i, query_str(step_part_name(i)));
    return out;
}

static PyObject *modes_of(void)
{
    PyObject *out = PyList_New(MODE_N);
    for (int i = 0; out && i < MODE_N; i++)
        PyList_SetItem(out, i, query_str(event_mode_names[i]));
    return out;
}

/* What `footplate steps` says of each rank and mode, and why something is not there; the steps
 * themselves go as arrays. */
static int summary_work(struct run *r, void *with, struct err *e)
{
    struct stepping *s = with;
    struct steps_view rows = s->view;
    struct jw j = {.out = &s->text};
    (void)r, (void)e;
    rows.n_items = 0;
    stepsview_json(&j, &rows);
    return 0;
}

static int steps_room(struct stepping *s)
{
    for (size_t i = 0; i < S_PARTS + step_parts(); i++)
        if (query_array_open(&s->array[i], s->view.n_items, size_of(i)) != 0)
            return -1;
    return 0;
}

PyObject *query_steps(QUERY_ARGS)
{
    struct stepping s = {0};
    struct query_run *run = (struct query_run *)self;
    PyObject *out = NULL;
    (void)args;
    if (query_count(n, names, 0) == 0 && query_do(run, type, read_work, &s) == 0 &&
        steps_room(&s) == 0 && query_do(run, type, fill_work, &s) == 0) {
        PyObject *ranks = ranks_of(&s);
        PyObject *summary = query_text(run, type, summary_work, &s, &s.text);
        out = Py_BuildValue("(NNNNN)", ranks, modes_of(), parts_of(), summary,
                            query_arrays(s.array, S_PARTS + step_parts()));
    }
    for (size_t i = 0; i < S_MOST; i++)
        query_array_drop(&s.array[i]);
    arena_free(&s.arena);
    return out;
}
