/* SPDX-License-Identifier: Apache-2.0 */
/* runner.h - a small process that runs the commands and the outbound requests of actions, each in a
 * child of its own. The helper itself never loads libcurl. agent/helper.h describes the process.
 *
 *     runner_start (single-threaded, before the job), runner_run any number, runner_stop. */
#ifndef WATCH_RUNNER_H
#define WATCH_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct runner;

/* A command, or a function that is called in a child of the runner. */
struct runner_task {
    const char *const *argv; /* ends with NULL; NULL: `call` instead */
    /* Its error message becomes the child's output. */
    int (*call)(const void *ctx, const void *text, size_t n, struct err *e);
    const void *ctx;
};

enum { RUNNER_OUTPUT = 2048 };

struct runner_result {
    int status;                 /* exit status, 128+n for signal n, 127: it could not be started */
    bool timed_out;             /* then its process group was killed */
    char output[RUNNER_OUTPUT]; /* the end of what it said on stdout and stderr; ends with a NUL */
};

/* The tasks, and what they point to, may not change afterwards. */
MUST_CHECK int runner_start(struct runner **out, const struct runner_task *tasks, size_t n,
                            struct err *e);
/* Runs a task with the text, a command's on its stdin, in a process group of its own. One at a
 * time.
 */
MUST_CHECK int runner_run(struct runner *r, size_t task, const void *text, size_t n,
                          int64_t timeout_ns, struct runner_result *out, struct err *e);
void runner_stop(struct runner *r); /* NULL is fine */

#endif
