/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - consecutive windows of sweeps, each judged by the distribution of a few columns.
 *
 * Windows lie side by side from where the rule begins to count. The latest one is kept as
 * histograms, since sweeps may still come; when it has ended it is judged and becomes a count and
 * an episode of its class. The first one is kept for runs that are too short for a full window. One
 * that begins and ends within a large batch is judged by its values, without a histogram. */
#ifndef RULES_WINDOWS_H
#define RULES_WINDOWS_H

#include "rules/episodes.h"
#include "rules/readings.h"
#include "rules/rule.h"

/* Class 0 is fine. */
enum { WINDOW_CLASSES = 3, WINDOW_COLUMNS_MOST = 3 };

struct windows_spec {
    size_t columns;
    int points; /* index of the parameter that says how long a window is */
    /* By its columns; judged alike whether they come as histograms or as values. */
    unsigned (*classify)(const struct readings *cols, const struct param_value *p);
};

struct rule_window;

struct windows {
    struct rule_window *first, *last; /* last NULL: there is but one */
    bool first_ended;                 /* and judged */
    uint64_t judged;                  /* windows that were long enough */
    uint64_t in_class[WINDOW_CLASSES];
    struct episodes episodes[WINDOW_CLASSES];
};

/* cols[0..columns) have n values each. */
void windows_add(struct windows *w, const struct windows_spec *spec, const struct rule_view *c,
                 const struct sweeps *s, const float *const *cols);
/* The same, with the latest window judged too. A run that ended before its first window was
 * full is judged by what there is, when that is at least a tenth of a window: `short_ok`. The copy
 * is the caller's to free. */
struct windows windows_ended(const struct windows *w, const struct windows_spec *spec,
                             const struct param_value *p, wall_ns from, bool short_ok);
/* Data points that suffice to judge: a window of them, of a run that has ended a tenth of one. */
uint64_t windows_needed(const struct param_value *window, int64_t period_ns, bool ended);
void windows_free(struct windows *w);

#endif
