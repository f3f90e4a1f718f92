/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "rules/hist.h"
#include "test.h"

static struct loghist *new_hist(void)
{
    return xcalloc(1, sizeof(struct loghist));
}

TEST(quantiles_are_within_one_percent_from_one_byte_to_terabytes)
{
    struct loghist *h = new_hist();
    for (double size = 1; size < 1e13; size *= 1.7) {
        const float around[] = {0, (float)size, (float)size, (float)size, 3e14f};
        *h = (struct loghist){0};
        loghist_add(h, around, COUNT_OF(around));
        NEAR(loghist_quantile(h, 0.5), size, size / 100);
    }
    free(h);
}

TEST(ends_are_exact_and_between_neighbours_it_interpolates)
{
    struct loghist *h = new_hist();
    loghist_add(h, (const float[]){12345, NAN, 98765}, 3);
    CHECK_INT(h->n, 2);
    NEAR(loghist_quantile(h, 0), 12345, 0);
    NEAR(loghist_quantile(h, 1), 98765, 0);
    NEAR(loghist_quantile(h, 0.25), 12345 + (98765 - 12345) * 0.25, 1e-6);
    free(h);
}

TEST(joined_in_any_order_it_is_the_same_as_in_one)
{
    struct loghist *all = new_hist(), *a = new_hist(), *b = new_hist(), *empty = new_hist();
    for (int i = 0; i < 1000; i++) {
        const float v = (float)(i * i);
        loghist_add(all, &v, 1);
        loghist_add(i % 3 ? a : b, &v, 1);
    }
    loghist_join(b, empty);
    loghist_join(b, a);
    CHECK(memcmp(all, b, sizeof *all) == 0);
    free(all);
    free(a);
    free(b);
    free(empty);
}

TEST(nothing_added_is_not_zero)
{
    struct loghist *h = new_hist();
    CHECK(isnan(loghist_quantile(h, 0.5)));
    free(h);
}

TEST(intervals_count_everything_once)
{
    struct loghist *h = new_hist();
    const float v[] = {10, 11, 12, 50, 90, 100};
    double got[3] = {0};
    loghist_add(h, v, 6);
    loghist_counts(h, 10, 100, got, 3); /* 10..40..70..100 */
    CHECK_INT((int)got[0], 3);
    CHECK_INT((int)got[1], 1);
    CHECK_INT((int)got[2], 2);
    loghist_counts(h, 60, 60, got, 3); /* of no width: all in the first */
    CHECK_INT((int)got[0], 9);
    free(h);
}
