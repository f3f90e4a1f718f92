/* SPDX-License-Identifier: Apache-2.0 */
/* event_open.c - see event_open.h. */
#include "store/event_open.h"

#include <stdlib.h>

#include "base/mem.h"

/* ---- when a process was last seen ---- */

static int by_pid(const void *a, const void *b)
{
    const struct process_last *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

void open_events_begin(struct open_events *o, const struct segment *s)
{
    uint32_t n = 0;
    *o = (struct open_events){0};
    o->processes = xcalloc(s->n_tracks + 1u, sizeof *o->processes);
    for (uint32_t i = 0; i < s->n_tracks; i++)
        o->processes[i] = (struct process_last){s->tracks[i].pid, s->tracks[i].last};
    qsort(o->processes, s->n_tracks, sizeof *o->processes, by_pid);
    for (uint32_t i = 0; i < s->n_tracks; i++) {
        const struct process_last one = o->processes[i];
        if (n && o->processes[n - 1].pid == one.pid)
            o->processes[n - 1].last = MAX_OF(o->processes[n - 1].last, one.last);
        else
            o->processes[n++] = one;
    }
    o->n_processes = n;
}

void open_events_end(struct open_events *o)
{
    free(o->processes);
    free(o->v);
}

/* ---- one track ---- */

/* Same kind, name and begin; modes, categories and ends may differ. */
static int event_open_by_begin(const void *a, const void *b)
{
    const struct open_event *x = a, *y = b;
    const unsigned kind_x = what_part(x->what, 0, WHAT_KIND_BITS);
    const unsigned kind_y = what_part(y->what, 0, WHAT_KIND_BITS);
    if (x->at != y->at)
        return x->at > y->at ? 1 : -1;
    if (x->name != y->name)
        return x->name > y->name ? 1 : -1;
    return (kind_x > kind_y) - (kind_x < kind_y);
}

static struct open_event *event_open_find(const struct open_events *o, const struct bare_event *v)
{
    const struct open_event key = {.at = v->at, .name = v->name, .what = v->what};
    return o->n ? bsearch(&key, o->v, o->n, sizeof *o->v, event_open_by_begin) : NULL;
}

static bool is_open(const struct bare_event *v)
{
    return what_end(v->what) == END_OPEN;
}

/* Those told as open, each once. */
static void list_open(struct open_events *o, const struct segment *s, const struct seg_track *t)
{
    struct event_cur c = segment_events(t);
    struct bare_event v;
    uint32_t n = 0;
    o->n = 0;
    o->v = xrealloc(o->v, t->open, sizeof *o->v);
    while (segment_event(s, &c, &v))
        if (is_open(&v))
            o->v[n++] = (struct open_event){.at = v.at, .name = v.name, .what = v.what};
    qsort(o->v, n, sizeof *o->v, event_open_by_begin);
    for (uint32_t i = 0; i < n; i++)
        if (o->n == 0 || event_open_by_begin(&o->v[o->n - 1], &o->v[i]) != 0)
            o->v[o->n++] = o->v[i];
}

void open_events_track(struct open_events *o, const struct segment *s, const struct seg_track *t)
{
    struct event_cur c = segment_events(t);
    struct bare_event v;
    o->n = 0;
    if (t->open == 0)
        return;
    const struct process_last key = {.pid = t->pid}, *p;
    p = bsearch(&key, o->processes, o->n_processes, sizeof key, by_pid);
    o->last = p->last;
    list_open(o, s, t);
    while (segment_event(s, &c, &v)) {
        struct open_event *one = is_open(&v) ? NULL : event_open_find(o, &v);
        if (one)
            one->done = true;
    }
}

bool open_events_show(struct open_events *o, struct bare_event *v)
{
    if (!is_open(v))
        return true;
    struct open_event *one = event_open_find(o, v);
    if (one->done)
        return false;
    one->done = true;
    v->dur = o->last - v->at;
    return true;
}
