/* SPDX-License-Identifier: Apache-2.0 */
/* run_ending.c - see run_ending.h. */
#include "run/run_ending.h"

#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

/* Exit statuses by which shells and launchers report that a signal ended a program. */
static const struct {
    int exit_status;
    const char *signal;
    bool outside; /* others send it to end a job, as against those that it causes */
} run_ending_signals[] = {
    {129, "SIGHUP", true},   {130, "SIGINT", true},   {131, "SIGQUIT", true},
    {132, "SIGILL", false},  {134, "SIGABRT", false}, {135, "SIGBUS", false},
    {136, "SIGFPE", false},  {137, "SIGKILL", true},  {139, "SIGSEGV", false},
    {141, "SIGPIPE", false}, {143, "SIGTERM", true},
};

/* Its place in the table; COUNT_OF: there is none. */
static size_t run_ending_signal(int exit_status)
{
    const size_t i = FIND_FIRST(k, COUNT_OF(run_ending_signals),
                                run_ending_signals[k].exit_status == exit_status);
    return i;
}

struct run_ending run_ending_of(const struct run_info *info)
{
    const size_t n = info->n_nodes;
    struct run_ending x = {
        .status = info->status, .exit_status = info->exit_status, .why = "", .node = ""};
    for (size_t i = 0; i < n; i++)
        if (info->nodes[i].status == info->status) {
            x.why = info->nodes[i].why;
            x.attached = info->nodes[i].attached;
            if (strcmp(info->nodes[0].id, info->nodes[n - 1].id) != 0)
                x.node = info->nodes[i].id;
            break;
        }
    return x;
}

struct run_ending run_ending_by_status(int exit_status)
{
    const size_t i = run_ending_signal(exit_status);
    struct run_ending x = {.status = exit_status > 0 ? RUN_FAILED : RUN_FINISHED,
                           .exit_status = exit_status,
                           .why = "",
                           .node = ""};
    if (i < COUNT_OF(run_ending_signals)) {
        x.why = run_ending_signals[i].signal;
        x.status = run_ending_signals[i].outside ? RUN_INTERRUPTED : RUN_FAILED;
    }
    return x;
}

static const char *run_ending_failure(const struct run_ending *x, struct arena *a)
{
    const size_t i = run_ending_signal(x->exit_status);
    if (strncmp(x->why, "SIG", 3) == 0)
        return arena_printf(a, "the job was killed by %s", x->why);
    if (i < COUNT_OF(run_ending_signals))
        return arena_printf(a, "the job failed with exit status %d (%s)", x->exit_status,
                            run_ending_signals[i].signal);
    return x->exit_status > 0
               ? arena_printf(a, "the job failed with exit status %d", x->exit_status)
               : "the job failed";
}

const char *run_ending_words(const struct run_ending *x, struct arena *a)
{
    if (x->attached && x->status == RUN_INTERRUPTED)
        return arena_printf(a, "recording was stopped (%s)", *x->why ? x->why : "interrupted");
    switch (x->status) {
    case RUN_FAILED:
        return run_ending_failure(x, a);
    case RUN_INTERRUPTED:
        if (strcmp(x->why, "SIGKILL") == 0)
            return "the job was killed by SIGKILL";
        return *x->why ? arena_printf(a, "the job was interrupted (%s)", x->why)
                       : "the job was interrupted";
    case RUN_STOPPED:
        return *x->why && strcmp(x->why, "detached") != 0
                   ? arena_printf(a, "recording was stopped (%s)", x->why)
                   : "recording was stopped";
    case RUN_DIED:
        return "the recorder ended without closing its files";
    default:
        return NULL;
    }
}

bool run_ending_killed(const struct run_ending *x)
{
    const size_t i = run_ending_signal(x->exit_status);
    return strcmp(x->why, "SIGKILL") == 0 ||
           (x->status == RUN_FAILED && i < COUNT_OF(run_ending_signals) &&
            strcmp(run_ending_signals[i].signal, "SIGKILL") == 0);
}

/* A shell that reports Ctrl-C or SIGTERM of its program ended as its user wanted. */
bool run_ending_failed(const struct run_ending *x)
{
    const size_t i = run_ending_signal(x->exit_status);
    const bool wanted = i < COUNT_OF(run_ending_signals) && run_ending_signals[i].outside;
    return run_ending_killed(x) || (x->status == RUN_FAILED && !wanted);
}

bool run_ending_unknown(const struct run_ending *x)
{
    return x->status == RUN_RUNNING || x->status == RUN_DIED ||
           (x->status == RUN_FINISHED && x->exit_status < 0);
}
