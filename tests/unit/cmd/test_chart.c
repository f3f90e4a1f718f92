/* SPDX-License-Identifier: Apache-2.0 */
/* test_chart.c - a series as a line of blocks: no spike lost, no gap filled. */
#include "cmd/output.h"
#include "test.h"

enum { MOST = 64 };

struct made {
    struct series s;
    wall_ns t[MOST];
    double v[MOST];
};

static void add(struct made *m, int64_t second, double v)
{
    m->t[m->s.n] = (wall_ns){second * NS_PER_S};
    m->v[m->s.n] = v;
    m->s.n++;
    m->s.t = m->t;
    m->s.v = m->s.min = m->s.max = m->v;
}

static char line[1024]; /* what was drawn last */

static const char *line_of(const struct made *m, enum chart_of of, size_t columns, int64_t seconds,
                           double top)
{
    const struct chart c = {{0}, {seconds * NS_PER_S}, columns};
    struct buf out = {0};
    chart_line(&c, &m->s, of, top, &out);
    snprintf(line, sizeof line, "%.*s", (int)out.len, (const char *)out.p);
    buf_free(&out);
    return line;
}

static const char *drawn(const struct made *m, size_t columns, int64_t seconds, double top)
{
    return line_of(m, CHART_MAX, columns, seconds, top);
}

TEST(heights_follow_the_values)
{
    struct made m = {0};
    for (int i = 0; i < 9; i++)
        add(&m, i, i * 12.5);
    CHECK_STR(drawn(&m, 9, 9, 100), "▁▁▂▃▄▅▆▇█");
}

TEST(a_zero_is_drawn_and_a_gap_is_not)
{
    struct made m = {0};
    for (int i = 0; i < 10; i++)
        if (i < 3 || i > 6)
            add(&m, i, 0);
    CHECK_STR(drawn(&m, 10, 10, 100), "▁▁▁    ▁▁▁");
}

TEST(a_spike_survives_when_many_points_share_a_column)
{
    struct made m = {0};
    for (int i = 0; i < 40; i++)
        add(&m, i, i == 17 ? 100 : 0);
    CHECK_STR(drawn(&m, 4, 40, 100), "▁█▁▁");
}

TEST(a_dip_survives_in_the_line_of_the_smallest_values)
{
    struct made m = {0};
    for (int i = 0; i < 40; i++)
        add(&m, i, i == 17 ? 0 : 100);
    CHECK_STR(drawn(&m, 4, 40, 100), "████");
    CHECK_STR(line_of(&m, CHART_MIN, 4, 40, 100), "█▁██");
}

TEST(a_point_that_stands_for_many_is_drawn_by_its_extremes_not_its_mean)
{
    struct made m = {0};
    add(&m, 0, 50);
    add(&m, 5, 50);
    double min[] = {0, 50}, max[] = {50, 100};
    m.s.min = min;
    m.s.max = max;
    CHECK_STR(line_of(&m, CHART_MAX, 2, 10, 100), "▄█");
    CHECK_STR(line_of(&m, CHART_MIN, 2, 10, 100), "▁▄");
}

TEST(points_wider_than_a_column_leave_no_holes)
{
    struct made m = {0};
    for (int i = 0; i < 4; i++)
        add(&m, 5 * i, 100);
    CHECK_STR(drawn(&m, 20, 20, 100), "████████████████████");
}

TEST(a_single_point_or_none_does_no_harm)
{
    struct made m = {0};
    CHECK_STR(drawn(&m, 4, 10, 1), "    ");
    add(&m, 9, 1);
    CHECK_STR(drawn(&m, 4, 10, 1), "   █");
}

TEST(points_outside_of_the_window_stay_at_its_edges)
{
    struct made m = {0};
    add(&m, -5, 100);
    add(&m, 50, 100);
    CHECK_INT(strlen(drawn(&m, 4, 10, 100)) > 0, 1);
}

TEST(a_full_column_is_the_bound_of_the_metric_or_else_the_maximum_of_its_series)
{
    struct made cpu = {0}, net = {0};
    cpu.s.key = (struct series_key){"n", "cpu.util", "total", "%"};
    net.s.key = (struct series_key){"n", "net.rx", "eth0", "B/s"};
    add(&cpu, 0, 7);
    add(&net, 0, 4096);
    const struct series both[] = {cpu.s, net.s};
    NEAR(chart_top(both, 2, "cpu.util"), 100, 0);
    NEAR(chart_top(both, 2, "net.rx"), 4096, 0);
    NEAR(chart_top(both, 2, "net.tx"), 1, 0);
}
