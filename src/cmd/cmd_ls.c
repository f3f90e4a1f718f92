/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ls.c - the runs in a folder, newest first. Reads only the small JSON files. */
#include <stdio.h>

#include "base/file.h"
#include "base/human.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "run/run_info.h"
#include "tables/runview.h"

enum { O_JSON, O_CSV, O_DIR, O_LIMIT, O_NAMES };

static const struct opt options[] = {
    [O_JSON] = {OPT_ROW_JSON},
    [O_CSV] = {OPT_ROW_CSV},
    [O_DIR] = {OPT_ROW_DIR},
    [O_LIMIT] = {"limit", 'n', "N", OPT_INT, .lo = 1, .hi = 1000000,
                 .help = "List only the newest N runs."},
    [O_NAMES] = {"names", 0, NULL, OPT_FLAG, .hidden = true,
                 .help = "List only the names, one per line; for shell completion."},
    {0},
};

static int cmd_ls_read(const struct cmd_args *args, struct arena *a, struct run_line **out,
                       size_t *n, struct err *e)
{
    const char **paths;
    TRY(run_list(runs_folder(args->opt[O_DIR].text), a, &paths, n, e));
    if (args->opt[O_LIMIT].given && *n > (size_t)args->opt[O_LIMIT].number)
        *n = (size_t)args->opt[O_LIMIT].number;
    *out = arena_array(a, struct run_line, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        struct run_line *x = &(*out)[i];
        x->folder = path_base(paths[i]);
        struct err why = {0};
        if (!args->opt[O_NAMES].given && run_info_read(&x->info, paths[i], a, &why) != 0)
            x->broken = arena_strdup(a, why.msg);
    }
    return 0;
}

static void cmd_ls_print_json(const struct run_line *v, size_t n, struct arena *a)
{
    struct output_json o;
    struct jw *j = output_begin(&o);
    jw_array(j, NULL);
    for (size_t i = 0; i < n; i++) {
        jw_object(j, NULL);
        if (v[i].broken) {
            jw_str(j, "name", v[i].folder);
            jw_null(j, "status");
            jw_str(j, "error", v[i].broken);
        } else {
            runview_json(j, &v[i].info, a);
        }
        jw_end(j);
        output_buf(&o.b);
    }
    jw_end(j);
    output_end(&o);
}

enum { START_LEN = sizeof "2026-11-15 09:36:02" - 1, WIDE = 110 };

static void cmd_ls_put_row(struct table *t, const struct run_line *x, bool wide, struct arena *a)
{
    const struct run_info *info = &x->info;
    char text[HUMAN_LEN];
    table_cell(t, "%s", x->folder);
    if (x->broken) {
        table_rest(t, "unreadable: %s", x->broken);
        return;
    }
    table_cell(t, "%s", run_status_name(info->status));
    if (wide)
        table_cell(t, "%.*s", START_LEN, wall_text(info->start, text, sizeof text));
    table_cell(t, "%s", duration_text(runview_duration_s(info), text, sizeof text));
    table_cell(t, "%zu", runview_count_nodes(info));
    table_cell(t, "%zu", runview_gpus(info));
    table_cell(t, "%s", runview_command(info, a));
}

static void cmd_ls_print_table(const struct run_line *v, size_t n, struct arena *a)
{
    struct table t;
    const size_t width = term_width(stdout);
    const bool wide = width == 0 || width >= WIDE;
    /* The start is part of the folder's name, so a narrow terminal does without it. */
    table_init(&t, a,
               wide ? "RUN|STATUS|START|>DURATION|>NODES|>GPUS|~COMMAND"
                    : "RUN|STATUS|>DURATION|>NODES|>GPUS|~COMMAND");
    for (size_t i = 0; i < n; i++)
        cmd_ls_put_row(&t, &v[i], wide, a);
    table_print(&t, stdout, width, term_color(stdout));
}

static int cmd_ls_run(const struct cmd_args *args, struct err *e)
{
    struct run_line *v;
    size_t n;
    TRY(cmd_ls_read(args, args->arena, &v, &n, e));
    for (size_t i = 0; args->opt[O_NAMES].given && i < n; i++)
        puts(v[i].folder);
    if (n == 0)
        fprintf(stderr, "no runs in '%s'\n", runs_folder(args->opt[O_DIR].text));
    if (args->opt[O_NAMES].given)
        return EXIT_FINE;
    if (args->output == OUTPUT_JSON)
        cmd_ls_print_json(v, n, args->arena);
    else if (args->output == OUTPUT_CSV)
        output_csv(&row_RunLine, "", v, n, args->arena);
    else if (n > 0)
        cmd_ls_print_table(v, n, args->arena);
    return EXIT_FINE;
}

static const struct cmd_example examples[] = {
    {"footplate ls", "List all runs in the folder of runs."},
    {"footplate ls -n 5 --json", "Print the five newest runs as JSON."},
    {0},
};

const struct cmd cmd_ls = {
    .name = "ls",
    .summary = "list recorded runs, newest first",
    .options = options,
    .examples = examples,
    .run = cmd_ls_run,
};
