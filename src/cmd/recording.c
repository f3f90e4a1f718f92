/* SPDX-License-Identifier: Apache-2.0 */
/* recording.c - see recording.h. */
#include "cmd/recording.h"

#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "query/run.h"

/* The line goes out in one write, so that the job's own output cannot come between. */
static void tell(void *ctx, const char *line)
{
    (void)ctx;
    struct arena a = {0};
    fprintf(stderr, "footplate: %s\n", text_safe(&a, line));
    arena_free(&a);
}

static int read_labels(const struct opt_value *v, struct arena *a, const struct label **out,
                       struct err *e)
{
    struct label *labels = arena_array(a, struct label, v->n_all);
    for (size_t i = 0; i < v->n_all; i++) {
        const char *equals = strchr(v->all[i], '=');
        if (!equals || equals == v->all[i])
            return err_set(e, ERR_USAGE, "--label: '%.100s' is not of the form KEY=VALUE",
                           v->all[i]);
        labels[i].key = arena_strndup(a, v->all[i], (size_t)(equals - v->all[i]));
        labels[i].value = arena_strdup(a, equals + 1);
    }
    *out = labels;
    return 0;
}

static int record(const struct cmd_args *args, struct record_ask *ask, struct arena *a,
                  struct err *e)
{
    const struct opt_value *o = args->opt;
    int rc = read_labels(&o[R_LABEL], a, &ask->labels, e);
    if (rc != 0)
        return rc;
    ask->n_labels = o[R_LABEL].n_all;
    ask->dir = runs_folder(o[R_DIR].text);
    ask->name = o[R_NAME].text;
    ask->interval_ns = o[R_INTERVAL].number;
    ask->run_id = o[R_RUN].text;
    ask->node_id = o[R_NODE].text;
    ask->quiet = o[R_QUIET].given;
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
