/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - a run as one document: what it did, what slowed it down, what that cost. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "report/report.h"
#include "run/run_names.h"

enum {
    O_FORMAT,
    O_OUT,
    O_SET,
    O_MACHINE,
    O_PRICE,
    O_CONFIG,
    O_CUSTOM,
    O_RULE_FILE,
    O_RULE_LIMIT,
};

enum cmd_report_format { FORMAT_HTML, FORMAT_JSON, FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_N };

static const char *const formats[] = {"html", "json", "text", "markdown", NULL};

static const struct {
    const char *end; /* of a file's name */
    void (*put)(const struct report *r, struct buf *out);
} writers[FORMAT_N] = {
    [FORMAT_HTML] = {".html", report_html},
    [FORMAT_JSON] = {".json", report_json},
    [FORMAT_TEXT] = {".txt", report_text},
    [FORMAT_MARKDOWN] = {".md", report_markdown},
};

static const struct opt options[] = {
    [O_FORMAT] = {"format", 0, "FORMAT", OPT_CHOICE, .choices = formats,
                  .help =
                      "Output format (default: from the extension of the -o file, otherwise html). "
                      "Without -o, all formats but html are written to standard output."},
    [O_OUT] = {"output", 'o', "FILE", OPT_FILE,
               .help = "Output file; '-' is standard output (default: report.html, and report.json "
                       "next to it, in the run's folder)."},
    [O_SET] = {"set", 0, "RULE.PARAM=VALUE", OPT_STRING, .repeat = true,
               .help = "Override a rule parameter; 'footplate rules' lists them."},
    [O_MACHINE] = {OPT_ROW_MACHINE},
    [O_PRICE] = {OPT_ROW_PRICE},
    [O_CONFIG] = {OPT_ROW_RULE_CONFIG},
    [O_CUSTOM] = {"custom-rule", 0, "RULE", OPT_STRING, .repeat = true,
                  .help = "Define a custom rule, as for 'footplate check'."},
    [O_RULE_FILE] = {OPT_ROW_RULE_FILE},
    [O_RULE_LIMIT] = {OPT_ROW_RULE_LIMIT},
    {OPT_ROW_DIR},
    {0},
};

/* ---- where it goes ---- */

static enum cmd_report_format cmd_report_choose_format(const struct cmd_args *args)
{
    const char *file = args->opt[O_OUT].text;
    if (args->opt[O_FORMAT].given)
        return (enum cmd_report_format)args->opt[O_FORMAT].number;
    for (enum cmd_report_format f = 0; file && f < FORMAT_N; f++)
        if (text_ends(file, writers[f].end))
            return f;
    return FORMAT_HTML;
}

static int write_into_run(const struct report *r, const struct run_info *info, struct err *e)
{
    const int rc = report_write(r, info->path, e);
    if (rc != 0)
        return err_in(
            e, "the report cannot be written to the run's folder (use -o to write it elsewhere)");
    printf("%s/" RUN_REPORT "\n", info->path);
    return 0;
}

static int cmd_report_write(const struct report *r, const struct run_info *info,
                            const struct cmd_args *args, struct err *e)
{
    const enum cmd_report_format format = cmd_report_choose_format(args);
    const char *file = args->opt[O_OUT].text;
    struct buf b = {0};
    int rc = 0;
    if (!file && format == FORMAT_HTML)
        return write_into_run(r, info, e);
    writers[format].put(r, &b);
    if (!file || strcmp(file, "-") == 0)
        output_buf(&b);
    else
        rc = file_write_output(file, b.p, b.len, e);
    if (rc == 0 && file && strcmp(file, "-") != 0)
        printf("%s\n", file);
    buf_free(&b);
    return rc;
}

/* ---- what is in it ---- */

/* What needs no verdicts is gathered while the rules are evaluated, from the run opened again. */
struct cmd_report_gathering {
    pthread_t thread;
    bool started;
    const char *path;
    struct report_ask ask;
    struct arena arena;
    struct run *run;
    struct report *report;
    int rc;
    struct err err;
};

static void *cmd_report_gather(void *ctx)
{
    struct cmd_report_gathering *g = ctx;
    g->rc = run_open(&g->run, g->path, &g->err);
    if (g->rc == 0)
        g->rc = report_gather(&g->report, g->run, &g->ask, &g->arena, &g->err);
    return NULL;
}

static int gather_end(struct cmd_report_gathering *g, struct err *e)
{
    if (g->started)
        pthread_join(g->thread, NULL);
    else
        cmd_report_gather(g);
    if (g->rc != 0)
        *e = g->err;
    return g->rc;
}

static int cmd_report_judge(struct run *r, const struct run_steps *steps, struct check *c,
                            struct report_ask *ask, struct err *e)
{
    struct hosted *own = NULL;
    TRY(rules_check_steps(r, &(struct check_ask){&c->params, &c->pricing, steps}, c->arena,
                          &c->checked, e));
    TRY(user_rules_check(&c->user, NULL, r, c->arena, &own, &ask->n_own, e));
    ask->checked = &c->checked;
    ask->params = &c->params;
    ask->own = own;
    ask->right_size = rightsize_advise(&c->checked, c->pricing.table, c->arena);
    return 0;
}

static int cmd_report_make(struct run *r, struct check *c, const struct cmd_args *args,
                           struct err *e)
{
    struct cmd_report_gathering *g = arena_new(c->arena, struct cmd_report_gathering);
    struct run_steps steps;
    struct err other;
    TRY(rules_read_steps(r, c->arena, &steps, e));
    struct report_ask ask = {.ranks = steps.ranks,
                             .n_ranks = steps.n_ranks,
                             .named = steps.named,
                             .n_named = steps.n_named};
    g->path = run_get_info(r)->path;
    g->ask = ask;
    g->started = pthread_create(&g->thread, NULL, cmd_report_gather, g) == 0;
    int rc = cmd_report_judge(r, &steps, c, &ask, e);
    const int gathered = gather_end(g, rc ? &other : e);
    rc = rc ? rc : gathered;
    if (rc == 0) {
        report_conclude(g->report, &ask);
        rc = cmd_report_write(g->report, run_get_info(r), args, e);
    }
    run_close(g->run);
    arena_free(&g->arena);
    return rc;
}

static int cmd_report_run(const struct cmd_args *args, struct err *e)
{
    struct check *c;
    struct run *r = NULL;
    TRY(check_open(&c, args, e));
    c->user.limit_ns = args->opt[O_RULE_LIMIT].number;
    TRY(check_choose_pricing(c, args->opt[O_MACHINE].text, args->opt[O_PRICE].text, e));
    TRY(cmd_open_run(args, args->arg[0], &r, e));
    return cmd_report_make(r, c, args, e);
}

const struct cmd cmd_report = {
    .name = "report",
    .summary = "write an HTML report of a run",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Writes a report of the run: its phases, training health, the utilization of "
                     "the nodes, the time spent in steps and operators, the result of every rule, "
                     "and how the data was measured. The HTML report is one self-contained file; "
                     "report.json next to it contains all its numbers.",
                     "A report can be written at any time during a run; it states up to when it "
                     "has data."),
    .examples = CMD_EXAMPLES(
        {"footplate report last", "Write report.html and report.json to the last run's folder."},
        {"footplate report last -o /tmp/run.html", "Write the report to another file."},
        {"footplate report last --format markdown", "Print Markdown for a pull request."},
        {"footplate report last --price 14.688", "Set the hourly price of a node."}),
    .run = cmd_report_run,
};
