/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one recording from its settings to its verdict: settings become the request of the
 * recorder, a dashboard may be served during the run, the rules are evaluated at the end. Settings
 * that are invalid, or a recording that fails, never prevent the job from running, unless the user
 * requires the recording. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "agent/recorder.h"
#include "base/opt.h"
#include "config/settings.h"
#include "rules/params.h"

struct user_rule_set;

/* The command line. */
struct session_options {
    const struct opt *table; /* has settings among its rows */
    const struct opt_value *given;
    bool quiet; /* print only errors */
    bool serve; /* the dashboard, too */
};

/* The effective settings. An invalid option is ERR_USAGE; other problems are in out->problems.
 * argv: the job; NULL: none. */
MUST_CHECK int session_settings(struct settings *out, const struct session_options *o,
                                const char *const *argv, struct arena *a, struct err *e);

/* Records; `ask` already names the job. Returns the status to exit with, or a negative code. */
int session_run(const struct session_options *o, struct record_ask *ask, struct err *e);

/* ---- run_verdict.c: evaluates all rules when a recording ends ----
 *
 * A few lines for the user, findings.json in the run folder, and the report with the same verdicts.
 * A separate process does it, so a failure there costs some seconds at most and never the exit
 * status of the job. */

struct run_verdict_ask {
    const char *path; /* the run folder; its files are closed */
    struct rule_params params;
    const struct user_rule_set *own; /* rules of the user */
    bool quiet;                      /* only files, no lines */
    bool report;                     /* write report.html and report.json too */
    const char *address;             /* where users find the run afterwards; NULL: in its folder */
    /* Called with each line, in the other process. */
    void (*print)(void *ctx, const char *line);
};

void run_verdict(const struct run_verdict_ask *ask);

#endif
