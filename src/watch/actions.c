/* SPDX-License-Identifier: Apache-2.0 */
/* actions.c - see action.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/thread.h"
#include "rules/rule.h"
#include "rules/verdict_json.h"
#include "watch/action.h"

/* ==== what an action reports ==== */

/* A change of a rule's result, put into words once for all actions that report it. Several actions
 * may reference it; the last one to release it frees it. */
struct news_text {
    struct action_news text;
    struct arena arena;
    atomic_uint holders;
};

struct news_from {
    const char *run, *run_id, *node;
};

static const char *stop_of(const char *sentence)
{
    const size_t n = strlen(sentence);
    return n && strchr(".!?", sentence[n - 1]) ? "" : ".";
}

/* "GPU under-used (LowGPUUtilization, warning)" */
static const char *name_it(const struct verdict *v, bool clear, struct arena *a)
{
    return arena_printf(a, "%s (%s%s%s)", v->rule->title, v->rule->name, clear ? "" : ", ",
                        clear ? "" : severity_names[v->severity]);
}

static const char *say_it(const struct news_from *from, const struct verdict *v, bool clear,
                          struct arena *a)
{
    const char *what = name_it(v, clear, a);
    if (clear || v->n_findings == 0)
        return arena_printf(a, "Footplate: %s in run %s on %s%s", what, from->run, from->node,
                            clear ? ": resolved." : ".");
    const struct finding *f = &v->findings[0];
    const char *advice = f->advice ? f->advice : v->rule->recommendation;
    const char *more =
        v->n_findings > 1 ? arena_printf(a, " (and %zu more findings)", v->n_findings - 1) : "";
    return arena_printf(a, "Footplate: %s in run %s on %s: %s%s%s%s%s%s", what, from->run,
                        from->node, f->message, *more ? more : stop_of(f->message),
                        *more ? "." : "", *advice ? " Fix: " : "", advice,
                        *advice ? stop_of(advice) : "");
}

static void put_json(struct buf *b, const struct news_from *from, const struct news_text *n,
                     const struct verdict *v, const struct param_value *p)
{
    struct jw j = {.out = b};
    jw_object(&j, NULL);
    jw_str(&j, "text", n->text.text);
    jw_str(&j, "event", n->text.clear ? "clear" : "issue");
    jw_str(&j, "rule", v->rule->name);
    jw_str(&j, "severity", n->text.clear ? NULL : severity_names[v->severity]);
    jw_str(&j, "run", from->run);
    jw_str(&j, "run_id", from->run_id);
    jw_str(&j, "node", from->node);
    jw_int(&j, "time_ns", clock_wall().ns);
    jw_str(&j, "version", FP_VERSION);
    verdict_json(&j, "verdict", v, p);
    jw_end(&j);
    buf_u8(b, 0);
}

static struct news_text *news_make(const struct news_from *from, const struct verdict *v,
                                   const struct param_value *p, bool clear)
{
    struct buf json = {0};
    struct news_text *n = xcalloc(1, sizeof *n);
    struct arena *a = &n->arena;
    atomic_init(&n->holders, 1);
    n->text.clear = clear;
    n->text.rule = v->rule->name;
    n->text.subject = arena_printf(a, "Footplate: %s: %s%s", from->run, name_it(v, clear, a),
                                   clear ? " resolved" : "");
    n->text.text = say_it(from, v, clear, a);
    put_json(&json, from, n, v, p);
    n->text.json_len = json.len - 1;
    n->text.json = arena_strndup(a, (const char *)json.p, n->text.json_len);
    buf_free(&json);
    return n;
}

static struct news_text *news_share(struct news_text *n)
{
    atomic_fetch_add(&n->holders, 1);
    return n;
}

static void news_free(struct news_text *n)
{
    if (!n || atomic_fetch_sub(&n->holders, 1) > 1)
        return;
    arena_free(&n->arena);
    free(n);
}

/* ==== the queue ==== */

enum { QUEUE = 64, TRIES = 3, STACK = 512 * 1024 };

/* Between two tries; stopping does not wait for it. */
static const int64_t pauses[TRIES - 1] = {NS_PER_S, 3 * NS_PER_S};

/* One action and what it reports. */
struct item {
    const struct action *action;
    struct news_text *news; /* counted: several actions may share it */
};

/* What the thread and the limit store of an action. */
struct memory {
    mono_ns since; /* of the time that `used` counts; 0: none yet */
    int64_t used;
    bool limit_reported;   /* under the lock */
    bool failed, reported; /* of the thread: the last try failed; a failure was reported */
};

struct actions {
    struct actions_ask ask;
    struct action_means means; /* ask.means, while those exist */
    struct memory *memory;     /* one per action */
    pthread_mutex_t lock;      /* for what follows */
    pthread_cond_t changed;
    struct item queue[QUEUE];
    size_t first, n;
    bool stop;
    bool abandoned; /* sink and means are no longer there */
    pthread_t thread;
    struct thread_end end;
};

/* ---- reporting ---- */

/* The sink remains valid as long as the lock is held. */
static void report(struct actions *a, const struct item *i, const struct err *failure)
{
    const struct news_text *n = i->news;
    pthread_mutex_lock(&a->lock);
    if (!a->abandoned && failure)
        sink_loss(a->ask.sink, LOSS_ACTION, LOST_PART(i->action->label), "%s", failure->msg);
    else if (!a->abandoned)
        sink_mark(a->ask.sink, MARK_ACTION, !n->text.clear, "%s: %s %s", i->action->label,
                  n->text.rule, n->text.clear ? "clear" : "issue");
    pthread_mutex_unlock(&a->lock);
}

static void warn(struct actions *a, const char *line)
{
    pthread_mutex_lock(&a->lock);
    if (!a->abandoned)
        a->ask.warn(a->ask.means.ctx, line);
    pthread_mutex_unlock(&a->lock);
}

static void action_report_failure(struct actions *a, const struct item *i, struct memory *m,
                                  const struct err *e)
{
    char line[768];
    report(a, i, e);
    if (m->reported)
        return;
    m->reported = true;
    snprintf(line, sizeof line,
             "action '%s' failed: %s; the run continues, further failures are not reported",
             i->action->label, e->msg);
    warn(a, line);
}

/* The means of an action. */
static void guarded_stop(void *ctx, const char *rule, int64_t grace_ns)
{
    struct actions *a = ctx;
    pthread_mutex_lock(&a->lock);
    if (!a->abandoned)
        a->ask.means.stop(a->ask.means.ctx, rule, grace_ns);
    pthread_mutex_unlock(&a->lock);
}

static void guarded_report(void *ctx, const char *line)
{
    struct actions *a = ctx;
    pthread_mutex_lock(&a->lock);
    if (!a->abandoned)
        a->ask.means.print(a->ask.means.ctx, line);
    pthread_mutex_unlock(&a->lock);
}

/* ---- performing ---- */

int action_send(const struct action *a, const struct action_means *m, const void *text, size_t n,
                struct err *e)
{
    struct runner_result r;
    TRY(runner_run(m->runner, a->number, text, n, a->timeout_ns, &r, e));
    if (r.timed_out)
        return err_set(e, ERR_NOT_FOUND, "no answer in time");
    return r.status ? err_set(e, ERR_NOT_FOUND, "%.200s", r.output) : 0;
}

/* False: it is time to stop. */
static bool pause_for(struct actions *a, int64_t ns)
{
    return !thread_sleep(&a->stop, &a->lock, &a->changed, mono_add(clock_mono(), ns));
}

static void actions_perform(struct actions *a, const struct item *i)
{
    struct err e;
    struct memory *m = &a->memory[i->action - a->ask.v];
    /* One that failed before gets no second try, so that a dead one does not delay the others. */
    const int tries = i->action->kind->retry && !m->failed ? TRIES : 1;
    int rc = i->action->kind->perform(i->action, &i->news->text, &a->means, &e);
    for (int k = 1; rc != 0 && k < tries && pause_for(a, pauses[k - 1]); k++)
        rc = i->action->kind->perform(i->action, &i->news->text, &a->means, &e);
    m->failed = rc != 0;
    if (rc != 0)
        action_report_failure(a, i, m, &e);
    else
        report(a, i, NULL);
}

static bool actions_next(struct actions *a, struct item *out)
{
    pthread_mutex_lock(&a->lock);
    while (a->n == 0 && !a->stop)
        pthread_cond_wait(&a->changed, &a->lock);
    const bool some = a->n > 0 && !a->abandoned;
    if (some) {
        *out = a->queue[a->first];
        a->first = (a->first + 1) % QUEUE;
        a->n--;
    }
    pthread_mutex_unlock(&a->lock);
    return some;
}

static void *actions_main(void *arg)
{
    struct actions *a = arg;
    struct item i;
    while (actions_next(a, &i)) {
        actions_perform(a, &i);
        news_free(i.news);
    }
    thread_end_set(&a->end);
    return NULL;
}

/* ---- queueing ---- */

/* Whether the action may act once more; reported once when it may not. Under the lock. */
static bool within_limit(struct actions *a, const struct action *act)
{
    struct memory *m = &a->memory[act - a->ask.v];
    const mono_ns now = clock_mono();
    if (act->kind->urgent)
        return true;
    if (m->since.ns == 0 || mono_diff(now, m->since) >= act->per_ns) {
        m->since = now;
        m->used = 0;
    }
    return m->used++ < act->most;
}

static const char *actions_put(struct actions *a, const struct action *act, struct news_text *news)
{
    if (a->stop)
        return "the run has ended";
    if (!within_limit(a, act))
        return "rate limit reached";
    if (a->n == QUEUE)
        return "too many actions are waiting";
    a->queue[(a->first + a->n++) % QUEUE] = (struct item){act, news_share(news)};
    return NULL;
}

static void actions_enqueue(struct actions *a, const struct action *act, struct news_text *news)
{
    struct memory *m = &a->memory[act - a->ask.v];
    pthread_mutex_lock(&a->lock);
    const char *why = actions_put(a, act, news);
    const bool report = why && !m->limit_reported;
    m->limit_reported |= report;
    pthread_mutex_unlock(&a->lock);
    pthread_cond_signal(&a->changed);
    if (why)
        sink_loss(a->ask.sink, LOSS_ACTION, LOST_PART(act->label), "%s", why);
    if (report) {
        char line[256];
        snprintf(line, sizeof line, "action '%s' is disabled: %s", act->label, why);
        warn(a, line);
    }
}

void actions_news(struct actions *a, const struct verdict *v, enum rule_state state_before,
                  enum severity severity_before, const struct param_value *p)
{
    const struct news_from from = {a->ask.run, a->ask.run_id, a->ask.node};
    struct news_text *news[2] = {NULL, NULL}; /* by `clear` */
    for (size_t i = 0; i < a->ask.n; i++) {
        bool clear;
        if (!action_is_for(&a->ask.v[i], v, state_before, severity_before, &clear))
            continue;
        if (!news[clear])
            news[clear] = news_make(&from, v, p, clear);
        actions_enqueue(a, &a->ask.v[i], news[clear]);
    }
    news_free(news[0]);
    news_free(news[1]);
}

/* ---- start and end ---- */

static void free_all(struct actions *a)
{
    for (; a->n > 0; a->n--, a->first = (a->first + 1) % QUEUE)
        news_free(a->queue[a->first].news);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    free(a->memory);
    free(a);
}

int actions_start(struct actions **out, const struct actions_ask *ask, struct err *e)
{
    struct actions *a = xcalloc(1, sizeof *a);
    a->ask = *ask;
    a->means = (struct action_means){guarded_stop, guarded_report, a, ask->means.runner};
    a->memory = xcalloc(MAX_OF(ask->n, (size_t)1), sizeof *a->memory);
    pthread_mutex_init(&a->lock, NULL);
    thread_cond_init(&a->changed);
    thread_end_init(&a->end);
    const int rc = thread_start(&a->thread, STACK, actions_main, a, "fp-actions", e);
    if (rc) {
        free_all(a);
        return rc;
    }
    *out = a;
    return 0;
}

bool actions_stop(struct actions *a, int64_t wait_ns)
{
    if (!a)
        return true;
    thread_set_flag(&a->stop, &a->lock, &a->changed);
    if (thread_end_wait(&a->end, wait_ns)) {
        pthread_join(a->thread, NULL);
        free_all(a);
        return true;
    }
    pthread_mutex_lock(&a->lock);
    a->abandoned = true;
    const struct action *act = a->ask.v;
    sink_loss(a->ask.sink, LOSS_ACTION, LOST_PART(act->kind->name),
              "not finished when the run ended");
    pthread_mutex_unlock(&a->lock);
    pthread_detach(a->thread);
    return false;
}
