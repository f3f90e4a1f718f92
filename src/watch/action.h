/* SPDX-License-Identifier: Apache-2.0 */
/* action.h - what is done when a rule's answer changes: one const record per kind of action, and
 * its settings by the user.
 *
 * An action that fails is reported and nothing else happens. A thread performs them (actions.c),
 * and what it must not do itself is done by a small process (runner.c). */
#ifndef WATCH_ACTION_H
#define WATCH_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "config/settings.h"
#include "record/record.h"
#include "rules/params.h"
#include "rules/verdict.h"

struct action;
struct mail_route;
struct runner;

/* What an action reports. Texts have no newline; `json` is one object and ends with a NUL. */
struct action_news {
    const char *rule;    /* its name */
    const char *subject; /* a few words */
    const char *text;    /* sentences */
    const char *json;
    size_t json_len;
    bool clear; /* the rule's issue is over */
};

/* What an action may need of its surroundings. */
struct action_means {
    /* Ends the job: SIGTERM, SIGKILL after the grace time. Returns at once. */
    void (*stop)(void *ctx, const char *rule, int64_t grace_ns);
    /* A line for the user, from the output of a command. */
    void (*print)(void *ctx, const char *line);
    void *ctx;
    struct runner *runner; /* runs commands and outbound requests; NULL: no action needs it */
};

/* A key of an action's map. */
struct action_key {
    const char *name; /* NULL ends the table */
    const char *help;
    bool list; /* several values are fine */
};

#define ACTION_KEYS(...) ((const struct action_key[]){__VA_ARGS__, {0}})

struct action_kind {
    const char *name;
    const char *help; /* one sentence */
    const struct action_key *keys;
    bool urgent; /* no rate limit applies */
    bool retry;  /* doing it twice does no harm */
    /* Takes the kind's own keys. Nothing is connected to; secrets are fetched. */
    int (*make)(struct action *a, const struct action_setting *s, struct arena *arena,
                struct err *e);
    /* Takes about a->timeout_ns at most. */
    int (*perform)(const struct action *a, const struct action_news *n,
                   const struct action_means *m, struct err *e);
    /* What action_send does in a child of the runner; ctx is the action. NULL: none. */
    int (*send)(const void *ctx, const void *text, size_t n, struct err *e);
};

extern const struct action_kind action_stop, action_webhook, action_email, action_exec;

/* All of them; ends with NULL. */
extern const struct action_kind *const action_kinds[];
/* Those that every action takes. */
extern const struct action_key action_keys[];

enum mail_tls { MAIL_PLAIN, MAIL_STARTTLS, MAIL_TLS };

/* An action as the user wants it. Plain data; texts live in the arena of action_make. */
struct action {
    const struct action_kind *kind;
    const char *label; /* for sentences, without secrets: "webhook 127.0.0.1:8080" */
    bool on_issue, on_clear;
    enum severity least; /* issues below that are ignored */
    const char **rules;  /* names; NULL: all */
    size_t n_rules;
    int64_t most, per_ns; /* so many in so long */
    int64_t timeout_ns;
    const char *url, *ca; /* ca: a file with the certificates to trust; NULL: the system's */
    const char *host, *from, *user, *password; /* of a mail server; user NULL: none */
    const char **to;
    size_t n_to;
    int port;
    enum mail_tls tls;
    const char **command; /* ends with NULL */
    size_t number;        /* of its task in the runner */
    int64_t grace_ns;
};

/* `all`: the settings that it is part of, which may define rules. ERR_USAGE has what is wrong, and
 * never a value that may be secret. */
MUST_CHECK int action_make(struct action *out, const struct settings *all,
                           const struct action_setting *s, struct arena *a, struct err *e);
/* All actions of the settings, in the arena; a wrong one is left out and added to the
 * problems, unless it came from an option: that is ERR_USAGE. */
MUST_CHECK int action_make_all(struct settings *s, struct arena *a, struct action **out, size_t *n,
                               struct err *e);
/* Whether the change is one that this action is for; *clear: the issue is over. */
bool action_is_for(const struct action *a, const struct verdict *v, enum rule_state state_before,
                   enum severity severity_before, bool *clear);

/* -- for the kinds -- */

/* A value of the map, or of the environment variable that "<key>-env" names. NULL: it is
 * not given. */
MUST_CHECK int action_secret(const struct action_setting *s, const char *key, struct arena *a,
                             const char **out, struct err *e);
/* Calls the kind's `send` in a child of the runner, which is killed when the time is up. */
MUST_CHECK int action_send(const struct action *a, const struct action_means *m, const void *text,
                           size_t n, struct err *e);
/* All values of a key, ends with NULL. */
const char **action_list(const struct action_setting *s, const char *key, struct arena *a,
                         size_t *n);

/* The text of a mail; net/curl.h delivers it. */

/* Whether it is an address that is valid between < and >: no spaces, no control characters. */
bool mail_is_address(const char *text);
/* Header and text with the ends of lines that mail has; `json` becomes an attachment. The caller
 * frees it. */
struct buf mail_message(const struct mail_route *m, const char *subject, const char *text,
                        const char *json, wall_ns now);

/* ---- actions.c: performs the actions of a run, in a separate thread ----
 *
 *     actions_start, actions_news for every change of a rule's answer, actions_stop.
 *
 * No thread waits for an action: news are queued, and when the queue is full, or an action's limit
 * is reached, the news is dropped and counted as a loss. A try is bounded in time, tries are
 * bounded in number. An action that fails is reported once as a line and counted as a loss each
 * time; one that works is a mark. */

struct actions;

struct actions_ask {
    const struct action *v; /* must not move, with all it points to, until the end */
    size_t n;
    const char *run, *run_id, *node;
    struct sink *sink;
    struct action_means means; /* called by the thread */
    /* A line that the user must see: that an action failed. From the thread. */
    void (*warn)(void *ctx, const char *line);
};

MUST_CHECK int actions_start(struct actions **out, const struct actions_ask *ask, struct err *e);
/* From one thread at a time. `p`: what the rule was evaluated with. */
void actions_news(struct actions *a, const struct verdict *v, enum rule_state state_before,
                  enum severity severity_before, const struct param_value *p);
/* Performs what is queued, each with one more try, and ends; takes at most `wait_ns`. False: the
 * thread hangs. It is left alone then and touches neither sink nor means any more, but what ask->v
 * points to must remain valid. Frees it otherwise. NULL is fine. */
bool actions_stop(struct actions *a, int64_t wait_ns);

/* ---- runner.c: a small process that runs the commands and the outbound requests of actions, each
 * in a separate child ----
 *
 * The helper itself never loads libcurl. agent/helper.h describes the process.
 *
 *     runner_start (single-threaded, before the job), runner_run any number, runner_stop. */

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
    char output[RUNNER_OUTPUT]; /* the end of its stdout and stderr; ends with a NUL */
};

/* The tasks, and what they point to, may not change afterwards. */
MUST_CHECK int runner_start(struct runner **out, const struct runner_task *tasks, size_t n,
                            struct err *e);
/* Runs a task with the text, a command's on its stdin, in a separate process group. One at a time.
 * ERR_NOT_FOUND when there is no runner (NULL) or it has ended. */
MUST_CHECK int runner_run(struct runner *r, size_t task, const void *text, size_t n,
                          int64_t timeout_ns, struct runner_result *out, struct err *e);
void runner_stop(struct runner *r); /* NULL is fine */

#endif
