/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_rm.c - deletes runs. Nothing is deleted unless all of them can be, and unless the user
 * agreed.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/human.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "run/run_files.h"
#include "run/run_info.h"
#include "run/run_notes.h"

enum { O_DIR, O_YES };

static const struct opt options[] = {
    [O_DIR] = {OPT_ROW_DIR},
    [O_YES] = {"yes", 'y', NULL, OPT_FLAG, .help = "Do not ask."},
    {0},
};

static const struct cmd_arg args[] = {
    {"RUN", ARG_RUN, .repeat = true,
     .help = "The runs: folders, names, IDs, starts of those that fit one run only, or 'last'."},
    {0},
};

/* What fits several runs is refused: other commands take the newest. */
static int rm_find(const struct cmd_args *a, const char *ref, struct run_info *out, struct err *e)
{
    char path[PATH_LEN];
    const size_t fits = run_find_fits(a->dir, ref);
    TRY(run_find(a->dir, ref, path, e));
    if (fits > 1)
        return err_set(e, ERR_USAGE,
                       "'%s' fits %zu runs; give the name of the folder ('footplate "
                       "ls' lists them)",
                       ref, fits);
    TRY(run_info_read(out, path, a->arena, e));
    if (out->status == RUN_RUNNING)
        return err_set(e, ERR_BUSY, "run '%s' is being recorded; stop it first", out->name);
    return 0;
}

static int rm_find_all(const struct cmd_args *a, struct run_info *v, size_t *n, struct err *e)
{
    for (size_t i = 0; i < a->n_args; i++) {
        size_t k = 0;
        TRY(rm_find(a, a->arg[i], &v[*n], e));
        while (strcmp(v[k].path, v[*n].path) != 0)
            k++;
        *n += k == *n; /* once, also when it is given twice */
    }
    return 0;
}

static int rm_ask(const struct run_info *v, size_t n, struct arena *a, struct err *e)
{
    char answer[8] = "", size[HUMAN_LEN];
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(e, ERR_USAGE, "rm: not a terminal; give --yes to delete without asking");
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "%s (%s, %s)\n", text_safe(a, v[i].path), text_safe(a, v[i].name),
                human_bytes((double)run_stamp_data(v[i].path).bytes, size, sizeof size));
    fprintf(stderr, "Delete %s? [y/N] ", n == 1 ? "this run" : "these runs");
    const bool yes = fgets(answer, sizeof answer, stdin) &&
                     (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
    if (!yes)
        fputs("nothing was deleted\n", stderr);
    return yes ? 1 : 0;
}

static int cmd_rm_run(const struct cmd_args *a, struct err *e)
{
    struct run_info *v = arena_array(a->arena, struct run_info, a->n_args + 1);
    size_t n = 0;
    TRY(rm_find_all(a, v, &n, e));
    const int agreed = a->opt[O_YES].given ? 1 : rm_ask(v, n, a->arena, e);
    if (agreed < 0)
        return agreed;
    if (!agreed)
        return EXIT_FAILED;
    for (size_t i = 0; i < n; i++) {
        TRY(run_remove(&v[i], e));
        printf("deleted %s\n", text_safe(a->arena, v[i].path));
    }
    return EXIT_FINE;
}

static const char *const help[] = {
    "Asks before it deletes. Runs that are being recorded are not deleted; if one of the given "
    "runs "
    "cannot be deleted, none is.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate rm last", "Delete the newest run, after a question."},
    {"footplate rm --yes mnist-20261116-232613-e0cc", "Delete a run without a question."},
    {0},
};

const struct cmd cmd_rm = {
    .name = "rm",
    .summary = "delete runs",
    .args = args,
    .options = options,
    .help = help,
    .examples = examples,
    .run = cmd_rm_run,
};
