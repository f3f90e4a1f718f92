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
#include "cmd/check.h"
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
    int64_t planned;  /* steps in total; -1: not known */
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

/* ---- top_read.c: reads a run over and over, for at most 1 % of a core ----
 *
 * Three kinds of numbers cost differently, so each has its own pace: readings, the rate of steps
 * (from the newest events alone), and statistics and rules over the whole run. A pause grows with
 * the CPU time that its reading took. */

struct top_source;

struct top_want {
    const char *path; /* of the run */
    size_t node;      /* its number, modulo how many there are */
    int64_t interval_ns;
};

/* `check`: parameters of rules and prices; it must stay. */
struct top_source *top_source_open(const struct check *check);
void top_source_close(struct top_source *s); /* NULL is fine */

/* Everything that is due; what is not due is as it was. The view is in the arena. */
MUST_CHECK int top_source_read(struct top_source *s, const struct top_want *w, struct arena *a,
                               struct top_view *out, struct err *e);
/* When the next reading may begin. */
mono_ns top_source_next(const struct top_source *s);

/* Cores, memory, job and GPUs of the node that is wanted, in the arena. */
MUST_CHECK int top_read_node(struct run *r, const struct top_want *w, struct arena *a,
                             struct top_node *out, struct err *e);

/* When what began then and took so much CPU time may begin again, so that it takes at most
 * 1 / `times` of a core; not sooner than `least_ns` after it began. */
mono_ns top_pace(mono_ns begin, int64_t cpu_ns, int64_t least_ns, int64_t times);

/* A training step whose iteration is over. */
struct top_iteration {
    int64_t start_ns, ns;
};

/* n spans of time, one after the other. */
struct top_seconds {
    int64_t from_ns, each_ns;
    size_t n;
};

/* Steps per second in each of them: an iteration counts with the share of it that lies there. */
void top_rates(const struct top_iteration *v, size_t n, struct top_seconds s, double *out);

#endif
