/* SPDX-License-Identifier: Apache-2.0 */
/* recording.c - see recording.h. */
#include "cmd/recording.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/table.h"

/* The line goes out in one write, so that the job's own output cannot come between. */
static void tell(void *ctx, const char *line)
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
        tell(NULL, s->problems.v[i]);
    if (s->problems.left_off > 0)
        tell(NULL, arena_printf(a, "and %zu more; 'footplate config' shows what counts",
                                s->problems.left_off));
}

int recording_settings(struct settings *out, const struct cmd_args *args, const char *const *argv,
                       struct arena *a, struct err *e)
{
    const struct settings_ask ask = {
        .argv = argv,
        .environment = environ,
        .options = args->cmd->options,
        .given = args->opt,
    };
    return settings_load(out, &ask, a, e);
}

static void take_labels(struct record_ask *ask, const struct settings *s, struct arena *a)
{
    struct label *labels = arena_array(a, struct label, s->n_labels + 1);
    for (size_t i = 0; i < s->n_labels; i++)
        labels[i] = (struct label){s->labels[i].key, s->labels[i].value};
    ask->labels = labels;
    ask->n_labels = s->n_labels;
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
}

static int record(const struct cmd_args *args, struct record_ask *ask, struct arena *a,
                  struct err *e)
{
    struct settings *s = arena_new(a, struct settings);
    const int rc = recording_settings(s, args, ask->argv, a, e);
    if (rc != 0)
        return rc;
    tell_problems(s, a);
    take_settings(ask, s, a);
    ask->quiet = args->opt[R_QUIET].given;
    ask->tell = tell;
    struct record_result result;
    if (recorder_run(ask, &result, e) == 0)
        return result.exit_status;
    /* Nothing was started. The shell's own codes for a program that cannot be run are kept. */
    if (e->code == ERR_USAGE)
        return e->code;
    tell(NULL, e->msg);
    return result.exit_status;
}

int recording_run(const struct cmd_args *args, struct record_ask *ask, struct err *e)
{
    struct arena a = {0};
    const int rc = record(args, ask, &a, e);
    arena_free(&a);
    return rc;
}
