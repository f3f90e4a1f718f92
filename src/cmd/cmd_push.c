/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_push.c - sends a run to a hub or to object storage, and fetches one from there. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/human.h"
#include "cmd/cmd.h"
#include "run/run_info.h"
#include "ship/ship_live.h"

enum { O_DIR, O_TOKEN_FILE, O_CA, O_KEY, O_QUIET };

enum { GIVE_UP_S = 60 }; /* without progress */

static const struct opt options[] = {
    [O_DIR] = {OPT_ROW_DIR},
    [O_TOKEN_FILE] = {"token-file", 0, "FILE", OPT_FILE,
                      .help = "File with the write token (default: FOOTPLATE_TOKEN in the "
                              "environment)."},
    [O_CA] = {"ca", 0, "FILE", OPT_FILE,
              .help = "Certificates to trust (PEM), e.g. of your own authority (default: those of "
                      "the system)."},
    [O_KEY] = {"pinned-key", 0, "sha256//BASE64", OPT_STRING,
               .help = "Public key that the hub must have; without --ca, its certificate may then "
                       "be self-signed."},
    [O_QUIET] = {"quiet", 'q', NULL, OPT_FLAG, .help = "Print only errors."},
    {0},
};

static const struct cmd_arg args[] = {
    {ARG_ROW_RUN},
    {"DEST", ARG_WORD,
     .help = "The hub: https://HOST[:PORT], or http:// on this machine; or s3://BUCKET/PREFIX."},
    {0},
};

static bool push_is_running(const char *path, struct arena *a)
{
    struct run_info info;
    struct err e;
    return run_info_read(&info, path, a, &e) == 0 && info.status == RUN_RUNNING;
}

/* Failures that pass are tried again as long as something arrives now and then. */
static int push_all(struct ship *s, const struct ship_target *t, bool all, struct err *e)
{
    mono_ns progress = clock_mono();
    uint64_t bytes = 0;
    for (unsigned failures = 1;; failures++) {
        const int rc = ship_round(s, all, e);
        if (rc != ERR_NOT_FOUND)
            return rc;
        const mono_ns now = clock_mono();
        if (t->bytes != bytes) {
            bytes = t->bytes;
            progress = now;
            failures = 1;
        }
        if (mono_diff(now, progress) > GIVE_UP_S * NS_PER_S)
            return rc;
        const int64_t ms = ship_backoff_ms(failures, t->retry_s, (uint32_t)now.ns);
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * NS_PER_MS}, NULL);
    }
}

static int cmd_push_run(const struct cmd_args *a, struct err *e)
{
    char path[PATH_LEN], name[RUN_ID_LEN], size[HUMAN_LEN];
    struct ship_target_ask ask = {
        .to = a->arg[1], .ca = a->opt[O_CA].text, .pinned_key = a->opt[O_KEY].text};
    struct ship_target *t;
    struct ship *s = NULL;
    TRY(run_find(a->dir, a->arg[0], path, e));
    TRY(ship_read_token(a->opt[O_TOKEN_FILE].text, a->arena, &ask.token, e));
    TRY(ship_target_check(&ask, e));
    TRY(ship_run_name(path, name, e));
    TRY(ship_target_open(&t, &ask, name, e));
    const bool running = push_is_running(path, a->arena);
    int rc = ship_open(&s, path, NULL, t, e);
    if (rc == 0)
        rc = push_all(s, t, !running, e);
    if (rc == 0 && !a->opt[O_QUIET].given)
        printf("%s is at %s (%s sent)%s\n", path_base(path), t->to,
               human_bytes((double)t->bytes, size, sizeof size),
               running ? "; it is still being recorded: push it again when it has ended" : "");
    ship_close(s);
    t->ops->close(t);
    return rc;
}

static const char *const help[] = {
    "Sends a run to a hub, which is a 'footplate serve --receive', or to S3 or a server that "
    "speaks "
    "its protocol. What already arrived is not sent again: after a failure the same command "
    "continues where it stopped.",
    "The token of a hub is never given on the command line, where other users could see it. Keys, "
    "region and endpoint of S3 are taken from where the AWS tools take them: the environment, "
    "~/.aws, the role of the machine or container. docs/remote.md has the details.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate push last https://hub.example.org:7171 --token-file ~/.footplate-token",
     "Send the newest run to a hub."},
    {"footplate push last s3://team-runs/llm", "Send it to a bucket."},
    {0},
};

const struct cmd cmd_push = {
    .name = "push",
    .summary = "send a run to a hub or to object storage",
    .args = args,
    .options = options,
    .help = help,
    .examples = examples,
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
