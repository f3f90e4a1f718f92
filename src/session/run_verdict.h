/* SPDX-License-Identifier: Apache-2.0 */
/* run_verdict.h - evaluates all rules when a recording ends.
 *
 * A few lines for the user, findings.json in the run folder, and the report with the same verdicts.
 * A separate process does it, so a failure there costs some seconds at most and never the exit
 * status of the job. */
#ifndef SESSION_RUN_VERDICT_H
#define SESSION_RUN_VERDICT_H

#include <stdbool.h>

#include "rules/params.h"

struct user_rule_set;

struct run_verdict_ask {
    const char *path; /* the run folder; its files are closed */
    struct rule_params params;
    const struct user_rule_set *own; /* rules of the user */
    bool quiet;                      /* only files, no lines */
    bool report;                     /* write report.html and report.json too */
    /* Called with each line, in the other process. */
    void (*tell)(void *ctx, const char *line);
};

void run_verdict(const struct run_verdict_ask *ask);

#endif
