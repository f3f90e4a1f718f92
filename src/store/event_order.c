/* SPDX-License-Identifier: Apache-2.0 */
/* event_order.c - see event_order.h. Insertion into short runs, then merges that touch only the
 * stretch where two neighbours overlap. */
#include "store/event_order.h"

#include <string.h>

#include "base/mem.h"

enum { RUN = 32 };

static inline bool before(const struct order_key *a, const struct order_key *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->dur != b->dur)
        return a->dur > b->dur;
    return a->tie < b->tie;
}

static void insert_sort(struct order_key *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct order_key one = v[i];
        size_t at = i;
        for (; at > 0 && before(&one, &v[at - 1]); at--)
            v[at] = v[at - 1];
        v[at] = one;
    }
}

/* How many of v[0..n) come before `one`. */
static size_t event_order_count_before(const struct order_key *v, size_t n,
                                       const struct order_key *one)
{
    size_t lo = 0;
    while (lo < n) {
        const size_t mid = lo + (n - lo) / 2;
        if (before(&v[mid], one))
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

/* v[0..mid) and v[mid..n) are in order. */
static void merge(struct order_key *v, size_t mid, size_t n, struct order_key *spare)
{
    if (before(&v[mid - 1], &v[mid]))
        return;
    const size_t from = event_order_count_before(v, mid, &v[mid]);
    const size_t to = mid + event_order_count_before(v + mid, n - mid, &v[mid - 1]);
    const size_t left = mid - from;
    memcpy(spare, v + from, left * sizeof *v);
    size_t a = 0, b = mid;
    for (struct order_key *out = v + from; a < left; out++)
        *out = b < to && before(&v[b], &spare[a]) ? v[b++] : spare[a++];
}

void event_order(struct order_key *v, struct order_key *spare, size_t n)
{
    for (size_t i = 0; i < n; i += RUN)
        insert_sort(v + i, MIN_OF((size_t)RUN, n - i));
    for (size_t width = RUN; width < n; width *= 2)
        for (size_t i = 0; i + width < n; i += 2 * width)
            merge(v + i, width, MIN_OF(2 * width, n - i), spare);
}
