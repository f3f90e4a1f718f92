/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show.c - one run on one screen. The parts are in show.h. */
#include <math.h>
#include <stdio.h>

#include "cmd/output.h"
#include "cmd/show.h"

enum { O_JSON, O_DIR };

static const struct opt options[] = {
    [O_JSON] = OPT_ROW_JSON,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

double show_share(const struct show *s, enum phase_kind k)
{
    const double all_s = (double)(s->phases.job_end.ns - s->phases.job_start.ns) / (double)NS_PER_S;
    return all_s > 0 ? s->phases.seconds[k] / all_s : NAN;
}

static int read_phases(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    int rc = steps_read(r, a, &out->ranks, &out->n_ranks, e);
    if (rc)
        return rc;
    phases_of(&(struct phases_from){out->info, out->marks, out->n_marks, out->ranks, out->n_ranks},
              a, &out->phases);
    return out->phases.has_steps ? 0 : steps_why_none(r, &out->losses, a, &out->no_steps, e);
}

static int read_show(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    *out = (struct show){.info = run_get_info(r), .arena = a};
    run_get_size(r, &out->size);
    int rc = loss_list_read(&out->losses, r, a, e);
    if (rc == 0)
        rc = run_marks(r, a, &out->marks, &out->n_marks, e);
    if (rc == 0)
        rc = read_phases(out, r, a, e);
    const struct series_ask whole = {0};
    if (rc == 0)
        rc = summary_read(r, &whole, &out->losses, a, &out->lines, &out->n_lines, e);
    return rc;
}

static int run(const struct cmd_args *args, struct err *e)
{
    struct arena a = {0};
    struct run *r = NULL;
    struct show show;
    int rc = runview_open(&r, args->opt[O_DIR].text, args->arg[0], e);
    if (rc == 0)
        rc = read_show(&show, r, &a, e);
    if (rc == 0 && args->opt[O_JSON].given)
        show_json(&show);
    else if (rc == 0)
        show_text(&show);
    run_close(r);
    arena_free(&a);
    return rc;
}

static const char *const help[] = {
    "What ran, where, when and how it ended; how long it was getting ready, training, evaluating "
    "and finishing; how busy each node was; what could not be measured and why; what the recording "
    "itself cost.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate show last", "The newest run."},
    {"footplate show train-2026 --json", "A run by the start of its name, for a script."},
    {0},
};

const struct cmd cmd_show = {
    .name = "show",
    .summary = "show one run: what ran, how it went, how busy the machine was",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = run,
};
