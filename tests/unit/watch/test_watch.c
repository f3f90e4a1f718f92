/* SPDX-License-Identifier: Apache-2.0 */
/* test_watch.c - when the helper evaluates, and that it is started again. */
#include <signal.h>
#include <unistd.h>

#include "agent/helper.h"
#include "test.h"
#include "watch/watch.h"

TEST(an_evaluation_that_takes_long_is_repeated_less_often)
{
    CHECK_INT(watch_interval(SCAN_NS, 0), SCAN_NS);
    CHECK_INT(watch_interval(SCAN_NS, 0.06), SCAN_NS);
    CHECK_INT(watch_interval(SCAN_NS, 0.6), 10 * SCAN_NS); /* 0.1 % of a core */
    CHECK_INT(watch_interval(NS_PER_S, 0.03), NS_PER_S);   /* as often as the user wants it */
}

/* ---- a helper that crashes ---- */

struct heard {
    int lines, again;
    char text[HELPER_TEXT];
};

static void hear(void *ctx, const struct helper_message *m)
{
    struct heard *h = ctx;
    h->again += m->kind == HELPER_AGAIN;
    if (m->kind == HELPER_SAY) {
        h->lines++;
        snprintf(h->text, sizeof h->text, "%s", m->text);
    }
}

/* Counts its starts in the memory that survives, and crashes in the first `*ctx` of them. */
static void crash_first(const struct helper_task *t, void *ctx)
{
    int *starts = t->memory;
    struct helper_message m = {.kind = HELPER_SAY};
    if (++*starts <= *(int *)ctx)
        raise(SIGKILL);
    snprintf(m.text, sizeof m.text, "%s: start %d%s", t->begin.name, *starts,
             t->again ? ", again" : "");
    (void)!helper_report(t, &m);
    while (helper_next(t, &m))
        if (m.kind == HELPER_END)
            (void)!helper_report(t, &(struct helper_message){.kind = HELPER_DONE});
}

static struct helper *start(int *crashes, struct heard *h)
{
    const struct helper_program p = {crash_first, crashes};
    const struct helper_begin begin = {.name = "demo"};
    struct helper *out;
    struct err e;
    *h = (struct heard){0};
    OK(helper_start(&out, &p, hear, h, &e));
    helper_begin(out, &begin);
    return out;
}

TEST(a_helper_that_crashes_is_started_again_and_answers_what_was_asked)
{
    struct heard h;
    int crashes = HELPER_RESTARTS;
    struct helper *x = start(&crashes, &h);
    CHECK(helper_wait(x, HELPER_END, HELPER_DONE, 20 * NS_PER_S));
    CHECK_INT(h.lines, 1);
    CHECK_STR(h.text, "demo: start 4, again");
    helper_stop(x);
}

TEST(a_helper_that_crashes_too_often_is_gone_and_nobody_waits_for_it)
{
    struct heard h;
    int crashes = HELPER_RESTARTS + 1;
    struct helper *x = start(&crashes, &h);
    CHECK(!helper_wait(x, HELPER_END, HELPER_DONE, -1));
    CHECK_INT(helper_fd(x), -1);
    CHECK_INT(h.lines, 0);
    helper_stop(x);
}

TEST(without_a_helper_nothing_is_waited_for)
{
    CHECK(!helper_wait(NULL, HELPER_END, HELPER_DONE, -1));
    CHECK_INT(helper_fd(NULL), -1);
    CHECK_INT(helper_session(NULL), 0);
    helper_request(NULL, HELPER_LOOK);
    helper_stop(NULL);
}
