/* SPDX-License-Identifier: Apache-2.0 */
/* query_run.c - the class Run: opening, closing, and what all its methods have in common. */
#include "base/mem.h"
#include "query.h"
#include "query/run.h"
#include "run/run_files.h"

int query_do(struct query_run *self, PyTypeObject *type, query_work *work, void *with)
{
    struct err e;
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    const struct query_locale l = query_locale_begin();
    pthread_mutex_lock(&self->lock);
    if (self->run)
        rc = work(self->run, with, &e);
    else
        rc = err_set(&e, ERR_USAGE, "the run has been closed");
    pthread_mutex_unlock(&self->lock);
    query_locale_end(&l);
    Py_END_ALLOW_THREADS;
    if (rc == 0)
        return 0;
    query_raise(PyType_GetModule(type), &e);
    return -1;
}

PyObject *query_text(struct query_run *self, PyTypeObject *type, query_work *work, void *with,
                     struct buf *out)
{
    PyObject *text = NULL;
    if (query_do(self, type, work, with) == 0)
        text = PyBytes_FromStringAndSize((const char *)out->p, (Py_ssize_t)out->len);
    buf_free(out);
    return text;
}

/* ---- opening and closing ---- */

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const char *path;
    struct run *run = NULL;
    struct err e;
    int rc;
    if (kwargs && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Run takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "s:Run", &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    const struct query_locale l = query_locale_begin();
    rc = run_open(&run, path, &e);
    query_locale_end(&l);
    Py_END_ALLOW_THREADS;
    if (rc != 0)
        return query_raise(PyType_GetModule(type), &e);
    const allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct query_run *self = (struct query_run *)alloc(type, 0);
    if (!self) {
        run_close(run);
        return NULL;
    }
    self->run = run;
    pthread_mutex_init(&self->lock, NULL);
    return (PyObject *)self;
}

static int close_run(struct query_run *self)
{
    pthread_mutex_lock(&self->lock);
    run_close(self->run);
    self->run = NULL;
    pthread_mutex_unlock(&self->lock);
    return 0;
}

static PyObject *run_close_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    Py_BEGIN_ALLOW_THREADS;
    close_run((struct query_run *)self);
    Py_END_ALLOW_THREADS;
    return Py_NewRef(Py_None);
}

static void run_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    close_run((struct query_run *)self);
    pthread_mutex_destroy(&((struct query_run *)self)->lock);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- which series there are ---- */

struct listing {
    struct arena arena;
    struct series_key *keys;
    size_t n;
};

static int list_work(struct run *r, void *with, struct err *e)
{
    struct listing *l = with;
    return series_list(r, &l->arena, &l->keys, &l->n, e);
}

static PyObject *query_series(QUERY_ARGS)
{
    struct listing l = {0};
    PyObject *out = NULL;
    (void)args;
    if (query_count(n, names, 0) == 0 &&
        query_do((struct query_run *)self, type, list_work, &l) == 0)
        out = PyList_New((Py_ssize_t)l.n);
    for (size_t i = 0; out && i < l.n; i++) {
        const struct series_key *k = &l.keys[i];
        PyObject *one = Py_BuildValue("(NNNN)", query_str(k->node), query_str(k->metric),
                                      query_str(k->entity), query_str(k->unit));
        if (!one)
            Py_CLEAR(out);
        else
            PyList_SetItem(out, (Py_ssize_t)i, one);
    }
    arena_free(&l.arena);
    return out;
}

/* ---- saved tensors ---- */

struct saved_request {
    struct arena arena;
    const char *node, *name; /* of one file */
    struct run_saved_file *v;
    size_t n;
    struct fmap file;
};

static int saved_list_work(struct run *r, void *with, struct err *e)
{
    struct saved_request *x = with;
    return run_saved_files(run_get_info(r), &x->arena, &x->v, &x->n, e);
}

static int saved_read_work(struct run *r, void *with, struct err *e)
{
    struct saved_request *x = with;
    TRY(saved_list_work(r, with, e));
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->v[i].node, x->node) == 0 && strcmp(x->v[i].name, x->name) == 0)
            return run_map_saved(run_get_info(r), &x->v[i], &x->file, e);
    return err_set(e, ERR_NOT_FOUND, "node '%s' has no file '%s'", x->node, x->name);
}

PyObject *query_saved(QUERY_ARGS)
{
    struct saved_request x = {0};
    PyObject *out = NULL;
    (void)args;
    if (query_count(n, names, 0) == 0 &&
        query_do((struct query_run *)self, type, saved_list_work, &x) == 0)
        out = PyList_New((Py_ssize_t)x.n);
    for (size_t i = 0; out && i < x.n; i++) {
        PyObject *one = Py_BuildValue("(NNK)", query_str(x.v[i].node), query_str(x.v[i].name),
                                      (unsigned long long)x.v[i].bytes);
        if (!one)
            Py_CLEAR(out);
        else
            PyList_SetItem(out, (Py_ssize_t)i, one);
    }
    arena_free(&x.arena);
    return out;
}

/* node, file */
PyObject *query_saved_read(QUERY_ARGS)
{
    struct saved_request x = {0};
    PyObject *out = NULL;
    int bad = 0;
    if (query_count(n, names, 2) != 0)
        return NULL;
    x.node = query_word(args[0], &bad);
    x.name = query_word(args[1], &bad);
    if (bad || !x.node || !x.name)
        return NULL;
    if (query_do((struct query_run *)self, type, saved_read_work, &x) == 0)
        out = PyBytes_FromStringAndSize((const char *)x.file.p, (Py_ssize_t)x.file.len);
    fmap_close(&x.file);
    arena_free(&x.arena);
    return out;
}

#define METHOD(name, function, help)                                                               \
    {                                                                                              \
        name, (PyCFunction)(void (*)(void))(function),                                             \
            METH_METHOD | METH_FASTCALL | METH_KEYWORDS, help                                      \
    }

static PyMethodDef methods[] = {
    METHOD("series", query_series, "All series: [(node, metric, entity, unit)]."),
    METHOD("samples", query_samples, "Every sample: node, metric, entity, start, end."),
    METHOD("points", query_points, "Few points: node, metric, entity, start, end, points."),
    METHOD("sweeps", query_sweeps, "A node's series in lockstep: node, [(metric, entity)]."),
    METHOD("events", query_events, "What the framework did: start, end, detail."),
    METHOD("steps", query_steps, "All steps of all ranks."),
    METHOD("show", query_show, "What `footplate show` prints, as JSON."),
    METHOD("check", query_check, "What `footplate check` prints: settings, machine, price."),
    METHOD("stats", query_stats, "What `footplate stats` prints: node, start, end, all."),
    METHOD("health", query_health, "What training health there is."),
    METHOD("health_scalar", query_health_scalar, "A scalar: name, rank or -1, mode or -1, points."),
    METHOD("health_tensors", query_health_tensors,
           "A statistic: its name, pattern or None, rank or -1, columns."),
    METHOD("saved", query_saved, "Files of saved tensors: [(node, file, bytes)]."),
    METHOD("saved_read", query_saved_read, "The bytes of one: node, file."),
    METHOD("ops", query_ops, "What `footplate ops` prints: rank or None, by module."),
    METHOD("breakdown", query_breakdown, "What `footplate breakdown` prints: rank or None."),
    {"close", run_close_method, METH_NOARGS, "Gives its files back. Can be called again."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, run_new},
    {Py_tp_dealloc, run_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)"Run(path): a recorded run, open for reading."},
    {0, NULL},
};

PyType_Spec query_run_spec = {
    .name = "footplate._query.Run",
    .basicsize = sizeof(struct query_run),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
