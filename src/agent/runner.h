/* SPDX-License-Identifier: Apache-2.0 */
/* runner.h - a small process that runs the commands of actions; aside.h says how it stands.
 *
 *     runner_start (single-threaded, before the job), runner_run any number, runner_stop. */
#ifndef AGENT_RUNNER_H
#define AGENT_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct runner;

enum { RUNNER_OUTPUT = 2048 };

struct runner_result {
    int status;                 /* exit status, 128+n for signal n, 127: it could not be started */
    bool timed_out;             /* then its process group was killed */
    char output[RUNNER_OUTPUT]; /* the end of what it said on stdout and stderr; ends with a NUL */
};

/* The argument vectors that may be asked for; each ends with NULL. */
MUST_CHECK int runner_start(struct runner **out, const char *const *const *commands, size_t n,
                            struct err *e);
/* Runs a command with the text on its stdin, in a process group of its own. One at a time. */
MUST_CHECK int runner_run(struct runner *r, size_t command, const void *text, size_t n,
                          int64_t timeout_ns, struct runner_result *out, struct err *e);
void runner_stop(struct runner *r); /* NULL is fine */

#endif
