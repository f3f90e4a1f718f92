/* SPDX-License-Identifier: Apache-2.0 */
/* api_steps.c - the steps of a run, as `footplate steps --json` gives them, and how long they and
 * how busy devices were, as histograms. */
#include <string.h>

#include "base/mem.h"
#include "query/devhist.h"
#include "serve/api_internal.h"
#include "serve/api_rows.h"

enum { LAST = 30, LAST_MOST = DIGEST_LAST };

const struct route_param api_steps_params[] = {
    {"last", PARAM_INT, .lo = 0, .hi = LAST_MOST,
     .help = "Only the last N steps of each rank (default: 30)."},
    PARAM_ROW_RANK,
    {"mode", PARAM_TEXT, .help = "Only steps of this mode: train, eval or predict."},
    PARAM_ROW_FROM,
    PARAM_ROW_TO,
    {0},
};

static int api_steps_ask_of(const struct route_request *q, struct steps_ask *out, struct err *e)
{
    int64_t mode = -1;
    const int rc = route_word(q, "mode", event_mode_names, &mode, e);
    *out = (struct steps_ask){
        .last = (size_t)route_number(q, "last", LAST),
        .rank = route_number(q, "rank", -1),
        .modes = mode < 0 ? STEPS_ALL_MODES : 1u << mode,
        .from = route_time(q, "from"),
        .to = route_time(q, "to"),
    };
    return rc;
}

/* Of a window of time, which need not be among the steps that a digest has in full. */
static int window_now(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct steps_ask ask;
    struct steps_view view;
    struct jw j = {.out = &out->body};
    int rc = api_steps_ask_of(q, &ask, e);
    if (rc == 0)
        rc = stepsview_read(&view, q->run, &ask, q->arena, e);
    if (rc == 0)
        stepsview_json(&j, &view);
    return rc ? rc : answer_fits(&out->body, "steps", e);
}

static int api_steps_put_last(const struct route_request *q, const struct step_digest *d,
                              struct route_answer *out, struct err *e)
{
    struct steps_ask ask;
    struct steps_view view;
    struct jw j = {.out = &out->body};
    int rc = api_steps_ask_of(q, &ask, e);
    if (rc == 0)
        rc = stepsview_cut(&view, &d->view, &ask, q->arena, e);
    if (rc == 0)
        stepsview_json(&j, &view);
    return rc ? rc : answer_fits(&out->body, "steps", e);
}

int api_steps(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct steps_ask ask;
    const int rc = api_steps_ask_of(q, &ask, e);
    if (rc)
        return rc;
    return ask.from.ns || ask.to.ns ? answer_async(q, window_now, out, e)
                                    : answer_with_steps(q, api_steps_put_last, out, e);
}

/* ---- histograms ---- */

const struct route_param api_histograms_params[] = {
    PARAM_ROW_NODE,
    PARAM_ROW_FROM,
    PARAM_ROW_TO,
    {0},
};

static int devices_json(struct jw *j, const struct route_request *q, struct err *e)
{
    const enum metric_id percents[] = {M_CPU_UTIL, M_GPU_UTIL};
    int rc = 0;
    jw_array(j, "devices");
    for (size_t k = 0; rc == 0 && k < COUNT_OF(percents); k++) {
        const struct series_ask ask = {.node = route_text(q, "node"),
                                       .metric = metrics[percents[k]].name,
                                       .from = route_time(q, "from"),
                                       .to = route_time(q, "to")};
        struct devhist *v;
        size_t n = 0;
        rc = devhist_read(q->run, &ask, q->arena, &v, &n, e);
        for (size_t i = 0; rc == 0 && i < n; i++)
            row_json(j, NULL, &row_DeviceHistogram, &v[i], NULL);
    }
    jw_end(j);
    return rc;
}

static void all_steps_json(struct jw *j, const struct route_request *q, const struct step_digest *d)
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

static int put_histograms(const struct route_request *q, const struct step_digest *d,
                          struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    jw_object(&j, NULL);
    const int rc = devices_json(&j, q, e);
    all_steps_json(&j, q, d);
    jw_end(&j);
    return rc ? rc : answer_fits(&out->body, "histograms", e);
}

int api_histograms(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return answer_with_steps(q, put_histograms, out, e);
}
