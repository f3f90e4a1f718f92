/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - readings in order of time: episodes in which something held, windows that are judged
 * one by one, and rises from a window to the next. */
#ifndef RULES_WINDOWS_H
#define RULES_WINDOWS_H

#include "rules/hist.h"
#include "rules/rule.h"
#include "rules/verdict.h"

/* ---- episodes ---- */

/* Times in which something held, added moment by moment.
 * Moments that are no further apart than the gap belong to one episode, so a day has a bounded
 * number of them. */

struct episode {
    int64_t from_ns, to_ns; /* wall time */
    uint64_t count;         /* moments in it */
    int64_t held_ns;        /* that they cover */
};

struct episodes {
    struct episode *v; /* in order of time */
    uint32_t n, cap;
};

#define EPISODE_GAP_NS (30 * NS_PER_S)

/* It held at `at` and for `held_ns` from there. In order of time. */
void episodes_add(struct episodes *e, wall_ns at, int64_t held_ns);
/* A whole one that follows all others. */
void episodes_put(struct episodes *e, const struct episode *x);
void episodes_memory(struct episodes *e, enum state_op op);
int64_t episodes_held_ns(const struct episodes *e);
/* They become the ranges of a finding. */
void finding_in(struct verdict *v, struct finding *f, const struct episodes *e);

/* ---- windows ---- */

/* Consecutive windows of sweeps, each judged by the distribution of a few columns.
 *
 * Windows lie side by side from where the rule begins to count. The latest one is stored as
 * histograms, since sweeps may still come; when it has ended it is judged and becomes a count and
 * an episode of its class. The first one is stored for runs that are too short for a full
 * window. */

/* Class 0 is fine. */
enum { WINDOW_CLASSES = 3, WINDOW_COLUMNS_MOST = 3 };

struct windows_spec {
    size_t columns;
    int points; /* index of the parameter for the length of a window */
    /* By its columns. */
    unsigned (*classify)(const struct hist *cols, const struct param_value *p);
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
void windows_memory(struct windows *w, enum state_op op);

/* ---- rises ---- */

/* Where the mean of a window lies above that of the window before it by more than a given
 * number of percentage points.
 *
 * Windows lie side by side from where the rule begins to count. The last two are stored as sums; a
 * pair is compared when the next window begins. Rises that follow each other closely are one. */

struct rise {
    int64_t from_ns,
        to_ns;      /* begin of the window before the first rise, end of that after the last */
    uint64_t count; /* pairs of windows */
    double before, after; /* means, percent */
};

struct rise_window {
    int64_t index, length_ns, period_ns;
    uint64_t n;
    int64_t sum; /* tenths of a percent */
};

enum { RISE_WINDOWS = 2 };

struct rises {
    struct rise_window w[RISE_WINDOWS]; /* the last but one and the last; or the only one */
    uint32_t n_windows;
    uint64_t compared; /* pairs next to each other that were full */
    struct rise *v;    /* in order of time */
    uint32_t n, cap;
};

struct rises_spec {
    int window, increase; /* indices of parameters */
};

void rises_add(struct rises *r, const struct rises_spec *spec, const struct rule_view *c,
               const struct sweeps *s, const float *v);
/* The same, with the last pair compared too. Of a run that ended before two windows next
 * to each other were full, the last two are compared as they are: `short_ok`. The copy is the
 * caller's to free. */
struct rises rises_ended(const struct rises *r, const struct rises_spec *spec,
                         const struct rule_view *c, bool short_ok);
void rises_memory(struct rises *r, enum state_op op);

#endif
