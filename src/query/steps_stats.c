/* SPDX-License-Identifier: Apache-2.0 */
/* steps_stats.c - how long steps take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "query/steps_own.h"

enum { OUTLIER_SIGMAS = 3 };

static bool counts(const struct step *s, enum event_mode mode)
{
    return s->mode == mode && !s->cut;
}

/* Whether fetches are seen: then a step without one had its batch fetched by the step before, as by
 * a loader that looks ahead. */
static bool sees_fetches(const struct rank_steps *s, enum event_mode mode)
{
    const uint8_t data = step_part_of(EV_DATA);
    for (size_t i = 0; i < s->n; i++)
        if (counts(&s->steps[i], mode) && s->steps[i].part_ns[data] > 0)
            return true;
    return false;
}

static double rate(const struct rank_steps *s, enum event_mode mode)
{
    const bool fetches = sees_fetches(s, mode);
    const uint8_t data = step_part_of(EV_DATA);
    double samples = 0, time_s = 0;
    bool known = false;
    for (size_t i = 0; i < s->n; i++) {
        const struct step *x = &s->steps[i];
        const bool fetched_before = fetches && x->part_ns[data] == 0;
        if (!counts(x, mode) || (x->batch < 0 && !fetched_before))
            continue;
        known |= x->batch >= 0;
        samples += (double)MAX_OF(x->batch, 0);
        time_s += ns_to_s(x->dur_ns);
    }
    return known && time_s > 0 ? samples / time_s : NAN;
}

static void find_outliers(const struct rank_steps *s, enum event_mode mode, struct arena *a,
                          struct step_stats *out)
{
    const double most = out->mean_s + OUTLIER_SIGMAS * out->stddev_s;
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += counts(&s->steps[i], mode) && ns_to_s(s->steps[i].dur_ns) > most;
    out->outliers = arena_array(a, int64_t, n);
    for (size_t i = 0; i < s->n && out->n_outliers < n; i++)
        if (counts(&s->steps[i], mode) && ns_to_s(s->steps[i].dur_ns) > most)
            out->outliers[out->n_outliers++] = s->steps[i].number;
}

void step_stats_of(const struct rank_steps *s, enum event_mode mode, struct arena *a,
                   struct step_stats *out)
{
    *out = (struct step_stats){.mode = mode,
                               .mean_s = NAN,
                               .min_s = NAN,
                               .p50_s = NAN,
                               .p95_s = NAN,
                               .p99_s = NAN,
                               .max_s = NAN,
                               .stddev_s = NAN,
                               .throughput_steady = rate(s, mode)};
    double *v = xcalloc(s->n, sizeof *v);
    for (size_t i = 0; i < s->n; i++)
        if (counts(&s->steps[i], mode))
            v[out->count++] = ns_to_s(s->steps[i].dur_ns);
    const size_t n = out->count;
    if (n) {
        stat_sort(v, n);
        out->min_s = v[0];
        out->p50_s = stat_quantile(v, n, 0.50);
        out->p95_s = stat_quantile(v, n, 0.95);
        out->p99_s = stat_quantile(v, n, 0.99);
        out->max_s = v[n - 1];
        stat_spread(v, n, &out->mean_s, &out->stddev_s);
        find_outliers(s, mode, a, out);
    }
    free(v);
}

/* All parts in one pass: the steps of a long run are more than fits a cache. */
void steps_parts_s(const struct rank_steps *s, enum event_mode mode, double out[STEP_PARTS_MOST])
{
    int64_t ns[STEP_PARTS_MOST] = {0};
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; s->steps[i].mode == mode && !s->steps[i].cut && k < STEP_PARTS_MOST; k++)
            ns[k] += s->steps[i].part_ns[k];
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        out[k] = (double)ns[k] / (double)NS_PER_S;
}
