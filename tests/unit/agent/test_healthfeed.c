/* SPDX-License-Identifier: Apache-2.0 */
/* test_healthfeed.c - training health from a job (python/core/health_out.c) through a real ring
 * into events, and what becomes of a ring whose content is wrong. */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/jobevents.h"
#include "base/mem.h"
#include "health_out.h"
#include "ring/ring_folder.h"
#include "test.h"

enum { PID = 100 };

struct kept_value {
    struct track track;
    struct event event;
};

/* The recorder's side: a sink, and what each process becomes. */
struct kept {
    struct sink sink;
    struct kept_value *v;
    size_t n, cap;
    uint64_t lost;
    char why[160];
    struct ring_folder *folder;
    uint64_t dropped; /* by rings */
};

static void keep_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    struct kept *k = (struct kept *)s;
    for (size_t i = 0; i < n; i++) {
        if (k->n == k->cap) {
            k->cap = 2 * k->cap + 64;
            k->v = xrealloc(k->v, k->cap, sizeof *k->v);
        }
        k->v[k->n] = (struct kept_value){*t, v[i]};
        k->v[k->n++].event.name = strdup(v[i].name);
    }
}

static void keep_loss(struct sink *s, const struct loss *l)
{
    struct kept *k = (struct kept *)s;
    CHECK_INT(l->id, LOSS_HEALTH);
    k->lost += l->count;
    snprintf(k->why, sizeof k->why, "%s", l->why);
}

static const struct sink_ops ops = {.loss = keep_loss, .events = keep_events};

static double real(const struct kept *k, size_t i)
{
    CHECK(i < k->n);
    return event_real(&k->v[i].event);
}

static void check_value(const struct kept *k, size_t i, const char *stat, const char *name,
                        uint64_t link)
{
    CHECK(i < k->n);
    CHECK_INT(k->v[i].track.kind, TRACK_HEALTH);
    CHECK_STR(k->v[i].track.name, stat);
    CHECK_INT(k->v[i].track.id, health_find(stat));
    CHECK_STR(k->v[i].event.name, name);
    CHECK_INT(k->v[i].event.link, link);
}

static void kept_free(struct kept *k)
{
    for (size_t i = 0; i < k->n; i++)
        free((char *)(uintptr_t)k->v[i].event.name);
    free(k->v);
}

/* ---- events by hand ---- */

static struct ring_event said(enum ring_kind kind, unsigned mode, uint32_t name, uint64_t value)
{
    return (struct ring_event){.at = {1000},
                               .kind = kind,
                               .mode = (uint8_t)mode,
                               .tid = PID,
                               .name_id = name,
                               .name = "",
                               .step = value};
}

static struct ring_event said_real(unsigned mode, uint32_t name, double value)
{
    struct ring_event v = said(RING_HEALTH_REAL, mode, name, 0);
    v.real = value;
    return v;
}

static uint64_t eight(const char *text)
{
    char bytes[8] = "";
    uint64_t v;
    memcpy(bytes, text, strnlen(text, 8));
    memcpy(&v, bytes, sizeof v);
    return v;
}

static void feed(struct kept *k, const struct ring_event *v, size_t n)
{
    k->sink.ops = &ops;
    struct process_spans *p = spans_open(PID, "python train.py");
    spans_feed(p, v, n, NULL, &k->sink);
    spans_close(p, &k->sink);
}

#define FEED(k, ...)                                                                               \
    do {                                                                                           \
        const struct ring_event list[] = {__VA_ARGS__};                                            \
        feed(k, list, COUNT_OF(list));                                                             \
    } while (0)

TEST(a_value_has_the_step_mode_and_time_of_its_group)
{
    struct kept k = {0};
    FEED(&k, said(RING_HEALTH_STEP, 1 | 5 << 2, 0, 41), said(RING_HEALTH_AT, 1 | 5 << 2, 0, 900),
         said(RING_HEALTH_TEXT, 0, 7 << 16, eight("eval/los")),
         said(RING_HEALTH_TEXT, 0, 7 << 16 | 1, eight("s")),
         said_real(1 | 5 << 2, 7 << 16 | HEALTH_SCALAR, 0.1));
    CHECK_INT(k.n, 1);
    check_value(&k, 0, "scalar", "eval/loss", 42);
    CHECK_INT(k.v[0].event.mode, MODE_EVAL);
    CHECK_INT(k.v[0].event.at.ns, 900);
    CHECK_INT(k.v[0].event.kind, EVENT_REAL);
    CHECK(real(&k, 0) == 0.1);
    CHECK_INT(k.v[0].track.pid, PID);
    CHECK_STR(k.v[0].track.process, "python train.py");
    kept_free(&k);
}

TEST(a_name_of_exactly_eight_bytes_ends_with_an_empty_part)
{
    struct kept k = {0};
    FEED(&k, said(RING_HEALTH_STEP, 0, 0, 0), said(RING_HEALTH_TEXT, 0, 1 << 16, eight("accuracy")),
         said(RING_HEALTH_TEXT, 0, 1 << 16 | 1, 0), said_real(0, 1 << 16, 1));
    CHECK_INT(k.n, 1);
    check_value(&k, 0, "scalar", "accuracy", 1);
    kept_free(&k);
}

TEST(statistics_of_tensors_are_rounded_to_float32_and_scalars_are_not)
{
    struct kept k = {0};
    FEED(&k, said(RING_HEALTH_STEP, 0, 0, 0), said(RING_HEALTH_TEXT, 0, 1 << 16, eight("w")),
         said_real(0, 1 << 16 | HEALTH_GRADIENT_L2, 0.1), said_real(0, 1 << 16, 0.1),
         said_real(0, 1 << 16 | HEALTH_GRADIENT_L2, 1e300),
         said_real(0, 1 << 16 | HEALTH_GRADIENT_L2, (double)NAN));
    CHECK_INT(k.n, 4);
    CHECK(real(&k, 0) == (double)0.1f);
    CHECK(real(&k, 1) == 0.1);
    CHECK(real(&k, 2) == 1e300); /* no float: it stays, and is not infinite */
    CHECK(isnan(real(&k, 3)));
    kept_free(&k);
}

TEST(whole_numbers_stay_whole_where_the_statistic_counts)
{
    struct kept k = {0};
    const uint64_t sum = UINT64_C(0xfedcba9876543211);
    FEED(&k, said(RING_HEALTH_STEP, 0, 0, 0), said(RING_HEALTH_TEXT, 0, 1 << 16, eight("w")),
         said(RING_HEALTH_COUNT, 0, 1 << 16 | HEALTH_WEIGHT_SUM, sum),
         said(RING_HEALTH_COUNT, 0, 1 << 16 | HEALTH_SCALAR, sum),
         said(RING_HEALTH_COUNT, 0, 1 << 16 | HEALTH_GRADIENT_L2, 3));
    CHECK_INT(k.n, 3);
    CHECK_INT(k.v[0].event.kind, EVENT_COUNT);
    CHECK((uint64_t)k.v[0].event.value == sum);
    CHECK((uint64_t)k.v[1].event.value == sum);
    CHECK_INT(k.v[2].event.kind, EVENT_REAL);
    CHECK(real(&k, 2) == 3);
    kept_free(&k);
}

/* As after a place in the ring that was never written. */
TEST(a_value_whose_step_was_lost_is_not_one_of_the_step_before)
{
    struct kept k = {0};
    FEED(&k, said(RING_HEALTH_STEP, 0 | 1 << 2, 0, 7),
         said(RING_HEALTH_TEXT, 0, 1 << 16, eight("loss")), said_real(1 << 2, 1 << 16, 2),
         said_real(2 << 2, 1 << 16, 3));
    CHECK_INT(k.n, 1);
    CHECK_INT(k.lost, 1);
    CHECK_STR(k.why, "the step of a value did not arrive");
    kept_free(&k);
}

TEST(what_a_hostile_job_writes_is_counted_and_left_out)
{
    static const struct {
        struct ring_event v;
        const char *why;
    } bad[] = {
        {{.kind = RING_HEALTH_REAL, .name_id = 1 << 16 | HEALTH_N}, "an unknown statistic"},
        {{.kind = RING_HEALTH_REAL, .name_id = 2 << 16}, "the name of a value did not arrive"},
        {{.kind = RING_HEALTH_REAL, .name_id = 0}, "the name of a value did not arrive"},
        {{.kind = RING_HEALTH_REAL, .name_id = 0xffffffff}, "an unknown statistic"},
        {{.kind = RING_HEALTH_TEXT, .name_id = 0}, "a name was incomplete"},
        {{.kind = RING_HEALTH_TEXT, .name_id = 1 << 16 | 1}, "a name was incomplete"},
        {{.kind = RING_HEALTH_TEXT, .name_id = 0xffffffff}, "a name was incomplete"},
        {{.kind = RING_HEALTH_LOST, .name_id = 77, .step = UINT64_MAX}, "for an unknown reason"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct kept k = {0};
        FEED(&k, said(RING_HEALTH_STEP, 0, 0, 7), said(RING_HEALTH_TEXT, 0, 1 << 16, eight("a")),
             said(bad[i].v.kind, 0, bad[i].v.name_id, bad[i].v.step));
        CHECK_INT(k.n, 0);
        CHECK(k.lost > 0);
        CHECK_STR(k.why, bad[i].why);
        kept_free(&k);
    }
}

TEST(a_name_that_does_not_end_is_refused)
{
    struct kept k = {0};
    struct ring_event v[64];
    v[0] = said(RING_HEALTH_STEP, 0, 0, 7);
    for (uint32_t i = 1; i < COUNT_OF(v); i++)
        v[i] = said(RING_HEALTH_TEXT, 0, 1 << 16 | (i - 1), eight("xxxxxxxx"));
    feed(&k, v, COUNT_OF(v));
    CHECK(k.lost > 0);
    CHECK_INT(k.n, 0);
    kept_free(&k);
}

TEST(a_time_that_cannot_be_is_replaced_by_that_of_the_event)
{
    struct kept k = {0};
    FEED(&k, said(RING_HEALTH_STEP, 0, 0, UINT64_MAX), said(RING_HEALTH_AT, 0, 0, 5000),
         said(RING_HEALTH_AT, 0, 0, UINT64_MAX), said(RING_HEALTH_TEXT, 0, 1 << 16, eight("a")),
         said_real(0, 1 << 16, 1));
    CHECK_INT(k.n, 1);
    CHECK_INT(k.v[0].event.at.ns, 1000);
    CHECK_INT(k.v[0].event.link, 0);
    kept_free(&k);
}

TEST(names_are_cleaned_of_what_could_play_tricks)
{
    struct kept k = {0};
    FEED(&k, said(RING_HEALTH_STEP, 0, 0, 0), said(RING_HEALTH_TEXT, 0, 1 << 16, eight("a\x1b[1m")),
         said_real(0, 1 << 16, 1));
    CHECK_STR(k.v[0].event.name, "a?[1m");
    kept_free(&k);
}

/* ---- through a ring ---- */

static void on_events(void *arg, struct ring_reader *r, const struct ring_event *v, size_t n)
{
    spans_feed(*ring_reader_user(r), v, n, NULL, &((struct kept *)arg)->sink);
}

static void on_lost(void *arg, struct ring_reader *r, const struct ring_losses *more)
{
    (void)r;
    ((struct kept *)arg)->dropped += more->dropped + more->no_ring + more->torn + more->bad;
}

static void on_begun(void *arg, struct ring_reader *r)
{
    (void)arg;
    *ring_reader_user(r) = spans_open(ring_reader_process(r)->pid, "job");
}

static void on_ended(void *arg, struct ring_reader *r)
{
    spans_close(*ring_reader_user(r), &((struct kept *)arg)->sink);
}

static void on_broken(void *arg, struct ring_reader *r, const struct err *why)
{
    (void)arg, (void)r;
    test_fail(__FILE__, __LINE__, "%s", why->msg);
}

static void listen(struct kept *k)
{
    struct err e;
    const struct ring_folder_handler h = {{on_events, on_lost, k}, on_begun, on_ended, on_broken};
    k->sink.ops = &ops;
    OK(ring_folder_make(&k->folder, test_tmpdir(), &h, &e));
    CHECK(emit_begin(ring_folder_path(k->folder)));
}

static void drain(struct kept *k)
{
    struct err e;
    size_t n;
    OK(ring_folder_drain(k->folder, &n, &e));
}

static void hear_out(struct kept *k)
{
    struct err e;
    size_t n;
    emit_end();
    OK(ring_folder_finish(k->folder, &n, &e));
    ring_folder_close(k->folder, true);
}

static uint32_t name_of(struct health_out *o, const char *text)
{
    return health_out_name(o, text, strlen(text));
}

static void put_real(struct health_out *o, enum health_id stat, uint32_t name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    health_out_put(o, RING_HEALTH_REAL, stat, name, bits);
}

static void out_free(struct health_out *o)
{
    free(o->items);
    free(o->names);
    free(o->index);
    free(o->texts);
}

TEST(values_arrive_with_names_of_any_length)
{
    struct kept k = {0};
    struct health_out o = {0};
    char longest[400];
    memset(longest, 'x', sizeof longest);
    longest[0] = 'a';
    longest[sizeof longest - 2] = 'z';
    longest[sizeof longest - 1] = '\0';
    listen(&k);
    for (int i = 1; i < 30; i++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", i, "abcdefghijklmnopqrstuvwxyz0123456789");
        health_out_begin(&o, (struct health_group){.step = (uint64_t)i, .at_ns = 5});
        put_real(&o, HEALTH_GRADIENT_L2, name_of(&o, name), i);
    }
    put_real(&o, HEALTH_SCALAR, name_of(&o, longest), 1);
    hear_out(&k);
    CHECK_INT(k.n, 30);
    for (size_t i = 0; i < 29; i++) {
        CHECK_INT(strlen(k.v[i].event.name), i + 1);
        CHECK_INT(k.v[i].event.link, i + 2);
        CHECK_INT(k.v[i].event.at.ns, 5);
        CHECK(real(&k, i) == (double)(i + 1));
    }
    CHECK_INT(strlen(k.v[29].event.name), RING_HEALTH_NAME_LEN);
    CHECK(k.v[29].event.name[0] == 'a' && k.v[29].event.name[RING_HEALTH_NAME_LEN - 1] == 'z');
    CHECK_INT(k.lost + k.dropped, 0);
    kept_free(&k);
    out_free(&o);
}

TEST(the_same_name_has_the_same_number)
{
    struct health_out o = {0};
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 1; i <= 3000; i++) {
            char name[32];
            snprintf(name, sizeof name, "layer.%u.weight", i);
            CHECK_INT(name_of(&o, name), i);
        }
    CHECK_INT(name_of(&o, ""), 0);
    out_free(&o);
}

/* More than a ring holds: the rest waits, and nothing of the job's own events is lost for it. */
TEST(a_sample_larger_than_the_ring_arrives_in_several_flushes)
{
    enum { TENSORS = 4000, STATS = 5 };
    struct kept k = {0};
    struct health_out o = {0};
    listen(&k);
    health_out_begin(&o, (struct health_group){.step = 3, .at_ns = 5, .mode = FP_EVAL});
    for (uint32_t s = 1; s <= STATS; s++)
        for (int i = 0; i < TENSORS; i++) {
            char name[32];
            snprintf(name, sizeof name, "layer.%d.weight", i);
            put_real(&o, (enum health_id)s, name_of(&o, name), i);
        }
    health_out_begin(&o, (struct health_group){.step = 4, .at_ns = 6});
    put_real(&o, HEALTH_SCALAR, name_of(&o, "loss"), 0.5);
    CHECK(o.n > 0);
    for (size_t left = 1, round = 0; left; round++) {
        left = health_out_flush(&o);
        drain(&k);
        CHECK(round < 100);
    }
    hear_out(&k);
    CHECK_INT(k.lost + k.dropped, 0);
    CHECK_INT(k.n, TENSORS * STATS + 1);
    for (size_t i = 0; i < (size_t)TENSORS * STATS; i++) {
        CHECK_INT(k.v[i].track.id, 1 + i / TENSORS);
        CHECK(real(&k, i) == (double)(i % TENSORS));
        CHECK_INT(k.v[i].event.link, 4);
        CHECK_INT(k.v[i].event.mode, MODE_EVAL);
    }
    check_value(&k, k.n - 1, "scalar", "loss", 5);
    CHECK_INT(k.v[k.n - 1].event.mode, MODE_TRAIN);
    kept_free(&k);
    out_free(&o);
}

TEST(without_a_reader_values_are_dropped_and_counted_and_half_of_the_ring_stays_free)
{
    enum { VALUES = 400000 };
    struct kept k = {0};
    struct health_out o = {0};
    listen(&k);
    const uint32_t name = name_of(&o, "w");
    health_out_begin(&o, (struct health_group){.step = 0});
    for (int i = 0; i < VALUES; i++) {
        put_real(&o, HEALTH_GRADIENT_L2, name, i);
        health_out_flush(&o);
    }
    CHECK(o.n <= HEALTH_OUT_WAITING);
    CHECK(o.lost[RING_HEALTH_FULL] > 0);
    CHECK(fp_thread_.ring->head - fp_thread_.ring->tail <= HEALTH_OUT_RING + 64);
    for (int i = 0; i < 1000 && health_out_flush(&o); i++)
        drain(&k);
    health_out_flush(&o);
    hear_out(&k);
    CHECK_INT(k.dropped, 0);
    CHECK_INT(k.n + k.lost, VALUES);
    CHECK_STR(k.why, "values came faster than they could be recorded");
    kept_free(&k);
    out_free(&o);
}

TEST(a_million_names_are_a_bounded_table_and_a_counted_loss)
{
    enum { NAMES = 1000000 };
    struct kept k = {0};
    struct health_out o = {0};
    uint32_t refused = 0;
    listen(&k);
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "p%d", i);
        refused += name_of(&o, name) == 0;
    }
    CHECK_INT(refused, NAMES - (RING_HEALTH_NAMES - 1));
    CHECK(o.n_texts <= HEALTH_OUT_TEXT_BYTES);
    health_out_begin(&o, (struct health_group){.step = 0});
    put_real(&o, HEALTH_GRADIENT_L2, 65535, 1);
    health_out_flush(&o);
    hear_out(&k);
    CHECK_INT(k.n, 1);
    CHECK_STR(k.v[0].event.name, "p65534");
    CHECK_INT(k.lost, refused);
    CHECK_STR(k.why, "too many different names");
    kept_free(&k);
    out_free(&o);
}

TEST(what_is_left_at_the_end_is_counted)
{
    struct kept k = {0};
    struct health_out o = {0};
    listen(&k);
    const uint32_t name = name_of(&o, "w");
    for (uint64_t i = 0; i < 10000; i++) {
        health_out_begin(&o, (struct health_group){.step = i, .at_ns = 1});
        put_real(&o, HEALTH_SCALAR, name, 1);
    }
    const size_t left = health_out_drop(&o);
    CHECK(left > 0);
    hear_out(&k);
    CHECK_INT(k.lost, left);
    CHECK_INT(k.n + left, 10000);
    kept_free(&k);
    out_free(&o);
}

/* A child of fork has a ring of its own: names are sent again, what waits is the parent's. */
TEST(a_child_of_fork_sends_its_names_again_and_not_what_its_parent_had_waiting)
{
    struct kept k = {0};
    struct health_out o = {0};
    listen(&k);
    const uint32_t name = name_of(&o, "layer.weight");
    health_out_begin(&o, (struct health_group){.step = 1, .at_ns = 1});
    for (int i = 0; i < 20000; i++)
        put_real(&o, HEALTH_GRADIENT_L2, name, i);
    CHECK(o.n > 0);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        ring_writer_forked(&fp_writer_);
        health_out_begin(&o, (struct health_group){.step = 2, .at_ns = 2});
        put_real(&o, HEALTH_WEIGHT_L2, name, 7);
        health_out_flush(&o);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    while (health_out_flush(&o))
        drain(&k);
    hear_out(&k);
    size_t of_child = 0;
    for (size_t i = 0; i < k.n; i++)
        if (k.v[i].track.pid == (uint32_t)pid) {
            of_child++;
            check_value(&k, i, "weight.l2", "layer.weight", 3);
        }
    CHECK_INT(of_child, 1);
    CHECK_INT(k.n, 20001);
    CHECK_INT(k.lost + k.dropped, 0);
    kept_free(&k);
    out_free(&o);
}

static void *put_one(void *arg)
{
    struct health_out *o = arg;
    put_real(o, HEALTH_GRADIENT_L2, name_of(o, "w"), 2);
    return NULL;
}

TEST(a_thread_that_goes_on_with_a_group_sends_it_again_in_its_own_ring)
{
    struct kept k = {0};
    struct health_out o = {0};
    pthread_t t;
    listen(&k);
    health_out_begin(&o, (struct health_group){.step = 8, .at_ns = 1});
    put_real(&o, HEALTH_GRADIENT_L2, name_of(&o, "w"), 1);
    CHECK(pthread_create(&t, NULL, put_one, &o) == 0);
    pthread_join(t, NULL);
    put_real(&o, HEALTH_GRADIENT_L2, name_of(&o, "w"), 3);
    hear_out(&k);
    CHECK_INT(k.n, 3);
    for (size_t i = 0; i < 3; i++)
        check_value(&k, i, "gradient.l2", "w", 9);
    CHECK_INT(k.lost, 0);
    kept_free(&k);
    out_free(&o);
}

/* A second recorder, or one that missed a name, gets it with one of the next values. */
TEST(a_recorder_that_comes_later_gets_the_names_again)
{
    struct kept k = {0};
    struct health_out o = {0};
    listen(&k);
    const uint32_t name = name_of(&o, "loss");
    health_out_begin(&o, (struct health_group){.step = 0, .at_ns = 1});
    put_real(&o, HEALTH_SCALAR, name, 0);
    fp_thread_.ring->tail = fp_thread_.ring->head; /* as if another had read them */
    for (uint64_t i = 1; i <= 600; i++) {
        health_out_begin(&o, (struct health_group){.step = i, .at_ns = 1});
        put_real(&o, HEALTH_SCALAR, name, (double)i);
    }
    hear_out(&k);
    CHECK(k.lost > 0 && k.lost < 256);
    CHECK_INT(k.n + k.lost, 600);
    check_value(&k, k.n - 1, "scalar", "loss", 601);
    kept_free(&k);
    out_free(&o);
}

TEST(nothing_is_emitted_while_nobody_records)
{
    struct health_out o = {0};
    put_real(&o, HEALTH_SCALAR, name_of(&o, "loss"), 1);
    CHECK_INT(health_out_flush(&o), 0);
    CHECK_INT(o.n, 0);
    out_free(&o);
}
