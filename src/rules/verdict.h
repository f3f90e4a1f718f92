/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - the result of a rule: its state, findings with their size and evidence, words.
 *
 * Filled by a rule's judge through the functions below, completed by the engine (severity, sums,
 * links). Everything lives in the arena that the judge was given. */
#ifndef RULES_VERDICT_H
#define RULES_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"

enum rule_state { RULE_CLEAR, RULE_ISSUE, RULE_NOT_EVALUATED, RULE_STATE_N };
enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL, SEVERITY_N };

extern const char *const rule_state_names[RULE_STATE_N]; /* "clear", "issue", "not_evaluated" */
/* For people: "passed", "issue", "skipped". */
extern const char *const rule_state_words[RULE_STATE_N];
extern const char *const severity_names[SEVERITY_N];

/* A number of a rule's findings; of one that is only for programs the label is "". */
struct number_label {
    const char *name, *unit, *label; /* "gpu_p95", "%", "GPU utilization, p95"; an empty one ends
                                        a table */
};

struct finding_number {
    const char *name, *unit; /* "gpu_p95", "%" */
    const char *label;       /* for people; "": not shown */
    double v;                /* NAN: not measured */
};

struct time_range {
    wall_ns start, end;
};

/* A number with a name, or a list of them. */
struct plot_row {
    const char *label;
    const double *v;
    size_t n;
};

enum plot_kind {
    PLOT_HISTOGRAM, /* rows: label, counts per bin; edges: n + 1 */
    PLOT_BOX,       /* rows: label, {p5, p25, p50, p75, p95} */
    PLOT_PIE,       /* rows: label, {value} */
    PLOT_BARS,      /* rows: label, {value} */
    PLOT_SERIES,    /* rows: label, values; edges: their times in s since the job's start */
    PLOT_TABLE,     /* rows: label, a value for each of the columns */
};

struct plot {
    enum plot_kind kind;
    const char *title, *unit;
    const double *edges;
    size_t n_edges;
    const char *const *columns; /* of a table: their names */
    size_t n_columns;
    struct plot_row *rows;
    size_t n_rows, cap_rows;
};

/* What the framework was doing in the time of a finding. */
struct share {
    const char *what, *name; /* "phase" "train"; "event" "data"; "operator" "aten::mm" */
    int64_t rank;
    double seconds, share; /* of the finding's time */
};

struct finding {
    const char *node, *entity; /* "": the job, or the node as a whole */
    int64_t step;              /* of a health rule; -1: none */
    const char *module;        /* the same: a module or parameter; NULL: none */
    wall_ns start, end;        /* of all its ranges */
    struct time_range *ranges; /* in order, apart from each other */
    size_t n_ranges;
    const char *message;       /* one sentence with numbers */
    const char *advice;        /* what to do here, with numbers; NULL: the rule's recommendation */
    const char *refute;        /* the evidence that would refute it; NULL: none given */
    const char *part;          /* the part of a step that it is about; NULL: that of its rule */
    const char *const *causes; /* rules that may explain it; NULL: those of its rule */
    struct finding_number *numbers;
    size_t n_numbers, cap_numbers;
    double lost_s, lost_gpu_s; /* NAN: not known */
    bool estimated;            /* what is lost; as in its rule's record, unless the rule sets it */
    struct share *shares;
    size_t n_shares;
    const char **explained_by; /* names of rules */
    size_t n_explained_by;
};

/* What a node used: 95th percentiles in percent; NAN: not measured. */
struct node_use {
    const char *node;
    size_t gpus; /* that the job used; the numbers are theirs */
    double gpu_p95, gpu_mem_p95, cpu_p95, mem_p95;
};

struct right_size;

struct verdict {
    const struct rule *rule;
    enum rule_state state;
    enum severity severity; /* of an issue */
    const char *why;        /* not evaluated: why; clear: what was seen; "": nothing to add */
    uint64_t triggered, violations, datapoints;
    wall_ns last_triggered;                           /* 0: never */
    double lost_s, lost_share, lost_gpu_s, lost_cost; /* NAN: not known, or nothing lost */
    const char *currency;                             /* of lost_cost; NULL: not set */
    struct finding *findings;
    size_t n_findings, cap_findings;
    struct plot *plots;
    size_t n_plots, cap_plots;
    const char **remarks; /* more sentences: settings seen, verdicts of nodes */
    size_t n_remarks, cap_remarks;
    struct node_use *uses; /* of a summary of use */
    size_t n_uses;
    const struct right_size *right_size; /* rightsize.h; NULL: none is proposed */
    struct arena *arena;
};

/* That nothing was found and nothing is known to be lost; what is added lives in the arena. */
struct verdict verdict_new(const struct rule *r, struct arena *a);
/* A new finding, lost sizes NAN; the state becomes RULE_ISSUE. Good until the next one is made. */
struct finding *verdict_find(struct verdict *v, const char *node, const char *entity);
void verdict_not_evaluated(struct verdict *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void verdict_why(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void verdict_remark(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Good until the next plot is made. */
struct plot *verdict_plot(struct verdict *v, enum plot_kind kind, const char *title,
                          const char *unit);
/* The values are copied. */
void plot_row(struct verdict *v, struct plot *p, const char *label, const double *values, size_t n);

/* The label is the one of the rule's table; a custom rule's number is called by its name. */
void finding_number(struct verdict *v, struct finding *f, const char *name, double value,
                    const char *unit);
/* Those of the rule's table, in its order; NUMBER_ABSENT leaves one out. */
#define NUMBER_ABSENT INFINITY
void finding_numbers(struct verdict *v, struct finding *f, const double *values, size_t n);
#define FINDING_NUMBERS(v, f, ...)                                                                 \
    finding_numbers(v, f, (const double[]){__VA_ARGS__}, COUNT_OF(((const double[]){__VA_ARGS__})))
void finding_say(struct verdict *v, struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void finding_advise(struct verdict *v, struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A rule about training health of a run that recorded nothing for it: most runs have no loss
 * scaling, and many no health at all. It is not listed; `footplate health` reports what is
 * missing. */
bool verdict_has_nothing(const struct verdict *v);
/* Whether it counts as issue, passed or skipped: a rule that only fills a table does so only where
 * it was skipped, and a job that ended well is nothing to count. */
bool verdict_counts(const struct verdict *v);
/* One of its findings is explained by no other rule: something to be cured. */
bool verdict_is_cause(const struct verdict *v);
/* The rule that explains it, when all of its findings are explained; NULL: it is a cause. */
const char *verdict_explained_by(const struct verdict *v);
/* In the order in which to read them: causes, the severest first and of those what cost most; then
 * what they explain. Else they stay as they are. */
void verdicts_worst_first(const struct verdict **v, size_t n);
/* All n of them in the order in which to read them: issues as above; what is clear; what could not
 * be evaluated. */
void verdicts_in_order(const struct verdict *v, size_t n, const struct verdict **out);
/* The ranges are copied; start and end follow from them. */
void finding_when(struct verdict *v, struct finding *f, const struct time_range *r, size_t n);
/* How often the rule was triggered by it, the last time at its end. */
void finding_count(struct verdict *v, const struct finding *f, uint64_t triggered,
                   uint64_t violations);
/* Time in which so many GPUs wait; 0: there is none. */
void finding_lost(struct finding *f, double seconds, size_t gpus);

#endif
