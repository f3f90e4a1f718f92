/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one recording from its settings to its verdict: settings become the request of the
 * recorder, a dashboard may be served during the run, the rules are evaluated at the end. Settings
 * that are invalid, or a recording that fails, never keep the job from running, unless the user
 * requires the recording. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "agent/recorder.h"
#include "base/opt.h"
#include "config/settings.h"

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

#endif
