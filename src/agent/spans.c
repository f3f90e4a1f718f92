/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c - see jobevents.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jobevents.h"
#include "base/file.h"
#include "base/mem.h"

enum {
    DEPTH_MOST = 256,   /* spans of a thread that are open at once */
    THREADS_MOST = 512, /* of a process; thread ids are used again, their tracks too */
    LANES_MOST = 256,
    BATCH = 512,
};

struct open_span {
    struct event event; /* with END_OPEN */
    bool reported;
};

struct thread {
    struct track track;
    struct open_span open[DEPTH_MOST];
    uint32_t depth;
    uint32_t too_deep; /* begins that found no room: as many ends will match nothing */
    mono_ns last;
    mono_ns past; /* begin of the past span whose end comes next */
    struct health_lane health;
};

struct process_spans {
    uint32_t pid;
    char name[TRACK_NAME_LEN];
    struct thread **threads;
    size_t n;
    struct track *lanes[LANES_MOST]; /* of devices; NULL: no event yet */
    struct health_feed *health;      /* NULL: the process has not emitted any */
    struct event out[BATCH];
    size_t n_out;
};

struct process_spans *spans_open(uint32_t pid, const char *process)
{
    struct process_spans *p = xcalloc(1, sizeof *p);
    p->pid = pid;
    snprintf(p->name, sizeof p->name, "%s", process);
    return p;
}

static void spans_name_thread(struct track *t, uint32_t pid, uint32_t tid, const char *proc)
{
    char path[PATH_LEN], *text;
    struct arena a = {0};
    struct err ignored;
    size_t len;
    if (tid == pid)
        snprintf(t->name, sizeof t->name, "main");
    else if (proc &&
             path_join(path, &ignored, "%s/%" PRIu32 "/task/%" PRIu32 "/comm", proc, pid, tid) ==
                 0 &&
             file_read(path, TRACK_NAME_LEN, &a, &text, &len, &ignored) == 0)
        snprintf(t->name, sizeof t->name, "%.*s", (int)strcspn(text, "\n"), text);
    arena_free(&a);
}

static struct track spans_track_of(const struct process_spans *p, enum track_kind kind, uint64_t id)
{
    struct track t = {.kind = kind, .pid = p->pid, .id = id};
    memcpy(t.process, p->name, sizeof t.process);
    return t;
}

static struct thread *spans_thread_of(struct process_spans *p, uint32_t tid, const char *proc)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->threads[i]->track.id == tid)
            return p->threads[i];
    if (p->n == THREADS_MOST)
        return p->threads[THREADS_MOST - 1];
    struct thread *t = xcalloc(1, sizeof *t);
    t->track = spans_track_of(p, TRACK_THREAD, tid);
    spans_name_thread(&t->track, p->pid, tid, proc);
    p->threads = xrealloc(p->threads, p->n + 1, sizeof *p->threads);
    p->threads[p->n++] = t;
    return t;
}

static const struct track *spans_lane_of(struct process_spans *p, const struct thread *t,
                                         unsigned lane)
{
    if (lane == 0)
        return &t->track;
    if (!p->lanes[lane]) {
        p->lanes[lane] = xcalloc(1, sizeof *p->lanes[lane]);
        *p->lanes[lane] = spans_track_of(p, TRACK_DEVICE, lane - 1);
        snprintf(p->lanes[lane]->name, TRACK_NAME_LEN, "gpu%u", lane - 1);
    }
    return p->lanes[lane];
}

static void spans_flush(struct process_spans *p, const struct thread *t, struct sink *sink)
{
    if (p->n_out)
        sink->ops->events(sink, &t->track, p->out, p->n_out);
    p->n_out = 0;
}

static void spans_put(struct process_spans *p, const struct thread *t, const struct event *v,
                      struct sink *sink)
{
    if (p->n_out == BATCH)
        spans_flush(p, t, sink);
    p->out[p->n_out++] = *v;
}

static enum event_category spans_category_of(const char *name)
{
    const enum event_id id = event_find(name);
    return id < EV_N ? event_words[id].category : CAT_USER;
}

static void spans_begin(struct thread *t, const struct ring_event *v)
{
    if (t->depth == DEPTH_MOST) {
        t->too_deep++;
        return;
    }
    struct open_span *s = &t->open[t->depth++];
    s->reported = false;
    s->event = (struct event){
        .at = v->at,
        .value = v->number,
        .name = v->name,
        .kind = v->kind == RING_STEP_BEGIN ? EVENT_STEP : EVENT_SPAN,
        .mode =
            v->kind == RING_STEP_BEGIN && v->mode < MODE_N ? (enum event_mode)v->mode : MODE_TRAIN,
        .end = END_OPEN,
        .category = v->kind == RING_STEP_BEGIN ? CAT_PHASE : spans_category_of(v->name),
    };
}

static bool matches(const struct event *open, const struct ring_event *end)
{
    if (end->kind == RING_STEP_END)
        return open->kind == EVENT_STEP && open->value == end->number && open->mode == end->mode;
    return open->kind == EVENT_SPAN && strcmp(open->name, end->name) == 0;
}

static void close_top(struct process_spans *p, struct thread *t, mono_ns at, enum event_end how,
                      struct sink *sink)
{
    struct event v = t->open[--t->depth].event;
    v.dur_ns = mono_diff(at, v.at);
    v.end = how;
    spans_put(p, t, &v, sink);
}

static void spans_end(struct process_spans *p, struct thread *t, const struct ring_event *v,
                      struct sink *sink)
{
    uint32_t i = t->depth;
    if (t->too_deep) {
        t->too_deep--;
        sink_loss(sink, LOSS_LIMIT, LOST_PART("spans"), "more than %d nested spans in a thread",
                  DEPTH_MOST);
        return;
    }
    while (i > 0 && !matches(&t->open[i - 1].event, v))
        i--;
    if (i == 0) {
        sink_loss(sink, LOSS_UNMATCHED, LOST_PART(v->kind == RING_STEP_END ? "step" : v->name),
                  "span end without a start");
        return;
    }
    while (t->depth > i)
        close_top(p, t, v->at, END_CUT, sink);
    close_top(p, t, v->at, END_KNOWN, sink);
}

static void spans_moment(struct process_spans *p, struct thread *t, const struct ring_event *v,
                         struct sink *sink)
{
    const struct event out = {
        .at = v->at,
        .value = v->kind == RING_MARK ? 0 : v->number,
        .name = v->name,
        .kind = v->kind == RING_MARK        ? EVENT_MARK
                : v->kind == RING_COUNT_INT ? EVENT_COUNT
                                            : EVENT_REAL,
        .category = spans_category_of(v->name),
    };
    spans_put(p, t, &out, sink);
}

/* The two halves of a past span follow each other; ages are the writer's, so they are checked. */
static void past(struct process_spans *p, struct thread *t, const struct ring_event *v,
                 struct sink *sink)
{
    const int64_t ago = v->number >= 0 && v->number <= v->at.ns ? v->number : 0;
    const mono_ns at = mono_add(v->at, -ago);
    if (v->kind == RING_PAST_BEGIN) {
        t->past = at;
        return;
    }
    const struct event out = {
        .at = t->past,
        .dur_ns = MAX_OF(mono_diff(at, t->past), 0),
        .name = v->name,
        .kind = EVENT_SPAN,
        .category = spans_category_of(v->name),
    };
    if (v->mode == 0) {
        spans_put(p, t, &out, sink);
        return;
    }
    sink->ops->events(sink, spans_lane_of(p, t, v->mode), &out, 1);
}

static void spans_health(struct process_spans *p, struct thread *t, const struct ring_event *v,
                         struct sink *sink)
{
    if (!p->health)
        p->health = health_feed_open(&t->track);
    health_feed_take(p->health, &t->health, v, sink);
}

static void spans_take(struct process_spans *p, struct thread *t, const struct ring_event *v,
                       struct sink *sink)
{
    t->last = v->at;
    switch (v->kind) {
    case RING_STEP_BEGIN:
    case RING_SPAN_BEGIN:
        spans_begin(t, v);
        break;
    case RING_STEP_END:
    case RING_SPAN_END:
        spans_end(p, t, v, sink);
        break;
    case RING_PAST_BEGIN:
    case RING_PAST_END:
        past(p, t, v, sink);
        break;
    case RING_MARK:
    case RING_COUNT_INT:
    case RING_COUNT_REAL:
        spans_moment(p, t, v, sink);
        break;
    case RING_LOSS: { /* what a hook could not record */
        struct loss l = loss_from_text(LOSS_HOOK, v->name, v->reason);
        l.at = clock_mono();
        sink->ops->loss(sink, &l);
        break;
    }
    case RING_HEALTH_STEP:
    case RING_HEALTH_AT:
    case RING_HEALTH_TEXT:
    case RING_HEALTH_REAL:
    case RING_HEALTH_COUNT:
    case RING_HEALTH_LOST:
        spans_health(p, t, v, sink);
        break;
    case RING_THREAD:
    case RING_KIND_END:
        break;
    }
}

static void spans_emit_open(struct process_spans *p, struct thread *t, bool again,
                            struct sink *sink)
{
    for (uint32_t i = 0; i < t->depth; i++) {
        if (t->open[i].reported && !again)
            continue;
        struct event v = t->open[i].event;
        v.dur_ns = mono_diff(t->last, v.at); /* so far */
        spans_put(p, t, &v, sink);
        t->open[i].reported = true;
    }
    spans_flush(p, t, sink);
}

void spans_feed(struct process_spans *p, const struct ring_event *v, size_t n, const char *proc,
                struct sink *sink)
{
    struct thread *t = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!t || t->track.id != v[i].tid) {
            if (t)
                spans_emit_open(p, t, false, sink);
            t = spans_thread_of(p, v[i].tid, proc);
        }
        spans_take(p, t, &v[i], sink);
    }
    if (t)
        spans_emit_open(p, t, false, sink);
    health_feed_flush(p->health, sink);
}

void spans_emit_again(struct process_spans *p, struct sink *sink)
{
    for (size_t i = 0; i < p->n; i++)
        spans_emit_open(p, p->threads[i], true, sink);
}

static mono_ns last_event_time(const struct process_spans *p)
{
    mono_ns last = {0};
    for (size_t i = 0; i < p->n; i++)
        if (p->threads[i]->last.ns > last.ns)
            last = p->threads[i]->last;
    return last;
}

void spans_close(struct process_spans *p, struct sink *sink)
{
    if (!p)
        return;
    const mono_ns last = last_event_time(p);
    for (size_t i = 0; i < p->n; i++) {
        struct thread *t = p->threads[i];
        while (t->depth)
            close_top(p, t, last, END_CUT, sink);
        spans_flush(p, t, sink);
        free(t);
    }
    health_feed_close(p->health);
    for (size_t i = 0; i < LANES_MOST; i++)
        free(p->lanes[i]);
    free(p->threads);
    free(p);
}
