/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - the contents of the first page about a run, read once. */
#ifndef TABLES_SHOW_H
#define TABLES_SHOW_H

#include "query/efficiency.h"
#include "run/shipping.h"
#include "tables/statview.h"
#include "tables/stepsview.h"

/* ---- what the GPUs of a run achieved ----
 *
 * As show and report put it: the same numbers, the same words, and the reason for each number that
 * is missing. */

struct gpu_view {
    struct efficiency x;
    const struct gpu_use *use; /* of the training loop; of the whole job where there is no loop */
    bool loop;                 /* the former */
    const struct loss_list *lost;
    struct arena *arena;
};

/* Everything lives in the arena; the losses must stay. */
MUST_CHECK int gpuview_read(struct gpu_view *out, struct run *r, const struct efficiency_ask *ask,
                            const struct loss_list *lost, struct arena *a, struct err *e);

/* Numbers of the view, in the order of the JSON object. */
enum gpu_number {
    GPU_NUMBER_TFLOPS,
    GPU_NUMBER_PEAK_TFLOPS,
    GPU_NUMBER_MFU,
    GPU_NUMBER_UTIL,
    GPU_NUMBER_SM,
    GPU_NUMBER_OCCUPANCY,
    GPU_NUMBER_TENSOR,
    GPU_NUMBER_DRAM,
    GPU_NUMBER_DRAM_TB_S,
    GPU_NUMBER_POWER,
    GPU_NUMBER_CLOCK,
    GPU_NUMBER_ENERGY, /* of the whole job */
    GPU_NUMBER_LOOP_ENERGY,
    GPU_NUMBER_STEP_ENERGY,
    GPU_NUMBER_SAMPLE_ENERGY,
    GPU_NUMBER_PEAK_MEMORY,
    GPU_NUMBER_RESERVED_MEMORY,
    GPU_NUMBER_USED_MEMORY,
    GPU_NUMBERS
};

double gpuview_number(const struct gpu_view *v, enum gpu_number n);
/* Why it is NAN, as half a sentence: never NULL. */
const char *gpuview_why(const struct gpu_view *v, enum gpu_number n);

/* For people; in the arena of the view. */

/* "busy 98.7 %, SMs 95.0 %, tensor cores 60.5 %, memory bandwidth 30.1 %". */
const char *gpuview_activity(const struct gpu_view *v, const struct gpu_use *u);
/* "526 TFLOP/s, 53.2 % of the 989 TFLOP/s that BF16 can do; 60.5 % at the clock that ran". */
const char *gpuview_compute(const struct gpu_view *v);
/* "1 610 MHz; throttled 100 % of the time by the power limit". */
const char *gpuview_clock(const struct gpu_view *v, const struct gpu_use *u);
/* "689 W; 20.2 J a step, 1.26 J a sample". */
const char *gpuview_power(const struct gpu_view *v);
/* "13.7 mJ", "4.21 kJ (1.17 Wh)"; "-" for NAN. */
const char *joules_text(struct arena *a, double j);
/* "6.42 GiB allocated at most, 6.60 GiB reserved; 7.42 of 140 GiB of the GPU in use". */
const char *gpuview_memory(const struct gpu_view *v);

/* "BF16": what the peak is of; "": not known. */
const char *gpuview_peak_format(const struct gpu_view *v);

/* The reasons of the numbers that are missing, one call for each; nothing but one reason where
 * there is no GPU. */
void gpuview_missing(const struct gpu_view *v,
                     void (*see)(void *ctx, const char *what, const char *why), void *ctx);

/* ---- the page ---- */

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

/* The same with steps that were read already, and with the events that allocator_event_wanted
 * selects where they were read with the steps. */
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

/* A loss as --json lists it. */
struct show_loss {
    const char *what, *title, *why;
    int64_t count;
    const char *kind, *node;            /* node NULL: of the run */
    const char *metric, *entity, *part; /* NULL: there is none; either metric or part is set */
};

struct show_loss show_loss_of(const struct run_loss *l, struct arena *a);

extern const struct row_table row_RunBase, row_RunShow, row_Loss; /* see run_rows.def */
/* The keys of `footplate show --json`, into an object that the caller opened. */
void show_json(struct jw *j, const struct show *s);

#endif
