/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_steps.c - how long steps took and what on. The printing is in steps_print.c. */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/steps_print.h"

enum { O_LAST, O_RANK, O_MODE, O_JSON, O_CSV, O_DIR };

/* Steps of each rank that people see when they do not say how many. */
enum { LAST_TEXT = 10 };

static const struct opt options[] = {
    [O_LAST] = {"last", 'n', "N", OPT_INT, .lo = 0, .hi = 1000000000,
                .help = "List only the last N steps of each rank (default: 10 as a table, all as "
                        "JSON or CSV)."},
    [O_RANK] = {"rank", 0, "R", OPT_INT, .lo = 0, .hi = INT32_MAX, .help = "Only this rank."},
    [O_MODE] = {"mode", 0, "MODE", OPT_CHOICE, .choices = event_mode_names,
                .help = "Only steps of this kind."},
    [O_JSON] = OPT_ROW_JSON,
    [O_CSV] = OPT_ROW_CSV,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

/* What the user asked to see. */
struct ask {
    size_t last;
    int64_t rank;   /* -1: all */
    unsigned modes; /* bits */
};

static struct ask ask_of(const struct cmd_args *args, enum output output)
{
    const struct opt_value *last = &args->opt[O_LAST], *mode = &args->opt[O_MODE];
    return (struct ask){
        .last = last->given             ? (size_t)last->number
                : output == OUTPUT_TEXT ? LAST_TEXT
                                        : SIZE_MAX,
        .rank = args->opt[O_RANK].given ? args->opt[O_RANK].number : -1,
        .modes = mode->given ? 1u << mode->number : (1u << MODE_N) - 1,
    };
}

static void add_rows(struct steps_view *v, const struct ask *ask, const struct rank_steps *rank,
                     const struct loss_list *lost)
{
    for (enum event_mode m = 0; m < MODE_N; m++) {
        size_t n = 0;
        for (size_t i = 0; i < rank->n; i++)
            n += rank->steps[i].mode == m;
        if (n == 0 || !(ask->modes >> m & 1))
            continue;
        struct steps_row *row = &v->rows[v->n_rows++];
        row->rank = rank;
        step_stats_of(rank, m, v->arena, &row->stats);
        row->unseen = steps_unseen(rank, m, lost->v, lost->n);
    }
}

static void add_items(struct steps_view *v, const struct ask *ask, const struct rank_steps *rank)
{
    size_t n = 0, from = rank->n;
    while (from > 0 && n < ask->last)
        n += ask->modes >> rank->steps[--from].mode & 1;
    for (size_t i = from; i < rank->n; i++)
        if (ask->modes >> rank->steps[i].mode & 1)
            v->items[v->n_items++] = (struct steps_item){rank, &rank->steps[i]};
}

static bool wants_rank(const struct ask *ask, const struct rank_steps *r)
{
    return ask->rank < 0 || r->rank == ask->rank;
}

static int no_rank(const struct run_info *info, const struct ask *ask, const struct rank_steps *v,
                   size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (wants_rank(ask, &v[i]))
            return 0;
    return err_set(e, ERR_NOT_FOUND,
                   "run '%s' has no steps of rank %" PRId64 "; it has those of %" PRId64
                   " to %" PRId64,
                   info->name, ask->rank, v[0].rank, v[n - 1].rank);
}

static int read_view(struct run *r, const struct ask *ask, struct arena *a, struct steps_view *out,
                     struct err *e)
{
    struct rank_steps *ranks;
    size_t n, steps = 0;
    *out = (struct steps_view){.info = run_get_info(r), .arena = a};
    int rc = steps_read(r, a, &ranks, &n, e);
    struct loss_list *lost = arena_new(a, struct loss_list);
    if (rc == 0)
        rc = loss_list_read(lost, r, a, e);
    if (rc == 0 && n == 0)
        return steps_why_none(r, lost, a, &out->why, e);
    if (rc == 0)
        rc = no_rank(out->info, ask, ranks, n, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++)
        steps += ranks[i].n;
    out->lost = lost;
    out->rows = arena_array(a, struct steps_row, n * MODE_N);
    out->items = arena_array(a, struct steps_item, steps);
    for (size_t i = 0; i < n; i++) {
        if (!wants_rank(ask, &ranks[i]))
            continue;
        add_rows(out, ask, &ranks[i], lost);
        add_items(out, ask, &ranks[i]);
    }
    return 0;
}

static void print(enum output output, const struct steps_view *v)
{
    if (output == OUTPUT_JSON)
        steps_json(v);
    else if (output == OUTPUT_CSV)
        steps_csv(v);
    else
        steps_text(v);
}

static int run(const struct cmd_args *args, struct err *e)
{
    enum output output;
    struct arena a = {0};
    struct run *r = NULL;
    struct steps_view view;
    int rc = output_choose(&output, &args->opt[O_JSON], &args->opt[O_CSV], e);
    if (rc == 0)
        rc = runview_open(&r, args->opt[O_DIR].text, args->arg[0], e);
    if (rc == 0) {
        const struct ask ask = ask_of(args, output);
        rc = read_view(r, &ask, &a, &view, e);
    }
    if (rc == 0)
        print(output, &view);
    run_close(r);
    arena_free(&a);
    return rc;
}

static const char *const help[] = {
    "For each rank, and for training and evaluation apart: how many steps there were, how long "
    "they took, how many samples a second they worked off, and the share of each part of a step. "
    "Below that the last steps one by one.",
    "A training step lasts from the loader's fetch to the end of the optimizer's step; an "
    "evaluation step from the fetch to the end of the forward pass. A step marked '!' was cut "
    "short: the process ended, or the run goes on, in its middle. Such steps do not count in the "
    "numbers above.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate steps last", "How long steps take, and the last ten of each rank."},
    {"footplate steps last --rank 0 --mode train --csv", "Every training step of rank 0."},
    {0},
};

const struct cmd cmd_steps = {
    .name = "steps",
    .summary = "show how long steps took and what they were spent on",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = run,
};
