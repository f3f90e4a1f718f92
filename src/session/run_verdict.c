/* SPDX-License-Identifier: Apache-2.0 */
/* run_verdict.c - see run_verdict.h. */
#include "session/run_verdict.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cost/machines.h"
#include "query/run.h"
#include "report/report.h"
#include "rules/rightsize_advise.h"
#include "rules/verdict_json.h"
#include "tables/runview.h"
#include "tables/stepsview.h"
#include "tables/verdict_words.h"
#include "userrules/user_rules.h"

enum { LIMIT_MS = 10000, ISSUES_MOST = 3 };

/* Verdicts of the user's rules, and the machines that would do. */
struct run_verdict_user {
    struct hosted *v;
    size_t n;
    const struct right_size *right_size; /* NULL: none is proposed */
    struct run_steps steps;              /* all of them, read once */
};

/* ---- the lines ---- */

struct run_verdict_printing {
    const struct run_verdict_ask *ask;
    const struct checked *checked;
    const struct run_verdict_user *own;
    struct arena *arena;
    const struct run_info *info;
    const char *no_steps; /* why, and what to do; NULL: there are steps, or it is said elsewhere */
};

static void run_verdict_line(const struct run_verdict_printing *t, const char *line)
{
    t->ask->tell(NULL, line);
}

static size_t run_verdict_of_state(const struct run_verdict_printing *t, enum rule_state state,
                                   const struct verdict ***out)
{
    size_t n = 0;
    *out = arena_array(t->arena, const struct verdict *, RULE_N + t->own->n);
    for (size_t k = 0; k < RULE_N; k++) {
        const struct verdict *v = &t->checked->verdicts.v[k];
        if (v->state == state && verdict_counts(v))
            (*out)[n++] = v;
    }
    for (size_t i = 0; i < t->own->n; i++)
        if (t->own->v[i].v.state == state)
            (*out)[n++] = &t->own->v[i].v;
    return n;
}

static void run_verdict_print_issue(const struct run_verdict_printing *t, const struct verdict *v)
{
    struct buf size = {0};
    const struct finding *f = &v->findings[0];
    const bool several = t->checked->n_nodes > 1 && *f->node;
    const char *more =
        v->n_findings > 1 ? arena_printf(t->arena, " (and %zu more)", v->n_findings - 1) : "";
    verdict_size_words(&size, v, t->checked->run.has_steps);
    /* A rule of the user's own has no title. */
    const char *rule = v->rule->custom
                           ? arena_printf(t->arena, "%s (", v->rule->name)
                           : arena_printf(t->arena, "%s (%s, ", v->rule->title, v->rule->name);
    run_verdict_line(t, arena_printf(t->arena, "  %s%.*s): %s%s%s%s", rule, (int)size.len,
                                     (const char *)size.p, several ? f->node : "",
                                     several ? ": " : "", f->message, more));
    const char *advice = f->advice ? f->advice : v->rule->recommendation;
    const char *cause = verdict_explained_by(v);
    if (cause)
        run_verdict_line(t, arena_printf(t->arena, "    explained by %s: fix that first", cause));
    else if (*advice)
        run_verdict_line(t, arena_printf(t->arena, "    fix: %s", advice));
    buf_free(&size);
}

static void run_verdict_print_issues(const struct run_verdict_printing *t, const struct verdict **v,
                                     size_t n)
{
    verdicts_worst_first(v, n);
    run_verdict_line(t, "Issues found:");
    for (size_t i = 0; i < MIN_OF(n, (size_t)ISSUES_MOST); i++)
        run_verdict_print_issue(t, v[i]);
    if (n > ISSUES_MOST)
        run_verdict_line(t, arena_printf(t->arena,
                                         "  and %zu more; run 'footplate check last' to see all",
                                         n - ISSUES_MOST));
}

static size_t run_verdict_count_of(const struct verdict *const *v, size_t n, const char *why)
{
    size_t same = 0;
    for (size_t i = 0; i < n; i++)
        same += strcmp(v[i]->why, why) == 0;
    return same;
}

/* The reason that most of them have, leaving one out; NULL: there is no other. */
static const char *usual_reason(const struct verdict *const *v, size_t n, const char *but)
{
    const char *best = NULL;
    for (size_t i = 0; i < n; i++)
        if ((!but || strcmp(v[i]->why, but) != 0) &&
            (!best || run_verdict_count_of(v, n, v[i]->why) > run_verdict_count_of(v, n, best)))
            best = v[i]->why;
    return best;
}

/* The two that most of them have. */
static const char *usual_reasons(const struct run_verdict_printing *t,
                                 const struct verdict *const *v, size_t n)
{
    const char *first = usual_reason(v, n, NULL);
    const char *second = first ? usual_reason(v, n, first) : NULL;
    return second ? arena_printf(t->arena, "%s; %s", first, second) : first ? first : "";
}

static void run_verdict_print_no_issue(const struct run_verdict_printing *t,
                                       const struct verdict *const *not_evaluated, size_t n_not,
                                       size_t n_clear)
{
    const char *why = usual_reasons(t, not_evaluated, n_not);
    const char *none = verdict_none_words(t->info);
    if (n_clear == 0 && !t->checked->run.has_steps)
        run_verdict_line(t, arena_printf(t->arena, "No rules ran: %s",
                                         t->no_steps ? "no training steps were detected"
                                                     : steps_none_words(t->info)));
    else if (n_clear == 0)
        run_verdict_line(t, arena_printf(t->arena, "No rules ran: %s", why));
    else if (n_not == 0)
        run_verdict_line(t, arena_printf(t->arena, "%s (%zu rule%s passed)", none, n_clear,
                                         n_clear == 1 ? "" : "s"));
    else
        run_verdict_line(t, arena_printf(t->arena, "%s (%zu rule%s passed, %zu skipped: %s)", none,
                                         n_clear, n_clear == 1 ? "" : "s", n_not, why));
}

static void run_verdict_print_all(const struct run_verdict_printing *t)
{
    const struct verdict **issues, **clear, **not_evaluated;
    const size_t n = run_verdict_of_state(t, RULE_ISSUE, &issues),
                 n_clear = run_verdict_of_state(t, RULE_CLEAR, &clear),
                 n_not = run_verdict_of_state(t, RULE_NOT_EVALUATED, &not_evaluated);
    const char *ending = runview_ending(t->info, t->arena);
    if (ending)
        run_verdict_line(t, ending);
    if (n > 0)
        run_verdict_print_issues(t, issues, n);
    else
        run_verdict_print_no_issue(t, not_evaluated, n_not, n_clear);
    if (t->own->right_size)
        run_verdict_line(t, arena_printf(t->arena, "Right-sizing: %s", t->own->right_size->why));
    if (t->no_steps)
        run_verdict_line(t, t->no_steps);
}

/* ---- the process ---- */

static int run_verdict_judge_user(const struct run_verdict_ask *ask, struct run *r,
                                  struct checked *c, struct arena *a, struct run_verdict_user *out,
                                  struct err *e)
{
    struct machines table;
    const int rc = user_rules_check(ask->own, r, a, &out->v, &out->n, e);
    /* Without a price, right-sizing after every run would be noise. */
    if (rc == 0 && c->n_nodes && !isnan(c->nodes[0].price_per_hour) &&
        machines_load(&table, NULL, a, e) == 0)
        out->right_size = rightsize_advise(c, &table, a);
    return rc;
}

/* A failure is only reported: the verdicts are valid without the report. */
static void run_verdict_write_report(const struct run_verdict_ask *ask, struct run *r,
                                     const struct checked *c, const struct run_verdict_user *own,
                                     struct arena *a)
{
    const struct report_ask wish = {.checked = c,
                                    .params = &ask->params,
                                    .own = own->v,
                                    .n_own = own->n,
                                    .ranks = own->steps.ranks,
                                    .n_ranks = own->steps.n_ranks,
                                    .named = own->steps.named,
                                    .n_named = own->steps.n_named,
                                    .right_size = own->right_size};
    struct report *report;
    struct err e;
    int rc = report_read(&report, r, &wish, a, &e);
    if (rc == 0)
        rc = report_write(report, ask->path, &e);
    if (rc != 0)
        ask->tell(NULL, arena_printf(a, "could not write the report: %s", e.msg));
    else if (!ask->quiet)
        ask->tell(NULL, arena_printf(a, "report: %s/report.html", ask->path));
}

static int run_verdict_judge(const struct run_verdict_ask *ask, struct arena *a, struct err *e)
{
    struct run *r = NULL;
    struct checked *c = arena_new(a, struct checked);
    struct run_verdict_user *own = arena_new(a, struct run_verdict_user);
    const struct pricing unpriced = {0}; /* as the run itself says */
    int rc = run_open(&r, ask->path, e);
    if (rc == 0)
        rc = rules_read_steps(r, a, &own->steps, e);
    if (rc == 0)
        rc = rules_check_steps(r, &(struct check_ask){&ask->params, &unpriced, &own->steps}, a, c,
                               e);
    if (rc == 0)
        rc = run_verdict_judge_user(ask, r, c, a, own, e);
    const char *no_steps = NULL;
    if (rc == 0 && !ask->quiet && !c->run.has_steps && !runview_attached(run_get_info(r)))
        rc = steps_none_line(r, a, &no_steps, e);
    if (rc == 0 && !ask->quiet)
        run_verdict_print_all(
            &(struct run_verdict_printing){ask, c, own, a, run_get_info(r), no_steps});
    if (rc == 0)
        rc = findings_write(ask->path, &c->verdicts, &ask->params, own->v, own->n, e);
    if (rc == 0 && ask->report)
        run_verdict_write_report(ask, r, c, own, a);
    run_close(r);
    return rc;
}

static _Noreturn void run_verdict_child(const struct run_verdict_ask *ask)
{
    struct arena a = {0};
    struct err e;
    if (run_verdict_judge(ask, &a, &e) != 0)
        ask->tell(NULL, arena_printf(&a, "could not evaluate the rules: %s", e.msg));
    _exit(0);
}

/* Ctrl-C and the like end the other process, not this one: the job's exit status is still to be
 * passed on. */
static const int withstood[] = {SIGINT, SIGTERM, SIGHUP};

static bool is_withstood(int sig)
{
    for (size_t i = 0; i < COUNT_OF(withstood); i++)
        if (withstood[i] == sig)
            return true;
    return false;
}

/* Waits for its end, which closes the pipe. */
static void run_verdict_wait_for(pid_t pid, int fd, const struct run_verdict_ask *ask)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int status = 0;
    int n;
    do
        n = poll(&p, 1, LIMIT_MS);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (n == 0)
        ask->tell(NULL, "evaluating the rules took too long; run 'footplate check last'");
    else if (WIFSIGNALED(status) && !is_withstood(WTERMSIG(status)))
        ask->tell(NULL, "could not evaluate the rules: their process was killed");
}

static void run_verdict_fork(const struct run_verdict_ask *ask, int fd[2],
                             const struct sigaction *before)
{
    const pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        for (size_t i = 0; i < COUNT_OF(withstood); i++)
            sigaction(withstood[i], &before[i], NULL);
        run_verdict_child(ask);
    }
    close(fd[1]);
    if (pid > 0)
        run_verdict_wait_for(pid, fd[0], ask);
    close(fd[0]);
}

void run_verdict(const struct run_verdict_ask *ask)
{
    int fd[2];
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before[COUNT_OF(withstood)];
    if (pipe(fd) < 0)
        return;
    fflush(NULL);
    for (size_t i = 0; i < COUNT_OF(withstood); i++)
        sigaction(withstood[i], &ignore, &before[i]);
    run_verdict_fork(ask, fd, before);
    for (size_t i = 0; i < COUNT_OF(withstood); i++)
        sigaction(withstood[i], &before[i], NULL);
}
