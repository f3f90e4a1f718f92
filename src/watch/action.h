/* SPDX-License-Identifier: Apache-2.0 */
/* action.h - what is done when a rule's answer changes: one const record per kind of action, and
 * what the user asked of it.
 *
 * An action that fails is reported and nothing else happens. Who performs one is in actions.h. */
#ifndef WATCH_ACTION_H
#define WATCH_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "config/settings.h"
#include "rules/verdict.h"

struct action;
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
    /* A line for the user, of what a command said. */
    void (*tell)(void *ctx, const char *line);
    void *ctx;
    struct runner *runner; /* runs commands and outbound requests; NULL: no action needs it */
};

/* A key of an action's map. */
struct action_key {
    const char *name; /* NULL ends the table */
    const char *help;
    bool list; /* several values are fine */
};

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

#define ACTION(name) extern const struct action_kind action_##name;
#include "watch/actions.def"
#undef ACTION

/* In the order of actions.def; ends with NULL. */
extern const struct action_kind *const action_kinds[];
/* Those that every action takes. */
extern const struct action_key action_keys[];

enum mail_tls { MAIL_PLAIN, MAIL_STARTTLS, MAIL_TLS };

/* An action as the user wants it. Plain data; texts live in the arena of action_make. */
struct action {
    const struct action_kind *kind;
    const char *label; /* for sentences, without secrets: "webhook 127.0.0.1:8080" */
    bool on_issue, on_clear;
    enum severity least; /* an issue below that is none */
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

/* `all`: the settings that it is part of, which may define rules. ERR_USAGE says what is
 * wrong, and never a value that may be secret. */
MUST_CHECK int action_make(struct action *out, const struct settings *all,
                           const struct action_setting *s, struct arena *a, struct err *e);
/* All that the settings ask for, in the arena; a wrong one is left out and added to the
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

#endif
