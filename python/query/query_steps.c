/* SPDX-License-Identifier: Apache-2.0 */
/* query_steps.c - steps as arrays: one column for each field of the table of steps. */
#include <math.h>
#include <string.h>

#include "query.h"
#include "tables/stepsview.h"

enum { WORDS_MOST = 4096 };

/* The words that a column of text has; cells are numbers of words. */
struct column_words {
    const char *v[WORDS_MOST];
    size_t n, last;
};

struct query_step_table {
    struct arena arena;
    struct steps_view view;
    struct row_columns columns;
    struct query_array array[ROW_COLUMNS_MOST];
    struct column_words *words[ROW_COLUMNS_MOST]; /* NULL: it has numbers */
    struct buf text;
};

static const char *steps_type_of(const struct row_columns *c, size_t i)
{
    return c->table->fields[c->v[i].field].type;
}

static bool steps_is_type(const char *type, const char *name)
{
    return strncmp(type, name, strlen(name)) == 0;
}

static bool steps_is_text(const char *type)
{
    return steps_is_type(type, "text") || steps_is_type(type, "word");
}

static size_t steps_size_of(const char *type)
{
    return steps_is_type(type, "bool") ? sizeof(int8_t) : steps_is_text(type) ? sizeof(int32_t) : 8;
}

static int steps_read_work(struct run *r, void *with, struct err *e)
{
    struct query_step_table *s = with;
    const struct steps_ask ask = {.last = SIZE_MAX, .rank = -1, .modes = STEPS_ALL_MODES};
    row_columns_of(&s->columns, &row_Step, "", &s->arena);
    for (size_t i = 0; i < s->columns.n; i++) {
        if (!steps_is_text(steps_type_of(&s->columns, i)))
            continue;
        s->words[i] = arena_new(&s->arena, struct column_words);
        /* Every mode is a category, also one that no step has. */
        for (int m = 0; strcmp(s->columns.v[i].name, "mode") == 0 && m < MODE_N; m++)
            s->words[i]->v[s->words[i]->n++] = event_mode_names[m];
    }
    return stepsview_read(&s->view, r, &ask, &s->arena, e);
}

/* -1: null, or more words than there is room for. */
static int32_t steps_word_number(struct column_words *w, const char *text)
{
    if (!text)
        return -1;
    if (w->last < w->n && strcmp(w->v[w->last], text) == 0)
        return (int32_t)w->last;
    for (w->last = 0; w->last < w->n; w->last++)
        if (strcmp(w->v[w->last], text) == 0)
            return (int32_t)w->last;
    if (w->n == WORDS_MOST)
        return -1;
    w->v[w->n++] = text;
    return (int32_t)w->last;
}

static void steps_put_cell(struct query_step_table *s, size_t column, size_t row,
                           const struct row_cell *c)
{
    const char *type = steps_type_of(&s->columns, column);
    const bool none = c->kind == ROW_NULL || c->kind == ROW_ABSENT;
    void *p = s->array[column].p;
    if (s->words[column])
        ((int32_t *)p)[row] =
            steps_word_number(s->words[column], c->kind == ROW_TEXT ? c->s : NULL);
    else if (steps_is_type(type, "bool"))
        ((int8_t *)p)[row] = (int8_t)c->i;
    else if (steps_is_type(type, "number"))
        ((double *)p)[row] = none ? NAN : c->d;
    else
        ((int64_t *)p)[row] = none ? -1 : c->i;
}

static int steps_fill_work(struct run *r, void *with, struct err *e)
{
    struct query_step_table *s = with;
    struct row_cell cells[ROW_COLUMNS_MOST];
    (void)r, (void)e;
    for (size_t i = 0; i < s->view.n_items; i++) {
        row_column_cells(&s->columns, &s->view.items[i], cells, &s->arena);
        for (size_t k = 0; k < s->columns.n; k++)
            steps_put_cell(s, k, i, &cells[k]);
    }
    return 0;
}

static PyObject *steps_words_of(const struct column_words *w)
{
    if (!w)
        Py_RETURN_NONE;
    PyObject *out = PyList_New((Py_ssize_t)w->n);
    for (size_t i = 0; out && i < w->n; i++)
        PyList_SetItem(out, (Py_ssize_t)i, query_str(w->v[i]));
    return out;
}

/* A list of (name, type, words or None). */
static PyObject *steps_columns_of(const struct query_step_table *s)
{
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && i < s->columns.n; i++) {
        PyObject *one = Py_BuildValue("(ssN)", s->columns.v[i].name, steps_type_of(&s->columns, i),
                                      steps_words_of(s->words[i]));
        if (!one || PyList_Append(out, one) != 0)
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    return out;
}

/* The output of `footplate steps` for each rank and mode, and why something is missing; the steps
 * themselves go as arrays. */
static int steps_summary_work(struct run *r, void *with, struct err *e)
{
    struct query_step_table *s = with;
    struct steps_view rows = s->view;
    struct jw j = {.out = &s->text};
    (void)r, (void)e;
    rows.n_items = 0;
    stepsview_json(&j, &rows);
    return 0;
}

static int steps_room(struct query_step_table *s)
{
    for (size_t i = 0; i < s->columns.n; i++)
        if (query_array_open(&s->array[i], s->view.n_items,
                             steps_size_of(steps_type_of(&s->columns, i))) != 0)
            return -1;
    return 0;
}

PyObject *query_steps(QUERY_ARGS)
{
    struct query_step_table s = {0};
    struct query_run *run = (struct query_run *)self;
    PyObject *out = NULL;
    (void)args;
    if (query_count(n, names, 0) == 0 && query_do(run, type, steps_read_work, &s) == 0 &&
        steps_room(&s) == 0 && query_do(run, type, steps_fill_work, &s) == 0) {
        PyObject *columns = steps_columns_of(&s);
        PyObject *summary = query_text(run, type, steps_summary_work, &s, &s.text);
        out = Py_BuildValue("(NNN)", columns, summary, query_arrays(s.array, s.columns.n));
    }
    for (size_t i = 0; i < ROW_COLUMNS_MOST; i++)
        query_array_drop(&s.array[i]);
    arena_free(&s.arena);
    return out;
}
