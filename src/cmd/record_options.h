/* SPDX-License-Identifier: Apache-2.0 */
/* record_options.h - the options of `run` and `attach`: the settings that both take come first,
 * then the rows here, then a command's own rows. */
#ifndef CMD_RECORD_OPTIONS_H
#define CMD_RECORD_OPTIONS_H

#include "cmd/cmd.h"
#include "session/session.h"

enum {
#define SETTING(id, ...) R_##id,
#define SETTING_JOB(...)
#include "config/settings.def"
#undef SETTING
#undef SETTING_JOB
    R_QUIET,
    R_SERVE,
    R_OWN
};

#define OPT_ROW_QUIET                                                                              \
    {                                                                                              \
        "quiet", 'q', NULL, OPT_FLAG, .help = "Print only errors."                                 \
    }
#define OPT_ROW_SERVE                                                                              \
    {                                                                                              \
        "serve", 0, NULL, OPT_FLAG,                                                                \
            .help =                                                                                \
                "Serve the dashboard during the run; in a terminal, keep serving until Ctrl-C."    \
    }

/* Records with the options given; `ask` already names the job. */
static inline int record_with_options(const struct cmd_args *a, struct record_ask *ask,
                                      struct err *e)
{
    const struct session_options o = {
        .table = a->cmd->options,
        .given = a->opt,
        .quiet = a->opt[R_QUIET].given,
        .serve = a->opt[R_SERVE].given,
    };
    return session_run(&o, ask, e);
}

#endif
