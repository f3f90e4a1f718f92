/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c - a run in a format of others. What the formats are is in src/export. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/window.h"
#include "export/export.h"
#include "query/run.h"
#include "tables/statview.h"

enum {
    O_FORMAT,
    O_WHAT,
    O_OUTPUT,
    O_METRIC,
    O_ENTITY,
    O_NODE,
    O_FROM,
    O_TO,
    O_STEPS,
};

static const struct opt options[] = {
    [O_FORMAT] = {"format", 'f', "FORMAT", OPT_CHOICE, .choices = export_names, .otherwise = "csv",
                  .help = "Output format."},
    [O_WHAT] = {"what", 'w', "WHAT", OPT_CHOICE, .choices = export_what_names,
                .help = "Records to export (default: metrics for CSV, otherwise all)."},
    [O_OUTPUT] = {"output", 'o', "FILE", OPT_FILE,
                  .help = "Write to FILE, which appears when it is complete; compressed if its "
                          "name ends in .gz. '-' is standard output. Some formats write a folder.",
                  .otherwise = "-"},
    [O_METRIC] = {"metric", 'm', "METRIC", OPT_STRING, .choices = metric_names,
                  .help =
                      "Export only this metric; a trailing dot, as in 'cpu.', selects a family."},
    [O_ENTITY] = {"entity", 'e', "ENTITY", OPT_STRING, .help = "Export only this entity."},
    [O_NODE] = {"node", 0, "ID", OPT_STRING, .help = "Export only this node."},
    [O_FROM] = {OPT_ROW_FROM},
    [O_TO] = {OPT_ROW_TO},
    [O_STEPS] = {OPT_ROW_STEPS},
    {OPT_ROW_DIR},
    {0},
};

/* ---- options ---- */

static int choose_what(const struct cmd_args *args, const struct export_format *f,
                       enum export_what *out, struct err *e)
{
    const struct opt_value *what = &args->opt[O_WHAT];
    *out = what->given ? (enum export_what)what->number : f->otherwise;
    if (f->can >> *out & 1)
        return 0;
    return err_set(e, ERR_USAGE, "--format %s cannot be combined with --what %s", f->name,
                   what->text);
}

static int choose_window(const struct cmd_args *args, struct run *r, wall_ns out[2], struct err *e)
{
    const struct opt_value *from = &args->opt[O_FROM], *to = &args->opt[O_TO];
    int64_t steps[2];
    if (!args->opt[O_STEPS].given)
        return window_of(from, to, run_get_info(r), out, e);
    if (from->given || to->given)
        return err_set(e, ERR_USAGE, "--steps cannot be combined with --from or --to");
    TRY(step_range(args->opt[O_STEPS].text, steps, e));
    return export_steps_window(r, steps[0], steps[1], out, e);
}

static int make_job(const struct cmd_args *args, struct run *r, struct export_job *out,
                    struct err *e)
{
    const struct export_format *f = export_formats[args->opt[O_FORMAT].number];
    wall_ns window[2];
    struct keys all;
    *out = (struct export_job){.run = r};
    TRY(choose_what(args, f, &out->what, e));
    TRY(choose_window(args, r, window, e));
    out->ask = (struct series_ask){args->opt[O_NODE].text,
                                   args->opt[O_METRIC].text,
                                   args->opt[O_ENTITY].text,
                                   window[0],
                                   window[1],
                                   0};
    if (!out->ask.metric && !out->ask.entity)
        return 0;
    TRY(series_list(r, args->arena, &all.v, &all.n, e));
    return series_ask_check(r, &out->ask, &all, e);
}

/* ---- where it goes ---- */

static int write_job(const struct export_format *f, struct export_job *job, bool on_screen,
                     struct err *e)
{
    struct progress p;
    /* Rows that scroll by on the terminal are progress enough. */
    progress_start(&p, stderr, on_screen ? 0 : term_width(stderr), "export", clock_mono());
    job->progress = &p;
    const int rc = f->write(job, e);
    progress_end(&p);
    return rc;
}

static int write_file(const struct export_format *f, struct export_job *job, const char *path,
                      struct err *e)
{
    struct outfile out;
    TRY(outfile_open(&out, path, e));
    job->out = &out;
    const int rc = write_job(f, job, outfile_is_stdout(&out) && term_width(stdout), e);
    return outfile_close(&out, rc, e);
}

/* Written beside its place, moved there when it is complete. */
static int write_folder(const struct export_format *f, struct export_job *job, const char *path,
                        struct err *e)
{
    struct stat st;
    char beside[PATH_LEN];
    if (strcmp(path, "-") == 0)
        return err_set(e, ERR_USAGE, "--format %s writes a folder: set it with --output", f->name);
    if (lstat(path, &st) == 0)
        return err_set(e, ERR_BUSY, "'%s' exists already", path);
    TRY(path_join(beside, e, "%s.%d.part", path, (int)getpid()));
    if (mkdir(beside, 0777) != 0)
        return err_sys(e, "create '%s'", path);
    job->folder = beside;
    int rc = write_job(f, job, false, e);
    if (rc == 0 && rename(beside, path) != 0)
        rc = err_sys(e, "rename to '%s'", path);
    if (rc != 0)
        dir_remove(beside);
    return rc;
}

static int cmd_export_on_run(struct run *r, const struct cmd_args *args, struct arena *a,
                             struct err *e)
{
    (void)a;
    const struct export_format *f = export_formats[args->opt[O_FORMAT].number];
    const char *path = args->opt[O_OUTPUT].text;
    struct export_job job;
    TRY(make_job(args, r, &job, e));
    return f->folder ? write_folder(f, &job, path, e) : write_file(f, &job, path, e);
}

#define EXPORT(id, contains) #id ": " contains,
static const char *const help[] = {
#include "export/exports.def"
    "jsonl and chrome contain the complete run: 'footplate import' restores it. The run is "
    "streamed, so runs of any size can be exported.",
    NULL,
};
#undef EXPORT

const struct cmd cmd_export = {
    .name = "export",
    .summary = "export a run in the format of another tool",
    .args = cmd_arg_run,
    .options = options,
    .help = help,
    .examples = CMD_EXAMPLES(
        {"footplate export last --format chrome -o run.json.gz", "Write a trace for Perfetto."},
        {"footplate export last --format chrome --steps 100:110 -o steps.json",
         "Export only steps 100 to 110."},
        {"footplate export last -o run.csv", "Export every reading as CSV."},
        {"footplate export last --what steps | column -ts,", "List every step with its parts."},
        {"footplate export last --format jsonl --metric gpu. --what metrics | "
         "zstd > gpu.jsonl.zst",
         "Export all GPU metrics, compressed."},
        {"footplate export last --format sagemaker -o profiler-output",
         "Export for notebooks that read SageMaker's format."},
        {"footplate export last --format tensorboard -o logs",
         "Export the training health for TensorBoard."}),
    .on_run = cmd_export_on_run,
};
