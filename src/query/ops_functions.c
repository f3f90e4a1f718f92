/* SPDX-License-Identifier: Apache-2.0 */
/* ops_functions.c - see ops_functions.h. A window and its functions begin together on a track, in
 * any order; windows of one track have different begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/ops.h"
#include "query/steps.h"
#include "query/trace.h"

enum { TIMER_LEN = 32 };

/* Between phase, timer and function, as they are looked up together. */
#define PART "\x1f"

struct sum {
    uint64_t calls;
    int64_t self_ns, total_ns;
};

/* Of the window at hand; the name stays until the track's end. */
struct functions_told {
    const char *name;
    struct sum sum;
};

struct functions {
    struct op_names names;
    struct sum *sums; /* by number of the name */
    uint32_t cap_sums;
    char phase[TRACK_NAME_LEN], timer[TIMER_LEN];
    int64_t at;  /* of the window */
    bool stacks; /* the track has those, which are no functions */
    struct functions_told *told;
    size_t n_told, cap_told;
};

/* ---- arguments: "key=value" lines ---- */

static const char *arg_find(const char *args, const char *key)
{
    const size_t len = strlen(key);
    for (const char *at = args; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        if (strncmp(at, key, len) == 0 && at[len] == '=')
            return at + len + 1;
    return "";
}

static void arg_copy(const char *args, const char *key, char *out, size_t size)
{
    const char *at = arg_find(args, key);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

/* ---- windows ---- */

static void functions_end_window(void *to)
{
    struct functions *f = to;
    for (size_t i = 0; i < f->n_told; i++) {
        char key[TRACK_NAME_LEN + TIMER_LEN + EVENT_NAME_MOST + 2];
        snprintf(key, sizeof key, "%s" PART "%s" PART "%s", f->phase, f->timer, f->told[i].name);
        const uint32_t name = op_names_look(&f->names, key);
        OP_NAMES_ROOM(f->sums, f->cap_sums, name);
        struct sum *s = &f->sums[name];
        s->calls += f->told[i].sum.calls;
        s->self_ns += f->told[i].sum.self_ns;
        s->total_ns += f->told[i].sum.total_ns;
    }
    f->n_told = 0;
    f->timer[0] = '\0';
}

static void functions_tell(struct functions *f, const struct event *v)
{
    const char *args = v->args ? v->args : "";
    const double total_s = strtod(arg_find(args, "total_s"), NULL);
    VEC_ROOM(f->told, f->cap_told, f->n_told + 1);
    const bool fits = total_s > 0 && total_s < 1e9;
    f->told[f->n_told++] = (struct functions_told){
        v->name,
        {(uint64_t)MAX_OF(v->value, 0), v->dur_ns,
         fits ? MAX_OF((int64_t)(total_s * 1e9), v->dur_ns) : v->dur_ns},
    };
}

/* ---- the sink ---- */

static void functions_track(void *to, const struct run_track *t)
{
    struct functions *f = to;
    const char *phase = t->track.name + strlen(PROFILE_TRACK_NAME);
    snprintf(f->phase, sizeof f->phase, "%s", text_starts(phase, ": ") ? phase + 2 : "");
    f->at = INT64_MIN;
    f->stacks = track_is_stacks(t);
}

static void functions_events(void *to, const struct run_event *v, size_t n)
{
    struct functions *f = to;
    for (size_t i = 0; i < n && !f->stacks; i++) {
        const struct event *x = &v[i].event;
        if (x->at.ns != f->at)
            functions_end_window(f);
        f->at = x->at.ns;
        if (x->category == CAT_PYTHON)
            functions_tell(f, x);
        else if (x->args)
            arg_copy(x->args, "timer", f->timer, sizeof f->timer);
    }
}

static const struct trace_sink sink = {
    .track = functions_track,
    .events = functions_events,
    .track_end = functions_end_window,
    .want = {.value = true, .args_of = UINT64_MAX},
};

/* ---- rows ---- */

/* Key is "phase PART timer PART function"; it is the row's own. */
static struct op_row functions_row_of(char *key, const struct sum *s)
{
    char *timer = strstr(key, PART), *name = strstr(timer + 1, PART);
    *timer = *name = '\0';
    return (struct op_row){.device = OP_CPU,
                           .category = CAT_PYTHON,
                           .name = name + 1,
                           .full = name + 1,
                           .phase = key,
                           .timer = timer + 1,
                           .calls = s->calls,
                           .self_ns = s->self_ns,
                           .total_ns = s->total_ns};
}

/* The whole window first, then phases as they come in a step. */
static size_t functions_place_of(const char *phase)
{
    size_t i = 0;
    while (i < step_parts() && strcmp(step_part_name(i), phase) != 0)
        i++;
    return *phase ? i + 1 : 0;
}

bool function_timer_is_clock(const char *timer)
{
    return !*timer || strcmp(timer, "total_time") == 0 || strcmp(timer, "default") == 0;
}

static int by_group(const struct op_row *x, const struct op_row *y)
{
    const size_t a = functions_place_of(x->phase), b = functions_place_of(y->phase);
    if (a != b)
        return a < b ? -1 : 1;
    const int c = strcmp(x->phase, y->phase),
              d = function_timer_is_clock(y->timer) - function_timer_is_clock(x->timer);
    return c ? c : d ? d : strcmp(x->timer, y->timer);
}

static int by_place(const void *a, const void *b)
{
    const struct op_row *x = a, *y = b;
    const int c = by_group(x, y);
    if (c || x->self_ns == y->self_ns)
        return c ? c : strcmp(x->name, y->name);
    return x->self_ns > y->self_ns ? -1 : 1;
}

static void functions_fill_shares(struct op_row *v, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        double sum = 0;
        for (end = i; end < n && by_group(&v[end], &v[i]) == 0; end++)
            sum += (double)v[end].self_ns;
        for (size_t k = i; k < end; k++)
            v[k].share = sum > 0 ? (double)v[k].self_ns / sum : 0;
    }
}

int functions_read(struct run *r, const struct trace_ask *ask, struct arena *a, struct op_row **out,
                   size_t *n, struct err *e)
{
    struct functions *f = xcalloc(1, sizeof *f);
    struct trace_ask profiles = *ask;
    profiles.functions = true;
    op_names_open(&f->names);
    const int rc = trace_read(r, &profiles, &sink, f, e);
    *n = f->names.n;
    *out = arena_array(a, struct op_row, *n);
    for (uint32_t i = 0; i < f->names.n; i++)
        (*out)[i] = functions_row_of(arena_strdup(a, f->names.v[i].text), &f->sums[i]);
    if (*n)
        qsort(*out, *n, sizeof **out, by_place);
    functions_fill_shares(*out, *n);
    op_names_close(&f->names);
    free(f->sums);
    free(f->told);
    free(f);
    return rc;
}
