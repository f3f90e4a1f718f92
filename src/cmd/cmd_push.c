/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_push.c - push and pull: copies of runs on object storage. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/human.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "convert/interrupted.h"
#include "run/run_info.h"
#include "ship/ship.h"

enum { O_FOLLOW, O_INTERVAL, O_DIR };

#define INTERVAL_MIN_NS (NS_PER_S / 10)
#define INTERVAL_MAX_NS (24 * 3600 * NS_PER_S)
#define FIRST_NS        (5 * NS_PER_S)
#define FINDINGS_NS     (30 * NS_PER_S)

static const struct opt push_options[] = {
    [O_FOLLOW] = {"follow", 0, NULL, OPT_FLAG,
                  .help = "While the run is being recorded, send what is new, until it ends."},
    [O_INTERVAL] = {"interval", 0, "TIME", OPT_DURATION, .lo = INTERVAL_MIN_NS,
                    .hi = INTERVAL_MAX_NS, .otherwise = "60s",
                    .help = "Time between two uploads with --follow."},
    [O_DIR] = {OPT_ROW_DIR},
    {0},
};

static const struct cmd_arg push_args[] = {
    {ARG_ROW_RUN},
    {"DEST", ARG_WORD, .help = "Where the run goes: s3://BUCKET/PREFIX."},
    {0},
};

/* Until the time is over, or a signal ends it: then one last pass is made. */
static bool push_wait(int64_t ns, struct err *e)
{
    const mono_ns until = mono_add(clock_mono(), ns);
    while (mono_diff(until, clock_mono()) > 0) {
        const struct timespec t = {0, 50 * NS_PER_MS};
        nanosleep(&t, NULL);
        if (interrupted_check(e))
            return false;
    }
    return true;
}

/* What passes is tried again for ever; a wrong set-up is not. After the recorder has ended, the
 * rules are evaluated: their findings are waited for, since a run may also have none. */
static int push_follow(struct ship *s, int64_t interval_ns, struct ship_state *state, struct err *e)
{
    bool going = push_wait(MIN_OF(interval_ns, FIRST_NS), e);
    mono_ns ended = {0};
    for (;;) {
        const int rc = ship_pass(s, state, e);
        if (rc && rc != ERR_NOT_FOUND)
            return rc;
        if (rc)
            fprintf(stderr, "footplate: %s; trying again\n", e->msg);
        if (rc == 0 && !state->running && !ended.ns)
            ended = clock_mono();
        const bool late = ended.ns && mono_diff(clock_mono(), ended) > FINDINGS_NS;
        if (!going || state->complete || (rc == 0 && late))
            return rc;
        going = push_wait(ended.ns ? MIN_OF(interval_ns, NS_PER_S) : interval_ns, e);
    }
}

static int cmd_push_run(const struct cmd_args *a, struct err *e)
{
    char path[PATH_LEN], size[32];
    struct ship *s;
    struct ship_state state = {0};
    TRY(run_find(a->dir, a->arg[0], path, e));
    TRY(ship_open(&s, &(struct ship_config){.run = path, .dest = a->arg[1]}, e));
    interrupted_watch();
    int rc = ship_pass(s, &state, e);
    if (a->opt[O_FOLLOW].given && !state.complete && (rc == 0 || rc == ERR_NOT_FOUND))
        rc = push_follow(s, a->opt[O_INTERVAL].number, &state, e);
    if (rc == 0) {
        printf("%s\n", ship_place(s));
        fprintf(stderr, "footplate: sent %s%s\n",
                human_bytes((double)state.bytes, size, sizeof size),
                state.running ? "; the run is still being recorded" : "");
    }
    ship_close(s);
    return rc;
}

static const char *const push_help[] = {
    "Copies a run to object storage, where every command can read it: 'footplate show "
    "s3://BUCKET/PREFIX/RUN'. What was sent before is not sent again, so an interrupted push is "
    "continued by the next one. The run itself is not changed.",
    "Credentials, region and endpoint are taken from where the AWS tools take them: the "
    "environment, ~/.aws, the role of the machine or container. docs/remote.md has the details.",
    NULL,
};

static const struct cmd_example push_examples[] = {
    {"footplate push last s3://team-runs/llm", "Copy the newest run to a bucket."},
    {"footplate push last s3://team-runs/llm --follow",
     "Send a running job's data every minute until it ends."},
    {0},
};

const struct cmd cmd_push = {
    .name = "push",
    .summary = "copy a run to object storage",
    .args = push_args,
    .options = push_options,
    .help = push_help,
    .examples = push_examples,
    .run = cmd_push_run,
};

/* ---- pull ---- */

static const struct opt pull_options[] = {
    {OPT_ROW_DIR},
    {0},
};

static const struct cmd_arg pull_args[] = {
    {"SRC", ARG_WORD, .help = "The run: s3://BUCKET/PREFIX/RUN."},
    {0},
};

static int cmd_pull_run(const struct cmd_args *a, struct err *e)
{
    char source[PATH_LEN], path[PATH_LEN];
    TRY(run_find(a->dir, a->arg[0], source, e));
    TRY(ship_pull(source, a->dir, path, e));
    printf("%s\n", path);
    return 0;
}

static const char *const pull_help[] = {
    "Copies a run from object storage to the folder of runs, byte for byte. The copy of a run that "
    "is still being recorded is what was there at that moment.",
    NULL,
};

static const struct cmd_example pull_examples[] = {
    {"footplate pull s3://team-runs/llm/train-20260801-101500-3f2a", "Copy a run to this machine."},
    {0},
};

const struct cmd cmd_pull = {
    .name = "pull",
    .summary = "copy a run from object storage",
    .args = pull_args,
    .options = pull_options,
    .help = pull_help,
    .examples = pull_examples,
    .run = cmd_pull_run,
};
