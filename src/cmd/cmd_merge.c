/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_merge.c - several runs as one, on one timeline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/window.h"
#include "convert/run_restore.h"
#include "export/export.h"
#include "query/steps.h"
#include "run/run_files.h"
#include "run/run_names.h"
#include "run/run_notes.h"

enum { O_OUTPUT, O_NAME, O_ALIGN, O_STEPS, O_DIR };
enum { ALIGN_TIME, ALIGN_STEP };

static const char *const align_names[] = {[ALIGN_TIME] = "time", [ALIGN_STEP] = "step", NULL};

static const struct opt options[] = {
    [O_OUTPUT] = {"output", 'o', "RUN", OPT_FOLDER,
                  .help = "The run folder to create (default: a new one in the folder of runs)."},
    [O_NAME] = {"name", 0, "NAME", OPT_STRING, .otherwise = "merged",
                .help = "Name of the new run."},
    [O_ALIGN] = {"align", 0, "HOW", OPT_CHOICE, .choices = align_names, .otherwise = "time",
                 .help = "How to align the runs: time keeps the recorded times; step shifts each "
                         "run so that the first training step common to all runs starts at the "
                         "same time as in the first run."},
    [O_STEPS] = {OPT_ROW_STEPS},
    [O_DIR] = {OPT_ROW_DIR},
    {0},
};

struct cmd_merge_source {
    struct run *run;
    wall_ns window[2]; /* 0: all */
    int64_t later_ns;
    int64_t steps[2]; /* whose saved tensors are copied, both included */
    char prefix[RUN_NAME_LEN];
};

/* ---- steps ---- */

/* When the first rank begins that step; 0: there is none. */
static int64_t cmd_merge_begin_of(const struct rank_steps *ranks, size_t n, int64_t number)
{
    int64_t first = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ranks[i].n; k++) {
            const struct step *s = &ranks[i].steps[k];
            if (s->mode == MODE_TRAIN && s->number == number && (!first || s->start.ns < first))
                first = s->start.ns;
        }
    return first;
}

static int64_t first_number(const struct rank_steps *ranks, size_t n, int64_t at_least)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ranks[i].n; k++)
            if (ranks[i].steps[k].mode == MODE_TRAIN && ranks[i].steps[k].number >= at_least)
                first = MIN_OF(first, ranks[i].steps[k].number);
    return first;
}

/* The first step that all have, from the requested one on. */
static int align(struct cmd_merge_source *v, size_t n, int64_t from, struct arena *a, struct err *e)
{
    struct rank_steps **ranks = arena_array(a, struct rank_steps *, n);
    size_t *counts = arena_array(a, size_t, n);
    int64_t number = from;
    for (size_t i = 0; i < n; i++)
        TRY(steps_read(v[i].run, a, &ranks[i], &counts[i], e));
    for (size_t i = 0, agreed = 0; agreed < n; i = (i + 1) % n) {
        const int64_t next = first_number(ranks[i], counts[i], number);
        if (next == INT64_MAX)
            return err_set(e, ERR_NOT_FOUND, "the runs have no training step in common");
        agreed = next == number ? agreed + 1 : 1;
        number = next;
    }
    for (size_t i = 0; i < n; i++)
        v[i].later_ns = cmd_merge_begin_of(ranks[0], counts[0], number) -
                        cmd_merge_begin_of(ranks[i], counts[i], number);
    return 0;
}

/* ---- names of nodes ---- */

static bool has_node(const struct run_info *info, const char *id)
{
    return FIND_ANY(i, info->n_nodes, strcmp(info->nodes[i].id, id) == 0);
}

static bool nodes_clash(const struct cmd_merge_source *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            for (size_t x = 0; x < run_get_info(v[i].run)->n_nodes; x++)
                if (has_node(run_get_info(v[k].run), run_get_info(v[i].run)->nodes[x].id))
                    return true;
    return false;
}

static bool name_taken(const struct cmd_merge_source *v, size_t n, const char *name)
{
    return FIND_ANY(i, n, strcmp(v[i].prefix, name) == 0);
}

/* Where runs have nodes of the same name, nodes are called after their run too. */
static void name_sources(struct cmd_merge_source *v, size_t n)
{
    if (!nodes_clash(v, n))
        return;
    for (size_t i = 0; i < n; i++) {
        char name[RUN_NAME_LEN];
        snprintf(name, sizeof name, "%.40s", run_get_info(v[i].run)->name);
        if (name_taken(v, i, name))
            snprintf(name, sizeof name, "%.40s-%zu", run_get_info(v[i].run)->name, i + 1);
        memcpy(v[i].prefix, name, sizeof name);
    }
}

/* ---- the command ---- */

static int pass(void *ctx, struct err *e)
{
    return run_restore_flush(ctx, e);
}

static int copy(struct run_restore *m, const struct cmd_merge_source *s, struct err *e)
{
    const struct export_job job = {.run = s->run,
                                   .ask = {.from = s->window[0], .to = s->window[1]}};
    const struct export_copy ask = {.job = &job,
                                    .to = &m->remake,
                                    .later_ns = s->later_ns,
                                    .prefix = s->prefix,
                                    .pass = pass,
                                    .ctx = m};
    return export_copy(&ask, e);
}

static int cmd_merge_copy_saved_file(struct run_restore *m, const struct cmd_merge_source *s,
                                     const struct run_saved_file *f, struct err *e)
{
    char id[NODE_ID_LEN], name[2 * NODE_ID_LEN + RUN_NAME_LEN], folder[PATH_LEN];
    struct fmap file;
    snprintf(name, sizeof name, "%s%s%s", s->prefix, *s->prefix ? "-" : "", f->node);
    name_sanitize(id, sizeof id, name);
    if (!run_maker_find(&m->maker, id, f->session))
        return 0;
    TRY(run_node_path(folder, m->maker.dir.path, id, e));
    TRY(run_map_saved(run_get_info(s->run), f, &file, e));
    const int rc = run_put_saved(folder, f->session, f->name, file.p, file.len, e);
    fmap_close(&file);
    return rc;
}

/* Saved tensors are separate files, which an export does not contain. */
static int cmd_merge_copy_saved(struct run_restore *m, const struct cmd_merge_source *s,
                                struct err *e)
{
    struct arena a = {0};
    struct run_saved_file *v;
    size_t n = 0;
    int rc = run_saved_files(run_get_info(s->run), &a, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (v[i].saved.step >= s->steps[0] && v[i].saved.step <= s->steps[1])
            rc = cmd_merge_copy_saved_file(m, s, &v[i], e);
    arena_free(&a);
    return rc;
}

static int cmd_merge_make_run(const struct cmd_args *a, const struct cmd_merge_source *v, size_t n,
                              const struct run_place *p, struct err *e)
{
    struct run_restore m;
    struct rundir dir;
    char *cwd = getcwd(NULL, 0), name[RUN_NAME_LEN];
    const char **command = xcalloc(n + 3, sizeof *command);
    command[0] = "footplate";
    command[1] = "merge";
    struct run_about about = {.name = name,
                              .command = command,
                              .directory = cwd ? cwd : "",
                              .git_commit = "",
                              .start = {INT64_MAX}};
    name_sanitize(name, sizeof name, a->opt[O_NAME].text);
    int rc = run_restore_begin(&m, p->dir, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        command[2 + i] = a->arg[i];
        about.start.ns = MIN_OF(about.start.ns, run_get_info(v[i].run)->start.ns + v[i].later_ns);
        run_notes_join(&m.notes, &run_get_info(v[i].run)->notes, run_get_info(v[i].run)->name,
                       a->arena);
        rc = copy(&m, &v[i], e);
        if (rc == 0)
            rc = cmd_merge_copy_saved(&m, &v[i], e);
    }
    if (rc == 0)
        rc = run_restore_place(&m, p->dir, *p->id ? p->id : NULL, &about, &dir, e);
    run_restore_end(&m);
    free(command);
    free(cwd);
    if (rc == 0)
        printf("%s\n", dir.path);
    return rc;
}

static int prepare(const struct cmd_args *a, struct cmd_merge_source *v, struct err *e)
{
    int64_t steps[2] = {0, 0};
    const bool some = a->opt[O_STEPS].given;
    if (some)
        TRY(step_range(a->opt[O_STEPS].text, steps, e));
    for (size_t i = 0; i < a->n_args; i++) {
        TRY(cmd_open_run(a, a->arg[i], &v[i].run, e));
        v[i].steps[0] = steps[0];
        v[i].steps[1] = some ? steps[1] : INT64_MAX;
        if (some)
            TRY(export_steps_window(v[i].run, steps[0], steps[1], v[i].window, e));
    }
    if (a->opt[O_ALIGN].number == ALIGN_STEP)
        TRY(align(v, a->n_args, steps[0], a->arena, e));
    name_sources(v, a->n_args);
    return 0;
}

static int cmd_merge_run(const struct cmd_args *a, struct err *e)
{
    struct run_place p;
    struct cmd_merge_source *v = arena_array(a->arena, struct cmd_merge_source, a->n_args);
    int rc = run_place_of(&p, a->opt[O_OUTPUT].text, a->dir, e);
    if (rc == 0)
        rc = prepare(a, v, e);
    interrupted_watch();
    if (rc == 0)
        rc = cmd_merge_make_run(a, v, a->n_args, &p, e);
    if (rc != 0)
        interrupted_end();
    return rc;
}

const struct cmd cmd_merge = {
    .name = "merge",
    .summary = "merge several runs into one timeline",
    .args = CMD_ARGS({"RUN", ARG_RUN, .repeat = true,
                      .help = "The runs: folders, starts of names or IDs, or 'last'."}),
    .options = options,
    .help = CMD_HELP("Merges several runs into one run with the nodes of all of them on one "
                     "timeline. All commands and views then show them side by side; 'footplate "
                     "export --format chrome' writes one trace.",
                     "Nodes keep their names; if two runs have nodes of the same name, the name of "
                     "the run is added in front. With --steps, only the data recorded during those "
                     "steps is merged, using the step numbers of each run. The new run has the "
                     "tags and notes of all runs, as far as they fit."),
    .examples = CMD_EXAMPLES({"footplate merge runs/monitor trace-run -o both",
                              "Combine a recorded run with an imported trace."},
                             {"footplate merge before after --align step --steps 100:120",
                              "Show the same steps of two runs above each other."}),
    .run = cmd_merge_run,
};
