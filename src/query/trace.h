/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - what operators, breakdowns and the timeline share: which tracks of a run are read, what
 * an event is, names as numbers, and which call launched what. */
#ifndef QUERY_TRACE_H
#define QUERY_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "query/events.h"
#include "query/intervals.h"
#include "record/event.h"
#include "store/event_columns.h"

/* ---- tracks: process by process, threads before devices ----
 *
 * Where a process has detail (a profiler's window, a trace file) only that counts, and no process
 * that has none: hook events of the same time would be counted twice, and those of the whole run do
 * not compare with a few steps. No track is ever in memory as a whole. */

struct trace_ask {
    bool one_rank;
    int64_t rank;   /* when one_rank */
    bool functions; /* the profiles of Python functions, and nothing else; else all but those */
    bool hooks;     /* what hooks recorded, and no detail, even where there is some */
};

/* How the names of their tracks begin. */
#define PROFILE_TRACK_NAME "python profile"
bool track_is_profile(const struct run_track *t);
/* Of sampled stacks, which are profiles, too. */
#define STACKS_TRACK_NAME PROFILE_TRACK_NAME " stacks"
bool track_is_stacks(const struct run_track *t);

/* begin, track_end and end may be NULL. */
struct trace_sink {
    void (*begin)(void *to, const struct run_process *p);
    void (*track)(void *to, const struct run_track *t);
    /* Of that track, sorted by begin, the longer one first, in any number of calls; they are not
     * valid after the call, their texts with the track. */
    void (*events)(void *to, const struct run_event *v, size_t n);
    void (*track_end)(void *to);
    void (*end)(void *to);
    struct event_want want;
};

/* ERR_NOT_FOUND when the run has no such rank. */
MUST_CHECK int trace_read(struct run *r, const struct trace_ask *ask, const struct trace_sink *sink,
                          void *to, struct err *e);

/* ---- roles: by the category of an event, and by its name where that is not enough ---- */

/* Roles of time in a step, in order of priority; what is left is ROLE_OTHER. */
enum role {
    ROLE_KERNEL,
    ROLE_MEMCPY,
    ROLE_MEMSET,
    ROLE_COMM,
    ROLE_RUNTIME,
    ROLE_LOADER,
    ROLE_CPU,
    ROLE_OTHER,
    ROLE_N
};

/* `sense` is that of its name. ROLE_OTHER: it plays none. */
enum role host_role(const struct event *v, unsigned sense);
enum role device_role(const struct event *v, unsigned sense);

/* Of a device's track. */
uint32_t track_device(const struct track *t);

/* ---- names of events as small numbers, with their meaning (record/event.h) ----
 *
 * Events of a block share their texts, so a text is looked up by its address first and compared
 * only the first time. op_names_turn forgets addresses; call it before texts of other memory come.
 */

enum { OP_NAMES_NEAR = 4096 }; /* addresses cached */

struct op_name {
    const char *text; /* in the table's arena */
    unsigned sense;
    enum event_id hook; /* the event of hooks that has this name; EV_N: none */
};

struct op_names {
    struct arena arena;
    struct op_name *v;
    uint32_t n, cap;
    struct hash_index index;
    struct {
        const char *text;
        uint32_t id;
    } near[OP_NAMES_NEAR];
};

void op_names_open(struct op_names *t);
void op_names_close(struct op_names *t);
void op_names_turn(struct op_names *t);
/* The number of a text that was not found by its address. */
uint32_t op_names_look(struct op_names *t, const char *text);

static inline uint32_t op_names_id(struct op_names *t, const char *text)
{
    const uint64_t spread = (uint64_t)(uintptr_t)text * 0x9E3779B97F4A7C15u;
    const size_t at = (size_t)(spread >> 52) % OP_NAMES_NEAR;
    if (t->near[at].text != text) {
        t->near[at].id = op_names_look(t, text);
        t->near[at].text = text;
    }
    return t->near[at].id;
}

/* Room in a table by number of the name; new items are zero. */
#define OP_NAMES_ROOM(items, cap, id)                                                              \
    do {                                                                                           \
        const size_t had_ = (cap);                                                                 \
        VEC_ROOM(items, cap, (id) + 1);                                                            \
        memset((items) + had_, 0, ((cap)-had_) * sizeof *(items));                                 \
    } while (0)

static inline unsigned op_names_sense(struct op_names *t, const char *text)
{
    const uint32_t id = op_names_id(t, text); /* may move t->v */
    return t->v[id].sense;
}

/* ---- launches: which call launched what ran on a device, by their link ----
 *
 * Any number of launches_add, launches_index once, then launches_find; launches_clear before the
 * next process. `struct launches l = {0};` is empty. */

struct launch {
    uint64_t link;
    int64_t begin, end; /* of the call; wall ns */
    uint32_t owner;     /* whatever the caller stores there */
};

struct launches {
    struct launch *v;
    size_t n, cap;
    struct sorted_runs runs;
    size_t n_sorted; /* by link: all, once launches_index was called */
};

/* A link of 0 ties nothing and is left out. */
void launches_add(struct launches *l, const struct launch *one);
void launches_index(struct launches *l);
/* The first call with this link; NULL: there is none. */
const struct launch *launches_find(const struct launches *l, uint64_t link);
void launches_clear(struct launches *l);
void launches_free(struct launches *l);

/* ---- groups: what kind of work a kernel does, by its name (kernel_groups.def) ---- */

enum kernel_group {
    GROUP_MATMUL,
    GROUP_ATTENTION,
    GROUP_CONVOLUTION,
    GROUP_ELEMENTWISE,
    GROUP_REDUCTION,
    GROUP_OPTIMIZER,
    GROUP_COPY,
    GROUP_COMMUNICATION,
    GROUP_OTHER,
    GROUP_N
};

/* "matmul", ...; ends with NULL. */
extern const char *const kernel_group_names[];

/* Of an operation on a device, by its whole name, mangled or not. */
enum kernel_group kernel_group_of(const char *name, enum event_category c);

#endif
