/* SPDX-License-Identifier: Apache-2.0 */
/* core_sync_places.c - how often and how long the program waited for the GPU, and where.
 *
 * A wait of SPAN_NS or more is a span `sync` on the thread's own line. Shorter ones are summed up
 * and emitted as `sync.short` when the next phase begins or ends. The places are cumulative
 * counters, `sync.calls OP FILE:LINE` and `sync.ns OP FILE:LINE`, emitted about once a second.
 *
 * The place is in the innermost frame that is neither a framework's nor ours. It is found by code
 * object and instruction: a line number has to be searched for in the function's line table, which
 * takes microseconds in a long function.
 *
 * All of this runs with the interpreter's lock held, which is what guards the table. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core_sync.h"

enum {
    SPAN_NS = 1000000,  /* a wait of this length is a span */
    MOST_PLACES = 64,   /* the rest is counted as one */
    MOST_OPS = 32,      /* names of operations */
    SITES = 512,        /* call sites and code objects in the hash table; a power of 2 */
    SITES_FILLED = 384, /* no more are added */
    MOST_FRAMES = 24,   /* that are searched for a frame of the program */
    MOST_NAME = 62,     /* of an event, in bytes */
    PULSE_NS = 1000000000,
};

fp_name core_sync_short_name;
_Thread_local uint64_t core_sync_short_ns __attribute__((tls_model("initial-exec")));

struct sync_place {
    fp_name calls_name, ns_name;
    uint64_t calls, ns;
    bool changed;
    int op, line;
    PyObject *file;
};

/* Where a code object waits: (code, instruction, operation) -> place. With the instruction -1 the
 * entry has the file that the code is of; NULL: a library's. */
struct sync_site {
    PyObject *code; /* a reference, so that its address stays its own; NULL: free */
    long lasti;
    int op;
    int place;
    PyObject *file;
};

static struct {
    struct sync_place places[MOST_PLACES + 1]; /* the last one: elsewhere */
    int n_places;
    struct sync_site sites[SITES];
    int n_sites;
    char ops[MOST_OPS][24];
    int n_ops;
    uint64_t flushed_ns, pulse_ns;
    PyObject *describe; /* called with a file's path: its name in messages; "" for a library */
    PyObject *word_lasti, *word_back, *word_filename;
    PyObject *second; /* called about once a second, at the end of a step */
    fp_name sync, cpu_process, cpu_thread, cpu_switches, cpu_delay;
} table;

int core_sync_op(const char *name)
{
    for (int i = 0; i < table.n_ops; i++)
        if (strcmp(table.ops[i], name) == 0)
            return i;
    if (table.n_ops == MOST_OPS)
        return MOST_OPS - 1;
    snprintf(table.ops[table.n_ops], sizeof table.ops[0], "%s", name);
    return table.n_ops++;
}

static struct sync_site *sync_find_site(PyObject *code, long lasti, int op)
{
    uintptr_t h = (uintptr_t)code >> 4;
    h = (h ^ ((uintptr_t)lasti * 31) ^ ((uintptr_t)op << 7)) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = h >> 55;; i++) {
        struct sync_site *s = &table.sites[i % SITES];
        if (!s->code || (s->code == code && s->lasti == lasti && s->op == op))
            return s;
    }
}

static struct sync_site *sync_add_site(struct sync_site *s, PyObject *code, long lasti, int op)
{
    s->code = Py_NewRef(code);
    s->lasti = lasti;
    s->op = op;
    table.n_sites++;
    return s;
}

static void sync_name_place(struct sync_place *p, const char *op, const char *where)
{
    char text[MOST_NAME + 1];
    snprintf(text, sizeof text, "sync.calls %s %s", op, where);
    p->calls_name = fp_intern(text);
    snprintf(text, sizeof text, "sync.ns %s %s", op, where);
    p->ns_name = fp_intern(text);
}

/* "file:line", the end of the path where there is no room for all of it. */
static void sync_where(char *out, size_t size, const char *file, int line, size_t room)
{
    char number[16];
    const int digits = snprintf(number, sizeof number, ":%d", line);
    const size_t left = room > (size_t)digits ? room - (size_t)digits : 1;
    size_t len = strlen(file);
    while (len > left) { /* without its first folders */
        const char *slash = memchr(file, '/', len);
        const char *next = slash ? slash + 1 : file + (len - left);
        len -= (size_t)(next - file);
        file = next;
    }
    snprintf(out, size, "%s%s", file, number);
}

static int sync_new_place(PyObject *file, int line, int op)
{
    for (int i = 0; i < table.n_places; i++) {
        const struct sync_place *p = &table.places[i];
        if (p->op == op && p->line == line && PyUnicode_Compare(p->file, file) == 0)
            return i;
    }
    const char *text = PyUnicode_AsUTF8AndSize(file, NULL);
    if (!text || table.n_places == MOST_PLACES) {
        PyErr_Clear();
        return MOST_PLACES;
    }
    char where[MOST_NAME + 1];
    sync_where(where, sizeof where, text, line,
               MOST_NAME - strlen("sync.calls  ") - strlen(table.ops[op]));
    struct sync_place *p = &table.places[table.n_places];
    sync_name_place(p, table.ops[op], where);
    p->op = op;
    p->line = line;
    p->file = Py_NewRef(file);
    return table.n_places++;
}

/* The file that a code object is of, as `describe` names it: a new reference, "" for a library,
 * NULL when it is not known. */
static PyObject *sync_describe(PyObject *code)
{
    PyObject *path = table.describe ? PyObject_GetAttr(code, table.word_filename) : NULL;
    PyObject *file = path ? PyObject_CallFunctionObjArgs(table.describe, path, NULL) : NULL;
    Py_XDECREF(path);
    if (file && !PyUnicode_Check(file))
        Py_CLEAR(file);
    if (!file)
        PyErr_Clear();
    return file;
}

/* What is known of a code object: its entry, or NULL when there is no room for one. */
static const struct sync_site *sync_code(PyObject *code)
{
    struct sync_site *s = sync_find_site(code, -1, 0);
    if (s->code)
        return s;
    if (table.n_sites >= SITES_FILLED)
        return NULL;
    PyObject *file = sync_describe(code);
    s = sync_find_site(code, -1, 0); /* describe is Python, and may itself have waited */
    if (s->code || table.n_sites >= SITES_FILLED) {
        Py_XDECREF(file);
        return s->code ? s : NULL;
    }
    sync_add_site(s, code, -1, 0);
    s->file = file && PyUnicode_GetLength(file) > 0 ? Py_NewRef(file) : NULL;
    Py_XDECREF(file);
    return s;
}

static long sync_lasti(PyObject *frame)
{
    PyObject *number = PyObject_GetAttr(frame, table.word_lasti);
    const long lasti = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    if (PyErr_Occurred())
        PyErr_Clear();
    return lasti;
}

/* The place of a call in a frame of the program's own. */
static int sync_place_in(PyFrameObject *frame, PyObject *code, PyObject *file, int op)
{
    const long lasti = sync_lasti((PyObject *)frame);
    struct sync_site *s = sync_find_site(code, lasti, op);
    if (s->code)
        return s->place;
    const int place = sync_new_place(file, PyFrame_GetLineNumber(frame), op);
    if (lasti >= 0 && table.n_sites < SITES_FILLED)
        sync_add_site(s, code, lasti, op)->place = place;
    return place;
}

/* The innermost frame that is neither torch's nor ours. */
static int sync_find_place(int op)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
    int place = MOST_PLACES;
    for (int depth = 0; frame && depth < MOST_FRAMES; depth++) {
        PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
        const struct sync_site *known = sync_code(code);
        const bool found = !known || known->file;
        if (known && known->file)
            place = sync_place_in((PyFrameObject *)frame, code, known->file, op);
        Py_DECREF(code);
        if (found)
            break;
        PyObject *back = PyObject_GetAttr(frame, table.word_back);
        Py_DECREF(frame);
        frame = back;
        if (frame == Py_None)
            Py_CLEAR(frame);
    }
    Py_XDECREF(frame);
    if (PyErr_Occurred())
        PyErr_Clear();
    return place;
}

static void sync_flush(uint64_t now)
{
    table.flushed_ns = now;
    for (int i = 0; i <= MOST_PLACES; i++) {
        struct sync_place *p = &table.places[i];
        if (!p->changed)
            continue;
        p->changed = false;
        if (!p->calls_name)
            sync_name_place(p, "any", "elsewhere");
        fp_counter(p->calls_name, (int64_t)p->calls);
        fp_counter(p->ns_name, (int64_t)p->ns);
    }
}

void core_sync_note(int op, uint64_t begin, uint64_t end)
{
    const uint64_t took = end - begin;
    if (took >= SPAN_NS) {
        core_sync_emit_short(); /* it was before this span */
        const uint64_t ago = core_sync_clock(CLOCK_MONOTONIC) - end;
        fp_span_past(table.sync, 0, took + ago, ago);
    } else {
        core_sync_short_ns += took;
    }
    struct sync_place *p = &table.places[sync_find_place(op)];
    p->calls++;
    p->ns += took;
    p->changed = true;
    if (end - table.flushed_ns >= PULSE_NS && gettid() == getpid()) /* all on one thread's line */
        sync_flush(end);
}

/* How long this thread has waited for a core, ns: the second number of its schedstat. */
static bool pulse_delay(int64_t *ns)
{
    char text[64];
    unsigned long long ran, waited;
    const int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%llu %llu", &ran, &waited) != 2)
        return false;
    *ns = (int64_t)waited;
    return true;
}

/* Python code of ours, about the other threads. What the program has raised stays as it is. */
static void pulse_call(void)
{
    if (!table.second || PyErr_Occurred())
        return;
    PyObject *done = PyObject_CallNoArgs(table.second);
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
}

static void pulse_emit(void)
{
    struct rusage use;
    int64_t waited;
    fp_counter(table.cpu_process, (int64_t)core_sync_clock(CLOCK_PROCESS_CPUTIME_ID));
    fp_counter(table.cpu_thread, (int64_t)core_sync_clock(CLOCK_THREAD_CPUTIME_ID));
    if (getrusage(RUSAGE_THREAD, &use) == 0)
        fp_counter(table.cpu_switches, use.ru_nvcsw);
    if (pulse_delay(&waited))
        fp_counter(table.cpu_delay, waited);
    pulse_call();
}

bool core_pulse(bool force)
{
    const uint64_t now = core_sync_clock(CLOCK_MONOTONIC);
    if (!table.pulse_ns && !force)
        table.pulse_ns = now;
    if ((!force && now - table.pulse_ns < PULSE_NS) || !fp_enabled())
        return false;
    if (!table.cpu_process) {
        table.cpu_process = fp_intern("cpu.process");
        table.cpu_thread = fp_intern("cpu.thread");
        table.cpu_switches = fp_intern("cpu.switches");
        table.cpu_delay = fp_intern("cpu.delay");
    }
    if (gettid() != getpid()) /* a step of another thread's says nothing about the main one */
        return false;
    table.pulse_ns = now;
    pulse_emit();
    sync_flush(now);
    return true;
}

void core_pulse_listen(PyObject *second)
{
    PyObject *old = table.second;
    table.second = Py_NewRef(second);
    Py_XDECREF(old);
}

int core_sync_places_setup(PyObject *describe)
{
    const struct {
        PyObject **at;
        const char *text;
    } words[] = {
        {&table.word_lasti, "f_lasti"},
        {&table.word_back, "f_back"},
        {&table.word_filename, "co_filename"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!*words[i].at && !(*words[i].at = PyUnicode_InternFromString(words[i].text)))
            return -1;
    PyObject *old = table.describe;
    table.describe = Py_NewRef(describe);
    Py_XDECREF(old);
    table.sync = fp_intern("sync");
    core_sync_short_name = fp_intern("sync.short");
    return 0;
}

void core_sync_places_reset(void)
{
    for (int i = 0; i <= MOST_PLACES; i++) {
        table.places[i].calls = table.places[i].ns = 0;
        table.places[i].changed = false;
    }
    core_sync_short_ns = 0;
    table.pulse_ns = 0;
}
