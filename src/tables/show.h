/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - the contents of the first page about a run, read once. */
#ifndef TABLES_SHOW_H
#define TABLES_SHOW_H

#include "run/shipping.h"
#include "tables/gpuview.h"
#include "tables/statview.h"
#include "tables/stepsview.h"

struct show {
    const struct run_info *info;
    struct arena *arena;
    struct run_size size;
    struct loss_list losses;
    struct run_mark *marks;
    size_t n_marks;
    struct summary_line *lines;
    size_t n_lines;
    struct rank_steps *ranks;
    size_t n_ranks;
    int64_t planned; /* see steps_planned */
    struct run_phases phases;
    const char *no_steps; /* why there are none; NULL: there are */
    struct gpu_view gpu;
    const struct shipping *shipping; /* NULL: the run is not sent anywhere */
};

/* Everything lives in the arena and as long as the run. */
MUST_CHECK int show_read(struct show *out, struct run *r, struct arena *a, struct err *e);

/* The same with steps that were read already, and with the events that allocator_event_wanted asks
 * for where they were read with the steps. */
MUST_CHECK int show_read_named(struct show *out, struct run *r, const struct run_steps *steps,
                               struct arena *a, struct err *e);

/* The same where all that needs the steps is known already; `ranks` is empty then. */
struct show_known {
    const struct run_phases *phases;
    const char *no_steps; /* as above */
    struct loop_window window;
    struct allocator_peak allocator;
};

MUST_CHECK int show_read_with(struct show *out, struct run *r, const struct show_known *known,
                              struct arena *a, struct err *e);

/* "421 samples/s steady, 380 overall". */
const char *show_throughput(const struct show *s, const struct mode_steps *x);

/* Percentages of the job's time as they are shown everywhere: with one decimal, and 100 together.
 * NAN without steps. */
void show_percents(const struct show *s, double pct[PHASE_N]);
/* NAN: there are no steps, or it is the finalization of a job that is still running. */
double show_phase_s(const struct show *s, enum phase_kind k);
/* Of these, training and evaluation together. */
double show_loop_percent(const double pct[PHASE_N]);

extern const struct row_table row_RunBase, row_RunShow; /* see run_rows.def */
/* The keys of `footplate show --json`, into an object that the caller opened. */
void show_json(struct jw *j, const struct show *s);

#endif
