/* SPDX-License-Identifier: Apache-2.0 */
/* insight.c - see insight.h. */
#include "agent/insight.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/insight_internal.h"
#include "agent/shed.h"
#include "base/mem.h"
#include "base/thread.h"
#include "query/steps.h"

enum { STACK = 256 * 1024, PRIORITY = 10 };

/* LATE: rows and events that are younger may not all have come yet. TAKE: how often they are handed
 * to the rules, so that little waits in memory. */
#define LATE_NS (2 * NS_PER_S)
#define TAKE_NS (5 * NS_PER_S)
/* ... and of events no more wait than are taken in some milliseconds: while they are, who reads the
 * rings waits. */
enum { EVENTS_MANY = 1 << 14 };
/* Steps of a rank that come at once, from which their mean says how long one takes. */
enum { PACE_LEAST = 32 };
/* How long the end of a run waits for rules of the user's own, twice at most. */
#define OWN_LAST_NS (5 * NS_PER_S)

struct insight {
    struct sink_pass pass; /* first, so that it is the whole */
    struct insight_ask ask;
    struct rule_params params;
    struct arena arena;   /* of the params */
    pthread_mutex_t lock; /* for the next four; held for moments: sampling waits for it */
    pthread_cond_t changed;
    struct sweep_buf sweeps;
    bool stop, many; /* events wait */
    pthread_mutex_t steps_lock;
    struct step_buf steps;       /* under that */
    pthread_mutex_t engine_lock; /* for what follows, up to last_step */
    struct sweep_buf taken;
    struct engine *engine;
    size_t node;
    struct rule_seen seen[RULE_N];
    struct user_rules users;
    wall_ns first_step, last_step;
    pthread_t thread;
};

/* ---- what comes by ---- */

static void on_row(struct sink *s, struct group *g, mono_ns t)
{
    struct insight *i = (struct insight *)s;
    pthread_mutex_lock(&i->lock);
    sweep_buf_row(&i->sweeps, g, t, i->ask.tie);
    pthread_mutex_unlock(&i->lock);
    sink_pass_row(s, g, t);
}

static const struct sink_ops ops = {
    .row = on_row,
    .loss = sink_pass_loss,
    .mark = sink_pass_mark,
    .events = sink_pass_events,
};

void insight_events(struct insight *i, const struct track *t, const struct event *v, size_t n)
{
    pthread_mutex_lock(&i->steps_lock);
    step_buf_events(&i->steps, t, v, n, i->ask.tie);
    const bool many = i->steps.waiting >= EVENTS_MANY;
    pthread_mutex_unlock(&i->steps_lock);
    if (!many)
        return;
    pthread_mutex_lock(&i->lock);
    i->many = true;
    pthread_mutex_unlock(&i->lock);
    pthread_cond_signal(&i->changed);
}

/* ---- to the rules ---- */

static void insight_take_steps(struct insight *i, const struct step_batch *b)
{
    if (i->first_step.ns == 0 || b->v[0].start.ns < i->first_step.ns)
        i->first_step = b->v[0].start;
    for (size_t k = 0; k < b->n; k++)
        i->last_step.ns = MAX_OF(i->last_step.ns, b->v[k].start.ns + b->v[k].dur_ns);
    if (i->ask.facts.n_gpus > 0 && b->n >= PACE_LEAST)
        steps_set_pace(b->v, b->n);
    engine_steps(i->engine, i->node, &b->who, b->v, b->n);
}

/* Steps first: they say which sweeps count. Under the engine's lock. */
static void insight_take(struct insight *i, wall_ns until)
{
    struct gpu_sweeps gpus[SIGHT_GPUS_MOST];
    struct step_news news;
    struct arena a = {0};
    pthread_mutex_lock(&i->steps_lock);
    step_buf_take(&i->steps, i->ask.tie, &a, &news);
    pthread_mutex_unlock(&i->steps_lock);
    for (size_t k = 0; k < news.n; k++)
        insight_take_steps(i, &news.batches[k]);
    engine_told(i->engine, i->node, news.told, news.n_told);
    arena_free(&a);
    pthread_mutex_lock(&i->lock);
    sweep_buf_move(&i->sweeps, sweep_buf_before(&i->sweeps, until), &i->taken);
    pthread_mutex_unlock(&i->lock);
    const struct sweeps s = sweep_buf_view(&i->taken, gpus);
    engine_sweeps(i->engine, i->node, &s);
    engine_sure(i->engine, until);
}

static void insight_judge(struct insight *i, wall_ns now)
{
    struct arena a = {0};
    struct verdicts *v = arena_new(&a, struct verdicts);
    const struct run_facts run = {
        .has_steps = i->first_step.ns != 0,
        .job_start = i->ask.facts.first,
        .job_end = now,
        .loop_start = i->first_step,
        .loop_end = i->last_step,
    };
    engine_judge(i->engine, &run, &a, v);
    for (size_t k = 0; k < RULE_N; k++) {
        const struct rule_seen before = i->seen[k];
        i->seen[k] = (struct rule_seen){v->v[k].state, v->v[k].severity};
        if (rule_seen_differs(&before, &i->seen[k]))
            i->ask.changed(i->ask.ctx, &v->v[k], i->params.v[k], &before);
    }
    if (i->ask.judged)
        i->ask.judged(i->ask.ctx, v, i->users.said, i->users.n_said);
    arena_free(&a);
}

/* ---- the thread ---- */

/* False: it is time to stop. */
static bool nap(struct insight *i, int64_t ns)
{
    const mono_ns until = mono_add(clock_mono(), ns);
    pthread_mutex_lock(&i->lock);
    while (!i->stop && !i->many && thread_wait(&i->changed, &i->lock, until))
        ;
    i->many = false;
    const bool go_on = !i->stop;
    pthread_mutex_unlock(&i->lock);
    return go_on;
}

static void *insight_main(void *arg)
{
    struct insight *i = arg;
    mono_ns judged = clock_mono();
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), PRIORITY); /* this thread's alone */
    while (nap(i, MIN_OF(TAKE_NS, i->ask.scan_ns))) {
        const wall_ns now = clock_wall();
        if (i->ask.own)
            user_rules_hear(&i->users, &i->ask, 0);
        pthread_mutex_lock(&i->engine_lock);
        insight_take(i, (wall_ns){now.ns - MIN_OF(LATE_NS, i->ask.scan_ns)});
        if (mono_diff(clock_mono(), judged) >= i->ask.scan_ns) {
            judged = clock_mono();
            insight_judge(i, now);
            if (i->ask.own)
                ownrules_ask(i->ask.own, i->ask.folder);
            shed_idle_code();
        }
        pthread_mutex_unlock(&i->engine_lock);
    }
    return NULL;
}

int insight_open(struct insight **out, const struct insight_ask *ask, struct sink *behind,
                 struct err *e)
{
    struct insight *i = xcalloc(1, sizeof *i);
    i->pass = (struct sink_pass){{&ops}, behind};
    i->ask = *ask;
    if (ask->params)
        i->params = *ask->params;
    else
        rule_params_init(&i->params, &i->arena);
    i->engine = engine_open(&i->params);
    i->node = engine_node(i->engine, &ask->facts);
    for (size_t k = 0; k < RULE_N; k++)
        i->seen[k].state = RULE_NOT_EVALUATED;
    sweep_buf_period(&i->sweeps, ask->facts.period_ns);
    pthread_mutex_init(&i->lock, NULL);
    pthread_mutex_init(&i->steps_lock, NULL);
    pthread_mutex_init(&i->engine_lock, NULL);
    thread_cond_init(&i->changed);
    const int rc = thread_start(&i->thread, STACK, insight_main, i, "fp-rules", e);
    if (rc != 0) {
        i->stop = true;
        insight_free(i);
        return rc;
    }
    *out = i;
    return 0;
}

struct sink *insight_sink(struct insight *i)
{
    return &i->pass.sink;
}

void insight_interval(struct insight *i, int64_t ns)
{
    pthread_mutex_lock(&i->engine_lock);
    insight_take(i, clock_wall());
    pthread_mutex_lock(&i->lock);
    sweep_buf_period(&i->sweeps, ns);
    pthread_mutex_unlock(&i->lock);
    pthread_mutex_unlock(&i->engine_lock);
}

void insight_stop(struct insight *i)
{
    if (!i || i->stop)
        return;
    pthread_mutex_lock(&i->lock);
    i->stop = true;
    pthread_mutex_unlock(&i->lock);
    pthread_cond_signal(&i->changed);
    pthread_join(i->thread, NULL);
}

void insight_finish(struct insight *i)
{
    if (!i)
        return;
    insight_stop(i);
    const wall_ns now = clock_wall();
    insight_take(i, now);
    if (i->ask.own) {
        user_rules_hear(&i->users, &i->ask, OWN_LAST_NS); /* what was asked before */
        ownrules_ask(i->ask.own, i->ask.folder);
        user_rules_hear(&i->users, &i->ask, OWN_LAST_NS);
    }
    insight_judge(i, now);
}

void insight_free(struct insight *i)
{
    if (!i)
        return;
    engine_close(i->engine);
    sweep_buf_free(&i->sweeps);
    sweep_buf_free(&i->taken);
    step_buf_free(&i->steps);
    user_rules_free(&i->users);
    arena_free(&i->arena);
    pthread_mutex_destroy(&i->lock);
    pthread_mutex_destroy(&i->steps_lock);
    pthread_mutex_destroy(&i->engine_lock);
    pthread_cond_destroy(&i->changed);
    free(i);
}
