/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - the settings of a recording, and the source of each.
 *
 * Sources, the higher one counts: command line, environment (FOOTPLATE_*), footplate.yaml beside
 * the script or in the current folder, SageMaker's profilerconfig.json, default. Lists are taken
 * whole from the highest source that has one; labels are put together, key by key.
 *
 *     struct settings s;
 *     settings_load(&s, &ask, &arena, &e);   fails only for a wrong option
 *     ... s.interval_ns, s.detail, s.problems ...
 *     struct buf b = settings_hook_config(&s, generation, job_start);
 *
 * Whatever else is wrong is a sentence in `problems`, and the run starts with the rest. Plain data:
 * it may be copied; texts live in the arena of settings_load. */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/human.h"
#include "base/opt.h"
#include "config/detail_window.h"

/* How often to sample, and to evaluate the rules. */
#define INTERVAL_MIN_NS (10 * NS_PER_MS)
#define INTERVAL_MAX_NS (60 * NS_PER_S)
#define SCAN_MIN_NS     NS_PER_S
#define SCAN_MAX_NS     (3600 * NS_PER_S)
#define TO_MIN_NS       NS_PER_S
#define TO_MAX_NS       (3600 * NS_PER_S)
#define TO_SEAL_NS      (-1) /* no time: what is sealed */
#define SPOOL_LEAST     (INT64_C(4) << 20)
#define SPOOL_DEFAULT   "1GiB"

/* ---- remarks: messages for the user, collected while a configuration is read. Bounded: more are
 * only counted. Texts live in the arena. ---- */

enum { REMARKS_MOST = 32 };

struct remarks {
    struct arena *arena;
    size_t n;
    size_t left_off; /* more of them */
    const char *v[REMARKS_MOST];
};

void remarks_add(struct remarks *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- prices, as users write them ---- */

/* A plain number without a currency, above 0 and at most a million. ERR_USAGE otherwise. */
MUST_CHECK int price_parse(const char *text, double *per_hour, struct err *e);

enum { CURRENCY_LEN = 4 };

/* ---- the settings ---- */

enum {
    RANKS_MOST = 256,
    RANK_LARGEST = 9999999,
    SETTINGS_LABELS_MOST = 64,
    RULE_SETTINGS_MOST = 256,
    ACTIONS_MOST = 16,
    ACTION_PAIRS_MOST = 48,
    CUSTOM_RULES_MOST = 64,
    RULE_FILES_MOST = 16,
    HEALTH_FILTERS_MOST = 32,
};

enum health_mode { HEALTH_AUTO, HEALTH_ON, HEALTH_OFF };
extern const char *const health_mode_names[]; /* by health_mode; ends with NULL */

#define SAGEMAKER_CONFIG "/opt/ml/input/config/profilerconfig.json"

enum setting_source {
    FROM_DEFAULT,
    FROM_PROFILERCONFIG,
    FROM_FILE,
    FROM_ENVIRONMENT,
    FROM_OPTION,
    SOURCE_N,
};

enum setting_id {
#define SETTING(id, ...)     SETTING_##id,
#define SETTING_JOB(id, ...) SETTING_##id,
#include "config/settings.def"
    SETTING_N,
};

struct origin {
    enum setting_source source;
    const char *where; /* "--interval", "FOOTPLATE_INTERVAL", "footplate.yaml, line 3"; "": default
                        */
};

struct rank_list {
    size_t n; /* 0: all */
    int32_t v[RANKS_MOST];
};

struct setting_label {
    const char *key, *value;
};

/* "Rule.parameter=value" as it was written. Whether there is such a rule is checked by
 * rules/params.h. */
struct rule_setting {
    const char *text;
    struct origin from;
};

/* What to do when a rule's answer changes, as it was written: "do" "webhook", "url" "http://...". A
 * list is several pairs with one key. May contain secrets. Custom rules have the same form. */
struct action_pair {
    const char *key, *value;
    bool listed; /* an entry of a list */
};

struct action_setting {
    struct origin from;
    size_t n;
    struct action_pair v[ACTION_PAIRS_MOST];
};

/* Regexes or collections as they were written. */
struct health_filter {
    size_t n;
    const char *v[HEALTH_FILTERS_MOST];
};

struct settings {
    const char *name;            /* NULL: from the command */
    const char *dir;             /* the folder of runs */
    const char *run_id;          /* NULL: a separate run, or the launcher's */
    const char *node_id;         /* NULL: from the host's name */
    const char *machine;         /* what kind this one is; NULL: not set */
    double price_per_hour;       /* of this machine; 0: not set */
    char currency[CURRENCY_LEN]; /* of all prices: "USD" */
    int64_t interval_ns;
    bool hooks;
    bool other_processes;   /* outside of the job that use the CPU are named */
    bool require_recording; /* else the job starts also when it cannot be recorded */
    size_t n_labels;
    struct setting_label labels[SETTINGS_LABELS_MOST];
    struct window_list detail;
    struct rank_list detail_ranks;
    struct window_list python;
    enum health_mode health;
    double health_percent; /* of the loop that samples may take */
    int64_t health_every;  /* steps between two samples */
    struct health_filter health_include, health_exclude, health_collections;
    struct health_filter save_tensors; /* none: no tensor is saved */
    struct window_list save_steps;     /* all begin at a step */
    int64_t save_bytes;                /* of each process */
    struct rank_list save_ranks;
    bool rules;     /* evaluate them during the run, and at its end */
    bool report;    /* write one at its end */
    const char *to; /* where the run is sent while it grows; NULL: nowhere */
    const char *to_token_file, *to_ca, *to_key; /* NULL: not set */
    int64_t to_interval_ns;                     /* 0: that of the destination; TO_SEAL_NS */
    bool to_control;                            /* users of the hub may change the recording */
    int64_t spool;   /* bytes that stay here of a run that is sent; 0: all */
    int64_t scan_ns; /* between two evaluations */
    size_t n_rule_settings;
    struct rule_setting rule_settings[RULE_SETTINGS_MOST]; /* the last one of a parameter counts */
    size_t n_actions;
    struct action_setting *actions; /* ACTIONS_MOST of them */
    size_t n_custom;
    struct action_setting *custom; /* user rules, CUSTOM_RULES_MOST of them */
    size_t n_rule_files;
    const char *rule_files[RULE_FILES_MOST]; /* user rules in Python */
    const char *file;                        /* the YAML file that was read; NULL: none */
    const char *profilerconfig;              /* the same of SageMaker's */
    struct origin from[SETTING_N];           /* by slot: see settings_origin */
    struct remarks problems;                 /* what is wrong, with what is done about it */
    struct remarks notes;                    /* what was understood, but changes nothing */
    struct arena *arena;
};

/* One row of settings.def. */
struct setting {
    const char *key; /* in footplate.yaml, dots between its maps; NULL: not there */
    const char *env;
    bool of_job; /* `attach` has no use for it */
    enum setting_id slot;
    size_t field; /* its place in struct settings */
    struct opt option;
    int (*parse)(struct settings *s, enum setting_id id, const char *text, const struct origin *o,
                 struct err *e);
    void (*print)(const struct settings *s, enum setting_id id, struct buf *out);
};

/* The rows of settings.def as options: a command's table is made with
 *
 *     #define SETTING     SETTING_AS_OPTION
 *     #define SETTING_JOB SETTING_LEFT_OUT
 *     #include "config/settings.def"
 */
#define SETTING_AS_OPTION(id, slot, field, key, env, parse, print, ...) {__VA_ARGS__},
#define SETTING_LEFT_OUT(...)

extern const struct setting settings_table[SETTING_N];
/* "default", "profilerconfig.json", "footplate.yaml", "environment", "command line" */
extern const char *const setting_source_names[SOURCE_N];

struct settings_ask {
    const char *const *argv;       /* the command, ends with NULL; NULL: none */
    const char *folder;            /* the current one; NULL: "." */
    char *const *environment;      /* NAME=value, ends with NULL */
    const struct opt *options;     /* the command's table; NULL: none */
    const struct opt_value *given; /* by the index of that table */
    const char *profilerconfig;    /* where the environment names none; NULL: SAGEMAKER_CONFIG */
    wall_ns now;                   /* 0: the clock's */
    bool no_code; /* rule files of a footplate.yaml that was only found are ignored */
};

/* ERR_USAGE when an option is wrong, as for every other option. */
MUST_CHECK int settings_load(struct settings *out, const struct settings_ask *ask, struct arena *a,
                             struct err *e);
const struct origin *settings_origin(const struct settings *s, enum setting_id id);

/* -- for settings_*.c and tests -- */

/* All defaults. */
void settings_init(struct settings *s, struct arena *a);
/* One value, as a user would write it; a source lower than the one that the slot has is ignored. */
MUST_CHECK int settings_apply(struct settings *s, enum setting_id id, const char *text,
                              const struct origin *o, struct err *e);
/* One pair of an entry of SETTING_ACTIONS or SETTING_CUSTOM; `number`: which one, from 0. */
MUST_CHECK int settings_map_pair(struct settings *s, enum setting_id id, size_t number,
                                 const struct action_pair *pair, const struct origin *o,
                                 struct err *e);
/* The value of the first pair with that key; NULL: none. */
const char *action_setting_get(const struct action_setting *a, const char *key);
/* The text of a YAML file; `name` is its name in messages, paths in it are below `folder`. */
void settings_take_yaml(struct settings *s, const char *text, size_t len, const char *name,
                        const char *folder);
/* The text of a profilerconfig.json. */
void settings_take_profilerconfig(struct settings *s, const char *text, size_t len,
                                  const char *name);

/* -- training health: health_settings.c -- */

struct jw;
int health_parse_mode(struct settings *s, enum setting_id id, const char *text,
                      const struct origin *o, struct err *e);
int health_parse_budget(struct settings *s, enum setting_id id, const char *text,
                        const struct origin *o, struct err *e);
int health_parse_every(struct settings *s, enum setting_id id, const char *text,
                       const struct origin *o, struct err *e);
int health_parse_filter(struct settings *s, enum setting_id id, const char *text,
                        const struct origin *o, struct err *e);
int health_parse_save_steps(struct settings *s, enum setting_id id, const char *text,
                            const struct origin *o, struct err *e);
int health_parse_save_limit(struct settings *s, enum setting_id id, const char *text,
                            const struct origin *o, struct err *e);
void health_print_save_steps(const struct settings *s, enum setting_id id, struct buf *out);
void health_print_save_limit(const struct settings *s, enum setting_id id, struct buf *out);
void health_print_mode(const struct settings *s, enum setting_id id, struct buf *out);
void health_print_budget(const struct settings *s, enum setting_id id, struct buf *out);
void health_print_every(const struct settings *s, enum setting_id id, struct buf *out);
void health_print_filter(const struct settings *s, enum setting_id id, struct buf *out);
/* As "health" of the hooks' configuration. */
void health_put_settings(struct jw *j, const struct settings *s);

/* -- during the run -- */

/* The value of `footplate set RUN detail=...`: windows with commas between, or "off", which is an
 * empty list. */
MUST_CHECK int settings_detail_parse(const char *text, struct window_list *out, struct err *e);
/* Puts them in force: "+5s" counts from `now`, what is over does not begin again (for a Python
 * profile neither), windows still to come stay, an empty list ends all detail. The hooks need a
 * new configuration then. ERR_USAGE, and nothing has changed, when they are too many. */
MUST_CHECK int settings_detail_change(struct settings *s, const struct window_list *wanted,
                                      struct clock_tie job_start, mono_ns now, struct err *e);

/* The config.json that the hooks in the job read; the caller frees it. A changed one needs a larger
 * generation. job_start ties the clocks at the moment at which the job was started. */
struct buf settings_hook_config(const struct settings *s, uint64_t generation,
                                struct clock_tie job_start);

#endif
