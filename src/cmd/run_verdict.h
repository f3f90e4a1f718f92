/* SPDX-License-Identifier: Apache-2.0 */
/* run_verdict.h - what held the run back, said when it is over.
 *
 * All rules are evaluated over the files of the run: a few lines for the user, and findings.json in
 * the run folder, with the report of the same verdicts. That is done by a process of its own, so
 * whatever happens in there costs some seconds at most and never the job's exit status. */
#ifndef CMD_RUN_VERDICT_H
#define CMD_RUN_VERDICT_H

#include <stdbool.h>

#include "rules/params.h"

struct own_rules;

struct run_verdict_ask {
    const char *path; /* the run folder; its files are closed */
    struct rule_params params;
    const struct own_rules *own; /* rules of the user's own */
    bool quiet;                  /* only files, no lines */
    bool report;                 /* write report.html and report.json too */
    /* Gets each line. In the other process. */
    void (*tell)(void *ctx, const char *line);
};

void run_verdict(const struct run_verdict_ask *ask);

#endif
