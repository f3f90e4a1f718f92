/* SPDX-License-Identifier: Apache-2.0 */
/* The order of events in a block, against the standard library's sort. */
#include "base/mem.h"
#include "store/event_order.h"
#include "store/storekit.h"
#include "test.h"

static int by_rule(const void *a, const void *b)
{
    const struct order_key *x = a, *y = b;
    if (x->at != y->at)
        return x->at > y->at ? 1 : -1;
    if (x->dur != y->dur)
        return x->dur < y->dur ? 1 : -1;
    const int told = (x->row > y->row) - (x->row < y->row);
    return x->dur ? -told : told;
}

typedef struct order_key make(struct kit_random *r, uint32_t i);

static struct order_key anything(struct kit_random *r, uint32_t i)
{
    return (struct order_key){(int64_t)kit_next(r), (int64_t)(kit_next(r) >> 1), i};
}

static struct order_key few_times(struct kit_random *r, uint32_t i)
{
    return (struct order_key){(int64_t)kit_below(r, 7), (int64_t)kit_below(r, 3), i};
}

static struct order_key rising(struct kit_random *r, uint32_t i)
{
    return (struct order_key){i, (int64_t)kit_below(r, 3), i};
}

static struct order_key falling(struct kit_random *r, uint32_t i)
{
    return (struct order_key){-(int64_t)i, (int64_t)kit_below(r, 3), i};
}

/* Four parts, then the step around them; every thousandth around everything. */
static struct order_key nested(struct kit_random *r, uint32_t i)
{
    (void)r;
    const int64_t step = i / 5 * 100;
    if (i % 1000 == 999)
        return (struct order_key){0, step, i};
    return i % 5 == 4 ? (struct order_key){step, 90, i}
                      : (struct order_key){step + i % 5 * 20, 15, i};
}

static void check(make *m, uint32_t n)
{
    struct kit_random r = {n};
    struct order_key *v = xcalloc(n + 1u, sizeof *v), *want = xcalloc(n + 1u, sizeof *v);
    struct order_key *spare = xcalloc(n + 1u, sizeof *v);
    for (uint32_t i = 0; i < n; i++)
        want[i] = v[i] = m(&r, i);
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
            check(makes[m], sizes[i]);
}
