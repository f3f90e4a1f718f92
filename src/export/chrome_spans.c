/* SPDX-License-Identifier: Apache-2.0 */
/* chrome_spans.c - the events of tracks as events of a Chrome trace.
 *
 * Spans and steps are X, marks i, numbers C; launches and what they launched are tied by s and f.
 * What has no field in the trace format is among the arguments, or, where arguments would be
 * drawn as curves, under "fp". import_footplate.c reads all of it back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "export/chrome_internal.h"
#include "record/event.h"

/* ------------------------------------------------------------------------------------------------
 * Arrows: which launches get one to what they launched. Those of which both ends are there. */

/* With more links than this a process has no arrows: they could not be seen. */
enum { LINKS_MOST = 4 << 20 };

struct links {
    uint64_t *v;
    size_t n, cap;
};

COMPARE_NUMBERS(flows_by_number, uint64_t)

static int add_links(void *to, const struct run_track *t, const struct run_event *v, size_t n,
                     struct err *e)
{
    struct links *l = to;
    (void)e;
    for (size_t i = 0; i < n; i++) {
        const struct event *x = &v[i].event;
        if (!x->link || x->kind != EVENT_SPAN || l->n == LINKS_MOST ||
            (t->track.kind == TRACK_THREAD && x->category != CAT_RUNTIME))
            continue;
        *VEC_ADD(l->v, l->n, l->cap) = x->link;
    }
    return 0;
}

static void sort_once(struct links *l)
{
    size_t n = 0;
    SORT(l->v, l->n, flows_by_number);
    for (size_t i = 0; i < l->n; i++)
        if (n == 0 || l->v[n - 1] != l->v[i])
            l->v[n++] = l->v[i];
    l->n = n;
}

/* What both have stays in `a`. */
static void keep_common(struct links *a, const struct links *b)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->v[i] == b->v[k])
            a->v[n++] = a->v[i];
        const bool low = a->v[i] <= b->v[k];
        k += b->v[k] <= a->v[i];
        i += low;
    }
    a->n = n;
}

static void flows_free(struct flows *f)
{
    free(f->v);
    free(f->begun);
    *f = (struct flows){0};
}

/* For the tracks [first, end), which are of one process. */
static int flows_gather(struct chrome *c, size_t first, size_t end, struct err *e)
{
    struct links side[2] = {{0}, {0}}; /* by enum track_kind */
    int rc = 0;
    flows_free(&c->flows);
    if (end == first || c->tracks.v[end - 1].track.kind != TRACK_DEVICE)
        return 0;
    for (size_t i = first; rc == 0 && i < end; i++) {
        const struct run_track *t = &c->tracks.v[i];
        rc = export_events(c->job, t, add_links, &side[t->track.kind], e);
    }
    sort_once(&side[TRACK_THREAD]);
    sort_once(&side[TRACK_DEVICE]);
    keep_common(&side[TRACK_THREAD], &side[TRACK_DEVICE]);
    free(side[TRACK_DEVICE].v);
    c->flows = (struct flows){.v = side[TRACK_THREAD].v, .n = side[TRACK_THREAD].n};
    c->flows.begun = xcalloc(c->flows.n, sizeof *c->flows.begun);
    return rc;
}

/* Its place; n when it is not there. Links mostly come in order, so the next one is tried first. */
static size_t flows_find(struct flows *f, uint64_t link)
{
    for (size_t i = f->near; i < f->n && i < f->near + 2; i++)
        if (f->v[i] == link)
            return f->near = i;
    const uint64_t *at = f->n ? bsearch(&link, f->v, f->n, sizeof *f->v, flows_by_number) : NULL;
    if (!at)
        return f->n;
    return f->near = (size_t)(at - f->v);
}

/* ------------------------------------------------------------------------------------------------
 * Events */

#define PUT(b, literal) buf_put((b), "" literal, sizeof(literal) - 1)

/* Names among the arguments that mean something; a text with one of these stays as one text. */
static const char *const own_args[] = {"value",    "correlation", "External id", "step", "mode",
                                       "category", "end",         "text",        "real"};

enum { ARGS_MOST = 64 };

struct spans {
    struct chrome *c;
    size_t track; /* index */
    struct buf *b;
};

/* ---- lanes ---- */

static bool chrome_fits(struct chrome_lane *l, int64_t begin, int64_t end)
{
    while (l->n && l->ends[l->n - 1] <= begin)
        l->n--;
    return l->n == 0 || end <= l->ends[l->n - 1];
}

static int64_t tid_of(const struct spans *s, size_t lane)
{
    return (int64_t)(s->track * CHROME_LANES + lane) + 1;
}

static size_t chrome_lane_of(struct spans *s, const struct run_event *x)
{
    struct chrome *c = s->c;
    const int64_t end = x->at.ns + x->event.dur_ns;
    size_t i = 0;
    while (!chrome_fits(&c->lanes[i], x->at.ns, end) && i + 1 < CHROME_LANES)
        i++;
    *VEC_ADD(c->lanes[i].ends, c->lanes[i].n, c->lanes[i].cap) = end;
    if (i > 0 && !c->lanes[i].used)
        chrome_name_thread(c, c->pids[s->track], tid_of(s, i), c->tracks.v[s->track].track.name,
                           s->track * CHROME_LANES + i);
    c->lanes[i].used = true;
    return i;
}

/* ---- arguments ---- */

static void chrome_put_arg(struct spans *s, bool *some, const char *key)
{
    buf_u8(s->b, *some ? ',' : '{');
    *some = true;
    json_put_text(s->b, key);
    buf_u8(s->b, ':');
}

static void put_arg_int(struct spans *s, bool *some, const char *key, int64_t v)
{
    chrome_put_arg(s, some, key);
    buf_int(s->b, v);
}

static void put_arg_text(struct spans *s, bool *some, const char *key, const char *v)
{
    chrome_put_arg(s, some, key);
    json_put_text(s->b, v);
}

struct chrome_arg {
    const char *key, *value;
};

/* "key=value" lines taken apart; 0 when putting them together would not give the same text. */
static size_t split_args(char *text, struct chrome_arg out[ARGS_MOST])
{
    size_t n = 0;
    for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        char *eq = strchr(line, '=');
        if (!eq || eq == line || (end && eq > end) || n == ARGS_MOST)
            return 0;
        *eq = '\0';
        if (end)
            *end = '\0';
        for (size_t i = 0; i < n; i++)
            if (strcmp(out[i].key, line) == 0)
                return 0;
        if (text_among(line, own_args, COUNT_OF(own_args)))
            return 0;
        out[n++] = (struct chrome_arg){line, eq + 1};
    }
    return n;
}

static void put_text_args(struct spans *s, bool *some, const char *text)
{
    char copy[EVENT_NAME_MOST];
    struct chrome_arg args[ARGS_MOST];
    const size_t len = strlen(text);
    size_t n = 0;
    if (len < sizeof copy) {
        memcpy(copy, text, len + 1);
        n = split_args(copy, args);
    }
    for (size_t i = 0; i < n; i++)
        put_arg_text(s, some, args[i].key, args[i].value);
    if (n == 0)
        put_arg_text(s, some, "text", text);
}

/* Members of args, or of fp, that an event has beside what it is. */
static void chrome_put_extras(struct spans *s, bool *some, const struct event *v)
{
    if (v->mode != MODE_TRAIN || v->kind == EVENT_STEP)
        put_arg_text(s, some, "mode", event_mode_names[v->mode]);
    if (v->end != END_KNOWN)
        put_arg_text(s, some, "end", event_end_names[v->end]);
    if (v->link)
        put_arg_int(s, some, "correlation", (int64_t)v->link);
    if (v->parent)
        put_arg_int(s, some, "External id", (int64_t)v->parent);
    if (v->args)
        put_text_args(s, some, v->args);
}

/* ---- events ---- */

static void chrome_put_head(struct spans *s, const char *ph, int64_t tid, const struct run_event *x)
{
    chrome_next(s->c);
    PUT(s->b, "{\"ph\":\"");
    buf_put(s->b, ph, 1);
    PUT(s->b, "\",\"pid\":");
    buf_int(s->b, s->c->pids[s->track]);
    PUT(s->b, ",\"tid\":");
    buf_int(s->b, tid);
    PUT(s->b, ",\"ts\":");
    chrome_time(s->c, x->at);
}

static void chrome_put_name(struct spans *s, const char *cat, const char *name)
{
    PUT(s->b, ",\"cat\":\"");
    buf_text(s->b, cat);
    PUT(s->b, "\",\"name\":");
    json_put_text(s->b, name);
}

/* After the members that an event has beside what it is; without any, what began at `begin` goes.
 */
static void end_args(struct spans *s, size_t begin, bool some, const struct event *v)
{
    chrome_put_extras(s, &some, v);
    if (some)
        buf_u8(s->b, '}');
    else
        s->b->len = begin;
    buf_u8(s->b, '}');
}

/* Beyond 2^53 viewers would take one number for another. */
static int64_t flow_id(const struct spans *s, uint64_t link)
{
    const uint64_t mask = ((uint64_t)1 << 40) - 1;
    return (int64_t)((uint64_t)(s->c->pids[s->track] & 0xfff) << 40 |
                     (link > mask ? (link * 0x9e3779b97f4a7c15u) >> 24 : link));
}

static void put_flow(struct spans *s, const char *ph, int64_t tid, const struct run_event *x)
{
    chrome_put_head(s, ph, tid, x);
    PUT(s->b, ",\"id\":");
    buf_int(s->b, flow_id(s, x->event.link));
    if (*ph == 'f')
        PUT(s->b, ",\"bp\":\"e\"");
    chrome_put_name(s, "launch", "launch");
    buf_u8(s->b, '}');
}

static void put_flows(struct spans *s, int64_t tid, const struct run_event *x)
{
    struct flows *f = &s->c->flows;
    const bool device = s->c->tracks.v[s->track].track.kind == TRACK_DEVICE;
    if (!x->event.link || !f->n || (!device && x->event.category != CAT_RUNTIME))
        return;
    const size_t i = flows_find(f, x->event.link);
    if (i == f->n || (!device && f->begun[i]))
        return;
    put_flow(s, device ? "f" : "s", tid, x);
    f->begun[i] = f->begun[i] || !device;
}

static void chrome_put_span(struct spans *s, const struct run_event *x)
{
    const struct event *v = &x->event;
    const bool step = v->kind == EVENT_STEP;
    const int64_t tid = tid_of(s, chrome_lane_of(s, x));
    bool some = false;
    chrome_put_head(s, "X", tid, x);
    PUT(s->b, ",\"dur\":");
    chrome_us(s->b, v->dur_ns);
    chrome_put_name(s, step ? "step" : category_words[v->category].name, v->name);
    const size_t begin = s->b->len;
    PUT(s->b, ",\"args\":");
    if (step)
        put_arg_int(s, &some, "step", v->value);
    else if (v->value)
        put_arg_int(s, &some, "value", v->value);
    if (step && v->category != CAT_OTHER)
        put_arg_text(s, &some, "category", category_words[v->category].name);
    end_args(s, begin, some, v);
    put_flows(s, tid, x);
}

static void put_mark(struct spans *s, const struct run_event *x, const char *real)
{
    const struct event *v = &x->event;
    bool some = false;
    chrome_put_head(s, "i", tid_of(s, 0), x);
    PUT(s->b, ",\"s\":\"t\"");
    chrome_put_name(s, category_words[v->category].name, v->name);
    const size_t begin = s->b->len;
    PUT(s->b, ",\"args\":");
    if (real)
        put_arg_text(s, &some, "real", real);
    else if (v->value)
        put_arg_int(s, &some, "value", v->value);
    end_args(s, begin, some, v);
}

/* The name of the value shows whether it is whole. */
static void put_counter(struct spans *s, const struct run_event *x)
{
    const struct event *v = &x->event;
    chrome_put_head(s, "C", tid_of(s, 0), x);
    chrome_put_name(s, category_words[v->category].name, v->name);
    if (v->kind == EVENT_COUNT) {
        PUT(s->b, ",\"args\":{\"count\":");
        buf_int(s->b, v->value);
    } else {
        PUT(s->b, ",\"args\":{\"real\":");
        json_put_number(s->b, event_real(v));
    }
    buf_u8(s->b, '}');
    const size_t begin = s->b->len;
    PUT(s->b, ",\"fp\":");
    end_args(s, begin, false, v);
}

/* What no curve can show becomes a mark. */
static void put_real(struct spans *s, const struct run_event *x)
{
    const double v = event_real(&x->event);
    if (isfinite(v))
        put_counter(s, x);
    else
        put_mark(s, x, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

static void chrome_put_event(struct spans *s, const struct run_event *x)
{
    switch (x->event.kind) {
    case EVENT_SPAN:
    case EVENT_STEP:
        chrome_put_span(s, x);
        break;
    case EVENT_COUNT:
        put_counter(s, x);
        break;
    case EVENT_REAL:
        put_real(s, x);
        break;
    default:
        put_mark(s, x, NULL);
        break;
    }
}

static int chrome_put_events(void *to, const struct run_track *t, const struct run_event *v,
                             size_t n, struct err *e)
{
    struct spans *s = to;
    int rc = 0;
    (void)t;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        chrome_put_event(s, &v[i]);
        rc = outfile_pass(s->c->job->out, e);
    }
    return rc;
}

static int chrome_put_track(struct chrome *c, size_t i, struct err *e)
{
    struct spans s = {.c = c, .track = i, .b = c->b};
    for (size_t k = 0; k < CHROME_LANES; k++) {
        c->lanes[k].n = 0;
        c->lanes[k].used = false;
    }
    export_progress(c->job, i, c->tracks.n);
    return export_events(c->job, &c->tracks.v[i], chrome_put_events, &s, e);
}

int chrome_events(struct chrome *c, struct err *e)
{
    int rc = 0;
    for (size_t i = 0, end; rc == 0 && i < c->tracks.n; i = end) {
        for (end = i; end < c->tracks.n && c->pids[end] == c->pids[i];)
            end++;
        rc = flows_gather(c, i, end, e);
        for (size_t k = i; rc == 0 && k < end; k++)
            rc = chrome_put_track(c, k, e);
    }
    for (size_t i = 0; i < CHROME_LANES; i++)
        free(c->lanes[i].ends);
    flows_free(&c->flows);
    return rc;
}
