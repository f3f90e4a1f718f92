/* SPDX-License-Identifier: Apache-2.0 */
/* The order of events in a block, against the standard library's sort. */
#include "base/mem.h"
#include "store/event_columns.h"
#include "store/storekit.h"
#include "test.h"

/* Whether the span is a file's, not a recorder's. */
static bool is_listed(const struct order_key *k)
{
    return k->tie == k->row;
}

static int by_rule(const void *a, const void *b)
{
    const struct order_key *x = a, *y = b;
    if (x->at != y->at)
        return x->at > y->at ? 1 : -1;
    if (x->dur != y->dur)
        return x->dur < y->dur ? 1 : -1;
    const int told = (x->row > y->row) - (x->row < y->row);
    return x->dur && !is_listed(x) ? -told : told;
}

typedef struct order_key make(struct kit_random *r, uint32_t i, bool listed);

static struct order_key anything(struct kit_random *r, uint32_t i, bool listed)
{
    return order_key((int64_t)kit_next(r), (int64_t)(kit_next(r) >> 1), i, listed);
}

static struct order_key few_times(struct kit_random *r, uint32_t i, bool listed)
{
    return order_key((int64_t)kit_below(r, 7), (int64_t)kit_below(r, 3), i, listed);
}

static struct order_key rising(struct kit_random *r, uint32_t i, bool listed)
{
    return order_key(i, (int64_t)kit_below(r, 3), i, listed);
}

static struct order_key falling(struct kit_random *r, uint32_t i, bool listed)
{
    return order_key(-(int64_t)i, (int64_t)kit_below(r, 3), i, listed);
}

/* Four parts, then the step around them; every thousandth around everything. */
static struct order_key nested(struct kit_random *r, uint32_t i, bool listed)
{
    (void)r;
    const int64_t step = i / 5 * 100;
    if (i % 1000 == 999)
        return order_key(0, step, i, listed);
    return i % 5 == 4 ? order_key(step, 90, i, listed)
                      : order_key(step + i % 5 * 20, 15, i, listed);
}

static void check(make *m, uint32_t n, bool listed)
{
    struct kit_random r = {n};
    struct order_key *v = xcalloc(n + 1u, sizeof *v), *want = xcalloc(n + 1u, sizeof *v);
    struct order_key *spare = xcalloc(n + 1u, sizeof *v);
    for (uint32_t i = 0; i < n; i++)
        want[i] = v[i] = m(&r, i, listed);
    if (n)
        qsort(want, n, sizeof *want, by_rule);
    event_order(v, spare, n);
    for (uint32_t i = 0; i < n; i++)
        CHECK_INT(v[i].row, want[i].row);
    free(v);
    free(want);
    free(spare);
}

TEST(events_of_any_order_and_number_are_sorted)
{
    static make *const makes[] = {anything, few_times, rising, falling, nested};
    static const uint32_t sizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 100, 1000, 4096, 65536};
    for (size_t m = 0; m < COUNT_OF(makes); m++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            for (int listed = 0; listed < 2; listed++)
                check(makes[m], sizes[i], listed);
}

TEST(of_spans_that_begin_and_end_together_the_outer_one_comes_first)
{
    struct order_key spare[3];
    struct order_key told[] = {order_key(5, 9, 0, false), order_key(5, 9, 1, false),
                               order_key(5, 9, 2, false)};
    event_order(told, spare, 3);
    CHECK_INT(told[0].row, 2); /* it ended last */
    struct order_key listed[] = {order_key(5, 9, 0, true), order_key(5, 9, 1, true),
                                 order_key(5, 9, 2, true)};
    event_order(listed, spare, 3);
    CHECK_INT(listed[0].row, 0);
}
