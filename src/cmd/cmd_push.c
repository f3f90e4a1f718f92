/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_push.c - sends a run to a hub or to object storage, and fetches one from there. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/human.h"
#include "cmd/cmd.h"
#include "run/run_info.h"
#include "ship/ship_live.h"

enum { O_DIR, O_TOKEN_FILE, O_CA, O_KEY, O_QUIET };

enum { GIVE_UP_S = 60 }; /* without progress */

/* Of senders and of readers. */
#define OPT_ROW_TOKEN_FILE(right)                                                                  \
    "token-file", 0, "FILE", OPT_FILE,                                                             \
        .help = "File with the " right " token (default: FOOTPLATE_TOKEN in the environment)."
#define OPT_ROW_CA                                                                                 \
    "ca", 0, "FILE", OPT_FILE,                                                                     \
        .help = "Certificates to trust (PEM), e.g. of your own authority (default: those of "      \
                "the system)."
#define OPT_ROW_KEY                                                                                \
    "pinned-key", 0, "sha256//BASE64", OPT_STRING,                                                 \
        .help = "Public key that the hub must have; without --ca, its certificate may then be "    \
                "self-signed."

static const struct opt options[] = {
    [O_DIR] = {OPT_ROW_DIR},
    [O_TOKEN_FILE] = {OPT_ROW_TOKEN_FILE("write")},
    [O_CA] = {OPT_ROW_CA},
    [O_KEY] = {OPT_ROW_KEY},
    [O_QUIET] = {"quiet", 'q', NULL, OPT_FLAG, .help = "Print only errors."},
    {0},
};

static bool push_is_running(const char *path, struct arena *a)
{
    struct run_info info;
    struct err e;
    return run_info_read(&info, path, a, &e) == 0 && info.status == RUN_RUNNING;
}

/* Transient failures are retried as long as something arrives now and then. */
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
    char path[PATH_LEN], name[RUN_ID_LEN];
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
               bytes_text(a->arena, (double)t->bytes),
               running ? "; it is still being recorded: push it again when it has ended" : "");
    ship_close(s);
    t->ops->close(t);
    return rc;
}

const struct cmd cmd_push = {
    .name = "push",
    .summary = "send a run to a hub or to object storage",
    .args = CMD_ARGS(
        {ARG_ROW_RUN},
        {"DEST", ARG_WORD,
         .help =
             "The hub: https://HOST[:PORT], or http:// on this machine; or s3://BUCKET/PREFIX."}),
    .options = options,
    .help = CMD_HELP("Sends a run to a hub, which is a 'footplate serve --receive', or to S3 or a "
                     "server that speaks its protocol. What already arrived is not sent again: "
                     "after a failure the same command continues where it stopped.",
                     "The token of a hub is never given on the command line, where other users "
                     "could see it. Keys, region and endpoint of S3 are taken from where the AWS "
                     "tools take them: the environment, ~/.aws, the role of the machine or "
                     "container. docs/remote.md has the details."),
    .examples = CMD_EXAMPLES({"footplate push last https://hub.example.org:7171 --token-file "
                              "~/.footplate-token",
                              "Send the newest run to a hub."},
                             {"footplate push last s3://team-runs/llm", "Send it to a bucket."}),
    .run = cmd_push_run,
};

/* ---- pull ---- */

static const struct opt pull_options[] = {
    [O_DIR] = {OPT_ROW_DIR},
    [O_TOKEN_FILE] = {OPT_ROW_TOKEN_FILE("read")},
    [O_CA] = {OPT_ROW_CA},
    [O_KEY] = {OPT_ROW_KEY},
    {0},
};

/* Reading takes its settings from the environment, see net/hub_client.h. */
static int pull_set(const char *name, const struct opt_value *v, struct err *e)
{
    return v->given && setenv(name, v->text, 1) < 0 ? err_sys(e, "cannot set '%s'", name) : 0;
}

static int cmd_pull_run(const struct cmd_args *a, struct err *e)
{
    char source[PATH_LEN], path[PATH_LEN];
    TRY(pull_set("FOOTPLATE_TOKEN_FILE", &a->opt[O_TOKEN_FILE], e));
    TRY(pull_set("FOOTPLATE_CA", &a->opt[O_CA], e));
    TRY(pull_set("FOOTPLATE_PINNED_KEY", &a->opt[O_KEY], e));
    TRY(run_find(a->dir, a->arg[0], source, e));
    TRY(ship_pull(source, a->dir, path, e));
    printf("%s\n", path);
    return 0;
}

const struct cmd cmd_pull = {
    .name = "pull",
    .summary = "copy a run from a hub or from object storage",
    .args =
        CMD_ARGS({"SRC", ARG_WORD,
                  .help = "The run: https://HOST[:PORT]/RUN of a hub, or s3://BUCKET/PREFIX/RUN."}),
    .options = pull_options,
    .help = CMD_HELP("Copies a run from a hub or from object storage to the folder of runs, byte "
                     "for byte. The copy of a run that is still being recorded is what was there "
                     "at that moment.",
                     "All other commands also read runs where they are: give them the same "
                     "address instead of a name. The token of a hub is then in FOOTPLATE_TOKEN, "
                     "or in the file that FOOTPLATE_TOKEN_FILE names."),
    .examples = CMD_EXAMPLES(
        {"footplate pull https://hub.example.org:7171/train-20260801-101500-3f2a --token-file "
         "~/.footplate-read",
         "Copy a run from a hub to this machine."},
        {"footplate pull s3://team-runs/llm/train-20260801-101500-3f2a", "Copy it from a bucket."}),
    .run = cmd_pull_run,
};
