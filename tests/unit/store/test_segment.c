/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "store/segment.h"
#include "store/storekit.h"
#include "test.h"

static struct buf two_series(void)
{
    struct buf b = {0};
    kit_group(&b, 0, "cpu", 1000000, 5000);
    kit_slot(&b, 0, 0, "cpu.util", "%", "cpu0", 1);
    kit_slot(&b, 0, 1, "cpu.util", "%", "cpu1", 1);
    return b;
}

static bool feed(struct segment *s, const struct buf *b)
{
    return segment_feed(s, b->p, b->len);
}

static uint32_t values_of(const struct segment *s, uint32_t i, int64_t *out, struct buf *runs)
{
    return segment_decode(&s->series[i], out, runs);
}

TEST(rows_become_series_of_values_and_times)
{
    struct segment s = {0};
    struct buf b = two_series(), runs = {0};
    int64_t v[8];
    kit_row(&b, 0, 0);
    kit_cell(&b, 7);
    kit_cell(&b, 100000);
    kit_row(&b, 0, 25);
    kit_cell(&b, -2);
    kit_cell(&b, -100001);
    CHECK(feed(&s, &b));
    CHECK_INT(s.n_groups, 1);
    CHECK_INT(s.groups[0].rows, 2);
    segment_times(&s.groups[0], v);
    CHECK_INT(v[0], 6000);
    CHECK_INT(v[1], 7025);
    CHECK_INT(values_of(&s, 0, v, &runs), 2);
    CHECK(v[0] == 7 && v[1] == 5 && runs.len == 0);
    CHECK_INT(values_of(&s, 1, v, &runs), 2);
    CHECK(v[0] == 100000 && v[1] == -1);
    CHECK_INT(s.samples, 4);
    segment_free(&s);
    buf_free(&b);
    buf_free(&runs);
}

TEST(the_largest_jumps_between_cells_survive)
{
    struct segment s = {0};
    struct buf b = {0}, runs = {0};
    static const int64_t want[] = {0, INT64_MAX, INT64_MIN + 1, -126, 125, 1 << 20, INT64_MIN + 1};
    int64_t v[8], before = 0;
    kit_group(&b, 0, "g", 1000, 0);
    kit_slot(&b, 0, 0, "m", "", "e", 1);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        kit_row(&b, 0, 0);
        kit_cell(&b, (int64_t)((uint64_t)want[i] - (uint64_t)before));
        before = want[i];
    }
    CHECK(feed(&s, &b));
    CHECK_INT(values_of(&s, 0, v, &runs), COUNT_OF(want));
    CHECK(memcmp(v, want, sizeof want) == 0);
    segment_free(&s);
    buf_free(&b);
    buf_free(&runs);
}

TEST(gaps_become_runs_and_the_cell_before_them_counts_on)
{
    struct segment s = {0};
    struct buf b = {0}, runs = {0};
    int64_t v[8], r[4];
    kit_group(&b, 0, "g", 1000, 0);
    kit_slot(&b, 0, 0, "m", "", "e", 1);
    static const char rows[] = "-vv--v"; /* - is missing */
    for (size_t i = 0; rows[i]; i++) {
        kit_row(&b, 0, 0);
        if (rows[i] == 'v')
            kit_cell(&b, 10);
        else
            kit_gap(&b);
    }
    CHECK(feed(&s, &b));
    CHECK_INT(values_of(&s, 0, v, &runs), 3);
    CHECK(v[0] == 10 && v[1] == 20 && v[2] == 30);
    CHECK_INT(runs.len, 5 * sizeof(int64_t));
    memcpy(r, runs.p, sizeof r);
    CHECK(r[0] == 0 && r[1] == 1 && r[2] == 2 && r[3] == 2); /* values, gap, values, gap, values */
    segment_free(&s);
    buf_free(&b);
    buf_free(&runs);
}

TEST(a_slot_that_goes_ends_its_series_and_its_number_begins_another)
{
    struct segment s = {0};
    struct buf b = two_series(), runs = {0};
    int64_t v[4];
    kit_row(&b, 0, 0);
    kit_cell(&b, 1);
    kit_cell(&b, 2);
    kit_drop(&b, 0, 0);
    kit_row(&b, 0, 0);
    kit_cell(&b, 1);
    kit_slot(&b, 0, 0, "cpu.util", "%", "cpu9", 1);
    kit_row(&b, 0, 0);
    kit_cell(&b, 50);
    kit_cell(&b, 1);
    CHECK(feed(&s, &b));
    CHECK_INT(s.n_series, 3);
    CHECK_INT(values_of(&s, 0, v, &runs), 1);
    CHECK_INT(values_of(&s, 1, v, &runs), 3);
    CHECK(v[0] == 2 && v[1] == 3 && v[2] == 4);
    CHECK_INT(values_of(&s, 2, v, &runs), 1);
    CHECK_INT(v[0], 50);
    CHECK_INT(s.series[2].first_row, 2);
    CHECK_STR(s.series[2].entity, "cpu9");
    segment_free(&s);
    buf_free(&b);
    buf_free(&runs);
}

static void refuse(const struct buf *b)
{
    struct segment s = {0};
    CHECK(!feed(&s, b));
    segment_free(&s);
}

TEST(records_that_no_writer_writes_are_refused)
{
    struct buf b = {0};
    buf_u8(&b, 99);
    refuse(&b);
    b.len = 0;
    kit_row(&b, 0, 0); /* of a group that was never declared */
    refuse(&b);
    b.len = 0;
    kit_group(&b, 1, "g", 1000, 0); /* numbers start at 0 */
    refuse(&b);
    b.len = 0;
    kit_group(&b, 0, "g", 0, 0); /* no period */
    refuse(&b);
    b.len = 0;
    kit_group(&b, 0, "g", 1000, 0);
    const size_t group = b.len;
    kit_drop(&b, 0, 0);
    refuse(&b);
    static const double steps[] = {0, -1, INFINITY, NAN};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        b.len = group;
        kit_slot(&b, 0, 0, "m", "", "e", steps[i]);
        refuse(&b);
    }
    b.len = group;
    kit_slot(&b, 0, 1 << 20, "m", "", "e", 1);
    refuse(&b);
    b.len = group;
    kit_slot(&b, 0, 0, "a metric name that is longer than what a name may be, which is 63", "", "e",
             1);
    refuse(&b);
    buf_free(&b);
}

TEST(every_cut_of_a_payload_is_refused_or_whole)
{
    struct buf b = two_series();
    for (int i = 0; i < 3; i++) {
        kit_row(&b, 0, i * 300);
        kit_cell(&b, i * 1000);
        kit_gap(&b);
        kit_mark(&b, "signal", 5, 15, "SIGTERM");
        kit_loss(&b, "absent", 1, "gpu", "no driver");
        kit_tie(&b, 1, 2);
    }
    for (size_t n = 0; n <= b.len; n++) {
        struct segment s = {0};
        uint8_t *exact = xmalloc(n);
        memcpy(exact, b.p, n);
        const bool whole = segment_feed(&s, exact, n);
        CHECK(n < b.len || whole);
        segment_free(&s);
        free(exact);
    }
    buf_free(&b);
}

TEST(frames_are_read_up_to_the_first_that_is_not_whole)
{
    struct buf payload = two_series(), row = {0}, tail = {0};
    kit_frame(&tail, &payload, 3);
    const size_t one = tail.len;
    kit_row(&row, 0, 0);
    kit_cell(&row, 1);
    kit_cell(&row, 2);
    kit_frame(&tail, &row, 3);
    const size_t two = tail.len;
    kit_frame(&tail, &row, 3);
    for (size_t n = 0; n <= tail.len; n++) {
        struct segment s = {0};
        bool torn;
        const size_t got = segment_read_frames(&s, tail.p, n, SIZE_MAX, 3, &torn);
        CHECK_INT(got, n < one ? 0 : n < two ? one : n < tail.len ? two : tail.len);
        CHECK_INT(torn, got != n);
        CHECK_INT(s.n_groups ? s.groups[0].rows : 0, got <= one ? 0 : got == two ? 1 : 2);
        segment_free(&s);
    }
    buf_free(&payload);
    buf_free(&row);
    buf_free(&tail);
}

TEST(a_frame_of_another_tail_is_not_taken)
{
    struct buf payload = two_series(), tail = {0};
    struct segment s = {0};
    bool torn;
    kit_frame(&tail, &payload, 3);
    CHECK_INT(segment_read_frames(&s, tail.p, tail.len, SIZE_MAX, 4, &torn), 0);
    CHECK(torn && s.n_groups == 0);
    segment_free(&s);
    buf_free(&payload);
    buf_free(&tail);
}

/* With a right checksum but a row that breaks off: only made-up bytes are like this. */
TEST(a_row_that_breaks_off_inside_a_whole_frame_counts_for_nobody)
{
    struct buf payload = two_series(), tail = {0}, runs = {0};
    struct segment s = {0};
    int64_t v[4];
    bool torn;
    kit_row(&payload, 0, 0);
    kit_cell(&payload, 1);
    kit_cell(&payload, 2);
    kit_row(&payload, 0, 0);
    kit_cell(&payload, 1);
    kit_frame(&tail, &payload, 1);
    CHECK_INT(segment_read_frames(&s, tail.p, tail.len, SIZE_MAX, 1, &torn), 0);
    CHECK(torn);
    CHECK_INT(s.groups[0].rows, 1);
    CHECK_INT(segment_decode(&s.series[0], v, &runs), 1);
    CHECK_INT(segment_decode(&s.series[1], v, &runs), 1);
    segment_free(&s);
    buf_free(&payload);
    buf_free(&tail);
    buf_free(&runs);
}

TEST(slots_with_high_numbers_in_many_groups_cost_little_memory)
{
    struct segment s = {0};
    struct buf b = {0};
    for (unsigned g = 0; g < 4000; g++) {
        kit_group(&b, g, "g", 1000, 0);
        kit_slot(&b, g, 65535, "m", "", "e", 1);
    }
    feed(&s, &b); /* taken or not */
    uint64_t slots = 0;
    for (uint32_t g = 0; g < s.n_groups; g++)
        slots += s.groups[g].n_slots;
    CHECK(slots <= 4 << 20);
    segment_free(&s);
    buf_free(&b);
}
