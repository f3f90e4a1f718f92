/* SPDX-License-Identifier: Apache-2.0 */
/* sweepteam.c - see sweepteam.h. */
#include "query/sweepteam.h"

void sweepteam_open(struct sweepteam *t)
{
    t->n = 0;
}

void sweepteam_put(struct sweepteam *t, unsigned group, const int64_t *times, size_t rows)
{
    size_t at = t->n++;
    for (; at && t->times[at - 1][0] > times[0]; at--) {
        t->groups[at] = t->groups[at - 1];
        t->times[at] = t->times[at - 1];
        t->rows[at] = t->rows[at - 1];
    }
    t->groups[at] = group;
    t->times[at] = times;
    t->rows[at] = rows;
}

/* Whether rows number i of all are one sweep that comes behind `last_us`, which becomes its own. */
static bool is_sweep(const struct sweepteam *t, size_t i, int64_t within_us, int64_t *last_us)
{
    const int64_t first = t->times[0][i];
    int64_t last = first;
    if (first <= *last_us)
        return false;
    for (size_t k = 1; k < t->n; k++) {
        const int64_t at = t->times[k][i];
        if (at < first || at - first >= within_us)
            return false;
        last = MAX_OF(last, at);
    }
    *last_us = last;
    return true;
}

size_t sweepteam_count(struct sweepteam *t, int64_t period_us, size_t most)
{
    const int64_t within_us = period_us - period_us / 4;
    const size_t all = t->n;
    int64_t last_us = INT64_MIN;
    size_t n = 0;
    for (t->n = 0; t->n < all && t->times[t->n][0] - t->times[0][0] < within_us; t->n++)
        most = MIN_OF(most, t->rows[t->n] - 1);
    const int64_t others_us = t->n < all ? t->times[t->n][0] : INT64_MAX;
    while (n <= most && is_sweep(t, n, within_us, &last_us) && last_us < others_us)
        n++;
    return n ? n - 1 : 0; /* that one is complete is known when the rows behind it are a sweep */
}
