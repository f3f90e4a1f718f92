/* SPDX-License-Identifier: Apache-2.0 */
/* recording.c - see recording.h. */
#include "cmd/recording.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/own_rules.h"
#include "cmd/run_verdict.h"
#include "cmd/serving.h"
#include "config/script.h"
#include "rules/machines.h"
#include "run/run_info.h"
#include "watch/watch.h"

/* The line goes out in one write, so that the job's own output cannot come between. */
static void recording_tell(void *ctx, const char *line)
{
    (void)ctx;
    struct arena a = {0};
    fprintf(stderr, "footplate: %s\n", text_safe(&a, line));
    arena_free(&a);
}

/* Wrong settings do not keep a job from running, so this is all that the user hears of them. */
static void tell_problems(const struct settings *s, struct arena *a)
{
    for (size_t i = 0; i < s->problems.n; i++)
        recording_tell(NULL, s->problems.v[i]);
    if (s->problems.left_off > 0)
        recording_tell(NULL,
                       arena_printf(a, "and %zu more; run 'footplate config' to see all settings",
                                    s->problems.left_off));
}

/* What the settings say of rules, understood. */
struct rule_wishes {
    struct rule_params params;
    struct own_rules own;
    struct action *actions;
    size_t n_actions;
};

/* A wrong option is wrong use; what a file or the environment has wrong is told and left out. */
static int take_rule(struct settings *s, const struct rule_setting *r, struct rule_wishes *out,
                     struct err *e)
{
    if (own_rules_set(&out->own, r->text, s->arena) ||
        rule_params_set(&out->params, r->text, e) == 0)
        return 0;
    if (r->from.source == FROM_OPTION)
        return err_in(e, "%s", r->from.where);
    remarks_add(&s->problems, "%s: %s; ignored", r->from.where, e->msg);
    return 0;
}

static int take_custom(struct settings *s, const struct action_setting *from, struct custom_list *l,
                       struct err *e)
{
    const int rc = custom_list_add(l, from, e);
    if (rc == 0 || from->from.source == FROM_OPTION)
        return rc;
    remarks_add(&s->problems, "%s; ignored", e->msg);
    return 0;
}

static int recording_take_rules(struct settings *s, struct rule_wishes *out, struct arena *a,
                                struct err *e)
{
    int rc = 0;
    rule_params_init(&out->params, a);
    own_rules_files(&out->own, s, a);
    for (size_t i = 0; rc == 0 && i < s->n_rule_settings; i++)
        rc = take_rule(s, &s->rule_settings[i], out, e);
    for (size_t i = 0; rc == 0 && i < s->n_custom; i++)
        rc = take_custom(s, &s->custom[i], &out->own.custom, e);
    return rc ? rc : action_make_all(s, a, &out->actions, &out->n_actions, e);
}

static int recording_load(struct settings *out, struct rule_wishes *wishes,
                          const struct cmd_args *args, const char *const *argv, struct arena *a,
                          struct err *e)
{
    const struct settings_ask ask = {
        .argv = argv,
        .environment = environ,
        .options = args->cmd->options,
        .given = args->opt,
    };
    const int rc = settings_load(out, &ask, a, e);
    return rc ? rc : recording_take_rules(out, wishes, a, e);
}

int recording_settings(struct settings *out, const struct cmd_args *args, const char *const *argv,
                       struct arena *a, struct err *e)
{
    struct rule_wishes unused = {0};
    return recording_load(out, &unused, args, argv, a, e);
}

static void take_labels(struct record_ask *ask, const struct settings *s, struct arena *a)
{
    struct run_label *labels = arena_array(a, struct run_label, s->n_labels + 1);
    for (size_t i = 0; i < s->n_labels; i++)
        labels[i] = (struct run_label){s->labels[i].key, s->labels[i].value};
    ask->labels = labels;
    ask->n_labels = s->n_labels;
}

static const char *script_folder(const char *const *argv, struct arena *a)
{
    const struct script script = argv ? script_find(argv) : (struct script){0};
    const char *slash = script.is_file ? strrchr(script.name, '/') : NULL;
    return slash ? arena_strndup(a, script.name, (size_t)(slash - script.name + 1)) : NULL;
}

/* The price of a machine is that of the table, unless it was said. */
static void take_price(struct record_ask *ask, const struct settings *s, struct arena *a)
{
    struct machines table;
    struct err e;
    ask->machine = s->machine;
    ask->price_per_hour = s->price_per_hour;
    ask->currency = s->currency;
    if (!s->machine || s->price_per_hour > 0)
        return;
    int rc = machines_load(&table, script_folder(ask->argv, a), a, &e);
    const struct machine *m = rc == 0 ? machines_find(&table, s->machine) : NULL;
    if (rc == 0 && !m)
        rc = machines_unknown(&table, s->machine, &e);
    if (rc == 0)
        ask->price_per_hour = m->price_per_hour;
    else
        recording_tell(NULL, arena_printf(a, "the price of the run is not known: %s", e.msg));
}

static void take_settings(struct record_ask *ask, const struct settings *s, struct arena *a)
{
    ask->settings = s;
    ask->dir = s->dir;
    ask->name = s->name;
    ask->interval_ns = s->interval_ns;
    ask->run_id = s->run_id;
    ask->node_id = s->node_id;
    ask->no_hooks = !s->hooks;
    take_labels(ask, s, a);
    take_price(ask, s, a);
}

static void end_with_verdict(const struct record_ask *ask, const struct rule_wishes *wishes,
                             const struct record_result *result)
{
    const struct run_verdict_ask v = {.path = result->path,
                                      .params = wishes->params,
                                      .own = &wishes->own,
                                      .quiet = ask->quiet,
                                      .report = ask->settings->report,
                                      .tell = recording_tell};
    if (ask->settings->rules)
        run_verdict(&v);
}

enum { EXIT_BY_SIGNAL = 128 };

/* A dashboard that does not start keeps no job from running. */
static void recording_serve(struct serving *out, const char *folder, bool quiet, struct arena *a)
{
    struct err e;
    if (serving_start(out, folder, &e) != 0)
        recording_tell(NULL, arena_printf(a, "could not start the dashboard: %s", e.msg));
    else if (!quiet)
        recording_tell(NULL, arena_printf(a, "dashboard at %s", out->place.address));
}

/* A calling script continues after Ctrl-C unless it sees that the signal ended its child. */
static void end_as_the_job(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGINT);
}

/* What a user can do about it. */
static const char *advice(const struct err *e)
{
    static const struct {
        int sys;
        const char *text;
    } rows[] = {
        {ENOSPC, "free some space, or name another folder with --dir"},
        {EDQUOT, "free some space, or name another folder with --dir"},
        {EMFILE, "allow more open files (ulimit -n)"},
        {ENFILE, "allow more open files (ulimit -n)"},
        {EAGAIN, "allow more processes (ulimit -u)"},
        {ENOMEM, "allow more memory (ulimit -v)"},
        {EFBIG, "allow larger files (ulimit -f)"},
        {EROFS, "name a folder that can be written with --dir"},
        {EACCES, "name a folder that can be written with --dir"},
        {EPERM, "name a folder that can be written with --dir"},
        {ENOENT, "name a folder that can be written with --dir"},
        {ENOTDIR, "name a folder that can be written with --dir"},
        {EEXIST, "name a folder that can be written with --dir"},
    };
    for (size_t i = 0; e->code == ERR_SYS && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].sys == e->sys)
            return rows[i].text;
    return e->code == ERR_BUSY ? "give each recorder its own --node" : "see 'footplate doctor'";
}

enum { STATUS_NOT_FOUND = 127, STATUS_CANNOT_RUN = 126 };

/* Nothing was started. The job runs as it would without Footplate. */
static int run_without(const struct record_ask *ask, const struct err *why, struct arena *a)
{
    const bool refuse = ask->settings->require_recording;
    recording_tell(NULL,
                   arena_printf(a, "this run is not recorded: %s. %s. To record it, %s", why->msg,
                                refuse ? "The job is not started (--require-recording)"
                                       : "The job runs without recording",
                                advice(why)));
    if (refuse)
        return EXIT_FAILED;
    const int sys = keeper_become(ask->argv);
    struct err e;
    errno = sys;
    err_sys(&e, "cannot run '%s'", ask->argv[0]);
    recording_tell(NULL, e.msg);
    return sys == ENOENT || sys == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
}

/* Of a run or node that cannot be called what the user has called it just now. */
static bool is_wrong_use(const struct settings *s, const struct err *e)
{
    return e->code == ERR_USAGE && (settings_origin(s, SETTING_RUN)->source == FROM_OPTION ||
                                    settings_origin(s, SETTING_NODE)->source == FROM_OPTION);
}

/* For as long as the settings are not known. */
static bool is_given(const struct cmd_args *args, const char *name)
{
    for (size_t i = 0; args->cmd->options[i].name; i++)
        if (strcmp(args->cmd->options[i].name, name) == 0)
            return args->opt[i].given;
    return false;
}

static int check_user_rules(const void *ctx, struct run *r, struct arena *a, struct hosted **out,
                            size_t *n, struct err *e)
{
    return own_rules_check(ctx, r, a, out, n, e);
}

/* What the helper process is to do. */
static void take_wishes(struct record_ask *ask, const struct settings *s,
                        const struct rule_wishes *wishes, struct arena *a)
{
    struct watch_ask *watch = arena_new(a, struct watch_ask);
    *watch = (struct watch_ask){
        .no_rules = !s->rules,
        .params = wishes->params,
        .scan_ns = s->scan_ns,
        .actions = wishes->actions,
        .n_actions = wishes->n_actions,
        .check_user_rules = own_rules_any(&wishes->own) ? check_user_rules : NULL,
        .user_rules = &wishes->own,
    };
    ask->helper = (struct helper_program){watch_main, watch};
}

static int record(const struct cmd_args *args, struct record_ask *ask, struct arena *a,
                  struct err *e)
{
    if (ask->argv)
        keeper_start(ask->argv, is_given(args, "require-recording"));
    struct settings *s = arena_new(a, struct settings);
    struct rule_wishes *wishes = arena_new(a, struct rule_wishes);
    const int rc = recording_load(s, wishes, args, ask->argv, a, e);
    if (rc != 0)
        return rc;
    if (ask->argv)
        keeper_start(ask->argv, s->require_recording);
    tell_problems(s, a);
    take_settings(ask, s, a);
    take_wishes(ask, s, wishes, a);
    ask->quiet = args->opt[R_QUIET].given;
    ask->tell = recording_tell;
    struct record_result result;
    struct serving serving = {.fd = -1};
    if (args->opt[R_SERVE].given)
        recording_serve(&serving, runs_folder(s->dir), ask->quiet, a);
    if (recorder_run(ask, &result, e) == 0) {
        end_with_verdict(ask, wishes, &result);
        if (result.interrupted)
            end_as_the_job();
        if (result.exit_status < EXIT_BY_SIGNAL) /* else Ctrl-C has been pressed already */
            serving_linger(&serving);
        return result.exit_status;
    }
    if (is_wrong_use(s, e))
        return e->code;
    if (ask->argv && result.exit_status == EXIT_FAILED)
        return run_without(ask, e, a);
    /* The shell's own codes for a program that cannot be run are kept. */
    recording_tell(NULL, e->msg);
    return result.exit_status;
}

int recording_run(const struct cmd_args *args, struct record_ask *ask, struct err *e)
{
    struct arena a = {0};
    const int rc = record(args, ask, &a, e);
    arena_free(&a);
    return rc;
}
