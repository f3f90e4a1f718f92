/* SPDX-License-Identifier: Apache-2.0 */
/* Events that are told read back: every test keeps its own list of what it gave to the writer. */
#include <unistd.h>

#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

struct model {
    struct kit_pair w;
    struct kit_events want;
};

static void model_open(struct model *m)
{
    *m = (struct model){.w = kit_open_pair(kit_path("node-a"))};
}

static void model_tell(struct model *m, const struct track *t, const struct event *v)
{
    kit_events_add(&m->want, t, v);
    kit_tell(writer_sink(m->w.events), t, v);
}

static void model_flush(struct model *m)
{
    struct err e;
    OK(writer_flush(m->w.events, false, &e));
}

static void model_check(struct model *m, bool closed)
{
    struct store *s;
    struct err e;
    OK(store_open(&s, kit_path("node-a/events.fp"), &e));
    CHECK_INT(s->closed, closed);
    struct kit_events got = kit_events_of(s);
    kit_events_sort(&m->want);
    CHECK_INT(got.n, m->want.n);
    CHECK(kit_events_same(&got, &m->want));
    CHECK_INT(store_verify(s), 0);
    CHECK_INT(s->rows, 0); /* events are no rows */
    CHECK_INT(s->n_losses, 0);
    kit_events_free(&got);
    store_close(s);
}

/* From the tail, then from blocks. */
static void model_finish(struct model *m)
{
    model_flush(m);
    model_check(m, false);
    kit_close_pair(&m->w);
    model_check(m, true);
    CHECK(access(kit_path("node-a/events.tail"), F_OK) != 0);
    kit_events_free(&m->want);
}

TEST(a_file_of_events_without_a_single_one_closes_and_opens)
{
    struct model m;
    model_open(&m);
    model_check(&m, false);
    model_finish(&m);
}

TEST(every_field_of_an_event_reads_back)
{
    struct model m;
    const struct track t = kit_track(0);
    model_open(&m);
    for (int i = 0; i < 300; i++) {
        struct event v = {.at = {5000 + i * 1000}, .kind = EVENT_SPAN, .name = "n"};
        v.kind = (enum event_kind)(EVENT_SPAN + i % (EVENT_KIND_N - EVENT_SPAN));
        v.mode = (enum event_mode)(i % MODE_N);
        v.end = i % 7 ? END_KNOWN : END_CUT;
        v.category = (enum event_category)(i % CAT_N);
        v.dur_ns = i % 3 ? i * 17 : 0;
        v.value = i % 4 ? (int64_t)i * -1234567891011 : 0;
        v.link = i % 5 ? (uint64_t)i << 40 : 0;
        v.parent = i % 6 ? UINT64_MAX - (uint64_t)i : 0;
        v.args = i % 2 ? "shape=[2, 3]\ndtype=f32" : NULL;
        v.name = i % 8 ? "aten::add" : "forward";
        model_tell(&m, &t, &v);
    }
    model_finish(&m);
}

TEST(the_largest_and_smallest_numbers_read_back)
{
    const int64_t far = TIME_MOST_NS / 2; /* so that the wall time fits, too */
    static const int64_t values[] = {INT64_MIN, INT64_MAX, 0, -1, 1};
    struct model m;
    struct track t = kit_track(0);
    model_open(&m);
    t.id = UINT64_MAX;
    t.pid = UINT32_MAX;
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct event v = {.kind = EVENT_COUNT, .name = "c", .value = values[i]};
        v.at.ns = i % 2 ? -far : far;
        v.link = (uint64_t)values[i];
        model_tell(&m, &t, &v);
    }
    struct event all = {.kind = EVENT_SPAN, .name = "all", .at = {-far}};
    all.dur_ns = 2 * far;
    model_tell(&m, &t, &all);
    model_finish(&m);
}

TEST(times_before_the_clock_began_read_back)
{
    struct model m;
    const struct track t = kit_track(0);
    model_open(&m);
    model_tell(&m, &t, &(struct event){.at = {-1501}, .kind = EVENT_MARK, .name = "x"});
    model_tell(&m, &t, &(struct event){.at = {-1}, .dur_ns = 2, .kind = EVENT_SPAN, .name = "y"});
    model_finish(&m);
}

TEST(a_real_number_keeps_its_bits)
{
    struct model m;
    const struct track t = kit_track(0);
    const double numbers[] = {0.1, -0.0, 1e300, 3.25, 0.1};
    model_open(&m);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct event v = {.at = {(int64_t)i}, .kind = EVENT_REAL, .name = "loss"};
        memcpy(&v.value, &numbers[i], sizeof v.value);
        model_tell(&m, &t, &v);
    }
    model_finish(&m);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    NEAR(event_real(&got.v[2].event), 1e300, 0);
    kit_events_free(&got);
}

TEST(a_negative_duration_is_none)
{
    struct model m;
    const struct track t = kit_track(0);
    model_open(&m);
    struct event v = {.at = {100}, .dur_ns = -5, .kind = EVENT_SPAN, .name = "x"};
    kit_tell(writer_sink(m.w.events), &t, &v);
    v.dur_ns = 0;
    kit_events_add(&m.want, &t, &v);
    model_finish(&m);
}

TEST(names_and_args_are_told_once_a_tail_however_often_they_are_used)
{
    struct model m;
    struct buf tail = {0};
    const struct track t = kit_track(0);
    char copies[10][16]; /* the same text at different addresses */
    model_open(&m);
    for (int i = 0; i < 1000; i++) {
        char *name = copies[i % 10];
        snprintf(name, sizeof copies[0], "a-long-name-%d", i % 3); /* and another at the same */
        model_tell(&m, &t,
                   &(struct event){.at = {i}, .kind = EVENT_MARK, .name = name, .args = "x=1"});
    }
    model_flush(&m);
    kit_load(&tail, kit_path("node-a/events.tail"));
    size_t found = 0;
    for (uint8_t *p = tail.p; (p = memmem(p, (size_t)(tail.p + tail.len - p), "long", 4)); p++)
        found++;
    CHECK_INT(found, 3);
    CHECK(tail.len < 1000 * 10);
    buf_free(&tail);
    model_finish(&m);
}

TEST(an_event_without_a_name_has_an_empty_one)
{
    struct model m;
    const struct track t = kit_track(0);
    model_open(&m);
    model_tell(&m, &t, &(struct event){.kind = EVENT_MARK});
    model_tell(&m, &t, &(struct event){.kind = EVENT_MARK, .at = {1}, .name = "", .args = ""});
    model_finish(&m);
}

TEST(names_beyond_the_limit_are_cut_between_characters)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    char name[3][EVENT_NAME_MOST + 100];
    for (int i = 0; i < 3; i++)
        memset(name[i], 'a' + i, sizeof name[i]);
    name[0][EVENT_NAME_MOST - 1] = 0; /* the longest that fits */
    name[1][EVENT_NAME_MOST] = 0;     /* one too many */
    memcpy(name[2] + EVENT_NAME_MOST - 3, "\xe2\x82\xac\xe2\x82\xac", 7); /* across the limit */
    for (int i = 0; i < 6; i++)
        kit_tell(writer_sink(w.events), &t,
                 &(struct event){.at = {i}, .kind = EVENT_MARK, .name = name[i % 3]});
    kit_close_pair(&w);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    static const size_t want[] = {EVENT_NAME_MOST - 1, EVENT_NAME_MOST - 1, EVENT_NAME_MOST - 3};
    CHECK_INT(got.n, 6);
    for (size_t i = 0; i < 6; i++) {
        CHECK_INT(strlen(got.v[i].event.name), want[i % 3]);
        CHECK(strncmp(got.v[i].event.name, name[i % 3], want[i % 3]) == 0);
    }
    kit_events_free(&got);
}

TEST(track_names_that_fill_their_room_read_back)
{
    struct model m;
    struct track t = kit_track(0);
    model_open(&m);
    memset(t.process, 'p', sizeof t.process - 1);
    memset(t.name, 'n', sizeof t.name - 1);
    t.kind = TRACK_DEVICE;
    model_tell(&m, &t, &(struct event){.kind = EVENT_MARK, .name = "x"});
    model_finish(&m);
}

TEST(a_track_that_is_renamed_has_the_new_name_from_then_on)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    struct track t = kit_track(0);
    const struct track later = kit_track(1);
    struct event v = {.kind = EVENT_MARK, .name = "x"};
    kit_tell(writer_sink(w.events), &t, &v);
    kit_tell(writer_sink(w.events), &later, &v);
    snprintf(t.name, sizeof t.name, "loader");
    v.at.ns = 7;
    kit_tell(writer_sink(w.events), &t, &v);
    kit_close_pair(&w);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    CHECK_INT(got.n, 3);
    CHECK_STR(got.v[1].event.name, "x");
    CHECK_INT(got.v[1].event.at.ns, 7);
    CHECK_STR(got.v[1].track.name, "loader");
    kit_events_free(&got);
}

TEST(tracks_that_differ_in_kind_pid_or_id_stay_apart)
{
    struct model m;
    model_open(&m);
    for (unsigned i = 0; i < 600; i++) {
        struct track t = kit_track(i % 3);
        t.kind = i / 3 % 2 ? TRACK_DEVICE : TRACK_THREAD;
        t.id = i / 6 % 100;
        model_tell(&m, &t,
                   &(struct event){.at = {i}, .kind = EVENT_COUNT, .name = "i", .value = i});
    }
    model_finish(&m);
}

/* A step of a training loop: parts first, then the step around them. */
static void tell_step(struct model *m, const struct track *t, int i, struct kit_random *r)
{
    static const char *const parts[] = {"data", "forward", "backward", "optimizer"};
    const int64_t start = i * NS_PER_MS;
    int64_t at = start + 10;
    for (size_t k = 0; k < COUNT_OF(parts); k++) {
        const int64_t dur = (int64_t)kit_below(r, 200000);
        model_tell(
            m, t, &(struct event){.at = {at}, .dur_ns = dur, .kind = EVENT_SPAN, .name = parts[k]});
        at += dur + (int64_t)kit_below(r, 3000);
    }
    model_tell(m, t,
               &(struct event){.at = {start},
                               .dur_ns = at - start,
                               .kind = EVENT_STEP,
                               .name = "step",
                               .value = i,
                               .category = CAT_PHASE});
}

TEST(nested_spans_told_by_their_ends_come_back_by_their_begins)
{
    struct model m;
    struct kit_random r = {1};
    const struct track t = kit_track(0);
    model_open(&m);
    for (int i = 0; i < 200; i++)
        tell_step(&m, &t, i, &r);
    model_tell(&m, &t, &(struct event){.dur_ns = NS_PER_S, .kind = EVENT_SPAN, .name = "epoch"});
    model_finish(&m);
}

TEST(of_spans_with_the_same_times_the_one_told_last_is_the_outer_one)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    static const char *const names[] = {"inner", "middle", "outer"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        kit_tell(writer_sink(w.events), &t,
                 &(struct event){.at = {5}, .dur_ns = 9, .kind = EVENT_SPAN, .name = names[i]});
    for (size_t i = 0; i < COUNT_OF(names); i++)
        kit_tell(writer_sink(w.events), &t,
                 &(struct event){.at = {30}, .kind = EVENT_MARK, .name = names[i]});
    kit_close_pair(&w);
    struct store *s;
    struct err e;
    struct event got[6];
    struct arena a = {0};
    struct codec *c = codec_open();
    OK(store_open(&s, kit_path("node-a/events.fp"), &e));
    CHECK_INT(s->events[0].rows, 6);
    CHECK(block_events(c, &s->events[0], &a, got));
    for (size_t i = 0; i < 3; i++) {
        CHECK_STR(got[i].name, names[2 - i]);
        CHECK_STR(got[3 + i].name, names[i]); /* moments stay as they were told */
    }
    codec_close(c);
    arena_free(&a);
    store_close(s);
}

TEST(more_events_than_a_block_holds_are_split_and_none_is_lost)
{
    struct model m;
    struct kit_random r = {2};
    const struct track t = kit_track(0);
    model_open(&m);
    for (int i = 0; i < (2 * ROWS_MOST + 10) / 5; i++)
        tell_step(&m, &t, i, &r);
    model_flush(&m);
    struct store *s;
    struct err e;
    OK(store_open(&s, kit_path("node-a/events.fp"), &e));
    CHECK_INT(s->n_events, 3);
    CHECK_INT(s->events[0].rows, ROWS_MOST);
    store_close(s);
    model_finish(&m);
}

TEST(texts_that_differ_for_every_event_read_back)
{
    struct model m;
    const struct track t = kit_track(0);
    model_open(&m);
    for (int i = 0; i < 20000; i++) {
        char name[32], args[64];
        snprintf(name, sizeof name, "kernel_%d", i % 5000);
        snprintf(args, sizeof args, "grid=[%d, 1, 1]\nblock=[%d, 1, 1]", i, i % 3);
        model_tell(&m, &t,
                   &(struct event){.at = {i * 100},
                                   .dur_ns = 50,
                                   .kind = EVENT_SPAN,
                                   .name = name,
                                   .args = args,
                                   .category = CAT_KERNEL,
                                   .link = 1 + (uint64_t)i});
    }
    model_finish(&m);
}

TEST(one_call_with_a_long_list_reads_back)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    enum { N = 100000 };
    struct event *v = xcalloc(N, sizeof *v);
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < N; i++)
        v[i] = (struct event){
            .at = {i * 10}, .dur_ns = 3, .kind = EVENT_SPAN, .name = names[i / 50000 + i % 2]};
    writer_sink(w.events)->ops->events(writer_sink(w.events), &t, v, N);
    writer_sink(w.events)->ops->events(writer_sink(w.events), &t, v, 0);
    kit_close_pair(&w);
    struct kit_events got = kit_events_path(kit_path("node-a/events.fp"));
    CHECK_INT(got.n, N);
    for (int i = 0; i < N; i++) {
        CHECK_INT(got.v[i].event.at.ns, i * 10);
        CHECK_STR(got.v[i].event.name, v[i].name);
    }
    kit_events_free(&got);
    free(v);
}

TEST(sealing_in_the_middle_loses_and_doubles_nothing)
{
    struct model m;
    struct kit_random r = {3};
    struct track t[3] = {kit_track(0), kit_track(1), kit_track(2)};
    model_open(&m);
    const uint64_t first = writer_tail(m.w.events);
    for (int i = 0; i < 130000; i++) {
        tell_step(&m, &t[i % 3], i, &r);
        if (i % 10000 == 9999)
            model_flush(&m);
    }
    CHECK(writer_tail(m.w.events) >= first + 3);
    model_finish(&m);
}

TEST(times_that_no_clock_shows_are_refused_counted_and_harm_nothing)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    const struct event bad[] = {
        {.at = {INT64_MIN}, .kind = EVENT_MARK, .name = "x"},
        {.at = {TIME_MOST_NS + 1}, .kind = EVENT_MARK, .name = "x"},
        {.at = {1}, .dur_ns = TIME_MOST_NS, .kind = EVENT_SPAN, .name = "x"},
        {.at = {INT64_MAX}, .dur_ns = INT64_MAX, .kind = EVENT_SPAN, .name = "x"},
    };
    struct writer_stats st;
    struct store *s;
    struct err e;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        kit_tell(writer_sink(w.events), &t, &bad[i]);
    kit_tell(writer_sink(w.events), &t, &(struct event){.kind = EVENT_MARK, .name = "good"});
    writer_get_stats(w.events, &st);
    CHECK_INT(st.events, 1);
    CHECK_INT(st.events_dropped, COUNT_OF(bad));
    kit_close_pair(&w);
    OK(store_open(&s, kit_path("node-a/events.fp"), &e));
    CHECK_INT(s->n_events, 1);
    CHECK_INT(s->n_losses, 1);
    CHECK_INT(kit_count_loss(s, LOSS_MALFORMED), COUNT_OF(bad));
    CHECK_STR(loss_what(&s->losses[0], (char[ENTITY_LEN]){0}), "events");
    store_close(s);
}

TEST(events_faster_than_the_flushes_are_dropped_and_counted_not_hoarded)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    struct writer_stats st;
    struct store *s;
    struct err e;
    enum { BATCH = 1000, TOLD = 8000 * BATCH };
    struct event v[BATCH];
    for (int i = 0; i < TOLD / BATCH; i++) {
        for (int k = 0; k < BATCH; k++)
            v[k] = (struct event){.at = {((int64_t)i * BATCH + k) * 1000},
                                  .dur_ns = 300,
                                  .kind = EVENT_SPAN,
                                  .name = "x"};
        writer_sink(w.events)->ops->events(writer_sink(w.events), &t, v, BATCH);
    }
    CHECK(writer_pending(w.events) >= 32 << 20);
    CHECK(writer_pending(w.events) < 33 << 20);
    writer_get_stats(w.events, &st);
    CHECK_INT(st.events + st.events_dropped, TOLD);
    CHECK(st.events > 1000000 && st.events_dropped > 0);
    kit_close_pair(&w);
    OK(store_open(&s, kit_path("node-a/events.fp"), &e));
    uint64_t rows = 0;
    for (uint32_t i = 0; i < s->n_events; i++)
        rows += s->events[i].rows;
    CHECK_INT(rows, st.events);
    CHECK_INT(kit_count_loss(s, LOSS_WRITE), st.events_dropped);
    CHECK_STR(loss_what(&s->losses[0], (char[ENTITY_LEN]){0}), "events");
    store_close(s);
}

TEST(a_flush_empties_what_is_pending)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    struct err e;
    CHECK_INT(writer_pending(w.events), 0);
    kit_tell(writer_sink(w.events), &t, &(struct event){.kind = EVENT_MARK, .name = "x"});
    CHECK(writer_pending(w.events) > 0);
    CHECK_INT(writer_pending(w.metrics), 0);
    OK(writer_flush(w.events, false, &e));
    CHECK_INT(writer_pending(w.events), 0);
    kit_close_pair(&w);
}

TEST(files_beside_have_the_session_of_the_first_and_never_replace_another)
{
    struct kit_pair w;
    struct writer *again;
    struct err e;
    const struct track t = kit_track(0);
    for (int k = 1; k <= 2; k++) {
        w = kit_open_pair(kit_path("node-a"));
        CHECK_INT(writer_session(w.events), k);
        kit_tell(writer_sink(w.events), &t, &(struct event){.kind = EVENT_MARK, .name = "x"});
        CHECK_INT(writer_open_beside(&again, w.metrics, "events", &e), ERR_BUSY);
        CHECK(strstr(e.msg, k == 1 ? "events.fp" : "events-2.fp"));
        CHECK_INT(writer_open_beside(&again, w.metrics, "metrics", &e), ERR_BUSY);
        kit_close_pair(&w);
    }
    static const char *const files[] = {"events.fp", "events-2.fp"};
    for (int k = 0; k < 2; k++) {
        struct kit_events got = kit_events_path(kit_path("node-a/%s", files[k]));
        CHECK_INT(got.n, 1);
        kit_events_free(&got);
    }
    struct kit_dump d = kit_dump_path(kit_path("node-a/metrics-2.fp"));
    CHECK_INT(d.n, 0);
    kit_free(&d);
}

TEST(a_folder_that_cannot_be_written_refuses_the_file_beside_in_a_sentence)
{
    struct writer *w, *beside;
    struct err e;
    kit_mkdir(kit_path("node-a"));
    OK(writer_open(&w, kit_path("node-a"), &e));
    CHECK_INT(writer_open_beside(&beside, w, "no/such", &e), ERR_SYS);
    CHECK(strstr(e.msg, "no/such.fp"));
    OK(writer_close(w, &e));
}

TEST(the_first_writer_takes_events_too)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    const struct track t = kit_track(0);
    struct group g;
    struct err e;
    struct store *s;
    group_open(&g, "g", NS_PER_S);
    group_add(&g, M_GPU_UTIL, "gpu0");
    g.cells[0] = 7;
    group_commit(&g, writer_sink(w.metrics), (mono_ns){20 * NS_PER_S});
    kit_tell(writer_sink(w.metrics), &t,
             &(struct event){
                 .at = {NS_PER_S + 1}, .dur_ns = 9 * NS_PER_S, .kind = EVENT_SPAN, .name = "x"});
    kit_close_pair(&w);
    OK(store_open(&s, kit_path("node-a/metrics.fp"), &e));
    CHECK_INT(s->rows, 1);
    CHECK_INT(s->n_events, 1);
    CHECK_INT(s->t_first_us, 1000000); /* of the event, rounded outward */
    CHECK_INT(s->t_last_us, 20000000); /* of the row */
    CHECK_INT(s->events[0].t_last_us, 10000001);
    store_close(s);
    group_close(&g);
}
