/* SPDX-License-Identifier: Apache-2.0 */
/* recording.h - what `run` and `attach` share: their options, and how they talk while recording. */
#ifndef CMD_RECORDING_H
#define CMD_RECORDING_H

#include "agent/control.h"
#include "agent/recorder.h"
#include "cmd/cmd.h"

/* Indexes of the rows below, in both commands' tables; a command's own rows come behind. */
enum { R_NAME, R_DIR, R_INTERVAL, R_RUN, R_NODE, R_LABEL, R_QUIET, R_OWN };

#define RECORDING_ROWS                                                                             \
    [R_NAME] = {"name", 0, "NAME", OPT_STRING,                                                     \
                .help = "What to call the run (default: from the command)."},                      \
    [R_DIR] = OPT_ROW_DIR,                                                                         \
    [R_INTERVAL] = {"interval",                                                                    \
                    'i',                                                                           \
                    "TIME",                                                                        \
                    OPT_DURATION,                                                                  \
                    .lo = INTERVAL_MIN_NS,                                                         \
                    .hi = INTERVAL_MAX_NS,                                                         \
                    .otherwise = "500ms",                                                          \
                    .help = "Time between samples."},                                              \
    [R_RUN] = {"run", 0, "ID", OPT_STRING,                                                         \
               .help =                                                                             \
                   "Join this run, or begin it: all nodes of a job give the same id (default: "    \
                   "the launcher's job id where it has several nodes)."},                          \
    [R_NODE] = {"node", 0, "ID", OPT_STRING,                                                       \
                .help = "The name of this node in the run (default: the host's name)."},           \
    [R_LABEL] = {"label",        'l',                                                              \
                 "KEY=VALUE",    OPT_STRING,                                                       \
                 .repeat = true, .help = "A label to find the run by."},                           \
    [R_QUIET] = {"quiet", 'q', NULL, OPT_FLAG, .help = "Say nothing but errors."}

/* Records with the options given; `ask` already says which job. Returns the status to exit with, or
 * a negative code. */
int recording_run(const struct cmd_args *args, struct record_ask *ask, struct err *e);

#endif
