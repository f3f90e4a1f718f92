/* SPDX-License-Identifier: Apache-2.0 */
/* api_events.c - what ran when: summed up over an interval, as slices of a timeline, by name. */
#include <string.h>

#include "base/mem.h"
#include "query/eventsum.h"
#include "query/timeline.h"
#include "serve/api_internal.h"

/* Events that one request decodes: some 50 ms. To sum them up, or to compare names, takes longer.
 */
enum { BUDGET = 400000, SUM_BUDGET = 100000, SEARCH_BUDGET = 200000 };

/* ---- an interval ---- */

const struct route_param api_events_params[] = {
    {PARAM_ROW_NODE},
    {PARAM_ROW_RANK},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"detail", PARAM_FLAG, .help = "1: include events of detail windows and imported traces."},
    {"limit", PARAM_INT, .lo = 1, .hi = 2000, .help = "Maximum number of rows (default: 200)."},
    {0},
};

enum { EVENTS_LIMIT = 200 };

static int events_window_of(const struct route_request *q, struct event_window *w, struct err *e)
{
    *w = (struct event_window){.node = route_text(q, "node"),
                               .rank = route_number(q, "rank", -1),
                               .detail = route_number(q, "detail", 0) != 0,
                               .budget = SUM_BUDGET};
    return route_window(q, &w->from, &w->to, e);
}

static int events_put(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct event_window w;
    struct jw j = {.out = &out->body};
    struct event_sum *v;
    size_t n;
    TRY(events_window_of(q, &w, e));
    TRY(event_sums_within(q->run, &w, q->arena, &v, &n, e));
    const double window_s = (double)(w.to.ns - w.from.ns) / (double)NS_PER_S;
    n = MIN_OF(n, (size_t)route_number(q, "limit", EVENTS_LIMIT));
    jw_array(&j, NULL);
    for (size_t i = 0; i < n; i++)
        row_json(&j, NULL, &row_Event, &(struct api_event){&v[i], window_s}, NULL);
    jw_end(&j);
    return answer_fits(&out->body, "events", e);
}

/* Blocks are decoded whole, so that the cost may be larger than the budget. */
int api_events(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct event_window w;
    uint64_t cost;
    TRY(events_window_of(q, &w, e));
    TRY(event_sums_cost(q->run, &w, q->arena, &cost, e));
    return cost <= 2 * SUM_BUDGET ? events_put(q, out, e) : answer_async(q, events_put, out, e);
}

/* ---- timeline ---- */

const struct route_param api_timeline_params[] = {
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"px", PARAM_INT, .lo = 1, .hi = 10000,
     .help = "Width of the window in pixels (default: 1500); slices narrower than one pixel are "
             "merged with their neighbors."},
    {PARAM_ROW_RANK},
    {PARAM_ROW_NODE},
    {"detail", PARAM_FLAG, .help = "0: omit operators and GPU streams."},
    {"limit", PARAM_INT, .lo = 1, .hi = 25000, .help = "Maximum number of slices."},
    {0},
};

enum { PX = 1500, SLICES = 20000 };

/* One array for each field of the slices. They are many, so they are written without the checks of
 * jw_int. */
static void timeline_slices_json(struct jw *j, const struct timeline *t, size_t n, wall_ns from)
{
#define FIELD(key, value)                                                                          \
    jw_array(j, key);                                                                              \
    for (const struct timeline_slice *s = t->slices; s < t->slices + n; s++) {                     \
        if (s != t->slices)                                                                        \
            buf_u8(j->out, ',');                                                                   \
        buf_int(j->out, value);                                                                    \
    }                                                                                              \
    jw_end(j)
    jw_object(j, "slices");
    FIELD("lane", s->lane);
    FIELD("row", s->row);
    FIELD("start", s->start - from.ns);
    FIELD("dur", s->dur_ns);
    FIELD("name", s->name);
    FIELD("category", s->category);
    FIELD("merged", s->merged);
    jw_end(j);
#undef FIELD
}

static void timeline_json(struct jw *j, const struct timeline *t, const struct timeline_ask *ask,
                          size_t n)
{
    jw_object(j, NULL);
    jw_int(j, "from_ns", ask->from.ns);
    jw_int(j, "to_ns", ask->to.ns);
    jw_array(j, "lanes");
    for (size_t i = 0; i < t->n_lanes; i++)
        row_json(j, NULL, &row_Lane, &(struct api_lane){&t->lanes[i], i}, NULL);
    jw_end(j);
    jw_texts(j, "names", t->names, t->n_names);
    jw_array(j, "categories");
    for (size_t i = 0; i < CAT_N; i++)
        jw_str(j, NULL, category_words[i].name);
    jw_end(j);
    timeline_slices_json(j, t, n, ask->from);
    jw_bool(j, "cut", t->cut || n < t->n_slices);
    jw_end(j);
}

static int timeline_put(const struct route_request *q, const struct step_digest *d,
                        struct route_answer *answer, struct err *e)
{
    struct buf *out = &answer->body;
    struct timeline_ask ask = {
        .px = (size_t)route_number(q, "px", PX),
        .node = route_text(q, "node"),
        .rank = route_number(q, "rank", -1),
        .detail = route_number(q, "detail", 1) != 0,
        .limit = (size_t)route_number(q, "limit", SLICES),
        .budget = BUDGET,
        .overview = &d->overview,
        .phases = &d->phases,
        .ranks = d->ranks,
        .n_ranks = d->n_ranks,
    };
    struct timeline t;
    int rc = route_window(q, &ask.from, &ask.to, e);
    if (rc == 0)
        rc = timeline_read(q->run, &ask, q->arena, &t, e);
    /* Many digits, or long names: as many slices as fit. */
    for (size_t n = t.n_slices; rc == 0; n = n / 4 * 3) {
        struct jw j = {.out = out};
        out->len = 0;
        timeline_json(&j, &t, &ask, n);
        if (out->len <= ANSWER_MOST || n == 0)
            break;
    }
    return rc ? rc : answer_fits(out, "timeline", e);
}

int api_timeline(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return answer_with_steps(q, timeline_put, out, e);
}

/* ---- by name ---- */

const struct route_param api_search_params[] = {
    {"q", PARAM_TEXT, .help = "Part of the name, case-insensitive."},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"limit", PARAM_INT, .lo = 1, .hi = 2000, .help = "Maximum number of slices (default: 200)."},
    {0},
};

enum { HITS = 200 };

int api_search(const struct route_request *q, struct route_answer *out, struct err *e)
{
    const struct search_ask ask = {.text = route_text(q, "q"),
                                   .from = route_time(q, "from"),
                                   .to = route_time(q, "to"),
                                   .limit = (size_t)route_number(q, "limit", HITS),
                                   .budget = SEARCH_BUDGET};
    struct search_result r;
    struct jw j = {.out = &out->body};
    if (!ask.text || !*ask.text)
        return err_set(e, ERR_USAGE, "search: parameter q (part of a name) is missing");
    TRY(search_read(q->run, &ask, q->arena, &r, e));
    row_json(&j, NULL, &row_Search, &r, NULL);
    return answer_fits(&out->body, "search", e);
}
