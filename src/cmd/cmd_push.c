/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_push.c - sends a run to a hub. */
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
    {"DEST", ARG_WORD, .help = "The hub: https://HOST[:PORT], or http:// on this machine."},
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
        if (rc == 0 || rc != ERR_NOT_FOUND)
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
    "Sends a run to a hub, which is a 'footplate serve --receive'. What already arrived is not "
    "sent again: after a failure the same command continues where it stopped.",
    "The token is never given on the command line, where other users could see it.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate push last https://hub.example.org:7171 --token-file ~/.footplate-token",
     "Send the newest run to a hub."},
    {0},
};

const struct cmd cmd_push = {
    .name = "push",
    .summary = "send a run to a hub",
    .args = args,
    .options = options,
    .help = help,
    .examples = examples,
    .run = cmd_push_run,
};
