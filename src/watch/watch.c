/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - see watch.h. The main thread handles messages of the recorder, a thread evaluates the
 * rules; actions and detail windows have a thread each. */
#include "watch/watch.h"

#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "record/record.h"
#include "rules/feed_run.h"
#include "run/rundir.h"

enum { STACK = 1 << 20, PRIORITY = 10, USER_RULES_MOST = 256 };

/* For what the actions still have to do when the run is over. */
#define ACTIONS_END_NS (10 * NS_PER_S)
/* CPU time that an evaluation may take at the usual interval. */
static const double CPU_S = 0.06;

/* The last result of a rule. */
struct rule_seen {
    bool known; /* else it was never evaluated */
    enum rule_state state;
    enum severity severity; /* of an issue */
};

/* Survives a crash, so that nothing is reported twice. */
struct watch_memory {
    struct rule_seen builtin[RULE_N];
    struct {
        uint64_t name; /* a hash of it; 0: free */
        struct rule_seen seen;
    } user[USER_RULES_MOST];
};

static_assert(sizeof(struct watch_memory) <= HELPER_MEMORY, "helper.h provides the memory");

struct watch {
    struct sink sink; /* first, so that it is the whole: marks and losses become messages */
    const struct helper_task *task;
    const struct watch_ask *ask;
    struct watch_memory *memory;
    struct evaluation *evaluation; /* of the rules, over all that was read so far */
    struct run *run;               /* as it was evaluated last; NULL: it was not, or failed */
    struct details *details;       /* NULL: there are none */
    struct actions *actions;       /* the same */
    struct runner *runner;         /* the same */
    bool last;        /* the job has ended: the final result is printed by the recorder's process */
    bool failed;      /* that an evaluation failed was reported */
    bool user_failed; /* the same of the user rules */
    pthread_t thread; /* evaluates */
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop; /* under the lock */
};

/* ---- messages ---- */

PRINTF_LIKE(3, 4)
static void watch_line(struct watch *w, enum helper_kind kind, const char *fmt, ...)
{
    struct helper_message m = {.kind = kind};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m.text, sizeof m.text, fmt, ap);
    va_end(ap);
    (void)!helper_report(w->task, &m);
}

static void watch_on_loss(struct sink *s, const struct loss *l)
{
    const struct watch *w = (struct watch *)s;
    const struct helper_message m = {.kind = HELPER_LOSS, .loss = *l};
    (void)!helper_report(w->task, &m);
}

static void watch_on_mark(struct sink *s, const struct mark *k)
{
    const struct watch *w = (struct watch *)s;
    const struct helper_message m = {.kind = HELPER_MARK, .mark = *k};
    (void)!helper_report(w->task, &m);
}

static const struct sink_ops watch_ops = {.loss = watch_on_loss, .mark = watch_on_mark};

/* ---- what the actions need ---- */

static void watch_on_stop(void *ctx, const char *rule, int64_t grace_ns)
{
    struct watch *w = ctx;
    struct helper_message m = {.kind = HELPER_STOP, .stop = {.grace_ns = grace_ns}};
    snprintf(m.stop.rule, sizeof m.stop.rule, "%s", rule);
    (void)!helper_report(w->task, &m);
}

static void watch_on_output(void *ctx, const char *line)
{
    watch_line(ctx, HELPER_SAY, "%s", line);
}

static void watch_on_warning(void *ctx, const char *line)
{
    watch_line(ctx, HELPER_WARN, "%s", line);
}

/* First of all, while there is one thread. A runner is made when an action needs it. */
static void watch_start_runner(struct watch *w, struct arena *a)
{
    const struct watch_ask *ask = w->ask;
    struct runner_task *tasks = arena_array(a, struct runner_task, ask->n_actions + 1);
    struct err e;
    bool any = false;
    for (size_t i = 0; i < ask->n_actions; i++) {
        const struct action *x = &ask->actions[i];
        tasks[i] = (struct runner_task){x->command, x->kind->send, x};
        any |= x->command || x->kind->send;
    }
    if (any && runner_start(&w->runner, tasks, ask->n_actions, &e) != 0)
        watch_line(w, HELPER_WARN, "actions will not run: %s", e.msg);
}

static void watch_start_actions(struct watch *w)
{
    const struct helper_begin *b = &w->task->begin;
    struct err e;
    const struct actions_ask ask = {
        .v = w->ask->actions,
        .n = w->ask->n_actions,
        .run = b->name,
        .run_id = b->dir.id,
        .node = b->dir.node_id,
        .sink = &w->sink,
        .means = {watch_on_stop, watch_on_output, w, w->runner},
        .warn = watch_on_warning,
    };
    if (ask.n && actions_start(&w->actions, &ask, &e))
        watch_line(w, HELPER_WARN, "actions are disabled: %s", e.msg);
}

/* ---- results that change ---- */

/* NULL: there are too many rules to follow them all. */
static struct rule_seen *watch_user_rule(struct watch_memory *m, const char *name)
{
    const uint64_t hash = hash_more(HASH_BEGIN, name, strlen(name)), h = MAX_OF(hash, UINT64_C(1));
    for (size_t i = 0; i < USER_RULES_MOST; i++) {
        if (m->user[i].name == 0)
            m->user[i].name = h;
        if (m->user[i].name == h)
            return &m->user[i].seen;
    }
    return NULL;
}

/* An issue, and its end, are reported; that there is none is not. */
static void watch_report(struct watch *w, const struct verdict *v, enum rule_state before)
{
    const bool issue = v->state == RULE_ISSUE;
    if (issue == (before == RULE_ISSUE))
        return;
    sink_mark(&w->sink, MARK_RULE, issue, "%s: %s", v->rule->name,
              issue ? v->findings[0].message : "resolved");
    if (w->last)
        return;
    watch_line(w, HELPER_SAY, "%s: %s (%s)", v->rule->title,
               issue ? v->findings[0].message : "resolved", v->rule->name);
}

static void watch_compare(struct watch *w, const struct verdict *v, const struct param_value *p,
                          struct rule_seen *seen)
{
    const struct rule_seen before =
        seen->known ? *seen : (struct rule_seen){.state = RULE_NOT_EVALUATED};
    *seen = (struct rule_seen){true, v->state, v->severity};
    if (before.state == v->state && (v->state != RULE_ISSUE || before.severity == v->severity))
        return;
    watch_report(w, v, before.state);
    if (w->actions)
        actions_news(w->actions, v, before.state, before.severity, p);
}

/* ---- evaluating ---- */

/* What the rules found. */
struct watch_results {
    struct checked checked;
    struct hosted *user;
    size_t n_user;
};

/* A failure costs the results of the user rules only, and is reported once. */
static void watch_check_user_rules(struct watch *w, struct run *r, bool alone, struct arena *a,
                                   struct watch_results *out)
{
    struct run *all = NULL;
    struct err e;
    if (!w->ask->check_user_rules)
        return;
    int rc = alone ? 0 : run_open(&all, w->task->begin.dir.path, &e);
    if (rc == 0)
        rc = w->ask->check_user_rules(w->ask->user_rules, alone ? r : all, a, &out->user,
                                      &out->n_user, &e);
    run_close(all);
    if (rc == 0)
        return;
    out->n_user = 0;
    if (!w->user_failed)
        watch_line(w, HELPER_WARN, "custom rules could not be evaluated during the run: %s", e.msg);
    w->user_failed = true;
}

/* Built-in rules see this node, rules of the user see all nodes. */
static int watch_check(struct watch *w, bool alone, struct arena *a, struct watch_results *out,
                       struct err *e)
{
    const struct rundir *dir = &w->task->begin.dir;
    int rc = run_open_next(&w->run, dir->path, dir->node_id, e);
    if (rc == 0)
        rc = evaluation_run(
            w->evaluation, w->run,
            &(struct check_ask){.params = &w->ask->params, .pricing = &(struct pricing){0}}, a,
            &out->checked, e);
    if (rc == 0)
        watch_check_user_rules(w, w->run, alone, a, out);
    return rc;
}

/* Where several nodes share the folder, none of them knows the results of all. When the recorder
 * has ended, the final results have been written already. */
static void watch_use(struct watch *w, bool alone, const struct watch_results *x)
{
    const struct verdicts *v = &x->checked.verdicts;
    struct err ignored;
    for (size_t k = 0; k < RULE_N; k++)
        watch_compare(w, &v->v[k], w->ask->params.v[k], &w->memory->builtin[k]);
    for (size_t i = 0; i < x->n_user; i++) {
        struct rule_seen *seen = watch_user_rule(w->memory, x->user[i].v.rule->name);
        if (seen)
            watch_compare(w, &x->user[i].v, x->user[i].p, seen);
    }
    if (alone && !helper_is_alone(w->task))
        (void)!findings_write(w->task->begin.dir.path, v, &w->ask->params, x->user, x->n_user,
                              &ignored);
}

static void watch_evaluate(struct watch *w)
{
    struct arena a = {0};
    struct err e;
    struct watch_results *x = arena_new(&a, struct watch_results);
    const bool alone = rundir_is_only_node(&w->task->begin.dir);
    const int rc = watch_check(w, alone, &a, x, &e);
    if (rc == 0)
        watch_use(w, alone, x);
    else if (!w->failed)
        watch_line(w, HELPER_WARN, "the rules could not be evaluated during the run: %s", e.msg);
    w->failed |= rc != 0;
    arena_free(&a);
    malloc_trim(0);
}

/* ---- the thread that evaluates ---- */

int64_t watch_interval(int64_t scan_ns, double cpu_s)
{
    return (int64_t)((double)scan_ns * MAX_OF(cpu_s / CPU_S, 1.0));
}

/* Of this process, and of those that evaluated rules in Python and have ended. */
static double watch_cpu_s(void)
{
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
                    children.ru_stime.tv_sec) +
           (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
                    children.ru_stime.tv_usec) /
               1e6;
}

static void *watch_rules_main(void *arg)
{
    struct watch *w = arg;
    const int64_t scan_ns = w->ask->scan_ns ? w->ask->scan_ns : SCAN_NS;
    mono_ns next = mono_add(clock_mono(), scan_ns);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), PRIORITY); /* this thread's alone */
    while (!thread_sleep(&w->stop, &w->lock, &w->changed, next)) {
        const mono_ns began = clock_mono();
        const double before = watch_cpu_s();
        watch_evaluate(w);
        next = mono_add(began, watch_interval(scan_ns, watch_cpu_s() - before));
    }
    return NULL;
}

static void watch_start_rules(struct watch *w)
{
    struct err e;
    if (w->ask->no_rules)
        return;
    watch_start_actions(w);
    w->started = thread_start(&w->thread, STACK, watch_rules_main, w, "fp-rules", &e) == 0;
    if (!w->started)
        watch_line(w, HELPER_WARN, "rules are not evaluated during the run: %s", e.msg);
}

static void watch_stop_rules(struct watch *w)
{
    if (!w->started)
        return;
    thread_set_flag(&w->stop, &w->lock, &w->changed);
    pthread_join(w->thread, NULL);
    w->started = false;
}

/* ---- requests of the recorder ---- */

static void watch_open_details(struct watch *w)
{
    const struct helper_begin *b = &w->task->begin;
    if (!*b->rings)
        return;
    w->details =
        details_open(&(struct details_ask){b->rings, b->dir.node_path, b->session, &w->sink});
    if (w->task->again)
        details_look(w->details);
}

static void watch_convert(struct watch *w)
{
    details_close(w->details);
    w->details = NULL;
    (void)!helper_report(w->task, &(struct helper_message){.kind = HELPER_CONVERTED});
}

/* What is still at work after ACTIONS_END_NS ends with this process. */
static void watch_end(struct watch *w)
{
    struct helper_message m = {.kind = HELPER_DONE, .cost = {.run_s = watch_cpu_s()}};
    watch_stop_rules(w);
    w->last = true;
    if (!w->ask->no_rules)
        watch_evaluate(w);
    if (actions_stop(w->actions, ACTIONS_END_NS))
        runner_stop(w->runner);
    m.cost.all_s = watch_cpu_s();
    (void)!helper_report(w->task, &m);
}

void watch_main(const struct helper_task *t, void *ctx)
{
    struct watch w = {.sink = {&watch_ops}, .task = t, .ask = ctx, .memory = t->memory};
    struct arena a = {0};
    struct helper_message m = {.kind = HELPER_LOOK};
    pthread_mutex_init(&w.lock, NULL);
    thread_cond_init(&w.changed);
    if (!w.ask->no_rules) {
        w.evaluation = evaluation_open();
        watch_start_runner(&w, &a);
    }
    watch_open_details(&w);
    watch_start_rules(&w);
    while (helper_next(t, &m) && m.kind != HELPER_END)
        if (m.kind == HELPER_LOOK && w.details)
            details_look(w.details);
        else if (m.kind == HELPER_CONVERT)
            watch_convert(&w);
    if (m.kind == HELPER_END)
        watch_end(&w);
    watch_stop_rules(&w);
    evaluation_close(w.evaluation);
    run_close(w.run);
    arena_free(&a);
}
