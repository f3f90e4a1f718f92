/* SPDX-License-Identifier: Apache-2.0 */
/* run_verdict.c - see session.h. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "cost/machines.h"
#include "query/run.h"
#include "report/report.h"
#include "rules/feed_run.h"
#include "rules/verdict_json.h"
#include "session/session.h"
#include "tables/runview.h"
#include "tables/stepsview.h"
#include "tables/summary.h"
#include "userrules/user_rules.h"

enum { LIMIT_MS = 10000 };

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
};

static void run_verdict_line(const struct run_verdict_printing *t, const char *line)
{
    t->ask->print(NULL, line);
}

static int run_verdict_print_all(const struct run_verdict_printing *t, struct run *r, struct err *e)
{
    const struct run_verdict_user *own = t->own;
    const char *lines[SUMMARY_LINES];
    struct show show;
    TRY(show_read_named(&show, r, &own->steps, t->arena, e));
    const size_t n = summary_lines(
        &(struct summary_ask){&show, t->checked, own->v, own->n,
                              t->ask->address
                                  ? arena_printf(t->arena, "footplate show %s", t->ask->address)
                                  : "footplate show last, footplate check last, footplate serve"},
        lines);
    for (size_t i = 0; i < n; i++)
        run_verdict_line(t, lines[i]);
    if (own->right_size)
        run_verdict_line(t, arena_printf(t->arena, "Right-sizing: %s", own->right_size->why));
    return 0;
}

/* What is not seen, and what to do: the last line of a run. */
static int run_verdict_print_no_steps(const struct run_verdict_printing *t, struct run *r,
                                      struct err *e)
{
    const char *none;
    if (t->checked->run.has_steps || runview_attached(t->info))
        return 0;
    TRY(steps_none_line(r, t->arena, &none, e));
    run_verdict_line(t, none);
    return 0;
}

/* ---- the process ---- */

static int run_verdict_judge_user(const struct run_verdict_ask *ask, struct run *r,
                                  struct checked *c, struct arena *a, struct run_verdict_user *out,
                                  struct err *e)
{
    struct machines table;
    const int rc = user_rules_check(ask->own, NULL, r, a, &out->v, &out->n, e);
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
        ask->print(NULL, arena_printf(a, "could not write the report: %s", e.msg));
    else if (!ask->quiet && !ask->address)
        ask->print(NULL, arena_printf(a, "report: %s/report.html", ask->path));
}

static int run_verdict_judge(const struct run_verdict_ask *ask, struct arena *a, struct err *e)
{
    struct run *r = NULL;
    struct checked *c = arena_new(a, struct checked);
    struct run_verdict_user *own = arena_new(a, struct run_verdict_user);
    const struct pricing unpriced = {0}; /* as recorded in the run */
    TRY(run_open(&r, ask->path, e));
    TRY(rules_read_steps(r, a, &own->steps, e));
    TRY(rules_check_steps(r, &(struct check_ask){&ask->params, &unpriced, &own->steps}, a, c, e));
    TRY(run_verdict_judge_user(ask, r, c, a, own, e));
    const struct run_verdict_printing printing = {ask, c, own, a, run_get_info(r)};
    if (!ask->quiet)
        TRY(run_verdict_print_all(&printing, r, e));
    TRY(findings_write(ask->path, &c->verdicts, &ask->params, own->v, own->n, e));
    if (ask->report)
        run_verdict_write_report(ask, r, c, own, a);
    if (!ask->quiet)
        TRY(run_verdict_print_no_steps(&printing, r, e));
    return 0; /* the process ends now: nothing is closed */
}

static _Noreturn void run_verdict_child(const struct run_verdict_ask *ask)
{
    struct arena a = {0};
    struct err e;
    if (run_verdict_judge(ask, &a, &e) != 0)
        ask->print(NULL, arena_printf(&a, "could not evaluate the rules: %s", e.msg));
    _exit(0);
}

/* Ctrl-C and the like end the other process, not this one: the job's exit status is still to be
 * passed on. */
static const int withstood[] = {SIGINT, SIGTERM, SIGHUP};

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
        ask->print(NULL, "evaluating the rules took too long; run 'footplate check last'");
    else if (WIFSIGNALED(status) && !signal_among(WTERMSIG(status), withstood, COUNT_OF(withstood)))
        ask->print(NULL, "could not evaluate the rules: their process was killed");
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
