/* SPDX-License-Identifier: Apache-2.0 */
/* top_view.h - the contents of one frame of `footplate top`, and its layout.
 *
 * top_layout is pure: numbers in, lines out. A number that was not measured is NAN and is shown as
 * "-" in a table and as "not measured" elsewhere. */
#ifndef CMD_TOP_VIEW_H
#define CMD_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "query/steps.h"
#include "rules/verdict.h"
#include "run/run_info.h"
#include "tables/stepsview.h"

struct top_gpu {
    const char *entity; /* "gpu0" */
    double busy, sm, tensor;
    double mem_used, mem_total;
    double power, power_limit;
    double temp, clock_sm, clock_mem;
};

/* Of the node that is shown; means of the last interval. */
struct top_node {
    const char *id;
    size_t number, count; /* from 0; nodes of the run */
    double cpu, iowait;   /* of all cores */
    const char *cpu_why;  /* why it is not measured */
    double *cores;
    size_t n_cores;
    double mem, mem_used, mem_total;
    const char *mem_why;
    double job_cpu, job_rss, job_processes, job_threads;
    struct top_gpu *gpus;
    size_t n_gpus;
    const char *gpu_name; /* "NVIDIA H200"; "": not known */
    const char *gpu_why;  /* why there is none; NULL: nothing is known about it */
};

struct top_part {
    const char *name;
    double seconds;
};

/* What an iteration is spent on, by one clock. */
struct top_clock {
    const char *label; /* "GPU time, 35 of 250 steps timed" */
    struct top_part parts[STEP_PARTS_MOST + 1];
    size_t n;
};

/* Training steps per second, one number for each second, the newest last. */
enum { TOP_RATES = 240 };

struct top_steps {
    const char *none; /* why there are none; NULL: there are */
    int64_t number;   /* of the newest; -1: not known */
    int64_t planned;  /* steps in all; -1: not known */
    double left_s;    /* until they are done; NAN: not known */
    double rate;      /* of the last seconds */
    double since_s;   /* how long ago the newest began */
    double rates[TOP_RATES];
    size_t n_rates;
    /* As `show` has them. */
    size_t ranks;
    double p50_s, p95_s, mean_s;
    double samples_s;
    struct top_clock clocks[CLOCKS]; /* the GPU's first */
    size_t n_clocks;
};

struct top_finding {
    enum severity severity;
    const char *title, *size, *message, *advice;
    const char *explained_by; /* NULL: it is a cause */
};

struct top_view {
    const char *name, *command;
    enum run_status status;
    const char *note; /* a sentence about the run or the reading; NULL: none */
    double duration_s;
    struct top_node node;
    struct top_steps steps;
    struct top_finding *findings; /* in the order in which to read them */
    size_t n_findings;
    bool judged; /* rules were evaluated */
    const char *none_words;
    size_t passed, skipped;
};

/* What the user chose. */
struct top_choice {
    int64_t interval_ns;
    size_t selected; /* finding that is shown in full */
    bool paused, help;
    const char *clock; /* time of day; NULL: not shown */
};

struct top_page {
    size_t columns;
    size_t rows; /* 0: as many as it takes, and no line of keys */
    bool color;
};

/* Lines of at most `columns` columns in the arena; returns how many, `rows` at most. */
size_t top_layout(const struct top_view *v, const struct top_choice *c, const struct top_page *p,
                  struct arena *a, const char ***out);

#endif
