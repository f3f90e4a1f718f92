/* SPDX-License-Identifier: Apache-2.0 */
/* api_internal.h - shared by the files of the API: parameters that many routes have, limits,
 * errors, answers that take long, and the rows that only the API has (api_rows.def). */
#ifndef SERVE_API_INTERNAL_H
#define SERVE_API_INTERNAL_H

#include "base/json_write.h"
#include "base/row_table.h"
#include "query/eventsum.h"
#include "query/series.h"
#include "query/stepmarks.h"
#include "query/timeline.h"
#include "serve/hub.h"
#include "serve/hub_control.h"
#include "serve/route.h"
#include "serve/runs.h"
#include "tables/show.h"
#include "tables/stepdigest.h"

/* No answer is larger; a client that needs more requests smaller parts. */
enum { ANSWER_MOST = 1 << 20 };

#define PARAM_ROW_NODE "node", PARAM_TEXT, .help = "Only this node."
#define PARAM_ROW_RANK "rank", PARAM_INT, .lo = 0, .hi = INT32_MAX, .help = "Only this rank."
#define PARAM_ROW_FROM                                                                             \
    "from", PARAM_TIME, .help = "Start of the window, ns since the epoch (default: open)."
#define PARAM_ROW_TO                                                                               \
    "to", PARAM_TIME, .help = "End of the window, exclusive, ns since the epoch (default: open)."

/* ERR_USAGE; the message advises to request less. */
int answer_too_large(const char *what, struct err *e);
MUST_CHECK int answer_fits(const struct buf *body, const char *what, struct err *e);

/* 202 {"pending": true}: an async job computes it; the client requests it again. */
void answer_pending(struct route_answer *out);

/* The place of a parameter's value in a list that ends with NULL; `*at` stays when it was not
 * given. ERR_USAGE names the words that are allowed. */
MUST_CHECK int route_word(const struct route_request *q, const char *name, const char *const *words,
                          int64_t *at, struct err *e);

/* from and to of the request, where open those of the run; to is after from. ERR_USAGE: not. */
MUST_CHECK int route_window(const struct route_request *q, wall_ns *from, wall_ns *to,
                            struct err *e);

/* `now` for a run with few events, at once. For one with many, an async job computes the answer:
 * 202 until that is done. `now` may use run, values and arena of the request, and nothing else of
 * it. */
MUST_CHECK int answer_async(const struct route_request *q, route_fn *now, struct route_answer *out,
                            struct err *e);

/* Writes an answer from the digest of the run's steps. */
typedef int steps_fn(const struct route_request *q, const struct step_digest *d,
                     struct route_answer *out, struct err *e);
/* `put` with the digest; 202 while an async job computes it. With a digest of older data the answer
 * is not cached (`passing`). */
MUST_CHECK int answer_with_steps(const struct route_request *q, steps_fn *put,
                                 struct route_answer *out, struct err *e);

/* ---- the body of a POST ---- */

/* {"set": "interval=100ms"}, and nothing else in it: the request, checked, in the arena. Pure. */
MUST_CHECK int control_body(const char *body, size_t n, struct arena *a, const char **set,
                            struct err *e);
/* {"run": "NAME"} of the run itself, so that no slip of a path removes another one. Pure. */
MUST_CHECK int remove_body(const char *body, size_t n, const char *name, struct err *e);

/* ---- rows ---- */

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
    unsigned within_s;      /* of a run on a hub: a change takes effect within; 0: at once */
    bool may_edit;          /* rename, annotate, delete */
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

/* Of a server that receives runs. */
struct api_hub {
    struct hub_use *uses;
    size_t n;
    uint64_t used_bytes;
    int64_t free_bytes; /* negative: not known */
};

/* Requests to recorders on other machines. */
struct api_requests {
    unsigned within_s; /* 0: none are taken */
    struct hub_control_request *v;
    size_t n;
};

struct api_status {
    struct runs_facts facts;
    int64_t memory_bytes; /* negative: not known */
    double cpu_s;
    bool may_control;
    const char *const *folders;
    size_t n_folders;
    const struct api_hub *hub; /* NULL: it receives no runs */
};

/* A file of a run, as it is on the disk. */
struct api_file {
    const char *name;
    int64_t bytes, changed_ns;
    const char *etag;
    const char *text; /* of small JSON files; NULL: not here */
};

struct api_node_files {
    const char *node;
    const char *recorder; /* "alive", "dead", "unknown" */
    const struct api_file *files;
    size_t n_files;
};

struct api_run_files {
    const char *run;
    int64_t now_ns;
    const struct api_file *files;
    size_t n_files;
    const struct api_node_files *nodes;
    size_t n_nodes;
};

struct api_files_page {
    const struct api_run_files *runs;
    size_t n_runs;
    int64_t now_ns;
    const char *next; /* NULL: there are no more */
};

/* The bytes from..from+n of a file of `size` bytes that a Range header means. 200: it means none,
 * so all of them; 206; 416. Pure. */
int range_parse(const char *header, uint64_t size, uint64_t *from, uint64_t *n);
/* Whether an If-Match or If-None-Match header, which may be NULL, names the ETag. `weak`: one of
 * W/"..." counts as well. Pure. */
bool etag_is_listed(const char *header, const char *etag, bool weak);

extern const struct row_table row_BrokenRun, row_Control, row_ControlAnswer, row_ControlAsk,
    row_ControlRequest, row_ControlSaid, row_ControlState, row_CounterSeries, row_Counters,
    row_DeviceHistogram, row_Error, row_Event, row_FilesPage, row_Grid, row_GridSeries, row_HeatRow,
    row_Heatmap, row_Histograms, row_HubStorage, row_HubUse, row_Issues, row_Lane, row_Match,
    row_Metric, row_NodeFiles, row_Notes, row_OneSeries, row_OpenApi, row_OutlierStep, row_Pending,
    row_RemoveAsk, row_Removed, row_Rights, row_Run, row_RunEntry, row_RunFile, row_RunFiles,
    row_Search, row_Slices, row_Status, row_StepHistogram, row_Thread, row_Timeline, row_Trace;

#endif
