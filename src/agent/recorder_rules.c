/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_rules.c - rules and actions while the run lives. The rules' thread and the actions'
 * thread call in here; what concerns the job is handed to the loop. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/recorder_internal.h"
#include "base/mem.h"
#include "record/record.h"
#include "rules/findings_file.h"
#include "run/rundir.h"
#include "store/writer.h"

/* For what the actions still have to do when the run is over. */
#define ACTIONS_END_NS (10 * NS_PER_S)

/* ---- what the rules say ---- */

/* A finding is news; that there is nothing to say is none. */
static void tell_change(struct recorder *r, const struct verdict *v, enum rule_state before)
{
    const bool issue = v->state == RULE_ISSUE;
    if (issue == (before == RULE_ISSUE))
        return;
    sink_mark(writer_sink(r->writer), MARK_RULE, issue, "%s: %s", v->rule->name,
              issue ? v->findings[0].message : "resolved");
    if (r->judging_last)
        return;
    if (issue)
        recorder_say(r, "%s: %s (%s)", v->rule->title, v->findings[0].message, v->rule->name);
    else
        recorder_say(r, "%s: resolved (%s)", v->rule->title, v->rule->name);
}

static void on_verdict(void *ctx, const struct verdict *v, const struct param_value *p,
                       const struct rule_seen *before)
{
    struct recorder *r = ctx;
    tell_change(r, v, before->state);
    if (r->actions)
        actions_news(r->actions, v, before->state, before->severity, p);
}

/* Where several nodes share the folder, none of them knows what all of them would say. */
static void on_judged(void *ctx, const struct verdicts *v, const struct hosted *own, size_t n_own)
{
    const struct recorder *r = ctx;
    struct err ignored;
    if (rundir_is_only_node(&r->dir))
        (void)!findings_write(r->dir.path, v, &r->rules, own, n_own, &ignored);
}

static void on_failed(void *ctx, const char *why)
{
    recorder_warn(ctx, "custom rules are no longer evaluated: %s", why);
}

/* ---- what the actions need ---- */

static void on_stop(void *ctx, const char *rule, int64_t grace_ns)
{
    struct recorder *r = ctx;
    pthread_mutex_lock(&r->ending.lock);
    r->ending.rule = rule;
    r->ending.rule_grace_ns = grace_ns;
    pthread_mutex_unlock(&r->ending.lock);
    (void)!eventfd_write(r->rule_fd, 1);
}

static void on_output(void *ctx, const char *line)
{
    recorder_say(ctx, "%s", line);
}

static void on_warning(void *ctx, const char *line)
{
    recorder_warn(ctx, "%s", line);
}

void recorder_take_rules(struct recorder *r)
{
    eventfd_t n;
    char why[TEXT_LEN];
    (void)!eventfd_read(r->rule_fd, &n);
    pthread_mutex_lock(&r->ending.lock);
    const char *rule = r->ending.rule;
    const int64_t grace_ns = r->ending.rule_grace_ns;
    r->ending.rule = NULL;
    pthread_mutex_unlock(&r->ending.lock);
    if (!rule || r->ending.stop_asked || r->ended)
        return;
    snprintf(why, sizeof why, "stopped by rule %s", rule);
    recorder_warn(r, "%s: SIGTERM sent; SIGKILL follows after %g s", why, (double)grace_ns / 1e9);
    recorder_stop_job(r, why, grace_ns);
    flusher_poke_now(&r->flusher, clock_mono());
}

/* ---- start ---- */

void recorder_start_runner(struct recorder *r)
{
    const struct record_ask *ask = r->ask;
    struct runner_task *tasks = arena_array(&r->arena, struct runner_task, ask->n_actions + 1);
    struct err e;
    bool any = false;
    for (size_t i = 0; i < ask->n_actions; i++) {
        const struct action *a = &ask->actions[i];
        tasks[i] = (struct runner_task){a->command, a->kind->send, a};
        any |= a->command || a->kind->send;
    }
    if (any && !ask->no_rules && runner_start(&r->runner, tasks, ask->n_actions, &e) != 0)
        recorder_warn(r, "actions will not run: %s", e.msg);
    if (ask->own.judge && !ask->no_rules && ownrules_start(&r->own, &ask->own, &e) != 0)
        recorder_warn(r, "custom rules are evaluated only at the end: %s", e.msg);
}

static void start_actions(struct recorder *r)
{
    struct err e;
    const struct actions_ask ask = {
        .v = r->ask->actions,
        .n = r->ask->n_actions,
        .run = r->name,
        .run_id = r->dir.id,
        .node = r->dir.node_id,
        .sink = r->sink,
        .means = {on_stop, on_output, r, r->runner},
        .warn = on_warning,
    };
    if (ask.n == 0)
        return;
    r->rule_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (actions_start(&r->actions, &ask, &e))
        recorder_warn(r, "actions are disabled: %s", e.msg);
}

static void recorder_rules_take_params(struct recorder *r)
{
    if (r->ask->rules)
        r->rules = *r->ask->rules;
    else
        rule_params_init(&r->rules, &r->arena);
}

void recorder_start_rules(struct recorder *r, const struct hostinfo *host)
{
    struct err e;
    if (r->ask->no_rules)
        return;
    recorder_rules_take_params(r);
    start_actions(r);
    const struct insight_ask ask = {
        .params = &r->rules,
        .facts =
            {
                .id = r->dir.node_id,
                .cores = host->cores,
                .memory_bytes = (int64_t)host->memory_bytes,
                .price_per_hour = r->ask->price_per_hour > 0 ? r->ask->price_per_hour : NAN,
                .currency = r->ask->currency,
                .first = r->start.wall,
                .period_ns = r->interval_ns,
            },
        .tie = r->start,
        .scan_ns = r->ask->scan_ns ? r->ask->scan_ns : SCAN_NS,
        .own = r->own,
        .folder = r->dir.path,
        .changed = on_verdict,
        .judged = on_judged,
        .failed = on_failed,
        .ctx = r,
    };
    if (insight_open(&r->insight, &ask, r->sink, &e)) {
        recorder_warn(r, "rules are not evaluated during the run: %s", e.msg);
        return;
    }
    r->sink = insight_sink(r->insight);
}

/* ---- end ---- */

/* A runner whose answer a thread still waits for is left to it. */
static bool stop_actions(struct recorder *r, int64_t wait_ns)
{
    const bool done = actions_stop(r->actions, wait_ns);
    r->actions = NULL;
    if (done)
        runner_stop(r->runner);
    r->runner = NULL;
    if (done && r->rule_fd >= 0)
        close(r->rule_fd);
    r->rule_fd = -1;
    return done;
}

static void end_insight(struct recorder *r)
{
    r->sink = writer_sink(r->writer);
    insight_free(r->insight);
    r->insight = NULL;
    ownrules_stop(r->own);
    r->own = NULL;
}

void recorder_end_rules(struct recorder *r, struct record_result *out)
{
    insight_stop(r->insight);
    r->judging_last = true;
    insight_finish(r->insight);
    end_insight(r);
    out->actions_hang = !stop_actions(r, ACTIONS_END_NS);
}

void recorder_forget_rules(struct recorder *r)
{
    insight_stop(r->insight);
    insight_free(r->insight);
    r->insight = NULL;
    ownrules_stop(r->own);
    stop_actions(r, NS_PER_S);
}
