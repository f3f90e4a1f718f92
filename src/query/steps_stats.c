/* SPDX-License-Identifier: Apache-2.0 */
/* steps_stats.c - how long steps take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/steps.h"

enum { OUTLIER_SIGMAS = 3 };

static bool counts(const struct step *s, enum event_mode mode)
{
    return s->mode == mode && !s->cut;
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One pass over one byte of each; false: they are all alike there, and nothing was moved. */
static bool sort_byte(const uint64_t *from, uint64_t *to, size_t n, unsigned shift)
{
    size_t at[256] = {0}, next = 0;
    for (size_t i = 0; i < n; i++)
        at[from[i] >> shift & 0xff]++;
    if (at[from[0] >> shift & 0xff] == n)
        return false;
    for (size_t k = 0; k < 256; k++) {
        const size_t here = at[k];
        at[k] = next;
        next += here;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i] >> shift & 0xff]++] = from[i];
    return true;
}

/* None is negative, so their bits are in the order of their values: sorted byte by byte, which
 * takes a tenth of the time of comparing where there are many. */
static void sort_durations(double *v, size_t n)
{
    enum { FEW = 2048 };
    if (n < FEW) {
        qsort(v, n, sizeof *v, by_value);
        return;
    }
    uint64_t *a = xcalloc(n, sizeof *a), *b = xcalloc(n, sizeof *b);
    memcpy(a, v, n * sizeof *a);
    for (unsigned shift = 0; shift < 64; shift += 8)
        if (sort_byte(a, b, n, shift)) {
            uint64_t *sorted = b;
            b = a;
            a = sorted;
        }
    memcpy(v, a, n * sizeof *a);
    free(a);
    free(b);
}

/* Linear interpolation between the two values beside it. */
static double quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    const double next = sorted[MIN_OF(i + 1, n - 1)];
    return sorted[i] + (at - (double)i) * (next - sorted[i]);
}

static void spread(const double *v, size_t n, struct step_stats *out)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    out->mean_s = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - out->mean_s) * (v[i] - out->mean_s);
    out->stddev_s = sqrt(squares / (double)n);
}

static double rate(const struct rank_steps *s, enum event_mode mode)
{
    double samples = 0, time_s = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!counts(&s->steps[i], mode) || s->steps[i].batch < 0)
            continue;
        samples += (double)s->steps[i].batch;
        time_s += seconds(s->steps[i].dur_ns);
    }
    return time_s > 0 ? samples / time_s : NAN;
}

static void find_outliers(const struct rank_steps *s, enum event_mode mode, struct arena *a,
                          struct step_stats *out)
{
    const double most = out->mean_s + OUTLIER_SIGMAS * out->stddev_s;
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += counts(&s->steps[i], mode) && seconds(s->steps[i].dur_ns) > most;
    out->outliers = arena_array(a, int64_t, n);
    for (size_t i = 0; i < s->n && out->n_outliers < n; i++)
        if (counts(&s->steps[i], mode) && seconds(s->steps[i].dur_ns) > most)
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
                               .samples_per_s = rate(s, mode)};
    double *v = xcalloc(s->n, sizeof *v);
    for (size_t i = 0; i < s->n; i++)
        if (counts(&s->steps[i], mode))
            v[out->count++] = seconds(s->steps[i].dur_ns);
    const size_t n = out->count;
    if (n) {
        sort_durations(v, n);
        out->min_s = v[0];
        out->p50_s = quantile(v, n, 0.50);
        out->p95_s = quantile(v, n, 0.95);
        out->p99_s = quantile(v, n, 0.99);
        out->max_s = v[n - 1];
        spread(v, n, out);
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
