/* SPDX-License-Identifier: Apache-2.0 */
/* run_ending.h - how the job of a run ended, in words that every command uses. */
#ifndef RUN_RUN_ENDING_H
#define RUN_RUN_ENDING_H

#include "run/run_info.h"

struct run_ending {
    enum run_status status;
    int exit_status;  /* -1: not known */
    const char *why;  /* as of struct node_info; "": nothing to add */
    const char *node; /* that ended so, of several; else "" */
    bool attached;    /* the recorder joined the job: a signal ended the recording, not the job */
};

/* Of the first node that ended as the run did. Its texts are those of `info`. */
struct run_ending run_ending_of(const struct run_info *info);
/* Of a job of which only the exit status is known, 128+n for signal n; -1: not known. */
struct run_ending run_ending_by_status(int exit_status);
/* "the job failed with exit status 3"; NULL: it ended well, or has not ended. */
const char *run_ending_words(const struct run_ending *x, struct arena *a);
/* Its end is known, and it was not intended: an exit status other than 0, a signal that
 * the job caused, or SIGKILL. */
bool run_ending_failed(const struct run_ending *x);
/* By SIGKILL, also where a shell or launcher reports it as its exit status. */
bool run_ending_killed(const struct run_ending *x);
/* Nothing is known of its end, as of a job that the recorder was attached to. */
bool run_ending_unknown(const struct run_ending *x);

#endif
