/* SPDX-License-Identifier: Apache-2.0 */
/* api_tables.c - the answers that the commands of the same names print with --json: stats, series,
 * steps, ops, breakdown, rules; and histograms. */
#include <string.h>

#include "base/mem.h"
#include "query/breakdown.h"
#include "query/series.h"
#include "rules/verdict_json.h"
#include "serve/api_internal.h"
#include "tables/opsview.h"
#include "tables/statview.h"

/* ---- stats ---- */

const struct route_param api_stats_params[] = {
    {PARAM_ROW_NODE},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"all", PARAM_FLAG, .help = "1: every series, not only the summary of each node."},
    {"loop", PARAM_FLAG,
     .help = "1: only the training loop after its warm-up; empty without training steps."},
    {0},
};

static int stats_put(const struct route_request *q, const struct loop_window *loop, struct buf *out,
                     struct err *e)
{
    const struct series_ask ask = {.node = route_text(q, "node"),
                                   .from = loop ? loop->from : route_time(q, "from"),
                                   .to = loop ? loop->to : route_time(q, "to")};
    struct statview view;
    struct jw j = {.out = out};
    if (loop && !loop->known) {
        jw_array(&j, NULL);
        jw_end(&j);
        return 0;
    }
    TRY(statview_read(&view, q->run, &ask, route_number(q, "all", 0) != 0, q->arena, e));
    if (loop)
        view.window = "loop";
    statview_json(&j, &view);
    return 0;
}

static int stats_put_loop(const struct route_request *q, const struct step_digest *d,
                          struct route_answer *out, struct err *e)
{
    return stats_put(q, &d->window, &out->body, e);
}

int api_stats(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return route_number(q, "loop", 0) ? answer_with_steps(q, stats_put_loop, out, e)
                                      : stats_put(q, NULL, &out->body, e);
}

/* ---- series ---- */

const struct route_param api_series_params[] = {
    {"metric", PARAM_TEXT, .repeat = true,
     .help = "The metric; a trailing dot, as in 'cpu.', selects a family."},
    {"entity", PARAM_TEXT, .help = "Only this entity: a core, a GPU, a disk, 'total'."},
    {PARAM_ROW_NODE},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"points", PARAM_INT, .lo = 1, .hi = 1000000,
     .help = "Maximum number of points per series; each keeps the minimum and maximum of its "
             "interval. Without it, every reading is returned."},
    {0},
};

/* A point takes at least so many bytes: "1,1,1,1," and 18 digits of time. */
enum { POINT_BYTES = 26 };

static int series_put_metric(const struct route_request *q, const struct series_ask *ask,
                             const struct keys *all, struct jw *j, struct err *e)
{
    TRY(series_ask_check(q->run, ask, all, e));
    for (size_t i = 0; i < all->n; i++) {
        struct series_ask one = *ask;
        struct series *s;
        size_t n;
        if (!series_matches(ask, &all->v[i]))
            continue;
        one.node = all->v[i].node;
        one.metric = all->v[i].metric;
        one.entity = all->v[i].entity;
        TRY(series_read(q->run, &one, q->arena, &s, &n, e));
        for (size_t k = 0; k < n; k++) {
            if (j->out->len + s[k].n * POINT_BYTES > ANSWER_MOST)
                return answer_too_large("series", e);
            series_json(j, &s[k], NULL);
        }
    }
    return answer_fits(j->out, "series", e);
}

int api_series(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct keys all;
    struct jw j = {.out = &out->body};
    size_t n_requested = 0;
    TRY(series_list(q->run, q->arena, &all.v, &all.n, e));
    jw_array(&j, NULL);
    for (size_t i = 0; i < q->n_values; i++) {
        if (strcmp(q->values[i].param->name, "metric") != 0)
            continue;
        const struct series_ask ask = {
            .node = route_text(q, "node"),
            .metric = q->values[i].text,
            .entity = route_text(q, "entity"),
            .from = route_time(q, "from"),
            .to = route_time(q, "to"),
            .points = (size_t)route_number(q, "points", 0),
        };
        n_requested++;
        TRY(series_put_metric(q, &ask, &all, &j, e));
    }
    jw_end(&j);
    return n_requested ? 0 : err_set(e, ERR_USAGE, "series: parameter metric is missing");
}

/* ---- operators ---- */

const struct route_param api_ops_params[] = {
    {"device", PARAM_TEXT, .help = "Only this device: cpu or gpu."},
    {PARAM_ROW_RANK},
    {"by", PARAM_TEXT,
     .help = "name (default), module, group (kernel groups) or function (Python profiles)."},
    {"limit", PARAM_INT, .lo = 0, .hi = 100000, .help = "Maximum number of rows per device."},
    {0},
};

enum { OPS_LIMIT = 1000 };

static int ops_now(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct opsview view;
    struct jw j = {.out = &out->body};
    int64_t by = OPS_BY_NAME;
    struct opsview_ask ask = {.device = -1, .limit = (size_t)route_number(q, "limit", OPS_LIMIT)};
    TRY(route_word(q, "device", op_device_names, &ask.device, e));
    TRY(route_word(q, "by", ops_by_names, &by, e));
    ask.ops.by = (enum ops_by)by;
    ask.ops.trace.rank = route_number(q, "rank", -1);
    ask.ops.trace.one_rank = ask.ops.trace.rank >= 0;
    TRY(opsview_read(&view, q->run, &ask, q->arena, e));
    opsview_json(&j, &view);
    return answer_fits(&out->body, "ops", e);
}

int api_ops(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return answer_async(q, ops_now, out, e);
}

/* ---- stacks ---- */

const struct route_param api_stacks_params[] = {{PARAM_ROW_RANK}, {0}};

static int stacks_now(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct stack_row *v;
    size_t n;
    struct jw j = {.out = &out->body};
    const int64_t rank = route_number(q, "rank", -1);
    const struct trace_ask ask = {.one_rank = rank >= 0, .rank = rank};
    TRY(stacks_read(q->run, &ask, q->arena, &v, &n, e));
    rows_json(&j, NULL, &row_StackFrame, v, n, q->arena);
    return answer_fits(&out->body, "stacks", e);
}

int api_stacks(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return answer_async(q, stacks_now, out, e);
}

/* ---- breakdown ---- */

const struct route_param api_breakdown_params[] = {
    {PARAM_ROW_RANK},
    {"last", PARAM_INT, .lo = 1, .hi = 3000,
     .help = "Maximum number of steps, the last ones (default: 2000)."},
    {0},
};

enum { BREAKDOWN_LAST = 2000 };

static int breakdown_now(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct breakdown b;
    struct jw j = {.out = &out->body};
    const int64_t rank = route_number(q, "rank", -1);
    const struct trace_ask ask = {.one_rank = rank >= 0, .rank = rank};
    TRY(breakdown_read(q->run, &ask, q->arena, &b, e));
    breakview_keep_last(&b, (size_t)route_number(q, "last", BREAKDOWN_LAST));
    breakview_json(&j, &b, (1u << BREAK_TABLES) - 1, q->arena);
    return answer_fits(&out->body, "breakdown", e);
}

int api_breakdown(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return answer_async(q, breakdown_now, out, e);
}

/* ---- rules ---- */

const struct route_param api_rules_params[] = {{0}};

int api_rules(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    (void)q;
    (void)e;
    jw_array(&j, NULL);
    for (size_t k = 0; k < RULE_N; k++)
        rule_json(&j, NULL, rules[k]);
    jw_end(&j);
    return 0;
}

/* ---- steps ---- */

enum { LAST = 30, LAST_MOST = DIGEST_LAST };

const struct route_param api_steps_params[] = {
    {"last", PARAM_INT, .lo = 0, .hi = LAST_MOST,
     .help = "Only the last N steps of each rank (default: 30)."},
    {PARAM_ROW_RANK},
    {"mode", PARAM_TEXT, .help = "Only steps of this mode: train, eval or predict."},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {0},
};

static int steps_ask_of(const struct route_request *q, struct steps_ask *out, struct err *e)
{
    int64_t mode = -1;
    TRY(route_word(q, "mode", event_mode_names, &mode, e));
    *out = (struct steps_ask){
        .last = (size_t)route_number(q, "last", LAST),
        .rank = route_number(q, "rank", -1),
        .modes = mode < 0 ? STEPS_ALL_MODES : 1u << mode,
        .from = route_time(q, "from"),
        .to = route_time(q, "to"),
    };
    return 0;
}

/* Of a window of time, which need not be among the steps that a digest has in full. */
static int steps_window_now(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct steps_ask ask;
    struct steps_view view;
    struct jw j = {.out = &out->body};
    TRY(steps_ask_of(q, &ask, e));
    TRY(stepsview_read(&view, q->run, &ask, q->arena, e));
    stepsview_json(&j, &view);
    return answer_fits(&out->body, "steps", e);
}

static int steps_put_last(const struct route_request *q, const struct step_digest *d,
                          struct route_answer *out, struct err *e)
{
    struct steps_ask ask;
    struct steps_view view;
    struct jw j = {.out = &out->body};
    TRY(steps_ask_of(q, &ask, e));
    TRY(stepsview_cut(&view, &d->view, &ask, q->arena, e));
    stepsview_json(&j, &view);
    return answer_fits(&out->body, "steps", e);
}

int api_steps(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct steps_ask ask;
    TRY(steps_ask_of(q, &ask, e));
    return ask.from.ns || ask.to.ns ? answer_async(q, steps_window_now, out, e)
                                    : answer_with_steps(q, steps_put_last, out, e);
}

/* ---- histograms ---- */

const struct route_param api_histograms_params[] = {
    {PARAM_ROW_NODE},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {0},
};

static int histograms_devices_json(struct jw *j, const struct route_request *q, struct err *e)
{
    const enum metric_id percents[] = {M_CPU_UTIL, M_GPU_UTIL};
    jw_array(j, "devices");
    for (size_t k = 0; k < COUNT_OF(percents); k++) {
        const struct series_ask ask = {.node = route_text(q, "node"),
                                       .metric = metrics[percents[k]].name,
                                       .from = route_time(q, "from"),
                                       .to = route_time(q, "to")};
        struct devhist *v;
        size_t n = 0;
        TRY(devhist_read(q->run, &ask, q->arena, &v, &n, e));
        for (size_t i = 0; i < n; i++)
            row_json(j, NULL, &row_DeviceHistogram, &v[i], NULL);
    }
    jw_end(j);
    return 0;
}

static void histograms_steps_json(struct jw *j, const struct route_request *q,
                                  const struct step_digest *d)
{
    const char *node = route_text(q, "node");
    struct step_hist *h = arena_array(q->arena, struct step_hist, MODE_N);
    jw_array(j, "steps");
    for (size_t i = 0; i < d->n_ranks; i++) {
        if (node && strcmp(node, d->ranks[i].node) != 0)
            continue;
        step_hists_of(&d->ranks[i], route_time(q, "from"), route_time(q, "to"), h);
        for (enum event_mode m = 0; m < MODE_N; m++)
            if (h[m].count)
                row_json(j, NULL, &row_StepHistogram,
                         &(struct api_step_hist){&d->ranks[i], m, &h[m]}, NULL);
    }
    jw_end(j);
}

static int histograms_put(const struct route_request *q, const struct step_digest *d,
                          struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    jw_object(&j, NULL);
    TRY(histograms_devices_json(&j, q, e));
    histograms_steps_json(&j, q, d);
    jw_end(&j);
    return answer_fits(&out->body, "histograms", e);
}

int api_histograms(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return answer_with_steps(q, histograms_put, out, e);
}
