/* SPDX-License-Identifier: Apache-2.0 */
/* A sink that only remembers stands where the store would be. */
#include "base/mem.h"
#include "record/group.h"
#include "test.h"

enum { ROOM = 32 };

struct memory {
    struct sink sink;
    unsigned rows;
    int64_t cells[ROOM];
    uint32_t n;
    mono_ns t;
    struct loss loss;
    struct mark mark;
};

static void keep_row(struct sink *s, struct group *g, mono_ns t)
{
    struct memory *m = (struct memory *)s;
    m->rows++;
    m->n = g->n;
    m->t = t;
    memcpy(m->cells, g->cells, g->n * sizeof *g->cells);
}

static void keep_loss(struct sink *s, const struct loss *l)
{
    ((struct memory *)s)->loss = *l;
}

static void keep_mark(struct sink *s, const struct mark *m)
{
    ((struct memory *)s)->mark = *m;
}

static const struct sink_ops ops = {.row = keep_row, .loss = keep_loss, .mark = keep_mark};

static double shown(const struct group *g, slot_id s)
{
    return g->cells[s] == CELL_MISSING ? NAN : (double)g->cells[s] * g->slots[s].step;
}

static mono_ns ms(int64_t n)
{
    return (mono_ns){n * NS_PER_MS};
}

TEST(the_first_reading_of_a_counter_is_only_remembered)
{
    struct group g;
    struct counter c = {0};
    group_open(&g, "net", NS_PER_S);
    const slot_id s = group_add(&g, M_NET_RX, "eth0");
    CHECK_INT(group_counter(&g, s, &c, UINT64_MAX / 2, 64, ms(0)), COUNTER_FIRST);
    CHECK(isnan(shown(&g, s)));
    CHECK_INT(group_counter(&g, s, &c, UINT64_MAX / 2 + 500, 64, ms(1000)), COUNTER_OK);
    NEAR(shown(&g, s), 500, 0);
    group_close(&g);
}

TEST(a_counter_that_went_backwards_gives_no_value_and_starts_anew)
{
    struct group g;
    struct counter c = {0};
    group_open(&g, "net", NS_PER_S);
    const slot_id s = group_add(&g, M_NET_RX, "eth0");
    group_counter(&g, s, &c, 1000000, 64, ms(0));
    CHECK_INT(group_counter(&g, s, &c, 10, 64, ms(1000)), COUNTER_RESET);
    CHECK(isnan(shown(&g, s)));
    CHECK_INT(group_counter(&g, s, &c, 25, 64, ms(2000)), COUNTER_OK);
    NEAR(shown(&g, s), 15, 0);
    group_close(&g);
}

TEST(a_32_bit_counter_that_wrapped_goes_on)
{
    struct group g;
    struct counter c = {0};
    group_open(&g, "net", NS_PER_S);
    const slot_id s = group_add(&g, M_NET_RX, "eth0");
    group_counter(&g, s, &c, UINT32_MAX - 99, 32, ms(0));
    CHECK_INT(group_counter(&g, s, &c, 100, 32, ms(1000)), COUNTER_OK);
    NEAR(shown(&g, s), 200, 0);
    group_close(&g);
}

TEST(no_way_back_of_a_counter_ever_gives_a_spike)
{
    struct group g;
    group_open(&g, "net", NS_PER_S);
    const slot_id s = group_add(&g, M_NET_RX, "eth0");
    static const uint64_t from[] = {1,         1000, UINT32_MAX / 2, UINT32_MAX, UINT64_C(1) << 40,
                                    UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(from); i++)
        for (unsigned bits = 32; bits <= 64; bits += 32)
            for (uint64_t to = 0; to < 3 && to < from[i]; to++) {
                struct counter c = {0};
                g.cells[s] = CELL_MISSING;
                group_counter(&g, s, &c, from[i], bits, ms(0));
                group_counter(&g, s, &c, to, bits, ms(1000));
                CHECK(isnan(shown(&g, s)) || shown(&g, s) < (double)UINT32_MAX / 2);
            }
    group_close(&g);
}

TEST(two_readings_at_the_same_moment_give_no_rate)
{
    struct group g;
    struct counter c = {0};
    group_open(&g, "net", NS_PER_S);
    const slot_id s = group_add(&g, M_NET_RX, "eth0");
    group_counter(&g, s, &c, 0, 64, ms(5));
    CHECK_INT(group_counter(&g, s, &c, 1000, 64, ms(5)), COUNTER_OK);
    CHECK(isnan(shown(&g, s)));
    group_rate(&g, s, 10, -1);
    CHECK(isnan(shown(&g, s)));
    group_close(&g);
}

TEST(a_late_reading_is_divided_by_the_time_that_really_passed)
{
    struct group g;
    struct counter c = {0};
    group_open(&g, "net", 100 * NS_PER_MS);
    const slot_id s = group_add(&g, M_NET_RX, "eth0");
    group_counter(&g, s, &c, 0, 64, ms(0));
    group_counter(&g, s, &c, 3000, 64, ms(300));
    NEAR(shown(&g, s), 10000, 5);
    group_close(&g);
}

TEST(values_are_rounded_to_the_nearest_step)
{
    struct group g;
    group_open(&g, "gpu", NS_PER_S);
    const slot_id power = group_add(&g, M_GPU_POWER, "gpu0"), rss = group_add(&g, M_PROC_RSS, "1");
    group_gauge(&g, power, 250499); /* mW, kept in W */
    NEAR(shown(&g, power), 250, 0);
    group_gauge(&g, power, 250501);
    NEAR(shown(&g, power), 251, 0);
    group_gauge(&g, rss, 3 * 4096 + 1);
    NEAR(shown(&g, rss), 3 * 4096, 0);
    group_close(&g);
}

TEST(the_step_of_a_tick_counter_follows_the_period)
{
    struct group g;
    group_open(&g, "cpu", 100 * NS_PER_MS);
    const slot_id one = group_add(&g, M_CPU_UTIL, "cpu0");
    const slot_id all = group_add_mean(&g, M_CPU_UTIL, ENTITY_TOTAL, 4);
    NEAR(g.slots[one].step, 10, 1e-12); /* a tick in 100 ms is ten percent */
    NEAR(g.slots[all].step, 2.5, 1e-12);
    group_rate(&g, one, 7, 100 * NS_PER_MS);
    CHECK_INT(g.cells[one], 7);
    const uint32_t before = g.generation;
    group_set_period(&g, NS_PER_S);
    CHECK(g.generation != before);
    NEAR(g.slots[one].step, 1, 1e-12);
    NEAR(g.slots[all].step, 0.25, 1e-12);
    const uint32_t after = g.generation;
    group_set_period(&g, NS_PER_S);
    CHECK_INT(g.generation, after);
    group_close(&g);
}

TEST(utilization_stays_within_0_and_100)
{
    struct group g;
    group_open(&g, "cpu", 100 * NS_PER_MS);
    const slot_id s = group_add(&g, M_CPU_UTIL, "cpu0"), gpu = group_add(&g, M_GPU_UTIL, "gpu0");
    group_rate(&g, s, 11, 100 * NS_PER_MS); /* eleven ticks seen in ten */
    NEAR(shown(&g, s), 100, 0);
    group_rate(&g, s, -3, 100 * NS_PER_MS);
    NEAR(shown(&g, s), 0, 0);
    group_gauge(&g, gpu, 255);
    NEAR(shown(&g, gpu), 100, 0);
    group_gauge(&g, gpu, INFINITY);
    NEAR(shown(&g, gpu), 100, 0);
    group_close(&g);
}

TEST(what_is_no_number_or_too_large_is_missing_not_zero)
{
    struct group g;
    group_open(&g, "gpu", NS_PER_S);
    const slot_id power = group_add(&g, M_GPU_POWER, "gpu0");
    group_gauge(&g, power, NAN);
    CHECK(isnan(shown(&g, power)));
    group_gauge(&g, power, INFINITY);
    CHECK(isnan(shown(&g, power)));
    group_gauge(&g, power, 1e30);
    CHECK(isnan(shown(&g, power)));
    group_close(&g);
}

TEST(a_slot_that_does_not_exist_takes_no_value)
{
    struct group g;
    group_open(&g, "gpu", NS_PER_S);
    group_gauge(&g, SLOT_NONE, 5);
    group_rate(&g, SLOT_NONE, 5, 5);
    group_drop(&g, SLOT_NONE);
    struct counter c = {0};
    CHECK_INT(group_counter(&g, SLOT_NONE, &c, 1, 64, ms(0)), COUNTER_FIRST);
    CHECK_INT(group_counter(&g, SLOT_NONE, &c, 2, 64, ms(1)), COUNTER_OK);
    group_close(&g);
}

TEST(a_row_carries_what_was_read_and_marks_the_rest_missing)
{
    struct memory m = {.sink = {&ops}};
    struct group g;
    group_open(&g, "gpu", NS_PER_S);
    const slot_id a = group_add(&g, M_GPU_UTIL, "gpu0"), b = group_add(&g, M_GPU_UTIL, "gpu1");
    group_gauge(&g, a, 0);
    group_commit(&g, &m.sink, ms(7));
    CHECK_INT(m.rows, 1);
    CHECK_INT(m.t.ns, 7 * NS_PER_MS);
    CHECK_INT(m.cells[a], 0);
    CHECK(m.cells[b] == CELL_MISSING);
    CHECK(g.cells[a] == CELL_MISSING); /* the next row does not repeat it */
    group_close(&g);
}

TEST(a_row_without_any_value_is_not_sent)
{
    struct memory m = {.sink = {&ops}};
    struct group g;
    group_open(&g, "gpu", NS_PER_S);
    group_commit(&g, &m.sink, ms(1));
    group_add(&g, M_GPU_UTIL, "gpu0");
    group_commit(&g, &m.sink, ms(2));
    CHECK_INT(m.rows, 0);
    group_close(&g);
}

TEST(a_dropped_slot_is_used_again_and_starts_missing)
{
    struct memory m = {.sink = {&ops}};
    struct group g;
    group_open(&g, "proc", NS_PER_S);
    const slot_id a = group_add(&g, M_PROC_RSS, "1 a"), b = group_add(&g, M_PROC_RSS, "2 b");
    const uint32_t born = g.slots[a].born;
    group_gauge(&g, a, 4096);
    group_drop(&g, a);
    group_commit(&g, &m.sink, ms(1));
    CHECK_INT(m.rows, 0); /* what a dropped slot had read is gone with it */
    const slot_id again = group_add(&g, M_PROC_RSS, "3 c");
    CHECK_INT(again, a);
    CHECK(g.slots[again].born != born);
    CHECK_STR(g.slots[again].entity, "3 c");
    CHECK(g.cells[again] == CELL_MISSING);
    CHECK_INT(g.n, 2);
    CHECK_STR(g.slots[b].entity, "2 b");
    group_close(&g);
}

TEST(a_thousand_slots_keep_their_own_values)
{
    struct group g;
    group_open(&g, "proc", NS_PER_S);
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        group_gauge(&g, group_add(&g, M_PROC_THREADS, name), i);
    }
    for (unsigned i = 0; i < 1000; i++)
        NEAR(shown(&g, i), i, 0);
    group_close(&g);
    group_close(&g);
}

TEST(names_longer_than_their_room_are_cut_not_overflowed)
{
    struct memory m = {.sink = {&ops}};
    struct group g;
    char text[400];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    group_open(&g, text, NS_PER_S);
    CHECK_INT(strlen(g.name), GROUP_NAME_LEN - 1);
    const slot_id s = group_add(&g, M_NET_RX, text);
    CHECK_INT(strlen(g.slots[s].entity), ENTITY_LEN - 1);
    sink_loss(&m.sink, LOSS_DENIED, LOST_PART(text), "%s", text);
    CHECK_INT(strlen(m.loss.part), ENTITY_LEN - 1);
    CHECK_INT(strlen(m.loss.why), TEXT_LEN - 1);
    CHECK_INT(m.loss.count, 1);
    CHECK(m.loss.at.ns > 0);
    sink_mark(&m.sink, MARK_JOB_EXIT, -3, "%s", text);
    CHECK_INT(strlen(m.mark.text), TEXT_LEN - 1);
    CHECK_INT(m.mark.number, -3);
    group_close(&g);
}

TEST(a_sentence_longer_than_its_room_ends_with_a_whole_word)
{
    static const struct {
        int digits;
        const char *end;
    } v[] = {{TEXT_LEN - 13, " MHz of 1980"},
             {TEXT_LEN - 12, " MHz of ..."},
             {TEXT_LEN - 10, " MHz ..."},
             {TEXT_LEN - 5, " ..."}};
    struct memory m = {.sink = {&ops}};
    for (size_t i = 0; i < COUNT_OF(v); i++) {
        sink_mark(&m.sink, MARK_RULE, 1, "%0*d MHz of 1980", v[i].digits, 7);
        CHECK_STR(m.mark.text + v[i].digits, v[i].end);
        sink_loss(&m.sink, LOSS_WRITE, LOST_PART("disk"), "%0*d MHz of 1980", v[i].digits, 7);
        CHECK_STR(m.loss.why, m.mark.text);
    }
}

TEST(every_metric_has_a_name_of_its_own_that_finds_it)
{
    for (enum metric_id m = 0; m < METRIC_N; m++) {
        CHECK_INT(metric_find(metrics[m].name), m);
        CHECK(metrics[m].count > 0 && metrics[m].step >= 0 && metrics[m].title[0]);
        CHECK(unit_name(metrics[m].unit));
    }
    CHECK_INT(metric_find("no.such"), METRIC_N);
}
