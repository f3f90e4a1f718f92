/* SPDX-License-Identifier: Apache-2.0 */
/* recording.h - what `run`, `attach` and `config` share: the settings as options, and how they talk
 * while recording. */
#ifndef CMD_RECORDING_H
#define CMD_RECORDING_H

#include "agent/control.h"
#include "agent/recorder.h"
#include "cmd/cmd.h"
#include "config/settings.h"

/* Indexes in the commands' tables: the settings that all take come first, then these two rows,
 * then a command's own rows. */
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

/* What the sources say for this command, whose table has settings among its options. A wrong option
 * is ERR_USAGE; what else is wrong stands in out->problems. argv: what will run; NULL: nothing. */
MUST_CHECK int recording_settings(struct settings *out, const struct cmd_args *args,
                                  const char *const *argv, struct arena *a, struct err *e);

/* Records with the options given; `ask` already says which job. Returns the status to exit with, or
 * a negative code. */
int recording_run(const struct cmd_args *args, struct record_ask *ask, struct err *e);

#endif
