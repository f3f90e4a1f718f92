/* SPDX-License-Identifier: Apache-2.0 */
/* test_spans.c - begin and end become events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jobevents.h"
#include "base/mem.h"
#include "test.h"

enum { PID = 100, KEPT_MOST = 2048 };

struct kept {
    struct sink sink;
    struct event v[KEPT_MOST];
    struct track track[KEPT_MOST];
    size_t n;
    struct loss loss;
    size_t losses;
};

static void keep_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    struct kept *k = (struct kept *)s;
    for (size_t i = 0; i < n && k->n < KEPT_MOST; i++) {
        k->track[k->n] = *t;
        k->v[k->n++] = v[i];
    }
}

static void keep_loss(struct sink *s, const struct loss *l)
{
    struct kept *k = (struct kept *)s;
    k->loss = *l;
    k->losses++;
}

static const struct sink_ops ops = {.loss = keep_loss, .events = keep_events};

static struct kept *new_kept(void)
{
    struct kept *k = xcalloc(1, sizeof *k);
    k->sink.ops = &ops;
    return k;
}

static struct ring_event said(enum ring_kind kind, int64_t at, const char *name, int64_t value)
{
    return (struct ring_event){.at = {at}, .kind = kind, .tid = PID, .name = name, .number = value};
}

static void feed(struct process_spans *p, struct kept *k, struct ring_event v)
{
    spans_feed(p, &v, 1, NULL, &k->sink);
}

TEST(a_begin_and_its_end_become_one_span)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "python train.py");
    const struct ring_event v[] = {said(RING_SPAN_BEGIN, 10, "forward", 7),
                                   said(RING_SPAN_END, 35, "forward", 0)};
    spans_feed(p, v, 2, NULL, &k->sink);
    CHECK_INT(k->n, 1);
    CHECK_STR(k->v[0].name, "forward");
    CHECK_INT(k->v[0].kind, EVENT_SPAN);
    CHECK_INT(k->v[0].end, END_KNOWN);
    CHECK_INT(k->v[0].at.ns, 10);
    CHECK_INT(k->v[0].dur_ns, 25);
    CHECK_INT(k->v[0].value, 7);
    CHECK_INT(k->v[0].category, CAT_PHASE);
    CHECK_STR(k->track[0].name, "main");
    CHECK_STR(k->track[0].process, "python train.py");
    spans_close(p, &k->sink);
    CHECK_INT(k->n, 1);
    free(k);
}

TEST(a_step_keeps_its_number_and_mode)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    struct ring_event v[] = {said(RING_STEP_BEGIN, 1, "", 41), said(RING_STEP_END, 5, "", 41)};
    v[0].mode = v[1].mode = MODE_EVAL;
    spans_feed(p, v, 2, NULL, &k->sink);
    CHECK_INT(k->n, 1);
    CHECK_INT(k->v[0].kind, EVENT_STEP);
    CHECK_INT(k->v[0].mode, MODE_EVAL);
    CHECK_INT(k->v[0].value, 41);
    spans_close(p, &k->sink);
    free(k);
}

TEST(what_is_open_after_a_batch_is_told_once_as_open)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    feed(p, k, said(RING_SPAN_BEGIN, 10, "epoch", 0));
    CHECK_INT(k->n, 1);
    CHECK_INT(k->v[0].end, END_OPEN);
    feed(p, k, said(RING_MARK, 11, "m", 0));
    CHECK_INT(k->n, 2);
    CHECK_INT(k->v[1].kind, EVENT_MARK);
    feed(p, k, said(RING_SPAN_END, 30, "epoch", 0));
    CHECK_INT(k->n, 3);
    CHECK_INT(k->v[2].end, END_KNOWN);
    CHECK_INT(k->v[2].at.ns, 10);
    spans_close(p, &k->sink);
    free(k);
}

TEST(retelling_says_every_open_span_again)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    feed(p, k, said(RING_STEP_BEGIN, 10, "", 3));
    feed(p, k, said(RING_SPAN_BEGIN, 12, "forward", 0));
    k->n = 0;
    spans_emit_again(p, &k->sink);
    CHECK_INT(k->n, 2);
    CHECK_INT(k->v[0].kind, EVENT_STEP);
    CHECK_INT(k->v[0].end, END_OPEN);
    CHECK_STR(k->v[1].name, "forward");
    spans_close(p, &k->sink);
    free(k);
}

TEST(a_process_that_ends_cuts_what_it_left_open_where_it_was_last_heard)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    const struct ring_event v[] = {said(RING_STEP_BEGIN, 10, "", 3),
                                   said(RING_SPAN_BEGIN, 12, "forward", 0),
                                   said(RING_MARK, 20, "m", 0)};
    spans_feed(p, v, 3, NULL, &k->sink);
    k->n = 0;
    spans_close(p, &k->sink);
    CHECK_INT(k->n, 2);
    CHECK_STR(k->v[0].name, "forward");
    CHECK_INT(k->v[0].end, END_CUT);
    CHECK_INT(k->v[0].dur_ns, 8);
    CHECK_INT(k->v[1].kind, EVENT_STEP);
    CHECK_INT(k->v[1].dur_ns, 10);
    free(k);
}

TEST(an_end_skipped_by_an_exception_comes_with_the_span_around_it)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    const struct ring_event v[] = {said(RING_SPAN_BEGIN, 1, "outer", 0),
                                   said(RING_SPAN_BEGIN, 2, "inner", 0),
                                   said(RING_SPAN_END, 9, "outer", 0)};
    spans_feed(p, v, 3, NULL, &k->sink);
    CHECK_INT(k->n, 2);
    CHECK_STR(k->v[0].name, "inner");
    CHECK_INT(k->v[0].end, END_CUT);
    CHECK_STR(k->v[1].name, "outer");
    CHECK_INT(k->v[1].end, END_KNOWN);
    CHECK_INT(k->losses, 0);
    spans_close(p, &k->sink);
    free(k);
}

TEST(an_end_without_a_begin_is_a_loss_and_no_event)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    feed(p, k, said(RING_SPAN_END, 5, "forward", 0));
    CHECK_INT(k->n, 0);
    CHECK_INT(k->losses, 1);
    CHECK_INT(k->loss.id, LOSS_UNMATCHED);
    CHECK_STR(loss_what(&k->loss, (char[ENTITY_LEN]){0}), "forward");
    spans_close(p, &k->sink);
    free(k);
}

TEST(threads_of_a_process_are_paired_apart)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    struct ring_event v[] = {said(RING_SPAN_BEGIN, 1, "a", 0), said(RING_SPAN_BEGIN, 2, "a", 0),
                             said(RING_SPAN_END, 5, "a", 0), said(RING_SPAN_END, 9, "a", 0)};
    v[1].tid = v[3].tid = PID + 1;
    for (int i = 0; i < 4; i++)
        feed(p, k, v[i]);
    CHECK_INT(k->n, 4); /* two of them open */
    CHECK_INT(k->v[2].at.ns, 1);
    CHECK_INT(k->v[2].dur_ns, 4);
    CHECK_INT(k->track[2].id, PID);
    CHECK_INT(k->v[3].dur_ns, 7);
    CHECK_INT(k->track[3].id, PID + 1);
    spans_close(p, &k->sink);
    free(k);
}

TEST(a_past_span_of_a_device_lies_on_its_own_track)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    struct ring_event v[] = {said(RING_PAST_BEGIN, 1000, "forward", 700),
                             said(RING_PAST_END, 1001, "forward", 201)};
    v[0].mode = v[1].mode = 3;
    spans_feed(p, v, 2, NULL, &k->sink);
    CHECK_INT(k->n, 1);
    CHECK_INT(k->track[0].kind, TRACK_DEVICE);
    CHECK_INT(k->track[0].id, 2);
    CHECK_STR(k->track[0].name, "gpu2");
    CHECK_INT(k->v[0].at.ns, 300);
    CHECK_INT(k->v[0].dur_ns, 500);
    spans_close(p, &k->sink);
    free(k);
}

TEST(an_age_before_time_began_is_taken_as_now)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    const struct ring_event v[] = {said(RING_PAST_BEGIN, 1000, "x", 5000),
                                   said(RING_PAST_END, 1000, "x", -3)};
    spans_feed(p, v, 2, NULL, &k->sink);
    CHECK_INT(k->v[0].at.ns, 1000);
    CHECK_INT(k->v[0].dur_ns, 0);
    spans_close(p, &k->sink);
    free(k);
}

TEST(what_a_hook_could_not_record_becomes_a_loss)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    struct ring_event v = said(RING_LOSS, 5, "torch loader", 0);
    v.reason = "AttributeError: x";
    feed(p, k, v);
    CHECK_INT(k->n, 0);
    CHECK_INT(k->loss.id, LOSS_HOOK);
    CHECK_STR(loss_what(&k->loss, (char[ENTITY_LEN]){0}), "torch loader");
    CHECK_STR(k->loss.why, "AttributeError: x");
    spans_close(p, &k->sink);
    free(k);
}

TEST(spans_beyond_the_depth_that_is_kept_are_counted_and_the_rest_stays_right)
{
    enum { DEEP = 300 };
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    struct ring_event v[2 * DEEP];
    for (int i = 0; i < DEEP; i++) {
        v[i] = said(RING_SPAN_BEGIN, i, "deep", 0);
        v[2 * DEEP - 1 - i] = said(RING_SPAN_END, 2 * DEEP - i, "deep", 0);
    }
    spans_feed(p, v, 2 * DEEP, NULL, &k->sink);
    CHECK_INT(k->n, 256);
    CHECK_INT(k->losses, DEEP - 256);
    CHECK_INT(k->v[255].at.ns, 0);
    CHECK_INT(k->v[255].dur_ns, 2 * DEEP);
    spans_close(p, &k->sink);
    free(k);
}

TEST(numbers_keep_their_bits)
{
    struct kept *k = new_kept();
    struct process_spans *p = spans_open(PID, "x");
    struct ring_event v = said(RING_COUNT_REAL, 5, "loss", 0);
    v.real = 0.125;
    feed(p, k, v);
    feed(p, k, said(RING_COUNT_INT, 6, "loader.queue", -4));
    CHECK_INT(k->v[0].kind, EVENT_REAL);
    CHECK(event_real(&k->v[0]) == 0.125);
    CHECK_INT(k->v[1].value, -4);
    CHECK_INT(k->v[1].category, CAT_LOADER);
    spans_close(p, &k->sink);
    free(k);
}
