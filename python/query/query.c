/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - the module `footplate._query`. See footplate/_query.pyi. */
#include "query.h"

#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "query/run.h"

static const struct {
    enum err_code code;
    const char *word;
} words[] = {
    {ERR_SYS, "sys"},         {ERR_FORMAT, "format"},       {ERR_LIMIT, "limit"},
    {ERR_USAGE, "usage"},     {ERR_NOT_FOUND, "not_found"}, {ERR_BUSY, "busy"},
    {ERR_VERSION, "version"},
};

PyObject *query_raise(PyObject *module, const struct err *e)
{
    const struct query_state *state = PyModule_GetState(module);
    const char *word = "";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((int)words[i].code == e->code)
            word = words[i].word;
    PyObject *text = query_str(e->msg);
    PyObject *args = text ? Py_BuildValue("(Os)", text, word) : NULL;
    if (args)
        PyErr_SetObject(state->error, args);
    Py_XDECREF(args);
    Py_XDECREF(text);
    return NULL;
}

struct query_locale query_locale_begin(void)
{
    struct query_locale l = {.c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (l.c)
        l.before = uselocale(l.c);
    return l;
}

void query_locale_end(const struct query_locale *l)
{
    if (!l->c)
        return;
    uselocale(l->before);
    freelocale(l->c);
}

/* ---- arrays ---- */

int query_array_open(struct query_array *a, uint64_t n, size_t size)
{
    *a = (struct query_array){0};
    if (n > (uint64_t)PY_SSIZE_T_MAX / size) {
        PyErr_NoMemory();
        return -1;
    }
    a->object = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * size));
    if (!a->object)
        return -1;
    a->p = PyByteArray_AsString(a->object);
    return 0;
}

void query_array_drop(struct query_array *a)
{
    Py_CLEAR(a->object);
    a->p = NULL;
}

PyObject *query_arrays(struct query_array *v, size_t n)
{
    PyObject *t = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        if (t)
            PyTuple_SetItem(t, (Py_ssize_t)i, v[i].object);
        else
            Py_XDECREF(v[i].object);
        v[i] = (struct query_array){0};
    }
    return t;
}

PyObject *query_str(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* ---- arguments ---- */

int query_count(Py_ssize_t n, PyObject *names, Py_ssize_t wanted)
{
    if (names && PyTuple_Size(names) > 0)
        PyErr_SetString(PyExc_TypeError, "takes no keywords");
    else if (n != wanted)
        PyErr_Format(PyExc_TypeError, "takes %zd arguments (%zd given)", wanted, n);
    else
        return 0;
    return -1;
}

const char *query_word(PyObject *arg, int *bad)
{
    if (arg == Py_None)
        return NULL;
    const char *text = PyUnicode_AsUTF8AndSize(arg, NULL);
    *bad |= !text;
    return text;
}

static wall_ns time_of(PyObject *arg, int *bad)
{
    const long long v = PyLong_AsLongLong(arg);
    *bad |= v == -1 && PyErr_Occurred() != NULL;
    return (wall_ns){v};
}

int query_which_of(struct query_which *w, PyObject *const *args)
{
    int bad = 0;
    w->ask = (struct series_ask){0};
    w->ask.node = query_word(args[0], &bad);
    if (!bad)
        w->ask.metric = query_word(args[1], &bad);
    if (!bad)
        w->ask.entity = query_word(args[2], &bad);
    if (!bad)
        w->ask.from = time_of(args[3], &bad);
    if (!bad)
        w->ask.to = time_of(args[4], &bad);
    return bad ? -1 : 0;
}

/* ---- the module ---- */

static PyObject *find(PyObject *module, PyObject *args)
{
    const char *dir, *ref;
    char path[PATH_LEN];
    struct err e;
    if (!PyArg_ParseTuple(args, "zs:find", &dir, &ref))
        return NULL;
    if (run_find(dir, ref, path, &e) != 0)
        return query_raise(module, &e);
    return query_str(path);
}

static PyObject *runs(PyObject *module, PyObject *args)
{
    const char *dir;
    struct run_listed *listed;
    struct arena a = {0};
    struct err e;
    size_t n;
    if (!PyArg_ParseTuple(args, "z:runs", &dir))
        return NULL;
    if (run_list(runs_folder(dir), &a, &listed, &n, &e) != 0) {
        arena_free(&a);
        return query_raise(module, &e);
    }
    PyObject *out = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; out && i < n; i++)
        PyList_SetItem(out, (Py_ssize_t)i, query_str(listed[i].path));
    arena_free(&a);
    return out;
}

static PyMethodDef methods[] = {
    {"find", find, METH_VARARGS, "The folder of a run: (dir or None, name)."},
    {"compare", query_compare, METH_VARARGS, "What `footplate compare` prints, as JSON."},
    {"human_value", query_human_value, METH_VARARGS, "A number with its unit as text."},
    {"human_duration", query_human_duration, METH_VARARGS, "Seconds as text."},
    {"human_price", query_human_price, METH_VARARGS, "Money as text: (amount, currency or None)."},
    {"human_count", query_human_count, METH_VARARGS, "A whole number as text."},
    {"chart", query_chart, METH_VARARGS, "A chart as SVG: (label, columns, panels)."},
    {"runs", runs, METH_VARARGS, "The folders of all runs, newest first: (dir or None)."},
    {NULL, NULL, 0, NULL},
};

static int query_exec(PyObject *module)
{
    struct query_state *state = PyModule_GetState(module);
    PyObject *type = PyType_FromModuleAndSpec(module, &query_run_spec, NULL);
    if (!type)
        return -1;
    state->run = (PyTypeObject *)type;
    state->error = PyErr_NewException("footplate._query.Error", NULL, NULL);
    if (!state->error || PyModule_AddType(module, state->run) != 0)
        return -1;
    return PyModule_AddObjectRef(module, "Error", state->error);
}

static int query_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct query_state *state = PyModule_GetState(module);
    Py_VISIT(state->run);
    Py_VISIT(state->error);
    return 0;
}

static int query_clear(PyObject *module)
{
    struct query_state *state = PyModule_GetState(module);
    Py_CLEAR(state->run);
    Py_CLEAR(state->error);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, query_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "footplate._query",
    .m_doc = "Recorded runs: arrays of what was measured, JSON of what follows from it.",
    .m_size = sizeof(struct query_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = query_traverse,
    .m_clear = query_clear,
};

PyMODINIT_FUNC PyInit__query(void);
PyMODINIT_FUNC PyInit__query(void)
{
    return PyModuleDef_Init(&definition);
}
