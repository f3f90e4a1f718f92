/* SPDX-License-Identifier: Apache-2.0 */
/* rises.h - where the mean of a window lies above that of the window before it by more than a given
 * number of percentage points.
 *
 * Windows lie side by side from where the rule begins to count. The last two are kept as
 * sums; a pair is compared when the next window begins. Rises that follow each other closely are
 * one. */
#ifndef RULES_RISES_H
#define RULES_RISES_H

#include "rules/rule.h"

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
void rises_free(struct rises *r);

#endif
