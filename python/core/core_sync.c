/* SPDX-License-Identifier: Apache-2.0 */
/* core_sync.c - SyncGate: replaces a call in which the program waits for the GPU, and measures the
 * wait.
 *
 *     x.item()   the original between two readings of the CPU's counter. If that took long enough
 *                for a wait and the tensor is on a GPU, the time is added to the place in the
 *                program (operation, file, line) that called it
 *
 * Most calls are on CPU tensors and must cost next to nothing: AdamW calls item() twice for each
 * parameter. So the gate is called without a tuple (vectorcall), and only a call of SHORTEST ticks
 * or more is looked at: a wait for a GPU takes several microseconds even if the GPU is idle. The
 * gate reads `is_cuda` of the tensor through its descriptor, and looks for the place only after a
 * wait (core_sync_places.c).
 *
 * Like Gate it has no Python frame. A hidden one gives the original when it is read from its class,
 * so `torch.Tensor.item`, torch.compile and __torch_function__ see torch's own method.
 *
 * All of this runs with the interpreter's lock held, which is what guards the tables. */
#include "core_sync.h"

#include <stddef.h>
#include <string.h>

#include "core_call.h"
#include "core_gate.h"

enum {
    MOST_DEVICES = 4, /* torch.device objects whose type is known */
    SHORTEST = 3000,  /* ticks of a wait: a microsecond or more on any CPU */
};

/* What decides whether a call waits. */
enum sync_kind {
    SYNC_TENSOR, /* the first argument is a CUDA tensor: item() */
    SYNC_MASK,   /* and it is indexed by a mask: x[mask] */
    SYNC_TO,     /* from the GPU to the CPU, or the other way round: to() */
    SYNC_CUDA,   /* from the CPU to the GPU: cuda() */
    SYNC_ALWAYS, /* synchronize() */
    SYNC_KINDS,
};

/* ---- what is known of torch ---- */

enum sync_target { TO_NONE, TO_CPU, TO_CUDA };

static struct {
    PyTypeObject *tensor, *parameter; /* NULL before setup */
    PyCFunction mode_enabled;         /* whether a TorchFunctionMode is active; NULL: not known */
    PyObject *guard;                  /* DisableTorchFunction */
    struct core_property is_cuda, dtype, nbytes;
    PyObject *masks[2];   /* torch.bool, torch.uint8 */
    PyTypeObject *device; /* torch.device */
    binaryfunc subscript; /* of TensorBase: calling the method object itself is slower */
    PyObject *word_non_blocking, *word_device, *word_type;
    struct {
        PyObject *device; /* a reference, so that its address stays its own */
        enum sync_target target;
    } devices[MOST_DEVICES];
    unsigned next_device;
    fp_name h2d;
    uint32_t h2d_own, h2d_closed_by;
    int h2d_op;
    uint64_t tie_ticks, tie_ns; /* one moment in both clocks */
} torch;

/* This thread is inside of a wait: an inner one is a part of it. */
static _Thread_local bool waiting __attribute__((tls_model("initial-exec")));

static void sync_take(PyObject **place, PyObject *value)
{
    PyObject *old = *place;
    *place = Py_NewRef(value);
    Py_XDECREF(old);
}

static bool sync_is_tensor(PyObject *o)
{
    return torch.tensor && (Py_IS_TYPE(o, torch.tensor) || PyObject_TypeCheck(o, torch.tensor));
}

/* Whether reading a property of a tensor is a matter of C alone: it is of no class that the program
 * has derived, and no mode is active that is called for every function of torch. */
static bool sync_is_plain(PyObject *tensor)
{
    if (!Py_IS_TYPE(tensor, torch.tensor) && !Py_IS_TYPE(tensor, torch.parameter))
        return false;
    PyObject *mode = torch.mode_enabled ? torch.mode_enabled(NULL, NULL) : NULL;
    Py_XDECREF(mode);
    return mode != Py_True;
}

/* Tensors that torch.compile traces with are not tensors on a device. */
static bool sync_is_fake(PyObject *tensor)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(tensor), "__module__");
    const char *name = module ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;
    const bool fake = name && strncmp(name, "torch._subclasses", strlen("torch._subclasses")) == 0;
    Py_XDECREF(module);
    if (!name)
        PyErr_Clear();
    return fake;
}

/* A property of a tensor, a new reference; NULL, without an exception, when it does not answer.
 * The program's own __torch_function__ is not to see that it was read. */
static PyObject *sync_ask(const struct core_property *p, PyObject *tensor)
{
    PyObject *guard = NULL, *answer = NULL;
    if (!sync_is_plain(tensor)) {
        if (sync_is_fake(tensor))
            return NULL;
        guard = torch.guard ? PyObject_CallNoArgs(torch.guard) : NULL;
        PyObject *entered = guard ? PyObject_CallMethod(guard, "__enter__", NULL) : NULL;
        if (!entered)
            goto out;
        Py_DECREF(entered);
    }
    answer = core_property_get(p, tensor);
    if (guard) {
        struct core_outcome outcome = core_outcome_take(answer);
        PyObject *left = PyObject_CallMethod(guard, "__exit__", "OOO", Py_None, Py_None, Py_None);
        if (!left)
            PyErr_Clear();
        Py_XDECREF(left);
        answer = core_outcome_give(&outcome, 0);
    }
out:
    Py_XDECREF(guard);
    if (!answer)
        PyErr_Clear();
    return answer;
}

/* False for what is not a tensor, and for what does not answer. */
static bool sync_on_cuda(PyObject *o)
{
    PyObject *answer = sync_is_tensor(o) ? sync_ask(&torch.is_cuda, o) : NULL;
    Py_XDECREF(answer);
    return answer == Py_True;
}

static bool sync_is_mask_tensor(PyObject *o)
{
    PyObject *dtype = sync_is_tensor(o) ? sync_ask(&torch.dtype, o) : NULL;
    Py_XDECREF(dtype);
    return dtype && (dtype == torch.masks[0] || dtype == torch.masks[1]);
}

static bool sync_is_mask(PyObject *key)
{
    if (!PyTuple_CheckExact(key))
        return sync_is_mask_tensor(key);
    for (Py_ssize_t i = 0; i < PyTuple_Size(key); i++)
        if (sync_is_mask_tensor(PyTuple_GetItem(key, i)))
            return true;
    return false;
}

/* ---- calls ---- */

struct sync_gate {
    PyObject base;
    PyObject *original;
    core_vectorcall call;
    enum sync_kind kind;
    int op;
    bool hidden;
    PyObject *weak;
};

static PyObject *sync_forward(const struct sync_gate *g, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames)
{
    if (g->kind == SYNC_MASK && core_vectorcall_nargs(nargsf) == 2 && !kwnames && torch.subscript &&
        sync_is_tensor(args[0]))
        return torch.subscript(args[0], args[1]);
    return core_forward(g->original, args, nargsf, kwnames);
}

/* The CPU's counter where the ring uses it, else nanoseconds. */
static inline uint64_t sync_ticks(void)
{
    return __builtin_expect(fp_writer_.clock == RING_CLOCK_TSC, 1)
               ? ring_tsc()
               : core_sync_clock(CLOCK_MONOTONIC);
}

/* The calling thread waited, and the wait ended now. The length of a tick follows from the ticks
 * since the tie, which are at least those of the wait. */
static void sync_note(int op, uint64_t ticks)
{
    const uint64_t end = core_sync_clock(CLOCK_MONOTONIC), since = sync_ticks() - torch.tie_ticks;
    const double ns = (double)ticks * (double)(end - torch.tie_ns) / (double)(since ? since : 1);
    core_sync_note(op, end - (uint64_t)ns, end);
}

static PyObject *sync_measured(const struct sync_gate *g, int op, PyObject *const *args,
                               size_t nargsf, PyObject *kwnames)
{
    waiting = true;
    const uint64_t begin = sync_ticks();
    PyObject *result = sync_forward(g, args, nargsf, kwnames);
    const uint64_t took = sync_ticks() - begin;
    if (result)
        sync_note(op, took);
    waiting = false;
    return result;
}

/* The value of a keyword argument, borrowed; NULL: it was not given. */
static PyObject *sync_keyword(PyObject *kwnames, PyObject *const *values, PyObject *word)
{
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_Size(kwnames); i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        if (name == word || PyUnicode_Compare(name, word) == 0)
            return values[i];
    }
    return NULL;
}

static enum sync_target sync_target_of_text(PyObject *text)
{
    Py_ssize_t len = 0;
    const char *s = PyUnicode_AsUTF8AndSize(text, &len);
    if (!s)
        PyErr_Clear();
    else if (strncmp(s, "cuda", 4) == 0)
        return TO_CUDA;
    else if (strncmp(s, "cpu", 3) == 0)
        return TO_CPU;
    return TO_NONE;
}

/* The same of a torch.device, whose type takes long to read: the latest ones are cached. */
static enum sync_target sync_target_of_device(PyObject *device)
{
    for (int i = 0; i < MOST_DEVICES; i++)
        if (torch.devices[i].device == device)
            return torch.devices[i].target;
    PyObject *type = PyObject_GetAttr(device, torch.word_type);
    if (!type)
        PyErr_Clear();
    const enum sync_target to =
        type && PyUnicode_CheckExact(type) ? sync_target_of_text(type) : TO_NONE;
    Py_XDECREF(type);
    const unsigned next = torch.next_device++ % MOST_DEVICES;
    sync_take(&torch.devices[next].device, device);
    torch.devices[next].target = to;
    return to;
}

/* Where an argument of to() sends the tensor: a device, its name or index, or another tensor. */
static enum sync_target sync_target(PyObject *where)
{
    if (!where || where == Py_None)
        return TO_NONE;
    if (PyUnicode_CheckExact(where))
        return sync_target_of_text(where);
    if (PyLong_CheckExact(where))
        return TO_CUDA;
    if (sync_is_tensor(where))
        return sync_on_cuda(where) ? TO_CUDA : TO_CPU;
    if (torch.device && !Py_IS_TYPE(where, torch.device))
        return TO_NONE; /* a dtype */
    return sync_target_of_device(where);
}

static int64_t sync_bytes(PyObject *tensor)
{
    PyObject *number = torch.nbytes.get ? sync_ask(&torch.nbytes, tensor) : NULL;
    const long long bytes = number ? PyLong_AsLongLong(number) : 0;
    Py_XDECREF(number);
    if (PyErr_Occurred())
        PyErr_Clear();
    return bytes > 0 ? bytes : 0;
}

/* Whether the caller requested a copy that does not block: by keyword, or the argument after the
 * device and, in to(), the dtype. */
static bool sync_non_blocking(const struct sync_gate *g, PyObject *const *args, Py_ssize_t n,
                              PyObject *kwnames)
{
    PyObject *given = sync_keyword(kwnames, args + n, torch.word_non_blocking);
    for (Py_ssize_t i = 2; !given && i < n && i < 4; i++)
        if (PyBool_Check(args[i]) || g->kind == SYNC_CUDA)
            given = args[i];
    return given == Py_True;
}

/* A copy from the CPU to the GPU: a span `h2d` with its bytes, unless it is a part of a phase, and
 * a wait unless it is asynchronous. */
static PyObject *sync_upload(const struct sync_gate *g, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames, bool blocks)
{
    const uint32_t outside = core_inside;
    const bool marked = torch.h2d && !(core_inside & torch.h2d_closed_by);
    if (marked) {
        core_inside |= torch.h2d_own;
        core_sync_emit_short();
        fp_span_begin_value(torch.h2d, sync_bytes(args[0]));
    }
    PyObject *result;
    if (blocks) {
        result = sync_measured(g, torch.h2d_op, args, nargsf, kwnames);
    } else {
        waiting = true; /* what it does inside is not another copy */
        result = sync_forward(g, args, nargsf, kwnames);
        waiting = false;
    }
    if (marked) {
        core_sync_emit_short();
        fp_span_end(torch.h2d);
        core_inside = outside;
    }
    return result;
}

static PyObject *sync_copy(const struct sync_gate *g, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames, Py_ssize_t n)
{
    enum sync_target to = TO_CUDA;
    if (g->kind == SYNC_TO) {
        to = sync_target(n > 1 ? args[1] : sync_keyword(kwnames, args + n, torch.word_device));
        if (to == TO_NONE)
            return sync_forward(g, args, nargsf, kwnames);
    }
    const bool from_cuda = sync_on_cuda(args[0]);
    if (from_cuda == (to == TO_CUDA) || !sync_is_tensor(args[0]))
        return sync_forward(g, args, nargsf, kwnames);
    const bool blocks = !sync_non_blocking(g, args, n, kwnames);
    if (to == TO_CUDA)
        return sync_upload(g, args, nargsf, kwnames, blocks);
    return blocks ? sync_measured(g, g->op, args, nargsf, kwnames)
                  : sync_forward(g, args, nargsf, kwnames);
}

static bool sync_waits(const struct sync_gate *g, PyObject *const *args, Py_ssize_t n)
{
    if (g->kind == SYNC_MASK && (n != 2 || !sync_is_mask(args[1])))
        return false;
    return sync_on_cuda(args[0]);
}

/* A call that waits if its tensor is on a GPU, which is checked only for a call that took long. */
static PyObject *sync_perhaps(const struct sync_gate *g, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames)
{
    waiting = true;
    const uint64_t begin = sync_ticks();
    PyObject *result = sync_forward(g, args, nargsf, kwnames);
    const uint64_t took = sync_ticks() - begin;
    if (__builtin_expect(took >= SHORTEST, 0) && result &&
        sync_waits(g, args, core_vectorcall_nargs(nargsf)))
        sync_note(g->op, took);
    waiting = false;
    return result;
}

static PyObject *sync_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const struct sync_gate *g = (struct sync_gate *)self;
    const Py_ssize_t n = core_vectorcall_nargs(nargsf);
    if (waiting || !fp_enabled() || core_quiet || (n < 1 && g->kind != SYNC_ALWAYS))
        return sync_forward(g, args, nargsf, kwnames);
    PyObject *result;
    Py_INCREF(self); /* the original may take the gate off */
    if (g->kind == SYNC_TO || g->kind == SYNC_CUDA)
        result = sync_copy(g, args, nargsf, kwnames, n);
    else if (g->kind == SYNC_ALWAYS)
        result = sync_measured(g, g->op, args, nargsf, kwnames);
    else
        result = sync_perhaps(g, args, nargsf, kwnames);
    Py_DECREF(self);
    return result;
}

/* ---- the type ---- */

static PyObject *sync_get(PyObject *self, PyObject *obj, PyObject *type)
{
    (void)type;
    const struct sync_gate *g = (struct sync_gate *)self;
    if (!obj || obj == Py_None)
        return Py_NewRef(g->hidden ? g->original : self);
    return core_bind(self, self, obj);
}

/* Equal to the original and with its hash: torch keeps tables of its functions. */
static Py_hash_t sync_hash(PyObject *self)
{
    return PyObject_Hash(((struct sync_gate *)self)->original);
}

static PyObject *sync_compare(PyObject *self, PyObject *other, int how)
{
    if (how != Py_EQ && how != Py_NE)
        return Py_NewRef(Py_NotImplemented);
    const bool same = self == other || other == ((struct sync_gate *)self)->original;
    return PyBool_FromLong(same == (how == Py_EQ));
}

static const char *const sync_names[] = {"original", "op", "kind", "hidden", NULL};

static PyObject *sync_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *original;
    const char *op;
    int kind = SYNC_TENSOR, hidden = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os|ip", (char **)(uintptr_t)sync_names,
                                     &original, &op, &kind, &hidden))
        return NULL;
    if (kind < 0 || kind >= SYNC_KINDS || !PyCallable_Check(original)) {
        PyErr_SetString(PyExc_TypeError, "SyncGate: a callable, its name, and a kind of wait");
        return NULL;
    }
    const allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct sync_gate *g = (struct sync_gate *)alloc(type, 0);
    if (!g)
        return NULL;
    g->original = Py_NewRef(original);
    g->call = sync_call;
    g->kind = (enum sync_kind)kind;
    g->op = core_sync_op(op);
    g->hidden = hidden != 0;
    return (PyObject *)g;
}

static int sync_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct sync_gate *)self)->original);
    return 0;
}

/* No clear: a gate without an original could not be called. */
static void sync_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((struct sync_gate *)self)->weak)
        PyObject_ClearWeakRefs(self);
    Py_CLEAR(((struct sync_gate *)self)->original);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static int sync_set_words(void)
{
    const struct {
        PyObject **at;
        const char *text;
    } words[] = {
        {&torch.word_non_blocking, "non_blocking"},
        {&torch.word_device, "device"},
        {&torch.word_type, "type"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!*words[i].at && !(*words[i].at = PyUnicode_InternFromString(words[i].text)))
            return -1;
    torch.h2d_op = core_sync_op("h2d");
    return 0;
}

/* setup(describe): for waits that need no tensor. */
static PyObject *sync_setup(PyObject *self, PyObject *describe)
{
    (void)self;
    if (sync_set_words() != 0 || core_sync_places_setup(describe) != 0)
        return NULL;
    torch.tie_ticks = sync_ticks();
    torch.tie_ns = core_sync_clock(CLOCK_MONOTONIC);
    Py_RETURN_NONE;
}

/* setup_tensors((Tensor, TensorBase, Parameter, torch.device), (torch.bool, torch.uint8),
 * (DisableTorchFunction, _is_torch_function_mode_enabled or None), own, closed_by); TensorBase may
 * be None when it is not in C */
static PyObject *sync_setup_tensors(PyObject *self, PyObject *args)
{
    PyObject *tensor, *base, *parameter, *device, *bools, *bytes, *guard, *mode_enabled;
    unsigned own, closed_by;
    (void)self;
    if (!PyArg_ParseTuple(args, "(OOOO)(OO)(OO)II", &tensor, &base, &parameter, &device, &bools,
                          &bytes, &guard, &mode_enabled, &own, &closed_by))
        return NULL;
    if (!PyType_Check(tensor) || !PyType_Check(parameter) || !PyType_Check(device)) {
        PyErr_SetString(PyExc_TypeError, "setup_tensors takes types");
        return NULL;
    }
    if (core_property_set(&torch.is_cuda, tensor, "is_cuda") != 0 ||
        core_property_set(&torch.dtype, tensor, "dtype") != 0)
        return NULL;
    if (core_property_set(&torch.nbytes, tensor, "nbytes") != 0)
        PyErr_Clear(); /* then h2d has no bytes */
    sync_take(&torch.masks[0], bools);
    sync_take(&torch.masks[1], bytes);
    if (PyType_Check(base))
        torch.subscript = (binaryfunc)PyType_GetSlot((PyTypeObject *)base, Py_mp_subscript);
    torch.device = (PyTypeObject *)Py_NewRef(device);
    torch.parameter = (PyTypeObject *)Py_NewRef(parameter);
    torch.guard = core_or_null(guard);
    torch.mode_enabled = NULL;
    if (PyObject_TypeCheck(mode_enabled, &PyCFunction_Type) &&
        PyCFunction_GetFlags(mode_enabled) == METH_NOARGS)
        torch.mode_enabled = PyCFunction_GetFunction(mode_enabled); /* looks at no argument */
    torch.h2d = fp_intern("h2d");
    torch.h2d_own = own;
    torch.h2d_closed_by = closed_by;
    torch.tensor = (PyTypeObject *)Py_NewRef(tensor);
    Py_RETURN_NONE;
}

/* In the child of a fork: what was counted is the parent's. */
static PyObject *sync_reset(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    core_sync_places_reset();
    Py_RETURN_NONE;
}

/* Functions in C define how they are pickled; others are pickled by name. */
static PyObject *sync_reduce(PyObject *self, PyObject *none)
{
    PyObject *original = ((struct sync_gate *)self)->original;
    if (PyObject_TypeCheck(original, &PyCFunction_Type))
        return PyObject_CallMethod(original, "__reduce__", NULL);
    return core_looks_reduce(self, none);
}

static PyMethodDef sync_methods[] = {
    {"setup", sync_setup, METH_O | METH_STATIC, NULL},
    {"setup_tensors", sync_setup_tensors, METH_VARARGS | METH_STATIC, NULL},
    {"reset", sync_reset, METH_NOARGS | METH_STATIC, NULL},
    {"__reduce__", sync_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef sync_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct sync_gate, weak), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct sync_gate, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef sync_getset[] = {
    CORE_LOOKS_GETSET,
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot sync_slots[] = {
    {Py_tp_new, (void *)sync_new},
    {Py_tp_call, (void *)PyVectorcall_Call},
    {Py_tp_descr_get, (void *)sync_get},
    {Py_tp_hash, (void *)sync_hash},
    {Py_tp_richcompare, (void *)sync_compare},
    {Py_tp_getattro, (void *)core_looks_getattr},
    {Py_tp_setattro, (void *)core_looks_setattr},
    {Py_tp_repr, (void *)core_looks_repr},
    {Py_tp_methods, sync_methods},
    {Py_tp_members, sync_members},
    {Py_tp_getset, sync_getset},
    {Py_tp_traverse, (void *)sync_traverse},
    {Py_tp_dealloc, (void *)sync_dealloc},
    {0, NULL},
};

PyType_Spec core_sync_spec = {
    .name = "footplate._core.SyncGate",
    .basicsize = sizeof(struct sync_gate),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = sync_slots,
};
