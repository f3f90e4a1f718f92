/* SPDX-License-Identifier: Apache-2.0 */
/* steps_warmup.c - which steps come before the loop has its usual pace.
 *
 * The first step of a mode always does: it loads libraries, grows the allocator's cache, tunes. Of
 * the first WARMUP_MOST, at most a quarter of all, also those up to the last one whose iteration
 * is slow: it takes more than twice the median of those after them, up to WARMUP_LOOKED_AT, and
 * clearly more than nine in ten of them. A loop whose steps are of two kinds is not warming up. (A
 * step that compiles is warm-up wherever it is: steps_parts.c marks those.) */
#include "base/mem.h"
#include "base/stat.h"
#include "query/steps_internal.h"

static const double SLOW = 2;      /* times the median of later ones */
static const double SLOWEST = 1.2; /* times their 90th percentile */

/* How long an iteration may take to be one of the usual ones. */
static double usual_most(const int64_t *later, size_t n)
{
    double sorted[WARMUP_LOOKED_AT];
    for (size_t i = 0; i < n; i++)
        sorted[i] = (double)later[i];
    stat_sort(sorted, n);
    return MAX_OF(SLOW * stat_quantile(sorted, n, 0.5), SLOWEST * stat_quantile(sorted, n, 0.9));
}

bool warmup_is_slow(const int64_t *iteration_ns, size_t n, size_t k)
{
    const size_t most = MIN_OF((size_t)WARMUP_MOST, n / 4);
    return k == 0 ||
           (k < most && (double)iteration_ns[k] > usual_most(iteration_ns + most, n - most));
}

static void mark_mode(struct step *v, size_t n, enum event_mode mode)
{
    int64_t ns[WARMUP_LOOKED_AT];
    size_t known = 0, slow = 0;
    for (size_t i = 0; i < n && known < WARMUP_LOOKED_AT; i++)
        if (v[i].mode == mode && !v[i].cut)
            ns[known++] = MAX_OF(step_iteration_ns(&v[i]), v[i].dur_ns);
    for (size_t k = 0; k < MIN_OF(known, (size_t)WARMUP_MOST); k++)
        slow = warmup_is_slow(ns, known, k) ? k + 1 : slow;
    for (size_t i = 0; i < n && slow; i++) {
        v[i].warmup |= v[i].mode == mode;
        slow -= v[i].mode == mode && !v[i].cut;
    }
}

void steps_mark_warmup(struct step *v, size_t n)
{
    for (enum event_mode m = 0; m < MODE_N; m++)
        mark_mode(v, MIN_OF(n, (size_t)KEPT_ROWS), m);
}
