/* SPDX-License-Identifier: Apache-2.0 */
/* test_hub_control.c - requests that wait on a hub for recorders on other machines. */
#include <stdio.h>
#include <string.h>

#include "serve/hub_control.h"
#include "test.h"

/* Seconds that have passed. */
static int64_t passed_s;

mono_ns __wrap_clock_mono(void);
mono_ns __wrap_clock_mono(void)
{
    return (mono_ns){(1000 + passed_s) * NS_PER_S};
}

static void count_request(void *ctx, const struct hub_control_request *q)
{
    int *n = ctx;
    CHECK(q->state == HUB_WAITING && q->id > 0);
    (*n)++;
}

static int taken(struct hub_control *c, const char *run, const char *node)
{
    int n = 0;
    hub_control_take(c, run, node, count_request, &n);
    return n;
}

static struct err e;

static int ask(struct hub_control *c, const char *run, const char *node, const char *set, size_t *n)
{
    struct arena a = {0};
    struct hub_control_request *v;
    const int rc = hub_control_ask(c, run, node, set, "zoe", &a, &v, n, &e);
    arena_free(&a);
    return rc;
}

TEST(a_request_waits_until_its_recorder_has_answered)
{
    struct hub_control *c = hub_control_open();
    struct arena a = {0};
    struct hub_control_request *v;
    size_t n;
    CHECK_INT(hub_control_seen(c, "r", "n1", 2), 0);
    CHECK_INT(hub_control_seen(c, "r", "n2", 2), 0);
    CHECK_INT(hub_control_within(c, "r"), 2);
    OK(ask(c, "r", "n1", "stop", &n));
    CHECK_INT(n, 1);
    CHECK_INT(hub_control_seen(c, "r", "n1", 2), 1);
    CHECK_INT(hub_control_seen(c, "r", "n2", 2), 0);
    CHECK_INT(taken(c, "r", "n1"), 1);
    CHECK_INT(taken(c, "r", "n1"), 1); /* an answer that was lost is given again */
    hub_control_list(c, "r", &a, &v, &n);
    CHECK_INT(n, 1);
    CHECK_STR(v[0].by, "zoe");
    CHECK_STR(v[0].set, "stop");
    hub_control_answer(c, "r", "n2", v[0].id, true, "of another node");
    CHECK_INT(taken(c, "r", "n1"), 1);
    hub_control_answer(c, "r", "n1", v[0].id, false, "no");
    CHECK_INT(taken(c, "r", "n1"), 0);
    hub_control_list(c, "r", &a, &v, &n);
    CHECK(v[0].state == HUB_REFUSED);
    CHECK_STR(v[0].text, "no");
    arena_free(&a);
    hub_control_close(c);
}

TEST(a_request_goes_to_all_nodes_of_its_run_that_take_requests)
{
    struct hub_control *c = hub_control_open();
    size_t n;
    hub_control_seen(c, "r", "n1", 2);
    hub_control_seen(c, "r", "n2", 5);
    hub_control_seen(c, "r", "deaf", 0);
    hub_control_seen(c, "other", "n1", 2);
    OK(ask(c, "r", NULL, "interval=1s", &n));
    CHECK_INT(n, 2);
    CHECK_INT(hub_control_within(c, "r"), 5);
    CHECK_INT(taken(c, "other", "n1") + taken(c, "r", "deaf"), 0);
    CHECK_INT(ask(c, "r", "deaf", "stop", &n), ERR_NOT_FOUND);
    CHECK_INT(ask(c, "none", NULL, "stop", &n), ERR_NOT_FOUND);
    CHECK_INT(hub_control_within(c, "none"), 0);
    /* It does not take any from now on. */
    hub_control_seen(c, "r", "n1", 0);
    CHECK_INT(ask(c, "r", "n1", "stop", &n), ERR_NOT_FOUND);
    hub_control_close(c);
}

TEST(requests_of_a_node_are_bounded_and_those_that_wait_are_not_lost)
{
    struct hub_control *c = hub_control_open();
    struct arena a = {0};
    struct hub_control_request *v;
    size_t n;
    hub_control_seen(c, "r", "n", 1);
    OK(ask(c, "r", "n", "stop", &n)); /* stays unanswered */
    for (int i = 0; i < 40; i++) {
        OK(ask(c, "r", "n", "interval=1s", &n));
        hub_control_list(c, "r", &a, &v, &n);
        CHECK(n <= 16);
        CHECK_STR(v[0].set, "stop");
        CHECK(v[n - 1].id > v[0].id);
        hub_control_answer(c, "r", "n", v[n - 1].id, true, "done");
    }
    for (int i = 0; i < 7; i++)
        OK(ask(c, "r", "n", "interval=2s", &n));
    CHECK_INT(ask(c, "r", "n", "interval=3s", &n), ERR_LIMIT);
    CHECK_INT(taken(c, "r", "n"), 8);
    arena_free(&a);
    hub_control_close(c);
}

TEST(a_request_that_is_not_fetched_in_time_expires)
{
    struct hub_control *c = hub_control_open();
    struct arena a = {0};
    struct hub_control_request *v;
    size_t n;
    hub_control_seen(c, "r", "n", 2);
    OK(ask(c, "r", "n", "stop", &n));
    passed_s += 59;
    CHECK_INT(taken(c, "r", "n"), 1);
    passed_s += 2;
    CHECK_INT(taken(c, "r", "n"), 0);
    CHECK_INT(hub_control_seen(c, "r", "n", 100), 0);
    hub_control_list(c, "r", &a, &v, &n);
    CHECK(n == 1 && v[0].state == HUB_EXPIRED && *v[0].text);
    OK(ask(c, "r", "n", "stop", &n)); /* one who looks rarely has longer */
    passed_s += 290;
    CHECK_INT(taken(c, "r", "n"), 1);
    passed_s += 20;
    CHECK_INT(taken(c, "r", "n"), 0);
    arena_free(&a);
    hub_control_close(c);
}

TEST(senders_that_are_too_many_are_not_stored)
{
    struct hub_control *c = hub_control_open();
    char name[16];
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK_INT(hub_control_seen(c, i < 100 ? "r" : "more", name, 2), 0);
    }
    CHECK_INT(hub_control_seen(c, "last", "n", 2), 0);
    CHECK_INT(hub_control_within(c, "r"), 2);
    CHECK_INT(hub_control_within(c, "last"), 0);
    hub_control_close(c);
}

TEST(a_sender_that_is_silent_gets_no_requests_and_is_forgotten)
{
    struct hub_control *c = hub_control_open();
    struct arena a = {0};
    struct hub_control_request *v;
    size_t n;
    hub_control_seen(c, "r", "n", 2);
    OK(ask(c, "r", "n", "stop", &n));
    passed_s += 31;
    CHECK_INT(hub_control_within(c, "r"), 0);
    CHECK_INT(ask(c, "r", "n", "stop", &n), ERR_NOT_FOUND);
    passed_s += 3600;
    hub_control_seen(c, "other", "n", 2);
    hub_control_list(c, "r", &a, &v, &n);
    CHECK_INT(n, 0);
    CHECK_INT(hub_control_within(c, "other"), 2);
    OK(ask(c, "other", "n", "stop", &n));
    CHECK_INT(hub_control_seen(c, "other", "n", 2), 1);
    arena_free(&a);
    hub_control_close(c);
}

TEST(thousands_of_nodes_are_found)
{
    struct hub_control *c = hub_control_open();
    char run[32];
    size_t n;
    for (int i = 0; i < 3000; i++) {
        snprintf(run, sizeof run, "run-%d", i);
        hub_control_seen(c, run, "n", 2);
    }
    for (int i = 0; i < 3000; i += 100) {
        snprintf(run, sizeof run, "run-%d", i);
        OK(ask(c, run, NULL, "stop", &n));
        CHECK_INT(hub_control_seen(c, run, "n", 2), 1);
    }
    hub_control_close(c);
}
