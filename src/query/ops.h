/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - operators: how often each ran, how long, and what it made the device do.
 *
 * On a thread spans nest. At any moment the time counts for the span that began last and still
 * runs: its own (self) time. For spans that nest that is the usual definition; for broken data it
 * still counts every moment once. The total of a name counts its outermost spans only, so that
 * recursion does not count twice. What ran on a device counts for the operator around the call that
 * launched it (by link), and in the totals of all that are around that one. By module, what a
 * backward operator launched on a separate thread counts for the module that called the forward
 * one, where the profiler tied the two (Kineto's fwdbwd arrows). Spans of the hooks (forward, data)
 * are not operators and do not count.
 *
 * ops_open, then for each process ops_process, its tracks (threads before devices) and
 * ops_process_end, then ops_rows; or ops_read, which does all that for a run. A track is
 * ops_track_begin, any number of ops_events, ops_track_end; or ops_track for all of it. */
#ifndef QUERY_OPS_H
#define QUERY_OPS_H

#include "query/trace.h"

enum op_device { OP_CPU, OP_GPU };

enum ops_by {
    OPS_BY_NAME,     /* operators, calls of the runtime, spans of the user; kernels, copies */
    OPS_BY_MODULE,   /* modules of the model and spans of the user, the rest within them */
    OPS_BY_FUNCTION, /* functions of Python, where they were profiled */
    OPS_BY_GROUP,    /* kinds of work on the devices: kernel_groups.def */
};

struct op_row {
    enum op_device device;
    enum event_category category;
    enum kernel_group group; /* of what ran on a device, by name or by group */
    const char *name;        /* for people; of kernels shortened */
    const char *full;
    /* Of functions: "" is the whole window, or not known; else NULL. */
    const char *phase, *timer;
    uint64_t calls;
    int64_t self_ns, total_ns;
    int64_t device_self_ns;  /* CPU: of what it launched itself; GPU: as self_ns */
    int64_t device_total_ns; /* and of what was launched within it */
    double share;            /* of all self time of the same device, before any limit; 0..1 */
};

struct ops_ask {
    struct trace_ask trace;
    enum ops_by by;
};

struct ops;

struct ops *ops_open(enum ops_by by);
void ops_close(struct ops *o);
/* The functions of a trace_sink; what they get is a struct ops. */
void ops_process(void *ops, const struct run_process *p);
void ops_track_begin(void *ops, const struct run_track *t);
/* Sorted by begin, the longer one first. Texts must stay until the end of the track. */
void ops_events(void *ops, const struct run_event *v, size_t n);
void ops_track_end(void *ops);
void ops_track(struct ops *o, const struct run_track *t, const struct run_event *v, size_t n);
void ops_process_end(void *ops);
/* Longest self time first; rows and texts live in the arena. */
void ops_rows(const struct ops *o, struct arena *a, struct op_row **out, size_t *n);

/* Whether a row is something that only a profiler records; else it is a span of the program. */
bool op_row_is_detail(const struct op_row *r);

MUST_CHECK int ops_read(struct run *r, const struct ops_ask *ask, struct arena *a,
                        struct op_row **out, size_t *n, struct err *e);

/* ---- Python functions of profiled windows ----
 *
 * Where the time went, in the whole window and in each phase of its steps. Windows of all processes
 * are added up, except those that were timed by different clocks: a second of CPU time and a second
 * of waiting cannot be added. */

/* Rows with `phase` and `timer`: by phase, then by timer, then the longest self time first. `share`
 * is of their phase and timer. */
MUST_CHECK int functions_read(struct run *r, const struct trace_ask *ask, struct arena *a,
                              struct op_row **out, size_t *n, struct err *e);
/* Whether it is the time that passed, as when no timer was named and as samples have it. */
bool function_timer_is_clock(const char *timer);

/* ---- sampled stacks of Python: a flame graph ----
 *
 * Stacks of all windows and processes in one tree. */

struct stack_row {
    const char *name;
    uint32_t depth; /* 0: nothing called it */
    int64_t self_ns, total_ns;
};

/* Callers before callees, the longest first. */
MUST_CHECK int stacks_read(struct run *r, const struct trace_ask *ask, struct arena *a,
                           struct stack_row **out, size_t *n, struct err *e);

#endif
