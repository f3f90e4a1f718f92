/* SPDX-License-Identifier: Apache-2.0 */
/* Rows come as they were told: all columns of a moment together, gaps left out. */
#include "base/mem.h"
#include "query/runkit.h"
#include "query/samples.h"
#include "record/group.h"
#include "test.h"

struct log {
    struct buf text;
    struct row_group group;
    struct row_column columns[8];
};

static int on_group(void *to, const struct row_group *g, struct err *e)
{
    struct log *l = to;
    (void)e;
    CHECK(g->n <= COUNT_OF(l->columns));
    l->group = *g;
    memcpy(l->columns, g->columns, g->n * sizeof *g->columns);
    buf_printf(&l->text, "%s.%u %s/%lld", g->node, g->session, g->name,
               (long long)(g->period_ns / NS_PER_MS));
    for (size_t i = 0; i < g->n; i++)
        buf_printf(&l->text, " %s:%s:%s:%g", g->columns[i].metric, g->columns[i].entity,
                   g->columns[i].unit, g->columns[i].step);
    CHECK_INT(g->clock_ahead_ns, KIT_START);
    buf_u8(&l->text, '\n');
    return 0;
}

static int on_row(void *to, wall_ns t, const int64_t *cells, struct err *e)
{
    struct log *l = to;
    (void)e;
    buf_printf(&l->text, "%lld:", (long long)((t.ns - KIT_START) / NS_PER_MS));
    for (size_t i = 0; i < l->group.n; i++)
        if (cells[i] == CELL_MISSING)
            buf_printf(&l->text, " -");
        else
            buf_printf(&l->text, " %g", row_value(l->columns[i].step, cells[i]));
    buf_u8(&l->text, '\n');
    return 0;
}

/* Two groups; one has a gap in its second column. */
static struct run *make_run(void)
{
    struct run *r;
    struct err e;
    struct buf b = {0};
    const char *path = kit_run("r", "r", "r", KIT_START);
    kit_group(&b, 0, "cpu", 100 * NS_PER_MS, 0);
    kit_slot(&b, 0, 0, "cpu.util", "%", "total", 0.1);
    kit_slot(&b, 0, 1, "cpu.util", "%", "cpu0", 10);
    kit_group(&b, 1, "mem", 100 * NS_PER_MS, 0);
    kit_slot(&b, 1, 0, "mem.util", "%", "total", 1);
    for (int64_t i = 0; i < 3; i++) {
        kit_row(&b, 0, 0);
        kit_cell(&b, 111);
        if (i == 1)
            kit_gap(&b);
        else
            kit_cell(&b, 1);
        kit_row(&b, 1, 0);
        kit_cell(&b, 5);
    }
    kit_metrics(path, "n", &b);
    kit_node(path, "n", 1, "{}");
    buf_free(&b);
    OK(run_open(&r, path, &e));
    return r;
}

static void check_rows(const struct series_ask *ask, const char *want)
{
    static const struct row_sink sink = {on_group, on_row};
    struct run *r = make_run();
    struct log l = {0};
    struct err e;
    OK(rows_read(r, ask, &sink, &l, &e));
    buf_u8(&l.text, '\0');
    CHECK_STR((const char *)l.text.p, want);
    buf_free(&l.text);
    run_close(r);
}

TEST(rows_come_group_by_group_with_gaps_where_nothing_was_read)
{
    check_rows(&(struct series_ask){0},
               "n.1 cpu/100 cpu.util:total:%:0.1 cpu.util:cpu0:%:10\n"
               "100: 11.1 10\n200: 22.2 -\n300: 33.3 20\n"
               "n.1 mem/100 mem.util:total:%:1\n100: 5\n200: 10\n300: 15\n");
}

TEST(only_columns_that_are_asked_for_come_and_rows_without_any_do_not)
{
    check_rows(&(struct series_ask){.metric = "cpu.", .entity = "cpu0"},
               "n.1 cpu/100 cpu.util:cpu0:%:10\n100: 10\n300: 20\n");
}

TEST(a_window_cuts_rows_its_end_is_not_in_it)
{
    check_rows(&(struct series_ask){.metric = "mem.util",
                                    .from = {KIT_START + 200 * NS_PER_MS},
                                    .to = {KIT_START + 300 * NS_PER_MS}},
               "n.1 mem/100 mem.util:total:%:1\n200: 10\n");
}

TEST(groups_alone_can_be_had_without_their_rows)
{
    static const struct row_sink sink = {.group = on_group};
    struct run *r = make_run();
    struct log l = {0};
    struct err e;
    OK(rows_read(r, &(struct series_ask){.metric = "mem.util"}, &sink, &l, &e));
    buf_u8(&l.text, '\0');
    CHECK_STR((const char *)l.text.p, "n.1 mem/100 mem.util:total:%:1\n");
    buf_free(&l.text);
    run_close(r);
}
