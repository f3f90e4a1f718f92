/* SPDX-License-Identifier: Apache-2.0 */
/* report_internal.h - the contents of a report, for the files that collect and write it. */
#ifndef REPORT_REPORT_INTERNAL_H
#define REPORT_REPORT_INTERNAL_H

#include "query/general.h"
#include "report/doc.h"
#include "report/report.h"
#include "tables/healthview.h"
#include "tables/opsview.h"
#include "tables/show.h"
#include "tables/statview.h"
#include "tables/stepsview.h"

enum {
    REPORT_POINTS = 240,    /* of a line in a chart */
    REPORT_NODES = 8,       /* that have separate charts */
    REPORT_RANKS = 8,       /* that have a line of step durations */
    REPORT_LAST_STEPS = 30, /* one by one */
    REPORT_OPS = 20,        /* of each device */
    REPORT_GENERAL = 16,    /* kinds of general metrics */
    REPORT_GPUS = 64,       /* one by one */
};

/* A line of the overview: mean, lowest and highest sample of all entities in each interval. */
struct report_line {
    const char *label, *metric;
    double *t, *v, *min, *max; /* t: s since the job's start; NAN: no sample */
    size_t n;
};

struct report_chart {
    const char *node, *title, *unit;
    struct report_line lines[2];
    size_t n;
};

/* Durations of the training steps of a rank, in groups of equal numbers of steps. */
struct report_pace {
    const struct rank_steps *rank;
    double *step, *v, *min, *max; /* s */
    size_t n;
};

enum { REPORT_CURVES = 4, REPORT_TENSORS = 15 /* one by one */ };

/* Training health of the first rank that has it. */
struct report_health {
    struct health_index index; /* values 0: there is none */
    int64_t rank;
    struct svg_line losses[REPORT_CURVES], norms[REPORT_CURVES];
    size_t n_losses, n_norms;
    struct health_layers layers; /* worst first */
};

struct report_rule {
    const struct verdict *v;
    const struct param_value *p;
};

struct report {
    struct arena *arena;
    struct report_ask ask;
    wall_ns now;
    bool live;
    const struct run_info *info;
    struct show show;
    struct statview use, loop_use; /* of the job, and of its training loop: none without steps */
    double phase_pct[PHASE_N];     /* as shown: they sum to 100; NAN without steps */
    double cost, price_per_hour;   /* NAN: a price is not known */
    struct report_rule *rules;     /* costliest first, then by triggers */
    size_t n_rules;
    size_t states[RULE_STATE_N]; /* how many rules are in each, as verdict_counts has it */
    size_t summaries;
    struct report_chart *charts;
    size_t n_charts, nodes_left_out;
    struct steps_view steps;
    struct report_pace *paces;
    size_t n_paces;
    struct opsview ops;
    const char *no_ops;        /* why there are none; NULL: there are */
    const char **window_costs; /* of each detail window, in words */
    size_t n_window_costs;
    struct general general;
    struct report_health health;
    double op_s[2]; /* self time of all operators, by enum op_device; 0: none */
};

/* ---- the sections ---- */

/* The training steps of the rank that has most: ranks are alike. NULL: there are none. */
const struct steps_row *report_best_row(const struct report *r);

void report_put_loop(const struct report *r, struct doc *d);
void report_put_health(const struct report *r, struct doc *d);
void report_put_head(const struct report *r, struct doc *d);
void report_put_job(const struct report *r, struct doc *d);
void report_put_system(const struct report *r, struct doc *d);
void report_put_framework(const struct report *r, struct doc *d);
void report_put_rules(const struct report *r, struct doc *d);
void report_put_findings(const struct report *r, struct doc *d);
void report_put_measured(const struct report *r, struct doc *d);

MUST_CHECK int report_health_read(struct report *r, struct run *run, struct err *e);
/* The verdict of a rule by its name; NULL: there is none. */
const struct verdict *report_verdict(const struct report *r, const char *rule);
/* Seconds since the job's start. */
double report_since(const struct report *r, wall_ns t);
/* Phases as spans for charts. */
size_t report_spans(const struct report *r, struct svg_span **out);
/* Its plots, those that are charts side by side, then its tables. */
void report_put_plots(const struct report *r, struct doc *d, const struct verdict *v);
/* "warning" and so on as a tone. */
enum tone severity_tone(enum severity s);

#endif
