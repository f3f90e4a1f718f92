/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_run.c - a run whose files are forged with right checksums, asked what the dashboard, the
 * report and the exports ask: whatever its times, numbers and names are, every answer comes or is
 * refused in a sentence. The same bytes are the metrics, the events and a detail window.
 * The first byte says which question is asked. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz_folder.h"
#include "query/breakdown.h"
#include "query/efficiency.h"
#include "query/event_flow.h"
#include "query/eventsum.h"
#include "query/general.h"
#include "query/grid.h"
#include "query/health.h"
#include "query/ops.h"
#include "query/steps.h"
#include "query/timeline.h"
#include "store_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const char *const data_files[] = {"node-a/metrics.fp", "node-a/events.fp",
                                         "node-a/trace-0001.fp"};

static void make_folder(void)
{
    char first[FUZZ_PATH_LEN], other[FUZZ_PATH_LEN];
    fuzz_folder_make();
    fuzz_folder_save(data_files[0], "", 0);
    snprintf(first, sizeof first, "%s/%s", fuzz_folder, data_files[0]);
    for (size_t i = 1; i < COUNT_OF(data_files); i++) { /* one file by three names */
        snprintf(other, sizeof other, "%s/%s", fuzz_folder, data_files[i]);
        if (link(first, other) != 0)
            abort();
    }
}

/* ---- questions ---- */

/* A refusal says why. */
static void answered(int rc, const struct err *e)
{
    if (rc != 0 && !e->msg[0])
        abort();
}

static void ask_grid(struct run *r, const struct run_info *info, struct arena *a)
{
    static const struct series_ask all = {0};
    const wall_ns mid = {info->start.ns / 2 + info->end.ns / 2};
    const wall_ns from[] = {info->start, {-CLOCK_MOST_NS}, {1}, mid, {1}};
    const wall_ns to[] = {info->end, {CLOCK_MOST_NS}, info->end, {CLOCK_MOST_NS}, {2}};
    for (size_t i = 0; i < COUNT_OF(from); i++) {
        struct grid g;
        struct err e = {0};
        const struct grid_ask ask = {.from = from[i],
                                     .to = to[i],
                                     .columns = 1 + 40 * i,
                                     .which = &all,
                                     .n_which = 1,
                                     .fewer_from = i};
        if (grid_read(r, &ask, a, &g, &e) == 0 && g.n)
            (void)grid_mean(&g, 0, a);
    }
}

static void ask_timeline(struct run *r, const struct run_info *info, struct arena *a, bool wide)
{
    struct timeline t;
    struct err e = {0};
    const struct timeline_ask ask = {.from = wide ? (wall_ns){-CLOCK_MOST_NS} : info->start,
                                     .to = wide ? (wall_ns){CLOCK_MOST_NS} : info->end,
                                     .px = 300,
                                     .rank = -1,
                                     .detail = wide,
                                     .limit = 500,
                                     .budget = 100000};
    answered(timeline_read(r, &ask, a, &t, &e), &e);
}

static void ask_events(struct run *r, struct arena *a)
{
    struct run_track *t;
    struct run_event *v;
    struct event_sum *sums;
    struct err e = {0};
    size_t n, k;
    if (events_tracks(r, a, &t, &n, &e) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        answered(events_read(r, &t[i], (wall_ns){0}, (wall_ns){0}, a, &v, &k, &e), &e);
    answered(event_sums(r, (wall_ns){0}, (wall_ns){0}, true, a, &sums, &k, &e), &e);
}

static void ask_health(struct run *r, struct arena *a)
{
    struct health_index x;
    struct health_curve c;
    struct health_matrix m;
    struct err e = {0};
    answered(health_index(r, a, &x, &e), &e);
    answered(health_curve(
                 r, &(struct health_curve_ask){.rank = -1, .name = "loss", .mode = -1, .points = 7},
                 a, &c, &e),
             &e);
    for (enum health_id s = 1; s < HEALTH_N; s++)
        answered(health_matrix(r, &(struct health_matrix_ask){.rank = -1, .stat = s, .columns = 3},
                               a, &m, &e),
                 &e);
}

static void ask_steps(struct run *r, struct arena *a)
{
    struct rank_steps *v;
    struct run_phases phases;
    struct err e = {0};
    size_t n;
    answered(steps_read(r, a, &v, &n, &e), &e);
    answered(phases_read(r, a, &phases, &e), &e);
}

static void ask_trace(struct run *r, struct arena *a, unsigned which)
{
    struct err e = {0};
    struct breakdown b;
    struct op_row *rows;
    struct general g;
    size_t n;
    if (which == 0)
        answered(breakdown_read(r, &(struct trace_ask){0}, a, &b, &e), &e);
    else if (which == 1)
        answered(ops_read(r, &(struct ops_ask){0}, a, &rows, &n, &e), &e);
    else
        answered(general_read(r, 20, a, &g, &e), &e);
}

static void ask_use(struct run *r, const struct run_info *info, struct arena *a)
{
    struct efficiency out;
    struct search_result found;
    struct err e = {0};
    const struct efficiency_ask ask = {.job_from = info->start, .job_to = info->end};
    const struct search_ask text = {.text = "a", .limit = 20, .budget = 10000};
    answered(efficiency_read(r, &ask, a, &out, &e), &e);
    answered(search_read(r, &text, a, &found, &e), &e);
}

static void ask_one(struct run *r, unsigned which, struct arena *a)
{
    const struct run_info *info = run_get_info(r);
    if (!clock_fits(info->start.ns) || !clock_fits(info->end.ns))
        abort();
    switch (which % 8) {
    case 0:
        ask_steps(r, a);
        break;
    case 1:
        ask_grid(r, info, a);
        break;
    case 2:
        ask_timeline(r, info, a, which & 8);
        break;
    case 3:
        ask_events(r, a);
        ask_health(r, a);
        break;
    case 7:
        ask_use(r, info, a);
        break;
    default:
        ask_trace(r, a, which % 8 - 4);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct run *r;
    struct arena a = {0};
    struct err e = {0};
    if (n == 0)
        return 0;
    if (!fuzz_folder[0])
        make_folder();
    uint8_t *copy = xmalloc(n);
    memcpy(copy, p + 1, n - 1);
    store_repair(copy, n - 1, false);
    fuzz_folder_save(data_files[0], copy, n - 1);
    free(copy);
    if (run_open(&r, fuzz_folder, &e) == 0) {
        ask_one(r, p[0], &a);
        run_close(r);
    } else if (!e.msg[0]) {
        abort();
    }
    arena_free(&a);
    return 0;
}
