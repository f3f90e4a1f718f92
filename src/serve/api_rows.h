/* SPDX-License-Identifier: Apache-2.0 */
/* api_rows.h - the rows that only the API answers with; see api_rows.def. */
#ifndef SERVE_API_ROWS_H
#define SERVE_API_ROWS_H

#include "base/row_table.h"
#include "query/eventsum.h"
#include "query/series.h"
#include "query/stepmarks.h"
#include "query/timeline.h"
#include "serve/runs.h"
#include "tables/show.h"

/* A metric of a node: n series that follow each other. */
struct api_metric {
    const struct series_key *first;
    size_t n;
};

struct api_run {
    const struct show *show;
    const char *name;
    uint64_t version;
    const char *no_control; /* why the client may not change it; NULL: it may */
    struct api_metric *metrics;
    size_t n_metrics;
    bool has_detail;
};

struct api_step_hist {
    const struct rank_marks *rank;
    enum event_mode mode;
    const struct step_hist *h;
};

struct api_event {
    const struct event_sum *sum;
    double window_s;
};

struct api_lane {
    const struct timeline_lane *lane;
    size_t id;
};

struct api_status {
    struct runs_facts facts;
    int64_t memory_bytes; /* negative: not known */
    double cpu_s;
    bool may_control;
    const char *const *folders;
    size_t n_folders;
};

extern const struct row_table row_Error, row_Pending, row_RunEntry, row_BrokenRun, row_Run,
    row_OneSeries, row_Grid, row_Heatmap, row_DeviceHistogram, row_StepHistogram, row_Histograms,
    row_Event, row_Lane, row_Timeline, row_Search, row_ControlAsk, row_ControlSaid,
    row_ControlAnswer, row_Status, row_OpenApi, row_Report;

#endif
