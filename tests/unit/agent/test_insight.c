/* SPDX-License-Identifier: Apache-2.0 */
/* test_insight.c - rules see what goes by, and who asked hears when an answer changes. */
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "agent/insight.h"
#include "base/mem.h"
#include "record/group.h"
#include "test.h"

enum { SWEEPS = 2000, PERIOD_MS = 500, WAIT_MS = 10000 };

struct behind {
    struct sink sink;
    size_t rows;
};

static void count_row(struct sink *s, struct group *g, mono_ns t)
{
    (void)g;
    (void)t;
    ((struct behind *)s)->rows++;
}

static const struct sink_ops ops = {.row = count_row};

struct heard {
    pthread_mutex_t lock;
    enum rule_state state[RULE_N];
    uint64_t datapoints[RULE_N];
    char message[TEXT_LEN];
};

static void hear(void *ctx, const struct verdict *v, const struct param_value *p,
                 const struct rule_seen *before)
{
    struct heard *h = ctx;
    (void)p;
    (void)before;
    pthread_mutex_lock(&h->lock);
    for (size_t k = 0; k < RULE_N; k++)
        if (rules[k] == v->rule) {
            h->state[k] = v->state;
            h->datapoints[k] = v->datapoints;
        }
    if (v->rule == &rule_low_gpu_utilization && v->n_findings)
        snprintf(h->message, sizeof h->message, "%s", v->findings[0].message);
    pthread_mutex_unlock(&h->lock);
}

struct stage {
    struct behind behind;
    struct heard heard;
    struct insight *insight;
    struct clock_tie tie;
};

static void set_up(struct stage *s)
{
    struct err e;
    *s = (struct stage){.behind = {{&ops}, 0}, .tie = clock_tie_now()};
    s->tie.mono.ns -= INT64_C(2) * SWEEPS * PERIOD_MS * NS_PER_MS; /* all of it has been already */
    s->tie.wall.ns -= INT64_C(2) * SWEEPS * PERIOD_MS * NS_PER_MS;
    pthread_mutex_init(&s->heard.lock, NULL);
    for (size_t k = 0; k < RULE_N; k++)
        s->heard.state[k] = RULE_NOT_EVALUATED;
    const struct insight_ask ask = {
        .facts = {.id = "a",
                  .cores = 4,
                  .price_per_hour = NAN,
                  .first = s->tie.wall,
                  .period_ns = PERIOD_MS * NS_PER_MS},
        .tie = s->tie,
        .scan_ns = 20 * NS_PER_MS,
        .changed = hear,
        .ctx = &s->heard,
    };
    OK(insight_open(&s->insight, &ask, &s->behind.sink, &e));
}

static void tear_down(struct stage *s)
{
    insight_stop(s->insight);
    insight_free(s->insight);
}

/* Two probes that read in the same ticks, a few ms apart. */
static void play(struct stage *s, double util)
{
    struct group cpu, gpu;
    struct sink *to = insight_sink(s->insight);
    group_open(&cpu, "cpu", PERIOD_MS * NS_PER_MS);
    group_open(&gpu, "gpu", PERIOD_MS * NS_PER_MS);
    const slot_id total = group_add(&cpu, M_CPU_UTIL, ENTITY_TOTAL);
    const slot_id gpu0 = group_add(&gpu, M_GPU_UTIL, "gpu0");
    for (int i = 0; i < SWEEPS; i++) {
        const mono_ns t = mono_add(s->tie.mono, (int64_t)i * PERIOD_MS * NS_PER_MS);
        group_gauge(&cpu, total, 20);
        group_commit(&cpu, to, t);
        group_gauge(&gpu, gpu0, util);
        group_commit(&gpu, to, mono_add(t, 7 * NS_PER_MS));
    }
    group_close(&cpu);
    group_close(&gpu);
}

static bool comes_to(struct stage *s, enum rule_state wanted)
{
    bool is = false;
    for (int i = 0; i < WAIT_MS / 10 && !is; i++) {
        usleep(10000);
        pthread_mutex_lock(&s->heard.lock);
        is = s->heard.state[RULE_low_gpu_utilization] == wanted;
        pthread_mutex_unlock(&s->heard.lock);
    }
    return is;
}

TEST(a_finding_is_told_while_the_run_lives)
{
    struct stage s;
    set_up(&s);
    play(&s, 5);
    CHECK(comes_to(&s, RULE_ISSUE));
    tear_down(&s);
    CHECK(strstr(s.heard.message, "gpu0 was underused") != NULL);
    CHECK_INT(s.behind.rows, 2 * SWEEPS);
}

TEST(a_gpu_in_good_use_is_told_to_be_clear)
{
    struct stage s;
    set_up(&s);
    play(&s, 95);
    CHECK(comes_to(&s, RULE_CLEAR));
    tear_down(&s);
}

TEST(an_interval_that_changes_goes_on_with_what_was_seen)
{
    struct stage s;
    set_up(&s);
    play(&s, 5);
    insight_interval(s.insight, 100 * NS_PER_MS);
    CHECK(comes_to(&s, RULE_ISSUE));
    tear_down(&s);
}
