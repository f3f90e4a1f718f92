/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - see trace.h. */
#include "query/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/steps.h"

/* ---- names ---- */

void op_names_open(struct op_names *t)
{
    memset(t, 0, sizeof *t);
}

void op_names_close(struct op_names *t)
{
    free(t->v);
    hash_free(&t->index);
    arena_free(&t->arena);
    memset(t, 0, sizeof *t);
}

void op_names_turn(struct op_names *t)
{
    memset(t->near, 0, sizeof t->near);
}

/* FNV-1a, then mixed so that the low bits depend on all. */
static uint64_t op_names_hash(const char *s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001B3u;
    return h ^ h >> 32;
}

uint32_t op_names_look(struct op_names *t, const char *text)
{
    const uint64_t hash = op_names_hash(text);
    const uint32_t at = HASH_FIND(&t->index, hash, i, strcmp(t->v[i].text, text) == 0);
    if (at)
        return at - 1;
    *VEC_ADD(t->v, t->n, t->cap) =
        (struct op_name){arena_strdup(&t->arena, text), name_sense(text), event_find(text)};
    hash_add(&t->index, hash, t->n);
    return t->n - 1;
}

/* ---- launches ----
 *
 * Links are counted up as calls are made: what a thread adds is nearly sorted already. */

static bool launches_in_order(const void *a, const void *b)
{
    const struct launch *x = a, *y = b;
    return x->link <= y->link;
}

void launches_add(struct launches *l, const struct launch *one)
{
    if (one->link == 0 || l->n >= UINT32_MAX / 2)
        return;
    if (l->n == 0 || !launches_in_order(&l->v[l->n - 1], one))
        sorted_runs_add(&l->runs, l->n);
    *VEC_ADD(l->v, l->n, l->cap) = *one;
}

void launches_index(struct launches *l)
{
    sorted_runs_merge(&l->runs, l->v, l->n, sizeof *l->v, launches_in_order);
    l->n_sorted = l->n;
}

const struct launch *launches_find(const struct launches *l, uint64_t link)
{
    const size_t at = SEARCH_FIRST(i, 0, l->n_sorted, l->v[i].link < link);
    return link && at < l->n_sorted && l->v[at].link == link ? &l->v[at] : NULL;
}

void launches_clear(struct launches *l)
{
    l->n = l->runs.n = l->n_sorted = 0;
}

void launches_free(struct launches *l)
{
    free(l->v);
    sorted_runs_free(&l->runs);
    *l = (struct launches){0};
}

/* ---- roles ---- */

enum role host_role(const struct event *v, unsigned sense)
{
    if (v->kind != EVENT_SPAN || sense & (NAME_STEP | NAME_MODULE))
        return ROLE_OTHER;
    switch (v->category) {
    case CAT_RUNTIME:
    case CAT_SYNC: /* a call that waits is a call */
        return ROLE_RUNTIME;
    case CAT_LOADER:
        return ROLE_LOADER;
    case CAT_COMM:
        return ROLE_COMM;
    case CAT_OP:
    case CAT_USER:
        return sense & NAME_LOADER ? ROLE_LOADER : sense & NAME_COMM_OP ? ROLE_COMM : ROLE_CPU;
    default:
        return ROLE_OTHER;
    }
}

enum role device_role(const struct event *v, unsigned sense)
{
    if (v->kind != EVENT_SPAN)
        return ROLE_OTHER;
    switch (v->category) {
    case CAT_MEMCPY:
        return ROLE_MEMCPY;
    case CAT_MEMSET:
        return ROLE_MEMSET;
    case CAT_COMM:
        return ROLE_COMM;
    case CAT_KERNEL:
        return sense & NAME_COMM_KERNEL ? ROLE_COMM
               : sense & NAME_MEMCPY    ? ROLE_MEMCPY
               : sense & NAME_MEMSET    ? ROLE_MEMSET
                                        : ROLE_KERNEL;
    default:
        return ROLE_OTHER;
    }
}

uint32_t track_device(const struct track *t)
{
    return (uint32_t)(t->id >> 32);
}

/* ---- groups of kernels ---- */

enum { NAME_MOST = 4096 }; /* of longer names only so much is read */

const char *const kernel_group_names[] = {
    [GROUP_MATMUL] = "matmul",
    [GROUP_ATTENTION] = "attention",
    [GROUP_CONVOLUTION] = "convolution",
    [GROUP_ELEMENTWISE] = "elementwise",
    [GROUP_REDUCTION] = "reduction",
    [GROUP_OPTIMIZER] = "optimizer",
    [GROUP_COPY] = "copy",
    [GROUP_COMMUNICATION] = "communication",
    [GROUP_OTHER] = "other",
    NULL,
};

static const struct {
    enum kernel_group group;
    const char *text;
} patterns[] = {
#define GROUP(group, text) {GROUP_##group, text},
#include "query/kernel_groups.def"
#undef GROUP
};

static bool pattern_matches(const char *pattern, const char *name)
{
    if (*pattern == '^')
        return strncasecmp(name, pattern + 1, strlen(pattern + 1)) == 0;
    return strcasestr(name, pattern) != NULL;
}

enum kernel_group kernel_group_of(const char *name, enum event_category c)
{
    char plain[NAME_MOST];
    if (c == CAT_MEMCPY || c == CAT_MEMSET)
        return GROUP_COPY;
    if (c == CAT_COMM)
        return GROUP_COMMUNICATION;
    name_without_parameters(name, plain, sizeof plain);
    const size_t at = FIND_FIRST(i, COUNT_OF(patterns), pattern_matches(patterns[i].text, plain));
    return at < COUNT_OF(patterns) ? patterns[at].group : GROUP_OTHER;
}

/* ---- tracks ---- */

/* Those of a run that are read. */
struct trace_tracks {
    struct run_track *v;
    size_t n;
};

/* ---- ranks ---- */

static int trace_by_process(const void *a, const void *b)
{
    const struct run_process *x = ((const struct rank_steps *)a)->process;
    const struct run_process *y = ((const struct rank_steps *)b)->process;
    return COMPARE(x->pid, y->pid) ?: COMPARE(x->session, y->session) ?: strcmp(x->node, y->node);
}

/* The number that its steps are counted under; -1: it has none. `v` is sorted. */
static int64_t trace_rank_in(const struct rank_steps *v, size_t n, const struct run_process *p)
{
    const struct rank_steps key = {.process = p};
    const struct rank_steps *found = n ? bsearch(&key, v, n, sizeof *v, trace_by_process) : NULL;
    return found ? found->rank : -1;
}

static bool trace_is_nameless(const struct run_process *p)
{
    return p->rank < 0 && p->worker < 0;
}

/* Whether the track is the first of its process; those of one process lie together. */
static bool trace_is_first(const struct trace_tracks *t, size_t i)
{
    return i == 0 || t->v[i].process != t->v[i - 1].process;
}

/* Processes that did not report their rank get the one that their steps have. One that is alone is
 * rank 0, with steps or without. */
static int trace_number_ranks(struct run *r, struct arena *a, struct trace_tracks *t, struct err *e)
{
    struct rank_steps *v = NULL;
    size_t n = 0, processes = 0, nameless = 0;
    for (size_t i = 0; i < t->n; i++) {
        processes += trace_is_first(t, i) && t->v[i].process->worker < 0;
        nameless += trace_is_first(t, i) && trace_is_nameless(t->v[i].process);
    }
    if (nameless == 0)
        return 0;
    const int rc = processes > 1 ? steps_read(r, a, &v, &n, e) : 0;
    if (rc == 0)
        SORT(v, n, trace_by_process);
    const struct run_process *old = NULL;
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        const struct run_process *p = t->v[i].process;
        if (trace_is_nameless(p) && p != old) {
            struct run_process *own = arena_array(a, struct run_process, 1);
            *own = *p;
            own->rank = processes > 1 ? trace_rank_in(v, n, p) : 0;
            t->v[i].process = own;
        } else if (p == old) {
            t->v[i].process = t->v[i - 1].process;
        }
        old = p;
    }
    return rc;
}

/* ---- what is read ---- */

static bool trace_wanted(const struct trace_ask *ask, const struct run_process *p)
{
    return !ask->one_rank || p->rank == ask->rank;
}

bool track_is_profile(const struct run_track *t)
{
    return text_starts(t->track.name, PROFILE_TRACK_NAME);
}

bool track_is_stacks(const struct run_track *t)
{
    return text_starts(t->track.name, STACKS_TRACK_NAME);
}

/* Whether any wanted process has detail. */
static bool has_detail(const struct trace_tracks *t, const struct trace_ask *ask)
{
    return FIND_ANY(i, t->n,
                    t->v[i].detail && !track_is_profile(&t->v[i]) &&
                        trace_wanted(ask, t->v[i].process));
}

static bool has_any(const struct trace_tracks *t, const struct trace_ask *ask)
{
    return FIND_ANY(i, t->n, trace_wanted(ask, t->v[i].process));
}

/* Leaves those of the wanted processes: profiles, or others with or without detail. */
static void trace_choose(struct trace_tracks *t, const struct trace_ask *ask, bool detail)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct run_track *x = &t->v[i];
        const bool profile = track_is_profile(x);
        if (trace_wanted(ask, x->process) && profile == ask->functions &&
            (profile || x->detail == detail))
            t->v[kept++] = *x;
    }
    t->n = kept;
}

static int find_tracks(struct run *r, const struct trace_ask *ask, struct arena *a,
                       struct trace_tracks *out, struct err *e)
{
    TRY(events_tracks(r, a, &out->v, &out->n, e));
    TRY(trace_number_ranks(r, a, out, e));
    if (ask->one_rank && !has_any(out, ask))
        return err_set(e, ERR_NOT_FOUND, "run '%s' has no events of rank %lld",
                       run_get_info(r)->name, (long long)ask->rank);
    trace_choose(out, ask, !ask->hooks && has_detail(out, ask));
    return 0;
}

static int read_track(struct event_flow *flow, struct run *r, const struct run_track *t,
                      const struct trace_sink *sink, void *to, struct err *e)
{
    const struct flow_window all = {{0}, {0}};
    const struct run_event *v;
    struct arena texts = {0};
    const int rc = event_flow_track(flow, r, t, &all, &texts, e);
    if (rc == 0) {
        sink->track(to, t);
        for (size_t n; (n = event_flow_next(flow, &v)) > 0;)
            sink->events(to, v, n);
        if (sink->track_end)
            sink->track_end(to);
    }
    arena_free(&texts);
    return rc;
}

static int read_tracks(struct run *r, const struct trace_tracks *t, const struct trace_sink *sink,
                       void *to, struct err *e)
{
    struct event_flow *flow = event_flow_open(&sink->want);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        const struct run_process *p = t->v[i].process;
        if (sink->begin && (i == 0 || t->v[i - 1].process != p))
            sink->begin(to, p);
        rc = read_track(flow, r, &t->v[i], sink, to, e);
        if (rc == 0 && sink->end && (i + 1 == t->n || t->v[i + 1].process != p))
            sink->end(to);
    }
    event_flow_close(flow);
    return rc;
}

int trace_read(struct run *r, const struct trace_ask *ask, const struct trace_sink *sink, void *to,
               struct err *e)
{
    struct arena a = {0};
    struct trace_tracks t = {0};
    int rc = find_tracks(r, ask, &a, &t, e);
    if (rc == 0)
        rc = read_tracks(r, &t, sink, to, e);
    arena_free(&a);
    return rc;
}
